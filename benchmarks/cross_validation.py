"""How long tune and the report take on Adult, on all cores, and how large the report is.

tune tries all of its candidates on five folds, of which some are dropped early; in each fold the rows are
matched and the model is explained once for each game. Raw and encoded columns. The report compares the models
by cross-validation. One JSON line at the end; 1 if the report is too large.
"""

import json
import sys
import time
import warnings

from xgboost import XGBClassifier

from fairshap import Explainer, FairSHAP, datasets, tune
from fairshap.exceptions import FairshapWarning

#: The bytes that the report may have.
LIMIT = 3_000_000


def run_tune(encoded: bool) -> dict[str, object]:
    d = datasets.load("adult", encoded=encoded)
    tried = {"explainer": Explainer(feature_groups=d.feature_groups)} if encoded else {}
    start = time.perf_counter()
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    tuning = tune(d.X, d.y, XGBClassifier(), **who, **tried, minimize="demographic_parity", random_state=0)
    seconds, n = time.perf_counter() - start, len(tuning.frame()) - 1
    print(
        f"{'encoded' if encoded else 'raw':8} {n} candidates  {seconds:6.1f} s  {tuning.reason}", flush=True
    )
    return {"candidates": n, "seconds": round(seconds, 1), "recommended": tuning.recommended}


def run_report() -> dict[str, float]:
    d = datasets.load("adult")
    start = time.perf_counter()
    repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0).fit(d.X, d.y)
    fitted = time.perf_counter()
    size = len(repair.report().html.encode())
    made = time.perf_counter()
    print(f"report   {size / 1e6:.2f} MB  {made - fitted:6.1f} s  repair {fitted - start:.1f} s", flush=True)
    return {"bytes": size, "seconds": round(made - fitted, 1), "repair": round(fitted - start, 1)}


def main() -> int:
    warnings.simplefilter("ignore", FairshapWarning)
    report = run_report()
    results = {"report": report, "raw": run_tune(encoded=False), "encoded": run_tune(encoded=True)}
    print(json.dumps({"benchmark": "cross_validation", **results}))
    return int(report["bytes"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
