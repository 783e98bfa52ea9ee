"""The error of the native routes against the oracle, which calls the model, over 500 pairs a family.

The tables have missing values and, where a family takes them, native categories. The ratio is the oracle's
time to ours. One JSON line at the end.
"""

import json
import time
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from fairshap import MatchPlan, attribute
from fairshap.attribution import _attribute

PAIRS = 500


def table(with_categories: bool, with_missing: bool) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    n = 4 * PAIRS
    numbers = rng.normal(size=(n, 6)).round(2)
    X = pd.DataFrame(numbers, columns=list("abcdef"))
    X.insert(0, "sex", np.arange(n) % 2)
    score = X["a"] + X["b"] * (1 + X["sex"]) + rng.normal(size=n)
    if with_categories:
        towns = rng.choice(list("uvwxyz"), n)
        X["town"] = pd.Categorical(np.where(rng.random(n) < 0.1, None, towns))
        X["job"] = pd.Categorical(rng.choice([f"job {k}" for k in range(40)], n))
        score += np.isin(towns, ["u", "x"]) * (1 + X["sex"])
    if with_missing:
        X[list("bcd")] = X[list("bcd")].mask(rng.random((n, 3)) < 0.1)
    return X, (score > 0.5).to_numpy().astype(int)


FAMILIES = {
    "XGBoost": (XGBClassifier(enable_categorical=True), True, True),
    "LightGBM": (LGBMClassifier(verbose=-1), True, True),
    "HistGradientBoosting": (HistGradientBoostingClassifier(), True, True),
    "RandomForest": (RandomForestClassifier(random_state=0), False, True),
    "ExtraTrees": (ExtraTreesClassifier(random_state=0), False, True),
    "GradientBoosting": (GradientBoostingClassifier(), False, False),
    "DecisionTree": (DecisionTreeClassifier(random_state=0), False, True),
    "LogisticRegression": (LogisticRegression(), False, False),
}


def run(model: Any, with_categories: bool, with_missing: bool) -> dict[str, Any]:
    X, y = table(with_categories, with_missing)
    model.fit(X, y)
    rows = np.arange(PAIRS)
    plan = MatchPlan(len(X), rows, (rows * 3 + 1) % len(X), np.ones(PAIRS), np.zeros(PAIRS))
    results, taken = [], []
    for small in (0, np.inf):
        _attribute._SMALL = small
        attribute(model, X, plan, sensitive="sex", privileged=1)
        start = time.perf_counter()
        results.append(attribute(model, X, plan, sensitive="sex", privileged=1))
        taken.append(time.perf_counter() - start)
    ours, oracle = results
    gap = max(
        float(np.nanmax(np.abs(getattr(ours, name) - getattr(oracle, name))))
        for name in ("values", "risk", "reference_risk")
    )
    return {"route": ours.route, "largest_error": float(f"{gap:.2g}"), "ratio": round(taken[1] / taken[0], 1)}


def main() -> None:
    results = {name: run(*family) for name, family in FAMILIES.items()}
    for name, result in results.items():
        print(f"{name:22}", *(f"{key} {value}" for key, value in result.items()), sep="  ")
    print(json.dumps({"benchmark": "accuracy", **results}))


if __name__ == "__main__":
    main()
