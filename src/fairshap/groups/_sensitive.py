"""Where the sensitive attribute comes from: a column of the table, or beside it."""

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, cast

import numpy as np
import pandas as pd

from fairshap._messages import listing, warn
from fairshap._typing import Floats, Native
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
        cls,
        X: Any,
        sensitive: Any,
        privileged: Privileged,
        sensitive_features: Any = None,
        is_fitted: bool = True,
    ) -> "Setting":
        """Return the setting of a table whose attribute is one of its columns or stands beside it.

        ``is_fitted`` says that the model to be asked exists already, so that a numbering of words, which
        it cannot know, is refused.
        """
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
        alone = _read_beside(sensitive_features, table, sensitive)
        _check_not_inside(alone, table)
        check_order(X, sensitive_features, "sensitive_features")
        groups = Groups.read(alone, 0, privileged)
        name = alone.names[0]
        if table.is_array and table.store.native.dtype.kind in "biuf":
            added: Any = _as_numbers(alone, is_fitted)
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


def _read_beside(sensitive_features: Any, table: Table, sensitive: Any) -> Table:
    """Return the attribute that stands beside the table as a table of one column."""
    frame = read_column(sensitive_features, "sensitive")
    if frame.shape[1] != 1:
        raise InputError(f"sensitive_features has {frame.shape[1]} columns; give one attribute.")
    if len(frame) != table.n_rows:
        raise InputError(
            f"sensitive_features has {len(frame)} values, X has {table.n_rows} rows; give one for each row."
        )
    name: Any = frame.columns[0] if sensitive is None else sensitive
    if table.store.library != "pandas":
        name = str(name)
    elif not table.is_array and all(isinstance(known, int) for known in table.names):
        # scikit-learn refuses frames whose column names are numbers and text.
        name = max(cast("tuple[int, ...]", table.names)) + 1
    return Table.read(frame.set_axis([name], axis=1))


def _as_numbers(alone: Table, is_fitted: bool) -> Floats:
    """Return the attribute as numbers: its own, or for words their order of appearance."""
    cells = alone.column(0)
    if alone.is_numeric(0):
        return np.asarray(cells, dtype=np.float64)
    values = _distinct(alone)
    if all(value is None or isinstance(value, Number) for value in values):
        numbers = np.array([np.nan if value is None else float(value) for value in values])
        return np.asarray(numbers[cells])
    if is_fitted:
        raise InputError(
            "sensitive_features holds words and X is an array of numbers; give the numbers that the model "
            "was fitted with instead of the words."
        )
    return np.where(cells < 0, np.nan, cells.astype(np.float64))


def _as_column(alone: Table, table: Table) -> Any:
    """Return the attribute as the table's library takes it."""
    if table.store.library == "pandas" and not table.is_array:
        return alone.native.iloc[:, 0]
    if alone.is_numeric(0):
        values = alone.store.values(0, np.arange(alone.n_rows))
        return [None if is_missing(value) else value for value in values]
    values = _distinct(alone)
    return [values[code] for code in alone.column(0).tolist()]


def _distinct(alone: Table) -> list[Any]:
    """Return the categories by their codes; the last place is for a missing one, whose code is -1."""
    return [*alone.store.values(0, alone.distinct(0)), None]
