"""The ledger: every edit, with why, and the file that it is written to."""

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairshap._display import MAX_LINES, edits_table, panel, table
from fairshap._files import write_atomically
from fairshap._frames import Library, Table, is_missing, make_frame, open_store
from fairshap._problem import Problem
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError, LedgerError

_FIELDS = ["row", "index", "column", "old", "new", "phi", "reference"]
#: The fields whose types a file must keep.
_TYPED = ["index", "column", "old", "new"]
_HEADER = [*_FIELDS, *(f"{name}_type" for name in _TYPED)]
#: More columns of a ledger that knows its files. One line has them; the others would only repeat them.
_CHECKSUMS = ["original_sha256", "repaired_sha256"]
_FULL_HEADER = [*_HEADER, *_CHECKSUMS]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Edits:
    """All edits of a table: which cell, its old and new value, why, and from which reference.

    Parameters
    ----------
    row, reference : ndarray of int, shape (edits,)
        The positions of the row, and of the one that the new value comes from.
    index, column : list
        The label of the row in the frame's index, and the name of the column; positions where there are none.
    old, new : list
        The two values.
    phi : ndarray of float, shape (edits,)
        The attribution of the player that the column belongs to.
    library : str
        The library of the frame that :meth:`frame` returns.

    Examples
    --------
    >>> from fairshap import FairSHAP, datasets
    >>> d = datasets.make_biased(200, random_state=0)
    >>> fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> X_fair, _ = fs.fit_resample(d.X, d.y)
    >>> fs.edits_.frame().columns.tolist()
    ['row', 'index', 'column', 'old', 'new', 'phi', 'reference']
    >>> fs.edits_.apply(d.X).equals(X_fair)
    True
    """

    row: Ints
    index: list[Any]
    column: list[Hashable]
    old: list[Any]
    new: list[Any]
    phi: Floats
    reference: Ints
    library: Library = "pandas"

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        rows, columns = len(np.unique(self.row)), len(set(self.column))
        return f"Edits({len(self)} cells in {rows} rows and {columns} columns)"

    def _repr_html_(self) -> str:
        counts = dict(Counter(self.column).most_common())
        facts = {"cells": len(self), "rows": len(np.unique(self.row)), "columns": len(counts)}
        shown = ("index", "column", "old", "new", "phi", "reference")
        head = {name: list(getattr(self, name)[: MAX_LINES // 2]) for name in shown}
        return panel("Edits", facts, edits_table(counts), table(head, total=len(self)))

    @classmethod
    def of_cells(cls, problem: Problem, row: Ints, column: Ints, reference: Ints, phi: Floats) -> "Edits":
        """Return the edits that replace single cells by those of references, rows of the problem's table."""
        own, pool = problem.own, problem.table
        old, new = (_read_cells(pool, column, positions) for positions in (row, reference))
        return cls(
            row=row,
            index=own.store.labels(row),
            column=[own.names[j] for j in column],
            old=old,
            new=new,
            phi=phi,
            reference=problem.numbers_of(reference),
            library=own.store.library,
        )

    @classmethod
    def together(cls, *ledgers: "Edits") -> "Edits":
        """Return several ledgers of one table, no two of which edit the same cell, as one."""
        order = np.argsort(np.concatenate([ledger.row for ledger in ledgers]), kind="stable")
        joined: dict[str, Any] = {}
        for name in _FIELDS:
            parts = [getattr(ledger, name) for ledger in ledgers]
            if name in _TYPED:
                values = list(chain(*parts))
                joined[name] = [values[k] for k in order]
            else:
                joined[name] = np.concatenate(parts)[order]
        return cls(**joined, library=ledgers[0].library)

    def frame(self) -> Native:
        """Return one line for each edit: row, index, column, old, new, phi, reference.

        In pandas ``old`` and ``new`` keep each cell's own type; elsewhere they are text.
        """
        return make_frame(self.library, {name: getattr(self, name) for name in _FIELDS}, _TYPED)

    def apply(self, X: Native) -> Native:
        """Return a copy of X with every edit made; X itself is not changed.

        X must be the table that the edits were made for: a row, a column, an index label or an old
        value that is not there is an error. (Rows that are merely numbered may have had labels.)
        """
        store = open_store(X)
        try:
            columns = np.array([store.position(name) for name in self.column], dtype=np.int64)
        except ValueError as error:
            raise LedgerError(f"the ledger edits a column that is not there: {error}") from error
        outside = self.row[(self.row < 0) | (self.row >= store.n_rows)]
        if len(outside):
            raise LedgerError(
                f"the ledger edits row {int(outside[0])}, X has {store.n_rows} rows; "
                "is it the table that the ledger was made for?"
            )
        for row, found, expected in zip(self.row, store.labels(self.row), self.index, strict=True):
            # A table without labels of its own may have had some.
            if found != row and not same_value(found, expected):
                raise LedgerError(
                    f"row {row} has the index label {found!r}; in the ledger it has {expected!r}. Is it the "
                    "table that the ledger was made for, in the same order?"
                )
        cells = {}
        for column in np.unique(columns).tolist():
            chosen = np.flatnonzero(columns == column)
            rows = self.row[chosen]
            for k, found in zip(chosen, store.values(column, rows), strict=True):
                if not same_value(found, self.old[k]):
                    raise LedgerError(
                        f"row {int(self.row[k])}, column {self.column[k]!r} holds {found!r}; the ledger "
                        f"expects {self.old[k]!r}. Is it the table that the ledger was made for?"
                    )
            cells[column] = (rows, [self.new[k] for k in chosen])
        try:
            edited = store.assign(cells)
        except (TypeError, ValueError, OverflowError) as error:
            raise LedgerError(f"X cannot hold a new value of the ledger: {error}", parameter="X") from error
        written = open_store(edited)
        for column, (rows, values) in cells.items():
            # A column's type may have cut or rounded a new value.
            for row, found, new in zip(rows, written.values(column, rows), values, strict=True):
                if not same_value(found, new):
                    raise LedgerError(
                        f"row {row}, column {store.names[column]!r} cannot hold {new!r}, which became "
                        f"{found!r}; widen the column's type."
                    )
        return edited

    def write(
        self, path: str | os.PathLike[str], *, original: str | None = None, repaired: str | None = None
    ) -> None:
        """Write the ledger as CSV, aside and then renamed.

        It has the columns of :meth:`frame`, and the types of those that must keep them: ``index_type``,
        ``column_type``, ``old_type``, ``new_type``.

        Parameters
        ----------
        path : path-like
            The file.
        original, repaired : str, optional
            The SHA-256, in hexadecimal, of the table's file before the edits and with them made, for
            ``original_sha256`` and ``repaired_sha256`` of the first line: by them ``fairshap audit`` knows a
            repaired file that cannot say so itself, such as a CSV.
        """
        content = self.to_bytes(original=original, repaired=repaired)
        write_atomically(path, lambda file: file.write(content), force=True)

    def to_bytes(self, *, original: str | None = None, repaired: str | None = None) -> bytes:
        """Return the file that :meth:`write` writes."""
        checksums = _check_checksums(original=original, repaired=repaired)
        return header_of(checksums) + self.lines(checksums)

    def lines(self, checksums: Sequence[str] = (), start: int = 0, stop: int | None = None) -> bytes:
        """Return lines of the file; the first one has the checksums."""
        rows = []
        for k in range(start, len(self) if stop is None else stop):
            kinds, texts = zip(*(to_text(getattr(self, name)[k]) for name in _TYPED), strict=True)
            plain = repr(float(self.phi[k])), int(self.reference[k])
            rows.append([int(self.row[k]), *texts, *plain, *kinds, *checksums])
            checksums = [""] * len(checksums)
        return _to_csv(rows)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Edits":
        """Return the ledger that :meth:`write` wrote; its :meth:`frame` is a pandas one."""
        lines = _read_lines(Path(path))
        try:
            fields: dict[str, Any] = {
                name: [from_text(line[f"{name}_type"], line[name]) for line in lines] for name in _TYPED
            }
            return cls(
                row=np.array([int(line["row"]) for line in lines], dtype=np.int64),
                phi=np.array([float(line["phi"]) for line in lines], dtype=np.float64),
                reference=np.array([int(line["reference"]) for line in lines], dtype=np.int64),
                **fields,
            )
        except (TypeError, ValueError) as error:
            raise LedgerError(f"{os.fspath(path)!r} is damaged: {error}") from error


def header_of(checksums: Sequence[str]) -> bytes:
    """Return the first line of a ledger, which may have checksums."""
    return _to_csv([_FULL_HEADER if checksums else _HEADER])


def _to_csv(rows: list[list[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", errors="surrogatepass")


@dataclass(frozen=True, slots=True)
class Checksums:
    """The SHA-256 of the files that a ledger belongs to, empty where it does not say it."""

    original: str
    repaired: str
    n_edits: int

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Checksums":
        """Return what a ledger says of its files."""
        lines = _read_lines(Path(path))
        # A ledger that somebody sorted has them further down.
        original, repaired = (
            next((line[name] for line in lines if line.get(name)), "") for name in _CHECKSUMS
        )
        return cls(original, repaired, len(lines))


def _read_lines(path: Path) -> list[dict[str, str]]:
    """Return the lines of a ledger's file by the names of its columns; of another file, one line is read."""
    # A cell may be longer than the 131,072 characters that csv reads by default.
    limit = csv.field_size_limit(2**31 - 1)
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="surrogatepass") as file:
            reader = csv.DictReader(file)
            if list(reader.fieldnames or []) in (_HEADER, _FULL_HEADER):
                return list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise LedgerError(f"{os.fspath(path)!r} is not a ledger of fairshap: {error}.") from error
    finally:
        csv.field_size_limit(limit)
    raise LedgerError(
        f"{os.fspath(path)!r} is not a ledger of fairshap: its first line is not {','.join(_HEADER)}."
    )


def _check_checksums(**given: str | None) -> list[str]:
    """Return the checksums as a line of a ledger has them; an empty list if none is given."""
    for name, checksum in given.items():
        if checksum is not None and not re.fullmatch("[0-9a-f]{64}", checksum):
            raise InputError(
                f"{name}={checksum!r} is not a SHA-256 in hexadecimal; give that of the file, such as "
                "hashlib.sha256(content).hexdigest().",
                parameter=name,
            )
    return [checksum or "" for checksum in given.values()] if any(given.values()) else []


def same_value(found: Any, expected: Any) -> bool:
    """Say whether two cells hold the same value; two missing ones do."""
    if is_missing(found) or is_missing(expected):
        return is_missing(found) and is_missing(expected)
    return bool(found == expected)


def _read_cells(pool: Table, columns: Ints, rows: Ints) -> list[Any]:
    """Return single cells as Python objects, read column by column."""
    cells: list[Any] = [None] * len(rows)
    for column in np.unique(columns).tolist():
        chosen = np.flatnonzero(columns == column)
        for k, cell in zip(chosen, pool.store.values(column, rows[chosen]), strict=True):
            cells[k] = cell
    return cells


def to_text(value: Any) -> tuple[str, str]:
    """Return the name of a cell's type and its text: 7 is ("int", "7"), "007" is ("str", "007")."""
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    elif isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    elif isinstance(value, np.generic):
        value = value.item()
    # NaN is a number like others here: it is written, and read, as one.
    if is_missing(value) and not isinstance(value, float):
        return "missing", ""
    for kind, (write, _) in _TYPES.items():
        if isinstance(value, kind):
            return kind.__name__, write(value)
    raise LedgerError(
        f"a cell of type {type(value).__name__} ({value!r}) cannot be written to a ledger; "
        "it takes text, numbers, booleans, dates and missing values."
    )


def from_text(kind: str, text: str) -> Any:
    """Return the cell that :func:`to_text` wrote."""
    try:
        return _READERS[kind](text)
    except (KeyError, ValueError, TypeError, ArithmeticError) as error:
        raise LedgerError(f"{text!r} is not a value of type {kind!r}.") from error


def _read_tuple(text: str) -> tuple[Any, ...]:
    return tuple(from_text(*item) for item in json.loads(text))


#: How cells of each type are written and read. Of a type and one derived from it, the latter comes first.
_TYPES: dict[type, tuple[Any, Any]] = {
    str: (str, str),
    bool: (str, {"True": True, "False": False}.__getitem__),
    int: (str, int),
    float: (repr, float),
    Decimal: (str, Decimal),
    datetime: (lambda value: value.isoformat(), pd.Timestamp),
    timedelta: (lambda value: pd.Timedelta(value).isoformat(), pd.Timedelta),
    date: (date.isoformat, date.fromisoformat),
    time: (time.isoformat, time.fromisoformat),
    tuple: (lambda value: json.dumps([to_text(item) for item in value]), _read_tuple),
    pd.Interval: (
        lambda value: to_text((value.left, value.right, value.closed))[1],
        lambda text: pd.Interval(*_read_tuple(text)),
    ),
}
_READERS = {kind.__name__: read for kind, (_, read) in _TYPES.items()} | {"missing": lambda _: None}
