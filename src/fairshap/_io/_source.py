"""A table that was read from a file, and can be written again with edits."""

import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd

from fairshap._frames import open_store
from fairshap._io._arrow import ArrowDocument
from fairshap._io._atomic import write_atomically
from fairshap._io._document import Changes, Document, Inferred
from fairshap._io._formats import (
    DELIMITERS,
    Format,
    check_format,
    compression_of,
    extension_of,
    format_of,
)
from fairshap._io._frames import change_frame, write_frame
from fairshap._io._marks import Mark
from fairshap._io._text import TextDocument
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Ints
from fairshap.datasets import Dataset
from fairshap.edits import Edits
from fairshap.edits._ledger import same_value
from fairshap.exceptions import ColumnError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Source:
    """A table with the file that it comes from; :func:`read` makes it.

    Parameters
    ----------
    name : str
        What was given to :func:`read`.
    path : Path or None
        The file; None for standard input and a built-in table.
    format : {"csv", "tsv", "parquet", "feather", "excel"}
        The format of the file; for a built-in table the one that it is written in.
    checksum : str
        The SHA-256 of the file's bytes, as they are on the disk.
    frame : pandas.DataFrame
        The table without the columns that were dropped; numbers, dates and booleans as such, text as
        categories. Its rows are numbered from 0.
    inferred : mapping of str to Inferred
        What each column of the frame was taken for, and why.
    dataset : Dataset or None
        The built-in table, with its sensitive column, if it is one.
    document : Document
        The content of the file.
    """

    name: str
    path: Path | None
    format: Format
    checksum: str
    frame: pd.DataFrame
    inferred: Mapping[str, Inferred]
    dataset: Dataset | None
    document: Document

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"Source({self.name!r}: {rows} rows, {columns} columns, {self.format})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns of the file, dropped ones too."""
        return self.document.names

    def find(self, column: str, what: str = "column") -> str:
        """Return the name of a column of the frame; ``what`` says in an error who asked for it.

        Raises
        ------
        ColumnError
            If there is none of that name; the text names the nearest.
        """
        if column in self.frame.columns:
            return column
        if column in self.columns:
            raise ColumnError(f"{what}={column!r} is a column of {self.name!r} that is left out by drop.")
        raise missing_column(column, what, self.name, list(self.frame.columns))

    def table(self) -> pd.DataFrame:
        """Return one line for each column of the frame: column, kind, why, missing, note."""
        fields = ("kind", "why", "missing", "note")
        lines = [{"column": name, **{f: getattr(i, f) for f in fields}} for name, i in self.inferred.items()]
        return pd.DataFrame(lines, columns=["column", *fields])

    @property
    def mark(self) -> Mark | None:
        """What the file says of a repair that it comes from; None if it says nothing."""
        return self.document.mark

    def write(
        self,
        path: str | os.PathLike[str],
        edits: Edits | None = None,
        *,
        format: str | None = None,  # noqa: A002
        force: bool = False,
        mark: Mark | None = None,
    ) -> None:
        """Write the table with edits made and every other cell as it was read.

        In the format of the source, CSV and TSV files keep every byte of what is not edited, Parquet and
        Feather files their schema and metadata, Excel workbooks their values and other sheets. An edited cell
        gets what the cell of its reference row holds in the file: ``007`` stays ``007``. In another format
        the values are written.

        The file is written beside its place and renamed into it.

        Parameters
        ----------
        path : path-like
            Where to; ``-`` is standard output. Its ending says the format and how it is compressed.
        edits : Edits, optional
            The ledger, whose rows are those of ``frame``; without it nothing is changed.
        format : str, optional
            The format, if the ending does not say it.
        force : bool, default=False
            Whether a file that is there may be replaced. The file that was read never is.
        mark : Mark, optional
            What a Parquet or Feather file says of the repair, in its schema's metadata. Other formats have no
            place for it.
        """
        self.save(path, self.to_bytes(path, edits, format=format, mark=mark), force=force)

    def to_bytes(
        self,
        path: str | os.PathLike[str],
        edits: Edits | None = None,
        *,
        format: str | None = None,  # noqa: A002
        mark: Mark | None = None,
    ) -> bytes:
        """Return the file that :meth:`write` writes."""
        changes = self._changes(edits)
        content = io.BytesIO()
        self._write_as(content, self.format_for(path, format), changes, mark)
        compression = None if os.fspath(path) == "-" else compression_of(Path(path))
        return content.getvalue() if compression is None else compression.compress(content.getvalue())

    def save(self, path: str | os.PathLike[str], content: bytes, *, force: bool = False) -> None:
        """Write what :meth:`to_bytes` returned."""
        if os.fspath(path) == "-":
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            write_atomically(path, lambda file: file.write(content), force=force, source=self.path)

    def format_for(self, path: str | os.PathLike[str], format: str | None = None) -> Format:  # noqa: A002
        """Return the format in which the table is written to a path; ``format`` if the path does not say."""
        if format is not None:
            return check_format(format)
        if os.fspath(path) == "-":
            return self.format
        # The ending of a file whose format was said when it was read stands for that format.
        own = {} if self.path is None else {extension_of(self.path): self.format}
        return format_of(Path(path), own)

    def _write_as(self, file: BinaryIO, form: Format, changes: Changes, mark: Mark | None) -> None:
        if form != self.format:
            if isinstance(self.document, TextDocument) and form in DELIMITERS:
                self.document.write_delimited(file, changes, DELIMITERS[form])
            else:
                write_frame(self._changed_frame(changes), file, form, mark)
        elif isinstance(self.document, ArrowDocument):
            self.document.write(file, changes, mark)
        else:
            self.document.write(file, changes)

    def _changed_frame(self, changes: Changes) -> pd.DataFrame:
        """Return all columns, dropped ones too, with the changes made."""
        columns = {
            name: self.frame[name] if name in self.frame else self.document.column(position, None)[0]
            for position, name in enumerate(self.columns)
        }
        return change_frame(pd.DataFrame(columns, copy=False), changes)

    def _changes(self, edits: Edits | None) -> Changes:
        """Return what the ledger changes, having made sure that it belongs to this table."""
        if edits is None or not len(edits):
            return Changes.none()
        touched = list(dict.fromkeys(edits.column))
        known = [name for name in touched if name in self.frame.columns]
        # Raises if a row, a column or an old value is not there, or a new one does not fit.
        edits.apply(self.frame[known] if len(known) == len(touched) else self.frame)
        position = {name: k for k, name in enumerate(self.columns)}
        columns = np.array([position[str(name)] for name in edits.column], dtype=np.int64)
        # Of several edits of one cell the last counts.
        last = {cell: k for k, cell in enumerate(zip(edits.row.tolist(), columns.tolist(), strict=True))}
        kept = np.array(sorted(last.values()), dtype=np.int64)
        origins = self._origins(edits)
        return Changes(edits.row[kept], columns[kept], origins[kept], [edits.new[k] for k in kept])

    def _origins(self, edits: Edits) -> Ints:
        """Return the reference row of each edit, -1 where it does not hold the new value."""
        origins = np.full(len(edits), -1, dtype=np.int64)
        names = np.array(edits.column, dtype=object)
        there = (edits.reference >= 0) & (edits.reference < len(self.frame))
        for name in dict.fromkeys(edits.column):
            chosen = np.flatnonzero((names == name) & there)
            store = open_store(self.frame[[name]])
            found = store.values(0, edits.reference[chosen])
            for k, value in zip(chosen, found, strict=True):
                if same_value(value, edits.new[k]):
                    origins[k] = edits.reference[k]
        return origins


def missing_column(column: str, what: str, source: str, names: list[str]) -> ColumnError:
    """Return the error for a column that is not there."""
    return ColumnError(
        f"{what}={column!r} is not a column of {source!r}. It has {listing(names)}."
        f"{did_you_mean(column, names)}"
    )
