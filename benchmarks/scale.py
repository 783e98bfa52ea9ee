"""Data sets larger than memory: rows a second and memory of ``repair_dataset``, by step and by size.

    python benchmarks/scale.py 100000 1000000            # sizes; 10000000 takes some ten minutes on two cores
    python benchmarks/scale.py --spark 1000000           # the same files by Spark on local[2]
    python benchmarks/scale.py --bytes adult acs_income  # files, Dask and Spark against fit_resample
    python benchmarks/scale.py --references census_kdd   # what sampled references do to held-out measures

Files of 500,000 rows of ``datasets.make_mixed`` are written part by part, and repaired in a process of its
own, with 3 GiB. Matching and explaining use all cores; the model is the default one. ``acs_income`` is read
from the file that ``--acs`` names. One JSON line at the end.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import wraps
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from common import peak_mib
from sklearn.model_selection import StratifiedKFold
from xgboost import XGBClassifier

from fairshap import Edits, FairSHAP, Repairer, datasets, repair_dataset
from fairshap._models import fit_model
from fairshap.model_selection import evaluate_fitted

_FILE_ROWS, _GROUP_ROWS = 500_000, 125_000
_GIB = 3.0
ACS = Path(__file__).resolve().parents[2] / "shared/data/benchmark/acs_income.parquet"
_REPAIR = {"sensitive": "group", "privileged": "a", "random_state": 0}


def write_files(folder: Path, n_rows: int) -> None:
    folder.mkdir()
    for k, start in enumerate(range(0, n_rows, _FILE_ROWS)):
        d = datasets.make_mixed(min(_FILE_ROWS, n_rows - start), first_row=start)
        d.X.assign(hired=d.y).to_parquet(
            folder / f"part-{k:05d}.parquet", index=False, row_group_size=_GROUP_ROWS
        )


def timed(seconds: Counter[str], owner: object, name: str, step: str) -> None:
    """Count the seconds of processor time that a function takes, all threads together."""
    original = getattr(owner, name)

    @wraps(original)
    def run(*args, **kwargs):
        start = time.process_time()
        try:
            return original(*args, **kwargs)
        finally:
            seconds[step] += time.process_time() - start

    setattr(owner, name, run)


def measure(folder: str, out: str) -> dict[str, object]:
    from fairshap.edits import Selector
    from fairshap.scale import _dataset, _files, _reading, _repairer

    seconds: Counter[str] = Counter()
    timed(seconds, _dataset, "read_repairer", "first pass")
    timed(seconds, FairSHAP, "_fitted_model", "of it fitting the model")
    timed(seconds, _repairer.Repairer, "repair", "repair of batches")
    timed(seconds, _repairer.Repairer, "_match", "of it matching")
    timed(seconds, _repairer, "explain_risk", "of it explaining")
    timed(seconds, Selector, "select", "of it selecting")
    timed(seconds, Edits, "apply", "of it applying")
    timed(seconds, _repairer.Repairer, "_sums", "of it sums")
    timed(seconds, Edits, "lines", "ledgers")
    timed(seconds, _files.Files, "write", "second pass")
    timed(seconds, _reading._Pass, "add", "of it sampling")
    wall, start = time.perf_counter(), time.process_time()
    found = repair_dataset(folder, out, FairSHAP(**_REPAIR), target="hired", max_memory=_GIB)
    wall, cpu = time.perf_counter() - wall, time.process_time() - start
    n = found.sums.n_rows
    return {
        "rows": n,
        "seconds": round(wall, 1),
        "rows_a_second": round(n / wall),
        # On a machine that others use too, these are what can be compared.
        "core_seconds": round(cpu, 1),
        "rows_a_core_second": round(n / cpu),
        "rows_a_core_second_in_the_second_pass": round(n / (cpu - seconds["first pass"])),
        "peak_GiB": round(peak_mib() / 1024, 2),
        "edits": found.sums.n_edits,
        "distance_ratio": round(float(found.diagnostics.get("distance_ratio", 1.0)), 3),
        "core_seconds_by_step": {name: round(value, 1) for name, value in seconds.items()},
    }


def measure_spark(folder: str, out: str) -> dict[str, object]:
    import fairshap.spark

    session = fairshap.spark.local_session(2, **{"spark.driver.memory": "2g"})
    df = session.read.parquet(folder)
    start = time.perf_counter()
    repairer = fairshap.spark.fit_repairer(df, FairSHAP(**_REPAIR), target="hired", max_rows=300_000)
    fitted = time.perf_counter()
    fairshap.spark.repair(df, repairer).df.write.parquet(out)
    end = time.perf_counter()
    n = session.read.parquet(out).count()
    session.stop()
    return {
        "rows": n,
        "fit": round(fitted - start, 1),
        "repair": round(end - fitted, 1),
        "rows_a_second": round(n / (end - fitted)),
    }


def load(name: str, acs: Path) -> tuple[pd.DataFrame, pd.Series, dict[str, object]]:
    """Return a table as Parquet holds it: whole numbers that are categories are numbers there."""
    if name == "acs_income":
        X = pd.read_parquet(acs)
        return X, X.pop("PINCP"), {"sensitive": "SEX", "privileged": 0}
    d = datasets.load(name)
    content = io.BytesIO()
    d.X.to_parquet(content, index=False)
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    return pd.read_parquet(content), d.y.reset_index(drop=True), who


def compare_references(name: str, acs: Path, n_folds: int = 3) -> dict[str, object]:
    """Return held-out measures of XGBoost, trained on tables repaired with all references and with some."""
    X, y, who = load(name, acs)
    lines = []
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    for fold, (train, test) in zip(range(n_folds), folds, strict=False):
        rows, labels = X.iloc[train].reset_index(drop=True), y.iloc[train].to_numpy()
        repair = FairSHAP(XGBClassifier(n_jobs=1, random_state=0), **who, random_state=0)
        for most in (None, 100_000, 10_000):
            repairer = Repairer.fit(repair, rows, labels, max_references=most)
            found = repairer.repair(rows, labels)
            after = fit_model(XGBClassifier(n_jobs=1, random_state=0), found.X, labels, {})
            measured = evaluate_fitted(after, X.iloc[test], y.iloc[test].to_numpy(), **who).frame().iloc[0]
            line = {"fold": fold, "max_references": most, "edits": found.sums.n_edits}
            line["distance_ratio"] = repairer.diagnostics.get("distance_ratio", 1.0)
            names = (
                "accuracy",
                "dr",
                "dp",
                "eo",
                "dr_low",
                "dr_high",
                "dp_low",
                "dp_high",
                "eo_low",
                "eo_high",
            )
            lines.append(line | {one: round(float(measured[one]), 4) for one in names})
            print(lines[-1], flush=True)
    return {"lines": lines}


def compare_bytes(name: str, acs: Path) -> dict[str, bool]:
    """Say whether 1, 2 and 8 files, Dask, and 2 and 8 partitions of Spark give what fit_resample gives."""
    import dask
    import dask.dataframe as dd

    import fairshap.dask
    import fairshap.spark

    X, y, who = load(name, acs)
    repair = FairSHAP(XGBClassifier(n_jobs=1, random_state=0), **who, random_state=0)
    expected, _ = repair.fit_resample(X, y)
    phi = repair.edits_.frame().sort_values(["row", "column"])["phi"].tolist()
    table = X.assign(target__=y, id__=np.arange(len(X)))
    equal: dict[str, bool] = {}

    def note(what: str, rows: pd.DataFrame, found: list[float], wanted: list[float]) -> None:
        rows = rows.sort_values("id__", ignore_index=True)[list(X)].astype(expected.dtypes)
        equal[what] = rows.equals(expected) and found == wanted

    for n in (1, 2, 8):
        with tempfile.TemporaryDirectory() as folder:
            files, out = Path(folder) / "in", Path(folder) / "out"
            files.mkdir()
            for k, rows in enumerate(np.array_split(np.arange(len(table)), n)):
                table.iloc[rows].to_parquet(files / f"{k}.parquet", index=False)
            how = {"target": "target__", "drop": ["id__"], "max_references": None, "max_memory": 12.0}
            repair_dataset(files, out, repair, **how)
            ledgers = [Edits.read(path) for path in sorted((out / "_ledger").glob("*.csv"))]
            found = Edits.together(*ledgers)
            note(f"{n} files", pd.read_parquet(out), found.phi.tolist(), repair.edits_.phi.tolist())
    repairer = Repairer.fit(repair, table.drop(columns="id__"), target="target__")
    with dask.config.set(scheduler="processes", num_workers=2):
        parts = dd.from_pandas(table, npartitions=4)
        rows, ledger = dask.compute(*fairshap.dask.repair(parts, repairer))
    note("Dask", rows, ledger["phi"].tolist(), repair.edits_.phi.tolist())
    session = fairshap.spark.local_session(2, **{"spark.driver.memory": "3g"})
    whole = session.createDataFrame(pa.Table.from_pandas(table, preserve_index=False))
    for n in (2, 8):
        made = fairshap.spark.repair(whole.repartition(n, "id__"), repairer, key="id__")
        ledger = made.edits.toArrow().to_pandas().sort_values(["id__", "column"])
        note(f"Spark, {n} partitions", made.df.toArrow().to_pandas(), ledger["phi"].tolist(), phi)
    session.stop()
    return equal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--spark", action="store_true")
    tables = (*datasets.names(), "acs_income")
    parser.add_argument("--bytes", nargs="+", metavar="TABLE", choices=tables)
    parser.add_argument("--references", nargs="+", metavar="TABLE", choices=tables)
    parser.add_argument("--acs", type=Path, default=ACS, help="the file with ACS Income")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps((measure_spark if options.spark else measure)(*options.one)))
        return
    for what, run in (("bytes", compare_bytes), ("references", compare_references)):
        if names := getattr(options, what):
            print(json.dumps({"benchmark": what, **{name: run(name, options.acs) for name in names}}))
            return
    results = {}
    for n in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            files, out = Path(folder) / "in", Path(folder) / "out"
            start = time.perf_counter()
            write_files(files, n)
            size = sum(path.stat().st_size for path in files.iterdir())
            print(f"{n:,} rows written in {time.perf_counter() - start:.0f} s, {size / 2**20:.0f} MiB")
            command = [sys.executable, __file__, "--one", str(files), str(out)]
            command += ["--spark"] if options.spark else []
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ)
            results[str(n)] = json.loads(done.stdout.splitlines()[-1])
            print(results[str(n)], flush=True)
    print(json.dumps({"benchmark": "spark" if options.spark else "scale", **results}))


if __name__ == "__main__":
    main()
