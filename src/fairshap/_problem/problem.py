"""One problem, read once: the table, its sensitive attribute and groups, its target and weights."""

import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from numbers import Number
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from fairshap._frames import Store, Table, is_missing, open_store, read_column, show
from fairshap._messages import listing, quote_name, warn
from fairshap._problem.groups import (
    Groups,
    Privileged,
    known_values,
    read_attribute,
    sides_of_quantity,
    split_quantity,
)
from fairshap._problem.target import Target, read_target
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import CopiedAttributeWarning, InputError, OrderWarning, TargetError

_wrong_column, _wrong_beside = (
    partial(InputError, parameter=name) for name in ("sensitive", "sensitive_features")
)
# Values of a group that are named; the rest are counted.
_VALUES = 4
# Values that a copy of the attribute has at most, and rows that each of them has in the mean: any column of
# values that hardly occur twice, such as a number for each person, tells everything.
_MOST_VALUES, _ROWS_A_VALUE = 100, 10
# How unlikely it must be that the attribute, dealt out to the rows at random, is told as well as it is.
_CHANCE = np.log(1e-9)
# Rows that are looked at first, which nearly all columns fail at, and columns up to which pairs are tried.
_FIRST_ROWS, _MOST_COLUMNS = 2000, 100
# Copies that are named; the rest are counted.
_COPIES = 5
# Side, group and code of a value that the whole table lacks.
_NOWHERE = (-1, -1, -1)


@dataclass(frozen=True, slots=True)
class Problem:
    """A table, the sensitive attribute that goes with it, and the groups that it makes."""

    own: Table
    #: What the model sees: the user's table, and the attribute as a last column if that does not hold it.
    table: Table
    #: The positions of the attribute, or of several, in ``table``.
    columns: tuple[int, ...]
    groups: Groups
    #: Which values are privileged, as the user said it.
    privileged: Privileged
    #: The attributes as they were added; none where they are columns of the user's table.
    added: tuple[Any, ...] = ()
    target: Target | None = None
    sample_weight: Floats | None = None
    #: The attribute beside the table, as the user gave it.
    beside: Any = None
    #: What ledgers call the rows of ``table``; None if it is their position, from where references begin too.
    numbers: Ints | None = None

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
        own = table = Table.read(X)
        added: list[Any] = []
        if sensitive_features is None:
            columns = find_columns(sensitive, own)
            groups = Groups.read(own, columns, privileged, **options)
        else:
            alone = _read_beside(sensitive_features, own, sensitive)
            check_order(X, sensitive_features, "sensitive_features")
            groups = Groups.read(alone, range(len(alone.names)), privileged, **options)
            added = [_as_added(alone, k, own, is_fitted) for k in range(len(alone.names))]
            table = Table.of(_append(own.store, alone.names, added))
            columns = tuple(range(len(own.names), len(table.names)))
        target = None
        if y is not None:
            check_order(X, y, "y")
            target = Target.read(y, own.n_rows, positive, bins, is_quantity)
        weights = check_weights(sample_weight, own.n_rows)
        return cls(own, table, columns, groups, privileged, tuple(added), target, weights, sensitive_features)

    @property
    def y(self) -> Target:
        """The target, for steps that cannot do without one."""
        if self.target is None:
            raise TargetError("fairshap requires y to be passed, but the target y is None.", parameter="y")
        return self.target

    @property
    def side_names(self) -> tuple[str, str]:
        """What the unprivileged and the privileged side are called."""
        return side_names(self.privileged, self.groups)

    def numbers_of(self, rows: Ints) -> Ints:
        """Return what ledgers call rows of ``table``."""
        return rows % self.own.n_rows if self.numbers is None else self.numbers[rows]

    @property
    def privileged_in_parts(self) -> Privileged:
        """Which values are privileged in parts of this table, which need not hold all of them."""
        return known_values(self.privileged, len(self.columns))

    @property
    def of_scores(self) -> "Problem":
        """The problem in which the attribute is a column like any other, and its values are not compared."""
        donors = np.broadcast_to(np.int64(0), (len(self.groups.side), 1))
        groups = replace(self.groups, donors=donors, contrasts=(), by_row=False)
        return replace(self, columns=(), groups=groups)

    @property
    def gap_sign(self) -> Floats:
        """Which way a row's score counts in the gap between it and its reference.

        It is 1 for a privileged row and -1 for an unprivileged one; the other way round where the score is
        that of the negative label.
        """
        is_negative = self.target is not None and self.target.positive == 0
        return np.where((self.groups.side == 1) != is_negative, 1.0, -1.0)

    @property
    def without_added(self) -> "Problem":
        """The problem whose model does not see an attribute beside the table: that only makes the groups."""
        return replace(self, table=self.own, columns=(), added=()) if self.added else self

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
        return _append(open_store(X), [self.table.names[column] for column in self.columns], self.added)


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
        if self.known is None:
            side = split_quantity(table, self.columns[0], self.privileged, self.groups.name)
            return replace(self.groups, **sides_of_quantity(side, donors))
        attribute = read_attribute(table, self.columns, most_numbers=sys.maxsize)
        places = [*(self.known.get(value, _NOWHERE) for value in attribute.values), _NOWHERE]
        side, group, code = np.array(places, dtype=np.int64)[attribute.code].T
        return replace(
            self.groups,
            side=side.astype(np.int8),
            group=group,
            code=code,
            donors=np.broadcast_to(donors, (table.n_rows, len(donors))),
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


def side_names(privileged: Privileged, groups: Groups) -> tuple[str, str]:
    """Return what the unprivileged and the privileged side are called."""
    if callable(privileged):
        return "others", "chosen by a function"
    if isinstance(privileged, pd.Interval):
        return f"not in {privileged}", f"in {privileged}"
    lower, upper = (listing(values, _VALUES, lambda value: show(value, 40)) for values in groups.values)
    return lower, upper


def _append(store: Store, names: Sequence[Any], columns: Sequence[Any]) -> Store:
    return open_store(store.compose([*range(len(store.names)), *zip(names, columns, strict=True)]))


def _names(sensitive: Any, table: Table) -> list[Any]:
    """Return the names of the attributes: one, or those of a list or tuple that is no name itself."""
    if isinstance(sensitive, list) or (isinstance(sensitive, tuple) and sensitive not in table.names):
        return list(sensitive)
    return [sensitive]


def find_columns(sensitive: Any, table: Table) -> tuple[int, ...]:
    """Return the positions of the attribute, or of several, in a table."""
    if sensitive is None:
        raise _wrong_column(
            "sensitive is not given. Name the sensitive column of X, which has "
            f"{listing(table.names)}, or give sensitive_features, one value for each row."
        )
    columns = tuple(table.position(name, "sensitive") for name in _names(sensitive, table))
    if len(set(columns)) < len(columns) or not columns:
        raise _wrong_column(f"sensitive={sensitive!r} must name columns of X, each of them once.")
    return columns


def _read_beside(sensitive_features: Any, table: Table, sensitive: Any) -> Table:
    """Return the attributes that stand beside a table, under names that its library takes."""
    for name in _names(sensitive, table):
        if name is not None and name in table.names:
            raise _wrong_column(
                f"sensitive={name!r} is a column of X and sensitive_features is given too; "
                "give one of the two."
            )
    frame = read_column(sensitive_features, "sensitive")
    names = list(frame.columns) if sensitive is None else _names(sensitive, table)
    trouble = ""
    if not frame.shape[1]:
        trouble = "no columns; give the attribute."
    elif len(names) != frame.shape[1]:
        trouble = (
            f"{frame.shape[1]} columns, sensitive={sensitive!r} names {len(names)}; give a name for each, or "
            "leave sensitive out."
        )
    elif len(frame) != table.n_rows:
        trouble = f"{len(frame)} values, X has {table.n_rows} rows; give one for each row."
    if trouble:
        raise _wrong_beside(f"sensitive_features has {trouble}")
    if table.store.library != "pandas":
        names = [str(name) for name in names]
    elif not table.is_array and all(isinstance(known, int) for known in table.names):
        # scikit-learn refuses frames whose column names are numbers and text.
        last = max(cast("tuple[int, ...]", table.names))
        names = [last + 1 + k for k in range(len(names))]
    return Table.read(frame.set_axis(names, axis=1))


def _as_added(alone: Table, k: int, table: Table, is_fitted: bool) -> Any:
    """Return an attribute beside a table, which must not hold it too, as a column that its library takes."""
    for position, name in enumerate(table.names):
        if name == alone.names[k] or _is_copy(alone, k, table, position):
            raise _wrong_beside(
                f"sensitive_features is the column {name!r} of X. Give sensitive={name!r} instead, or leave "
                "the column out of X."
            )
    if table.store.library == "pandas" and not table.is_array:
        return alone.native.iloc[:, k]
    if not (table.is_array and table.store.native.dtype.kind in "biuf"):
        values = alone.store.values(k, np.arange(table.n_rows))
        return [None if is_missing(value) else value for value in values]
    cells = alone.column(k)
    if alone.is_numeric(k):
        return cells
    # The last place is for a missing value, whose code is -1.
    values = [*alone.store.values(k, alone.distinct(k)), np.nan]
    if all(isinstance(value, Number) for value in values):
        return np.array(values, dtype=np.float64)[cells]
    if is_fitted:
        raise _wrong_beside(
            "sensitive_features holds words and X is an array of numbers; give the numbers that the "
            "model was fitted with instead of the words."
        )
    # Words become numbers in the order of their appearance.
    return np.where(cells < 0, np.nan, cells.astype(np.float64))


def _is_copy(alone: Table, k: int, table: Table, position: int) -> bool:
    return (
        alone.is_numeric(k) == table.is_numeric(position)
        and np.array_equal(alone.column(k), table.column(position), equal_nan=True)
        and alone.store.values(k, alone.distinct(k)) == table.store.values(position, table.distinct(position))
    )


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


def warn_of_copies(problem: Problem) -> None:
    """Warn of columns that tell the attribute exactly, alone or two together.

    It is a matter of the whole table, so that it is not looked for in each fold.
    """
    names, side = problem.table.names, problem.groups.side.astype(np.int64)
    attributes = [(problem.groups.name, side)]
    if len(problem.columns) > 1:
        # Where one is missing, the row is on no side.
        codes = ((names[j], problem.table.numbered(j)) for j in problem.columns)
        attributes += [(name, np.where(side < 0, -1, code)) for name, code in codes]
    found = [
        f"{' with '.join(repr(names[column]) for column in columns)} tells {quote_name(name)} exactly"
        for name, attribute in attributes
        for columns in _find_copies(problem, attribute)
    ]
    if not found:
        return
    # To an attribute beside the table no column of it can be added.
    too = "" if problem.added else ", or name it in sensitive too, so that they are switched together"
    warn(
        f"{listing(found, _COPIES, str, '; ')}. A model can read the attribute from there: it then reacts "
        "too little to a switch of the attribute alone, and its discriminative risk is too small. Leave such "
        f"a column out{too}.",
        CopiedAttributeWarning,
        parameter="sensitive",
    )


def _find_copies(problem: Problem, attribute: Ints) -> Iterator[tuple[int, ...]]:
    """Yield the columns, one or two together, each value of which goes with one value of the attribute.

    Of two together, each has a value that tells the attribute by itself, as the dummies of an attribute of
    three values have. Where it takes both in every row, they are columns of their own, not a copy.
    """
    most = max(2, _FIRST_ROWS // (int(attribute.max()) + 1))
    by_value = [np.flatnonzero(attribute == value) for value in range(attribute.max() + 1)]
    # Of each value some rows far apart from each other.
    spread = [rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64)] for rows in by_value]
    first = _Telling(problem.table, np.concatenate(spread), attribute)
    whole = _Telling(problem.table, np.flatnonzero(attribute >= 0), attribute)
    parts = []
    for column in range(len(problem.table.names)):
        told = first.told(column)
        if column in problem.columns or not 1 < len(told) <= _MOST_VALUES:
            continue
        if told.all() and whole.tell_for_sure(column):
            yield (column,)
        elif told.any():
            parts.append(column)
    if len(parts) <= _MOST_COLUMNS:
        for pair in combinations(parts, 2):
            if first.told(*pair).all() and whole.tell_for_sure(*pair):
                yield pair


class _Telling:
    """What columns tell of the attribute in some rows of a table."""

    def __init__(self, table: Table, rows: Ints, attribute: Ints) -> None:
        self.table, self.rows, self.attribute = table, rows, attribute[rows]
        self.known: dict[int, Ints] = {}

    def codes(self, *columns: int) -> Ints:
        """Return for each row the number of its value in a column, or of its values in two."""
        for column in columns:
            if column not in self.known:
                # A missing value is a value too.
                cells = self.table.column(column)[self.rows]
                self.known[column], _ = pd.factorize(cells, use_na_sentinel=False)
        first, *others = (self.known[column] for column in columns)
        return pd.factorize(first * (others[0].max() + 1) + others[0])[0] if others else first

    def told(self, *columns: int) -> Ints:
        """Return how many rows each value has, 0 if these do not all have the same attribute."""
        code = self.codes(*columns)
        counts = np.bincount(code)
        attribute = np.empty(len(counts), dtype=np.int64)
        attribute[code] = self.attribute
        counts[code[attribute[code] != self.attribute]] = 0
        return counts

    def tell_for_sure(self, *columns: int) -> bool:
        """Say whether they tell it by few values that are frequent enough for that to be no chance."""
        most = min(_MOST_VALUES, len(self.rows) // _ROWS_A_VALUE)
        # Each by itself first: two columns of many values have too many together to be counted.
        for told in (self.told(column) for column in columns):
            if len(told) > most or told.max() < _ROWS_A_VALUE:
                return False
        told = self.told(*columns)
        if len(told) > most or not told.all():
            return False
        # So many ways to deal the attribute out to the rows; and at most so many that are told by the column.
        counts = np.bincount(self.attribute)
        ways = gammaln(len(self.rows) + 1) - gammaln(counts + 1).sum()
        return bool(len(told) * np.log(np.count_nonzero(counts)) - ways < _CHANCE)
