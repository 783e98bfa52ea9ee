"""The whole repair (matching, attribution, edits) against the fit of the model that it consults.

XGBoost, the protocol's first training fold, raw columns and encoded features; medians of three, warm.
One JSON line at the end. Census KDD takes minutes: name it, ``python benchmarks/repair.py census_kdd``.
"""

import json
import sys
import time
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, FairSHAP, datasets
from fairshap.models import fit_model


def run(name: str, encoded: bool) -> dict[str, float]:
    data = datasets.load(name, encoded=encoded)
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(data.X))
    X, y = data.X.iloc[train], data.y.iloc[train].to_numpy()
    sensitive: Any = data.sensitive
    if encoded:
        sensitive, X = X.columns.get_loc(sensitive), X.to_numpy()
    model = fit_model(XGBClassifier(), X, y)
    matrix = X if encoded else ColumnEncoder().fit_transform(X)
    taken: dict[str, list[float]] = {"fit": [], "repair": []}
    for _ in range(4):
        start = time.perf_counter()
        XGBClassifier().fit(matrix, y)
        taken["fit"].append(time.perf_counter() - start)
        fs = FairSHAP(FrozenEstimator(model), sensitive=sensitive, privileged=data.privileged)
        start = time.perf_counter()
        fs.fit_resample(X, y)
        taken["repair"].append(time.perf_counter() - start)
    fit, repair = (float(np.median(taken[what][1:])) for what in ("fit", "repair"))
    estimated = int((fs.attributions_.status == "estimated").sum())
    return {
        "fit": round(fit, 3),
        "repair": round(repair, 3),
        "ratio": round(repair / fit, 2),
        "estimated": estimated,
    }


def main() -> None:
    names = sys.argv[1:] or ["german", "compas", "adult", "credit"]
    results = {
        f"{name}, {'encoded' if encoded else 'raw'}": run(name, encoded)
        for name in names
        for encoded in (False, True)
    }
    for name, result in results.items():
        print(
            f"{name:20} fit {result['fit']:7.3f} s  repair {result['repair']:7.3f} s  "
            f"ratio {result['ratio']:6.2f}  rows estimated {result['estimated']}"
        )
    print(json.dumps({"benchmark": "repair", **results}))


if __name__ == "__main__":
    main()
