"""Couplings of two sets of rows by slicing both along random directions."""

from typing import NamedTuple

import numpy as np

from fairshap._typing import Floats, Ints
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum


class Coupling(NamedTuple):
    """Which row sends how much to which other row, in whole units; rows are places in the stratum."""

    row: Ints
    other: Ints
    mass: Ints


class Pieces(NamedTuple):
    """Pieces of the rows of one side: the row, the slice that it is in, its mass."""

    row: Ints
    cell: Ints
    mass: Ints

    def chosen(self, places: Ints) -> "Pieces":
        """Return some of the pieces, or all in another order."""
        return Pieces(self.row[places], self.cell[places], self.mass[places])


class Projector:
    """Rows as points on a random line, as if categories were one-hot and numbers standardised.

    A missing number stands at the mean of its column, and whether it is missing is a coordinate of its own,
    as in the distance.
    """

    def __init__(self, space: Space, rows: Ints) -> None:
        numbers = space.numbers[rows]
        missing = np.isnan(numbers)
        count = np.maximum(len(rows) - missing.sum(axis=0), 1)
        filled = np.where(missing, 0.0, numbers)
        centred = np.where(missing, 0.0, filled - filled.sum(axis=0) / count)
        has_holes = missing.any(axis=0)
        holes = missing[:, has_holes] * np.sqrt(space.costs.lacking[has_holes])
        self._columns = np.hstack([centred * np.sqrt(space.weights), holes]).T.copy()
        self._codes = space.codes[rows]
        # Two one-hot rows of different categories differ in two columns.
        self._scale = np.sqrt(space.costs.mismatch / 2)

    def project(self, rng: np.random.Generator) -> Floats:
        """Return where each row stands along a new direction."""
        place = np.zeros(len(self._codes))
        # Not a matrix product: how that rounds depends on threads, and equal rows shall stay equal.
        for column in self._columns:
            place += column * rng.normal()
        for codes, scale in zip(self._codes.T, self._scale, strict=True):
            # One more than the codes: a missing category, -1, takes the last.
            place += scale * rng.normal(size=codes.max() + 2)[codes]
        return place


def sliced_coupling(space: Space, stratum: Stratum, rng: np.random.Generator) -> Coupling:
    """Return a coupling of the two sides with at most one pair less than they have rows.

    Both sides are cut in two slices of equal mass along a random direction, each slice along the next
    direction, and so on, until a slice holds one row of one of the sides, which is coupled with all
    that the slice holds of the other. In one dimension this is the optimal coupling. A single direction
    would be cheaper, but in many dimensions it couples rows that are as far apart as any two.

    A row has as much mass as the other side has rows, so that all masses are whole numbers.
    """
    if len(stratum.rows) > len(stratum.others):
        row, other, mass = sliced_coupling(space, Stratum(stratum.others, stratum.rows), rng)
        return Coupling(other, row, mass)
    n, m = len(stratum.rows), len(stratum.others)
    projector = Projector(space, np.concatenate(stratum))
    few = Pieces(np.arange(n), np.zeros(n, dtype=np.int64), np.full(n, m))
    many = Pieces(np.arange(m), np.zeros(m, dtype=np.int64), np.full(m, n))
    parts: list[Coupling] = []
    while True:
        few, many = _take_finished(few, many, parts)
        if not len(few.row):
            return Coupling(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        place = projector.project(rng)
        few, ends = _sorted_in_cells(few, place[:n])
        cut = _cuts(few.cell, ends)
        many, other_ends = _sorted_in_cells(many, place[n:])
        few, many = _split(few, ends, cut), _split(many, other_ends, cut)


def _take_finished(few: Pieces, many: Pieces, parts: list[Coupling]) -> tuple[Pieces, Pieces]:
    """Couple what is in slices with one row of a side; return the rest, its slices numbered anew."""
    _, cells = np.unique(np.concatenate([few.cell, many.cell]), return_inverse=True)
    few, many = few._replace(cell=cells[: len(few.cell)]), many._replace(cell=cells[len(few.cell) :])
    alone, other_alone = np.bincount(few.cell) == 1, np.bincount(many.cell) == 1
    only = np.empty(len(alone), dtype=np.int64)
    only[few.cell] = few.row
    done = many.chosen(np.flatnonzero(alone[many.cell]))
    parts.append(Coupling(only[done.cell], done.row, done.mass))
    only[many.cell] = many.row
    done = few.chosen(np.flatnonzero((other_alone & ~alone)[few.cell]))
    parts.append(Coupling(done.row, only[done.cell], done.mass))
    is_open = ~(alone | other_alone)
    return few.chosen(np.flatnonzero(is_open[few.cell])), many.chosen(np.flatnonzero(is_open[many.cell]))


def _sorted_in_cells(pieces: Pieces, place: Floats) -> tuple[Pieces, Ints]:
    """Return the pieces by slice and place, and how much mass of its slice ends with each."""
    pieces = pieces.chosen(np.lexsort((place[pieces.row], pieces.cell)))
    total = np.cumsum(pieces.mass)
    is_first = np.diff(pieces.cell, prepend=-1) != 0
    before = (total - pieces.mass)[is_first]
    return pieces, total - before[np.cumsum(is_first) - 1]


def _cuts(cell: Ints, ends: Ints) -> Ints:
    """Return, for each slice number, the mass before the cut: the middle, moved to the end of a piece."""
    is_last = np.diff(cell, append=cell[-1] + 1) != 0
    half = np.zeros(cell[-1] + 1, dtype=np.int64)
    half[cell[is_last]] = ends[is_last] // 2
    first = np.zeros_like(half)
    is_first = np.diff(cell, prepend=-1) != 0
    first[cell[is_first]] = ends[is_first]
    np.maximum.at(first, cell, np.where(ends <= half[cell], ends, 0))
    return first


def _split(pieces: Pieces, ends: Ints, cut: Ints) -> Pieces:
    """Return the pieces in slices that are cut in two; a piece on a cut becomes two."""
    low = np.clip(cut[pieces.cell] - (ends - pieces.mass), 0, pieces.mass)
    high = pieces.mass - low
    mass = np.concatenate([low, high])
    cell = np.concatenate([2 * pieces.cell, 2 * pieces.cell + 1])
    whole = Pieces(np.tile(pieces.row, 2), cell, mass)
    return whole.chosen(np.flatnonzero(mass))
