"""Shapley values against calling the model, and against shap's explainers on the same pairs.

First the families whose parts fairshap reads: the largest difference to the values from model calls over 500
pairs, and the ratio of the seconds. The tables have missing values and, where a family takes them, native
categories. Then shap: encoded features, XGBoost, the protocol's first training fold. shap explains a stated
sample of rows with its defaults, warm; its time a row is compared with ours over the whole fold (median of
three), which also stands beside two forward passes of the model. Last the gap game: its processor time over
that of the risk game in one thread, medians of five that take turns, on Adult and on the file of ACS Income
(PINCP by SEX, 0 is privileged) if it is given as an argument. One JSON line at the end.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import shap
from common import median_seconds, training_fold
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

from fairshap import Explainer, MatchPlan, explain, match
from fairshap.attribution import _explain

PAIRS = 500
#: An estimator, whether it takes categories, and whether it takes missing values.
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
SAMPLE = {"german": 30, "compas": 30, "adult": 15}


def make_table(with_categories: bool, with_missing: bool) -> tuple[pd.DataFrame, Any]:
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


def against_calls(model: Any, with_categories: bool, with_missing: bool) -> dict[str, Any]:
    X, y = make_table(with_categories, with_missing)
    model.fit(X, y)
    rows = np.arange(PAIRS)
    plan = MatchPlan(len(X), rows, (rows * 3 + 1) % len(X), np.ones(PAIRS), np.zeros(PAIRS))
    results, taken = [], []
    # Below this number of coalitions the model is called.
    for small in (0, np.inf):
        _explain._SMALL = small
        explain(model, X, plan, sensitive="sex", privileged=1)
        start = time.perf_counter()
        results.append(explain(model, X, plan, sensitive="sex", privileged=1))
        taken.append(time.perf_counter() - start)
    ours, called = results
    gap = max(
        float(np.nanmax(np.abs(getattr(ours, name) - getattr(called, name))))
        for name in ("values", "risk", "reference_risk")
    )
    return {"route": ours.route, "largest_error": float(f"{gap:.2g}"), "ratio": round(taken[1] / taken[0], 1)}


def explain_with_shap(kind: str, risk: Callable[[Any], Any], x: Any, r: Any) -> Any:
    if kind == "kernel":
        return shap.KernelExplainer(risk, r[None]).shap_values(x, silent=True)
    masker = shap.maskers.Independent(r[None], max_samples=1)
    explainer = shap.explainers.Permutation if kind == "permutation" else shap.explainers.Exact
    return explainer(risk, masker)(x[None]).values[0]


def against_shap(name: str) -> dict[str, float]:
    X, y, who = training_fold(name, encoded=True)
    sensitive = who["sensitive"]
    model = XGBClassifier().fit(X, y)
    plan = match(X, y, **who)
    ours = explain(model, X, plan, **who)
    seconds = median_seconds(lambda: explain(model, X, plan, **who))
    forward = median_seconds(lambda: (model.predict_proba(X), model.predict_proba(X)))

    def risk(rows: Any) -> Any:
        low, high = rows.copy(), rows.copy()
        low[:, sensitive], high[:, sensitive] = 0, 1
        return np.abs(model.predict_proba(high)[:, 1] - model.predict_proba(low)[:, 1])

    best = plan.best
    differ = (X[best] != X).sum(axis=1) - 1
    rng = np.random.default_rng(0)
    result = {
        "rows": len(X),
        "us_a_row": 1e6 * seconds / len(X),
        "over_two_forward_passes": seconds / forward,
    }
    for kind in ("kernel", "permutation", "exact"):
        # ExactExplainer enumerates: pairs that differ in at most 16 features.
        able = np.flatnonzero(differ <= 16) if kind == "exact" else np.arange(len(X))
        rows = rng.choice(able, SAMPLE[name], replace=False)
        explain_with_shap(kind, risk, X[rows[0]], X[best[rows[0]]])
        start = time.perf_counter()
        theirs = np.array([explain_with_shap(kind, risk, X[i], X[best[i]]) for i in rows])
        a_row = (time.perf_counter() - start) / len(rows)
        result[f"times_faster_than_{kind}"] = a_row / (seconds / len(X))
        result[f"largest_difference_to_{kind}"] = float(np.abs(theirs - ours.values[rows]).max())
    return {key: float(f"{value:.3g}") for key, value in result.items()}


def gap_over_risk(X: Any, y: Any, who: dict[str, Any]) -> dict[str, float]:
    model, plan = XGBClassifier(n_jobs=1).fit(X, y), match(X, y, **who)
    taken: dict[str, list[float]] = {"risk": [], "gap": []}
    for _ in range(6):
        for game, seconds in taken.items():
            start = time.process_time()
            explain(model, X, plan, explainer=Explainer(game=game), n_jobs=1, **who)
            seconds.append(time.process_time() - start)
    # The first may have compiled.
    risk, gap = (float(np.median(seconds[1:])) for seconds in taken.values())
    return {"risk": round(risk, 3), "gap": round(gap, 3), "ratio": round(gap / risk, 2)}


def main() -> None:
    default, results = _explain._SMALL, {}
    for name, family in FAMILIES.items():
        results[name] = against_calls(*family)
        print(f"{name:22}", *(f"{key} {value}" for key, value in results[name].items()), sep="  ", flush=True)
    _explain._SMALL = default
    for name in SAMPLE:
        results[name] = against_shap(name)
        print(name, *(f"{key}={value:g}" for key, value in results[name].items()), sep="  ", flush=True)
    games = {"adult": training_fold("adult", encoded=True)}
    for path in sys.argv[1:]:
        X = pd.read_parquet(path)
        y = X.pop("PINCP").to_numpy()
        games["acs_income"] = X, y, {"sensitive": "SEX", "privileged": 0}
    for name, table in games.items():
        results[f"gap game, {name}"] = found = gap_over_risk(*table)
        print(
            f"gap game, {name}", *(f"{key}={value:g}" for key, value in found.items()), sep="  ", flush=True
        )
    print(json.dumps({"benchmark": "attribution", **results}))


if __name__ == "__main__":
    main()
