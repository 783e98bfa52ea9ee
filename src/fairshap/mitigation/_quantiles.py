"""The repair of one numeric column: quantile by quantile, each group moves to the median of the groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._typing import Floats, Ints


def full_repair(codes: Ints, group: Ints, n_groups: int, n_values: int) -> Ints:
    """Return where each value of each group goes at full repair, as positions among the values.

    The values of a group, each counted once, are cut into as many quantiles as the group with the fewest
    values has of them. A quantile of a group goes to the median, among all groups, of the medians of that
    quantile; of two middle ones the lower, so that it is a value of the column.

    Parameters
    ----------
    codes : ndarray of int, shape (cells,)
        Which of the column's sorted values each cell holds.
    group : ndarray of int, shape (cells,)
        The group of each cell's row.
    n_groups, n_values : int
        How many of them there are.

    Returns
    -------
    ndarray of int, shape (n_groups, n_values)
        -1 where the group does not have the value.
    """
    has = np.zeros((n_groups, n_values), dtype=np.bool_)
    has[group, codes] = True
    targets = np.full((n_groups, n_values), -1)
    present = np.flatnonzero(has.any(axis=1))
    places = [np.flatnonzero(has[g]) for g in present]
    if not places:
        return targets
    n_quantiles = min(map(len, places))
    # Summed one by one, as the reference implementation does: its rounding decides where quantiles end.
    ends = np.append(0.0, np.cumsum(np.full(n_quantiles, 1.0 / n_quantiles)))
    cuts = [np.rint(ends * len(place)).astype(np.int64) for place in places]
    medians = [place[(cut[:-1] + cut[1:] - 1) // 2] for place, cut in zip(places, cuts, strict=True)]
    middle = np.sort(medians, axis=0)[(len(medians) - 1) // 2]
    for g, place, cut in zip(present, places, cuts, strict=True):
        targets[g, place] = np.repeat(middle, np.diff(cut))
    return targets


@dataclass(frozen=True, slots=True)
class ColumnRepair:
    """What was learnt of one column.

    Parameters
    ----------
    keys : ndarray of float, shape (values,)
        Its values as numbers, sorted.
    cells : list
        The same values as they stand in the table.
    targets : ndarray of int, shape (groups, values)
        Where each value goes at full repair; see :func:`full_repair`.
    """

    keys: Floats
    cells: list[Any]
    targets: Ints

    def moved(self, numbers: Floats, members: Sequence[Ints], level: float) -> tuple[Ints, Ints]:
        """Return the rows whose value changes and the position of their new value.

        ``members`` are the rows of each group. A value between those that the group had is treated as the
        next lower one, or the lowest. Missing values stay as they are.
        """
        steps = np.rint((self.targets - np.arange(len(self.keys))) * level).astype(np.int64)
        steps[self.targets < 0] = 0
        rows, new = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for g in np.flatnonzero(steps.any(axis=1)).tolist():
            place = np.flatnonzero(self.targets[g] >= 0)
            cells = numbers[members[g]]
            old = place[np.maximum(np.searchsorted(self.keys[place], cells, side="right") - 1, 0)]
            moves = (steps[g, old] != 0) & ~np.isnan(cells)
            rows.append(members[g][moves])
            new.append((old + steps[g, old])[moves])
        return np.concatenate(rows), np.concatenate(new)
