"""What a first run waits for: imports, the compiler, and then the same again with the compiler's cache.

Each run is a process of its own that repairs a table with XGBoost; the peer is the same process with the
model's fit alone. The small table (400 rows) and COMPAS need no compiled code, Adult does. One JSON line at
the end.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from fairshap import FairSHAP, datasets

TABLES = ("small", "compas", "adult")


def run(table: str, what: str) -> None:
    from xgboost import XGBClassifier

    d = datasets.make_biased(400, random_state=0) if table == "small" else datasets.load(table)
    if what == "fit":
        XGBClassifier().fit(d.X.select_dtypes("number"), d.y)
    else:
        FairSHAP(XGBClassifier(), sensitive=d.sensitive, privileged=d.privileged).fit_resample(d.X, d.y)


def seconds(table: str, what: str, cache: str) -> float:
    start = time.perf_counter()
    command = [sys.executable, "-W", "ignore", __file__, table, what]
    subprocess.run(command, check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
    return round(time.perf_counter() - start, 2)


def main() -> None:
    if len(sys.argv) > 1:
        run(*sys.argv[1:])
        return
    results: dict[str, dict[str, float]] = {}
    for table in TABLES:
        with tempfile.TemporaryDirectory() as cache:
            first = seconds(table, "repair", cache)
            later = sorted(seconds(table, "repair", cache) for _ in range(3))[1]
            fit = sorted(seconds(table, "fit", cache) for _ in range(3))[1]
        results[table] = {"first": first, "later": later, "fit": fit, "ratio": round(later / fit, 2)}
        print(f"{table:8}", *(f"{key} {value:g}" for key, value in results[table].items()), sep="  ")
    print(json.dumps({"benchmark": "cold_start", **results}))


if __name__ == "__main__":
    main()
