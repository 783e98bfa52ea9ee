"""Partitions of a Spark frame are repaired as the whole table is; Java 17 is needed."""

import doctest
import os
import pickle
import shutil
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import fairshap.spark
from fairshap import FairSHAP, Repairer, datasets
from fairshap.attribution import _explain
from fairshap.edits._ledger import to_text
from fairshap.exceptions import FairshapError, InputError, ModelError

pytest.importorskip("pyspark")
needs_java = pytest.mark.skipif(
    shutil.which("java") is None, reason="Spark needs Java 17, which is not found"
)
pytestmark = [
    # PySpark itself closes files late, and uses what pandas will change.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:pyspark"),
]

D = datasets.make_mixed(300)
X, Y = D.X[["group", "district", "skill", "age", "tenure", "sector", "contract", "remote"]], D.y
FRAME = X.assign(hired=Y, id=np.arange(300))


@pytest.fixture(scope="module")
def spark():
    config = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    session = fairshap.spark.local_session(2, **config)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@needs_java
@pytest.mark.parametrize("name", fairshap.spark.__all__)
def test_the_example_of_a_docstring_runs(spark, name):
    (found,) = doctest.DocTestFinder(recurse=False).find(getattr(fairshap.spark, name), name, fairshap.spark)
    assert found.examples
    assert doctest.DocTestRunner().run(found).failed == 0


@pytest.fixture(scope="module")
def whole():
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    repair = FairSHAP(model, sensitive="group", privileged="a", threshold=0.03, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_explain, "_SMALL", 0)
        expected, _ = repair.fit_resample(X, Y)
        repairer = Repairer.fit(repair, FRAME.drop(columns="id"), target="hired")
    return repair, repairer, expected


def to_spark(session, n_partitions):
    return session.createDataFrame(pa.Table.from_pandas(FRAME, preserve_index=False)).repartition(
        n_partitions, "id"
    )


def assert_repaired(df, expected):
    repaired = df.toArrow().to_pandas().sort_values("id", ignore_index=True)[list(X)]
    pd.testing.assert_frame_equal(repaired.astype(expected.dtypes), expected)


@needs_java
def test_partitions_are_repaired_as_the_table_is(spark, whole):
    repair, repairer, expected = whole
    df = to_spark(spark, 2)
    found = fairshap.spark.repair(df, repairer, key="id")
    assert found.df.schema == df.schema
    assert_repaired(found.df, expected)
    ledger = found.edits.toArrow().to_pandas().sort_values(["id", "column"], ignore_index=True)
    edits = repair.edits_.frame().sort_values(["row", "column"], ignore_index=True)
    assert ledger["id"].tolist() == edits["row"].tolist()
    for name in ("column", "phi", "reference"):
        assert ledger[name].tolist() == edits[name].tolist()
    assert ledger["new"].tolist() == [to_text(value)[1] for value in edits["new"]]


@needs_java
def test_a_key_that_is_edited_names_the_row_as_it_was(spark, whole):
    repair, repairer, _ = whole
    ledger = fairshap.spark.repair(to_spark(spark, 2), repairer, key=["id", "district"]).edits.toArrow()
    assert "district" in ledger["column"].to_pylist()
    expected = FRAME["district"].iloc[ledger["id"].to_pylist()]
    assert ledger["district"].to_pylist() == expected.tolist()
    assert len(ledger) == len(repair.edits_)


@needs_java
def test_a_task_that_fails_once_gives_the_same_rows(spark, whole, tmp_path):
    _, repairer, expected = whole
    mark = tmp_path / "failed"

    def lost(batches):
        n = 0
        for batch in batches:
            n += len(batch)
            yield batch
        # Not where a few rows are tried.
        if n > 8 and not mark.exists():
            mark.touch()
            raise RuntimeError("a worker is lost")

    df = to_spark(spark, 8)
    # In one task with the repair, after its rows were read.
    found = fairshap.spark.repair(df.mapInArrow(lost, df.schema), repairer)
    mark.unlink(missing_ok=True)
    assert_repaired(found.df, expected)
    assert mark.exists()


@needs_java
def test_the_audit_is_that_of_the_table(spark, whole):
    _, repairer, _ = whole
    assert fairshap.spark.audit(to_spark(spark, 3), repairer) == repairer.repair(X, Y).sums


@needs_java
def test_a_repairer_that_is_fitted_on_the_frame(spark):
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    repair = FairSHAP(model, sensitive="group", privileged="a", threshold=0.03, random_state=0)
    df = to_spark(spark, 2)
    repairer = fairshap.spark.fit_repairer(df, repair, target="hired", drop=["id"])
    assert repairer.n_rows == 300
    sampled = fairshap.spark.fit_repairer(df, repair, target="hired", drop=["id"], max_rows=200)
    assert 120 < sampled.n_rows < 280
    with pytest.raises(InputError, match="has no rows"):
        fairshap.spark.fit_repairer(df.limit(0), repair, target="hired")


@needs_java
def test_what_cannot_be_done_is_said_before_any_work(spark, whole, monkeypatch):
    repair, repairer, _ = whole
    df = to_spark(spark, 2)
    with pytest.raises(InputError, match="cannot be repaired: the batch lacks the columns 'age'"):
        fairshap.spark.repair(df.drop("age"), repairer)
    with pytest.raises(InputError, match="key='name' is not a column"):
        fairshap.spark.repair(df, repairer, key="name")
    with pytest.raises(InputError, match="the Spark frame has no rows"):
        fairshap.spark.audit(df.limit(0), repairer)
    other = Repairer.fit(_of_another_library(repair, monkeypatch), X, Y, target="hired")
    with pytest.raises(ModelError, match=r"workers cannot load the repairer \(.*no_such_library"):
        fairshap.spark.repair(df, other)


def _of_another_library(repair, monkeypatch):
    """Return a repair of a model whose library is here and not on the workers."""
    library = types.ModuleType("no_such_library")

    class Model(HistGradientBoostingClassifier):
        pass

    Model.__module__, Model.__qualname__ = "no_such_library", "Model"
    library.Model = Model
    monkeypatch.setitem(sys.modules, "no_such_library", library)
    fitted = Model(max_iter=5, random_state=0, categorical_features=None)
    return FairSHAP(fitted, **{k: v for k, v in repair.get_params(deep=False).items() if k != "estimator"})


def test_java_that_is_not_there(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(FairshapError, match=r"Java is not found\. PySpark 4 needs Java 17"):
        fairshap.spark.local_session()


def test_small_batches_are_put_together():
    batches = [
        pa.RecordBatch.from_pydict({"a": pa.array(range(n), type=pa.int64())}) for n in (3, 0, 4, 1, 2)
    ]
    assert [len(table) for table in fairshap.spark._rebatched(iter(batches), 5)] == [7, 3]


# Connect and the classic session cannot be in one process.
CONNECT = """
import sys
import numpy as np
import pyarrow as pa
import pandas as pd
from pyspark.sql import SparkSession
import fairshap.spark

spark = SparkSession.builder.remote("local[2]").getOrCreate()
table = pa.Table.from_pandas(pd.read_parquet(sys.argv[1]), preserve_index=False)
with open(sys.argv[2], "rb") as file:
    repairer = pickle.load(file)
made = fairshap.spark.repair(spark.createDataFrame(table), repairer, key="id")
made.df.toArrow().to_pandas().to_parquet(sys.argv[3])
print(made.edits.count(), fairshap.spark.audit(made.df, repairer).n_rows)
spark.stop()
"""


@needs_java
def test_spark_connect_repairs_alike(whole, tmp_path):
    pytest.importorskip("grpc_status", reason="Spark Connect needs pyspark[connect]")
    repair, repairer, expected = whole
    paths = [tmp_path / name for name in ("rows.parquet", "repairer.pkl", "fair.parquet")]
    FRAME.to_parquet(paths[0])
    paths[1].write_bytes(pickle.dumps(repairer))
    command = [sys.executable, "-W", "ignore", "-c", f"import pickle\n{CONNECT}", *map(str, paths)]
    env = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-2:] == [str(len(repair.edits_)), "300"]
    repaired = pd.read_parquet(paths[2]).sort_values("id", ignore_index=True)[list(X)]
    pd.testing.assert_frame_equal(repaired.astype(expected.dtypes), expected)
