"""Peak memory of repairing Adult's training fold (26,048 rows), each setting in a process of its own.

The peer is the same process with the model's fit alone. One JSON line at the end.
"""

import json
import subprocess
import sys
import time

from peak import peak_mib
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, FairSHAP, datasets


def peak(what: str) -> dict[str, float]:
    """Run one setting here and return this process's peak memory in MiB and its seconds."""
    data = datasets.load("adult", encoded=what != "raw")
    train, _ = next(KFold(5, shuffle=True, random_state=1).split(data.X))
    X, y = data.X.iloc[train], data.y.iloc[train]
    start = time.perf_counter()
    if what == "fit":
        XGBClassifier().fit(ColumnEncoder().fit_transform(X), y)
    else:
        fs = FairSHAP(XGBClassifier(), sensitive=data.sensitive, privileged=data.privileged)
        fs.fit_resample(X, y)
    seconds = time.perf_counter() - start
    return {"MiB": peak_mib(), "seconds": round(seconds, 1)}


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(peak(sys.argv[1])))
        return
    results = {}
    for what in ("fit", "raw", "encoded"):
        run = subprocess.run([sys.executable, __file__, what], capture_output=True, text=True, check=True)
        results[what] = json.loads(run.stdout)
        print(f"{what:8} {results[what]['MiB']:8.0f} MiB {results[what]['seconds']:6.1f} s")
    ratio = results["raw"]["MiB"] / results["fit"]["MiB"]
    print(json.dumps({"benchmark": "memory", "ratio_to_fit": round(ratio, 2), **results}))


if __name__ == "__main__":
    main()
