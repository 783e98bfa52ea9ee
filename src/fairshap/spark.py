"""The same repair on Spark: rows go through ``mapInArrow``, a batch at a time.

It needs PySpark 4, the extra ``spark``, and Java 17; fairshap must be installed on the workers.
"""

import json
import os
import pickle
import shutil
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from fairshap._messages import import_extra
from fairshap.estimators import FairSHAP
from fairshap.exceptions import FairshapError, InputError, ModelError
from fairshap.scale import Repairer, Sums
from fairshap.scale._fitting import MAX_REFERENCES
from fairshap.scale._repairer import EDITS, FIELDS, with_edits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkRepair", "audit", "fit_repairer", "local_session", "repair"]

# The rows that a worker repairs at a time.
_ROWS = 1 << 16
# What the columns of a row's key are called while they go through the workers.
_KEY = "__fairshap_key_"
# The rows that are tried before any work.
_TRIED = 8
_KINDS = {pa.string(): "string", pa.float64(): "double", pa.int64(): "bigint"}


class SparkRepair(NamedTuple):
    """A repaired Spark frame, and its ledger; both are made when they are asked for.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> import fairshap.spark
    >>> session = fairshap.spark.local_session()
    >>> d = datasets.make_biased(200, random_state=0)
    >>> df = session.createDataFrame(d.X.assign(hired=d.y))
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = fairshap.spark.fit_repairer(df, sampler, target="hired")
    >>> repaired = fairshap.spark.repair(df, repairer)
    >>> repaired.df.columns == df.columns
    True
    """

    df: "DataFrame"
    edits: "DataFrame"


def repair(df: "DataFrame", repairer: Repairer, *, key: str | list[str] | None = None) -> SparkRepair:
    """Return a Spark frame repaired, and the ledger.

    Every partition is repaired by itself, with the model and the references that the repairer holds; nothing
    is shuffled. A task that is lost and run again gives the same rows. Both frames come from one lazy step,
    which runs once for each: write ``df`` first, or persist it.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The rows, with the repairer's columns and its target. Other columns are passed through.
    repairer : Repairer
        What :meth:`Repairer.fit` or :func:`fit_repairer` returned, with ``target`` named. It is sent to every
        worker, and it holds people's data.
    key : str or list of str, optional
        The columns that identify a row, for the ledger; Spark rows have no numbers.

    Returns
    -------
    SparkRepair
        ``df`` has the schema of the given frame. ``edits`` has the key and for each edit ``column``, ``old``,
        ``new``, ``phi``, ``reference``, ``old_type`` and ``new_type``; values are text. The reference is a
        row number in the table that the repairer was fitted on.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> import fairshap.spark
    >>> session = fairshap.spark.local_session()
    >>> d = datasets.make_biased(200, random_state=0)
    >>> df = session.createDataFrame(d.X.assign(hired=d.y))
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = fairshap.spark.fit_repairer(df, sampler, target="hired")
    >>> fair, edits = fairshap.spark.repair(df, repairer)
    >>> fair.count(), edits.count() == len(sampler.fit(d.X, d.y).edits_)
    (200, True)
    """
    functions = import_extra("pyspark.sql.functions", "fairshap.spark", "spark")
    keys = [key] if isinstance(key, str) else list(key or ())
    if any(name not in df.columns for name in keys):
        raise InputError(f"key={key!r} is not a column of the Spark frame.", parameter="key")
    content = _sent(df, repairer)
    # A key may be edited itself; the ledger names the row as it was given.
    kept = {name: f"{_KEY}{k}" for k, name in enumerate(keys)}
    given = df.select("*", *(functions.col(f"`{name}`").alias(copy) for name, copy in kept.items()))

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _rebatched(batches):
            yield from with_edits(table, _load(content)).to_batches()

    struct = ", ".join(f"`{name}`: {_KINDS[kind]}" for name, kind in FIELDS.items())
    columns = [f"`{field.name}` {field.dataType.simpleString()}" for field in given.schema.fields]
    both = given.mapInArrow(work, ", ".join([*columns, f"`{EDITS}` array<struct<{struct}>>"]))
    named = [functions.col(copy).alias(name) for name, copy in kept.items()]
    ledger = both.select(*kept.values(), functions.explode(EDITS).alias("edit")).select(*named, "edit.*")
    return SparkRepair(both.drop(EDITS, *kept.values()), ledger)


def audit(df: "DataFrame", repairer: Repairer) -> Sums:
    """Return the sums over all rows of a Spark frame: one small row from each partition is collected.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> import fairshap.spark
    >>> session = fairshap.spark.local_session()
    >>> d = datasets.make_biased(200, random_state=0)
    >>> df = session.createDataFrame(d.X.assign(hired=d.y))
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = fairshap.spark.fit_repairer(df, sampler, target="hired")
    >>> fairshap.spark.audit(df, repairer).n_rows
    200
    """
    content = _sent(df, repairer)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [_load(content).repair(table, n_jobs=1).sums for table in _rebatched(batches)]
        texts = [json.dumps(Sums.total(parts).to_dict())] if parts else []
        yield pa.RecordBatch.from_pydict({"sums": pa.array(texts, type=pa.string())})

    rows = df.mapInArrow(work, "sums string").collect()
    return Sums.total([Sums.from_dict(json.loads(row["sums"])) for row in rows])


def fit_repairer(
    df: "DataFrame",
    repair: FairSHAP,
    *,
    target: str,
    positive: Any = None,
    drop: list[str] | None = None,
    max_rows: int = 1_000_000,
    max_references: int | None = MAX_REFERENCES,
) -> Repairer:
    """Return a repairer whose model and references come from a sample of a Spark frame, on the driver.

    A frame with more than ``max_rows`` rows is sampled at random, by the repair's ``random_state``. A model
    that was fitted elsewhere, such as the booster of ``xgboost.spark``, goes in as
    ``FairSHAP(FrozenEstimator(model), ...)``; see :meth:`Repairer.fit` for the parameters.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> import fairshap.spark
    >>> session = fairshap.spark.local_session()
    >>> d = datasets.make_biased(200, random_state=0)
    >>> df = session.createDataFrame(d.X.assign(hired=d.y))
    >>> sampler = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = fairshap.spark.fit_repairer(df, sampler, target="hired")
    >>> repairer.n_rows
    200
    """
    some = df.drop(*(drop or []))
    n = some.count()
    if not n:
        raise InputError("the Spark frame has no rows.", parameter="df")
    if n > max_rows:
        seed = repair.random_state if isinstance(repair.random_state, int) else None
        some = some.sample(fraction=max_rows / n, seed=seed)
    options = {"target": target, "positive": positive, "max_references": max_references}
    return Repairer.fit(repair, some.toArrow(), **options)


def local_session(n_cores: int = 2, **config: Any) -> "SparkSession":
    """Return a Spark session on this machine, for a first try and for tests; it needs Java 17.

    Examples
    --------
    >>> import fairshap.spark
    >>> session = fairshap.spark.local_session(n_cores=2)
    >>> session.range(3).count()
    3
    """
    sql = import_extra("pyspark.sql", "fairshap.spark", "spark")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        raise FairshapError(
            "Java is not found. PySpark 4 needs Java 17: install it, or set JAVA_HOME to where it is."
        )
    # Workers run the same Python as this one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A task may fail once, as on a cluster.
    builder = sql.SparkSession.builder.master(f"local[{n_cores},2]").appName("fairshap")
    for name, value in {"spark.ui.enabled": False, **config}.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    return session


def _sent(df: "DataFrame", repairer: Repairer) -> bytes:
    """Return the repairer as bytes, once a worker has tried it on a few rows; or say why it cannot."""
    try:
        content = pickle.dumps(repairer)
    except Exception as error:
        raise ModelError(f"the repairer cannot be sent to Spark workers: {error}") from error

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _rebatched(batches):
            said, step = "", "loading"
            try:
                loaded = _load(content)
                step = "trying"
                loaded.repair(table, n_jobs=1)
            except Exception as error:
                said = f"{step}: {type(error).__name__}: {error}"
            yield pa.RecordBatch.from_pydict({"said": pa.array([said], type=pa.string())})

    try:
        rows = df.limit(_TRIED).mapInArrow(work, "said string").collect()
        said = "" if rows else "trying: InputError: the Spark frame has no rows."
        said = next((row["said"] for row in rows if row["said"]), said)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if "Error" in line]
        said = f"loading: {lines[-1] if lines else type(error).__name__}"
    step, _, text = said.partition(": ")
    if step == "loading":
        raise ModelError(
            f"the Spark workers cannot load the repairer ({text}). Install fairshap and the model's library, "
            "in the same versions, where the workers run."
        )
    if step:
        raise InputError(f"the Spark frame cannot be repaired: {text.partition(': ')[2]}", parameter="df")
    return content


@lru_cache(maxsize=1)
def _load(content: bytes) -> Repairer:
    """Return a repairer that was pickled: one for all tasks of a process, which make its index once."""
    repairer = pickle.loads(content)  # noqa: S301 - the session's own function
    assert isinstance(repairer, Repairer)  # noqa: S101
    return repairer


def _rebatched(batches: Iterator[pa.RecordBatch], size: int = _ROWS) -> Iterator[pa.Table]:
    """Yield tables of at least so many rows, the last one aside: small ones cost as much as large ones."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)
