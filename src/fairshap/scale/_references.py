"""The rows that batches are matched with: compact, chosen so that rare rows stay, searched by stratum."""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import is_large, nearest_plainly
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints, Sides
from fairshap.matching._plan import Metric

# The share of a sample that is kept for rare categories, and for the ends of numbers.
_RARE, _TAILS = 0.25, 0.1
# The quantiles of a number that keep rows of their own.
_PARTS = 64


@dataclass(frozen=True, eq=False)
class References:
    """Rows of a table, in its order, by stratum: people's data."""

    #: The cells; text is kept as categories, a byte or two each.
    frame: pd.DataFrame
    #: The number of each row in its table, its label, its side and its unprivileged group.
    number: Ints
    label: AnyCodes
    side: Sides
    group: AnyCodes
    metric: Metric

    @classmethod
    def of(
        cls, table: Table, rows: Ints, number: Ints, label: Ints, side: Sides, group: Ints, metric: Metric
    ) -> "References":
        """Return some rows of a table, given what is known of all of its rows."""
        labels, groups = label[rows].astype(np.int16), group[rows].astype(np.int16)
        return cls(compact(table.native.iloc[rows]), number[rows], labels, side[rows], groups, metric)

    def __len__(self) -> int:
        return len(self.frame)

    def __getstate__(self) -> dict[str, Any]:
        # What a search needs is made again where it is needed.
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def take(self, rows: Ints, dtypes: "pd.Series[Any]") -> pd.DataFrame:
        """Return rows with the types that the table has."""
        taken = self.frame.iloc[rows].reset_index(drop=True)
        return taken.astype({name: dtype for name, dtype in dtypes.items() if taken[name].dtype != dtype})

    def nearest(
        self, table: Table, rows: Ints, label: int, group: int, k: int, n_threads: int
    ) -> tuple[Ints, Ints, Floats]:
        """Return the references of a label and an unprivileged group, -1 for the privileged side; and rows'.

        The latter are the positions among the former of the k nearest references of each row, and their
        squared distances.
        """
        numbers, codes = self._space(table, rows)
        chosen, own_numbers, own_codes = self._stratum(label, group)
        if not len(chosen) or not len(rows):
            return chosen, np.empty((len(rows), 0), dtype=np.int64), np.empty((len(rows), 0))
        # A number that is missing where none was when the references were read needs sums in another order.
        holes = self.metric.holes
        surprising = (np.isnan(numbers) & ~holes).any(axis=1)
        shape = len(rows), min(k, len(chosen))
        found, squared = np.empty(shape, dtype=np.int64), np.empty(shape)
        for some, with_holes in ((~surprising, holes), (surprising, np.ones_like(holes))):
            if not some.any():
                continue
            queries = numbers[some], codes[some]
            if is_large([(int(some.sum()), len(chosen))], numbers.shape[1] + codes.shape[1]):
                index = self._index(label, group, with_holes)
                found[some], squared[some] = index.nearest_of(*queries, k, n_threads)
            else:
                parts = *queries, own_numbers, own_codes, with_holes, self.metric.costs
                found[some], squared[some] = nearest_plainly(*parts, k)
        return chosen, found, squared

    @cached_property
    def _table(self) -> Table:
        return Table.read(self.frame)

    @cached_property
    def _known(self) -> list[dict[Any, int]]:
        """The codes of each category column's values."""
        table = self._table
        columns = table.category_columns[self.metric.categories].tolist()
        values = (table.store.values(column, table.distinct(column)) for column in columns)
        return [{value: code for code, value in enumerate(one)} for one in values]

    @cached_property
    def _made(self) -> dict[Any, Any]:
        """The strata and their indexes, as far as a search has needed them."""
        return {}

    def _space(self, table: Table, rows: Ints) -> tuple[Floats, Codes]:
        """Return rows of another table as numbers and as the codes of the references.

        A category that no reference has gets a code of its own.
        """
        numbers = self.metric.numbers(table, rows)
        codes = np.empty((len(rows), len(self.metric.categories)), dtype=np.int32)
        columns = table.category_columns[self.metric.categories].tolist()
        for k, (column, known) in enumerate(zip(columns, self._known, strict=True)):
            values = table.store.values(column, table.distinct(column))
            # The last place is for a missing value, whose code is -1.
            now = np.array([*(known.get(value, len(known)) for value in values), -1], dtype=np.int32)
            codes[:, k] = now[table.column(column)[rows]]
        return numbers, codes

    def _stratum(self, label: int, group: int) -> tuple[Ints, Floats, Codes]:
        """Return the references of a stratum, by position, as numbers and as codes."""
        found: tuple[Ints, Floats, Codes] | None = self._made.get((label, group))
        if found is None:
            # Two threads may make it both, and it is the same.
            of_group = self.side == 1 if group < 0 else self.group == group
            chosen, table = np.flatnonzero((self.label == label) & of_group), self._table
            found = chosen, self.metric.numbers(table, chosen), table.codes[chosen][:, self.metric.categories]
            self._made[label, group] = found
        return found

    def _index(self, label: int, group: int, holes: Bools) -> Any:
        """Return the blocks of a stratum."""
        from fairshap._kernels.neighbors.search import Index

        key = label, group, holes.tobytes()
        found = self._made.get(key)
        if found is None:
            _, numbers, codes = self._stratum(label, group)
            # A missing category and an unknown one beside those that are known.
            sizes = np.array([len(known) + 2 for known in self._known], dtype=np.int64)
            found = Index(numbers, codes, holes, self.metric.costs, sizes, len(numbers))
            self._made[key] = found
        return found


def compact(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose text is kept as categories."""
    texts = [name for name, dtype in frame.dtypes.items() if isinstance(dtype, pd.StringDtype)]
    return frame.astype(dict.fromkeys(texts, "category")).reset_index(drop=True)


def choose_references(table: Table, rows: Ints, most: int, rank: Ints) -> Ints:
    """Return at most so many rows of a stratum, those that cannot be spared first.

    A quarter of the places goes to the rarest categories of each column, a tenth to the ends of each number
    and to its 64 quantiles, the rest to all rows alike. Among rows alike the one of the lowest ``rank``, a
    fixed random number of each row, comes first, so that the choice does not depend on how rows are read.
    """
    if len(rows) <= most:
        return rows
    order = rows[np.argsort(rank[rows], kind="stable")]
    kept = np.zeros(table.n_rows, dtype=np.bool_)
    _keep_rare(table, order, int(_RARE * most), kept)
    _keep_tails(table, order, int(_TAILS * most), kept)
    rest = order[~kept[order]]
    kept[rest[: most - np.count_nonzero(kept)]] = True
    return np.flatnonzero(kept)


def _keep_rare(table: Table, order: Ints, most: int, kept: Bools) -> None:
    """Mark the first rows of each category, the rarest categories first, as many as there are places."""
    wanted = []
    for column in range(table.codes.shape[1]):
        codes = table.codes[order, column].astype(np.int64) + 1
        counts = np.bincount(codes)
        # Where each row stands among those of its category.
        place = pd.Series(codes).groupby(codes).cumcount().to_numpy()
        # A category keeps rows up to its fair share.
        few = np.flatnonzero(place < max(1, most // (table.codes.shape[1] * np.count_nonzero(counts))))
        wanted.append((counts[codes[few]], few))
    if wanted:
        size, at = (np.concatenate(parts) for parts in zip(*wanted, strict=True))
        kept[order[pd.unique(at[np.lexsort((at, size))])[:most]]] = True


def _keep_tails(table: Table, order: Ints, most: int, kept: Bools) -> None:
    """Mark the rows of the least and the greatest numbers of each column, and of its quantiles."""
    each = most // max(1, table.numbers.shape[1])
    for column in range(table.numbers.shape[1]):
        numbers = table.numbers[order, column]
        known = np.flatnonzero(~np.isnan(numbers))
        by_size = known[np.argsort(numbers[known], kind="stable")]
        ends = max(1, (each - _PARTS) // 2) if each > _PARTS else each // 2
        middle = by_size[np.linspace(0, len(by_size) - 1, min(_PARTS, each, len(by_size))).astype(np.int64)]
        kept[order[np.concatenate([by_size[:ends], by_size[len(by_size) - ends :], middle])[:each]]] = True
