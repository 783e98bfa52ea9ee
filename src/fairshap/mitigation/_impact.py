"""Align the numbers of all groups, quantile by quantile."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import Table
from fairshap._messages import listing
from fairshap._problem import Privileged
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError
from fairshap.mitigation._base import GroupReader, RowTransformer, check_share


class DisparateImpactRemover(RowTransformer):
    """Move the numbers of each group to the medians of the groups' quantiles (DIR in the paper).

    After Feldman et al., *Certifying and removing disparate impact*, KDD 2015. For numbers the result equals
    that of AIF360's class of this name, except that AIF360 bins the attribute first and in a small table may
    merge two of its values. Numbers and dates keep their order within a group and move to other values of
    the column, so types stay. **Categories**, missing values and the sensitive attribute stay.

    Test rows are repaired by what was learned from the training rows. AIF360 has no such step; the paper
    repairs test rows by their own quantiles, which is ``fit_transform(X_test)`` of another remover. A row's
    own attribute decides its repair, so switching it in a raw row changes more than in a repaired row.

    Parameters
    ----------
    repair_level : float, default=1.0
        How far the numbers move, from 0 (not at all) to 1, counted in values of the column.
    min_group_size : int, default=None
        As that of :class:`fairshap.FairSHAP`; the group with the fewest values decides the number of
        quantiles.

    Attributes
    ----------
    columns_ : dict
        For each repaired column, by its position, its values and where they move.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import DisparateImpactRemover
    >>> X = pd.DataFrame({"sex": ["m", "m", "m", "f", "f", "f"], "score": [5, 7, 9, 1, 2, 3]})
    >>> DisparateImpactRemover(sensitive="sex", privileged="m").fit_transform(X)["score"].tolist()
    [1, 2, 3, 1, 2, 3]
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        repair_level: float = 1.0,
        min_group_size: int | None = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.repair_level = repair_level
        self.min_group_size = min_group_size

    def _learn(self, X: Native, sensitive_features: Any) -> None:
        check_share(self.repair_level, "repair_level")
        problem = self._problem(X, sensitive_features, min_group_size=self.min_group_size)
        self._groups, group = GroupReader.of(problem, self._attributes(problem.own, sensitive_features))
        self.columns_ = {
            column: ColumnRepair.learn(problem.own, column, group, self._groups.n_groups)
            for column in np.setdiff1d(problem.own.numeric_columns, problem.columns).tolist()
        }
        if not self.columns_:
            names = problem.own.names
            raise InputError(
                f"none of X's {len(names)} feature(s), {listing(names)}, is a column of "
                "numbers to repair; DisparateImpactRemover leaves categories and the attribute as they are."
            )

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        group = self._groups.read(self._attributes(table, sensitive_features))
        members = [np.flatnonzero(group == g) for g in range(self._groups.n_groups)]
        cells = {}
        for column, repair in self.columns_.items():
            name = table.names[column]
            if not table.is_numeric(column):
                raise InputError(f"column {name!r} held numbers when fitting; now it holds something else.")
            rows, new = repair.moved(table.column(column), members, float(self.repair_level))
            if len(rows):
                # Frames raise their own error; numpy would truncate silently.
                if table.is_array and table.native.dtype.kind in "iu" and (repair.keys[new] % 1).any():
                    raise InputError(
                        f"column {name} of X is of type {table.native.dtype} and cannot hold the repaired "
                        "number; give the array the type that it had when fitting."
                    )
                cells[column] = (rows, [repair.cells[k] for k in new.tolist()])
        try:
            return table.store.assign(cells)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the repaired numbers do not fit into a column of X: {error}. Give the columns the types "
                "that they had when fitting."
            ) from error


@dataclass(frozen=True, slots=True)
class ColumnRepair:
    """The sorted values of a column, as numbers and as cells, and where each moves (:func:`full_repair`)."""

    keys: Floats
    cells: list[Any]
    targets: Ints

    @classmethod
    def learn(cls, table: Table, column: int, group: Ints, n_groups: int) -> "ColumnRepair":
        numbers = table.column(column)
        rows = np.flatnonzero((group >= 0) & ~np.isnan(numbers))
        codes, keys = pd.factorize(numbers[rows], sort=True)
        holder = np.empty(len(keys), dtype=np.int64)
        holder[codes] = rows
        targets = full_repair(codes, group[rows], n_groups, len(keys))
        return cls(keys, table.store.values(column, holder), targets)

    def moved(self, numbers: Floats, members: Sequence[Ints], level: float) -> tuple[Ints, Ints]:
        """Return the rows whose value changes and the position of their new value.

        ``members`` are the rows of each group. A value unknown to it counts as the next lower one, or the
        lowest.
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


def full_repair(codes: Ints, group: Ints, n_groups: int, n_values: int) -> Ints:
    """Return where each value of each group moves at full repair: a position among the values, or -1.

    ``codes`` and ``group`` are each cell's position among the column's sorted values and its row's group. The
    distinct values of a group are cut into as many quantiles as the smallest group has values. Each quantile
    moves to the median, over the groups, of its medians; of two middle ones the lower, a value of the column.
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
