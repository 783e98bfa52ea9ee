"""Tables of typed columns: Parquet files, Excel workbooks, built-in ones, any frame."""

import io
import re
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from fairshap._frames import Kind, open_store
from fairshap._io.cells import read_cells
from fairshap._io.document import DELIMITERS, Changes, Document, Format, Inferred, cell_text
from fairshap._messages import import_extra
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError

# Stands for a missing cell where an empty text is a value.
_ABSENT = "\0"
# When a workbook was written, if anybody asks.
_TIME = b"1980-01-01T00:00:00Z"


class ParquetDocument(Document):
    """A Parquet file: its schema stays, only changed columns are built anew."""

    format = "parquet"

    def __init__(self, raw: bytes, source: str) -> None:
        self.source = source
        try:
            file = parquet.ParquetFile(pa.BufferReader(raw))
            self.table = file.read()
        except (pa.ArrowException, OSError) as error:
            raise self.error(f"is not a Parquet file that can be read: {error}") from error
        self.set_names(self.table.column_names)
        # The columns in which pandas keeps an index without a name.
        self.index = tuple(name for name in self.names if re.fullmatch(r"__index_level_\d+__", name))
        if not self.table.num_rows or not self.names:
            rows, columns = self.table.shape
            raise self.error(f"holds {rows} rows and {columns} columns: no table.")
        group = file.metadata.row_group(0)
        columns = [group.column(k) for k in range(group.num_columns)]
        codecs = {one.path_in_schema: one.compression.replace("UNCOMPRESSED", "NONE") for one in columns}
        self.options = {"row_group_size": group.num_rows, "compression": codecs}

    def column(self, position: int, asked: Kind | None, expected: str = "") -> tuple[pd.Series, Inferred]:  # noqa: ARG002
        """Return a column as pandas has it, text as categories."""
        name, cells = self.names[position], self.table.column(position)
        try:
            return _to_pandas(cells, name, asked)
        except pa.ArrowException as error:
            raise FileFormatError(
                f"column {name!r} of type {cells.type} cannot be read ({error}); leave it out with drop.",
                parameter="drop",
            ) from error

    def to_bytes(self, changes: Changes) -> bytes:
        """Return the file with its schema and metadata."""
        table = self.table
        for column in np.unique(changes.columns).tolist():
            cells = _change(table.select([column]), changes, np.flatnonzero(changes.columns == column))
            table = table.set_column(column, table.schema.field(column), cells)
        file = io.BytesIO()
        parquet.write_table(table, file, **self.options)
        return file.getvalue()


def _to_pandas(cells: Any, name: str, asked: Kind | None) -> tuple[pd.Series, Inferred]:
    if cells.null_count == len(cells):
        return pd.Series(pd.Categorical([None] * len(cells)), name=name), Inferred(asked or "category")
    kind, plain = _kind(cells)
    if asked == "numeric" and kind == "category":
        plain = cells.cast(pa.int8()) if pa.types.is_boolean(cells.type) else cells
        texts = plain.cast(pa.string()).fill_null("")
        return read_cells(texts, name, asked, frozenset([""]), lambda row: f"row {row}")
    is_text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
    if is_text and pc.any(pc.not_equal(pc.utf8_trim_whitespace(plain), plain)).as_py():
        texts = plain.cast(pa.string()).fill_null(_ABSENT)
        return read_cells(texts, name, "category", frozenset([_ABSENT]), str)
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
    """A built-in table, written by its values."""

    format = "csv"

    def __init__(self, frame: pd.DataFrame, source: str) -> None:
        self.frame, self.source = frame, source
        self.set_names(map(str, frame.columns))

    def column(self, position: int, asked: Kind | None, expected: str = "") -> tuple[pd.Series, Inferred]:  # noqa: ARG002
        """Return a column as it is, or as asked for."""
        name, cells = self.names[position], self.frame.iloc[:, position]
        kind: Kind = "numeric" if pd.api.types.is_any_real_numeric_dtype(cells) else "category"
        if asked in (None, kind):
            return cells, Inferred(kind)
        return read_cells(texts_of(cells), name, asked, frozenset([""]), lambda row: f"row {row + 1}")


def texts_of(cells: pd.Series) -> Any:
    """Return cells as texts."""
    return pa.chunked_array([pa.array(map(cell_text, cells), pa.string())])


def without_times(workbook: bytes) -> bytes:
    """Return a workbook that does not tell when it was written: the same table makes the same file."""
    file = io.BytesIO()
    with ZipFile(io.BytesIO(workbook)) as old, ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "docProps/core.xml":
                content = re.sub(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*", rb"\g<1>" + _TIME, content)
            # An entry without a date has the first that there is, 1980-01-01.
            new.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return file.getvalue()


def frame_to_bytes(frame: pd.DataFrame, format: Format) -> bytes:  # noqa: A002
    """Return a frame, without its index, as a file of any format."""
    file = io.BytesIO()
    if format == "parquet":
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), file)
    elif format == "excel":
        rows, columns = frame.shape
        if rows + 1 > 2**20 or columns > 2**14:
            raise FileFormatError(
                f"{rows} rows and {columns} columns do not fit into a sheet of Excel; write CSV or Parquet."
            )
        import_extra("openpyxl", "reading and writing Excel workbooks", "excel")
        with pd.ExcelWriter(file, engine="openpyxl") as writer:
            frame.to_excel(writer, index=False)
            for cell in (cell for row in writer.book.active for cell in row if cell.data_type == "f"):
                # A text that begins with "=" is not to become a formula.
                cell.data_type = "s"
        return without_times(file.getvalue())
    else:
        frame.to_csv(file, sep=DELIMITERS[format], index=False, lineterminator="\n")
    return file.getvalue()
