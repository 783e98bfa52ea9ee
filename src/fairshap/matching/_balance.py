"""How alike the groups are, column by column, before and after matching."""

from dataclasses import dataclass

import numpy as np

from fairshap._frames import Table
from fairshap._typing import AnyCodes, Floats, Ints, Sides

#: In the order in which directions are written: unprivileged rows, privileged rows.
SIDES = (0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The pairs that are compared, row by row and reference by reference.

    Parameters
    ----------
    side : ndarray of int8, shape (rows,)
        The side of every row of the table, -1 where it has none.
    rows : tuple of two ndarrays
        The matched rows of either side.
    references, weights : tuple of two ndarrays
        The references of these rows, and what each counts.
    """

    side: Sides
    rows: tuple[Ints, Ints]
    references: tuple[Ints, Ints]
    weights: tuple[Floats, Floats]

    @classmethod
    def of(cls, side: Sides, row: Ints, reference: Ints, weight: Floats) -> "Sample":
        """Return the sample of a plan's pairs."""
        of_side = [side[row] == s for s in SIDES]
        return cls(
            side,
            (np.unique(row[of_side[0]]), np.unique(row[of_side[1]])),
            (reference[of_side[0]], reference[of_side[1]]),
            (weight[of_side[0]], weight[of_side[1]]),
        )


def mean_differences(table: Table, columns: Ints, sample: Sample) -> Floats:
    """Return standardised mean differences, shape (columns, 3).

    Before matching, and after it those of the unprivileged and those of the privileged rows, each against
    their references. The two are not averaged: where they go opposite ways, that would hide both.
    """
    return np.array(
        [
            of_numbers(table.column(int(column)), sample)
            if table.is_numeric(int(column))
            else of_categories(table.column(int(column)), sample)
            for column in columns
        ]
    ).reshape(len(columns), 3)


def of_numbers(values: Floats, sample: Sample) -> list[float]:
    """Return the three differences of a column of numbers, privileged minus unprivileged.

    They are in units of the pooled standard deviation before matching, ``sqrt((s0^2 + s1^2) / 2)``. Missing
    numbers are left out.
    """
    groups = [values[sample.side == s] for s in SIDES]
    groups = [group[~np.isnan(group)] for group in groups]
    if not all(len(group) for group in groups):
        return [np.nan] * 3
    scale = float(np.sqrt((groups[0].var() + groups[1].var()) / 2))
    apart = []
    for s in SIDES:
        own = _mean(values[sample.rows[s]])
        other = _mean(values[sample.references[s]], sample.weights[s])
        apart.append(own - other if s == 1 else other - own)
    gaps = [groups[1].mean() - groups[0].mean(), *apart]
    return [_over(float(gap), scale) for gap in gaps]


def of_categories(codes: AnyCodes, sample: Sample) -> list[float]:
    """Return the three differences of a column of categories, each from 0 on.

    With d the differences of the categories' shares, e half of those before matching and S the mean of the
    two groups' multinomial covariances, it is ``sqrt(d' S^-1 d)``: for two categories the
    difference of the shares over their pooled standard deviation. S is a diagonal D of the mean shares, less
    two products, so that ``d' S^-1 d = d' D^-1 d + (e' D^-1 d)^2 / (1 - e' D^-1 e)``. A missing category is
    a category.
    """
    codes = codes.astype(np.int64) + 1
    size = int(codes.max()) + 1
    before = [_shares(codes[sample.side == s], size) for s in SIDES]
    mean, half = (before[0] + before[1]) / 2, (before[1] - before[0]) / 2
    apart = []
    for s in SIDES:
        own = _shares(codes[sample.rows[s]], size)
        other = _shares(codes[sample.references[s]], size, sample.weights[s])
        apart.append(own - other if s == 1 else other - own)
    inverse = np.divide(1.0, mean, out=np.zeros(size), where=mean > 0)
    rest = 1.0 - float(half @ (inverse * half))
    gaps = [2 * half, *apart]
    return [_multivariate(gap, half, inverse, rest) for gap in gaps]


def _multivariate(gap: Floats, half: Floats, inverse: Floats, rest: float) -> float:
    along = float(half @ (inverse * gap))
    # No category occurs in both groups: the difference has no scale.
    if rest < 1e-12:
        return np.inf if abs(along) > 1e-12 else 0.0
    return float(np.sqrt(gap @ (inverse * gap) + along**2 / rest))


def _mean(values: Floats, weights: Floats | None = None) -> float:
    present = ~np.isnan(values)
    if not present.any():
        return np.nan
    return float(np.average(values[present], weights=None if weights is None else weights[present]))


def _shares(codes: Ints, size: int, weights: Floats | None = None) -> Floats:
    counts = np.bincount(codes, weights, minlength=size)
    return counts / counts.sum() if len(codes) else np.full(size, np.nan)


def _over(gap: float, scale: float) -> float:
    if scale > 0:
        return gap / scale
    return gap if gap == 0 or np.isnan(gap) else float(np.copysign(np.inf, gap))
