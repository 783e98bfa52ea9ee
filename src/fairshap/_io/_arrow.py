"""Parquet, Feather and Arrow files: the schema stays, only changed columns are built anew."""

import re
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc, parquet

from fairshap._frames import Kind, open_store
from fairshap._io._document import Changes, Document, Inferred, unique_names
from fairshap._io._kinds import read_cells
from fairshap._io._marks import Mark
from fairshap.exceptions import FileFormatError

#: The columns in which pandas keeps an index without a name.
_INDEX = re.compile(r"__index_level_\d+__")


class ArrowDocument(Document):
    """A table of arrow's, with the types that its file says.

    Parameters
    ----------
    table : pyarrow.Table
        The table.
    source : str
        What errors call the file.
    """

    def __init__(self, table: Any, source: str) -> None:
        self.table = table
        self.names = unique_names(table.column_names, source)
        self.n_rows = table.num_rows
        self.mark = Mark.of(table)
        if not self.names or not self.n_rows:
            raise FileFormatError(
                f"{source!r} holds {self.n_rows} rows and {len(self.names)} columns: no table."
            )

    @property
    def index(self) -> tuple[str, ...]:
        """The columns that only number the rows for pandas."""
        return tuple(name for name in self.names if _INDEX.fullmatch(name))

    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column as pandas has it, text as categories."""
        name, cells = self.names[position], self.table.column(position)
        try:
            return self._to_pandas(name, cells, asked)
        except pa.ArrowException as error:
            raise FileFormatError(
                f"column {name!r} of type {cells.type} cannot be read ({error}); leave it out with drop."
            ) from error

    def _to_pandas(self, name: str, cells: Any, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        if cells.null_count == self.n_rows:
            raise FileFormatError(f"column {name!r} holds no value in any row; leave it out with drop.")
        kind, plain = _kind(cells)
        if asked == "numeric" and kind == "category":
            return _to_numbers(cells, name)
        if pa.types.is_dictionary(plain.type) or not (asked == "category" or _is_text(plain.type)):
            series = plain.unify_dictionaries().to_pandas(date_as_object=False)
        else:
            categories = plain.dictionary_encode().unify_dictionaries().to_pandas().cat
            series = categories.reorder_categories(sorted(categories.categories))
        series = series.rename(name)
        why = "as asked" if asked else f"{cells.type} in the file"
        return series, Inferred(asked or kind, why, cells.null_count)

    def write(self, file: BinaryIO, changes: Changes, mark: Mark | None = None) -> None:
        """Write the table with its schema and metadata, to which a mark is added."""
        table = self.table
        for column in np.unique(changes.columns).tolist():
            field = table.schema.field(column)
            cells = _change(table.select([column]), changes.of_column(column))
            table = table.set_column(column, field, cells)
        self.write_table(file, table if mark is None else mark.put_on(table))

    def write_table(self, file: BinaryIO, table: Any) -> None:
        """Write a table as this file is written."""
        raise NotImplementedError


class ParquetDocument(ArrowDocument):
    """A Parquet file; its row groups and how its columns are compressed are kept."""

    format = "parquet"

    def __init__(self, raw: bytes, source: str) -> None:
        try:
            file = parquet.ParquetFile(pa.BufferReader(raw))
            super().__init__(file.read(), source)
        except (pa.ArrowException, OSError) as error:
            raise FileFormatError(f"{source!r} is not a Parquet file that can be read: {error}") from error
        group = file.metadata.row_group(0)
        self.group_size = group.num_rows
        chunks = [group.column(k) for k in range(group.num_columns)]
        self.compression = {chunk.path_in_schema: chunk.compression for chunk in chunks}
        self.old_timestamps = any(chunk.physical_type == "INT96" for chunk in chunks)

    def write_table(self, file: BinaryIO, table: Any) -> None:
        """Write the table in row groups of the same size."""
        parquet.write_table(
            table,
            file,
            row_group_size=self.group_size,
            compression={path: _codec(name) for path, name in self.compression.items()},
            use_deprecated_int96_timestamps=self.old_timestamps,
        )


class FeatherDocument(ArrowDocument):
    """A Feather or Arrow file, or a stream in the same format."""

    format = "feather"

    def __init__(self, raw: bytes, source: str) -> None:
        self.is_stream = not raw.startswith(b"ARROW1")
        try:
            reader = (ipc.open_stream if self.is_stream else ipc.open_file)(pa.BufferReader(raw))
            super().__init__(reader.read_all(), source)
        except (pa.ArrowException, OSError) as error:
            raise FileFormatError(
                f"{source!r} is not a Feather or Arrow file that can be read: {error}"
            ) from error
        # The file does not say it in a place that can be asked. Uncompressed is what every reader takes.
        self.is_compressed = len(raw) < self.table.get_total_buffer_size()

    def write_table(self, file: BinaryIO, table: Any) -> None:
        """Write the table as a file or a stream."""
        options = ipc.IpcWriteOptions(
            compression="lz4" if self.is_compressed else None, unify_dictionaries=not self.is_stream
        )
        make = ipc.new_stream if self.is_stream else ipc.new_file
        with make(file, table.schema, options=options) as writer:
            writer.write_table(table)


def _codec(name: str) -> str:
    return "NONE" if name == "UNCOMPRESSED" else name


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _kind(cells: Any) -> tuple[Kind, Any]:
    """Return how a column's values are compared, and the column in a type that pandas has."""
    kind = cells.type
    if pa.types.is_string_view(kind):
        return "category", cells.cast(pa.large_string())
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return "numeric", cells.cast(pa.float64())
    if pa.types.is_integer(kind) and cells.null_count and _exceeds_floats(cells):
        # pandas would round them, to have a place for the missing ones.
        return "category", cells.dictionary_encode()
    numeric = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_duration(kind)
    )
    return ("numeric" if numeric else "category"), cells


def _exceeds_floats(cells: Any) -> bool:
    limits = pc.min_max(cells).as_py()
    return bool(max(abs(limits["min"]), abs(limits["max"])) > 2**53)


def _to_numbers(cells: Any, name: str) -> tuple[pd.Series, Inferred]:
    """Return text as numbers."""
    try:
        plain = cells.cast(pa.int8()) if pa.types.is_boolean(cells.type) else cells
        text = plain.cast(pa.string())
    except pa.ArrowException as error:
        raise FileFormatError(
            f"column {name!r} is to be numeric, but holds {cells.type}; leave it out with drop."
        ) from error
    filled = text.fill_null("")
    return read_cells(filled, name, "numeric", frozenset([""]), lambda row: f"row {row}")


def _change(table: Any, changes: Changes) -> Any:
    """Return the one column of a table with some cells copied from other rows and some set."""
    kind = table.schema.field(0).type
    try:
        if pa.types.is_string_view(kind):
            # Arrow cannot take single cells of a view.
            table = table.set_column(0, table.column_names[0], table.column(0).cast(pa.large_string()))
        return _set(_copy(table, changes), changes).column(0).cast(kind)
    except pa.ArrowException as error:
        raise FileFormatError(
            f"column {table.column_names[0]!r} of type {kind} cannot be edited: {error}."
        ) from error


def _copy(table: Any, changes: Changes) -> Any:
    """Return the table with the cells copied that are taken from other rows."""
    cells = table.unify_dictionaries().column(0)
    source = np.arange(len(cells))
    copied = changes.origins >= 0
    source[changes.rows[copied]] = changes.origins[copied]
    return table.set_column(0, table.schema.field(0), cells.take(pa.array(source)))


def _set(table: Any, changes: Changes) -> Any:
    """Return the table with the cells set that no other row holds."""
    chosen = np.flatnonzero(changes.origins < 0)
    if not len(chosen):
        return table
    values = [changes.values[k] for k in chosen]
    if pa.types.is_integer(table.schema.field(0).type):
        # A column with missing cells came as floats.
        values = [
            int(value) if isinstance(value, float) and value.is_integer() else value for value in values
        ]
    return open_store(table).assign({0: (changes.rows[chosen], values)})
