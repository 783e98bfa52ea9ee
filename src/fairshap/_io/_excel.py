"""Excel workbooks: the values of the first sheet; other sheets stay."""

import io
import warnings
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from fairshap._frames import Kind, is_missing
from fairshap._io._document import Changes, Document, Inferred, unique_names
from fairshap._io._kinds import read_cells
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError, MissingExtraError


class ExcelDocument(Document):
    """The first sheet of a workbook: its first row that is not empty holds the names.

    Parameters
    ----------
    raw : bytes
        The workbook.
    source : str
        What errors call it.
    missing : frozenset of str
        Texts that mean that a cell is missing.
    """

    format = "excel"

    def __init__(self, raw: bytes, source: str, missing: frozenset[str]) -> None:
        self.raw = raw
        self.source = source
        self.missing = missing
        # Of a formula, the value that it had when the workbook was saved.
        sheets = _open(raw, source, data_only=True).worksheets
        if not sheets:
            raise FileFormatError(f"{source!r} has no sheet of cells.")
        sheet = sheets[0]
        lines = [list(line) for line in sheet.iter_rows(values_only=True)]
        filled = [at for at, line in enumerate(lines) if any(cell is not None for cell in line)]
        if not filled:
            raise FileFormatError(f"the first sheet of {source!r} is empty.")
        #: The rows and columns of the sheet, counted from 1, in which the table stands.
        self.lines: Ints = np.array(filled[1:], dtype=np.int64) + 1
        used = [j for j in range(len(lines[0])) if any(lines[at][j] is not None for at in filled)]
        self.places: Ints = np.array(used, dtype=np.int64) + 1
        header = [lines[filled[0]][j] for j in used]
        self.names = unique_names(["" if name is None else str(name) for name in header], source)
        self.n_rows = len(self.lines)
        if not self.n_rows:
            raise FileFormatError(f"the first sheet of {source!r} has the names of columns and no rows.")
        self.cells = [[lines[at][j] for at in filled[1:]] for j in used]

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column: numbers and dates as such, anything with text in it as from a text file."""
        cells, name = self.cells[position], self.names[position]
        present = [cell for cell in cells if cell is not None]
        if asked != "category":
            for types, what in (((int, float), "numbers"), ((datetime, date), "dates")):
                if present and all(isinstance(cell, types) and type(cell) is not bool for cell in present):
                    series = _to_series(cells, name, what)
                    why = "as asked" if asked else f"{what} in the sheet"
                    return series, Inferred("numeric", why, len(cells) - len(present))
        texts = pa.chunked_array([pa.array([_text(cell) for cell in cells], pa.string())])
        return read_cells(texts, name, asked, self.missing, lambda row: f"row {self.lines[row]} of the sheet")

    def write(self, file: BinaryIO, changes: Changes) -> None:
        """Write the workbook with some values changed; formulas and formats elsewhere stay."""
        workbook = _open(self.raw, self.source, data_only=False)
        sheet = workbook.worksheets[0]
        for k, (row, column, origin) in enumerate(
            zip(changes.rows, changes.columns, changes.origins, strict=True)
        ):
            value = self.cells[column][origin] if origin >= 0 else _plain(changes.values[k])
            cell = sheet.cell(int(self.lines[row]), int(self.places[column]))
            try:
                cell.value = value
            except AttributeError as error:
                raise FileFormatError(
                    f"{cell.coordinate} in the first sheet of {self.source!r} is merged with other cells and "
                    "cannot be edited; take the cells apart."
                ) from error
            if isinstance(value, str):
                # A text that begins with "=" is not to become a formula.
                cell.data_type = "s"
        # Whole: a zip file that fails in the middle tries to write its end again when it is thrown away.
        whole = io.BytesIO()
        workbook.save(whole)
        file.write(whole.getvalue())


def _open(raw: bytes, source: str, *, data_only: bool) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("reading and writing Excel workbooks", "openpyxl", "excel") from error
    with warnings.catch_warnings():
        # It tells of features that are not values.
        warnings.simplefilter("ignore")
        try:
            is_macro = not data_only and b"vbaProject.bin" in raw
            return openpyxl.load_workbook(io.BytesIO(raw), data_only=data_only, keep_vba=is_macro)
        except (BadZipFile, KeyError, ValueError, TypeError, OSError, SyntaxError) as error:
            raise FileFormatError(f"{source!r} is not an Excel workbook that can be read: {error}") from error


def _to_series(cells: Sequence[Any], name: str, what: str) -> pd.Series:
    if what == "dates":
        return pd.Series(pd.to_datetime(pd.Series(cells, dtype=object)).array, name=name)
    if all(type(cell) is int and abs(cell) <= 2**53 for cell in cells):
        return pd.Series(np.array(cells, dtype=np.int64), name=name)
    return pd.Series(
        np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64), name=name
    )


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _plain(value: Any) -> Any:
    """Return a value as a sheet can hold it."""
    if is_missing(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime()
    return value.item() if isinstance(value, np.generic) else value
