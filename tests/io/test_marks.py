"""What tells that a file is repaired."""

import json
from dataclasses import asdict

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairshap import _io
from fairshap._io import Mark
from tests.io.conftest import edits_of, write

MARK = Mark(
    version="1.2.3",
    original_sha256="0" * 64,
    edits=2,
    ledger_sha256="1" * 64,
    settings={"target": "risk", "frozen": ["age"]},
)


def make(path, metadata):
    table = pa.Table.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}))
    table = table.replace_schema_metadata({**table.schema.metadata, **metadata})
    parquet.write_table(table, path)


def schema_of(path):
    return parquet.read_schema(path)


@pytest.mark.parametrize("ending", ["parquet"])
def test_a_mark_stands_beside_all_other_metadata(tmp_path, ending):
    path, out = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    make(path, {"made": "here"})
    source = _io.read(path)
    assert source.document.mark is None
    write(source, out, edits_of(source, [(0, "a", 1)]), mark=MARK)
    before, after = schema_of(path), schema_of(out)
    assert after.equals(before)
    assert json.loads(after.metadata[b"fairshap"]) == asdict(MARK)
    assert {key: value for key, value in after.metadata.items() if key != b"fairshap"} == before.metadata
    assert _io.read(out).document.mark == MARK
    # It stays when the table is written again without one, and a new one takes its place.
    write(_io.read(out), tmp_path / f"same.{ending}")
    assert _io.read(tmp_path / f"same.{ending}").document.mark == MARK
    new = Mark(version="2", original_sha256="2" * 64, edits=1)
    write(_io.read(out), tmp_path / f"new.{ending}", mark=new)
    assert _io.read(tmp_path / f"new.{ending}").document.mark == new


@pytest.mark.parametrize("ending", ["parquet", "parquet.gz"])
def test_text_that_becomes_a_table_of_arrow_s_is_marked_and_pandas_reads_it(tmp_path, ending):
    path, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    write(_io.read(path), out, mark=MARK)
    assert _io.read(out).document.mark == MARK
    if ending == "parquet":
        assert pd.read_parquet(out)["b"].tolist() == [1, 2]


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx"])
def test_other_formats_have_no_place_for_a_mark(tmp_path, ending):
    path = tmp_path / "in.csv"
    path.write_bytes(b"a,b\nx,1\ny,2\n")
    write(_io.read(path), tmp_path / f"out.{ending}", mark=MARK)
    assert _io.read(tmp_path / f"out.{ending}").document.mark is None
    if ending == "csv":
        assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "value",
    [b"\xff", b"not JSON", b"[1]", b"{}", b'{"repaired": false}', b'{"repaired": true, "edits": "many"}'],
)
def test_foreign_metadata_of_the_same_name_claims_nothing(tmp_path, value):
    make(tmp_path / "in.parquet", {"fairshap": value})
    assert _io.read(tmp_path / "in.parquet").document.mark is None
