"""What a first run waits for: imports, the compiler, and then the same again with the compiler's cache.

Each run is a process of its own that repairs a table with XGBoost, or Adult with a logistic regression behind
a one-hot encoder (linear); the peer is the same process with the model's fit alone. The small table (400
rows) and COMPAS need no compiled code, Adult does. One JSON line at the end.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

from fairshap import FairSHAP, datasets

TABLES = ("small", "compas", "adult", "linear")


def run(table: str, what: str) -> None:
    if table == "linear":
        d = datasets.load("adult")
        model, X = linear(d.X), d.X
    else:
        from xgboost import XGBClassifier

        d = datasets.make_biased(400, random_state=0) if table == "small" else datasets.load(table)
        model, X = XGBClassifier(), d.X.select_dtypes("number")
    if what == "fit":
        model.fit(X, d.y)
    else:
        FairSHAP(model, sensitive=d.sensitive, privileged=d.privileged).fit_resample(d.X, d.y)


def linear(X: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = list(X.select_dtypes("number"))
    encode = make_column_transformer(
        (StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore")
    )
    return make_pipeline(encode, LogisticRegression(max_iter=1000))


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
