"""What each strategy, guard and kind of twins does to a retrained model, in the paper's seven settings.

Raw columns are the players (of the encoded tables), XGBoost, five folds a seed. Prints a table a setting, and
one JSON line at the end. It says which default never leaves the retrained model with a higher risk.

    python benchmarks/strategies.py [--settings german:sex,adult:race] [--seeds 2]
"""

import argparse
import json
import time

import numpy as np
from per_fold import measures_of
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import FairSHAP, datasets
from fairshap.model_selection import MEASURES, Trial, run_trials

SETTINGS = "german:sex,compas:sex,compas:race,adult:sex,adult:race,credit:SEX,census_kdd:sex"
# What is tried: the parameters of FairSHAP.
VARIANTS = {
    "threshold": {},
    "threshold, guard of risk": {"guard": "risk"},
    "threshold, twins of edited rows": {"augment": "edited"},
    "threshold, twins of all rows": {"augment": "all"},
    "  guard of labels": {"augment": "all", "guard": "label"},
    "threshold 0.1, twins of all rows": {"threshold": 0.1, "augment": "all"},
    "  guard of labels, 0.1": {"threshold": 0.1, "augment": "all", "guard": "label"},
    "optimal": {"strategy": "optimal"},
    "optimal, twins of edited rows": {"strategy": "optimal", "augment": "edited"},
    "iterative": {"strategy": "iterative", "max_rounds": 3},
    "iterative, twins of edited rows": {"strategy": "iterative", "max_rounds": 3, "augment": "edited"},
    "twins of all rows, no edits": {"threshold": np.inf, "augment": "all"},
    "twins of risk >= 0.1, no edits": {"threshold": np.inf, "augment": 0.1},
}


def run(name: str, sensitive: str, n_seeds: int) -> dict[str, list[float]]:
    """Return the mean of each measure, and the number of edits, for each variant."""
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    X, y = data.X.to_numpy(), data.y.to_numpy()
    columns = list(data.X.columns)
    players = {key: [columns.index(column) for column in part] for key, part in data.players.items()}
    sampler = FairSHAP(
        XGBClassifier(),
        sensitive=columns.index(data.sensitive),
        privileged=1.0,
        players=players,
        comparison="random",
        random_state=0,
    )
    trials = [Trial("the model as it is"), Trial("without the column", drops=True)]
    for variant, params in VARIANTS.items():
        recipe = FairSHAP(**{**sampler.get_params(deep=False), **params})._recipe(
            params.get("threshold", 0.05), params.get("augment")
        )
        trials.append(Trial(variant, recipe, "own"))
    folds = [
        fold
        for seed in range(101, 101 + n_seeds)
        for fold in KFold(5, shuffle=True, random_state=seed).split(X)
    ]
    outcomes = run_trials(trials, {"own": sampler}, X, y, folds, 1).outcomes
    side = sampler._setting(X).groups.side
    results = {}
    for trial, outcome in zip(trials, outcomes, strict=True):
        measures = np.mean([measures_of(fold, side[fold.rows]) for fold in outcome.folds], axis=0)
        results[trial.name] = [*np.round(measures, 4).tolist(), float(np.mean(outcome.n_edits))]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", default=SETTINGS)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    start, everything = time.perf_counter(), {}
    for setting in options.settings.split(","):
        results = run(*setting.split(":"), options.seeds)
        everything[setting] = results
        print(f"\n{setting:34}" + "".join(f"{m:>10}" for m in MEASURES) + f"{'edits':>10}")
        for variant, figures in results.items():
            cells = "".join(f"{figure:>10.4f}" for figure in figures[:-1])
            print(f"{variant:34}{cells}{figures[-1]:>10.0f}", flush=True)
    seconds = round(time.perf_counter() - start, 1)
    print(json.dumps({"benchmark": "strategies", "seconds": seconds, "settings": everything}))


if __name__ == "__main__":
    main()
