"""Parquet, Feather and Arrow files: the schema stays, only changed columns are built anew."""

import io
import re
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather, parquet

from fairshap._frames import Kind, open_store
from fairshap._io.document import Changes, Document, Inferred, Mark, unique_names
from fairshap._io.formats import Format
from fairshap._io.kinds import no_value, read_cells
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError


class ArrowDocument(Document):
    """A pyarrow table, with the types that its file says."""

    def __init__(self, raw: bytes, source: str, format: Format) -> None:  # noqa: A002
        self.format = format
        try:
            buffer = pa.BufferReader(raw)
            if format == "parquet":
                file = parquet.ParquetFile(buffer)
                self.table = file.read()
            else:
                self.table = feather.read_table(buffer)
        except (pa.ArrowException, OSError) as error:
            what = "a Parquet" if format == "parquet" else "a Feather or Arrow"
            raise FileFormatError(f"{source!r} is not {what} file that can be read: {error}") from error
        self.names = unique_names(self.table.column_names, source)
        self.mark = Mark.of(self.table)
        # The columns in which pandas keeps an index without a name.
        self.index = tuple(name for name in self.names if re.fullmatch(r"__index_level_\d+__", name))
        if not self.table.num_rows or not self.names:
            rows, columns = self.table.shape
            raise FileFormatError(f"{source!r} holds {rows} rows and {columns} columns: no table.")
        if format == "parquet":
            self.options = _parquet_options(file.metadata.row_group(0))

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
        table = table if mark is None else mark.put_on(table)
        file = io.BytesIO()
        if self.format == "parquet":
            parquet.write_table(table, file, **self.options)
        else:
            feather.write_feather(table, file)
        return file.getvalue()


def _parquet_options(group: Any) -> dict[str, Any]:
    """Return how a row group was written: its size, and how its columns are compressed."""
    columns = [group.column(k) for k in range(group.num_columns)]
    codecs = {column.path_in_schema: column.compression for column in columns}
    return {
        "row_group_size": group.num_rows,
        "compression": {path: "NONE" if name == "UNCOMPRESSED" else name for path, name in codecs.items()},
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
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_date, types.is_timestamp, types.is_duration)
    return ("numeric" if any(test(kind) for test in tests) else "category"), cells


def _change(table: Any, changes: Changes, chosen: Ints) -> Any:
    """Return the one column of a table with some cells copied from other rows and some set."""
    name, kind = table.column_names[0], table.schema.field(0).type
    source = np.arange(table.num_rows)
    copied, given = chosen[changes.origins[chosen] >= 0], chosen[changes.origins[chosen] < 0]
    source[changes.rows[copied]] = changes.origins[copied]
    values = [changes.values[k] for k in given]
    if pa.types.is_integer(kind):
        # A column with missing cells came as floats.
        values = [
            int(value) if isinstance(value, float) and value.is_integer() else value for value in values
        ]
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
