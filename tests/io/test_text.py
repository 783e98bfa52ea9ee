import csv
import io
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshap import _io
from fairshap._io.cells import Style
from fairshap._io.document import count_footers
from fairshap._io.text import TextDocument
from fairshap.edits import Edits
from fairshap.exceptions import FairshapError
from tests.conftest import examples
from tests.io.conftest import edits_of, write

CELLS = st.text(st.sampled_from('ab01é漢,;\t"\r\n .'), max_size=6)


def rows_of(data: bytes, delimiter: str = ",") -> list[list[str]]:
    text = data.decode("utf-8-sig")
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


def filled(rows: list[list[str]], data: bytes, delimiter: str) -> list[list[str]]:
    """Return the rows that are more than delimiters, without remarks below them."""
    kept, place = [], 0
    text = data.decode("utf-8-sig")
    for row in rows:
        bare = delimiter * (len(row) - 1)
        while text[place] in "\r\n":
            place += 1
        is_bare = re.match(f"{bare}(?=[\r\n]|$)", text[place:])
        kept += [] if is_bare else [row]
        # Quoted in any way, a row has as many characters as the reader takes from here on.
        place = len(bare) + place if is_bare else _end_of_row(text, place)
    return kept[: len(kept) - count_footers(kept[2:][-10:], len(rows[0]))]


def _end_of_row(text: str, place: int) -> int:
    quoted = False
    while place < len(text) and (quoted or text[place] not in "\r\n"):
        quoted ^= text[place] == '"'
        place += 1
    return place


@st.composite
def delimited_files(draw) -> tuple[bytes, str]:
    """Draw a file that holds a table, quoted and broken into lines in any way, and its delimiter."""
    delimiter = draw(st.sampled_from(",;\t"))
    width = draw(st.integers(2, 4))
    names = [f"n{k}{draw(CELLS)}" for k in range(width)]
    # A column needs one value at least.
    rows = [["x"] * width, *draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))]
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    text = ""
    for row in [names, *rows]:
        cells = []
        for cell in row:
            quoted = any(c in cell for c in f'{delimiter}"\r\n') or draw(st.booleans())
            doubled = cell.replace('"', '""')
            cells.append(f'"{doubled}"' if quoted else cell)
        text += delimiter.join(cells) + draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]))
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return mark + text.encode(), delimiter


def write_and_read(source: _io.Source, folder: str, edits: Edits | None) -> bytes:
    out = Path(folder) / "out.csv"
    write(source, out, edits)
    return out.read_bytes()


@given(delimited_files())
def test_without_edits_every_byte_stays(drawn):
    data, delimiter = drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(data)
        source = _io.read(path, delimiter=delimiter)
        assert write_and_read(source, folder, None) == data
        expected = rows_of(data, delimiter)
        assert list(source.document.names) == [" ".join(name.split()) for name in expected[0]]
        assert len(source.frame) == len(filled(expected, data, delimiter)) - 1


@given(delimited_files(), st.data())
def test_with_edits_only_those_cells_change_and_get_the_reference_s_text(drawn, choice):
    data, delimiter = drawn
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(data)
        source = _io.read(path, delimiter=delimiter)
        row = st.integers(0, len(source.frame) - 1)
        cells = choice.draw(
            st.lists(
                st.tuples(row, st.sampled_from(source.document.names), row), unique_by=lambda cell: cell[:2]
            )
        )
        out = write_and_read(source, folder, edits_of(source, cells))
    expected = rows_of(data, delimiter)
    rows = filled(expected, data, delimiter)
    original = [list(row) for row in rows]
    for at, column, reference in cells:
        place = source.document.names.index(column)
        rows[at + 1][place] = original[reference + 1][place]
    assert rows_of(out, delimiter) == expected
    assert out.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")


@given(
    st.one_of(st.binary(max_size=60), st.text(st.sampled_from('ab01,;"\r\n'), max_size=60).map(str.encode))
)
def test_any_bytes_are_read_and_written_again_or_refused_in_words(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.csv"
        path.write_bytes(data)
        try:
            source = _io.read(path)
        except FairshapError:
            return
        assert write_and_read(source, folder, None) == data


@pytest.fixture
def codes(tmp_path) -> Path:
    path = tmp_path / "codes.csv"
    path.write_bytes(b'code,name,n,when\r\n007,"O\'Neil, ""Al""",1.50,\r\n"012",Bo,2,NA\r\n013,"",  3,x')
    return path


def test_codes_quotes_and_line_ends_stay_and_copies_are_as_in_the_file(codes, tmp_path):
    source = _io.read(codes)
    out = tmp_path / "out.csv"
    write(source, out, edits_of(source, [(0, "code", 1), (1, "name", 0), (2, "n", 0), (2, "when", 1)]))
    assert out.read_bytes() == (
        b'code,name,n,when\r\n"012","O\'Neil, ""Al""",1.50,\r\n"012","O\'Neil, ""Al""",2,NA\r\n013,"",1.50,NA'
    )


def test_a_value_that_no_reference_row_holds_is_formatted(codes, tmp_path):
    source = _io.read(codes, categorical=["name"])
    out = tmp_path / "out.csv"
    edits = Edits(
        row=np.array([0, 1, 2, 0]),
        index=[0, 1, 2, 0],
        column=["n", "n", "n", "when"],
        old=[1.5, 2.0, 3.0, None],
        new=[4.0, 0.25, None, "x"],
        phi=np.ones(4),
        reference=np.array([0, -1, 99, 0]),
    )
    write(source, out, edits)
    assert rows_of(out.read_bytes())[1:] == [
        ["007", 'O\'Neil, "Al"', "4", "x"],
        ["012", "Bo", "0.25", "NA"],
        ["013", "", "", "x"],
    ]


def test_a_lone_column_has_no_row_without_text(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(b'a\n1\n\n2\n""\n')
    source = _io.read(path)
    assert source.frame["a"].tolist()[:2] == [1, 2]
    edits = Edits(
        row=np.array([0]),
        index=[0],
        column=["a"],
        old=[1.0],
        new=[None],
        phi=np.ones(1),
        reference=np.array([0]),
    )
    write(source, out, edits)
    assert out.read_bytes() == b'a\n""\n\n2\n""\n'


def test_long_cells_and_many_blocks_are_read(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    lines = [f'{k},"{"é" * (k % 7)}\n{"w" * (9_000_000 if k == 500 else 1)}",{k / 8}' for k in range(100_000)]
    path.write_text("\n".join(["k,text,x", *lines]), encoding="utf-8")
    source = _io.read(path)
    assert source.frame["k"].tolist() == list(range(100_000))
    assert source.frame["x"].tolist() == [k / 8 for k in range(100_000)]
    write(source, out, edits_of(source, [(99_999, "text", 3)]))
    assert out.read_text(encoding="utf-8") == "\n".join(
        ["k,text,x", *lines[:-1], lines[-1].replace("é" * (99_999 % 7), "é" * 3)]
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-be", "utf-8-sig", "shift_jis"])
def test_an_encoding_that_is_asked_for_is_kept(tmp_path, encoding):
    text = "name,n\r\nZoë,1\r\nJosé,2\r\n"
    if encoding == "shift_jis":
        text = text.replace("ë", "漢").replace("é", "字")
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(text.encode(encoding))
    source = _io.read(path, encoding=encoding)
    assert source.frame["name"].tolist() == [line.split(",")[0] for line in text.splitlines()[1:]]
    write(source, out, edits_of(source, [(0, "name", 1)]))
    assert out.read_bytes() == text.replace(*source.frame["name"].tolist()).encode(encoding)


def test_tab_separated_text_is_kept_and_becomes_csv_by_its_values(tmp_path):
    path = tmp_path / "in.tsv"
    path.write_bytes(b'code\ta,b\r\n007\t"x\ty"\r\n010\t1,5\r\n')
    source = _io.read(path)
    write(source, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == path.read_bytes()
    write(source, tmp_path / "out.csv", edits_of(source, [(0, "code", 1)]))
    assert (tmp_path / "out.csv").read_bytes() == b'code,"a,b"\n010,x\ty\n010,"1,5"\n'


@examples(60)
@given(delimited_files())
def test_rows_are_numbered_by_the_lines_that_they_begin_on(drawn):
    data, delimiter = drawn
    document = TextDocument(data, "t.csv", "csv", frozenset(), style=Style(), delimiter=delimiter)
    text = data.decode("utf-8-sig").encode()
    for row in range(document.n_rows):
        before = text[: document.starts[row + 1]].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        assert document.row_number(row) == before.count(b"\n") + 1
