"""The repair that tune picks on training folds alone, against the paper's, in its seven settings.

Outer folds with seeds other than the paper's. On each training fold `tune` picks a repair, with the same
candidates and the same objective for all settings: the mean of DR, DP and EO relative to the baseline, at
most a point of accuracy. It is fitted there and judged on the test fold, beside the model as it is, without
the column, twins alone, the default of `FairSHAPClassifier`, and the paper's configuration. Every fold is
one line of a file; a run that was interrupted goes on where it stopped. Census KDD is the paper's tenth of
the table, its rows joined with their own labels.

    python benchmarks/tuned.py --out tuned.jsonl [--settings german:sex,...] [--seeds 5]
    python benchmarks/tuned.py --out tuned.jsonl --show [--markdown docs/tuned.md]
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import FairSHAP, datasets, paper_settings, tune
from fairshap.evaluation import MEASURES, Trial, measures_of, run_trials
from fairshap.exceptions import FairshapWarning

SETTINGS = "german:sex,compas:sex,compas:race,adult:sex,adult:race,credit:SEX,census_kdd:sex"
#: What the paper reports: FairSHAP's accuracy less the baseline's; DR, DP and EO relative to the baseline's.
PAPER = {
    "german:sex": (-0.0020, 0.310, 0.588, 0.875),
    "compas:sex": (-0.0089, 0.712, 0.857, 0.792),
    "compas:race": (-0.0062, 0.846, 0.936, 1.090),
    "adult:sex": (-0.0030, 0.867, 0.863, 0.535),
    "adult:race": (-0.0001, 0.714, 0.823, 0.355),
    "credit:SEX": (0.0004, 0.947, 0.913, 0.621),
}
FIRST_SEED = 101
CANDIDATES = {
    "thresholds": (0.1, 0.05, 0.03, 0.02),
    "strategies": ("threshold",),
    "augments": ("edited", "all"),
}
#: A small table is folded several times: which candidate is best is noise otherwise.
SMALL = 10_000

AS_IS, DROPPED, TWINS, PAPERS, DEFAULT, PICKED = (
    "the model as it is", "without the column", "twins alone", "the paper's", "default", "picked",
)  # fmt: skip
#: What of the paper's accuracy a repair may lose beyond the paper's own loss.
MARGIN = 0.005


def judge_fold(name: str, sensitive: str, seed: int, fold: int) -> dict[str, object]:
    """Return the measures of all methods on one test fold, and what was picked."""
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    X, y = data.X, data.y
    if name == "census_kdd":
        X = X.sample(frac=0.1, random_state=25)
        y = y.loc[X.index]
    columns = list(X.columns)
    X, y = X.to_numpy(), y.to_numpy()
    players = {key: [columns.index(column) for column in part] for key, part in data.players.items()}
    who = {"sensitive": columns.index(data.sensitive), "privileged": 1.0}
    train, test = list(KFold(5, shuffle=True, random_state=seed).split(X))[fold]
    tuning = tune(
        X[train], y[train], XGBClassifier(), **who, players=players, **CANDIDATES,
        n_repeats=3 if len(X) < SMALL else 1, n_resamples=200, random_state=seed,
    )  # fmt: skip
    picked = tuning.repair
    paper = FairSHAP(XGBClassifier(), **who, **paper_settings(), random_state=seed)
    default = FairSHAP(XGBClassifier(), **who, players=players, random_state=seed)
    trials = [
        Trial(AS_IS),
        Trial(DROPPED, drops=True),
        Trial(TWINS, default._recipe(np.inf, "all"), DEFAULT),
        Trial(PAPERS, paper._recipe(0.05, None), PAPERS),
        Trial(DEFAULT, default._recipe(0.05, "edited"), DEFAULT),
        Trial(PICKED, picked._recipe(picked.threshold, picked.augment), PICKED),
    ]
    # The first one says how rows are compared: as in the paper.
    asked = {PAPERS: paper, DEFAULT: default, PICKED: clone(picked)}
    outcomes = run_trials(trials, asked, X, y, [(train, test)], 1)
    measures = {
        trial.name: np.round(measures_of(outcome.folds[0].columns().sum(axis=0)), 5).tolist()
        for trial, outcome in zip(trials, outcomes, strict=True)
    }
    plain = {"the model as it is": AS_IS, "the model without the sensitive column": DROPPED}
    if tuning.recommended in plain:
        measures[PICKED] = measures[plain[tuning.recommended]]
    return {"setting": f"{name}:{sensitive}", "seed": seed, "fold": fold, "picked": tuning.recommended,
            "measures": measures}  # fmt: skip


def summarise(lines: list[dict[str, object]]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the accuracy less the baseline's, DR, DP and EO relative to it, and half of their intervals."""
    seeds = sorted({line["seed"] for line in lines})
    by_seed = {
        method: np.array([
            np.mean([line["measures"][method] for line in lines if line["seed"] == seed], axis=0)
            for seed in seeds
        ])
        for method in lines[0]["measures"]
    }  # fmt: skip
    base = by_seed[AS_IS].mean(axis=0)
    kept = [MEASURES.index(name) for name in ("accuracy", "dr", "dp", "eo")]
    found = {}
    for method, measures in by_seed.items():
        change = measures / base
        change[:, 0] = measures[:, 0] - by_seed[AS_IS][:, 0]
        error = change.std(axis=0, ddof=min(1, len(seeds) - 1)) / np.sqrt(len(seeds))
        found[method] = (change.mean(axis=0)[kept], 1.96 * error[kept])
    return found


def verdict(setting: str, found: dict[str, tuple[np.ndarray, np.ndarray]]) -> str:
    """Say whether the picked repair is better than the paper's, and what dominates it."""
    mine = found[PICKED][0]
    bar = np.array(PAPER[setting]) if setting in PAPER else found[PAPERS][0]
    missed = [
        name for name, own, paper in zip(("DR", "DP", "EO"), mine[1:], bar[1:], strict=True) if own > paper
    ]
    if mine[0] < bar[0] - MARGIN:
        missed.append("accuracy")
    text = f"not better in {', '.join(missed)}" if missed else "better in DR, DP and EO"
    for plain in (DROPPED, TWINS):
        its = found[plain][0]
        if its[0] >= mine[0] and its[2] <= mine[2] and its[3] <= mine[3]:
            return f"{text}; {plain} is at least as good: take that"
    return text


def show(lines: list[dict[str, object]]) -> str:
    """Return the tables in Markdown: means over seeds with 95 % intervals."""
    text = []
    for setting in dict.fromkeys(line["setting"] for line in lines):
        mine = [line for line in lines if line["setting"] == setting]
        found = summarise(mine)
        n_seeds = len({line["seed"] for line in mine})
        text += [f"### {setting}: {len(mine)} folds of {n_seeds} seeds", ""]
        text += ["| | accuracy | DR | DP | EO |", "|---|---|---|---|---|"]
        if setting in PAPER:
            drop, *ratios = PAPER[setting]
            text.append(
                f"| the paper reports | {drop:+.4f} | " + " | ".join(f"{r:.3f}" for r in ratios) + " |"
            )
        for method, (mean, half) in found.items():
            cells = [f"{mean[0]:+.4f} ± {half[0]:.4f}"]
            cells += [f"{m:.3f} ± {h:.3f}" for m, h in zip(mean[1:], half[1:], strict=True)]
            text.append(f"| {method} | " + " | ".join(cells) + " |")
        picks = [line["picked"] for line in mine]
        common = sorted(set(picks), key=picks.count, reverse=True)[:3]
        text += ["", f"Picked, against the paper: {verdict(setting, found)}."]
        text += [
            "Most often picked: " + "; ".join(f"{pick} ({picks.count(pick)})" for pick in common) + ".",
            "",
        ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", FairshapWarning)
    lines = []
    if options.out.exists():
        lines = [json.loads(line) for line in options.out.read_text().splitlines()]
    known = {(line["setting"], line["seed"], line["fold"]) for line in lines}
    for setting in () if options.show else options.settings.split(","):
        for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
            for fold in range(5):
                if (setting, seed, fold) in known:
                    continue
                lines.append(judge_fold(*setting.split(":"), seed, fold))
                with options.out.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    text = show(lines)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
