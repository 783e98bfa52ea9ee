"""The page on what each remedy does: a bar is met where the lines of its file say so, and only there."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def effect(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import effect

    return effect


def made(effect, changes, folds=2):
    """Return lines in which every method is the same, but for what is said of some."""
    level = dict.fromkeys(effect.MEASURES, 0.1) | {"accuracy": 0.8, "dp": 0.2, "flips": 0.0, "dr": 0.0}
    level |= {"edits": 0, "fits": 1, "seconds": 1.0, "attribute": False}
    lines = []
    for k, setting in enumerate(effect.SETTINGS):
        for fold in range(folds):
            for method in effect.METHODS:
                line = effect.Task(setting, "xgboost", 901, fold, method)._asdict() | level
                for name, change in changes.get(method, {}).items():
                    line[name] += change + (0.001 * k if name == "dp" else 0.0)
                lines.append(line)
    point = effect.Task("acs_income:SEX", "xgboost", 901, 0, effect.TUNED)._asdict() | level
    return [*lines, {**point, "point": ["dp", 0.1]}]


def verdicts(effect, lines):
    from effect_bars import Lines, bars

    return [met for _, _, met, _ in bars(Lines(lines))]


def test_bars_are_met_by_what_they_ask_for_and_missed_by_less(effect):
    good = {
        effect.DEFAULT: {"dp": -0.05}, effect.DIRECTED: {"dp": -0.02}, effect.DIRECTED_BLIND: {"dp": -0.02},
        effect.TUNED: {"dp": -0.06},
    }  # fmt: skip
    assert verdicts(effect, made(effect, good)) == [True] * 6
    assert verdicts(effect, made(effect, {})) == [False, False, False, True, True, True]
    for method, change, bar in (
        (effect.DEFAULT, {"dp": -0.05, "accuracy": -0.01}, 0),
        (effect.DEFAULT, {"dp": -0.05, "flips": 0.01}, 0),
        (effect.DEFAULT, {"dp": -0.05, "eo": 0.01}, 0),
        (effect.DIRECTED, {"dp": -0.02, "accuracy": -0.01}, 1),
        (effect.TUNED, {"dp": 0.01}, 3),
        (effect.TUNED, {"dp": 0.01}, 4),
        (effect.WITHIN, {"accuracy": 0.01}, 5),
    ):
        found = verdicts(effect, made(effect, good | {method: change}))
        assert found[bar] is False, (method, change)


def test_what_was_not_measured_is_neither_met_nor_missed(effect):
    lines = [line for line in made(effect, {}) if line["method"] in (effect.BASELINE, effect.DROPPED)]
    assert verdicts(effect, lines) == [None] * 6


def test_levels_on_fewer_folds_are_those_of_all_folds_plus_the_difference(effect):
    from effect_bars import Lines

    lines = made(effect, {effect.GRID: {"dp": -0.05}})
    for line in lines:
        line["dp"] += 0.1 * line["fold"]
    kept = [line for line in lines if line["method"] != effect.GRID or line["fold"] == 0]
    levels = Lines(kept)
    where = "german:sex", "xgboost"
    assert levels.level(*where, effect.DROPPED, "dp") == pytest.approx(0.25)
    assert levels.level(*where, effect.GRID, "dp") == pytest.approx(0.15)
    assert levels.compared(*where, effect.GRID, "dp") == pytest.approx(0.20)
    far = [line | {"dp": -1.0} if line["method"] == effect.GRID else line for line in kept]
    assert Lines(far).compared(*where, effect.GRID, "dp") == 0


def test_the_page_is_made_of_the_file_whose_last_line_may_be_cut_off(effect, tmp_path):
    from effect_page import write

    path, page = tmp_path / "effect.jsonl", tmp_path / "effect.md"
    lines = made(effect, {effect.TUNED: {"dp": -0.06}})
    lines[3] = {name: lines[3][name] for name in effect.Task._fields} | {"error": "ValueError: no"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"setting": "ger')
    assert effect.read(path) == lines
    write(effect.read(path), page)
    text = page.read_text()
    assert "xgboost in 10 settings, 2 folds each" in text
    assert "ValueError: no" in text
    assert page.with_suffix(".svg").exists()
    # The lowest DP is that of tune, in every setting.
    best = [line for line in text.splitlines() if line.startswith("| german:sex | tune")]
    assert len(best) == 1
