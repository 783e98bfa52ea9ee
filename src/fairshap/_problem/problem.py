"""One problem, read once: the table, its sensitive attribute and groups, its target and weights."""

from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, cast

import numpy as np
import pandas as pd

from fairshap._frames import Store, Table, is_missing, open_store, read_column, show
from fairshap._messages import listing, warn
from fairshap._problem.groups import Groups, Privileged, known_values
from fairshap._problem.target import Target
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError, OrderWarning, TargetError

# Values of a group that are named; the rest are counted.
_VALUES = 4


@dataclass(frozen=True, slots=True)
class Problem:
    """A table, the sensitive attribute that goes with it, and the groups that it makes.

    Parameters
    ----------
    own : Table
        The user's table.
    table : Table
        What the model sees: the user's table, and the attribute as a last column where the user's
        table does not hold it.
    columns : tuple of int
        The positions of the attribute, or of several, in ``table``.
    groups : Groups
        The two sides.
    privileged : object
        Which values are privileged, as the user said it.
    added : tuple
        The attributes as they were added; none where they are columns of the user's table.
    target : Target, or None
        The target, if it was given.
    sample_weight : ndarray of float, or None
        The weights of the rows, if they were given.
    """

    own: Table
    table: Table
    columns: tuple[int, ...]
    groups: Groups
    privileged: Privileged
    added: tuple[Any, ...] = ()
    target: Target | None = None
    sample_weight: Floats | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any = None,
        *,
        sensitive: Any,
        privileged: Privileged,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        is_fitted: bool = True,
        positive: Any = None,
        bins: int | None = None,
        is_quantity: bool | None = None,
        **options: Any,
    ) -> "Problem":
        """Return the problem of a table whose attribute is one of its columns, or several, or beside it.

        ``is_fitted`` says that the model to be explained exists already, so that a numbering of words, which
        it cannot know, is refused. ``positive``, ``bins`` and ``is_quantity`` are those of
        :meth:`Target.read`, the other options those of :meth:`Groups.read`.
        """
        problem = cls._read_groups(X, sensitive, privileged, sensitive_features, is_fitted, options)
        if y is not None:
            check_order(X, y, "y")
        n_rows = problem.own.n_rows
        return replace(
            problem,
            target=None if y is None else Target.read(y, n_rows, positive, bins, is_quantity),
            sample_weight=check_weights(sample_weight, n_rows),
        )

    @classmethod
    def _read_groups(
        cls,
        X: Any,
        sensitive: Any,
        privileged: Privileged,
        sensitive_features: Any,
        is_fitted: bool,
        options: dict[str, Any],
    ) -> "Problem":
        table = Table.read(X)
        if sensitive_features is None:
            if sensitive is None:
                raise InputError(
                    "sensitive is not given. Name the sensitive column of X, which has "
                    f"{listing(table.names)}, or give sensitive_features, one value for each row.",
                    parameter="sensitive",
                )
            columns = tuple(table.position(name, "sensitive") for name in _names(sensitive, table))
            if len(set(columns)) < len(columns) or not columns:
                raise InputError(
                    f"sensitive={sensitive!r} must name columns of X, each of them once.",
                    parameter="sensitive",
                )
            return cls(table, table, columns, Groups.read(table, columns, privileged, **options), privileged)
        for name in _names(sensitive, table):
            if name is not None and name in table.names:
                raise InputError(
                    f"sensitive={name!r} is a column of X and sensitive_features is given too; "
                    "give one of the two.",
                    parameter="sensitive",
                )
        alone = _read_beside(sensitive_features, table, sensitive)
        check_order(X, sensitive_features, "sensitive_features")
        groups = Groups.read(alone, range(len(alone.names)), privileged, **options)
        store, added = table.store, []
        for k, name in enumerate(alone.names):
            one = Table.read(alone.native.iloc[:, [k]])
            _check_not_inside(one, table)
            is_number = table.is_array and table.store.native.dtype.kind in "biuf"
            added.append(_as_numbers(one, is_fitted) if is_number else _as_column(one, table))
            store = store.append(name, added[-1])
        columns = tuple(range(len(table.names), len(table.names) + len(added)))
        return cls(table, Table.of(store), columns, groups, privileged, tuple(added))

    @property
    def y(self) -> Target:
        """The target, for steps that cannot do without one."""
        if self.target is None:
            raise TargetError("fairshap requires y to be passed, but the target y is None.")
        return self.target

    @property
    def side_names(self) -> tuple[str, str]:
        """What the unprivileged and the privileged side are called."""
        if callable(self.privileged):
            return "others", "chosen by a function"
        if isinstance(self.privileged, pd.Interval):
            return f"not in {self.privileged}", f"in {self.privileged}"
        names = []
        for values in self.groups.values:
            rest = len(values) - _VALUES
            shown = ", ".join(show(value, 40) for value in values[:_VALUES])
            names.append(shown + (f" and {rest} more" if rest > 0 else ""))
        return names[0], names[1]

    @property
    def privileged_in_parts(self) -> Privileged:
        """Which values are privileged in parts of this table, which need not hold all of them."""
        return known_values(self.privileged, self.groups.name)

    def with_references(self, R: Native) -> "Problem":
        """Return the problem of this table's rows with those of R, one for each, below them."""
        table = self.own.above(R)
        if self.added:
            table = Table.of(self.table.store.stack(self._with_attribute(R)))
        return replace(self, table=table)

    def with_cells(self, X: Native) -> "Problem":
        """Return the problem of the same rows with other cells; the attribute and the groups stay."""
        own = Table.read(X)
        return replace(self, own=own, table=Table.of(self._with_attribute(X)) if self.added else own)

    def _with_attribute(self, X: Native) -> Store:
        """Return a table's rows with the attribute that stands beside them."""
        store = open_store(X)
        for column, added in zip(self.columns, self.added, strict=True):
            store = store.append(self.table.names[column], added)
        return store


def _names(sensitive: Any, table: Table) -> list[Any]:
    """Return the names of the attributes: one, or those of a list or tuple that is no name itself."""
    if isinstance(sensitive, list) or (isinstance(sensitive, tuple) and sensitive not in table.names):
        return list(sensitive)
    return [sensitive]


def _check_not_inside(alone: Table, table: Table) -> None:
    """Raise an error if the table holds the attribute after all: a copy of it would be edited."""
    for position, name in enumerate(table.names):
        if name == alone.names[0] or _is_copy(alone, table, position):
            raise InputError(
                f"sensitive_features is the column {name!r} of X. Give sensitive={name!r} instead, or leave "
                "the column out of X.",
                parameter="sensitive_features",
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
    """Return the attributes that stand beside the table as a table of their own."""
    frame = read_column(sensitive_features, "sensitive")
    if frame.shape[1] > 1:
        if sensitive is not None and len(_names(sensitive, table)) != frame.shape[1]:
            raise InputError(
                f"sensitive_features has {frame.shape[1]} columns, sensitive={sensitive!r} names "
                f"{len(_names(sensitive, table))}; give a name for each, or leave sensitive out.",
                parameter="sensitive_features",
            )
        return _beside(frame, table, list(frame.columns) if sensitive is None else list(sensitive))
    if not frame.shape[1]:
        raise InputError(
            "sensitive_features has no columns; give the attribute.", parameter="sensitive_features"
        )
    return _beside(frame, table, [frame.columns[0] if sensitive is None else sensitive])


def _beside(frame: pd.DataFrame, table: Table, names: list[Any]) -> Table:
    """Return the attributes beside a table under names that its library takes."""
    if len(frame) != table.n_rows:
        raise InputError(
            f"sensitive_features has {len(frame)} values, X has {table.n_rows} rows; give one for each row.",
            parameter="sensitive_features",
        )
    if table.store.library != "pandas":
        names = [str(name) for name in names]
    elif not table.is_array and all(isinstance(known, int) for known in table.names):
        # scikit-learn refuses frames whose column names are numbers and text.
        last = max(cast("tuple[int, ...]", table.names))
        names = [last + 1 + k for k in range(len(names))]
    return Table.read(frame.set_axis(names, axis=1))


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
            "was fitted with instead of the words.",
            parameter="sensitive_features",
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


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as an array of one number for each row."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}; one weight for each of {n_rows} rows is needed.",
            parameter="sample_weight",
        )
    bad = ~(weights >= 0) | np.isinf(weights)
    if bad.any():
        raise InputError(
            f"sample_weight holds {weights[bad][0]} in row {int(bad.argmax())}; "
            "weights are numbers from 0 on.",
            parameter="sample_weight",
        )
    return weights


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
    def of(cls, problem: Problem, hold: bool) -> "Hiding":
        """Return how the attribute of a table is hidden: its columns held at one value, or left out."""
        columns = () if problem.added else problem.columns
        if not hold:
            return cls(columns, None)
        row = np.flatnonzero(problem.groups.side >= 0)[:1]
        return cls(columns, tuple(problem.own.store.values(column, row)[0] for column in columns))

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
