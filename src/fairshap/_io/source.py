"""A table that is read from a file, standard input or the built-in ones, and written again with edits."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from fairshap import datasets
from fairshap._files import Pathlike
from fairshap._frames import Kind, is_missing
from fairshap._io.cells import MISSING, Style
from fairshap._io.document import (
    DELIMITERS,
    Changes,
    Document,
    Format,
    Inferred,
    cell_text,
    compress,
    decompress,
    format_of,
)
from fairshap._io.frames import ExcelDocument, FrameDocument, ParquetDocument, frame_to_bytes
from fairshap._io.text import TextDocument
from fairshap._messages import did_you_mean, listing
from fairshap.datasets import Dataset, stored_bytes
from fairshap.edits import Edits
from fairshap.edits._ledger import same_value
from fairshap.exceptions import ColumnError, FileError, FileFormatError, InputError

# The options that a format takes; Parquet and a built-in table, which has none, take none.
_TAKEN: dict[Format | None, str] = {"excel": "sheet header_row decimal thousands"}
_TAKEN |= dict.fromkeys(DELIMITERS, "delimiter encoding header_row decimal thousands")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source:
    """A table with the file that it comes from; :func:`read` makes it.

    ``path`` is None for standard input and a built-in table, which ``dataset`` is. ``checksum`` is the
    SHA-256 of the file's bytes, as they are on the disk. ``frame`` lacks the columns that were dropped; its
    numbers, dates and booleans are such, text is categories, and its rows are numbered from 0.
    """

    name: str
    path: Path | None
    checksum: str
    frame: pd.DataFrame
    inferred: Mapping[str, Inferred]
    dataset: Dataset | None
    document: Document

    def find(self, column: str, parameter: str = "column") -> str:
        """Return the name of a column of the frame; an error names the parameter that asked for it."""
        names = list(self.frame.columns)
        if column not in names and column in self.document.names:
            text = f"{parameter}={column!r} is a column of {self.name!r} that is left out by drop."
            raise ColumnError(text, parameter=parameter)
        return _find_column(column, parameter, self.name, names)

    def to_bytes(
        self,
        path: Pathlike,
        edits: Edits | None = None,
        finish: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    ) -> bytes:
        """Return the file with edits made and every other cell as it was read; ``-`` is standard output.

        In the format of the source, an edited cell gets what the cell of its reference row holds in the file:
        ``007`` stays ``007``. In another format the values are written, and as text a column in which words
        count as missing; so they are if ``finish`` adds rows or columns to the edited table.
        """
        form, changes = self.format_for(path), self._changes(edits)
        content = None
        if form == self.document.format and finish is None:
            self._check_written(changes)
            content = self.document.to_bytes(changes)
        if content is None:
            frame = self._whole_frame()
            frame = frame if edits is None else edits.apply(frame)
            frame = frame.assign(**self._worded(changes))
            content = frame_to_bytes(frame if finish is None else finish(frame), form)
        return content if os.fspath(path) == "-" else compress(content, Path(path))

    def format_for(self, path: Pathlike) -> Format:
        """Return the format in which the table is written to a path."""
        return self.document.format if os.fspath(path) == "-" else format_of(Path(path))

    def _whole_frame(self) -> pd.DataFrame:
        """Return all columns, dropped ones too."""
        columns: dict[str, Any] = {}
        for position, name in enumerate(self.document.names):
            # A column that was dropped may not be readable.
            columns[name] = self.frame.get(name)
            if name not in self.frame:
                with suppress(FileFormatError):
                    columns[name] = self.document.column(position, None)[0]
        return pd.DataFrame(columns, self.frame.index, copy=False)

    def _worded(self, changes: Changes) -> dict[str, list[Any]]:
        """Return the texts, with changes made, of columns in which words count as missing."""
        columns = {}
        for name, inferred in self.inferred.items():
            if any(note.topic == "missing" for note in inferred.notes):
                position = self.document.names.index(name)
                texts = self.document.column(position, "category")[0].tolist()
                columns[name] = [None if is_missing(text) else text for text in texts]
                for k in np.flatnonzero(changes.columns == position):
                    origin, new = changes.origins[k], changes.values[k]
                    columns[name][changes.rows[k]] = texts[origin] if origin >= 0 else cell_text(new) or None
        return columns

    def _changes(self, edits: Edits | None) -> Changes:
        """Return what the ledger changes, having made sure that it belongs to this table."""
        if edits is None or not len(edits):
            none = np.empty(0, dtype=np.int64)
            return Changes(none, none, none, [])
        # Raises if a row, a column or an old value is not there, or a new one does not fit.
        edits.apply(self.frame)
        # A cell is copied as the file has it, where the reference row holds the new value.
        origins = np.full(len(edits), -1, dtype=np.int64)
        there = (edits.reference >= 0) & (edits.reference < len(self.frame))
        columns = np.array([self.document.names.index(str(name)) for name in edits.column], dtype=np.int64)
        for column in np.unique(columns):
            chosen = np.flatnonzero((columns == column) & there)
            found = self.frame[self.document.names[column]].iloc[edits.reference[chosen]].tolist()
            for k, value in zip(chosen, found, strict=True):
                if same_value(value, edits.new[k]):
                    origins[k] = edits.reference[k]
            # Else from any row that holds it: a number or a date has the form of its column.
            chosen = np.flatnonzero((columns == column) & (origins < 0))
            if len(chosen) and self.inferred[self.document.names[column]].kind == "numeric":
                values = self.frame[self.document.names[column]].drop_duplicates().dropna()
                rows = dict(zip(values.tolist(), values.index.tolist(), strict=True))
                origins[chosen] = [rows.get(edits.new[k], -1) for k in chosen]
        # Of several edits of one cell the last counts.
        last = {cell: k for k, cell in enumerate(zip(edits.row.tolist(), columns.tolist(), strict=True))}
        kept = np.array(sorted(last.values()), dtype=np.int64)
        return Changes(edits.row[kept], columns[kept], origins[kept], [edits.new[k] for k in kept])

    def _check_written(self, changes: Changes) -> None:
        """Raise an error if a value is to be written that the file would write in a way of its own."""
        has_comma = any(inferred.decimal == "," for inferred in self.inferred.values())
        for k in np.flatnonzero(changes.origins < 0):
            name, value = self.document.names[changes.columns[k]], changes.values[k]
            is_typed = any(note.topic in ("numbers", "dates") for note in self.inferred[name].notes)
            has_decimals = isinstance(value, float) and not value.is_integer()
            if not is_missing(value) and (is_typed or (has_comma and has_decimals)):
                raise FileFormatError(
                    f"column {name!r} of {self.name!r} is to get {value}, which no cell of it holds: it is "
                    "not known how the file writes it. Write the table to another format, such as .parquet, "
                    "where numbers and dates need no form."
                )


def read(
    path: Pathlike,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    categorical: Iterable[str] | None = None,
    numeric: Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    missing: Iterable[str] | None = None,
) -> Source:
    """Return the table of a file, of standard input (``-``) or a built-in one, with what writing it needs.

    A file that has the name of a built-in table is given as ``./name``. The delimiter and encoding of text,
    the decimal sign, the sheet of a workbook and the row of the names (counted from 1) are found, and told in
    the document's notes, unless they are given. ``categorical`` and ``numeric`` override what columns look
    like. The frame lacks the columns in ``drop``; the file that is written has them. ``missing`` adds to the
    texts that mean a missing cell, in CSV, TSV and Excel.
    """
    name, file, dataset = os.fspath(path), None, None
    asked = {"categorical": [*(categorical or ())], "numeric": [*(numeric or ())], "drop": [*(drop or ())]}
    both = [column for column in asked["numeric"] if column in asked["categorical"]]
    if both:
        raise InputError(
            f"{listing(both)} cannot be both numeric and categorical; name each in one of them.",
            parameter="numeric",
        )
    form: Format | None = "csv"
    if name in datasets.names():
        form, dataset, raw = None, datasets.load(name), stored_bytes(name)
    elif name == "-":
        raw = _read_input()
    else:
        file = Path(name)
        raw, form = _read_bytes(file), format_of(file)
    given = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "header_row": header_row}
    given |= {"decimal": decimal, "thousands": thousands}
    taken = _TAKEN.get(form, "").split()
    wrong = [option for option, value in given.items() if value is not None and option not in taken]
    if wrong:
        raise InputError(
            f"{wrong[0]}={given[wrong[0]]!r} is not for {name!r}, which is read as "
            f"{'Excel' if form == 'excel' else form or 'a built-in table'}.",
            parameter=wrong[0],
        )
    style = Style.check(decimal, thousands)
    content = raw if file is None else decompress(raw, file)
    if not content:
        raise FileFormatError(f"{'standard input' if name == '-' else repr(name)} is empty.")
    texts = MISSING | {text.strip() for text in missing or ()}
    if dataset is not None:
        document: Document = FrameDocument(dataset.X.assign(**{str(dataset.y.name): dataset.y}), name)
    elif form == "parquet":
        document = ParquetDocument(content, name)
    elif form == "excel":
        document = ExcelDocument(content, name, texts, style=style, sheet=sheet, header_row=header_row)
    else:
        how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "header_row": header_row}
        document = TextDocument(content, name, form or "csv", texts, style=style, **how)
    frame, inferred = _read_columns(document, name, asked)
    document.release()
    return Source(name, file, hashlib.sha256(raw).hexdigest(), frame, inferred, dataset, document)


def _read_input() -> bytes:
    """Return all of standard input, in pieces: Python answers signals between reads, not within one."""
    pipe = cast(BufferedReader, sys.stdin.buffer)
    return b"".join(iter(lambda: pipe.read1(1 << 20), b""))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        tables, files = datasets.names(), []
        with suppress(OSError):
            files = [str(path.parent / file.name) for file in path.parent.iterdir()]
        raise FileError(
            f"there is no file {str(path)!r}, nor a built-in table of that name ({listing(tables)})."
            f"{did_you_mean(str(path), [*files, *tables])}"
        ) from error
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def _read_columns(
    document: Document, name: str, asked: dict[str, list[str]]
) -> tuple[pd.DataFrame, dict[str, Inferred]]:
    for parameter, columns in asked.items():
        for column in columns:
            _find_column(column, parameter, name, document.names)
    dropped = {*asked["drop"], *document.index}
    kept = [column for column in document.names if column not in dropped]
    if not kept:
        raise InputError(f"drop leaves no column of {name!r}.", parameter="drop")
    kinds: dict[str, Kind] = dict.fromkeys(asked["categorical"], "category")
    kinds |= dict.fromkeys(asked["numeric"], "numeric")

    def read_column(name: str, expected: str = "") -> tuple[pd.Series, Inferred]:
        return document.column(document.names.index(name), kinds.get(name), expected)

    with ThreadPoolExecutor(min(len(kept), os.cpu_count() or 1)) as pool:
        found = dict(zip(kept, pool.map(read_column, kept), strict=True))
    signs = {inferred.decimal for _, inferred in found.values()} - {""}
    if len(signs) == 1:
        # Whether 1,234 and 1.234 are thousands is told by the decimal signs of other columns.
        (sign,) = signs
        doubtful = [
            name for name, (_, one) in found.items() if not one.decimal and (one.notes or sign == ",")
        ]
        found |= {name: read_column(name, sign) for name in doubtful}
    frame = pd.DataFrame({name: series for name, (series, _) in found.items()}, copy=False)
    return frame.reset_index(drop=True), {name: inferred for name, (_, inferred) in found.items()}


def _find_column(column: str, parameter: str, source: str, names: Sequence[str]) -> str:
    """Return a column that is among some names."""
    if column not in names:
        text = f"{parameter}={column!r} is not a column of {source!r}. It has {listing(names)}."
        raise ColumnError(text + did_you_mean(column, names), parameter=parameter)
    return column
