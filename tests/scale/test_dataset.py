"""Files of a data set are repaired as the whole table is, and a run that is interrupted goes on."""

import json
import multiprocessing
import os
import signal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from sklearn.ensemble import HistGradientBoostingClassifier

from fairshap import Edits, FairSHAP, Repairer, datasets, repair_dataset
from fairshap.attribution import _explain
from fairshap.exceptions import ColumnError, FileError, GroupError, InputError
from fairshap.scale import _dataset, _files, _reading
from fairshap.scale._reading import Rooms

D = datasets.make_mixed(1000)
FRAME = D.X.assign(hired=D.y, id=np.arange(1000))


def make_repair(**params):
    model = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    settings = {"sensitive": "group", "privileged": "a", "threshold": 0.03, "random_state": 0}
    return FairSHAP(**{"estimator": model} | settings | params)


def write(folder, n_files, **options):
    folder.mkdir(parents=True, exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(len(FRAME)), n_files)):
        FRAME.iloc[rows].to_parquet(folder / f"part-{k}.parquet", index=False, **options)
    return folder


def run(source, out, repair=None, **options):
    options = {"target": "hired", "drop": ["id"], "max_references": None} | options
    return repair_dataset(source, out, make_repair() if repair is None else repair, **options)


@pytest.fixture(scope="module", autouse=True)
def _by_trees():
    """Have small tables explained as large ones are, which is quicker here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_explain, "_SMALL", 0)
        yield


@pytest.fixture(scope="module")
def whole(_by_trees):
    repair = make_repair()
    X_fair, _ = repair.fit_resample(D.X, D.y)
    return X_fair, repair.edits_


@pytest.mark.parametrize("n_files", [1, 2, 8])
def test_files_are_repaired_as_the_table_is(n_files, whole, tmp_path):
    source = write(tmp_path / "in", n_files, row_group_size=70, compression="zstd")
    found = run(source, tmp_path / "out")
    X_fair, edits = whole
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), FRAME.assign(**X_fair))
    ledgers = [Edits.read(path) for path in sorted((tmp_path / "out/_ledger").glob("*.csv"))]
    assert Edits.together(*ledgers).to_bytes() == edits.to_bytes()
    assert found.sums.n_edits == len(edits)
    assert found.files == tuple(f"part-{k}.parquet" for k in range(n_files))
    for name in found.files:
        before, after = (pq.ParquetFile(tmp_path / where / name) for where in ("in", "out"))
        assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
        sizes = [
            [one.metadata.row_group(k).num_rows for k in range(one.num_row_groups)] for one in (before, after)
        ]
        assert sizes[0] == sizes[1]
        assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    frame = found.sums.frame()
    assert 0.1 < frame["dr"].item() < 0.4


@pytest.mark.parametrize("how", ["pattern", "list", "dataset", "url"])
def test_files_can_be_named_in_several_ways(how, whole, tmp_path):
    source = write(tmp_path / "in", 2)
    sources = {
        "pattern": str(source / "part-*.parquet"),
        "list": [source / "part-0.parquet", source / "part-1.parquet"],
        "dataset": ds.dataset(source),
        "url": source.as_uri(),
    }
    found = run(sources[how], (tmp_path / "out").as_uri() if how == "url" else tmp_path / "out")
    assert found.sums.n_edits == len(whole[1])
    assert found.files == ("part-0.parquet", "part-1.parquet")


def test_fsspec_urls(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    content = write(tmp_path / "in", 1).joinpath("part-0.parquet").read_bytes()
    memory.pipe("/in/part-0.parquet", content)
    found = run("memory://in/part-0.parquet", "memory://out")
    assert memory.exists("/out/part-0.parquet")
    assert found.sums.n_rows == 1000


def test_folders_that_are_columns(tmp_path, whole):
    """Also those that hold one group only: rows are matched with those of other folders."""
    ds.write_dataset(
        pa.Table.from_pandas(FRAME, preserve_index=False),
        tmp_path / "in",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("group", pa.string())]), flavor="hive"),
    )
    assert {path.name for path in (tmp_path / "in").iterdir()} == {"group=a", "group=b"}
    run(tmp_path / "in", tmp_path / "out")
    repaired = ds.dataset(tmp_path / "out", partitioning="hive").to_table().to_pandas().set_index("id")
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"group=a", "group=b"}
    names = [name for name in D.X if name != "group"]
    assert "group" not in pq.read_schema(tmp_path / "out/group=a/part-0.parquet").names
    # The rows are in another order, by which ties go, and the attribute is a column that the model sees last.
    by_id = repaired.sort_index()
    model = make_repair()
    order = FRAME.sort_values(["group", "id"])
    expected, _ = model.fit_resample(
        order[[*names, "group"]].reset_index(drop=True), order["hired"].to_numpy()
    )
    expected = expected.set_axis(order["id"]).sort_index()
    assert by_id[names].reset_index(drop=True).equals(expected[names].reset_index(drop=True))


def test_a_folder_s_column_is_not_edited(tmp_path):
    ds.write_dataset(
        pa.Table.from_pandas(FRAME, preserve_index=False),
        tmp_path / "in",
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("district", pa.string())]), flavor="hive"),
    )
    found = run(tmp_path / "in", tmp_path / "out")
    assert found.sums.n_edits
    assert "district" not in found.sums.edits_by_column


# ---- larger than memory


@pytest.fixture
def _little_room(monkeypatch):
    """Have 500 rows held and 130 rows in a batch, as if memory were that small."""
    monkeypatch.setattr(Rooms, "of", classmethod(lambda cls, first, max_memory: cls(500, 130)))


@pytest.mark.usefixtures("_little_room")
def test_more_rows_than_fit_are_sampled_and_the_files_do_not_matter(tmp_path):
    results = []
    for n_files in (1, 3):
        source = write(tmp_path / f"in{n_files}", n_files, row_group_size=90)
        found = run(source, tmp_path / f"out{n_files}", max_references=60)
        results.append((found, pd.read_parquet(tmp_path / f"out{n_files}")))
    (one, frame), (three, other) = results
    assert frame.equals(other)
    assert one.sums == three.sums
    assert one.diagnostics == three.diagnostics
    strata = [one for one in one.diagnostics.values() if isinstance(one, dict)]
    assert sum(one["rows"] for one in strata) == 1000
    assert max(one["references"] for one in strata) <= 60
    assert one.diagnostics["distance_ratio"] > 1
    # The bias that was made is one of district, by skill.
    edited = sorted(one.sums.edits_by_column, key=one.sums.edits_by_column.get)
    assert set(edited[-2:]) == {"district", "skill"}


@pytest.mark.usefixtures("_little_room")
def test_the_scales_of_a_sampled_table_are_those_of_all_rows(tmp_path, monkeypatch):
    made = []
    original = _reading.make_repairer
    monkeypatch.setattr(_reading, "make_repairer", lambda *a, **k: made.append(original(*a, **k)) or made[0])
    run(write(tmp_path / "in", 2), tmp_path / "out", max_references=60)
    exact = Repairer.fit(make_repair(), D.X, D.y)
    for sampled, whole in zip(made[0].references.metric.costs, exact.references.metric.costs, strict=True):
        np.testing.assert_allclose(sampled, whole, rtol=1e-9)
    assert made[0].n_rows == exact.n_rows == 1000


@pytest.mark.usefixtures("_little_room")
def test_missing_whole_numbers_and_new_categories_in_later_rows(tmp_path):
    frame = FRAME.assign(age=FRAME["age"].astype("Int64"), colour=FRAME["colour"].astype("category"))
    frame.loc[frame.index > 800, "age"] = pd.NA
    frame["colour"] = frame["colour"].cat.add_categories("violet")
    frame.loc[[990, 995], "colour"] = "violet"
    (tmp_path / "in").mkdir()
    for k, part in enumerate((frame[:500], frame[500:])):
        part.assign(colour=part["colour"].cat.remove_unused_categories()).to_parquet(
            tmp_path / f"in/{k}.parquet", index=False
        )
    run(tmp_path / "in", tmp_path / "out", max_references=60)
    repaired = pd.read_parquet(tmp_path / "out")
    assert repaired["age"].dtype == "Int64"
    assert repaired["id"].tolist() == list(range(1000))


def test_memory_that_is_too_little(tmp_path):
    with pytest.raises(InputError, match=r"max_memory=0.6 GiB is too little .* give 0.7 or more"):
        run(write(tmp_path / "in", 1), tmp_path / "out", max_memory=0.6)
    assert not (tmp_path / "out").exists()


def test_a_regressor_is_repaired_in_batches_too(tmp_path, monkeypatch):
    from sklearn.ensemble import HistGradientBoostingRegressor

    pay = D.X["skill"] + 2.0 * (D.X["group"] == "a") * (D.X["district"] == "north") + D.X["score"]
    (tmp_path / "in").mkdir()
    D.X.assign(pay=pay).to_parquet(tmp_path / "in/a.parquet", index=False)
    repair = make_repair(estimator=HistGradientBoostingRegressor(max_iter=15, random_state=0), threshold=None)
    exact = run(tmp_path / "in", tmp_path / "out", repair, target="pay", drop=[])
    expected, _ = repair.fit_resample(D.X, pay)
    assert pd.read_parquet(tmp_path / "out").drop(columns="pay").equals(expected)
    monkeypatch.setattr(Rooms, "of", classmethod(lambda cls, first, max_memory: cls(500, 130)))
    sampled = run(tmp_path / "in", tmp_path / "sampled", repair, target="pay", drop=[])
    assert sampled.sums.n_edits == pytest.approx(exact.sums.n_edits, rel=0.5)


# ---- faults


def snapshot(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def killed(moment, source, out):
    """Repair in this process, which is killed at a moment: while files are written, renamed or noted."""
    _explain._SMALL = 0
    count = 0

    def at(function):
        def counted(*args, **kwargs):
            nonlocal count
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return counted

    for owner, name in ((_files, "checksum_of"), (_dataset.Repairer, "repair"), (_dataset, "write_stream")):
        setattr(owner, name, at(getattr(owner, name)))
    run(source, out)


def test_a_run_that_is_killed_at_ten_moments_goes_on(tmp_path):
    source = write(tmp_path / "in", 3, row_group_size=200)
    run(source, tmp_path / "expected")
    # Processes that share their imports.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.scale.test_dataset"])
    # Each time one step later, so that runs that go on are killed too.
    for moment in range(1, 11):
        process = context.Process(target=killed, args=(moment, source, tmp_path / "out"))
        process.start()
        process.join()
        assert process.exitcode in (-signal.SIGKILL, 0)
        assert process.exitcode or moment > 5
    run(source, tmp_path / "out")
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "expected")


def test_a_run_goes_on_after_the_last_complete_file(tmp_path, monkeypatch):
    source = write(tmp_path / "in", 3)
    run(source, tmp_path / "expected")
    original = _dataset.Repairer.repair
    calls = []

    def failing(self, *args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, *args, **options)

    monkeypatch.setattr(_dataset.Repairer, "repair", failing)
    with pytest.raises(KeyboardInterrupt):
        run(source, tmp_path / "out")
    done = {path.name for path in (tmp_path / "out").glob("*.parquet")}
    assert done == {"part-0.parquet", "part-1.parquet"}
    with pytest.raises(FileError, match=r"holds a repair with other arguments \(threshold changed\)"):
        run(source, tmp_path / "out", make_repair(threshold=0.04))
    with pytest.raises(FileError, match=r"other arguments \(drop changed\)"):
        run(source, tmp_path / "out", drop=["id", "score"])
    # A file that was changed in the meantime is made again.
    (tmp_path / "out/part-0.parquet").write_bytes(b"broken")
    found = run(source, tmp_path / "out")
    assert found.n_resumed == 1
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "expected")
    # Once more: nothing is left to do.
    assert run(source, tmp_path / "out").n_resumed == 3


def test_a_model_that_is_another_when_it_is_fitted_again_is_noticed(tmp_path):
    source = write(tmp_path / "in", 1)
    run(source, tmp_path / "out")
    manifest = tmp_path / "out/_fairshap/manifest.json"
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(known | {"fitted": "another"}))
    with pytest.raises(FileError, match="fitted again, is not the one"):
        run(source, tmp_path / "out")


# ---- bad input: one sentence, before any work, and nothing is written


def check_refused(tmp_path, error, match, *, source=None, **options):
    source = tmp_path / "in" if source is None else source
    with pytest.raises(error, match=match):
        run(source, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_files_that_do_not_go_together(tmp_path):
    folder = write(tmp_path / "in", 2)
    last = folder / "part-1.parquet"
    FRAME.drop(columns="score").to_parquet(last, index=False)
    check_refused(
        tmp_path, FileError, r"part-1.parquet' lacks the column 'score', which .*part-0.parquet' has"
    )
    FRAME.assign(more=1).to_parquet(last, index=False)
    check_refused(tmp_path, FileError, r"part-1.parquet' has the column 'more', which .* lacks")
    FRAME.astype({"age": float}).to_parquet(last, index=False)
    check_refused(tmp_path, FileError, r"column 'age' is int64 in .* and double in .*part-1.parquet'")
    FRAME[:0].to_parquet(last, index=False)
    check_refused(tmp_path, FileError, r"part-1.parquet' has no rows")
    last.write_bytes(b"PAR1 nothing of the kind PAR1")
    check_refused(tmp_path, FileError, r"part-1.parquet' cannot be read as Parquet")


def test_a_file_whose_pages_are_damaged_is_named(tmp_path):
    path = write(tmp_path / "in", 2, compression="gzip") / "part-1.parquet"
    content = bytearray(path.read_bytes())
    content[200:2000] = b"\x00" * 1800
    path.write_bytes(bytes(content))
    check_refused(tmp_path, FileError, r"part-1.parquet' cannot be read as Parquet .* nothing was written")


def test_what_is_not_there(tmp_path):
    write(tmp_path / "in", 1)
    check_refused(tmp_path, FileError, "there is no file or folder", source=tmp_path / "nowhere")
    check_refused(tmp_path, FileError, "names no file", source=str(tmp_path / "in/*.csv"))
    check_refused(tmp_path, ColumnError, "target='hire' is not a column.*mean 'hired'", target="hire")
    check_refused(tmp_path, ColumnError, "drop='ids' is not a column", drop=["ids"])
    check_refused(tmp_path, InputError, "must be a list of columns", drop="id")
    check_refused(tmp_path, InputError, "is not a FairSHAP", repair=HistGradientBoostingClassifier())
    check_refused(tmp_path, InputError, "max_memory=-1 is not a number of GiB", max_memory=-1)
    check_refused(tmp_path, InputError, "max_references=0", max_references=0)
    check_refused(tmp_path, GroupError, "does not occur", repair=make_repair(privileged="z"))


def test_a_table_of_one_group(tmp_path):
    (tmp_path / "in").mkdir()
    FRAME[FRAME["group"] == "a"].to_parquet(tmp_path / "in/a.parquet", index=False)
    check_refused(tmp_path, GroupError, "does not split the .* rows into two groups")


def test_a_folder_that_is_not_empty(tmp_path):
    source = write(tmp_path / "in", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(FileError, match="is not empty"):
        run(source, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]
    with pytest.raises(FileError, match="is a file"):
        run(source, tmp_path / "out/mine.txt")


def test_local_folders_are_told_by_their_path():
    assert isinstance(_dataset.open_folder("here")[0], fs.LocalFileSystem)


def test_another_version_does_not_go_on(tmp_path, monkeypatch):
    source = write(tmp_path / "in", 1)
    run(source, tmp_path / "out")
    monkeypatch.setattr(_dataset, "__version__", "999")
    with pytest.raises(FileError, match="fairshap changed"):
        run(source, tmp_path / "out")


@pytest.mark.parametrize("content", ["{", "[]", "{}", "\udcff"])
def test_a_damaged_manifest_is_told(content, tmp_path):
    source = write(tmp_path / "in", 1)
    manifest = tmp_path / "out/_fairshap/manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=r"manifest\.json' is damaged"):
        run(source, tmp_path / "out")


@pytest.mark.parametrize("how", ["folder", "list", "pattern", "same", "url"])
def test_a_folder_that_is_read_is_not_written_to(how, tmp_path):
    source = write(tmp_path / "in", 1)
    sources = {"list": [source], "pattern": str(source / "*" / "*.parquet"), "url": source.as_uri()}
    out = source if how == "same" else source / "fair"
    if how == "pattern":
        (source / "a").mkdir()
        (source / "part-0.parquet").rename(source / "a" / "part-0.parquet")
    with pytest.raises(FileError, match="is in the data set that is read"):
        run(sources.get(how, source), out)
    assert not (source / "fair").exists()


def test_a_file_that_is_given_twice_is_refused(tmp_path):
    path = write(tmp_path / "in", 1) / "part-0.parquet"
    with pytest.raises(FileError, match="is given twice"):
        run([path, path], tmp_path / "out")
