"""The match plan, and what it is made from: strata of rows, and the space that distances are taken in."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fairshap._display import histogram, panel
from fairshap._frames import Library, Table, make_frame
from fairshap._kernels.neighbors.distance import (
    MISMATCH,
    Costs,
    mean_and_scale,
    squared_distances,
    without_one_hot,
)
from fairshap._problem import Groups, Problem, Target
from fairshap._typing import Bools, Codes, Floats, Ints, Native
from fairshap.exceptions import InputError

if TYPE_CHECKING:
    from fairshap.matching._diagnostics import Diagnostics

#: Rows of one label that may be matched: of one or all unprivileged groups, and the privileged ones.
Stratum: TypeAlias = tuple[Ints, Ints]

# The cells of pairs that are compared at a time.
_CELLS = 1 << 20
# What a pair of a plan says, and as what.
_KINDS = {"row": np.int64, "reference": np.int64, "weight": np.float64, "distance": np.float64}


def strata_of(groups: Groups, labels: Target, *, each: bool) -> list[Stratum]:
    """Return a stratum for each label, or each label and unprivileged group, that both sides have rows of."""
    group = groups.group if each else np.minimum(groups.group, 0)
    strata = [
        (
            np.flatnonzero((group == g) & (labels.codes == label)),
            np.flatnonzero((groups.side == 1) & (labels.codes == label)),
        )
        for label in range(len(labels.names))
        for g in range(group.max() + 1)
    ]
    return [stratum for stratum in strata if min(map(len, stratum))]


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Which columns of a frame distances are taken over, and what differences cost.

    Standardizing is left to the weights: the difference of two whole numbers is exact, that of two
    standardized ones is not, and ties would go by the rounding. Numbers are brought near one by powers of
    two, which is exact too, so that no square overflows.
    """

    #: Positions among the columns of numbers, and among the categories.
    columns: Ints
    categories: Ints
    power: Floats
    costs: Costs
    #: Which of the columns of numbers have missing ones.
    holes: Bools

    @classmethod
    def of(cls, table: Table, weights: Floats, scale: Floats | None = None) -> "Metric":
        """Return the metric of a table by the weights of its columns; ``scale`` is that of its numbers."""
        of_numbers, of_categories = weights[table.numeric_columns], MISMATCH * weights[table.category_columns]
        columns, categories = np.flatnonzero(of_numbers), np.flatnonzero(of_categories)
        numbers, own = table.numbers[:, columns], of_numbers[columns]
        scale = mean_and_scale(numbers)[1] if scale is None else scale[columns]
        power = np.exp2(np.round(np.log2(scale)))
        costs = Costs((power / scale) ** 2 * own, MISMATCH * own, of_categories[categories])
        return cls(columns, categories, power, costs, np.asarray(np.isnan(numbers).any(axis=0)))

    def numbers(self, table: Table, rows: Ints | slice = slice(None)) -> Floats:
        """Return the numbers of rows as distances take them."""
        return np.asarray(table.numbers[rows][:, self.columns] / self.power)


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Rows (a missing number is NaN, a missing category -1), and what differences between them cost."""

    numbers: Floats
    codes: Codes
    costs: Costs
    #: Which columns of numbers have missing ones.
    holes: Bools

    @classmethod
    def of(cls, table: Table, without: Sequence[int], column_weights: Floats | None = None) -> "Space":
        """Return the space of a table; columns in ``without`` and those of weight 0 play no part."""
        weights = np.ones(len(table.names)) if column_weights is None else column_weights.copy()
        weights[list(without)] = 0.0
        if not table.is_array:
            metric = Metric.of(table, weights)
            return cls(metric.numbers(table), table.codes[:, metric.categories], metric.costs, metric.holes)
        of_numbers, of_categories = weights[table.numeric_columns], MISMATCH * weights[table.category_columns]
        columns, categories = np.flatnonzero(of_numbers), np.flatnonzero(of_categories)
        columns, more, of_blocks = without_one_hot(table.numbers, columns, of_numbers)
        codes = np.column_stack([table.codes[:, categories], more])
        costs = np.append(of_categories[categories], MISMATCH * of_blocks)
        numbers, own = table.numbers[:, columns], of_numbers[columns]
        holes = np.asarray(np.isnan(numbers).any(axis=0))
        return cls(numbers, codes, Costs(own, MISMATCH * own, costs), holes)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.numbers.shape[1] + self.codes.shape[1])

    def squared(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of each row to the other beside it; of a column of rows, to all."""
        squared = np.empty(np.broadcast_shapes(rows.shape, others.shape))
        size = max(1, _CELLS // max(1, self.width * squared[:1].size))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            own, other = rows[part], others if rows.ndim > 1 else others[part]
            squared[part] = squared_distances(
                *(self.numbers[own], self.codes[own], self.numbers[other], self.codes[other]),
                self.holes,
                self.costs,
            )
        return squared


def check_finite(squared: Floats, below: float = np.inf) -> Floats:
    """Return squared distances; raise an error unless all are finite, or below a number."""
    if not (squared < below).all():
        raise InputError(
            "the numbers of X are too large to take distances of: their squares overflow. Scale the columns."
        )
    return squared


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Basis:
    """What a plan was made from, which is what it is judged by; ``notes`` are what the matcher reports."""

    problem: Problem
    space: Space
    strata: list[Stratum]
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MatchPlan:
    """The references of every row, as a sparse list of pairs.

    Parameters
    ----------
    n_rows : int
        The number of rows of the table, matched or not.
    row, reference : ndarray of int, shape (pairs,)
        Positions in the table. They are kept sorted by row, a row's heaviest reference first.
    weight, distance : ndarray of float, shape (pairs,)
        The weights of one row's references sum to 1; the distance is that of the two rows.
    library : str
        The library of the frame that :meth:`frame` returns.
    basis : Basis, optional
        The table that was matched and how; a plan made by hand has none.

    Examples
    --------
    >>> from fairshap import MatchPlan
    >>> plan = MatchPlan(n_rows=3, row=[0, 1], reference=[1, 0], weight=[1.0, 1.0], distance=[0.5, 0.5])
    >>> plan
    MatchPlan(2 pairs, 1 of 3 rows unmatched, mean distance 0.5)
    >>> plan.best.tolist()
    [1, 0, -1]
    """

    n_rows: int
    row: Ints
    reference: Ints
    weight: Floats
    distance: Floats
    library: Library = "pandas"
    basis: Basis | None = None

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
            given = np.asarray(getattr(self, name))
            if kind is np.int64 and len(given) and given.dtype.kind not in "iu":
                raise InputError(f"{name} of a match plan must hold row positions, not {given.dtype}.")
            object.__setattr__(self, name, given.astype(kind, copy=False))
        lengths = [len(getattr(self, name)) for name in _KINDS]
        if len(set(lengths)) != 1:
            raise InputError(
                f"row, reference, weight and distance of a match plan must be of one length, not {lengths}."
            )
        if len(self.row) and (
            min(self.row.min(), self.reference.min()) < 0
            or max(self.row.max(), self.reference.max()) >= self.n_rows
        ):
            raise InputError(f"a match plan of {self.n_rows} rows names rows outside it.")
        total = np.bincount(self.row, self.weight, minlength=self.n_rows)[np.unique(self.row)]
        if (self.weight < 0).any() or not np.allclose(total, 1.0, atol=1e-6):
            raise InputError(
                "the weights of each row's references must be from 0 on and sum to 1; they sum to "
                f"{total.min():.6g} to {total.max():.6g}."
            )
        order = np.lexsort((-self.weight, self.row))
        for name in _KINDS:
            object.__setattr__(self, name, getattr(self, name)[order])

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        mean = f", mean distance {self.distance.mean():.3g}" if len(self) else ""
        return f"MatchPlan({len(self)} pairs, {len(self.unmatched)} of {self.n_rows} rows unmatched{mean})"

    def _repr_html_(self) -> str:
        uses = np.bincount(self.reference, minlength=1)
        facts: dict[str, Any] = {"rows": self.n_rows, "unmatched": len(self.unmatched), "pairs": len(self)}
        if len(self):
            facts |= {"references": int((uses > 0).sum()), "most uses of one": int(uses.max())}
            facts |= {"mean distance": self.distance.mean(), "distances": histogram(self.distance)}
        return panel("MatchPlan", facts)

    @property
    def best(self) -> Ints:
        """The heaviest reference of each row, -1 where there is none."""
        best = np.full(self.n_rows, -1, dtype=np.int64)
        # The first pair of a row is its heaviest: written last, it stays.
        best[self.row[::-1]] = self.reference[::-1]
        return best

    @property
    def unmatched(self) -> Ints:
        """The rows without a reference."""
        has = np.zeros(self.n_rows, dtype=np.bool_)
        has[self.row] = True
        return np.flatnonzero(~has)

    def of_rows(self, chosen: Bools) -> "MatchPlan":
        """Return the plan with some of its pairs only: all those of some rows."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _KINDS})

    def to_rows_below(self) -> "MatchPlan":
        """Return the plan of a table that has the rows of this one once more below, as references."""
        return replace(self, n_rows=2 * self.n_rows, reference=self.reference + self.n_rows, basis=None)

    def check_fits(self, n_rows: int) -> None:
        """Raise an error unless the plan is one for a table of so many rows."""
        if self.n_rows != n_rows:
            raise InputError(f"the match plan is one for {self.n_rows} rows, X has {n_rows}; match X itself.")

    def frame(self) -> Native:
        """Return the pairs as a frame: row, reference, weight, distance."""
        return make_frame(self.library, {name: getattr(self, name) for name in _KINDS})

    def diagnostics(self, random_state: Any = 0) -> "Diagnostics":
        """Return how good the plan is, if :func:`fairshap.match` or a matcher made it.

        Distances are compared with those to random rows that a row could have been matched with, which
        ``random_state`` draws; columns with what they were before matching.

        Examples
        --------
        >>> from fairshap import datasets, match
        >>> d = datasets.load("german")
        >>> match(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged).diagnostics()
        distance        rows   matched (std)    random (std)   Cohen's d        t
        unprivileged     310   1.297 (0.584)   3.322 (0.977)        2.52     31.3
        privileged       690   1.553 (0.598)   3.299 (0.950)        2.20     40.9
        all             1000   1.473 (0.605)   3.306 (0.958)        2.29     51.2
        columns over 0.1 standard deviations apart: 7 of 8 before matching, 4 after it for unprivileged
        rows, 7 for privileged ones
        references: 432 rows, each used 2.3 times, 14 at most
        unmatched: 0 of 1000 rows
        """
        from fairshap.matching._diagnostics import diagnose

        return diagnose(self, random_state)
