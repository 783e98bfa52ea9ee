"""What tells that a file is repaired."""

import json
import os

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from fairshap import _io
from fairshap._io import Mark, find_ledger
from tests.io.conftest import edits_of

MARK = Mark("1.2.3", "0" * 64, 2, "1" * 64, {"target": "risk", "frozen": ["age"]})


def write(path, metadata):
    table = pa.Table.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}))
    table = table.replace_schema_metadata({**table.schema.metadata, **metadata})
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    else:
        with ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)


def schema_of(path):
    if path.suffix == ".parquet":
        return parquet.read_schema(path)
    return (ipc.open_stream(path).schema) if path.suffix == ".ipc" else feather.read_table(path).schema


@pytest.mark.parametrize("ending", ["parquet", "feather", "ipc"])
def test_a_mark_stands_beside_all_other_metadata(tmp_path, ending):
    path, out = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    write(path, {"made": "here"})
    source = _io.read(path)
    assert source.mark is None
    source.write(out, edits_of(source, [(0, "a", 1)]), mark=MARK)
    before, after = schema_of(path), schema_of(out)
    assert after.equals(before)
    assert json.loads(after.metadata[b"fairshap"]) == MARK.describe()
    assert {key: value for key, value in after.metadata.items() if key != b"fairshap"} == before.metadata
    assert _io.read(out).mark == MARK
    # It stays when the table is written again without one, and a new one takes its place.
    _io.read(out).write(tmp_path / f"same.{ending}")
    assert _io.read(tmp_path / f"same.{ending}").mark == MARK
    new = Mark("2", "2" * 64, 1)
    _io.read(out).write(tmp_path / f"new.{ending}", mark=new)
    assert _io.read(tmp_path / f"new.{ending}").mark == new


@pytest.mark.parametrize("ending", ["parquet", "feather", "parquet.gz"])
def test_text_that_becomes_a_table_of_arrow_s_is_marked_and_pandas_reads_it(tmp_path, ending):
    path, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    _io.read(path).write(out, mark=MARK)
    assert _io.read(out).mark == MARK
    if ending == "parquet":
        assert pd.read_parquet(out)["b"].tolist() == [1, 2]


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_other_formats_have_no_place_for_a_mark(tmp_path, ending):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    _io.read(path).write(tmp_path / f"out.{ending}", mark=MARK)
    assert _io.read(tmp_path / f"out.{ending}").mark is None
    if ending == "csv":
        assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "value",
    [b"\xff", b"not JSON", b"[1]", b"{}", b'{"repaired": false}', b'{"repaired": true, "edits": "many"}'],
)
def test_foreign_metadata_of_the_same_name_claims_nothing(tmp_path, value):
    write(tmp_path / "in.parquet", {"fairshap": value})
    assert _io.read(tmp_path / "in.parquet").mark is None


def test_the_ledger_of_a_file_is_found_by_its_checksum(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    source = _io.read(path)
    edits = edits_of(source, [(0, "a", 1)])
    checksum = "a" * 64
    # What cannot be a ledger, is damaged, waits for a writer, or belongs to another file is passed over.
    edits.write(tmp_path / "a-python.csv")
    edits.write(tmp_path / "b-other.csv", repaired="b" * 64)
    (tmp_path / "c-binary.csv").write_bytes(bytes(range(256)))
    damaged = edits.to_bytes(repaired=checksum)
    (tmp_path / "d-damaged.csv").write_bytes(damaged.replace(b"\r\n", b"\r\n\xff", 1))
    (tmp_path / "e-folder.csv").mkdir()
    os.mkfifo(tmp_path / "f-pipe.csv")
    edits.write(tmp_path / "z-ledger.txt", repaired=checksum)
    assert find_ledger(tmp_path, checksum) is None
    edits.write(tmp_path / "y.CSV", repaired=checksum)
    assert find_ledger(tmp_path, checksum) == tmp_path / "y.CSV"
    assert find_ledger(tmp_path, source.checksum) is None
    assert find_ledger(tmp_path / "none", checksum) is None
