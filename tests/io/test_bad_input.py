import gzip
import subprocess
import sys

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from fairshap import _io
from fairshap.exceptions import (
    ColumnError,
    FairshapError,
    FileError,
    FileFormatError,
    InputError,
    LedgerError,
)
from tests.io.conftest import edits_of, write


def refused(tmp_path, content: bytes, name: str = "t.csv", **options) -> str:
    """Return the words in which a file is refused."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FairshapError) as caught:
        _io.read(path, **options)
    text = str(caught.value)
    assert "\n" not in text.strip()
    return text.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "'t.csv' is empty."),
        (b"\n\r\n", "'t.csv' is empty."),
        (b"\xef\xbb\xbf", "'t.csv' is empty."),
        (b"a,b\n", "'t.csv' has the names of columns and no rows."),
        (b"a,b,a\n1,2,3\n", "several columns of the same name: 'a'. Rename them"),
        (b"a,b\n1,2\n\n3\n", "line 4 of 't.csv' has 1 fields, the first line has 2."),
        (b"a,b\r\n1,2\r\n3,4,5\r\n", "line 3 of 't.csv' has 3 fields, the first line has 2."),
        (b'a,b\n1,"2\n3,4"\n5,"6\n7,8\n9",10,11\n', "line 4 of 't.csv' has 4 fields, the first line has 2."),
        (b'a,b\n1,"x\n2",3,"y"\n', "It goes on to line 3: is a quote not closed?"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "line 3 of 't.csv' opens a quote that is never closed."),
        (b"a,b\n1,2\nJos\x81,3\n", "line 3 of 't.csv' is not UTF-8 (byte 0x81). Give its encoding"),
        ("a,b\n1,2\n".encode("utf-16-le"), "if it is UTF-16, give encoding='utf-16'."),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "it begins like a file compressed by gzip"),
        (b"PAR1....", "it begins like a Parquet file; name it .parquet"),
    ],
)
def test_text_that_holds_no_table_is_refused_in_one_sentence(tmp_path, content, words):
    assert words in refused(tmp_path, content)


def test_another_delimiter_is_not_suspected_where_it_splits_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"text\na;b\nc;d;e\n")
    assert _io.read(path).frame["text"].tolist() == ["a;b", "c;d;e"]


def test_what_cannot_be_compressed_or_decoded_as_said_is_told(tmp_path):
    assert "cannot be decompressed" in refused(tmp_path, b"a,b\n1,2\n", "t.csv.gz")
    assert "cannot be decompressed" in refused(tmp_path, gzip.compress(b"a,b\n1,2\n")[:-5], "t.csv.gz")
    for ending in ("bz2", "xz", "zst"):
        assert "cannot be decompressed" in refused(tmp_path, b"a,b\n1,2\n", f"t.csv.{ending}")
    assert "'t.csv.gz' is empty" in refused(tmp_path, b"", "t.csv.gz")
    assert "is not an encoding" in refused(tmp_path, b"a\n1\n", encoding="latin1000")
    assert "is not an encoding" in refused(tmp_path, b"a\n1\n", encoding="base64")
    assert "is not UTF-16-LE" in refused(tmp_path, b"a,b\n1\n\xd8", encoding="utf-16-le")


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "é"])
def test_a_delimiter_is_one_character(tmp_path, delimiter):
    assert "must be one ASCII character" in refused(tmp_path, b"a,b\n1,2\n", delimiter=delimiter)


@pytest.mark.parametrize("name", ["t.parquet", "t.xlsx"])
@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"PAR1 and no more", b"ARROW1", b"PK\x03\x04 cut"])
def test_a_file_that_is_not_what_its_name_says_is_told(tmp_path, name, content):
    assert "that can be read" in refused(tmp_path, content, name)


def test_tables_without_rows_or_with_twins_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    with pytest.raises(FileFormatError, match="holds 0 rows and 1 columns"):
        _io.read(path)
    parquet.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), path)
    with pytest.raises(ColumnError, match="several columns of the same name: 'a'"):
        _io.read(path)
    book = openpyxl.Workbook()
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(FileFormatError, match=r"the sheet 'Sheet' of .* is empty"):
        _io.read(tmp_path / "t.xlsx")
    book.active.append(["a", "b"])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(FileFormatError, match="no rows"):
        _io.read(tmp_path / "t.xlsx")


def test_a_file_that_is_not_there_is_told_with_the_nearest_name(tmp_path):
    (tmp_path / "people.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(FileError, match=r"there is no file .*poeple.csv.* Did you mean '.*people.csv'\?"):
        _io.read(tmp_path / "poeple.csv")
    with pytest.raises(FileError, match=r"nor a built-in table of that name .* Did you mean 'german'\?"):
        _io.read("germn")
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        _io.read(tmp_path)
    with pytest.raises(OSError, match="there is no file"):
        _io.read(tmp_path / "none" / "x.csv")


def test_unknown_formats_list_the_known_ones(tmp_path):
    (tmp_path / "t.cvs").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(
        FileFormatError, match=r"'.cvs', which tells no format; known are .csv, .* mean '.csv'\?"
    ):
        _io.read(tmp_path / "t.cvs")
    (tmp_path / "table").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(FileFormatError, match="has no ending"):
        _io.read(tmp_path / "table")
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    source = _io.read(tmp_path / "t.csv")
    with pytest.raises(FileFormatError, match=r"'.json', which tells no format"):
        write(source, tmp_path / "out.json")


def test_options_of_text_are_not_for_other_files(tmp_path):
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"delimiter=';' is not for .*, which is read as parquet"):
        _io.read(tmp_path / "t.parquet", delimiter=";")
    with pytest.raises(InputError, match="is read as a built-in table"):
        _io.read("german", encoding="latin-1")
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError, match="sheet='x' is not for"):
        _io.read(tmp_path / "t.csv", sheet="x")


def test_a_ledger_of_another_table_is_refused(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_bytes(b"a,b\n1,x\n2,y\n")
    source = _io.read(path)
    edits = edits_of(source, [(0, "a", 1)])
    path.write_bytes(b"a,b\n3,x\n2,y\n")
    with pytest.raises(LedgerError, match="holds 3; the ledger expects 1"):
        write(_io.read(path), out, edits)
    with pytest.raises(LedgerError, match="a column that is not there"):
        write(_io.read(path, drop=["a"]), out, edits)
    edits.row[0] = 7
    with pytest.raises(LedgerError, match="row 7"):
        write(source, out, edits)
    assert not out.exists()


def test_text_that_an_encoding_cannot_give_back_is_not_written(tmp_path):
    path = tmp_path / "t.csv"
    # Two ways to write the same in UTF-7.
    path.write_bytes(b"a,b\n+AGE-,2\n")
    source = _io.read(path, encoding="utf-7")
    assert source.frame["a"].tolist() == ["a"]
    with pytest.raises(FileFormatError, match="cannot be written again"):
        write(source, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_excel_without_its_package_names_the_extra(tmp_path):
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    code = (
        "import sys; sys.modules['openpyxl'] = None\n"
        "from fairshap import exceptions, _io\n"
        "for call in (lambda: _io.read(sys.argv[1]), lambda: _io.read('german').to_bytes(sys.argv[2])):\n"
        "    try: call()\n"
        "    except exceptions.MissingExtraError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "t.xlsx", tmp_path / "out.xlsx"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.count("pip install 'fairshap[excel]'") == 2
    assert not (tmp_path / "out.xlsx").exists()


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "\n".join(map(str, np.arange(1_048_576))))
    with pytest.raises(FileFormatError, match="do not fit into a sheet"):
        write(_io.read(path), tmp_path / "out.xlsx")
    assert list(tmp_path.iterdir()) == [path]
