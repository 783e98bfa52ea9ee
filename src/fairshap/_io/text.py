"""Delimited text: read by pyarrow, written again byte for byte."""

import codecs
import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from fairshap._frames import Kind
from fairshap._io.document import DELIMITERS, Changes, Document, Format, Inferred, cell_text
from fairshap._io.kinds import read_cells
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


class TextDocument(Document):
    """A CSV or TSV file, of which every byte is kept."""

    def __init__(
        self,
        raw: bytes,
        source: str,
        format: Format,  # noqa: A002
        delimiter: str | None,
        encoding: str | None,
        missing: frozenset[str],
    ) -> None:
        self.format = format
        self.delimiter = _check_delimiter(DELIMITERS[format] if delimiter is None else delimiter)
        self.source, self.missing = source, missing
        for beginning, what in _BEGINNINGS.items():
            if raw.startswith(beginning):
                raise self.error(f"is not text: it begins like {what}.")
        self._decode(raw, encoding)
        self._find_rows()
        self.n_rows = len(self.starts) - 1
        first = self.data[int(self.starts[0]) : int(self.stops[0])].decode()
        header = next(csv.reader([first], delimiter=self.delimiter))
        self.set_names(header, " Is the first line the names of the columns?")
        if not self.n_rows:
            raise self.error("has the names of columns and no rows.")
        # Before threads ask for its columns.
        self._read: Any = self._read_cells()

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column, whose cells are numbers or categories."""
        table = self._read_cells() if self._read is None else self._read
        place = lambda row: _line(self.data, int(self.starts[row + 1]))  # noqa: E731
        return read_cells(table.column(position), self.names[position], asked, self.missing, place)

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
        name, told = _canonical(encoding or "utf-8"), _ORDER_MARKS.get(marked, "")
        if not encoding and told not in ("", "utf-8"):
            name = told[:6]
            raise self.error(f"begins like {name.upper()}, not UTF-8; give encoding={name!r}.", "encoding")
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
        if told != "utf-8":
            # Some encodings have two ways to write the same, and some texts none.
            self.exact = text.encode(told, "replace") == self.data
            self.data = text.encode()

    def _find_rows(self) -> None:
        """Set where the rows start and stop, the header among them."""
        starts, stops, width, last_width, unclosed, wrapped = find_rows(self.data, ord(self.delimiter))
        if not len(starts):
            raise self.error("is empty.")
        if width == 1:
            self._suspect_delimiter()
        if unclosed:
            raise FileFormatError(
                f"{_line(self.data, int(starts[-1]))} of {self.source!r} opens a quote that is never closed."
            )
        if width != last_width:
            first, last = (_line(self.data, int(at[-1])) for at in (starts, stops))
            hint = "" if first == last else f" It goes on to {last}: is a quote not closed?"
            raise FileFormatError(
                f"{first} of {self.source!r} has {last_width} fields, the first line has {width}.{hint}"
            )
        self.starts, self.stops, self._wrapped = starts, stops, wrapped

    def _suspect_delimiter(self) -> None:
        """Raise an error if another delimiter splits the first lines, which this one does not."""
        lines = [line for line in self.data.split(b"\n", 50)[:50] if line.strip()]
        for other in (",", ";", "\t", "|"):
            counts = {line.count(other.encode()) for line in lines}
            if other != self.delimiter and len(counts) == 1 and (count := counts.pop()):
                raise self.error(
                    f"has one column if it is split at {self.delimiter!r}; its first line seems to be "
                    f"{count + 1} names with {other!r} between them. Give delimiter={other!r}.",
                    "delimiter",
                )

    def _read_cells(self) -> Any:
        """Return all cells as text; pyarrow reads them in all threads."""
        longest = int((self.stops - self.starts).max())
        names = [str(position) for position in range(len(self.names))]
        types = dict.fromkeys(names, pa.string())
        read = arrow_csv.ReadOptions(column_names=names, block_size=max(1 << 22, 2 * longest + 2))
        parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self._wrapped)
        convert = arrow_csv.ConvertOptions(column_types=types, strings_can_be_null=False)
        rows = pa.BufferReader(pa.py_buffer(self.data)[int(self.starts[1]) :])
        try:
            cells = arrow_csv.read_csv(rows, read, parse, convert)
        except pa.ArrowException as error:
            raise self.error(f"cannot be read: {error}.") from error
        if cells.num_rows != self.n_rows:
            found = f"it has {self.n_rows} rows, of which {cells.num_rows} were found"
            raise self.error(f"cannot be read: {found}.")
        return cells

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


def _line(data: bytes, position: int) -> str:
    """Return the line that a byte stands in, counted from 1."""
    before = data[:position]
    ends = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
    return f"line {ends + 1}"
