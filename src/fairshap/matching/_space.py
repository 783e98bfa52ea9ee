"""The space that distances are taken in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairshap._kernels.distance import MISMATCH, squared_distances
from fairshap._kernels.onehot import without_one_hot
from fairshap._kernels.scaling import mean_and_scale
from fairshap._typing import Bools, Codes, Floats, Ints
from fairshap.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Rows as numbers and codes between which there are distances.

    Parameters
    ----------
    numbers : ndarray of float64, shape (rows, numbers)
        Missing ones are NaN.
    weights : ndarray of float64, shape (numbers,)
        What a squared difference of one counts.
    codes : ndarray of int32, shape (rows, categories)
        Categories.
    """

    numbers: Floats
    weights: Floats
    codes: Codes

    @classmethod
    def of(cls, table: Table, without: Sequence[int]) -> "Space":
        """Return the space of a table; the columns ``without`` play no part.

        Standardising is left to the weights: the difference of two whole numbers is exact, that of two
        standardised ones is not, and ties would go by the rounding. The numbers are brought near one by
        powers of two, which is exact too, so that no square overflows.
        """
        columns = np.flatnonzero(~np.isin(table.numeric_columns, without))
        codes = table.codes[:, ~np.isin(table.category_columns, without)]
        if table.is_array:
            numbers, more = without_one_hot(table.numbers, columns)
            return cls(numbers, np.ones(numbers.shape[1]), np.column_stack([codes, more]))
        numbers = table.numbers[:, columns]
        _, scale = mean_and_scale(numbers)
        power = np.exp2(np.round(np.log2(scale)))
        return cls(numbers / power, (power / scale) ** 2, codes)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.numbers.shape[1] + self.codes.shape[1])

    def squared(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of every one of some rows to every one of others."""
        holes: Bools = np.asarray(np.isnan(self.numbers).any(axis=0))
        return squared_distances(
            self.numbers[rows],
            self.weights,
            self.codes[rows],
            self.numbers[others],
            self.codes[others],
            holes,
        )

    def squared_of_pairs(self, rows: Ints, others: Ints) -> Floats:
        """Return the squared distance of each row to the one beside it."""
        a, b = self.numbers[rows], self.numbers[others]
        term = self.weights * (a - b) ** 2
        term = np.where(np.isnan(a) != np.isnan(b), MISMATCH, np.nan_to_num(term, nan=0.0))
        mismatches = (self.codes[rows] != self.codes[others]).sum(axis=1)
        return np.asarray(term.sum(axis=1) + MISMATCH * mismatches)
