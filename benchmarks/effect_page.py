"""The page of `effect.py`: what the lines of its file come to, in figures, tables and plain words."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from effect import AXES, CONSTANT, DROPPED, GAPS, MEASURES, METHODS, MOST_ROWS, SETTINGS
from effect_bars import Lines, Verdict, bars, number

LABELS = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced", "auc": "AUC", "ap": "AP", "brier": "Brier",
    "log_loss": "log loss", "dr": "DR", "flips": "flips", "dp": "DP", "eo": "EO", "eodds": "EOdds",
}  # fmt: skip
#: What is told of differences.
COMPARED = ("accuracy", "auc", "brier", "dr", "flips", "dp", "eo", "eodds")
#: By how much accuracy may fall below that of dropping the column, for a remedy to count as a way to an aim.
ALLOWED = 0.01

HEAD = """# What each remedy does

Made by `python benchmarks/effect.py --out docs/results/effect/effect.jsonl --show --markdown docs/effect.md`;
without `--show` it measures what is not in the file yet.

{data}
Raw columns, categories as categories; models as they come. Each method is fitted on a training fold alone and
measured once on the held-out rows. `tune` and every other search see training rows only. Tables of more than
{most:,} rows are sampled to {most:,} with a fixed seed: Census KDD, ACS Income and bank.

Methods, their parameters and limits were fixed before a test fold was read, but for what was changed after an
earlier form had been measured here, each time by a choice on other tables:

- Soft labels and self-distillation were added after the others.
- `FairSHAPClassifier` as it comes once used weights (against dropping the column: accuracy -.002, DP -.026).
  It took soft labels by `benchmarks/defaults.py`, where models learn from them.
- Edits towards parity once had no limit: against all edits, accuracy fell by .005 with the column and by .003
  without it. `benchmarks/direction.py` chose the limit.
- `tune` was first measured here without edits that go with soft labels.

What depends on a change was measured again.

DR is the discriminative risk, **flips** the share of decisions that change when only the attribute is
switched. DP, EO and EOdds are the differences between groups in positive rate, true positive rate, and the
larger of true and false positive rate: the largest between two groups of 30 rows or more. "Blind" models
predict without the attribute; their DR and flips are 0. Methods marked with * need it for every person they
decide on. Fits are those of the model, seconds of one processor.
"""

LEDGER = """## What the ledger is for

Where another remedy lowers a gap more, take it: the tables above say which. What weights, thresholds and
reductions do not give is a record. FairSHAP's ledger names every cell that was changed, its old and its new
value, the real person that the new value comes from, and how much of the risk the cell carried. With it you
can

- see *which* values carry the risk, and hand that to those who collect the data: `explanation_`, `edits_`;
- let a subject expert strike out or freeze edits before anything is trained: `EditConstraints`;
- hand on a table of the same shape to people who train a model that you never see;
- undo, repeat and audit the change later: `Edits.read(...).apply(X)`.

The ledger of `ParityWeigher` has four lines, a weight for each group and label, and says as plainly what was
changed. Thresholds by group are the most transparent at first sight and the hardest to defend: look at their
flips, the people who would have been decided otherwise with another sex or race and nothing else.
"""


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def named(lines: Lines, method: str) -> str:
    """Return the name of a method, marked if it needs the attribute to predict."""
    return f"{method} *" if lines.needs_attribute(method) else method


def show_bars(found: list[Verdict]) -> str:
    """Return the bars as a table."""
    words = {True: "**met**", False: "**missed**", None: "not measured in all"}
    rows = [[what, bar, words[met], numbers] for what, bar, met, numbers in found]
    return table(["what", "at least", "", "measured"], rows)


def show_means(lines: Lines, model: str) -> str:
    """Return the paired differences from dropping the column, in the mean over settings."""
    head = ["method", "settings", *(LABELS[name] for name in COMPARED), "fits", "seconds"]
    rows = []
    for method in METHODS:
        *_, n = lines.overall(model, method, "accuracy")
        if not n or method == DROPPED:
            continue
        cells = [named(lines, method), str(n)]
        for name in COMPARED:
            mean, half, _ = lines.overall(model, method, name)
            cells.append(number(mean, True) + (f" ± {number(half)}" if half == half else ""))
        settings = lines.settings(model)
        for name in ("fits", "seconds"):
            levels = [lines.level(setting, model, method, name) for setting in settings]
            cells.append(f"{np.nanmean(levels):.0f}" if name == "fits" else f"{np.nanmean(levels):.1f}")
        rows.append(cells)
    return table(head, rows)


def show_best(lines: Lines, model: str) -> str:
    """Return for each setting and aim the best remedy that loses at most a point of accuracy."""
    aims = {"dp": "lowest DP", "eo": "lowest EO", "eodds": "lowest EOdds"}
    head = ["setting", *(f"{aim}, blind" for aim in aims.values()), *aims.values(), "most accurate"]
    rows = []
    for setting in lines.settings(model):
        cells = [setting]
        own = [name for name in METHODS if (setting, model, name) in lines.found and name != CONSTANT]
        bar = lines.level(setting, model, DROPPED, "accuracy") - ALLOWED
        within = [name for name in own if lines.compared(setting, model, name, "accuracy") >= bar]
        for blind_only in (True, False):
            for aim in aims:
                allowed = [name for name in within if not (blind_only and lines.needs_attribute(name))]
                level = {name: lines.compared(setting, model, name, aim) for name in allowed}
                best = min(level, key=level.__getitem__)
                cells.append(f"{named(lines, best)} {number(level[best])}")
        most = max(own, key=lambda name: lines.compared(setting, model, name, "accuracy"))
        accuracy = number(lines.compared(setting, model, most, "accuracy"))
        rows.append([*cells, f"{named(lines, most)} {accuracy}"])
    return table(head, rows)


def show_setting(lines: Lines, setting: str, model: str) -> str:
    """Return all measures of all methods in one setting."""
    rows = []
    for method in METHODS:
        folds = lines.found.get((setting, model, method))
        if not folds:
            continue
        cells = [
            named(lines, method),
            *(number(lines.compared(setting, model, method, name)) for name in MEASURES),
        ]
        cells += [f"{lines.level(setting, model, method, name):.0f}" for name in ("edits", "fits")]
        rows.append([*cells, f"{lines.level(setting, model, method, 'seconds'):.1f}", str(len(folds))])
    head = ["method", *(LABELS[name] for name in MEASURES), "edits", "fits", "seconds", "folds"]
    return table(head, rows)


def show_curves(lines: Lines) -> str:
    """Return the accuracy at each gap, as it was chosen on inner folds and measured on held-out rows."""
    levels = defaultdict(list)
    for line in lines.points:
        levels[line["setting"], line["model"], *line["point"]].append(
            (line["accuracy"], line[line["point"][0]])
        )
    rows = []
    for setting, model in sorted({key[:2] for key in levels}, key=lambda key: SETTINGS.index(key[0])):
        for axis in AXES:
            points = [levels.get((setting, model, axis, gap)) for gap in GAPS]
            if any(points):
                cells = [
                    "" if not own else "{} ({})".format(*(number(value) for value in np.mean(own, axis=0)))
                    for own in points
                ]
                rows.append([setting, model, LABELS[axis], *cells])
    return table(["setting", "model", "axis", *(f"at {gap:.2f}" for gap in GAPS)], rows) if rows else ""


def draw(lines: Lines, model: str, path: Path) -> None:
    """Draw accuracy and treatment against demographic parity, in the mean over settings."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.5), layout="constrained")
    axes, settings = figure.subplots(1, 2, sharex=True), lines.settings(model)
    colors = {"plain": "0.35", "fairshap": "tab:blue", "tune": "tab:red"}
    shown = [name for name in METHODS if lines.overall(model, name, "dp")[2] and name != CONSTANT]
    for number_of, method in enumerate(shown, start=1):
        x, accuracy = (lines.overall(model, method, name)[0] for name in ("dp", "accuracy"))
        flips = float(np.nanmean([lines.level(setting, model, method, "flips") for setting in settings]))
        marker = "s" if lines.needs_attribute(method) else "o"
        color = colors.get(METHODS[method].kind, "tab:orange")
        for ax, y in zip(axes, (accuracy, flips), strict=True):
            ax.plot(x, y, marker, color=color, label=f"{number_of} {method}")
            ax.annotate(str(number_of), (x, y), xytext=(4, 3), textcoords="offset points", fontsize=8)
    for ax in axes:
        ax.axvline(0, color="0.8", zorder=0)
        ax.set_xlabel("DP, less that of dropping the column")
    axes[0].axhline(0, color="0.8", zorder=0)
    axes[0].set_ylabel("accuracy, less that of dropping the column")
    axes[1].set_ylabel("flips: share of decisions that depend on the attribute alone")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    figure.suptitle(f"Mean over {len(settings)} settings, {model}; squares need the attribute to predict")
    with mpl.rc_context({"svg.hashsalt": "effect"}):
        figure.savefig(path, metadata={"Date": None})


def described(lines: Lines) -> str:
    """Return which settings, folds and seeds were measured."""
    parts = []
    for model in lines.models():
        folds = [len(lines.found[setting, model, DROPPED]) for setting in lines.settings(model)]
        span = str(folds[0]) if min(folds) == max(folds) else f"{min(folds)} to {max(folds)}"
        seeds = {seed for one in lines.settings(model) for seed, _ in lines.found[one, model, DROPPED]}
        of = f" of {len(seeds)} seeds" if len(seeds) > 1 else ""
        parts.append(
            f"{model} in {len(folds)} settings, {span} folds each{of}".replace(" 1 folds", " 1 fold")
        )
    return (
        f"Measured: {'; '.join(parts)}. What took longer was measured on fewer folds, as the tables of the "
        "settings say. It is compared on these: its levels are those of dropping the column on all folds, "
        "plus its differences from that on its own.\n"
    )


def page(lines: Lines, figure: str | None) -> str:
    """Return the page: figures first, then the tables."""
    models = lines.models()
    parts = [HEAD.format(data=described(lines), most=MOST_ROWS)]
    if figure:
        parts.append(f"![What each remedy does to accuracy, DP and treatment]({figure})\n")
    parts += [
        "## The bars\n",
        "XGBoost; means over the settings, paired over folds.\n",
        show_bars(bars(lines)),
    ]
    for model in models:
        parts += [
            f"## Against dropping the column: {model}\n",
            "Differences on the same folds: the mean over settings ± half of its 95 % interval. Below 0 is "
            "better, but for accuracy and AUC.\n",
            show_means(lines, model),
            f"### Which remedy is best: {model}\n",
            "The remedy with the lowest gap among those that lose at most a point of accuracy against "
            "dropping the column, without and with the attribute at prediction; and the most accurate one. "
            "Many are close: the tables below say how close.\n",
            show_best(lines, model),
        ]
    curves = show_curves(lines)
    if curves:
        parts += [
            "## Accuracy at a given gap\n",
            "The most accurate candidate of `tune` whose gap is at most so wide on inner folds, without the "
            "attribute at prediction: its accuracy, and in brackets the gap itself, on held-out rows.\n",
            curves,
        ]
    parts.append(LEDGER)
    for model in models:
        for setting in lines.settings(model):
            parts += [f"## {setting}, {model}\n", show_setting(lines, setting, model)]
    if lines.failed:
        failed = sorted(
            {
                (f"{line['setting']}, {line['model']}: {line['method']}", line["error"])
                for line in lines.failed
            }
        )
        parts += ["## What could not be measured\n", *(f"- {what}: {why}" for what, why in failed)]
    return "\n".join(parts).rstrip() + "\n"


def write(raw: list[dict[str, Any]], markdown: Path | None) -> None:
    """Print the bars, and write the page with its figure beside it."""
    lines = Lines(raw)
    print(show_bars(bars(lines)))
    if markdown is None:
        print(page(lines, None))
        return
    models = lines.models()
    if models:
        draw(lines, models[0], markdown.with_suffix(".svg"))
    markdown.write_text(page(lines, markdown.with_suffix(".svg").name if models else None))
