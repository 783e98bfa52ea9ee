"""How long tune takes for thirty candidates on Adult, raw and encoded, on all cores.

Three folds; the rows are matched once a fold and the model is asked once for each kind of players. Encoded:
five thresholds, three kinds of twins, features and raw columns as players. Raw: seven thresholds and two
strategies. Dropping the column and twins alone come on top. One JSON line at the end.
"""

import json
import time
import warnings

from xgboost import XGBClassifier

from fairshap import datasets, tune
from fairshap.exceptions import FairshapWarning


def main() -> None:
    warnings.simplefilter("ignore", FairshapWarning)
    results = {}
    for encoded in (False, True):
        d = datasets.load("adult", encoded=encoded)
        who = {"sensitive": d.sensitive, "privileged": d.privileged}
        more = (
            {"players": d.players, "strategies": ("threshold",)}
            if encoded
            else {
                "strategies": ("threshold", "optimal"),
                "thresholds": (0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01),
            }
        )
        start = time.perf_counter()
        tuning = tune(d.X, d.y, XGBClassifier(), **who, **more, random_state=0)
        seconds = time.perf_counter() - start
        name = "encoded" if encoded else "raw"
        n = len(tuning.frame()) - 1
        results[name] = {"candidates": n, "seconds": round(seconds, 1), "recommended": tuning.recommended}
        print(f"{name:8} {n} candidates  {seconds:6.1f} s  {tuning.reason}")
    print(json.dumps({"benchmark": "tuning", **results}))


if __name__ == "__main__":
    main()
