"""Two sides from a sensitive attribute, and what it means to switch it."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairshap._frames import Table, is_missing
from fairshap._messages import did_you_mean, listing, warn
from fairshap._typing import Bools, Floats, Ints, Sides
from fairshap.exceptions import GroupError, InputError, PooledGroupsWarning

# A numeric attribute with more values than this is a quantity, of which no single value is a group.
_MOST_NUMERIC_VALUES = 32


class Attribute(NamedTuple):
    """The attribute of each row as the number of its value, -1 where it is missing.

    ``values`` are in the order of their appearance, and ``first`` is the row of each. The value of
    several columns is a tuple.
    """

    code: Ints
    values: list[Any]
    first: Ints


def read_attribute(
    table: Table, columns: Sequence[int], most_numbers: int = _MOST_NUMERIC_VALUES
) -> Attribute:
    """Return the attribute that some columns make together; it is missing where one of them is.

    Raises
    ------
    GroupError
        If a column of numbers has more values than ``most_numbers``: it is a quantity.
    """
    codes = np.empty((table.n_rows, len(columns)), dtype=np.int64)
    for k, column in enumerate(columns):
        cells = table.column(column)
        missing = np.isnan(cells) if table.is_numeric(column) else cells < 0
        distinct, codes[:, k] = np.unique(cells, return_inverse=True)
        n_values = len(distinct) - bool(missing.any())
        if table.is_numeric(column) and n_values > most_numbers:
            several = "Cut it into ranges first, for example with pandas.cut."
            alone = (
                "say which range is privileged, for example privileged=pandas.Interval(25, 60), or a "
                "function of the values, for example privileged=lambda age: age > 25."
            )
            raise GroupError(
                f"{table.names[column]!r} is a quantity with {n_values} distinct values; "
                f"{alone if len(columns) == 1 else several}",
                parameter="privileged",
            )
        codes[missing, k] = -1
    present = np.flatnonzero((codes >= 0).all(axis=1))
    _, first, code = np.unique(codes[present], axis=0, return_index=True, return_inverse=True)
    # Numbered in the order of their appearance.
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    number = np.full(table.n_rows, -1)
    number[present] = rank[code.ravel()]
    rows = present[first[order]]
    by_column = [table.store.values(column, rows) for column in columns]
    values = by_column[0] if len(columns) == 1 else list(zip(*by_column, strict=True))
    return Attribute(number, values, rows)


def split_quantity(values: NDArray[Any], privileged: Any, name: Hashable) -> Bools:
    """Return which of the values an interval or a function calls privileged."""
    if isinstance(privileged, pd.Interval):
        left, right = (_end(end, values, name) for end in (privileged.left, privileged.right))
        above = values >= left if privileged.closed_left else values > left
        below = values <= right if privileged.closed_right else values < right
        return np.asarray(above & below, dtype=np.bool_)
    mask = np.asarray(privileged(values))
    if mask.shape != values.shape or mask.dtype != np.bool_:
        raise GroupError(
            f"privileged, a function of the values of {name!r}, must return one boolean for each "
            f"value; it returned an array of type {mask.dtype} and shape {mask.shape} for "
            f"{len(values)} values.",
            parameter="privileged",
        )
    return mask


def _end(end: Any, values: NDArray[Any], name: Hashable) -> Any:
    """Return an end of an interval as something that the values can be compared with."""
    if (values.dtype.kind in "mM") != isinstance(end, (pd.Timestamp, pd.Timedelta)):
        raise GroupError(
            f"privileged is an interval of {type(end).__name__}, but {name!r} holds {values.dtype}.",
            parameter="privileged",
        )
    if isinstance(end, pd.Timestamp) and end.tz is not None:
        end = end.tz_convert(None)
    return end.to_numpy() if values.dtype.kind in "mM" else end


def quantities(table: Table, column: int, rows: Ints, keys: Floats) -> NDArray[Any]:
    """Return numbers as float64, and dates as numpy's, in UTC where they have a time zone."""
    first = table.store.values(column, rows[:1])[0]
    if isinstance(first, (date, timedelta)):
        index = pd.Index(table.store.values(column, rows))
        if isinstance(first, timedelta):
            return np.asarray(pd.to_timedelta(index))
        return np.asarray(pd.to_datetime(index, utc=True).tz_convert(None))
    return keys[rows]


class KnownValues(list[Any]):
    """Privileged values that a whole table holds, of which a part of it, such as a fold, may lack some."""


def known_values(privileged: Any, name: Hashable) -> Any:
    """Return what is privileged for parts of a table that holds all of it: several values as known ones."""
    is_several = not callable(privileged) and _is_several(privileged, name)
    return KnownValues(privileged) if is_several else privileged


def choose_values(values: list[Any], privileged: Any, name: Hashable) -> list[bool]:
    """Return for each value whether it is privileged."""
    if isinstance(privileged, pd.Interval):
        raise GroupError(
            f"privileged is an interval, but {name!r} holds categories: {listing(values)}. "
            "Name the privileged one.",
            parameter="privileged",
        )
    if callable(privileged):
        known: Callable[[Any], Any] = privileged
        array = np.empty(len(values), dtype=object)
        for k, value in enumerate(values):
            # One by one: a tuple would be taken for a row.
            array[k] = value
        mask = np.asarray(known(array), dtype=object)
        if mask.shape != array.shape:
            raise GroupError(
                f"privileged, a function of the values of {name!r}, must return one boolean for "
                f"each value; it returned shape {mask.shape} for {len(values)} values.",
                parameter="privileged",
            )
        return [bool(item) for item in mask]
    if isinstance(name, tuple) and not _are_tuples(privileged, len(name)):
        raise GroupError(
            f"privileged={privileged!r} does not name a value of each of {listing(name)}; give a tuple, for "
            f"example {values[0]!r}, or a list of tuples.",
            parameter="privileged",
        )
    wanted = list(privileged) if _is_several(privileged, name) else [privileged]
    for value in wanted:
        if not isinstance(privileged, KnownValues) and not any(_same(value, known) for known in values):
            raise GroupError(
                f"privileged={value!r} does not occur in {name!r}, which holds {listing(values)}."
                f"{did_you_mean(value, values)}",
                parameter="privileged",
            )
    return [any(_same(value, known) for value in wanted) for known in values]


def _is_several(privileged: Any, name: Hashable) -> bool:
    if isinstance(name, tuple) and isinstance(privileged, tuple):
        return isinstance(privileged[0], tuple)
    return isinstance(privileged, Iterable) and not isinstance(privileged, (str, bytes))


def _are_tuples(privileged: Any, width: int) -> bool:
    """Say whether the privileged values are ones of so many columns."""
    if not isinstance(privileged, Iterable) or isinstance(privileged, (str, bytes)):
        return False
    items = list(privileged)
    if isinstance(privileged, tuple) and not any(isinstance(item, tuple) for item in items):
        return len(items) == width
    return bool(items) and all(isinstance(item, tuple) and len(item) == width for item in items)


def _same(wanted: Any, known: Any) -> bool:
    return bool(wanted == known)


#: A value, several values, an interval, or a function from the values to a mask.
Privileged: TypeAlias = Any

# Rows that a group of several attributes has at least, where nothing else is said.
_FEW = 10

#: How several values of the attribute are compared.
Comparison: TypeAlias = Literal["max", "mean", "random"]
COMPARISONS = ("max", "mean", "random")


@dataclass(frozen=True, slots=True)
class Groups:
    """Which side each row stands on, and which values its attribute is switched between.

    Parameters
    ----------
    name : hashable
        The sensitive attribute; a tuple of names where there are several.
    side : ndarray of int8, shape (rows,)
        1 privileged, 0 not privileged, -1 where the attribute is missing.
    group : ndarray of int, shape (rows,)
        The unprivileged group of each row, from 0 on; -1 for the others.
    code : ndarray of int, shape (rows,)
        The group of each row among all groups that are compared, privileged ones included: one for each
        value (small ones as one), or the two sides of a quantity; -1 where the attribute is missing.
    names : tuple of str
        What these groups are called.
    values : tuple of tuple
        The values of the unprivileged and of the privileged side; of a quantity its two medians. A value of
        several attributes is a tuple.
    donors : ndarray of int, shape (rows, alternatives)
        For each row and each value that its attribute is set to: a row that has that value.
    contrasts : tuple of pairs
        Which alternatives are compared.
    is_mean : bool
        Whether the risk of a row is the mean of the differences among them, or the largest.
    by_row : bool
        Whether the alternatives are the row's own (a quantity, a value drawn for it) or the same for all.
    """

    name: Hashable
    side: Sides
    group: Ints
    code: Ints
    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], tuple[Any, ...]]
    donors: Ints
    contrasts: tuple[tuple[int, int], ...]
    is_mean: bool
    by_row: bool

    @property
    def n_missing(self) -> int:
        """The number of rows whose attribute is missing."""
        return int(np.count_nonzero(self.side < 0))

    @classmethod
    def read(
        cls,
        table: Table,
        columns: Sequence[int],
        privileged: Privileged,
        comparison: Comparison = "max",
        min_group_size: int | None = None,
        random_state: Any = None,
    ) -> "Groups":
        """Return the groups by some columns of a table.

        A value or several values name the privileged side of a category, and every privileged value is
        compared with every other one. An interval or a function splits a quantity, whose value is then
        compared with the median of the other side. Several columns make a group of each combination that
        occurs; unprivileged groups of fewer rows than ``min_group_size`` are taken as one. With more than two
        values the risk is the largest or the mean difference, or that between the row's own value and one of
        the other side that is drawn for it ("random").
        """
        if comparison not in COMPARISONS:
            raise InputError(
                f"comparison={comparison!r} is not known; give one of {listing(COMPARISONS)}."
                f"{did_you_mean(comparison, COMPARISONS)}",
                parameter="comparison",
            )
        _check_size(min_group_size)
        name = table.names[columns[0]] if len(columns) == 1 else tuple(table.names[c] for c in columns)
        if is_missing(privileged):
            values = read_attribute(table, columns).values
            raise GroupError(
                f"privileged is not given. {name!r} holds {listing(values)}; say which is privileged.",
                parameter="privileged",
            )
        column = columns[0]
        is_split = callable(privileged) or isinstance(privileged, pd.Interval)
        if len(columns) == 1 and table.is_numeric(column) and is_split:
            keys = table.column(column)
            mask = np.zeros(len(keys), dtype=np.bool_)
            rows = np.flatnonzero(~np.isnan(keys))
            if len(rows):
                mask[rows] = split_quantity(quantities(table, column, rows, keys), privileged, name)
            return cls._of_quantity(table, column, keys, mask, privileged)
        attribute = read_attribute(table, columns)
        least = (1 if len(columns) == 1 else _FEW) if min_group_size is None else min_group_size
        groups = cls._of_values(attribute, name, privileged, least, is_mean=comparison == "mean")
        return groups._drawn(random_state) if comparison == "random" else groups

    @classmethod
    def _of_quantity(
        cls, table: Table, column: int, keys: Floats, mask: Bools, privileged: Privileged
    ) -> "Groups":
        present = ~np.isnan(keys)
        side = np.where(present, mask, -1).astype(np.int8)
        _check_both(side, table.names[column], "privileged picks")
        medians = np.array([_median_row(keys, np.flatnonzero(side == s)) for s in (0, 1)])
        rows = np.arange(table.n_rows)
        other = np.where(side >= 0, medians[1 - np.maximum(side, 0)], rows)
        values = tuple((value,) for value in table.store.values(column, medians))
        return cls(
            table.names[column],
            side,
            np.where(side == 0, 0, -1),
            side.astype(np.int64),
            ("others", str(privileged) if isinstance(privileged, pd.Interval) else "privileged"),
            (values[0], values[1]),
            np.column_stack([rows, other]),
            ((0, 1),),
            is_mean=False,
            by_row=True,
        )

    @classmethod
    def _of_values(
        cls, attribute: Attribute, name: Hashable, privileged: Privileged, least: int, is_mean: bool
    ) -> "Groups":
        chosen = np.array(choose_values(attribute.values, privileged, name), dtype=np.bool_)
        side = np.where(attribute.code < 0, -1, chosen[attribute.code]).astype(np.int8)
        _check_both(side, name, f"privileged={privileged!r} picks")
        sizes = np.bincount(attribute.code[attribute.code >= 0], minlength=len(chosen))
        pool = _pool_small(attribute.values, sizes, chosen, least, name)
        unprivileged, group_of = np.unique(pool[~chosen], return_inverse=True)
        number = np.full(len(chosen), -1)
        number[~chosen] = group_of
        # A pooled group is switched to its most frequent value.
        kept = np.concatenate([unprivileged, np.flatnonzero(chosen)])
        kept.sort()
        donors = np.broadcast_to(attribute.first[kept], (len(side), len(kept)))
        contrasts = tuple(
            (a, b)
            for a in range(len(kept))
            for b in range(len(kept))
            if not chosen[kept[a]] and chosen[kept[b]]
        )
        return cls(
            name,
            side,
            np.where(attribute.code < 0, -1, number[attribute.code]),
            np.where(attribute.code < 0, -1, np.searchsorted(kept, pool)[attribute.code]),
            tuple(_name_of([v for v, p in zip(attribute.values, pool, strict=True) if p == k]) for k in kept),
            (
                tuple(v for v, p in zip(attribute.values, chosen, strict=True) if not p),
                tuple(v for v, p in zip(attribute.values, chosen, strict=True) if p),
            ),
            donors,
            contrasts,
            is_mean=is_mean,
            by_row=False,
        )

    def _drawn(self, random_state: Any) -> "Groups":
        """Return the groups in which each row is compared with one value of the other side, drawn for it."""
        rng = check_random_state(random_state)
        ends = [np.array(sorted({pair[s] for pair in self.contrasts})) for s in (0, 1)]
        other = np.arange(len(self.side))
        for s in (0, 1):
            rows = np.flatnonzero(self.side == s)
            drawn = ends[1 - s][rng.randint(len(ends[1 - s]), size=len(rows))]
            other[rows] = self.donors[rows, drawn]
        return replace(
            self,
            donors=np.column_stack([np.arange(len(self.side)), other]),
            contrasts=((0, 1),),
            by_row=True,
        )


def _pool_small(values: list[Any], sizes: Ints, chosen: Bools, least: int, name: Hashable) -> Ints:
    """Return for each value the one that stands for its group: itself, or the most frequent of a pool."""
    pool = np.arange(len(values))
    others = np.flatnonzero(~chosen)
    small = others[sizes[others] < least]
    if not len(small) or len(others) == 1:
        return pool
    if len(small) == 1:
        # One alone goes with the next smallest.
        rest = np.setdiff1d(others, small)
        small = np.append(small, rest[sizes[rest].argmin()])
    warn(
        f"{name!r}: the groups {listing([values[k] for k in small])} have {listing(sizes[small].tolist())} "
        f"rows, some fewer than min_group_size={least}; they are taken as one group.",
        PooledGroupsWarning,
    )
    pool[small] = small[sizes[small].argmax()]
    return pool


def _name_of(values: list[Any]) -> str:
    """Return what a group is called: its value, those of several columns, or all that are taken as one."""
    return ", ".join(" / ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values)


def _check_size(least: Any) -> None:
    if least is None:
        return
    if isinstance(least, (bool, np.bool_)) or not isinstance(least, (int, np.integer)) or least < 1:
        raise InputError(
            f"min_group_size={least!r} is not a number of rows; give a whole number from 1 on, or None.",
            parameter="min_group_size",
        )


def _check_both(side: Sides, name: Hashable, what: str) -> None:
    for s, word in ((1, "none"), (0, "all")):
        if not (side == s).any():
            raise GroupError(
                f"{name!r} does not split the {int((side >= 0).sum())} rows into two groups: {what} "
                f"{word} of them. Two groups are needed, so more than one sample and more than one value.",
                parameter="privileged",
            )


def _median_row(keys: Floats, rows: Ints) -> int:
    """Return a row that holds the median; of two middle values the lower, so that it is a real one."""
    order = np.argsort(keys[rows], kind="stable")
    return int(rows[order[(len(rows) - 1) // 2]])
