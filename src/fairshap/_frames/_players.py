"""Players: the columns that are switched as one."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fairshap._frames._table import Table
from fairshap._typing import Bools, Ints
from fairshap.exceptions import ColumnError, InputError

#: A name for each set of columns that belong together, or the sets alone.
PlayersLike: TypeAlias = Mapping[Any, Iterable[Any]] | Iterable[Iterable[Any]] | None


@dataclass(frozen=True, slots=True)
class Players:
    """Which player each column belongs to.

    Parameters
    ----------
    names : tuple
        One name for each player: the column's own, or the one that was given to the set.
    of_column : ndarray of int, shape (columns,)
        The player of each column.
    columns : tuple
        The names of the columns.
    """

    names: tuple[Hashable, ...]
    of_column: Ints
    columns: tuple[Hashable, ...]

    @classmethod
    def read(cls, table: Table, players: PlayersLike = None) -> "Players":
        """Return the players of a table; columns that no set names stand for themselves.

        The players are in the order of their first columns.
        """
        if isinstance(players, str):
            raise InputError(
                f"feature_groups={players!r} is text; give a mapping of names to columns.",
                parameter="feature_groups",
            )
        sets: dict[Hashable, list[int]] = {}
        if isinstance(players, Mapping):
            for name, columns in players.items():
                if isinstance(columns, str):
                    raise InputError(
                        f"feature_groups: give the columns of {name!r} as a list, [{columns!r}].",
                        parameter="feature_groups",
                    )
                sets[name] = [table.position(column, "feature_groups") for column in columns]
        elif players is not None:
            for columns in players:
                positions = [table.position(column, "feature_groups") for column in columns]
                sets["+".join(str(table.names[j]) for j in positions)] = positions
        owner: dict[int, Hashable] = {}
        for name, positions in sets.items():
            if not positions:
                raise InputError(
                    f"feature_groups: {name!r} names no columns; name some, or leave it out.",
                    parameter="feature_groups",
                )
            for j in positions:
                if j in owner:
                    raise ColumnError(
                        f"feature_groups: column {table.names[j]!r} belongs to {owner[j]!r} and to {name!r}; "
                        "a column can belong to one player only.",
                        parameter="feature_groups",
                    )
                owner[j] = name
        names: list[Hashable] = []
        of_column = np.empty(len(table.names), dtype=np.int64)
        seen: dict[Hashable, int] = {}
        for j, column in enumerate(table.names):
            name = owner.get(j, column)
            if j not in owner and name in sets:
                raise InputError(
                    f"feature_groups: {name!r} is the name of a set and of a column outside it; "
                    "rename the set.",
                    parameter="feature_groups",
                )
            if name not in seen:
                seen[name] = len(names)
                names.append(name)
            of_column[j] = seen[name]
        return cls(tuple(names), of_column, table.names)

    def differ(self, cells: Bools) -> Bools:
        """Return which players differ, from which cells differ: any of the player's columns does."""
        if len(self.names) == len(self.of_column):
            return cells
        differ = np.zeros((len(cells), len(self.names)), dtype=np.bool_)
        for column, player in enumerate(self.of_column):
            differ[:, player] |= cells[:, column]
        return differ

    def check_alone(self, columns: Sequence[int]) -> None:
        """Raise an error if one of the columns, the sensitive ones, shares a player with others."""
        for column in columns:
            if column < len(self.of_column) and np.sum(self.of_column == self.of_column[column]) > 1:
                raise InputError(
                    f"feature_groups: {self.names[self.of_column[column]]!r} holds the sensitive "
                    "column and others; "
                    "the sensitive attribute is switched by itself, so leave it out.",
                    parameter="feature_groups",
                )
