"""Frames that come from no file, and how a frame becomes a file of any format."""

import io
from typing import BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

from fairshap._frames import Kind, Table, is_missing, open_store
from fairshap._io._document import Changes, Document, Inferred
from fairshap._io._formats import DELIMITERS, Format
from fairshap._io._marks import Mark
from fairshap.exceptions import FileFormatError, MissingExtraError

# What a sheet of Excel can hold.
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384


class FrameDocument(Document):
    """A built-in table, written as CSV unless the name of the output says otherwise."""

    format = "csv"

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.names = tuple(str(name) for name in frame.columns)
        self.n_rows = len(frame)

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column as it is, or as asked for."""
        series = self.frame.iloc[:, position]
        kind = asked or open_store(self.frame).kind(position)
        if asked == "category":
            series = series.astype("category")
        elif asked == "numeric" and not Table.read(series.to_frame()).is_numeric(0):
            try:
                series = pd.to_numeric(series.astype(object))
            except (ValueError, TypeError) as error:
                raise FileFormatError(
                    f"column {series.name!r} is to be numeric, but holds a cell that is no number: {error}."
                ) from error
        why = "as asked" if asked else "as the built-in table says"
        return series, Inferred(kind, why, int(series.isna().sum()))

    def write(self, file: BinaryIO, changes: Changes) -> None:
        """Write the table as CSV."""
        write_frame(change_frame(self.frame, changes), file, self.format)


def change_frame(frame: pd.DataFrame, changes: Changes) -> pd.DataFrame:
    """Return a copy of a frame with some cells changed."""
    cells = {}
    for column in np.unique(changes.columns).tolist():
        part = changes.of_column(column)
        cells[column] = (part.rows, part.values)
    changed: pd.DataFrame = open_store(frame).assign(cells)
    return changed


def write_frame(
    frame: pd.DataFrame,
    file: BinaryIO,
    format: Format,  # noqa: A002
    mark: Mark | None = None,
) -> None:
    """Write a frame, without its index, in any format; with a mark where the format has a place for it."""
    if format in DELIMITERS:
        frame.to_csv(file, sep=DELIMITERS[format], index=False, lineterminator="\n")
        return
    if format == "excel":
        _write_excel(frame, file)
        return
    table = pa.Table.from_pandas(_storable(frame), preserve_index=False)
    table = table if mark is None else mark.put_on(table)
    (parquet.write_table if format == "parquet" else feather.write_feather)(table, file)


def _write_excel(frame: pd.DataFrame, file: BinaryIO) -> None:
    rows, columns = frame.shape
    if rows >= _MOST_ROWS or columns > _MOST_COLUMNS:
        raise FileFormatError(
            f"{rows} rows and {columns} columns do not fit into a sheet of Excel; write CSV or Parquet."
        )
    whole = io.BytesIO()
    try:
        frame.to_excel(whole, index=False, engine="openpyxl")
    except ImportError as error:
        raise MissingExtraError("reading and writing Excel workbooks", "openpyxl", "excel") from error
    file.write(whole.getvalue())


def _storable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame without columns of several types, which arrow has no type for: they become text."""
    frame = frame.copy(deep=False)
    for name in frame.columns:
        cells = frame[name]
        if cells.dtype == object and len({type(cell) for cell in cells if not is_missing(cell)}) > 1:
            frame[name] = [None if is_missing(cell) else str(cell) for cell in cells]
    return frame
