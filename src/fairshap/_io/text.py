"""Delimited text: read by pyarrow, written again byte for byte."""

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from fairshap._frames import Kind
from fairshap._io.cells import Style, read_cells
from fairshap._io.document import (
    DELIMITERS,
    Changes,
    Document,
    Format,
    Inferred,
    cell_text,
    count_footers,
    find_header,
    tell_footers,
)
from fairshap._kernels.delimited import find_fields, find_rows
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError, InputError

#: Byte order marks, and the encodings that they tell.
_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

#: First bytes of files that are not text.
_BEGINNINGS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"PK\x03\x04": "an Excel workbook or a zip archive; name a workbook .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook, which must be saved as .xlsx first",
    b"\x1f\x8b": "a file compressed by gzip; decompress it or name it .gz",
    b"BZh": "a file compressed by bzip2; decompress it or name it .bz2",
    b"\xfd7zXZ\x00": "a file compressed by xz; decompress it or name it .xz",
    b"\x28\xb5\x2f\xfd": "a file compressed by zstd; decompress it or name it .zst",
}

# As many bytes are looked at to find the delimiter and the names, and as many rows to find sums at the end.
_HEAD, _LAST = 1 << 16, 10


class TextDocument(Document):
    """A CSV or TSV file, of which every byte is kept."""

    def __init__(
        self,
        raw: bytes,
        source: str,
        format: Format,  # noqa: A002
        missing: frozenset[str],
        *,
        style: Style,
        delimiter: str | None = None,
        encoding: str | None = None,
        header_row: int | None = None,
    ) -> None:
        self.format, self.source, self.missing, self.style = format, source, missing, style
        for beginning, what in _BEGINNINGS.items():
            if raw.startswith(beginning):
                raise self.error(f"is not text: it begins like {what}.")
        self._decode(raw, encoding)
        start = self._find_header(delimiter, header_row)
        self._find_rows(start)
        self.n_rows = len(self.starts) - 1
        first = self.data[int(self.starts[0]) : int(self.stops[0])].decode()
        header = next(csv.reader([first], delimiter=self.delimiter))
        self.set_names(header, " Is the first line the names of the columns?")
        if not self.n_rows:
            raise self.error("has the names of columns and no rows.")
        # Before threads ask for its columns.
        self._read: Any = self._read_cells()

    def column(self, position: int, asked: Kind | None, expected: str = "") -> tuple[pd.Series, Inferred]:
        """Return a column, whose cells are numbers, dates or categories."""
        table = self._read_cells() if self._read is None else self._read
        place = lambda row: f"line {self.row_number(row)}"  # noqa: E731
        how = self.missing, place, self.style, expected
        return read_cells(table.column(position), self.names[position], asked, *how)

    def row_number(self, row: int) -> int:
        """Return the line on which a row begins."""
        return int(self._line_numbers[row + 1])

    @cached_property
    def _line_numbers(self) -> Ints:
        """The line on which each row begins, the header among them."""
        data = np.frombuffer(self.data, dtype=np.uint8)
        ends = data == ord("\n")
        # A return alone ends a line too.
        ends[:-1] |= (data[:-1] == ord("\r")) & ~ends[1:]
        return np.asarray(np.searchsorted(np.flatnonzero(ends), self.starts) + 1, dtype=np.int64)

    def release(self) -> None:
        """Keep the bytes only; the cells are read again if they are needed."""
        self._read = None

    def to_bytes(self, changes: Changes) -> bytes:
        """Return the bytes that were read, but for the changed cells."""
        data = b"".join(self._pieces(changes))
        if self.encoding == "utf-8":
            return self.order_mark + data
        if not self.exact:
            why = f"{self.encoding!r} has several ways to write its text"
            raise self.error(f"cannot be written again as it is: {why}. Give a file in UTF-8.")
        try:
            return self.order_mark + data.decode().encode(self.encoding)
        except UnicodeEncodeError as error:
            lacks = f"{self.encoding!r}, which has no {error.object[error.start]!r}"
            raise self.error(f"is encoded in {lacks}; give a file in UTF-8.") from error

    def _decode(self, raw: bytes, encoding: str | None) -> None:
        """Set the text in UTF-8 without a byte order mark, and what is needed to encode it again."""
        marked = next((mark for mark in _ORDER_MARKS if raw.startswith(mark)), b"")
        told = _ORDER_MARKS.get(marked, "")
        name = _canonical(encoding or told[:6] or _guess_encoding(raw))
        if not told.startswith(name):
            # To other encodings a mark is text. Python would add one to "utf-16" and "utf-32".
            marked, told = b"", f"{name}-le" if name in ("utf-16", "utf-32") else name
        self.order_mark, self.encoding, self.data = marked, told, raw[len(marked) :]
        try:
            text = self.data.decode(told)
        except UnicodeDecodeError as error:
            line = self.data[: error.start].count(b"\n") + 1
            example = "its encoding, for example encoding='latin-1'"
            advice = f"Give {example if told == 'utf-8' else 'the encoding that it was written in'}."
            raise FileFormatError(
                f"line {line} of {self.source!r} is not {told.upper()} "
                f"(byte 0x{self.data[error.start]:02x}). {advice}",
                parameter="encoding",
            ) from error
        if "\0" in text[:1000]:
            raise self.error("is not text in UTF-8; if it is UTF-16, give encoding='utf-16'.", "encoding")
        if told != "utf-8":
            # Some encodings have two ways to write the same, and some texts none.
            self.exact = text.encode(told, "replace") == self.data
            self.data = text.encode()
            if encoding is None:
                self.notes += (f"encoding {told} (if that is wrong, give --encoding)",)

    def _find_header(self, delimiter: str | None, header_row: int | None) -> int:
        """Set the delimiter, and return where the line with the names of the columns begins."""
        lines = list(io.StringIO(self.data[:_HEAD].decode(errors="ignore"), newline=""))
        # What was cut off is not looked at.
        last = None if len(self.data) <= _HEAD else -1
        usual = DELIMITERS[self.format]
        self.delimiter = usual if delimiter is None else _check_delimiter(delimiter)
        found = {one: _split(lines, one)[:last] for one in dict.fromkeys((self.delimiter, *",;\t|"))}
        names = {
            one: 0 if header_row else find_header([row for _, row in rows]) for one, rows in found.items()
        }
        first, rows = names[self.delimiter], found[self.delimiter]
        if delimiter is None and not (first == 0 and _is_table(rows)):
            # Below a title any text may seem to have two columns.
            tables = [one for one, k in names.items() if _is_table(found[one][k:], least=3 if k else 2)]
            best = min(tables, key=lambda one: found[one][names[one]][0], default=usual)
            self.delimiter, rows, first = best, found[best], names[best]
            if best != usual:
                self.notes += (f"fields are separated by {best!r}",)
        if header_row is not None:
            first = next((k for k, (line, _) in enumerate(rows) if line + 1 == header_row), -1)
            if first < 0:
                said = f"header_row={header_row} is no line of {self.source!r} with which a row begins"
                raise InputError(
                    f"{said}; give the line of the names, counted from 1.", parameter="header_row"
                )
        line = rows[first][0] if first else 0
        if line and header_row is None:
            self.notes += (f"the names of the columns are in line {line + 1} (--header-row)",)
        return len("".join(lines[:line]).encode())

    def _find_rows(self, start: int) -> None:
        """Set where the rows start and stop, the header among them; those without any cell are left out."""
        data = self.data[start:] if start else self.data
        starts, stops, width, last_width, unclosed, wrapped = find_rows(data, ord(self.delimiter))
        starts, stops = starts + start, stops + start
        if not len(starts):
            raise self.error("is empty.")
        if unclosed:
            raise FileFormatError(
                f"line {_line(self.data, int(starts[-1]))} of {self.source!r} opens a quote that is never "
                "closed."
            )
        if width != last_width:
            first, last = (_line(self.data, int(at[-1])) for at in (starts, stops))
            hint = "" if first == last else f" It goes on to line {last}: is a quote not closed?"
            raise FileFormatError(
                f"line {first} of {self.source!r} has {last_width} fields, the first line has {width}.{hint}"
            )
        # As long as its delimiters: a row of empty cells, as spreadsheets leave them at the end.
        filled = (stops - starts != width - 1) | (width == 1)
        filled[0] = True
        # So are sums and remarks below the table.
        ends = np.flatnonzero(filled)[2:][-_LAST:]
        cells = [self.data[int(starts[k]) : int(stops[k])].decode() for k in ends]
        footers = count_footers([next(csv.reader([text], delimiter=self.delimiter)) for text in cells], width)
        empty = int((~filled).sum())
        filled[ends[len(ends) - footers :]] = False
        self.notes += tell_footers(footers)
        self.starts, self.stops, self._wrapped = starts[filled], stops[filled], wrapped
        self._body, self._filled = int(starts[1]) if len(starts) > 1 else 0, filled[1:]
        if empty:
            self.notes += (f"{empty:,} empty {'row is' if empty == 1 else 'rows are'} left alone",)

    def _read_cells(self) -> Any:
        """Return all cells as text; pyarrow reads them in all threads."""
        longest = int((self.stops - self.starts).max())
        names = [str(position) for position in range(len(self.names))]
        types = dict.fromkeys(names, pa.string())
        read = arrow_csv.ReadOptions(column_names=names, block_size=max(1 << 22, 2 * longest + 2))
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self._wrapped)
        convert = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        rows = pa.BufferReader(pa.py_buffer(self.data)[self._body :])
        try:
            cells = arrow_csv.read_csv(rows, read, parse, convert)
        except pa.ArrowException as error:
            raise self.error(f"cannot be read: {error}.") from error
        if cells.num_rows != len(self._filled):
            found = f"it has {len(self._filled)} rows, of which {cells.num_rows} were found"
            raise self.error(f"cannot be read: {found}.")
        return cells if self._filled.all() else cells.filter(pa.array(self._filled))

    def _pieces(self, changes: Changes) -> Iterator[memoryview | bytes]:
        """Yield the text from change to change, with the new cells between."""
        data = memoryview(self.data)
        begins, ends = self._fields(changes.rows, changes.columns)
        copied = np.flatnonzero(changes.origins >= 0)
        sources = zip(*self._fields(changes.origins[copied], changes.columns[copied]), strict=True)
        cells = {int(k): data[begin:end] for k, (begin, end) in zip(copied, sources, strict=True)}
        at = 0
        for k in np.argsort(begins).tolist():
            yield data[at : begins[k]]
            yield cells[k] if k in cells else self._quote(cell_text(changes.values[k]))
            at = int(ends[k])
        yield data[at:]

    def _fields(self, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
        # The first row is the header.
        starts, stops = self.starts[rows + 1], self.stops[rows + 1]
        return find_fields(self.data, ord(self.delimiter), starts, stops, columns)

    def _quote(self, text: str) -> bytes:
        """Return text as a cell, in quotes where it must be."""
        line = io.StringIO()
        # With a second field an empty cell needs no quotes; alone it does, since an empty line is no row.
        row = [text] if len(self.names) == 1 else [text, ""]
        csv.writer(line, delimiter=self.delimiter, lineterminator="").writerow(row)
        return line.getvalue()[: None if len(row) == 1 else -1].encode()


def _canonical(encoding: str) -> str:
    """Return Python's own name of an encoding."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except LookupError as error:
        raise InputError(
            f"encoding={encoding!r} is not an encoding of text that Python knows; usual ones are "
            "'utf-8', 'latin-1', 'cp1252' and 'utf-16'.",
            parameter="encoding",
        ) from error
    return "utf-8" if name == "utf-8-sig" else name


def _check_delimiter(delimiter: str) -> str:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise InputError(
            f"delimiter={delimiter!r} must be one ASCII character other than a quote or a line end, such as "
            "',', ';', '|' or a tab.",
            parameter="delimiter",
        )
    return delimiter


def _guess_encoding(raw: bytes) -> str:
    """Return UTF-8, or Windows's encoding of western languages if that fits and UTF-8 does not."""
    for name in ("utf-8", "cp1252"):
        with suppress(UnicodeDecodeError):
            raw.decode(name)
            return name
    return "utf-8"


def _split(lines: list[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """Return the rows of some lines, each with the line that it begins with, counted from 0."""
    reader, rows, start = csv.reader(lines, delimiter=delimiter), [], 0
    with suppress(csv.Error):
        for row in reader:
            if row:
                rows.append((start, row))
            start = reader.line_num
    return rows


def _is_table(rows: list[tuple[int, list[str]]], least: int = 2) -> bool:
    """Say whether all rows have as many fields, which are several."""
    widths = {len(row) for _, row in rows}
    return len(widths) == 1 and min(widths) >= least


def _line(data: bytes, position: int) -> int:
    """Return the line that a byte stands in, counted from 1."""
    before = data[:position]
    return before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n") + 1
