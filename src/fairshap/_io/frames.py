"""Tables of typed columns: Parquet, Feather and Arrow files, Excel workbooks, built-in ones, any frame."""

import io
import re
import warnings
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, parquet

from fairshap._frames import Kind, is_missing, open_store
from fairshap._io.document import DELIMITERS, Changes, Document, Format, Inferred, Mark, cell_text
from fairshap._io.kinds import no_value, read_cells
from fairshap._messages import import_extra
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError


class ArrowDocument(Document):
    """A Parquet, Feather or Arrow file: its schema stays, only changed columns are built anew."""

    def __init__(self, raw: bytes, source: str, format: Format) -> None:  # noqa: A002
        self.source, self.format = source, format
        try:
            buffer = pa.BufferReader(raw)
            if format == "parquet":
                file = parquet.ParquetFile(buffer)
                self.table = file.read()
            else:
                self.table = feather.read_table(buffer)
        except (pa.ArrowException, OSError) as error:
            what = "a Parquet" if format == "parquet" else "a Feather or Arrow"
            raise self.error(f"is not {what} file that can be read: {error}") from error
        self.set_names(self.table.column_names)
        self.mark = Mark.of(self.table)
        # The columns in which pandas keeps an index without a name.
        self.index = tuple(name for name in self.names if re.fullmatch(r"__index_level_\d+__", name))
        if not self.table.num_rows or not self.names:
            rows, columns = self.table.shape
            raise self.error(f"holds {rows} rows and {columns} columns: no table.")
        self.options = _parquet_options(file.metadata.row_group(0)) if format == "parquet" else {}

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column as pandas has it, text as categories."""
        name, cells = self.names[position], self.table.column(position)
        try:
            return _to_pandas(cells, name, asked)
        except pa.ArrowException as error:
            raise FileFormatError(
                f"column {name!r} of type {cells.type} cannot be read ({error}); leave it out with drop.",
                parameter="drop",
            ) from error

    def to_bytes(self, changes: Changes, mark: Mark | None) -> bytes:
        """Return the file with its schema and metadata, to which a mark is added."""
        table = self.table
        for column in np.unique(changes.columns).tolist():
            cells = _change(table.select([column]), changes, np.flatnonzero(changes.columns == column))
            table = table.set_column(column, table.schema.field(column), cells)
        return _arrow_bytes(table, self.format, mark, **self.options)


def _arrow_bytes(table: Any, format: Format, mark: Mark | None, **options: Any) -> bytes:  # noqa: A002
    """Return a pyarrow table as a file, with a mark in its metadata."""
    file = io.BytesIO()
    write = parquet.write_table if format == "parquet" else feather.write_feather
    write(table if mark is None else mark.put_on(table), file, **options)
    return file.getvalue()


def _parquet_options(group: Any) -> dict[str, Any]:
    """Return how a row group was written: its size, and how its columns are compressed."""
    columns = [group.column(k) for k in range(group.num_columns)]
    codecs = {column.path_in_schema: column.compression.replace("UNCOMPRESSED", "NONE") for column in columns}
    return {
        "row_group_size": group.num_rows,
        "compression": codecs,
        "use_deprecated_int96_timestamps": any(column.physical_type == "INT96" for column in columns),
    }


def _to_pandas(cells: Any, name: str, asked: Kind | None) -> tuple[pd.Series, Inferred]:
    if cells.null_count == len(cells):
        raise no_value(name)
    kind, plain = _kind(cells)
    if asked == "numeric" and kind == "category":
        plain = cells.cast(pa.int8()) if pa.types.is_boolean(cells.type) else cells
        texts = plain.cast(pa.string()).fill_null("")
        return read_cells(texts, name, asked, frozenset([""]), lambda row: f"row {row}")
    is_text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
    if pa.types.is_dictionary(plain.type) or not (asked == "category" or is_text):
        series = plain.unify_dictionaries().to_pandas(date_as_object=False)
    else:
        categories = plain.dictionary_encode().unify_dictionaries().to_pandas().cat
        series = categories.reorder_categories(sorted(categories.categories))
    return series.rename(name), Inferred(asked or kind)


def _kind(cells: Any) -> tuple[Kind, Any]:
    """Return how a column's values are compared, and the column in a type that pandas has."""
    kind = cells.type
    if pa.types.is_string_view(kind):
        return "category", cells.cast(pa.large_string())
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return "numeric", cells.cast(pa.float64())
    if pa.types.is_integer(kind) and cells.null_count:
        limits = pc.min_max(cells).as_py()
        if max(abs(limits["min"]), abs(limits["max"])) > 2**53:
            # pandas would round them, to have a place for the missing ones.
            return "category", cells.dictionary_encode()
    names = ("integer", "floating", "date", "timestamp", "duration")
    is_numeric = any(getattr(pa.types, f"is_{name}")(kind) for name in names)
    return ("numeric" if is_numeric else "category"), cells


def _change(table: Any, changes: Changes, chosen: Ints) -> Any:
    """Return the one column of a table with some cells copied from other rows and some set."""
    name, kind = table.column_names[0], table.schema.field(0).type
    source = np.arange(table.num_rows)
    copied, given = chosen[changes.origins[chosen] >= 0], chosen[changes.origins[chosen] < 0]
    source[changes.rows[copied]] = changes.origins[copied]
    values = [changes.values[k] for k in given]
    if pa.types.is_integer(kind):
        # A column with missing cells came as floats.
        values = [int(one) if isinstance(one, float) and one.is_integer() else one for one in values]
    try:
        cells = table.unify_dictionaries().column(0)
        # Arrow cannot take single cells of a view.
        cells = cells.cast(pa.large_string()) if pa.types.is_string_view(kind) else cells
        changed = pa.table({name: cells.take(pa.array(source))})
        if values:
            changed = open_store(changed).assign({0: (changes.rows[given], values)})
        return changed.column(0).cast(kind)
    except pa.ArrowException as error:
        raise FileFormatError(f"column {name!r} of type {kind} cannot be edited: {error}.") from error


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
        is_numeric = open_store(self.frame).read(position).dtype.kind == "f"
        return series, Inferred(asked or ("numeric" if is_numeric else "category"))


class ExcelDocument(Document):
    """The first sheet of a workbook: its first row that is not empty holds the names."""

    format = "excel"

    def __init__(self, raw: bytes, source: str, missing: frozenset[str]) -> None:
        self.raw, self.source, self.missing = raw, source, missing
        # Of a formula, the value that it had when the workbook was saved.
        sheets = _open(raw, source, data_only=True).worksheets
        if not sheets:
            raise self.error("has no sheet of cells.")
        sheet = pd.DataFrame(list(sheets[0].values), dtype=object)
        sheet = sheet.dropna(how="all").dropna(how="all", axis=1)
        if sheet.empty:
            raise FileFormatError(f"the first sheet of {source!r} is empty.")
        header, self.cells = sheet.iloc[0], sheet.iloc[1:]
        self.set_names(map(cell_text, header))
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
    openpyxl = import_extra("openpyxl", "reading and writing Excel workbooks", "excel")
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
    if format not in DELIMITERS and format != "excel":
        return _arrow_bytes(pa.Table.from_pandas(frame, preserve_index=False), format, mark)
    file = io.BytesIO()
    if format == "excel":
        rows, columns = frame.shape
        if rows + 1 > 2**20 or columns > 2**14:
            raise FileFormatError(
                f"{rows} rows and {columns} columns do not fit into a sheet of Excel; write CSV or Parquet."
            )
        import_extra("openpyxl", "reading and writing Excel workbooks", "excel")
        frame.to_excel(file, index=False, engine="openpyxl")
    else:
        frame.to_csv(file, sep=DELIMITERS[format], index=False, lineterminator="\n")
    return file.getvalue()
