import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshap._kernels import delimited
from fairshap._kernels.delimited import find_fields, find_rows

# Whatever makes structure, often, and a little that does not.
TEXTS = st.text(st.sampled_from('ab0é,;"\r\n '), max_size=40)


def read_by_csv(text: str) -> list[list[str]]:
    """Read text as Python's csv module does; an empty line is no row."""
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row]


def cut_fields(data: bytes, starts, stops, width: int) -> list[list[str]]:
    """Return the fields that are found, each read by csv by itself."""
    rows, columns = np.divmod(np.arange(len(starts) * width), width)
    begins, ends = find_fields(data, ord(","), starts[rows], stops[rows], columns)
    raw = [data[begin:end].decode() for begin, end in zip(begins, ends, strict=True)]
    cells = [next(csv.reader([field]), [""]) or [""] for field in raw]
    assert all(len(cell) == 1 for cell in cells)
    return [[cell[0] for cell in cells[k : k + width]] for k in range(0, len(cells), width)]


@given(TEXTS)
def test_rows_and_fields_are_those_of_the_csv_module(text):
    data = text.encode()
    starts, stops, width, last_width, unclosed, wrapped = find_rows(data, ord(","))
    expected = read_by_csv(text)
    if not expected:
        assert len(starts) == 0
        return
    widths = [len(row) for row in expected]
    ragged = next((k for k, found in enumerate(widths) if found != widths[0]), len(widths) - 1)
    assert (width, last_width) == (widths[0], widths[ragged])
    assert len(starts) == ragged + 1
    if width == last_width and not unclosed:
        assert cut_fields(data, starts, stops, width) == expected
        assert wrapped == any(end in cell for row in expected for cell in row for end in "\r\n")


@given(TEXTS, st.text(st.sampled_from("a,\r\n"), max_size=5))
def test_a_quote_that_is_never_closed_is_told(above, rest):
    lines = above.replace('"', "").replace(",", "") + "\n"
    *_, unclosed, _ = find_rows(f'{lines}"{rest}'.encode(), ord(","))
    assert unclosed
    *_, unclosed, _ = find_rows(f'{lines}"{rest}"'.encode(), ord(","))
    assert not unclosed


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_compiled_and_plain_find_the_same(end):
    line = f'1,"a""b,{end}c",é"x,{end}'
    data = (line * (2 * delimited._WORTH_COMPILING // len(line))).encode()
    assert len(data) > delimited._WORTH_COMPILING
    starts, stops, *rest = find_rows(data, ord(","))
    kinds = bytes({34: 1, 44: 2, 10: 3, 13: 3}.get(byte, 0) for byte in range(256))
    slow = [np.empty_like(starts), np.empty_like(starts)]
    assert [len(starts), *rest] == list(delimited._find_rows(data, kinds, *slow))
    assert [starts.tolist(), stops.tolist()] == [part.tolist() for part in slow]
    columns = np.arange(len(starts)) % 4
    quick = find_fields(data, ord(","), starts, stops, columns)
    delimited._find_fields(data, kinds, starts, stops, columns, *slow)
    assert [part.tolist() for part in quick] == [part.tolist() for part in slow]
    assert cut_fields(data, starts[:1], stops[:1], 4) == [["1", f'a"b,{end}c', 'é"x', ""]]
