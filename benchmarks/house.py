"""Count what the house costs: modules, lines, conversions, fits, bytes and seconds of import.

    python benchmarks/house.py

prints one line for each count beside the most that it may be, and ends with 1 if one is above that.
"""

import contextlib
import inspect
import io
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import fairshap
from fairshap import FairSHAP, FairSHAPClassifier, datasets

SOURCE = Path(fairshap.__file__).parent

#: What each count may be at most.
MOST = {
    "modules in src": 125,
    "lines in src": 18_500,
    "modules that fit_resample runs through": 24,
    "conversions of the table in fit_resample": 1,
    "conversions for the model's encoding in fit_resample": 1,
    "fits of `fairshap repair --folds 5`": 16,
    "matchings of `fairshap repair --folds 5`": 6,
    "explanations of `fairshap repair --folds 5`": 6,
    "fits of FairSHAPClassifier(weights=None).fit": 2,
    "matchings of FairSHAPClassifier(weights=None).fit": 1,
    "bytes of a pickled classifier beyond its model": 8_192,
    "parameters of FairSHAP": 14,
    "CPU seconds of import beyond scikit-learn and pandas": 1.0,
}


@contextlib.contextmanager
def counting(**functions: str) -> Iterator[Counter[str]]:
    """Count the calls of functions, named as ``module:function``, wherever they were imported to."""
    counts: Counter[str] = Counter()
    undo = []
    for what, path in functions.items():
        module, name = path.split(":")
        owner = sys.modules[module]
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        raw = inspect.getattr_static(owner, last)
        original = raw.__func__ if isinstance(raw, classmethod) else raw

        def counted(*args, _original=original, _what=what, **kwargs):
            counts[_what] += 1
            return _original(*args, **kwargs)

        replacement = classmethod(counted) if isinstance(raw, classmethod) else counted
        places = [owner]
        if not outer:
            places = [
                m
                for n, m in sys.modules.items()
                if n.startswith("fairshap") and vars(m).get(last) is original
            ]
        for place in places:
            undo.append((place, last, raw))
            setattr(place, last, replacement)
    try:
        yield counts
    finally:
        for place, last, raw in undo:
            setattr(place, last, raw)


def modules_of(action) -> set[str]:
    """Return the modules of fairshap whose functions run in an action."""
    seen: set[str] = set()
    root = str(SOURCE) + os.sep

    def trace(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(root) and frame.f_code.co_name != "<module>":
            seen.add(name[len(root) :])

    sys.setprofile(trace)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def reads_of(action, n_rows: int) -> Counter[str]:
    """Count how often a whole table is converted to numbers in an action, and by whom."""
    from fairshap._frames._table import Table

    reads: Counter[str] = Counter()
    original = Table.of.__func__

    def counted(cls, store):
        if store.n_rows >= n_rows:
            files = [frame.filename for frame in inspect.stack()[1:5]]
            reads["encoding" if any(file.endswith("encoding.py") for file in files) else "table"] += 1
        return original(cls, store)

    Table.of = classmethod(counted)
    try:
        action()
    finally:
        Table.of = classmethod(original)
    return reads


def source_counts() -> tuple[int, int]:
    files = list(SOURCE.rglob("*.py"))
    return len(files), sum(len(file.read_text().splitlines()) for file in files)


def import_seconds() -> float:
    """Return the CPU seconds of the import beyond those of scikit-learn and pandas."""

    def seconds(code: str) -> float:
        timed = f"import time; start = time.process_time(); {code}; print(time.process_time() - start)"
        times = [float(subprocess.check_output([sys.executable, "-c", timed])) for _ in range(5)]
        return median(times)

    return seconds("import fairshap; fairshap.FairSHAP") - seconds("import sklearn.ensemble, pandas")


def measure() -> dict[str, float]:
    from xgboost import XGBClassifier

    german = datasets.load("german")
    who = {"sensitive": german.sensitive, "privileged": german.privileged, "random_state": 0}
    repair = FairSHAP(XGBClassifier(n_estimators=50, random_state=0, n_jobs=1), **who)
    adult = datasets.load("adult")
    rows = adult.X.index[:4000]
    large = FairSHAP(
        XGBClassifier(n_estimators=50, random_state=0, n_jobs=1, enable_categorical=True),
        sensitive=adult.sensitive,
        privileged=adult.privileged,
        random_state=0,
    )
    # Once without counting: what is imported when it is first needed is no part of the way.
    large.fit(adult.X.loc[rows], adult.y.loc[rows])
    result: dict[str, float] = {}
    result["modules in src"], result["lines in src"] = source_counts()
    passed = modules_of(lambda: large.fit_resample(adult.X.loc[rows], adult.y.loc[rows]))
    result["modules that fit_resample runs through"] = len(passed)
    reads = reads_of(lambda: large.fit_resample(adult.X.loc[rows], adult.y.loc[rows]), len(rows))
    result["conversions of the table in fit_resample"] = reads["table"]
    result["conversions for the model's encoding in fit_resample"] = reads["encoding"]
    calls = {
        "fits": "fairshap._models.fitting:fit_model",
        "matchings": "fairshap.matching._match:match_rows",
        "explanations": "fairshap.attribution._explain:explain_matched",
    }
    from fairshap.cli._main import run

    with tempfile.TemporaryDirectory() as folder, counting(**calls) as n:
        path = Path(folder, "german.csv")
        german.X.assign(label=german.y).to_csv(path, index=False)
        command = ["repair", str(path), "--target", "label", "--sensitive", german.sensitive]
        command += [
            "--privileged",
            str(german.privileged),
            "--folds",
            "5",
            "--out",
            str(Path(folder, "fair.csv")),
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            run(command)
    for what in calls:
        result[f"{what} of `fairshap repair --folds 5`"] = n[what]
    with counting(**calls) as n:
        classifier = FairSHAPClassifier(repair, weights=None).fit(german.X, german.y)
    for what in ("fits", "matchings"):
        result[f"{what} of FairSHAPClassifier(weights=None).fit"] = n[what]
    extra = len(pickle.dumps(classifier)) - len(pickle.dumps(classifier.estimator_))
    result["bytes of a pickled classifier beyond its model"] = extra
    result["parameters of FairSHAP"] = len(FairSHAP().get_params(deep=False))
    result["CPU seconds of import beyond scikit-learn and pandas"] = import_seconds()
    return result


def main() -> int:
    counts = measure()
    for what, count in counts.items():
        mark = "" if count <= MOST[what] else "   above"
        print(f"{what:<56} {count:>9,.4g}   at most {MOST[what]:>8,.4g}{mark}")
    return int(any(count > MOST[what] for what, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
