"""Where the sensitive attribute comes from: a column of the table, or beside it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from fairshap._messages import listing, warn
from fairshap._typing import Native
from fairshap.exceptions import InputError, OrderWarning
from fairshap.groups._groups import Groups, Privileged
from fairshap.table import Table, is_missing, open_store, read_column


@dataclass(frozen=True, slots=True)
class Setting:
    """A table, the sensitive attribute that goes with it, and the groups that it makes.

    Parameters
    ----------
    own : Table
        The user's table.
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

    own: Table
    table: Table
    column: int
    groups: Groups
    added: Any = None

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
            return cls(table, table, column, Groups.read(table, column, privileged))
        if sensitive is not None and sensitive in table.names:
            raise InputError(
                f"sensitive={sensitive!r} is a column of X and sensitive_features is given too; "
                "give one of the two."
            )
        alone = _read_beside(sensitive_features, table.n_rows, sensitive)
        _check_not_inside(alone, table)
        check_order(X, sensitive_features, "sensitive_features")
        groups = Groups.read(alone, 0, privileged)
        name = alone.names[0]
        if table.is_array and table.store.native.dtype.kind in "biuf" and not alone.is_numeric(0):
            codes = alone.column(0).astype(np.float64)
            codes[codes < 0] = np.nan
            added: Any = codes
        else:
            added = _as_column(alone, table)
        extended = Table.of(table.store.append(name, added))
        return cls(table, extended, len(table.names), groups, added)

    def with_references(self, R: Native) -> "Setting":
        """Return the setting of this table's rows with those of R, one for each, below them."""
        table = self.own.above(R)
        if self.added is not None:
            below = open_store(R).append(self.table.names[-1], self.added)
            table = Table.of(self.table.store.stack(below))
        return replace(self, table=table)


def _check_not_inside(alone: Table, table: Table) -> None:
    """Raise an error if the table holds the attribute after all: a copy of it would be edited."""
    for position, name in enumerate(table.names):
        if name == alone.names[0] or _is_copy(alone, table, position):
            raise InputError(
                f"sensitive_features is the column {name!r} of X. Give sensitive={name!r} instead, or leave "
                "the column out of X."
            )


def _is_copy(alone: Table, table: Table, position: int) -> bool:
    if alone.is_numeric(0) != table.is_numeric(position):
        return False
    if not np.array_equal(alone.column(0), table.column(position), equal_nan=True):
        return False
    values = [t.store.values(j, t.distinct(j)) for t, j in ((alone, 0), (table, position))]
    return values[0] == values[1]


def check_order(X: Native, beside: Any, what: str) -> None:
    """Warn if a series has the index labels of the frame in another order: rows go by position."""
    if not isinstance(X, pd.DataFrame) or not isinstance(beside, pd.Series):
        return
    if X.index.equals(beside.index) or len(X) != len(beside):
        return
    if not X.index.has_duplicates and X.index.sort_values().equals(beside.index.sort_values()):
        warn(
            f"{what} has the index labels of X in another order. Rows are paired by their position, not by "
            f"label: use {what}.loc[X.index] if the labels are meant.",
            OrderWarning,
        )


def _read_beside(sensitive_features: Any, n_rows: int, sensitive: Any) -> Table:
    """Return the attribute that stands beside the table as a table of one column."""
    name = sensitive if sensitive is not None else getattr(sensitive_features, "name", None)
    columns = getattr(sensitive_features, "columns", None)
    if name is None and columns is not None and len(columns):
        name = columns[0]
    frame = read_column(sensitive_features, "sensitive" if name is None else name)
    if frame.shape[1] != 1:
        raise InputError(f"sensitive_features has {frame.shape[1]} columns; give one attribute.")
    if len(frame) != n_rows:
        raise InputError(
            f"sensitive_features has {len(frame)} values, X has {n_rows} rows; give one for each row."
        )
    return Table.read(frame)


def _as_column(alone: Table, table: Table) -> Any:
    """Return the attribute as the table's library takes it."""
    if table.store.library == "pandas" and not table.is_array:
        return alone.native.iloc[:, 0]
    values = alone.store.values(0, np.arange(alone.n_rows))
    return [None if is_missing(value) else value for value in values]
