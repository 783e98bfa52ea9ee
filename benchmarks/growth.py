"""How the cost of Shapley values grows with rows, columns, trees and features that differ (q).

Each line stands beside two forward passes of the model. Adult's first training fold with raw columns for rows
and trees, made tables for columns and q; medians of three, warm. A step's factor is what doubling costs (for
q, one feature more). One JSON line at the end.
"""

import json
from typing import Any

import numpy as np
from common import median_seconds, training_fold
from xgboost import XGBClassifier

from fairshap import MatchPlan, explain, match
from fairshap._models import fit_model


def measure(model: Any, X: Any, plan: MatchPlan, **who: Any) -> tuple[float, float]:
    """Return the seconds of the explanation, and of two forward passes."""
    seconds = median_seconds(lambda: explain(model, X, plan, **who, random_state=0))
    forward = median_seconds(lambda: (model.predict_proba(X), model.predict_proba(X)))
    return seconds, forward


def by_rows() -> dict[int, tuple[float, float]]:
    X, y, who = training_fold("adult")
    model = fit_model(XGBClassifier(), X, y)
    results = {}
    for share in (8, 4, 2, 1):
        part, labels = X.iloc[: len(X) // share], y[: len(X) // share]
        results[len(part)] = measure(model, part, match(part, labels, **who), **who)
    return results


def by_trees() -> dict[int, tuple[float, float]]:
    X, y, who = training_fold("adult")
    plan = match(X, y, **who)
    results = {}
    for n in (50, 100, 200, 400):
        results[n] = measure(fit_model(XGBClassifier(n_estimators=n), X, y), X, plan, **who)
    return results


def made(n: int, width: int) -> tuple[Any, Any, dict[str, Any]]:
    """Return a table of numbers whose rows differ from any other in all columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width))
    X[:, 0] = np.arange(n) % 2
    y = (X[:, 1:].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y, {"sensitive": 0, "privileged": 1}


def by_columns() -> dict[int, tuple[float, float]]:
    results = {}
    for width in (50, 100, 200, 400):
        X, y, who = made(5000, width)
        # Pairs that differ in ten columns, whatever the width.
        X[1::2, 11:] = X[::2, 11:]
        model = XGBClassifier().fit(X, y)
        rows = np.arange(len(X))
        plan = MatchPlan(len(X), rows, rows ^ 1, np.ones(len(X)), np.zeros(len(X)))
        results[width] = measure(model, X, plan, **who)
    return results


def by_features() -> dict[int, tuple[float, float]]:
    results = {}
    for q in (8, 10, 12, 14, 16, 18):
        X, y, who = made(1000, q + 1)
        model = XGBClassifier().fit(X, y)
        rows = np.arange(len(X))
        plan = MatchPlan(len(X), rows, rows ^ 1, np.ones(len(X)), np.zeros(len(X)))
        results[q] = measure(model, X, plan, **who)
    return results


def main() -> None:
    results = {}
    for what, run in (("rows", by_rows), ("columns", by_columns), ("trees", by_trees), ("q", by_features)):
        measured = run()
        sizes = list(measured)
        results[what] = {}
        for k, (size, (seconds, forward)) in enumerate(measured.items()):
            line = {"seconds": round(seconds, 4), "over_two_forward_passes": round(seconds / forward, 2)}
            if k:
                steps = sizes[k] - sizes[k - 1] if what == "q" else np.log2(sizes[k] / sizes[k - 1])
                line["factor"] = round((seconds / measured[sizes[k - 1]][0]) ** (1 / steps), 2)
            results[what][size] = line
            print(f"{what:8} {size:6}", *(f"{key} {value:g}" for key, value in line.items()), sep="  ")
    print(json.dumps({"benchmark": "growth", **results}))


if __name__ == "__main__":
    main()
