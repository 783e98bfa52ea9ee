"""The pairs of rows that a transport plan may use."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairshap._typing import Codes, Floats, Ints
from fairshap.exceptions import InputError
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum

# The pairs whose distances are taken at a time.
_CHUNK = 1 << 16
# Squared distances from here on overflow when they are summed.
_TOO_LARGE = 1e300


class Problem(NamedTuple):
    """What is to be transported: the rows of a stratum in a space, at a cost."""

    space: Space
    stratum: Stratum
    is_squared: bool

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows on either side."""
        return len(self.stratum.rows), len(self.stratum.others)

    def cost(self, squared: Floats) -> Floats:
        """Return what moving a unit of mass so far costs."""
        return squared if self.is_squared else np.sqrt(squared)

    def typical_cost(self) -> float:
        """Return the cost of a mean pair, in whose units the regularisation is; 1 if all rows are equal."""
        squared = mean_squared(self.space, self.stratum)
        return float(self.cost(np.array(squared))) if squared > 0 else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Some of the pairs of a stratum's rows, sorted by row, then by other row.

    Parameters
    ----------
    shape : tuple of int
        The numbers of rows on either side.
    start : ndarray of int, shape (rows + 1,)
        Where the pairs of each row begin.
    other : ndarray of int32, shape (pairs,)
        The other row of each pair, as its place in the stratum.
    cost : ndarray of float, shape (pairs,)
        What moving a unit of mass costs.
    """

    shape: tuple[int, int]
    start: Ints
    other: Codes
    cost: Floats

    @classmethod
    def all_of(cls, problem: Problem) -> "Pairs":
        """Return every pair."""
        (n, m), (rows, others) = problem.shape, problem.stratum
        cost = np.empty((n, m))
        size = max(1, _CHUNK // m)
        for low in range(0, n, size):
            cost[low : low + size] = problem.cost(problem.space.squared(rows[low : low + size], others))
        _check_size(cost)
        other = np.tile(np.arange(m, dtype=np.int32), n)
        return cls((n, m), np.arange(n + 1) * m, other, cost.ravel())

    @classmethod
    def of_keys(cls, problem: Problem, keys: Ints) -> "Pairs":
        """Return pairs by their keys, row x other rows + other row, that are sorted and differ."""
        n, m = problem.shape
        row, other = np.divmod(keys, m)
        squared = squared_of(problem.space, problem.stratum.rows[row], problem.stratum.others[other])
        _check_size(squared)
        start = np.searchsorted(row, np.arange(n + 1))
        return cls((n, m), start, other.astype(np.int32), problem.cost(squared))

    def __len__(self) -> int:
        return len(self.other)

    @property
    def row(self) -> Ints:
        """The row of each pair, as its place in the stratum."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.start))

    @property
    def keys(self) -> Ints:
        """One number for each pair."""
        return self.row * self.shape[1] + self.other


def squared_of(space: Space, rows: Ints, others: Ints) -> Floats:
    """Return the squared distance of each row to the one beside it, however many there are."""
    squared = np.empty(len(rows))
    for low in range(0, len(rows), _CHUNK):
        part = slice(low, low + _CHUNK)
        with np.errstate(over="ignore"):
            squared[part] = space.squared_of_pairs(rows[part], others[part])
    return squared


def mean_squared(space: Space, stratum: Stratum) -> float:
    """Return the mean squared distance of all pairs of a stratum, column by column, without taking them."""
    total = 0.0
    for column, weight, lacking in zip(space.numbers.T, space.weights, space.costs.lacking, strict=True):
        cells = [column[rows][~np.isnan(column[rows])] for rows in stratum]
        p, q = (len(there) / len(rows) for there, rows in zip(cells, stratum, strict=True))
        total += lacking * (p * (1 - q) + q * (1 - p))
        if len(cells[0]) and len(cells[1]):
            gap = cells[0].mean() - cells[1].mean()
            total += p * q * float(weight * (cells[0].var() + cells[1].var() + gap * gap))
    for codes, mismatch in zip(space.codes.T, space.costs.mismatch, strict=True):
        shares = [np.bincount(codes[rows] + 1, minlength=codes.max() + 2) / len(rows) for rows in stratum]
        total += mismatch * (1 - float((shares[0] * shares[1]).sum()))
    return total


def _check_size(distances: Floats) -> None:
    if not (distances < _TOO_LARGE).all():
        raise InputError(
            "the numbers of X are too large to take distances of: their squares overflow. Scale the columns."
        )
