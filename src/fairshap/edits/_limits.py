"""What may be edited."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._frames import Players, Table
from fairshap._messages import did_you_mean, listing
from fairshap._problem import Groups
from fairshap._typing import Bools
from fairshap.exceptions import InputError

#: The rows of which groups are edited.
Direction: TypeAlias = Literal["both", "unprivileged", "privileged"]
DIRECTIONS = ("both", "unprivileged", "privileged")


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be edited, as the user said it.

    Parameters
    ----------
    frozen : list of columns, optional
        Columns that are never edited.
    editable : list of columns, optional
        The only columns that are edited.
    max_row_edits : int, optional
        How many cells of a row are edited at most.
    direction : {"both", "unprivileged", "privileged"}, default="both"
        The rows of which groups are edited.
    is_plausible : bool, default=False
        Whether an edited row's categories must all occur together, two by two, in a row of the other group.
    """

    frozen: Sequence[Any] | None = None
    editable: Sequence[Any] | None = None
    max_row_edits: int | None = None
    direction: Direction = "both"
    is_plausible: bool = False

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise InputError(
                f"direction={self.direction!r} is not known; give one of {listing(DIRECTIONS)}."
                f"{did_you_mean(self.direction, DIRECTIONS)}",
                parameter="direction",
            )
        if self.frozen is not None and self.editable is not None:
            raise InputError("frozen and editable are both given; give one of the two.", parameter="editable")
        most = self.max_row_edits
        if most is not None and (
            isinstance(most, (bool, np.bool_)) or not isinstance(most, (int, np.integer)) or most < 1
        ):
            raise InputError(
                f"max_row_edits={most!r} is not a number of cells; give a whole number from 1 on, or None.",
                parameter="max_row_edits",
            )

    def players(self, table: Table, players: Players) -> Bools:
        """Say which players may be replaced: those none of whose columns is frozen."""
        for word, names in (("frozen", self.frozen), ("editable", self.editable)):
            if isinstance(names, str) or (names is not None and not np.iterable(names)):
                raise InputError(
                    f"{word}={names!r} must be a list of columns, such as [{names!r}].", parameter=word
                )
        if self.editable is not None:
            named = _columns(table, self.editable, "editable")
            frozen = np.setdiff1d(np.arange(len(table.names)), named)
            if not len(named):
                raise InputError(
                    "editable names no columns, so that nothing could be edited.", parameter="editable"
                )
        else:
            frozen = _columns(table, self.frozen or (), "frozen")
        may = np.ones(len(players.names), dtype=np.bool_)
        may[players.of_column[frozen]] = False
        return may

    def rows(self, groups: Groups) -> Bools:
        """Say which rows may be edited."""
        sides = {"both": (0, 1), "unprivileged": (0,), "privileged": (1,)}[self.direction]
        return np.isin(groups.side, sides)


def _columns(table: Table, names: Sequence[Any], word: str) -> Any:
    return np.array([table.position(name, word) for name in names], dtype=np.int64)
