"""What selectors, constraints and counterfactuals do to a retrained model, in the paper's seven settings.

Encoded tables whose raw columns are the features, XGBoost, five folds a seed. Prints a table a setting, and
one JSON line at the end. It says which repair never leaves the retrained model with a higher risk.

    python benchmarks/strategies.py [--settings german:sex,adult:race] [--seeds 2]
"""

import argparse
import json
import time

import numpy as np
from common import MEASURES, SETTINGS, measure, retrain
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import (
    EditConstraints,
    Explainer,
    FairSHAP,
    Iterative,
    OptimalSubset,
    Threshold,
    datasets,
    metrics,
)

BASELINE, DROPPED = "baseline", "without the column"
LABELS = EditConstraints(reject_if="label_less_likely")
ROUNDS = Iterative(Threshold(0.05), max_rounds=3)
#: What is tried: the parameters of FairSHAP.
VARIANTS = {
    "threshold": {},
    "  risk may not rise": {"constraints": EditConstraints(reject_if="risk_rises")},
    "  counterfactuals of edited rows": {"counterfactuals": "edited"},
    "  counterfactuals of all rows": {"counterfactuals": "all"},
    "    labels not less likely": {"counterfactuals": "all", "constraints": LABELS},
    "threshold 0.1, all rows": {"threshold": 0.1, "counterfactuals": "all"},
    "    labels not less likely, 0.1": {"threshold": 0.1, "counterfactuals": "all", "constraints": LABELS},
    "optimal": {"selector": OptimalSubset(0.05)},
    "  optimal, edited rows": {"selector": OptimalSubset(0.05), "counterfactuals": "edited"},
    "iterative": {"selector": ROUNDS},
    "  iterative, edited rows": {"selector": ROUNDS, "counterfactuals": "edited"},
    "all rows, no edits": {"threshold": np.inf, "counterfactuals": "all"},
    "rows of risk >= 0.1, no edits": {"threshold": np.inf, "counterfactuals": 0.1},
}


def run(name: str, sensitive: str, n_seeds: int) -> dict[str, list[float]]:
    """Return the mean of each measure, and the number of edits, for each variant."""
    data = datasets.load(name, sensitive=sensitive, encoded=True)
    X, y = data.X.to_numpy(), data.y.to_numpy()
    columns = list(data.X.columns)
    groups = {key: [columns.index(column) for column in part] for key, part in data.feature_groups.items()}
    at = columns.index(data.sensitive)
    who = {"sensitive": at, "privileged": 1.0}
    explainer = Explainer(feature_groups=groups, comparison="random")
    found: dict[str, list[list[float]]] = {variant: [] for variant in (BASELINE, DROPPED, *VARIANTS)}

    def judge(variant: str, model: XGBClassifier, test: np.ndarray, n_edits: int = 0) -> None:
        """Keep the measures of a model on test rows."""
        rows, risk = np.delete(X[test], at, axis=1), 0.0
        if variant != DROPPED:
            rows = X[test]
            risk = metrics.discriminative_risk(model, rows, **who, comparison="random", random_state=0)
        found[variant].append([*measure(y[test], model.predict(rows), X[test, at], risk), n_edits])

    for seed in range(101, 101 + n_seeds):
        for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
            baseline = XGBClassifier().fit(X[train], y[train])
            judge(BASELINE, baseline, test)
            judge(DROPPED, XGBClassifier().fit(np.delete(X[train], at, axis=1), y[train]), test)
            for variant, params in VARIANTS.items():
                repair = FairSHAP(
                    FrozenEstimator(baseline), **who, explainer=explainer, random_state=0, **params
                )
                judge(variant, retrain(repair, X[train], y[train]), test, len(repair.edits_))
    return {variant: np.round(np.mean(rows, axis=0), 4).tolist() for variant, rows in found.items()}


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
