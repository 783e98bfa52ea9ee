"""The repair that tune picks on training folds alone, against the paper's, in its seven settings.

Outer folds with seeds other than the paper's. On each training fold `tune` picks a repair, with one objective
for all settings: the mean of DR, DP and EO relative to the baseline, at most half a point of accuracy. It is
fitted there and judged on the test fold, beside the model as it is, without the column, twins alone, and the
paper's configuration. Every fold is one line of a file; a run that was interrupted goes on where it stopped.

    python benchmarks/tuned.py --out tuned.jsonl [--settings german:sex,...] [--seeds 5]
    python benchmarks/tuned.py --out tuned.jsonl --show
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
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
FIRST_SEED, MAX_DROP = 101, 0.005
# A large table has enough rows for fewer candidates to be told apart, and takes longer.
LARGE = 20_000


def judge_fold(name: str, sensitive: str, seed: int, fold: int) -> dict[str, object]:
    """Return the measures of all methods on one test fold, and what was picked."""
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    X, y = data.X.to_numpy(), data.y.to_numpy()
    columns = list(data.X.columns)
    players = {key: [columns.index(column) for column in part] for key, part in data.players.items()}
    who = {"sensitive": columns.index(data.sensitive), "privileged": 1.0}
    train, test = list(KFold(5, shuffle=True, random_state=seed).split(X))[fold]
    strategies = ("threshold",) if len(X) > LARGE else ("threshold", "optimal", "iterative")
    tuning = tune(
        X[train], y[train], XGBClassifier(), **who, players=players,
        max_accuracy_drop=MAX_DROP, strategies=strategies, n_repeats=1, n_resamples=200, random_state=seed,
    )  # fmt: skip
    picked = tuning.repair
    paper = FairSHAP(XGBClassifier(), **who, **paper_settings(), random_state=seed)
    asked = {"paper": paper, "picked": picked}
    trials = [
        Trial("the model as it is"),
        Trial("without the column", drops=True),
        Trial("twins alone", picked.set_params(augment=picked.augment)._recipe(np.inf, "all"), "picked"),
        Trial("the paper's", paper._recipe(0.05, None), "paper"),
        Trial("picked", picked._recipe(picked.threshold, picked.augment), "picked"),
    ]
    outcomes = run_trials(trials, asked, X, y, [(train, test)], 1)
    measures = {
        trial.name: np.round(measures_of(outcome.folds[0].columns().sum(axis=0)), 5).tolist()
        for trial, outcome in zip(trials, outcomes, strict=True)
    }
    if tuning.recommended in ("the model as it is", "the model without the sensitive column"):
        same = {"the model as it is": "the model as it is"}.get(tuning.recommended, "without the column")
        measures["picked"] = measures[same]
    return {"setting": f"{name}:{sensitive}", "seed": seed, "fold": fold, "picked": tuning.recommended,
            "measures": measures}  # fmt: skip


def show(lines: list[dict[str, object]]) -> None:
    """Print a table a setting: means over the folds relative to the baseline, with the spread over seeds."""
    for setting in dict.fromkeys(line["setting"] for line in lines):
        mine = [line for line in lines if line["setting"] == setting]
        seeds = sorted({line["seed"] for line in mine})
        print(f"\n{setting}: {len(mine)} folds of {len(seeds)} seeds")
        by_seed = {
            method: np.array([
                np.mean([line["measures"][method] for line in mine if line["seed"] == seed], axis=0)
                for seed in seeds
            ])
            for method in mine[0]["measures"]
        }  # fmt: skip
        base = by_seed["the model as it is"].mean(axis=0)
        if setting in PAPER:
            drop, *ratios = PAPER[setting]
            cells = "  ".join(f"{m} {r:.3f}" for m, r in zip(("DR", "DP", "EO"), ratios, strict=True))
            print(f"  {'the paper reports':24} accuracy {drop:+.4f}  {cells}")
        for method, measures in by_seed.items():
            mean, error = measures.mean(axis=0), measures.std(axis=0, ddof=min(1, len(seeds) - 1))
            error = error / np.sqrt(len(seeds))
            cells = "  ".join(
                f"{m.upper()} {mean[k] / base[k]:.3f} ± {1.96 * error[k] / base[k]:.3f}"
                for k, m in enumerate(MEASURES) if m in ("dr", "dp", "eo")
            )  # fmt: skip
            print(f"  {method:24} accuracy {mean[0] - base[0]:+.4f} ± {1.96 * error[0]:.4f}  {cells}")
        picks = [line["picked"] for line in mine]
        for pick in sorted(set(picks), key=picks.count, reverse=True)[:5]:
            print(f"    picked {picks.count(pick)} times: {pick}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--show", action="store_true")
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
    show(lines)


if __name__ == "__main__":
    main()
