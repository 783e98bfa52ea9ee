"""Delimited text: read by pyarrow, written again byte for byte."""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from fairshap._frames import Kind, is_missing
from fairshap._io._document import Changes, Document, Inferred, unique_names
from fairshap._io._encodings import Encoded
from fairshap._io._formats import DELIMITERS, Format, foreign_beginning
from fairshap._io._kinds import read_cells
from fairshap._kernels.delimited import find_fields, find_rows
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError, InputError

# What is looked at to find out that fields are separated by something else.
_SAMPLE_BYTES, _SAMPLE_ROWS = 1 << 16, 50
_BLOCK_BYTES = 1 << 22


class TextDocument(Document):
    """A CSV or TSV file, of which every byte is kept.

    Parameters
    ----------
    raw : bytes
        The file, decompressed.
    source : str
        What errors call it.
    format : {"csv", "tsv"}
        Says which delimiter it has unless one is given.
    delimiter, encoding : str, optional
        What is between two fields; how text is written.
    missing : frozenset of str
        Texts that mean that a cell is missing.
    """

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
        self.delimiter = check_delimiter(DELIMITERS[format] if delimiter is None else delimiter)
        self.source = source
        self.missing = missing
        what = foreign_beginning(raw)
        if what:
            kind, named, _ = what.partition(", whose name")
            if named and source == "-":
                raise FileFormatError(
                    f"standard input is no text: it begins like {kind}; decompress it first."
                )
            raise FileFormatError(f"{source!r} is no text: it begins like {what}.")
        self.encoded = Encoded.read(raw, source, encoding)
        self.data = self.encoded.data
        self.starts, self.stops, wrapped = self._find_rows()
        self.n_rows = len(self.starts) - 1
        first = self.data[int(self.starts[0]) : int(self.stops[0])].decode()
        self._header = next(csv.reader([first], delimiter=self.delimiter))
        self.names = unique_names(self._header, source, " Is the first line the names of the columns?")
        if not self.n_rows:
            raise FileFormatError(f"{source!r} has the names of columns and no rows.")
        self._wrapped = wrapped
        self._read: Any = self._read_cells()

    @property
    def _cells(self) -> Any:
        """All cells as text, read again if they have been released."""
        return self._read_cells() if self._read is None else self._read

    def release(self) -> None:
        """Keep the bytes only."""
        self._read = None

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column, whose cells are numbers or categories."""
        cells = self._cells.column(position)
        return read_cells(cells, self.names[position], asked, self.missing, self._place)

    def write(self, file: BinaryIO, changes: Changes) -> None:
        """Write the bytes that were read, but for the changed cells."""
        if self.encoded.is_utf8:
            file.write(self.encoded.mark)
            file.writelines(self._pieces(changes))
        else:
            file.write(self.encoded.encode(b"".join(self._pieces(changes))))

    def write_delimited(self, file: BinaryIO, changes: Changes, delimiter: str) -> None:
        """Write the text of all cells, in UTF-8 and with another delimiter."""
        table = self._cells
        columns = [column.to_pylist() for column in table.columns]
        for row, column, origin, value in zip(
            changes.rows, changes.columns, changes.origins, changes.values, strict=True
        ):
            cells = table.column(int(column))
            columns[column][row] = cells[int(origin)].as_py() if origin >= 0 else _format(value)
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(self._header)
        writer.writerows(zip(*columns, strict=True))
        text.detach()

    def _find_rows(self) -> tuple[Ints, Ints, bool]:
        starts, stops, width, last_width, unclosed, wrapped = find_rows(self.data, ord(self.delimiter))
        if not len(starts):
            raise FileFormatError(f"{self.source!r} is empty.")
        if width == 1:
            self._check_delimiter()
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
        return starts, stops, wrapped

    def _check_delimiter(self) -> None:
        """Raise an error if another delimiter splits the first rows, which this one does not."""
        sample = self.data[:_SAMPLE_BYTES]
        for other in (",", ";", "\t", "|"):
            starts, stops, width, last_width, *_ = find_rows(sample, ord(other))
            # The last row may be the first ragged one after many that are not, or be cut with the sample.
            cut = len(sample) < len(self.data) and int(stops[-1]) == len(sample)
            even = width == last_width or cut or len(starts) > _SAMPLE_ROWS
            if other != self.delimiter and width > 1 and even:
                raise FileFormatError(
                    f"{self.source!r} has one column if it is split at {self.delimiter!r}; its first line "
                    f"seems to be {width} names with {other!r} between them. Give delimiter={other!r}."
                )

    def _read_cells(self) -> Any:
        """Return all cells as text; pyarrow reads them in all threads."""
        longest = int((self.stops - self.starts).max())
        names = [str(position) for position in range(len(self.names))]
        body = pa.py_buffer(self.data)[int(self.starts[1]) :]
        try:
            cells = arrow_csv.read_csv(
                pa.BufferReader(body),
                read_options=arrow_csv.ReadOptions(
                    column_names=names, block_size=max(_BLOCK_BYTES, 2 * longest + 2)
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=self._wrapped
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
                ),
            )
        except pa.ArrowException as error:
            raise FileFormatError(f"{self.source!r} cannot be read: {error}.") from error
        if cells.num_rows != self.n_rows:
            raise FileFormatError(
                f"{self.source!r} cannot be read: it has {self.n_rows} rows, of which "
                f"{cells.num_rows} were found."
            )
        return cells

    def _pieces(self, changes: Changes) -> Iterator[memoryview | bytes]:
        """Yield the text from change to change, with the new cells between."""
        data = memoryview(self.data)
        # The first row is the header.
        begins, ends = self._fields(changes.rows, changes.columns)
        copied = np.flatnonzero(changes.origins >= 0)
        sources = zip(*self._fields(changes.origins[copied], changes.columns[copied]), strict=True)
        cells: dict[int, memoryview | bytes] = {
            int(k): data[begin:end] for k, (begin, end) in zip(copied, sources, strict=True)
        }
        at = 0
        for k in np.argsort(begins).tolist():
            yield data[at : begins[k]]
            yield cells[k] if k in cells else self._quote(_format(changes.values[k]))
            at = int(ends[k])
        yield data[at:]

    def _fields(self, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
        return find_fields(
            self.data, ord(self.delimiter), self.starts[rows + 1], self.stops[rows + 1], columns
        )

    def _quote(self, text: str) -> bytes:
        """Return text as a cell, in quotes where it must be."""
        line = io.StringIO()
        # With a second field an empty cell needs no quotes; alone it does, since an empty line is no row.
        row = [text] if len(self.names) == 1 else [text, ""]
        csv.writer(line, delimiter=self.delimiter, lineterminator="").writerow(row)
        return line.getvalue()[: None if len(row) == 1 else -1].encode()

    def _place(self, row: int) -> str:
        return _line(self.data, int(self.starts[row + 1]))


def _format(value: Any) -> str:
    """Return the text of a value that no cell of the file has; whole numbers have no point."""
    if is_missing(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def check_delimiter(delimiter: str) -> str:
    """Return the delimiter if text can be delimited by it."""
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise InputError(
            f"delimiter={delimiter!r} must be one ASCII character other than a quote or a line end, such as "
            "',', ';', '|' or a tab."
        )
    return delimiter


def _line(data: bytes, position: int) -> str:
    """Return the line that a byte stands in, counted from 1."""
    before = data[:position]
    ends = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
    return f"line {ends + 1}"
