"""Where the rows and fields of delimited text begin and end.

Both functions work on bytes as they are, and on an array of them when compiled. A field is quoted if it
begins with a quote; within it two quotes are one, and delimiters and line ends are text. That is how Python's
csv module and pyarrow read. Structure is in ASCII, whose bytes occur in no other character of UTF-8.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from fairshap._typing import Ints

#: What a byte can be.
_ORDINARY, _QUOTE, _DELIMITER, _LINE_END = 0, 1, 2, 3
#: At the beginning of a field, in an unquoted one, in a quoted one, after a quote in a quoted one.
_BEGINNING, _PLAIN, _QUOTED, _AFTER_QUOTE = 0, 1, 2, 3

# Fewer bytes than these are looked at before the compiler has even been loaded.
_WORTH_COMPILING = 1 << 18


def find_rows(data: bytes, delimiter: int) -> tuple[Ints, Ints, int, int, bool, bool]:
    r"""Return where each row begins and ends, and what is wrong with the last one.

    The search ends at the first row that has another number of fields than the first row. Returned are the
    first byte of each row and the byte after its last, line end excluded (an empty line is no row); the
    number of fields in the first row and in the last one found; whether a quoted field, in the last row, does
    not end; and whether a quoted field holds a line end.

    Examples
    --------
    >>> starts, stops, *_ = find_rows(b'a,b\r\n"x\ny",2', ord(","))
    >>> starts.tolist(), stops.tolist()
    ([0, 5], [3, 12])
    """
    size = data.count(b"\n") + data.count(b"\r") + 1
    starts, stops = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    kernel, cells, kinds = _choose(_find_rows, data, delimiter, len(data))
    rows, width, last_width, unclosed, wrapped = kernel(cells, kinds, starts, stops)
    return starts[:rows], stops[:rows], int(width), int(last_width), bool(unclosed), bool(wrapped)


def find_fields(data: bytes, delimiter: int, starts: Ints, stops: Ints, columns: Ints) -> tuple[Ints, Ints]:
    """Return where single fields begin and end, given the extents of their rows and their columns."""
    begins, ends = np.empty(len(starts), dtype=np.int64), np.empty(len(starts), dtype=np.int64)
    kernel, cells, kinds = _choose(_find_fields, data, delimiter, int((stops - starts).sum()))
    kernel(cells, kinds, starts, stops, columns, begins, ends)
    return begins, ends


def _choose(kernel: Any, data: bytes, delimiter: int, work: int) -> tuple[Any, Any, Any]:
    """Return the kernel as it is for little work, else compiled; the bytes; and what each byte is."""
    kinds = bytearray(256)
    for byte, kind in ((b'"', _QUOTE), (b"\n", _LINE_END), (b"\r", _LINE_END)):
        kinds[ord(byte)] = kind
    kinds[delimiter] = _DELIMITER
    if work < _WORTH_COMPILING:
        return kernel, data, kinds
    return _compile(kernel), np.frombuffer(data, dtype=np.uint8), np.frombuffer(kinds, dtype=np.uint8)


@cache
def _compile(kernel: Any) -> Any:
    from fairshap._kernels.compiling import compiled

    return compiled(kernel)


def _find_rows(
    data: Sequence[int], kinds: Sequence[int], starts: Ints, stops: Ints
) -> tuple[int, int, int, bool, bool]:
    state, rows, fields, width, start = 0, 0, 1, -1, 0
    wrapped = False
    size = len(data)
    for i in range(size):
        kind = kinds[data[i]]
        if kind == _ORDINARY:
            if state != _QUOTED:
                state = _PLAIN
        elif state == _QUOTED:
            if kind == _QUOTE:
                state = _AFTER_QUOTE
            elif kind == _LINE_END:
                wrapped = True
        elif kind == _QUOTE:
            if state != _PLAIN:
                state = _QUOTED
        elif kind == _DELIMITER:
            fields += 1
            state = _BEGINNING
        else:
            # The two bytes of "\r\n" are a line end and an empty line, which is no row.
            if i > start:
                starts[rows] = start
                stops[rows] = i
                rows += 1
                if width < 0:
                    width = fields
                if fields != width:
                    return rows, width, fields, False, wrapped
            start = i + 1
            fields = 1
            state = _BEGINNING
    if size > start:
        starts[rows] = start
        stops[rows] = size
        rows += 1
        if width < 0:
            width = fields
        return rows, width, fields, state == _QUOTED, wrapped
    return rows, width, width, False, wrapped


def _find_fields(
    data: Sequence[int],
    kinds: Sequence[int],
    starts: Ints,
    stops: Ints,
    columns: Ints,
    begins: Ints,
    ends: Ints,
) -> None:
    for k in range(len(starts)):
        state, field = 0, 0
        begin = end = starts[k]
        while end < stops[k]:
            kind = kinds[data[end]]
            if state == _QUOTED:
                if kind == _QUOTE:
                    state = _AFTER_QUOTE
            elif kind == _QUOTE and state != _PLAIN:
                state = _QUOTED
            elif kind == _DELIMITER:
                if field == columns[k]:
                    break
                field += 1
                begin = end + 1
                state = _BEGINNING
            else:
                state = _PLAIN
            end += 1
        begins[k] = begin
        ends[k] = end
