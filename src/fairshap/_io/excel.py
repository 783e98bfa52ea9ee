"""Excel workbooks: one sheet is read, and the workbook is written again with some of its cells changed."""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any
from zipfile import BadZipFile

import pandas as pd

from fairshap._frames import Kind, is_missing
from fairshap._io.cells import Style, read_cells
from fairshap._io.document import (
    Changes,
    Document,
    Inferred,
    cell_text,
    count_footers,
    find_header,
    tell_footers,
)
from fairshap._io.frames import texts_of, without_times
from fairshap._messages import did_you_mean, import_extra, listing
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError, InputError

# As many rows are looked at to find the names of the columns, and sums below the table.
_HEAD, _LAST = 60, 10


class ExcelDocument(Document):
    """A sheet of a workbook, by its values; formats and other sheets stay when it is written."""

    format = "excel"

    def __init__(
        self,
        raw: bytes,
        source: str,
        missing: frozenset[str],
        *,
        style: Style,
        sheet: str | None = None,
        header_row: int | None = None,
    ) -> None:
        self.raw, self.source, self.missing, self.style = raw, source, missing, style
        import_extra("openpyxl", "reading and writing Excel workbooks", "excel")
        with self._reading():
            book = pd.ExcelFile(io.BytesIO(raw), engine="openpyxl")
            self.sheet, cells = self._choose(book, sheet)
        self._read(cells, header_row)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with warnings.catch_warnings():
            # openpyxl tells of features that are not values.
            warnings.simplefilter("ignore")
            try:
                yield
            except (BadZipFile, KeyError, ValueError, TypeError, OSError, SyntaxError) as error:
                if isinstance(error, (InputError, FileFormatError)):
                    raise
                raise self.error(f"is not an Excel workbook that can be read: {error}") from error

    def _choose(self, book: Any, asked: str | None) -> tuple[str, pd.DataFrame]:
        """Return the sheet that was asked for, else the first that holds a table, and its cells."""
        names = [str(name) for name in book.sheet_names]
        if asked is not None and asked not in names and asked.isdigit() and 0 < int(asked) <= len(names):
            asked = names[int(asked) - 1]
        if asked is not None and asked not in names:
            raise InputError(
                f"sheet={asked!r} is not in {self.source!r}, which has {listing(names)}."
                f"{did_you_mean(asked, names)}",
                parameter="sheet",
            )
        found: tuple[str, pd.DataFrame] | None = None
        for name in names if asked is None else [asked]:
            cells = book.parse(name, header=None, dtype=object, keep_default_na=False, na_values=[""])
            # The labels still count the rows and columns that are empty.
            cells = cells.dropna(how="all").dropna(how="all", axis=1)
            found = found or (name, cells)
            if cells.shape[0] > 1 and cells.shape[1] > 1:
                found = name, cells
                break
        if found is None:
            raise self.error("has no sheet with cells.")
        if asked is None and len(names) > 1:
            others = listing((name for name in names if name != found[0]), limit=4)
            self.notes += (f"sheet {found[0]!r}, not {others} (--sheet)",)
        return found

    def _read(self, cells: pd.DataFrame, header_row: int | None) -> None:
        """Take the rows below the names; the index of the frame is where a row stands in the sheet."""
        if header_row is None:
            head = [[cell_text(cell) for cell in row] for row in cells.head(_HEAD).to_numpy()]
            first = find_header(head)
            if first:
                self.notes += (
                    f"the names of the columns are in row {cells.index[first] + 1} (--header-row)",
                )
        else:
            if header_row - 1 not in cells.index:
                raise InputError(
                    f"header_row={header_row} is no row of the sheet {self.sheet!r} with any cell; give the "
                    "row of the names, as Excel numbers it.",
                    parameter="header_row",
                )
            first = int(cells.index.get_loc(header_row - 1))  # type: ignore[arg-type]
        if len(cells) < first + 2:
            what = "has the names of columns and no rows" if len(cells) else "is empty"
            raise FileFormatError(f"the sheet {self.sheet!r} of {self.source!r} {what}.")
        names = [cell_text(cell) for cell in cells.iloc[first]]
        body = cells.iloc[first + 1 :]
        # A column of a title alone.
        kept = [bool(name.strip()) or bool(body.iloc[:, k].notna().any()) for k, name in enumerate(names)]
        body = body.loc[:, kept].dropna(how="all")
        last = [[cell_text(cell) for cell in row] for row in body.iloc[1:].tail(_LAST).to_numpy()]
        footers = count_footers(last, sum(kept))
        self.notes += tell_footers(footers)
        self.frame = body.iloc[: len(body) - footers]
        self.set_names(name for name, keep in zip(names, kept, strict=True) if keep)

    def column(self, position: int, asked: Kind | None, expected: str = "") -> tuple[pd.Series, Inferred]:
        """Return a column of numbers or dates as it is, and its texts as from a text file."""
        name, cells = self.names[position], self.frame.iloc[:, position]
        series = pd.Series(cells.tolist(), name=name)
        if series.dtype == object and series.notna().any():
            values = series.dropna()
            if values.map(lambda value: isinstance(value, datetime)).all():
                series = pd.to_datetime(series)
        is_numeric = pd.api.types.is_any_real_numeric_dtype(series) or series.dtype.kind == "M"
        if asked in (None, "numeric") and is_numeric and series.notna().any():
            return series, Inferred("numeric")
        place = lambda row: f"row {self.row_number(row)} of the sheet"  # noqa: E731
        how = self.missing, place, self.style, expected
        if asked == "category":
            return read_cells(texts_of(cells), name, asked, *how)
        series, inferred = read_cells(texts_of(cells.map(_exact)), name, asked, *how)
        if inferred.kind == "category":
            series, _ = read_cells(texts_of(cells), name, "category", *how)
        return series, inferred

    def row_number(self, row: int) -> int:
        """Return the number of a row in the sheet."""
        return int(self.frame.index[row]) + 1

    def to_bytes(self, changes: Changes) -> bytes:
        """Return the workbook with its formats and sheets; formulas have become their values."""
        from openpyxl import load_workbook

        with self._reading():
            book = load_workbook(io.BytesIO(self.raw), data_only=True)
        sheet = book[self.sheet]
        places: Ints = self.frame.index.to_numpy()
        columns = [int(label) + 1 for label in self.frame.columns]
        for row, column, origin, new in zip(
            changes.rows, changes.columns, changes.origins, changes.values, strict=True
        ):
            # Read from the frame, in which no cell has been changed yet.
            value = self.frame.iat[origin, column] if origin >= 0 else new
            cell = sheet.cell(int(places[row]) + 1, columns[column])
            cell.value = None if is_missing(value) else value
            if origin >= 0:
                cell.number_format = sheet.cell(int(places[origin]) + 1, columns[column]).number_format
            if cell.data_type == "f":
                # A text that begins with "=" is not to become a formula.
                cell.data_type = "s"
        file = io.BytesIO()
        book.save(file)
        return without_times(file.getvalue())


def _exact(cell: Any) -> Any:
    """Return a number with decimals as a text that has no decimal sign to guess: 1.125 is 1125e-3."""
    if not isinstance(cell, float) or not math.isfinite(cell) or cell.is_integer():
        return cell
    sign, digits, exponent = Decimal(repr(cell)).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{exponent}"
