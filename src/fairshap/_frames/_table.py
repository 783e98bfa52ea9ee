"""Any frame or array as numbers, category codes and cells that can be compared."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse
from narwhals.dependencies import is_into_dataframe, is_into_series, is_polars_lazyframe
from numpy.typing import NDArray

from fairshap._frames._stores import (
    ArrayStore,
    NarwhalsStore,
    PandasStore,
    Store,
    factorize,
    first_rows,
    wrong_table,
)
from fairshap._kernels.hashing import cell_hashes
from fairshap._messages import listing
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Hashes, Ints, Native
from fairshap.exceptions import CellTypeError, ColumnError, InputError

# The cells compared at a time: 4 Mi of them are 32 MiB.
_BLOCK_CELLS = 1 << 22

# Tables that are not taken as they are, and what to give instead.
_REFUSED: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (is_polars_lazyframe, "a lazy frame; call X.collect() first: the rows are needed at once."),
    (is_into_series, "one column (a series); give a frame, for example X.to_frame()."),
    (lambda X: isinstance(X, pa.RecordBatch), "a record batch; give pyarrow.Table.from_batches([X])."),
    (np.ma.isMaskedArray, "a masked array; give X.filled(numpy.nan), whose masked cells are missing."),
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as the other layers see it."""

    #: The user's own rows and columns, and their frame or array as it was given.
    store: Store
    native: Native
    #: The column names; positions for an array.
    names: tuple[Hashable, ...]
    n_rows: int
    is_array: bool
    #: The positions of the columns of either kind; together they are all columns.
    numeric_columns: Ints
    category_columns: Ints
    #: A column for each numeric one; missing values are NaN.
    numbers: Floats
    #: A column for each category, numbered in the order of appearance, -1 where it is missing.
    codes: Codes
    #: For each column the first of those that are switched with it; None if each is switched by itself.
    together: Ints | None = None

    @classmethod
    def read(cls, X: Native) -> "Table":
        """Return the table of a frame or array, which is neither copied nor changed."""
        return cls.of(open_store(X))

    @classmethod
    def of(cls, store: Store) -> "Table":
        """Return the table of a store."""
        shape = (store.n_rows, len(store.names))
        if not all(shape):
            what = "is empty: 0 sample(s)" if not shape[0] else "has no columns: 0 feature(s)"
            raise wrong_table(f"X {what} (shape={shape}) while a minimum of 1 is required.")
        is_numeric = np.ones(shape[1], dtype=np.bool_)
        if store.is_array and store.native.dtype.kind == "f":
            # Without a copy where the array is one of float64 already.
            numbers, codes = store.native.astype(np.float64, copy=False), np.empty((shape[0], 0), np.int32)
        else:
            # Room for all columns in either: what stays empty takes no memory.
            numbers, codes = np.empty(shape, order="F"), np.empty(shape, dtype=np.int32, order="F")
            for column in range(shape[1]):
                cells = store.read(column)
                is_numeric[column] = cells.dtype.kind == "f"
                same = is_numeric[:column] == is_numeric[column]
                (numbers if is_numeric[column] else codes)[:, np.count_nonzero(same)] = cells
            numbers, codes = numbers[:, : is_numeric.sum()], codes[:, : (~is_numeric).sum()]
        numeric, category = np.flatnonzero(is_numeric), np.flatnonzero(~is_numeric)
        infinite = np.isinf(numbers).any(axis=0)
        if infinite.any():
            names = [store.names[column] for column in numeric[infinite]]
            first = int(np.isinf(numbers).any(axis=1).argmax())
            raise wrong_table(
                f"X holds infinite values (inf) in column {listing(names)}, first in row {first}. "
                "Replace them by a finite number or a missing value."
            )
        own = store, store.native, store.names, store.n_rows, store.is_array
        return cls(*own, numeric, category, numbers, codes)

    @property
    def leaders(self) -> Ints:
        """For each column the first of those that are switched with it: itself, unless it is in a group."""
        return np.arange(len(self.names)) if self.together is None else self.together

    def position(self, name: Any, parameter: str = "column") -> int:
        """Return where the named column stands; an error names the parameter that asked for it."""
        return self.store.position(name, parameter)

    def column(self, position: int) -> NDArray[Any]:
        """Return one column: numbers (float64) or category codes (int32)."""
        if self.is_numeric(position):
            return self.numbers[:, np.searchsorted(self.numeric_columns, position)]
        return self.codes[:, np.searchsorted(self.category_columns, position)]

    def is_numeric(self, position: int) -> bool:
        """Say whether a column holds numbers."""
        return bool((self.numeric_columns == position).any())

    def distinct(self, position: int) -> Ints:
        """Return the rows in which the values of a column, missing ones aside, stand first."""
        return first_rows(self.numbered(position))

    def numbered(self, position: int) -> Codes:
        """Return the values of a column numbered in the order of appearance, -1 where one is missing."""
        cells = self.column(position)
        return factorize(cells, self.names[position]) if cells.dtype.kind == "f" else cells

    def above(self, R: Native) -> "Table":
        """Return this table with the rows of R, one for each row and with the same columns, below it."""
        below = open_store(R)
        if type(below) is not type(self.store):
            kinds = type(self.native).__name__, type(R).__name__
            raise wrong_table(f"X is a {kinds[0]} and R a {kinds[1]}; give both as the same type.")
        if below.names != self.names:
            raise InputError(
                f"R must have the columns of X in the same order. X has {listing(self.names)}; "
                f"R has {listing(below.names)}.",
                parameter="R",
            )
        if below.n_rows != self.n_rows:
            raise InputError(
                f"R must hold one reference row for each row of X: X has {self.n_rows} rows, R has "
                f"{below.n_rows}.",
                parameter="R",
            )
        return Table.of(self.store.stack(below))

    def differ(self, rows: Ints, others: Ints) -> Bools:
        """Say for each pair of rows and each column whether the cells differ; two missing ones do not."""
        differ = np.empty((len(rows), len(self.names)), dtype=np.bool_)
        # Block by block, so that a wide table is not copied whole.
        size = max(1, _BLOCK_CELLS // len(self.names))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            a, b = self.numbers[rows[block]], self.numbers[others[block]]
            differ[block, self.numeric_columns] = (a != b) & ~(np.isnan(a) & np.isnan(b))
            differ[block, self.category_columns] = self.codes[rows[block]] != self.codes[others[block]]
        return differ

    def hashes(self, rows: Ints, salt: int) -> Hashes:
        """Return a 64-bit fingerprint for each cell of these rows; another salt, other fingerprints."""
        hashes = np.empty((len(rows), len(self.names)), dtype=np.uint64)
        shift = salt * len(self.names)
        for columns, cells in ((self.numeric_columns, self.numbers), (self.category_columns, self.codes)):
            hashes[:, columns] = cell_hashes(cells[rows], columns + shift)
        return hashes


def open_store(X: Native) -> Store:
    """Return the store for a pandas, polars or pyarrow frame, or for anything numpy can read."""
    if isinstance(X, pd.DataFrame):
        return PandasStore(X)
    for is_that, advice in _REFUSED:
        if is_that(X):
            raise wrong_table(f"X is {advice}")
    if is_into_dataframe(X):
        return NarwhalsStore(X)
    if scipy.sparse.issparse(X):
        raise CellTypeError(
            "X is a sparse matrix, which fairshap does not take. Give X.toarray(), or better the "
            "raw table: categories need no encoding.",
            parameter="X",
        )
    array = np.asarray(X)
    if isinstance(X, (list, tuple)) and array.dtype.kind in "US":
        # Numbers beside words must not become words.
        array = np.array(X, dtype=object)
    return ArrayStore(array)


def read_column(values: Any, name: Hashable) -> pd.DataFrame:
    """Return a column that stands by itself as a frame, under its own name or else the given one."""
    if is_into_dataframe(values) and not isinstance(values, pd.DataFrame):
        store = open_store(values)
        rows = np.arange(store.n_rows)
        values = pd.DataFrame({own: store.values(j, rows) for j, own in enumerate(store.names)})
    if isinstance(values, pd.DataFrame):
        return values.reset_index(drop=True)
    if isinstance(values, np.ndarray):
        frame = pd.DataFrame(values)
        return frame if frame.shape[1] != 1 else frame.set_axis([name], axis=1)
    series = values
    if not isinstance(series, pd.Series):
        to_list = getattr(values, "to_pylist", getattr(values, "to_list", None))
        # Not an array first, which would make text of missing values.
        cells = list(values) if to_list is None else to_list()
        series = pd.Series(cells, name=getattr(values, "name", None) or None)
    return series.reset_index(drop=True).to_frame(name if series.name is None else series.name)


#: The columns that belong together, by a name for each set.
PlayersLike: TypeAlias = Mapping[Any, Iterable[Any]] | None


@dataclass(frozen=True, slots=True)
class Players:
    """Which player each column belongs to."""

    #: One name for each player: the column's own, or the one that was given to the set.
    names: tuple[Hashable, ...]
    #: The player of each column.
    of_column: Ints
    columns: tuple[Hashable, ...]

    @classmethod
    def read(cls, table: Table, players: PlayersLike = None) -> "Players":
        """Return the players in the order of their first columns; columns of no set stand for themselves."""
        players = {} if players is None else players
        if not isinstance(players, Mapping):
            raise _of_sets(f"{players!r} is not a mapping; give a list of columns for each name.")
        owner: dict[int, Hashable] = {}
        for name, columns in players.items():
            if isinstance(columns, str):
                raise _of_sets(f"give the columns of {name!r} as a list, [{columns!r}].")
            positions = [table.position(column, "feature_groups") for column in columns]
            if not positions:
                raise _of_sets(f"{name!r} names no columns; name some, or leave it out.")
            for j in positions:
                if j in owner:
                    raise _of_sets(
                        f"column {table.names[j]!r} belongs to {owner[j]!r} and to {name!r}; "
                        "a column can belong to one player only.",
                        ColumnError,
                    )
                owner[j] = name
        seen: dict[Hashable, int] = {}
        of_column = np.empty(len(table.names), dtype=np.int64)
        for j, column in enumerate(table.names):
            if j not in owner and column in players:
                raise _of_sets(f"{column!r} is the name of a set and of a column outside it; rename the set.")
            of_column[j] = seen.setdefault(owner.get(j, column), len(seen))
        return cls(tuple(seen), of_column, table.names)

    def switch(self, table: Table) -> Table:
        """Return the table, the player's or one with more columns, with what is switched together."""
        leaders = np.arange(len(table.names))
        leaders[: len(self.of_column)] = np.unique(self.of_column, return_index=True)[1][self.of_column]
        return replace(table, together=leaders)

    def differ(self, cells: Bools) -> Bools:
        """Return which players differ, from which cells differ: any of the player's columns does."""
        return np.asarray(self.count(cells) > 0)

    def count(self, cells: Bools) -> AnyCodes:
        """Return how many cells of each player differ."""
        if len(self.names) == len(self.of_column):
            return cells.astype(np.int16)
        counts = np.zeros((len(cells), len(self.names)), dtype=np.int16)
        for column, player in enumerate(self.of_column):
            counts[:, player] += cells[:, column]
        return counts

    def check_alone(self, columns: Sequence[int]) -> None:
        """Raise an error if one of the columns, the sensitive ones, shares a player with others."""
        for column in columns:
            if column < len(self.of_column) and np.sum(self.of_column == self.of_column[column]) > 1:
                raise _of_sets(
                    f"{self.names[self.of_column[column]]!r} holds the sensitive column and others; "
                    "the sensitive attribute is switched by itself, so leave it out."
                )


def _of_sets(trouble: str, kind: type[InputError] = InputError) -> InputError:
    return kind(f"feature_groups: {trouble}", parameter="feature_groups")
