"""Disparate impact removal against AIF360's, which is BlackBoxAuditing's repairer, with equal results.

The paper's encoded tables, first training fold, full repair. Ours: median of three, fit and transform. One
JSON line at the end.
"""

import json
import time
import warnings

import numpy as np
from sklearn.model_selection import KFold

from fairshap import datasets
from fairshap.mitigation import DisparateImpactRemover


def by_black_box_auditing(X, sensitive: int):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from BlackBoxAuditing.repairers.GeneralRepairer import Repairer
    rows = X.tolist()
    start = time.perf_counter()
    repaired = np.array(Repairer(rows, sensitive, 1.0, False).repair(rows), dtype=float)
    seconds = time.perf_counter() - start
    repaired[:, sensitive] = X[:, sensitive]
    return repaired, seconds


def measure(name: str) -> dict[str, float]:
    data = datasets.load(name, encoded=True)
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(data.X))
    X = data.X.to_numpy(dtype=float)[train]
    sensitive = data.X.columns.get_loc(data.sensitive)
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ours = DisparateImpactRemover(sensitive=sensitive, privileged=data.privileged).fit_transform(X)
        times.append(time.perf_counter() - start)
    theirs, seconds = by_black_box_auditing(X, sensitive)
    np.testing.assert_array_equal(ours, theirs)
    return {"seconds": round(float(np.median(times)), 4), "aif360_seconds": round(seconds, 2)}


def main() -> None:
    results = {name: measure(name) for name in ("german", "compas", "adult")}
    for name, result in results.items():
        result["ratio"] = round(result["aif360_seconds"] / result["seconds"], 1)
        print(
            f"{name:8} {result['seconds']:8.3f} s, AIF360 {result['aif360_seconds']:7.2f} s: "
            f"{result['ratio']:.0f} times faster, the same cells"
        )
    print(json.dumps({"benchmark": "impact_remover", **results}))


if __name__ == "__main__":
    main()
