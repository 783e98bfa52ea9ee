"""Single cells and single columns, whatever table they stand in."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Codes, Floats, Ints, Native
from fairshap.exceptions import CellTypeError, ColumnError, InputError

# A longer cell is cut: it would bury the table that it stands in.
_LONGEST = 160


def is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN, NaT or NA."""
    return cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell)


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


def exceeds_floats(least: Any, most: Any) -> bool:
    """Say whether whole numbers go beyond 2^53, where float64 takes different ones for equal.

    Such numbers are identifiers, not quantities; they are compared as categories.
    """
    return any(not is_missing(value) and abs(int(value)) > 2**53 for value in (least, most))


def show(value: Any, longest: int = _LONGEST) -> str:
    """Return any cell or name as text, cut if it is very long.

    Examples
    --------
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


Kind: TypeAlias = Literal["numeric", "category"]

#: The library whose frames results come in; arrays get pandas.
Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]

#: For one column: the positions of the rows to change and the values they get.
Cells: TypeAlias = tuple[Ints, Sequence[Any]]

#: A column that is not in the table yet: its name and a number for each row.
NewColumn: TypeAlias = tuple[Hashable, Floats]


class Store(ABC):
    """Rows and columns in the user's own type; every method returns new objects.

    Columns are named by their position, so that names need not be strings.
    """

    native: Native
    library: Library
    names: tuple[Hashable, ...]
    n_rows: int
    #: Whether the user gave an array, whose columns have no names.
    is_array: bool = False

    def position(self, name: Any, parameter: str = "column") -> int:
        """Return where the named column stands; an error names the parameter that asked for it."""
        if self.is_array:
            if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
                width = len(self.names)
                if -width <= name < width:
                    return int(name) % width
                raise ColumnError(
                    f"{parameter}={name!r} is not a column of X, which has {width} columns, 0 to "
                    f"{width - 1}.",
                    parameter=parameter,
                )
            raise ColumnError(
                f"{parameter}={name!r} is not a column of X. X is an array: give the column's position, "
                "a whole number, or give X as a data frame with column names.",
                parameter=parameter,
            )
        if name in self.names:
            return self.names.index(name)
        raise ColumnError(
            f"{parameter}={name!r} is not a column of X. X has {listing(self.names)}."
            f"{did_you_mean(name, self.names)}",
            parameter=parameter,
        )

    @abstractmethod
    def kind(self, column: int) -> Kind:
        """Say whether the column holds numbers (or times) or categories."""

    @abstractmethod
    def numbers(self, column: int) -> Floats:
        """Return a numeric column as float64, missing values as NaN."""

    @abstractmethod
    def codes(self, column: int) -> Codes:
        """Return the categories numbered 0, 1, ... in the order of appearance, -1 where missing."""

    @abstractmethod
    def values(self, column: int, rows: Ints) -> list[Any]:
        """Return the cells as Python objects."""

    @abstractmethod
    def labels(self, rows: Ints) -> list[Any]:
        """Return the index labels of the rows; their positions where there is no index."""

    @abstractmethod
    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:
        """Return a table whose column j holds the cells of the rows ``sources[j]``.

        It has a fresh index, or the index labels of the rows ``labels``, where there are any.
        """

    @abstractmethod
    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        """Return the same rows with these columns: own ones by position, new ones by name and numbers."""

    @abstractmethod
    def assign(self, cells: Mapping[int, Cells]) -> Native:
        """Return the whole table with these cells changed; index and types as they were."""

    @abstractmethod
    def append(self, name: Hashable, values: Any) -> "Store":
        """Return the table with one more column at its end."""

    @abstractmethod
    def stack(self, other: "Store") -> "Store":
        """Return the rows of this table and below them the other's, whose columns are the same.

        No cell changes: types are widened where the two differ, and a column whose type cannot hold
        the other's cells is an error.
        """


class FrameStore(Store):
    """What all frames share, read through narwhals."""

    native: Any

    def __init__(self, native: Any, names: Sequence[Hashable]) -> None:
        self.native = native
        self.names = tuple(names)
        self.n_rows = len(native)
        repeated = sorted({str(name) for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise ColumnError(
                f"X has several columns of the same name: {listing(repeated)}. "
                "Rename them, so that an edit can name one column.",
                parameter="X",
            )

    def series(self, column: int) -> "nw.Series[Any]":
        """Return the column as narwhals sees it."""
        raise NotImplementedError

    def kind(self, column: int) -> Kind:
        series = self.series(column)
        dtype = series.dtype
        if dtype.is_integer() and exceeds_floats(series.min(), series.max()):
            return "category"
        if dtype.is_numeric() or dtype in (nw.Date, nw.Datetime, nw.Duration):
            return "numeric"
        if dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object, nw.Time):
            return "category"
        if series.null_count() == self.n_rows:
            return "category"
        raise InputError(
            f"column {self.names[column]!r} has type {dtype}; fairshap compares numbers, dates, "
            "booleans, strings and categories. Convert the column or drop it.",
            parameter="X",
        )

    def numbers(self, column: int) -> Floats:
        series = self.series(column)
        if series.dtype == nw.Date:
            series = series.cast(nw.Datetime("us"))
        if series.dtype == nw.Datetime:
            return np.asarray(series.dt.timestamp("us").to_numpy(), dtype=np.float64)
        if series.dtype == nw.Duration:
            return np.asarray(series.dt.total_nanoseconds().to_numpy(), dtype=np.float64)
        return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=np.float64)


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

    def values(self, column: int, rows: Ints) -> list[Any]:
        cells = self.native.iloc[:, column]
        values: list[Any] = pd.Series(cells.array.take(rows), dtype=cells.dtype).tolist()
        return values

    def labels(self, rows: Ints) -> list[Any]:
        labels: list[Any] = self.native.index[rows].tolist()
        return labels

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:
        # With its dtype said, a column of objects is not taken for text.
        columns = {}
        for column, rows in enumerate(sources):
            cells = self.native.iloc[:, column]
            columns[column] = pd.Series(cells.array.take(rows), dtype=cells.dtype, copy=False)
        mixed = pd.DataFrame(columns, copy=False)
        mixed.columns = self.native.columns
        return mixed if labels is None else mixed.set_axis(self.native.index[labels], axis=0)

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        own = [column for column in columns if isinstance(column, int)]
        if len(own) == len(columns):
            return self.native.iloc[:, own]
        parts: dict[int, Any] = {}
        for place, part in enumerate(columns):
            parts[place] = self.native.iloc[:, part] if isinstance(part, int) else part[1]
        composed = pd.DataFrame(parts, index=self.native.index)
        names = [self.names[part] if isinstance(part, int) else part[0] for part in columns]
        composed.columns = pd.Index(names, tupleize_cols=False, name=self.native.columns.name)
        return composed

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native.copy()
        for column, (rows, values) in cells.items():
            series = self.native.iloc[:, column].copy()
            if isinstance(series.dtype, pd.CategoricalDtype):
                check_categories(values, series.dtype, self.names[column])
            series.iloc[rows] = pd.Series(list(values), dtype=series.dtype).array
            changed.isetitem(column, cast("Any", series))
        return changed

    def append(self, name: Hashable, values: Any) -> "PandasStore":
        extended = self.native.copy(deep=False)
        extended[name] = getattr(values, "array", values)
        return PandasStore(extended)

    def stack(self, other: Store) -> "PandasStore":
        columns = {}
        for column, name in enumerate(self.names):
            above, below = self.native.iloc[:, column], other.native.iloc[:, column]
            if isinstance(above.dtype, pd.CategoricalDtype):
                check_categories(below, above.dtype, name)
                below = below.astype(above.dtype)
            columns[column] = pd.concat([above, below], ignore_index=True)
        both = pd.DataFrame(columns, copy=False)
        both.columns = self.native.columns
        return PandasStore(both)


class NarwhalsStore(FrameStore):
    """A polars or pyarrow frame: no index, immutable columns, each of one type."""

    def __init__(self, native: Any) -> None:
        names = native.column_names if isinstance(native, pa.Table) else native.columns
        super().__init__(native, names)
        self.library = "pyarrow" if isinstance(native, pa.Table) else "polars"

    def _wrap(self) -> "nw.DataFrame[Any]":
        return nw.from_native(self.native, eager_only=True)

    def series(self, column: int) -> "nw.Series[Any]":
        return self._wrap()[:, column]

    def codes(self, column: int) -> Codes:
        coded = _indices(_dictionary(self.series(column).to_arrow()))
        present = coded >= 0
        codes = np.full(self.n_rows, -1, dtype=np.int32)
        # A dictionary may hold values that do not occur, in any order: number them anew.
        codes[present] = factorize(coded[present], self.names[column])
        return codes

    def values(self, column: int, rows: Ints) -> list[Any]:
        # Arrow keeps nanoseconds, which Python's own dates do not have.
        values: list[Any] = self.series(column)[rows].to_arrow().to_pylist()
        return values

    def labels(self, rows: Ints) -> list[Any]:
        labels: list[Any] = rows.tolist()
        return labels

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:  # noqa: ARG002
        columns = [self.series(column)[rows].to_native() for column, rows in enumerate(sources)]
        if isinstance(self.native, pa.Table):
            return pa.table(columns, schema=self.native.schema)
        return type(self.native)(dict(zip(self.names, columns, strict=True)))

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        frame = self._wrap()
        backend = nw.get_native_namespace(self.native)
        parts = [
            frame[:, part]
            if isinstance(part, int)
            else nw.new_series(str(part[0]), part[1], nw.Float64(), backend=backend)
            for part in columns
        ]
        return frame.select(*parts).to_native()

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        if isinstance(self.native, pa.Table):
            return self._assign_arrow(cells)
        changed = []
        for column, (rows, values) in cells.items():
            series = self.native.to_series(column)
            new = type(series)(series.name, _to_polars(values, series), dtype=series.dtype)
            # Taken from the old cells with the new ones below them: that works for every type.
            source = np.arange(self.n_rows)
            source[rows] = self.n_rows + np.arange(len(rows))
            changed.append(series.clone().append(new).gather(source))
        return self.native.with_columns(changed)

    def _assign_arrow(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native
        for column, (rows, values) in cells.items():
            field = changed.schema.field(column)
            values = _plain_missing(values)
            if pa.types.is_dictionary(field.type):
                new = _assign_dictionary(changed.column(column), rows, values)
            else:
                cellwise = np.zeros(self.n_rows, dtype=bool)
                cellwise[rows] = True
                in_order = [values[i] for i in np.argsort(rows, kind="stable")]
                new = pc.replace_with_mask(
                    changed.column(column), cellwise, pa.array(in_order, type=field.type)
                )
            changed = changed.set_column(column, field, new)
        return changed

    def append(self, name: Hashable, values: Any) -> "NarwhalsStore":
        if nw.dependencies.is_into_series(values):
            series = nw.from_native(values, series_only=True).alias(str(name))
        else:
            backend = nw.get_native_namespace(self.native)
            series = nw.new_series(str(name), np.asarray(values).tolist(), backend=backend)
        return NarwhalsStore(self._wrap().with_columns(series).to_native())

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


def check_categories(values: Any, dtype: pd.CategoricalDtype, name: Hashable) -> None:
    """Raise an error for a category that a column does not know: it would become a missing value."""
    cells = pd.Series(values, dtype=object)
    unknown = cells[cells.notna() & ~cells.isin(dtype.categories)]
    if len(unknown):
        raise InputError(
            f"column {name!r} holds {listing(unknown.unique())}, which the categories of the other table "
            "lack. Give both tables the same categories."
        )


def make_frame(library: Library, data: Mapping[str, Any], objects: Sequence[str] = ()) -> Native:
    """Return a data frame of a library.

    The columns ``objects`` hold cells of any type. In pandas each keeps its own; elsewhere, where
    a column has one type, they become text.
    """
    if library == "pandas":
        return pd.DataFrame(
            {
                name: pd.Series(list(values), dtype=object) if name in objects else values
                for name, values in data.items()
            }
        )
    columns = {
        name: [None if is_missing(cell) else str(cell) for cell in values] if name in objects else values
        for name, values in data.items()
    }
    if library == "pyarrow":
        return pa.table(columns)
    return nw.from_dict(columns, backend=library).to_native()


def _plain_missing(values: Sequence[Any]) -> list[Any]:
    """Return the values with None for what pandas calls missing; a NaN among numbers stays one."""
    if all(isinstance(value, float) for value in values):
        return list(values)
    return [None if is_missing(value) else value for value in values]


def _to_polars(values: Sequence[Any], series: Any) -> Any:
    """Return values that a polars series of this type can be made of, nanoseconds included."""
    plain = _plain_missing(values)
    if series.dtype.is_temporal():
        return pa.array(plain, type=series.to_arrow().type)
    return plain


def _dictionary(array: Any) -> Any:
    """Return an arrow array as one dictionary-encoded chunk."""
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def _indices(encoded: Any) -> Ints:
    """Return where each cell stands in the dictionary of an arrow array, -1 where it is missing."""
    return np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(), dtype=np.int64)


def _assign_dictionary(column: Any, rows: Ints, values: Sequence[Any]) -> Any:
    """Change cells of a dictionary-encoded arrow column, whose type stays as it is."""
    encoded = _dictionary(column)
    known = encoded.dictionary.to_pylist()
    added = [value for value in dict.fromkeys(values) if value is not None and value not in known]
    position = {value: code for code, value in enumerate([*known, *added])}
    indices = _indices(encoded).copy()
    indices[rows] = [-1 if value is None else position[value] for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, type=column.type.index_type, mask=indices < 0),
        pa.array([*known, *added], type=column.type.value_type),
        ordered=column.type.ordered,
    )
