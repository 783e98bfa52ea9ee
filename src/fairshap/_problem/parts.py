"""What a whole table says of its groups and its target, for parts of it that need not hold all of them."""

import sys
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._frames import Table
from fairshap._messages import listing
from fairshap._problem.groups import Groups, read_attribute, split_quantity
from fairshap._problem.problem import Problem
from fairshap._problem.target import Target, read_target
from fairshap._typing import Floats, Ints
from fairshap.exceptions import TargetError

_NOWHERE = (-1, -1, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """The groups and labels of a whole table; it holds none of its rows."""

    columns: tuple[int, ...]
    privileged: Any
    #: The groups of a table without rows.
    groups: Groups
    #: For each value of the attribute its side, its group and its code; None for a quantity.
    known: dict[Hashable, tuple[int, int, int]] | None
    #: The target of no rows, and where its bins end; None for labels.
    target: Target
    ends: Floats | None

    @classmethod
    def of(cls, problem: Problem, *, is_cut: bool) -> "Whole":
        """Return what a problem says; ``is_cut`` says whether its target is cut into bins."""
        groups, target, known = problem.groups, problem.y, None
        if not groups.by_row:
            attribute = read_attribute(problem.table, problem.columns, most_numbers=sys.maxsize)
            places = (part[attribute.first].tolist() for part in (groups.side, groups.group, groups.code))
            known = dict(zip(attribute.values, zip(*places, strict=True), strict=True))
        ends = None
        if is_cut or target.classes is None:
            numbers = target.values.astype(np.float64)
            ends = np.array([numbers[target.codes == k].max() for k in range(len(target.names) - 1)])
        nobody = {name: getattr(groups, name)[:0] for name in ("side", "group", "code", "donors")}
        empty = replace(target, codes=target.codes[:0], values=target.values[:0])
        return cls(problem.columns, problem.privileged, replace(groups, **nobody), known, empty, ends)

    def groups_of(self, table: Table, donors: Ints) -> Groups:
        """Return the groups of some rows; ``donors`` are where a row of each value of the attribute stands.

        A value that the whole table lacks is like a missing one.
        """
        n = table.n_rows
        if self.known is None:
            side = split_quantity(table, self.columns[0], self.privileged, self.groups.name)
            rows = np.arange(n)
            other = np.where(side < 0, rows, donors[1 - np.maximum(side, 0)])
            return replace(
                self.groups,
                side=side,
                group=np.where(side == 0, 0, -1),
                code=side.astype(np.int64),
                donors=np.column_stack([rows, other]),
            )
        attribute = read_attribute(table, self.columns, most_numbers=sys.maxsize)
        places = [*(self.known.get(value, _NOWHERE) for value in attribute.values), _NOWHERE]
        side, group, code = np.array(places, dtype=np.int64)[attribute.code].T
        return replace(
            self.groups,
            side=side.astype(np.int8),
            group=group,
            code=code,
            donors=np.broadcast_to(donors, (n, len(donors))),
        )

    def target_of(self, y: Any, n_rows: int) -> Target:
        """Return the target of some rows; a label that the whole table lacks is an error."""
        values = read_target(y, n_rows)
        if self.ends is not None:
            numbers = values.astype(np.float64)
            return replace(self.target, codes=np.searchsorted(self.ends, numbers), values=values)
        classes: NDArray[Any] = np.asarray(self.target.classes)
        codes = np.minimum(np.searchsorted(classes, values), len(classes) - 1)
        unknown = np.unique(values[classes[codes] != values])
        if len(unknown):
            raise TargetError(
                f"y holds {listing(unknown.tolist())}, which the fitted table lacks; it has "
                f"{listing(classes.tolist())}.",
                parameter="y",
            )
        return replace(self.target, codes=codes, values=values)
