"""Tables through pandas: built-in ones, Excel workbooks, and a frame as a file of any format."""

import io
import warnings
from typing import Any
from zipfile import BadZipFile

import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

from fairshap._frames import Kind, is_missing, open_store
from fairshap._io.document import Changes, Document, Inferred, Mark, cell_text, unique_names
from fairshap._io.formats import DELIMITERS, Format
from fairshap._io.kinds import read_cells
from fairshap.exceptions import FileFormatError, MissingExtraError


class FrameDocument(Document):
    """A built-in table, written as CSV unless the name of the output says otherwise."""

    format = "csv"

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.names = tuple(str(name) for name in frame.columns)

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column as it is, or as asked for."""
        series = self.frame.iloc[:, position]
        try:
            if asked == "category":
                series = series.astype("category")
            elif asked == "numeric":
                series = pd.to_numeric(series.astype(object))
        except (ValueError, TypeError) as error:
            raise FileFormatError(
                f"column {series.name!r} is to be numeric, but holds a cell that is no number: {error}.",
                parameter="numeric",
            ) from error
        return series, Inferred(asked or open_store(self.frame).kind(position))


class ExcelDocument(Document):
    """The first sheet of a workbook: its first row that is not empty holds the names."""

    format = "excel"

    def __init__(self, raw: bytes, source: str, missing: frozenset[str]) -> None:
        self.raw, self.source, self.missing = raw, source, missing
        # Of a formula, the value that it had when the workbook was saved.
        sheets = _open(raw, source, data_only=True).worksheets
        if not sheets:
            raise FileFormatError(f"{source!r} has no sheet of cells.")
        sheet = pd.DataFrame(list(sheets[0].values), dtype=object)
        sheet = sheet.dropna(how="all").dropna(how="all", axis=1)
        if sheet.empty:
            raise FileFormatError(f"the first sheet of {source!r} is empty.")
        header, self.cells = sheet.iloc[0], sheet.iloc[1:]
        self.names = unique_names([cell_text(name) for name in header], source)
        if self.cells.empty:
            raise FileFormatError(f"the first sheet of {source!r} has the names of columns and no rows.")

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column: numbers and dates as such, anything with text in it as from a text file."""
        cells, name = self.cells.iloc[:, position].tolist(), self.names[position]
        series = pd.Series(cells, name=name)
        if series.dtype.kind in "iufM" and asked != "category" and series.notna().any():
            return series, Inferred("numeric")
        texts = pa.chunked_array([pa.array([cell_text(cell) for cell in cells], pa.string())])
        place = lambda row: f"row {self.cells.index[row] + 1} of the sheet"  # noqa: E731
        return read_cells(texts, name, asked, self.missing, place)

    def to_bytes(self, changes: Changes, mark: Mark | None) -> bytes:  # noqa: ARG002
        """Return the workbook with some values changed; formulas, formats and other sheets stay."""
        workbook = _open(self.raw, self.source, data_only=False)
        for row, column, origin, new in zip(
            changes.rows, changes.columns, changes.origins, changes.values, strict=True
        ):
            value = self.cells.iat[origin, column] if origin >= 0 else new
            cell = workbook.worksheets[0].cell(self.cells.index[row] + 1, self.cells.columns[column] + 1)
            try:
                cell.value = None if is_missing(value) else value
            except AttributeError as error:
                raise FileFormatError(
                    f"{cell.coordinate} in the first sheet of {self.source!r} is merged with other cells and "
                    "cannot be edited; take the cells apart."
                ) from error
            if isinstance(value, str):
                # A text that begins with "=" is not to become a formula.
                cell.data_type = "s"
        file = io.BytesIO()
        workbook.save(file)
        return file.getvalue()


def _open(raw: bytes, source: str, *, data_only: bool) -> Any:
    """Return a workbook with the values of its formulas, or with the formulas."""
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


def frame_to_bytes(frame: pd.DataFrame, format: Format, mark: Mark | None) -> bytes:  # noqa: A002
    """Return a frame, without its index, as a file of any format; with a mark where there is a place."""
    file = io.BytesIO()
    if format in DELIMITERS:
        frame.to_csv(file, sep=DELIMITERS[format], index=False, lineterminator="\n")
    elif format == "excel":
        rows, columns = frame.shape
        if rows + 1 > 2**20 or columns > 2**14:
            raise FileFormatError(
                f"{rows} rows and {columns} columns do not fit into a sheet of Excel; write CSV or Parquet."
            )
        try:
            frame.to_excel(file, index=False, engine="openpyxl")
        except ImportError as error:
            raise MissingExtraError("reading and writing Excel workbooks", "openpyxl", "excel") from error
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table if mark is None else mark.put_on(table)
        (parquet.write_table if format == "parquet" else feather.write_feather)(table, file)
    return file.getvalue()
