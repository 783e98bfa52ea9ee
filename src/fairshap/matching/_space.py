"""The space that distances are taken in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import MISMATCH, Costs, equal_costs, squared_distances
from fairshap._kernels.neighbors.onehot import without_one_hot
from fairshap._kernels.scaling import mean_and_scale
from fairshap._typing import Bools, Codes, Floats, Ints
from fairshap.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Rows as numbers and codes between which there are distances.

    Parameters
    ----------
    numbers : ndarray of float64, shape (rows, numbers)
        Missing ones are NaN.
    codes : ndarray of int32, shape (rows, categories)
        Categories, -1 where one is missing.
    costs : Costs
        What differences cost.

    Attributes
    ----------
    holes : ndarray of bool, shape (numbers,)
        Which columns of numbers have missing ones.
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
        """Return the space of a table; the columns ``without`` play no part, nor do those of weight 0.

        Standardising is left to the weights: the difference of two whole numbers is exact, that of two
        standardised ones is not, and ties would go by the rounding. The numbers are brought near one by
        powers of two, which is exact too, so that no square overflows.
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
            return cls(
                table.numbers[:, columns],
                np.column_stack([codes, more]),
                Costs(own, mismatch * own, costs),
            )
        numbers, own = table.numbers[:, columns], of_numbers[columns]
        _, scale = mean_and_scale(numbers)
        power = np.exp2(np.round(np.log2(scale)))
        return cls(numbers / power, codes, Costs((power / scale) ** 2 * own, mismatch * own, costs))

    @classmethod
    def of_numbers(cls, numbers: Floats) -> "Space":
        """Return the space of numbers that count as they are."""
        codes = np.empty((len(numbers), 0), dtype=np.int32)
        return cls(numbers, codes, equal_costs(np.ones(numbers.shape[1]), 0))

    @property
    def weights(self) -> Floats:
        """What a squared difference of one costs, for each column of numbers."""
        return self.costs.weights

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.numbers.shape[1] + self.codes.shape[1])

    def squared(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of every one of some rows to every one of others."""
        return squared_distances(
            self.numbers[rows, None],
            self.codes[rows, None],
            self.numbers[others],
            self.codes[others],
            self.holes,
            self.costs,
        )

    def squared_of_pairs(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of each row to the one beside it, to the last bit as above."""
        return squared_distances(
            self.numbers[rows],
            self.codes[rows],
            self.numbers[others],
            self.codes[others],
            self.holes,
            self.costs,
        )


def check_finite(squared: Floats) -> None:
    """Raise an error unless all squared distances are finite."""
    if not np.isfinite(squared).all():
        raise InputError(
            "the numbers of X are too large to take distances of: their squares overflow. Scale the columns."
        )
