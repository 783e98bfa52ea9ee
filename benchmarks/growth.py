"""How attribution grows with rows, columns, trees and players, each beside two forward passes of the model.

Adult's first training fold with raw columns as players for rows and trees, made tables for columns and q;
medians of three, warm. A step's factor is what doubling costs (for q, one player more). One JSON line
at the end.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import MatchPlan, attribute, datasets, match
from fairshap._models import fit_model


def median_seconds(call: Callable[[], Any]) -> float:
    call()
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def measure(model: Any, X: Any, plan: MatchPlan, **who: Any) -> tuple[float, float]:
    """Return the seconds of attribution, and of two forward passes."""
    seconds = median_seconds(lambda: attribute(model, X, plan, **who, random_state=0))
    forward = median_seconds(lambda: (model.predict_proba(X), model.predict_proba(X)))
    return seconds, forward


def adult() -> tuple[Any, Any, dict[str, Any]]:
    d = datasets.load("adult")
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(d.X))
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    return d.X.iloc[train], d.y.iloc[train].to_numpy(), who


def by_rows() -> dict[int, tuple[float, float]]:
    X, y, who = adult()
    model = fit_model(XGBClassifier(), X, y)
    results = {}
    for share in (8, 4, 2, 1):
        part, labels = X.iloc[: len(X) // share], y[: len(X) // share]
        results[len(part)] = measure(model, part, match(part, labels, **who), **who)
    return results


def by_trees() -> dict[int, tuple[float, float]]:
    X, y, who = adult()
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


def by_players() -> dict[int, tuple[float, float]]:
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
    for what, run in (("rows", by_rows), ("columns", by_columns), ("trees", by_trees), ("q", by_players)):
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
