"""The first pass over a data set: rows for the model and for the references, and statistics of all rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import mean_and_scale
from fairshap._messages import listing
from fairshap._models import takes_quantities
from fairshap._problem import is_continuous, warn_of_copies
from fairshap._problem.groups import read_attribute, split_quantity
from fairshap._problem.problem import find_columns
from fairshap._problem.target import read_target
from fairshap._typing import Bools, Floats, Ints
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.scale._files import Files
from fairshap.scale._fitting import make_repairer, ranks, read_problem
from fairshap.scale._references import choose_references
from fairshap.scale._repairer import Repairer, conform

# What Python, the libraries and compiled code take by themselves.
_BASE = 0.6 * 2**30
# The shares of the rest for the rows that are held, and for a batch with everything that is made of it.
_HELD, _BATCH = 0.5, 0.25
# The bytes of a cell that is held, of a cell of a batch, and of an encoded feature of either.
_CELL, _BATCH_CELL, _FEATURE = 80, 200, 8
# What the fixed random numbers of rows go by.
_SEED = 0
# The rows that the width of an encoded row is judged by; the most and the least rows of a batch.
_JUDGED, _MOST, _LEAST = 4096, 1 << 17, 1000


@dataclass(frozen=True, slots=True)
class Rooms:
    """How many rows fit into memory: those that are held, and those of a batch."""

    held: int
    batch: int

    @classmethod
    def of(cls, first: pd.DataFrame, max_memory: float) -> "Rooms":
        """Return the rooms for rows like the first ones in so many GiB."""
        room = max_memory * 2**30 - _BASE
        table = Table.read(first)
        width = sum(
            1 if table.is_numeric(j) else min(255, len(table.distinct(j))) for j in range(len(table.names))
        )
        row = _CELL * len(table.names) + _FEATURE * width
        batch_row = _BATCH_CELL * len(table.names) + _FEATURE * width
        held, batch = int(_HELD * room / row), int(_BATCH * room / batch_row)
        if batch < _LEAST:
            least = (_BASE + _LEAST * batch_row / _BATCH) / 2**30
            raise InputError(
                f"max_memory={max_memory:g} GiB is too little for rows of {len(table.names)} columns; give "
                f"{np.ceil(10 * least) / 10:g} or more.",
                parameter="max_memory",
            )
        return cls(held, min(batch, _MOST))


def read_repairer(
    files: Files,
    repair: FairSHAP,
    columns: Sequence[str],
    target: str,
    positive: Any,
    categorical: Sequence[str],
    max_references: int | None,
    max_memory: float,
) -> tuple[Repairer, int]:
    """Return the repairer of a data set, and how many rows a batch has.

    A data set that fits into memory is read whole. Of a larger one, the model is fitted on a random sample,
    references are taken from all strata, and scales and missing values are those of all rows. What is chosen
    goes by the numbers of the rows, not by the files that they are in.
    """
    first = next(files.chunks([*columns, target], _JUDGED))
    rooms = Rooms.of(to_frame(first, columns, categorical), max_memory)
    if files.n_rows <= rooms.held:
        table = next(files.chunks([*columns, target], files.n_rows))
        X, y = to_frame(table, columns, categorical), table.column(target)
        del table
        problem = read_problem(repair, X, y, positive)
        warn_of_copies(problem)
        number = np.arange(files.n_rows)
        made = make_repairer(repair, problem, number, target=target, max_references=max_references)
        return made, rooms.batch
    given = tuple(columns), tuple(categorical), target, positive
    pass_ = _Pass(repair, *given, files.n_rows, rooms, max_references)
    for chunk in files.chunks([*columns, target], rooms.batch):
        pass_.add(chunk)
    return pass_.finish(), rooms.batch


def to_frame(table: pa.Table, columns: Sequence[str], categorical: Sequence[str]) -> pd.DataFrame:
    """Return columns of a table as pandas has them, some as categories in the order of their values."""
    frame: pd.DataFrame = table.select(columns).to_pandas(ignore_metadata=True)
    others = [name for name in categorical if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(others, "category"))


@dataclass(slots=True)
class _Pass:
    """A pass over more rows than can be held."""

    repair: FairSHAP
    columns: tuple[str, ...]
    categorical: tuple[str, ...]
    target: str
    positive: Any
    n_rows: int
    rooms: Rooms
    max_references: int | None
    start: int = 0
    #: Whether the target is a quantity; known from the first rows on.
    is_quantity: bool | None = None
    #: By stratum the rows that may become references, in parts, and how many rows it has in all.
    pools: dict[Any, list[pd.DataFrame]] = field(default_factory=dict)
    sizes: Counter[Any] = field(default_factory=Counter)
    trained_on: list[pd.DataFrame] = field(default_factory=list)
    numeric: Ints | None = None
    moments: tuple[Floats, Floats, Floats] | None = None
    holes: Bools | None = None
    #: The types that hold the cells of all chunks, and the categories of those that are categories.
    dtypes: dict[str, Any] = field(default_factory=dict)

    def add(self, chunk: pa.Table) -> None:
        """Count the rows of a chunk, and keep some of them."""
        X = to_frame(chunk, self.columns, self.categorical)
        table = Table.read(X)
        number = np.arange(self.start, self.start + table.n_rows)
        rank = ranks(number, _SEED)
        self._note(table)
        y = read_target(chunk.column(self.target), table.n_rows)
        frame = X.assign(**{self.target: y}).set_axis(number)
        # A random half of the rooms for the model; the other half is for references.
        chosen = rank < (self.rooms.held / 2 / self.n_rows) * 2.0**63
        self.trained_on.append(frame[chosen])
        if self.is_quantity is None:
            is_cut = getattr(self.repair.matcher, "bins", None) is not None
            is_regressor = takes_quantities(self.repair.estimator) is True
            self.is_quantity = is_cut or is_regressor or is_continuous(np.unique(y))
        for key, rows in self._strata(table, y).items():
            self.pools.setdefault(key, []).append(frame.iloc[rows])
            self.sizes[key] += len(rows)
        most = self._most()
        for key, parts in self.pools.items():
            if sum(map(len, parts)) > 2 * most:
                self.pools[key] = [self._thinned(parts, most)]
        self.start += table.n_rows

    def finish(self) -> Repairer:
        """Return the repairer of all rows."""
        for name in self.categorical:
            # In the order of the values, as one table has them; not in that of the chunks.
            self.dtypes[name] = pd.CategoricalDtype(self.dtypes[name].categories.sort_values())
        most = self._most()
        for key, parts in self.pools.items():
            self.pools[key] = [self._thinned(parts, most)]
        rest = [part for parts in self.pools.values() for part in parts]
        trained_on = pd.concat([conform(part, pd.Series(self.dtypes)) for part in self.trained_on])
        self.trained_on.clear()
        frame = pd.concat([trained_on, *(conform(part, pd.Series(self.dtypes)) for part in rest)])
        frame = frame[~frame.index.duplicated()].sort_index()
        number = frame.index.to_numpy()
        is_trained_on = frame.index.isin(trained_on.index)
        y = frame.pop(self.target).to_numpy()
        problem = read_problem(self.repair, frame.reset_index(drop=True), y, self.positive)
        warn_of_copies(problem)
        strata = None
        if not self.is_quantity:
            at = np.empty(len(number), dtype=np.int64)
            found = self._strata(problem.own, y)
            for k, rows in enumerate(found.values()):
                at[rows] = k
            strata = at, np.array([self.sizes[key] for key in found])
        return make_repairer(
            self.repair,
            problem,
            number,
            target=self.target,
            max_references=most if self.max_references is None else min(most, self.max_references),
            is_trained_on=is_trained_on,
            scale=self._scale(),
            holes=self.holes,
            n_rows=self.n_rows,
            strata=strata,
        )

    def _scale(self) -> Floats:
        """Return the spread of each column of numbers; that of a constant one is 1."""
        assert self.moments is not None  # noqa: S101 - there are rows
        count, mean, squares = self.moments
        scale = np.sqrt(squares / np.maximum(count, 1))
        return np.where(scale > 1e-12 * np.abs(mean), scale, 1.0)

    def _most(self) -> int:
        """Return how many rows of each stratum are kept."""
        room = self.rooms.held // 2 // max(1, len(self.pools))
        return max(1, room if self.max_references is None else min(room, self.max_references))

    def _thinned(self, parts: list[pd.DataFrame], most: int) -> pd.DataFrame:
        """Return the rows of a stratum that cannot be spared."""
        frame = pd.concat(parts)
        number = frame.index.to_numpy()
        if len(frame) > most:
            table = Table.read(frame[list(self.columns)])
            rows = choose_references(table, np.arange(len(frame)), most, ranks(number, _SEED))
            frame = frame.iloc[rows]
        return frame

    def _note(self, table: Table) -> None:
        """Add a chunk to what is known of all rows."""
        if self.numeric is None:
            self.numeric = table.numeric_columns
        changed = np.setxor1d(table.numeric_columns, self.numeric)
        if len(changed):
            raise InputError(
                f"column {listing([table.names[j] for j in changed])} holds numbers in some rows and "
                "something else, or numbers beyond 2^53, in others. Drop the column, or make text of it.",
                parameter="drop",
            )
        lacking: Bools = np.asarray(np.isnan(table.numbers).any(axis=0))
        count = (~np.isnan(table.numbers)).sum(axis=0).astype(np.float64)
        mean, scale = mean_and_scale(table.numbers)
        # A constant column has a scale of 1 there, and no spread.
        is_constant = np.nanmax(table.numbers, axis=0, initial=-np.inf) == np.nanmin(
            table.numbers, axis=0, initial=np.inf
        )
        squares = np.where(is_constant, 0.0, scale**2 * count)
        if self.moments is None:
            self.moments, self.holes = (count, mean, squares), lacking
        else:
            n, old, total = self.moments
            both = np.maximum(n + count, 1)
            shift = mean - old
            merged = old + shift * count / both, total + squares + shift**2 * n * count / both
            self.moments = (n + count, *merged)
            self.holes = lacking if self.holes is None else self.holes | lacking
        for name, dtype in table.native.dtypes.items():
            self.dtypes[str(name)] = _wider(self.dtypes.get(str(name)), dtype)

    def _attribute(self, table: Table) -> Any:
        """Return a number for the group of each row, the same in every chunk."""
        columns = find_columns(self.repair.sensitive, table)
        privileged = self.repair.privileged
        is_split = callable(privileged) or isinstance(privileged, pd.Interval)
        if is_split and len(columns) == 1 and table.is_numeric(columns[0]):
            return split_quantity(table, columns[0], privileged, self.repair.sensitive)
        attribute = read_attribute(table, columns)
        return np.array([*map(str, attribute.values), ""], dtype=object)[attribute.code]

    def _strata(self, table: Table, y: Any) -> dict[Any, Ints]:
        """Return the rows of each label, unless it is a quantity, and each group."""
        labels = np.zeros(len(y), np.int64) if self.is_quantity else y
        stratum = pd.DataFrame({"label": labels, "group": self._attribute(table)})
        found = stratum.groupby(["label", "group"]).indices
        return {key: np.asarray(rows) for key, rows in found.items()}


def _wider(known: Any, dtype: Any) -> Any:
    """Return the type that holds the cells of two parts of a column."""
    if known is None or known == dtype:
        return dtype
    if isinstance(known, pd.CategoricalDtype) and isinstance(dtype, pd.CategoricalDtype):
        values = dict.fromkeys([*known.categories, *dtype.categories])
        return pd.CategoricalDtype(list(values), ordered=known.ordered)
    kinds = {known.kind, dtype.kind}
    if kinds == {"i", "f"} or kinds == {"u", "f"}:
        return np.dtype(np.float64)
    return np.dtype(object)
