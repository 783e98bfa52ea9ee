"""Tables in the user's own type: what is asked of all of them, the arrays and the frames."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypeAlias, cast

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from fairshap._messages import did_you_mean, listing
from fairshap._typing import AnyCodes, Codes, Floats, Ints, Native
from fairshap.exceptions import CellTypeError, ColumnError, InputError

Kind: TypeAlias = Literal["numeric", "category"]
#: The library whose frames results come in; arrays get pandas.
Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]
#: For one column: the positions of the rows to change and the values they get.
Cells: TypeAlias = tuple[Ints, Sequence[Any]]
#: A column that is not in the table yet: its name and a cell for each row.
NewColumn: TypeAlias = tuple[Hashable, Any]


wrong_table = partial(InputError, parameter="X")
# What categories are made of.
_CATEGORIES = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Time)


class Store(ABC):
    """Rows and columns, named by their position, in the user's own type; methods return new objects."""

    native: Native
    library: Library
    names: tuple[Hashable, ...]
    n_rows: int
    #: Whether the user gave an array, whose columns have no names.
    is_array: bool = False

    def position(self, name: Any, parameter: str = "column") -> int:
        """Return where the named column stands; an error names the parameter that asked for it."""
        if name in self.names:
            return self.names.index(name)
        raise ColumnError(
            f"{parameter}={name!r} is not a column of X. X has {listing(self.names)}."
            f"{did_you_mean(name, self.names)}",
            parameter=parameter,
        )

    @abstractmethod
    def read(self, column: int) -> Floats | Codes:
        """Return numbers or times as float64, NaN where one is missing; of categories their codes.

        Categories are numbered 0, 1, ... in the order of appearance, -1 where one is missing.
        """

    @abstractmethod
    def values(self, column: int, rows: Ints) -> list[Any]:
        """Return the cells as Python objects."""

    def labels(self, rows: Ints) -> list[Any]:
        """Return the index labels of the rows; their positions where there is no index."""
        return list(rows.tolist())

    @abstractmethod
    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:
        """Return the cells of the rows ``sources[j]`` as column j; its index is fresh, or of ``labels``."""

    @abstractmethod
    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        """Return the same rows with these columns: own ones by position, new ones by name and cells."""

    @abstractmethod
    def assign(self, cells: Mapping[int, Cells]) -> Native:
        """Return the whole table with these cells changed; index and types as they were."""

    @abstractmethod
    def stack(self, other: "Store") -> "Store":
        """Return these rows and below them the other's; a cell that the column cannot hold is an error."""


class ArrayStore(Store):
    """A two-dimensional numeric, boolean or object array: columns are positions, there is no index."""

    is_array = True
    library = "pandas"

    def __init__(self, array: NDArray[Any]) -> None:
        if array.ndim != 2:
            raise wrong_table(
                f"X must have two dimensions, rows and columns; it has shape {array.shape}. "
                "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row."
            )
        if array.dtype.kind == "c":
            raise wrong_table("Complex data not supported: X holds complex numbers.")
        if array.dtype.kind not in "biufOUS":
            raise wrong_table(
                f"X is an array of type {array.dtype}; give numbers, booleans, strings or objects, or a data "
                "frame."
            )
        self.native: NDArray[Any] = array
        self.names = tuple(range(array.shape[1]))
        self.n_rows = array.shape[0]

    def position(self, name: Any, parameter: str = "column") -> int:
        width = len(self.names)
        advice = "X is an array: give the column's position, or give X as a data frame with column names."
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            if -width <= name < width:
                return int(name) % width
            advice = f"X has {width} columns, 0 to {width - 1}."
        raise ColumnError(f"{parameter}={name!r} is not a column of X. {advice}", parameter=parameter)

    def read(self, column: int) -> Floats | Codes:
        cells, kind = self.native[:, column], self.native.dtype.kind
        if kind in "bf" or (kind in "iu" and not exceeds_floats(cells.min(), cells.max())):
            return cells.astype(np.float64)
        # Text that looks like a number is text: only real numbers make a numeric column.
        present = cells[~pd.isna(cells)]
        if kind == "O" and not any(isinstance(cell, (str, bytes, bool, np.bool_)) for cell in present):
            try:
                return np.asarray(pd.to_numeric(pd.Series(cells, dtype=object)), dtype=np.float64)
            except (TypeError, ValueError):
                pass
        return factorize(cells, column)

    def values(self, column: int, rows: Ints) -> list[Any]:
        return list(self.native[rows, column].tolist())

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:  # noqa: ARG002
        mixed = np.empty((len(sources[0]), len(sources)), dtype=self.native.dtype, order="F")
        for column, rows in enumerate(sources):
            mixed[:, column] = self.native[rows, column]
        return np.ascontiguousarray(mixed)

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        own = [column for column in columns if isinstance(column, int)]
        if len(own) == len(columns):
            return self.native[:, own]
        parts = [self.native[:, part] if isinstance(part, int) else part[1] for part in columns]
        return np.column_stack(parts)

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native.copy()
        for column, (rows, values) in cells.items():
            changed[rows, column] = values
        return changed

    def stack(self, other: Store) -> "ArrayStore":
        return ArrayStore(np.concatenate([self.native, other.native]))


class FrameStore(Store):
    """What all frames share, read through narwhals."""

    native: Any

    def __init__(self, native: Any, names: Sequence[Hashable]) -> None:
        self.native = native
        self.names = tuple(names)
        self.n_rows = len(native)
        repeated = sorted(str(name) for name, times in Counter(self.names).items() if times > 1)
        if repeated:
            raise ColumnError(
                f"X has several columns of the same name: {listing(repeated)}. "
                "Rename them, so that an edit can name one column.",
                parameter="X",
            )

    @abstractmethod
    def series(self, column: int) -> "nw.Series[Any]":
        """Return the column as narwhals sees it."""

    @abstractmethod
    def codes(self, column: int) -> Codes:
        """Return the codes of a column, whatever it holds."""

    def read(self, column: int) -> Floats | Codes:
        series = self.series(column)
        dtype = series.dtype
        if dtype.is_integer() and exceeds_floats(series.min(), series.max()):
            return self.codes(column)
        if dtype.is_numeric():
            series = series.cast(nw.Float64())
        elif dtype == nw.Duration:
            series = series.dt.total_nanoseconds()
        elif dtype in (nw.Date, nw.Datetime):
            series = (series.cast(nw.Datetime("us")) if dtype == nw.Date else series).dt.timestamp("us")
        elif dtype in _CATEGORIES or series.null_count() == self.n_rows:
            return self.codes(column)
        else:
            raise wrong_table(
                f"column {self.names[column]!r} has type {dtype}; fairshap compares numbers, dates, "
                "booleans, strings and categories. Convert the column or drop it."
            )
        return np.asarray(series.to_numpy(), dtype=np.float64)


class PandasStore(FrameStore):
    """A pandas frame: any index, any column labels."""

    native: pd.DataFrame
    library = "pandas"

    def __init__(self, native: pd.DataFrame) -> None:
        # A copy without the cells: columns that the user adds to the frame later are not in it.
        super().__init__(native.copy(deep=False), list(native.columns))

    def series(self, column: int) -> "nw.Series[Any]":
        return nw.from_native(self.native.iloc[:, column], series_only=True)

    def codes(self, column: int) -> Codes:
        return factorize(self.native.iloc[:, column], self.names[column])

    def read(self, column: int) -> Floats | Codes:
        # The most frequent types without narwhals, which takes as long as all the rest for a small table.
        cells = self.native.iloc[:, column]
        if isinstance(cells.dtype, pd.StringDtype):
            return self.codes(column)
        is_exact = cells.dtype == np.int64 and not exceeds_floats(cells.min(), cells.max())
        if cells.dtype == np.float64 or is_exact:
            return cells.to_numpy(dtype=np.float64)
        return super().read(column)

    def _take(self, column: int, rows: Ints) -> "pd.Series[Any]":
        cells = self.native.iloc[:, column]
        # With its dtype said, a column of objects is not taken for text.
        return pd.Series(cells.array.take(rows), dtype=cells.dtype, copy=False)

    def values(self, column: int, rows: Ints) -> list[Any]:
        return list(self._take(column, rows).tolist())

    def labels(self, rows: Ints) -> list[Any]:
        return list(self.native.index[rows].tolist())

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:
        columns = {column: self._take(column, rows) for column, rows in enumerate(sources)}
        mixed = pd.DataFrame(columns, copy=False)
        mixed.columns = self.native.columns
        return mixed if labels is None else mixed.set_axis(self.native.index[labels], axis=0)

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        composed = self.native.iloc[:, [column for column in columns if isinstance(column, int)]]
        for place, column in enumerate(columns):
            if not isinstance(column, int):
                composed.insert(place, column[0], getattr(column[1], "array", column[1]))
        return composed

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native.copy()
        for column, (rows, values) in cells.items():
            series = self.native.iloc[:, column].copy()
            if isinstance(series.dtype, pd.CategoricalDtype):
                _check_categories(values, series.dtype, self.names[column])
            series.iloc[rows] = pd.Series(list(values), dtype=series.dtype).array
            changed.isetitem(column, cast("Any", series))
        return changed

    def stack(self, other: Store) -> "PandasStore":
        below = other.native.copy(deep=False)
        for column, dtype in enumerate(self.native.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                cells = below.iloc[:, column]
                _check_categories(cells, dtype, self.names[column])
                below.isetitem(column, cells.astype(dtype))
        return PandasStore(pd.concat([self.native, below], ignore_index=True))


def _check_categories(values: Any, dtype: pd.CategoricalDtype, name: Hashable) -> None:
    """Raise an error for a category that a column does not know: it would become a missing value."""
    cells = pd.Series(values, dtype=object)
    unknown = cells[cells.notna() & ~cells.isin(dtype.categories)]
    if len(unknown):
        raise InputError(
            f"column {name!r} holds {listing(unknown.unique())}, which the categories of the other table "
            "lack. Give both tables the same categories."
        )


class NarwhalsStore(FrameStore):
    """A polars or pyarrow frame: no index, immutable columns, each of one type."""

    def __init__(self, native: Any) -> None:
        is_arrow = isinstance(native, pa.Table)
        super().__init__(native, native.column_names if is_arrow else native.columns)
        self.library = "pyarrow" if is_arrow else "polars"
        self.frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)

    def series(self, column: int) -> "nw.Series[Any]":
        return self.frame[:, column]

    def codes(self, column: int) -> Codes:
        array = self.series(column).to_arrow()
        if isinstance(array, pa.ChunkedArray):
            array = array.unify_dictionaries().combine_chunks()
        # A dictionary may hold values that do not occur, in any order: number them anew.
        return factorize(array.dictionary_encode().indices.to_numpy(zero_copy_only=False), self.names[column])

    def values(self, column: int, rows: Ints) -> list[Any]:
        # Arrow keeps nanoseconds, which Python's own dates do not have.
        return list(self.series(column)[rows].to_arrow().to_pylist())

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:  # noqa: ARG002
        columns = [self.series(column)[rows].to_native() for column, rows in enumerate(sources)]
        if isinstance(self.native, pa.Table):
            return pa.table(columns, schema=self.native.schema)
        return type(self.native)(dict(zip(self.names, columns, strict=True)))

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        new = partial(nw.new_series, backend=self.library)
        parts = [
            self.series(part) if isinstance(part, int) else new(str(part[0]), part[1]) for part in columns
        ]
        return self.frame.select(*parts).to_native()

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native
        for column, (rows, values) in cells.items():
            if not all(isinstance(value, float) for value in values):
                # A NaN among numbers stays one.
                values = [None if is_missing(value) else value for value in values]
            # Taken from the old cells with the new ones below them: that works for every type.
            source = np.arange(self.n_rows)
            source[rows] = self.n_rows + np.arange(len(rows))
            put = _put_arrow if isinstance(changed, pa.Table) else _put_polars
            changed = put(changed, column, values, source)
        return changed

    def stack(self, other: Store) -> "NarwhalsStore":
        if isinstance(self.native, pa.Table):
            both = pa.concat_tables([self.native, other.native], promote_options="permissive")
            return NarwhalsStore(both.unify_dictionaries().combine_chunks())
        schema, below = self.native.schema, other.native
        lost = [
            name
            for name, dtype in schema.items()
            if not below[name].cast(dtype, strict=False).cast(below.schema[name]).equals(below[name])
        ]
        if lost:
            raise InputError(
                f"column {listing(lost)} holds cells that the same column of the other table has no type "
                "for. Give both tables the same types."
            )
        return NarwhalsStore(self.native.vstack(below.cast(dict(schema))))


def _put_arrow(table: Any, column: int, values: Sequence[Any], source: Ints) -> Any:
    field = table.schema.field(column)
    if pa.types.is_dictionary(field.type):
        new = pa.array(values, type=field.type.value_type).dictionary_encode().cast(field.type)
    else:
        new = pa.array(values, type=field.type)
    both = pa.chunked_array([*table.column(column).chunks, new]).unify_dictionaries()
    return table.set_column(column, field, both.take(pa.array(source)))


def _put_polars(frame: Any, column: int, values: Sequence[Any], source: Ints) -> Any:
    series = frame.to_series(column)
    # Through arrow, which keeps nanoseconds.
    new = pa.array(values, type=series.to_arrow().type) if series.dtype.is_temporal() else values
    both = series.clone().append(type(series)(series.name, new, dtype=series.dtype))
    return frame.with_columns(both.gather(source))


def make_frame(library: Library, data: Mapping[str, Any], objects: Sequence[str] = ()) -> Native:
    """Return a data frame; cells of ``objects`` keep their types in pandas, and become text elsewhere."""
    columns = dict(data)
    for name in objects:
        if library == "pandas":
            columns[name] = pd.Series(list(data[name]), dtype=object)
        else:
            columns[name] = [None if is_missing(cell) else str(cell) for cell in data[name]]
    if library == "pandas":
        return pd.DataFrame(columns)
    return pa.table(columns) if library == "pyarrow" else nw.from_dict(columns, backend=library).to_native()


def is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN, NaT or NA."""
    return cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell)


def exceeds_floats(least: Any, most: Any) -> bool:
    """Say whether whole numbers go beyond 2^53, where float64 takes different ones for equal: identifiers."""
    return any(not is_missing(value) and abs(int(value)) > 2**53 for value in (least, most))


def first_rows(codes: AnyCodes) -> Ints:
    """Return the row in which each code, from 0 on, stands first."""
    first = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    present = np.flatnonzero(codes >= 0)[::-1]
    # Of several rows that write to one place, the last stays: here the first one of the table.
    first[codes[present]] = present
    return first


def factorize(values: Any, name: Hashable) -> Codes:
    """Return the distinct values numbered in the order of their appearance, -1 where one is missing."""
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise CellTypeError(
            f"column {name!r} holds a cell that cannot be compared ({error}). A cell must be a string or a "
            "number, a boolean, a date or missing; leave the column out, or make one of these of it.",
            parameter="X",
        ) from error
    return np.asarray(codes, dtype=np.int32)


def show(value: Any, longest: int = 160) -> str:
    """Return any cell or name as text, cut if it is very long: it would bury the table that it stands in.

    >>> show(None), show(3.0), show(0.1234567), show("a" * 9, longest=5)
    ('missing', '3', '0.123457', 'aaaa…')
    """
    if is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        text = f"{value:.6g}"
    elif isinstance(value, tuple):
        text = ", ".join(show(item) for item in value)
    else:
        text = str(value)
    # Half a character, which a file in UTF-8 cannot hold, becomes a question mark.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"
