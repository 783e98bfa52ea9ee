"""Attribution against shap's explainers on the same pairs, and against two forward passes.

Encoded features as players, XGBoost, the protocol's first training fold. shap explains a stated sample
of rows at its documented defaults, warm; its time a row is compared with ours over the whole fold (median
of three, trees walked, nothing skipped). One JSON line at the end.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import shap
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import attribute, datasets, match

SAMPLE = {"german": 30, "compas": 30, "adult": 15}


def median_seconds(call: Callable[[], Any], times: int = 3) -> float:
    call()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def explain_with_shap(kind: str, risk: Callable[[Any], Any], x: Any, r: Any) -> Any:
    if kind == "kernel":
        return shap.KernelExplainer(risk, r[None]).shap_values(x, silent=True)
    masker = shap.maskers.Independent(r[None], max_samples=1)
    explainer = shap.explainers.Permutation if kind == "permutation" else shap.explainers.Exact
    return explainer(risk, masker)(x[None]).values[0]


def run(name: str) -> dict[str, float]:
    data = datasets.load(name, encoded=True)
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(data.X))
    X, y = data.X.to_numpy()[train], data.y.to_numpy()[train]
    sensitive = data.X.columns.get_loc(data.sensitive)
    who = {"sensitive": sensitive, "privileged": 1}
    model = XGBClassifier().fit(X, y)
    plan = match(X, y, **who)
    ours = attribute(model, X, plan, **who)
    seconds = median_seconds(lambda: attribute(model, X, plan, **who))
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


def main() -> None:
    results = {name: run(name) for name in SAMPLE}
    for name, result in results.items():
        print(name, *(f"{key}={value:g}" for key, value in result.items()), sep="  ")
    print(json.dumps({"benchmark": "attribution", **results}))


if __name__ == "__main__":
    main()
