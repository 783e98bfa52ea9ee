"""The space that distances are taken in, and which of its rows may be matched."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import MISMATCH, Costs, squared_distances
from fairshap._kernels.neighbors.onehot import without_one_hot
from fairshap._kernels.scaling import mean_and_scale
from fairshap._problem import Groups, Target
from fairshap._typing import Bools, Codes, Floats, Ints
from fairshap.exceptions import InputError

# The cells of pairs that are compared at a time.
_CELLS = 1 << 20


class Stratum(NamedTuple):
    """Rows of one label that may be matched: those of one or all unprivileged groups, and the privileged."""

    rows: Ints
    others: Ints


def strata_of(groups: Groups, labels: Target, *, each: bool) -> list[Stratum]:
    """Return one stratum for each label, or one for each label and unprivileged group."""
    group = groups.group if each else np.minimum(groups.group, 0)
    return [
        Stratum(
            np.flatnonzero((group == g) & (labels.codes == label)),
            np.flatnonzero((groups.side == 1) & (labels.codes == label)),
        )
        for label in range(len(labels.names))
        for g in range(group.max() + 1)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Rows between which there are distances.

    Parameters
    ----------
    numbers : ndarray of float64, shape (rows, numbers)
        Missing ones are NaN; ``holes`` says in which columns there are any.
    codes : ndarray of int32, shape (rows, categories)
        Categories, -1 where one is missing.
    costs : Costs
        What differences cost.
    """

    numbers: Floats
    codes: Codes
    costs: Costs
    holes: Bools = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "holes", np.asarray(np.isnan(self.numbers).any(axis=0)))

    @classmethod
    def of(
        cls,
        table: Table,
        without: Sequence[int],
        column_weights: Floats | None = None,
        mismatch: float = MISMATCH,
    ) -> "Space":
        """Return the space of a table; columns in ``without`` and those of weight 0 play no part.

        Standardizing is left to the weights: the difference of two whole numbers is exact, that of two
        standardized ones is not, and ties would go by the rounding. Numbers are brought near one by powers of
        two, which is exact too, so that no square overflows.
        """
        weights = np.ones(len(table.names)) if column_weights is None else column_weights.copy()
        weights[list(without)] = 0.0
        of_numbers, of_categories = weights[table.numeric_columns], weights[table.category_columns]
        columns, categories = np.flatnonzero(of_numbers), np.flatnonzero(mismatch * of_categories)
        codes, costs = table.codes[:, categories], mismatch * of_categories[categories]
        if table.is_array:
            columns, more, of_blocks = without_one_hot(table.numbers, columns, of_numbers)
            own = of_numbers[columns]
            costs = np.append(costs, MISMATCH * of_blocks)
            codes = np.column_stack([codes, more])
            return cls(table.numbers[:, columns], codes, Costs(own, mismatch * own, costs))
        numbers, own = table.numbers[:, columns], of_numbers[columns]
        _, scale = mean_and_scale(numbers)
        power = np.exp2(np.round(np.log2(scale)))
        return cls(numbers / power, codes, Costs((power / scale) ** 2 * own, mismatch * own, costs))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.numbers.shape[1] + self.codes.shape[1])

    def squared(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of every one of some rows to every one of others."""
        squared = np.empty((len(rows), len(others)))
        size = max(1, _CELLS // max(1, len(others) * self.width))
        for start in range(0, len(rows), size):
            part = rows[start : start + size, None]
            squared[start : start + size] = self._distances(part, others)
        return squared

    def squared_of_pairs(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of each row to the one beside it, to the last bit as above."""
        squared = np.empty(len(rows))
        size = max(1, _CELLS // max(1, self.width))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            squared[part] = self._distances(rows[part], others[part])
        return squared

    def _distances(self, rows: Ints, others: Ints) -> Floats:
        return squared_distances(
            *(self.numbers[rows], self.codes[rows], self.numbers[others], self.codes[others]),
            self.holes,
            self.costs,
        )


def check_finite(squared: Floats, below: float = np.inf) -> None:
    """Raise an error unless all squared distances are finite, or below a number."""
    if not (squared < below).all():
        raise InputError(
            "the numbers of X are too large to take distances of: their squares overflow. Scale the columns."
        )
