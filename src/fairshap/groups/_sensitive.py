"""Where the sensitive attribute comes from: a column of the table, or beside it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairshap._messages import listing
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.groups._groups import Groups, Privileged
from fairshap.table import Table, is_missing, open_store


@dataclass(frozen=True, slots=True)
class Setting:
    """A table, the sensitive attribute that goes with it, and the groups that it makes.

    Parameters
    ----------
    table : Table
        What the model sees: the user's table, and the attribute as a last column where the user's
        table does not hold it.
    column : int
        The position of the attribute in ``table``.
    groups : Groups
        The two sides.
    added : object, optional
        The attribute as it was added; None where it is a column of the user's table.
    """

    table: Table
    column: int
    groups: Groups
    added: Any = None

    @property
    def width(self) -> int:
        """How many columns the user's own table has."""
        return len(self.table.names) - (self.added is not None)

    @classmethod
    def read(
        cls, X: Any, sensitive: Any, privileged: Privileged, sensitive_features: Any = None
    ) -> "Setting":
        """Return the setting of a table whose attribute is one of its columns or stands beside it."""
        table = Table.read(X)
        if sensitive_features is None:
            if sensitive is None:
                raise InputError(
                    "sensitive is not given. Name the sensitive column of X, which has "
                    f"{listing(table.names)}, or give sensitive_features, one value for each row."
                )
            column = table.position(sensitive, "sensitive")
            return cls(table, column, Groups.read(table, column, privileged))
        if sensitive is not None and sensitive in table.names:
            raise InputError(
                f"sensitive={sensitive!r} is a column of X and sensitive_features is given too; "
                "give one of the two."
            )
        alone = _read_beside(sensitive_features, table.n_rows, sensitive)
        groups = Groups.read(alone, 0, privileged)
        name = alone.names[0]
        while name in table.names:
            name = f"{name}_"
        if table.is_array and table.store.native.dtype.kind in "biuf" and len(alone.codes.T):
            codes = alone.codes[:, 0].astype(np.float64)
            codes[codes < 0] = np.nan
            added: Any = codes
        else:
            added = _as_column(alone, table)
        extended = Table.of(table.store.append(name, added))
        return cls(extended, len(table.names), groups, added)

    def above(self, R: Native) -> "Setting":
        """Return the setting of this table's rows with those of R, one for each, below them."""
        below = open_store(R)
        table, width = self.table, self.width
        if type(below) is not type(table.store):
            raise InputError(
                f"X is a {type(table.native).__name__} and R a {type(R).__name__}; give both as the "
                "same type."
            )
        if below.names != table.names[:width]:
            raise InputError(
                f"R must have the columns of X in the same order. X has {listing(table.names[:width])}; "
                f"R has {listing(below.names)}."
            )
        if below.n_rows != table.n_rows:
            raise InputError(
                f"R must hold one reference row for each row of X: X has {table.n_rows} rows, R has "
                f"{below.n_rows}."
            )
        if self.added is not None:
            below = below.append(table.names[-1], self.added)
        return replace(self, table=Table.of(table.store.stack(below)))


def _read_beside(sensitive_features: Any, n_rows: int, sensitive: Any) -> Table:
    """Return the attribute that stands beside the table as a table of one column."""
    values = sensitive_features
    name = getattr(values, "name", None)
    if len(np.shape(values)) == 2 or hasattr(values, "columns"):
        store = open_store(values)
        if len(store.names) != 1:
            raise InputError(f"sensitive_features has {len(store.names)} columns; give one attribute.")
        name = None if isinstance(store.names[0], int) else store.names[0]
        values = store.values(0, np.arange(store.n_rows))
    elif not isinstance(values, pd.Series):
        values = values.to_list() if hasattr(values, "to_list") else np.asarray(values).tolist()
    if len(values) != n_rows:
        raise InputError(
            f"sensitive_features has {len(values)} values, X has {n_rows} rows; give one for each row."
        )
    column = sensitive if sensitive is not None else name if name is not None else "sensitive"
    return Table.read(pd.Series(values).reset_index(drop=True).to_frame(column))


def _as_column(alone: Table, table: Table) -> Any:
    """Return the attribute as the table's library takes it."""
    if table.store.library == "pandas" and not table.is_array:
        return alone.native.iloc[:, 0]
    values = alone.store.values(0, np.arange(alone.n_rows))
    return [None if is_missing(value) else value for value in values]
