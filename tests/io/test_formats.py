import bz2
import gzip
import hashlib
import lzma
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairshap import _io, datasets
from fairshap.edits import Edits
from fairshap.exceptions import FileFormatError
from tests.io.conftest import edits_of, write

TEXT = b"code,n\r\n007,1.50\r\n012,2\r\n"


def every_type() -> pa.Table:
    """Return a table with a column of each type, missing cells, metadata, and fields that allow none."""
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, None, 1], pa.int8()), ["x", "y", "z"], ordered=True
    )
    columns = {
        "whole": pa.array([1, None, 3, 4], pa.int32()),
        "large": pa.array([2**53 + 1, None, 3, 4], pa.int64()),
        "float": pa.array([1.5, float("nan"), 3.0, None], pa.float32()),
        "half": pa.array(np.array([1, 2, 3, 4], np.float16)),
        "decimal": pa.array([Decimal("1.10"), None, Decimal("3.30"), Decimal("4.40")], pa.decimal128(5, 2)),
        "text": pa.array(["007", None, "", "NA"]),
        "long": pa.array(["b", "a", "c", "d"], pa.large_string()),
        "dictionary": dictionary,
        "flag": pa.array([True, None, False, True]),
        "day": pa.array([date(2020, 1, 1), None, date(2021, 1, 1), date(2022, 1, 1)]),
        "time": pa.array(
            [datetime(2020, 1, 1, 5), None, datetime(2021, 1, 1), datetime(2022, 1, 1)],
            pa.timestamp("us", "UTC"),
        ),
        "nested": pa.array([[1], [2, 3], None, []]),
    }
    # Arrow writes views to Parquet from version 21 on.
    if int(pa.__version__.split(".")[0]) >= 21:
        columns["view"] = pa.array(["b", None, "c", "d"], pa.string_view())
    fields = [
        pa.field(
            name, array.type, nullable=name != "long", metadata={"unit": name} if name == "whole" else None
        )
        for name, array in columns.items()
    ]
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"made": "here"}))


def write_table(table: pa.Table, path) -> None:
    parquet.write_table(table, path, row_group_size=3, compression={"text": "gzip", "whole": "zstd"})


def test_the_schema_stays_and_copied_cells_are_exact(tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = every_type()
    write_table(table, path)
    before = parquet.read_table(path)
    source = _io.read(path, drop=["nested"])
    touched = [name for name in table.column_names if name != "nested"]
    write(
        source, out, edits_of(source, [(0, name, 3) for name in touched] + [(2, name, 0) for name in touched])
    )
    after = parquet.read_table(out)
    assert after.schema.equals(before.schema, check_metadata=True)
    for name in table.column_names:
        cells = before.column(name).to_pylist()
        expected = cells if name == "nested" else [cells[3], cells[1], cells[0], cells[3]]
        assert repr(after.column(name).to_pylist()) == repr(expected), name


def test_without_edits_the_table_is_equal(tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", None]), "b": [1, 2, 3]}, index=[5, 6, 7])
    table = pa.Table.from_pandas(frame)
    write_table(table, path)
    source = _io.read(path)
    assert source.frame.columns.tolist() == ["a", "b"]
    assert source.document.names == ("a", "b", "__index_level_0__")
    write(source, out)
    assert parquet.read_table(out).equals(parquet.read_table(path), check_metadata=True)
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)


def test_parquet_keeps_its_row_groups_and_compression(tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    write_table(every_type(), path)
    source = _io.read(path, drop=["nested"])
    write(source, out, edits_of(source, [(0, "whole", 2)]))
    before, after = (parquet.ParquetFile(file).metadata for file in (path, out))
    assert before.num_row_groups == after.num_row_groups == 2
    for k in range(before.num_columns):
        old, new = (meta.row_group(0).column(k) for meta in (before, after))
        assert (old.path_in_schema, old.compression) == (new.path_in_schema, new.compression)


def test_arrow_types_are_numbers_or_categories(tmp_path):
    path = tmp_path / "in.parquet"
    write_table(every_type(), path)
    source = _io.read(path, drop=["nested"], categorical=["whole"])
    kinds = {name: inferred.kind for name, inferred in source.inferred.items()}
    numeric = {"float", "half", "decimal", "day", "time"}
    assert {name for name, kind in kinds.items() if kind == "numeric"} == numeric
    assert source.frame["large"].tolist()[0] == 2**53 + 1
    assert source.frame["decimal"].dtype == np.float64
    assert source.frame["text"].tolist()[2:] == ["", "NA"]
    assert _io.read(path, drop=["nested", "text"], numeric=["flag"]).frame["flag"].tolist()[0] == 1


def test_text_in_a_parquet_file_can_be_asked_to_be_numeric(tmp_path):
    path = tmp_path / "in.parquet"
    write_table(pa.table({"n": ["007", None, "8.5"], "m": ["1", "x", "2"]}), path)
    assert _io.read(path, numeric=["n"]).frame["n"].tolist()[::2] == [7, 8.5]
    with pytest.raises(FileFormatError, match="the first is 'x' in row 1"):
        _io.read(path, numeric=["m"])


def test_values_without_a_reference_row_take_the_column_s_type(tmp_path):
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    write_table(every_type(), path)
    source = _io.read(path, drop=["nested"])
    new = {"whole": 9.0, "text": "new", "dictionary": "x"}
    edits = Edits(
        row=np.array([0, 0, 0]),
        index=[0, 0, 0],
        column=list(new),
        old=[source.frame[name][0] for name in new],
        new=list(new.values()),
        phi=np.ones(3),
        reference=np.array([-1, -1, -1]),
    )
    # A category that the frame does not know is refused, as by Edits.apply.
    with pytest.raises(ValueError, match="new"):
        write(source, out, edits)
    edits.new[1] = ""
    edits.reference[:] = 0
    write(source, out, edits)
    after = parquet.read_table(out)
    assert after.schema.equals(parquet.read_table(path).schema, check_metadata=True)
    assert [after.column(name)[0].as_py() for name in new] == [9, "", "x"]


@pytest.mark.parametrize(
    ("ending", "compress", "restore"),
    [
        ("gz", gzip.compress, gzip.decompress),
        ("bz2", bz2.compress, bz2.decompress),
        ("xz", lzma.compress, lzma.decompress),
        (
            "zst",
            lambda data: pa.Codec("zstd").compress(data, asbytes=True),
            lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(),
        ),
    ],
)
def test_compressed_files_stay_compressed_unless_renamed(tmp_path, ending, compress, restore):
    path = tmp_path / f"in.csv.{ending}"
    path.write_bytes(compress(TEXT))
    source = _io.read(path)
    assert source.checksum == hashlib.sha256(path.read_bytes()).hexdigest()
    edits = edits_of(source, [(0, "code", 1)])
    expected = TEXT.replace(b"007", b"012")
    for name, expand in ((f"out.csv.{ending}", restore), ("out.csv", bytes), ("out.CSV.GZ", gzip.decompress)):
        write(source, tmp_path / name, edits)
        assert expand((tmp_path / name).read_bytes()) == expected
    table = tmp_path / f"in.parquet.{ending}"
    write(source, tmp_path / "in.parquet")
    table.write_bytes(compress((tmp_path / "in.parquet").read_bytes()))
    assert _io.read(table).frame.shape == (2, 2)


def test_standard_input_is_csv_and_standard_output_too(tmp_path):
    code = "import sys; from fairshap import _io; sys.stdout.buffer.write(_io.read('-').to_bytes('-'))"
    run = subprocess.run([sys.executable, "-c", code], input=TEXT, capture_output=True, check=True)
    assert run.stdout == TEXT


@pytest.mark.parametrize("name", ["german", "compas"])
def test_a_built_in_table_is_read_by_its_name_and_written_by_the_ending(tmp_path, name):
    source = _io.read(name)
    data = datasets.load(name)
    assert source.dataset is not None
    assert (source.path, source.dataset.sensitive) == (None, data.sensitive)
    pd.testing.assert_frame_equal(source.frame, data.X.assign(**{data.y.name: data.y}))
    assert len(source.checksum) == 64
    column = "age"
    edits = edits_of(source, [(0, column, 5), (1, data.sensitive, 2)])
    expected = edits.apply(source.frame)
    for ending in ("csv", "tsv", "parquet", "xlsx", "csv.gz"):
        out = tmp_path / f"out.{ending}"
        write(source, out, edits)
        again = _io.read(out).frame
        assert again.astype(object).map(str).equals(expected.astype(object).map(str)), ending
    frame = _io.read(name, categorical=[column], drop=[data.sensitive]).frame
    assert isinstance(frame[column].dtype, pd.CategoricalDtype)
    assert data.sensitive not in frame


def test_text_becomes_a_table_of_values_with_dropped_columns_and_codes(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.parquet"
    path.write_bytes(TEXT)
    source = _io.read(path, drop=["n"])
    write(source, out, edits_of(source, [(0, "code", 1)]))
    assert _io.read(out).frame.astype(object).to_dict("list") == {"code": ["012", "012"], "n": [1.5, 2.0]}


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "people"
    for line in [
        [None] * 7,
        ["code", "n", "sum", "when", None, "mixed", "flag"],
        ["007", 1, "=B3*2", datetime(2020, 1, 1), None, 1, True],
        [None] * 7,
        ["012", 2.5, "=1", datetime(2021, 1, 1), None, "x", False],
        ["012", None, "=2", None, None, "NA", True],
    ]:
        sheet.append(line)
    sheet["A3"].font = openpyxl.styles.Font(bold=True)
    book.create_sheet("notes")["B2"] = "stays"
    path = tmp_path / "in.xlsx"
    book.save(path)
    return path


def test_a_workbook_is_written_with_its_formats_and_sheets(workbook, tmp_path):
    out = tmp_path / "out.xlsx"
    # What openpyxl writes has no values of formulas: nobody has calculated them.
    source = _io.read(workbook, drop=["sum"])
    assert source.document.names == ("code", "n", "sum", "when", "mixed", "flag")
    assert source.frame["code"].tolist() == ["007", "012", "012"]
    assert source.frame["n"].tolist()[:2] == [1, 2.5]
    assert source.frame["mixed"].tolist()[:2] == ["1", "x"]
    assert source.frame["flag"].tolist() == ["True", "False", "True"]
    kinds = [source.inferred[name].kind for name in ("n", "when", "mixed")]
    assert kinds == ["numeric", "numeric", "category"]
    cells = [(0, "code", 1), (1, "n", 0), (0, "when", 1), (0, "mixed", 1), (1, "flag", 0), (0, "n", 2)]
    write(source, out, edits_of(source, cells))
    book = openpyxl.load_workbook(out)
    assert [list(line) for line in book.active.iter_rows(values_only=True)] == [
        [None] * 7,
        ["code", "n", "sum", "when", None, "mixed", "flag"],
        ["012", None, None, datetime(2021, 1, 1), None, "x", True],
        [None] * 7,
        ["012", 1, None, datetime(2021, 1, 1), None, "x", True],
        ["012", None, None, None, None, "NA", True],
    ]
    assert book.active["A3"].font.bold
    assert book["notes"]["B2"].value == "stays"
    with pytest.raises(FileFormatError, match="the first is 'x' in row 5 of the sheet"):
        _io.read(workbook, drop=["sum"], numeric=["mixed"])


def test_text_that_begins_like_a_formula_stays_text(tmp_path):
    path, out = tmp_path / "in.xlsx", tmp_path / "out.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append(["x", 1])
    book.active.append([None, 2])
    book.active["A3"].value = "=not a formula"
    book.active["A3"].data_type = "s"
    book.save(path)
    source = _io.read(path)
    write(source, out, edits_of(source, [(0, "a", 1)]))
    assert [openpyxl.load_workbook(out).active[cell].data_type for cell in ("A2", "A3")] == ["s", "s"]
