"""Tables of typed columns: Parquet files, Excel workbooks, built-in ones, any frame."""

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from fairshap._frames import Kind, is_missing, open_store
from fairshap._io.cells import Style, read_cells
from fairshap._io.document import (
    DELIMITERS,
    Changes,
    Document,
    Format,
    Inferred,
    cell_text,
    count_footers,
    find_header,
    tell_footers,
)
from fairshap._messages import did_you_mean, import_extra, listing
from fairshap._typing import Ints
from fairshap.exceptions import FileFormatError, InputError

# Stands for a missing cell where an empty text is a value.
_ABSENT = "\0"
# When a workbook was written, if anybody asks.
_TIME = b"1980-01-01T00:00:00Z"
# As many rows of a sheet are looked at to find the names of the columns, and sums below the table.
_HEAD, _LAST = 60, 10


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
