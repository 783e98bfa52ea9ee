"""The whole repair (matching, Shapley values, edits) against the fit of the model that it explains.

XGBoost, the protocol's first training fold of all five tables, raw columns and encoded features; medians of
three, warm. Each line is measured in a process of its own: "fit" has the model's fit alone, on the encoded
matrix, and the peak memory of that. One JSON line at the end; name tables to measure those only.
"""

import json
import subprocess
import sys
import time

from common import median_seconds, peak_mib, training_fold
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, FairSHAP, datasets
from fairshap._models import fit_model


def measure_fit(name: str) -> dict[str, float]:
    X, y, _ = training_fold(name, encoded=True)
    start = time.perf_counter()
    XGBClassifier().fit(X, y)
    seconds = time.perf_counter() - start
    return {"rows": len(X), "first": round(seconds, 3), "peak_GiB": round(peak_mib() / 1024, 2)}


def measure_repair(name: str, encoded: bool) -> dict[str, float]:
    # The encoded Census KDD has each row once.
    distinct = name == "census_kdd" and not encoded
    X, y, who = training_fold(name, encoded=encoded, distinct=distinct)
    model = fit_model(XGBClassifier(), X, y)
    repair = FairSHAP(FrozenEstimator(model), **who)
    repair.fit_resample(X, y)
    # Later runs hold the result of the one before as well.
    memory = peak_mib() / 1024
    seconds = median_seconds(lambda: repair.fit_resample(X, y))
    matrix = X if encoded else ColumnEncoder().fit_transform(X)
    fit = median_seconds(lambda: XGBClassifier().fit(matrix, y))
    return {
        "rows": len(X),
        "fit": round(fit, 3),
        "repair": round(seconds, 3),
        "ratio": round(seconds / fit, 2),
        "edits": len(repair.edits_),
        "estimated": int((repair.explanation_.status == "estimated").sum()),
        "peak_GiB": round(memory, 2),
    }


def main() -> None:
    kinds = ("fit", "raw", "encoded")
    if len(sys.argv) == 3 and sys.argv[2] in kinds:
        name, kind = sys.argv[1:]
        print(json.dumps(measure_fit(name) if kind == "fit" else measure_repair(name, kind == "encoded")))
        return
    results = {}
    for name in sys.argv[1:] or datasets.names():
        for kind in kinds:
            command = [sys.executable, __file__, name, kind]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            result = results[f"{name}, {kind}"] = json.loads(done.stdout)
            print(f"{name:10} {kind:8}", *(f"{key} {value:g}" for key, value in result.items()), sep="  ")
    print(json.dumps({"benchmark": "repair", **results}))


if __name__ == "__main__":
    main()
