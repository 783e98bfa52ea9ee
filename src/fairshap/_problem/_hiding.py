"""Keep the sensitive attribute from a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._frames import Store
from fairshap._problem._sensitive import Setting
from fairshap._typing import Native


@dataclass(frozen=True, slots=True)
class Hiding:
    """What becomes of the sensitive columns before a model that is not to see them.

    Parameters
    ----------
    columns : tuple of int
        Their positions.
    values : tuple, or None
        The value that each of them has in all rows; None if they are left out.
    """

    columns: tuple[int, ...]
    values: tuple[Any, ...] | None

    @classmethod
    def of(cls, setting: Setting, hold: bool) -> "Hiding":
        """Return how the attribute of a table is hidden: its columns held at one value, or left out."""
        columns = () if setting.added else setting.columns
        if not hold:
            return cls(columns, None)
        row = np.flatnonzero(setting.groups.side >= 0)[:1]
        return cls(columns, tuple(setting.own.store.values(column, row)[0] for column in columns))

    @property
    def dropped(self) -> tuple[int, ...]:
        """The columns that are left out."""
        return self.columns if self.values is None else ()

    def apply(self, store: Store) -> Native:
        """Return a table whose attribute is hidden, in its own type."""
        if self.values is None:
            return store.compose([k for k in range(len(store.names)) if k not in self.columns])
        rows = np.arange(store.n_rows)
        cells = zip(self.columns, self.values, strict=True)
        return store.assign({column: (rows, [value] * store.n_rows) for column, value in cells})
