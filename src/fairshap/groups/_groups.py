"""Two groups from one sensitive attribute, and what it means to switch it."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Bools, Floats, Ints, Sides
from fairshap.exceptions import GroupError
from fairshap.table import Table, is_missing

#: A value, several values, an interval, or a function from the values to a mask.
Privileged: TypeAlias = Any

# A numeric attribute with more values than this is a quantity, of which no single value is a group.
_MOST_NUMERIC_VALUES = 32


@dataclass(frozen=True, slots=True)
class Groups:
    """Which side each row stands on, and which values its attribute is switched between.

    Parameters
    ----------
    name : hashable
        The sensitive attribute.
    side : ndarray of int8, shape (rows,)
        1 privileged, 0 not privileged, -1 where the attribute is missing.
    values : tuple of tuple
        The values of the unprivileged and of the privileged side; of a quantity its two medians.
    donors : ndarray of int, shape (rows, alternatives)
        For each row and each value that its attribute is set to: a row that has that value.
    contrasts : tuple of pairs
        Which alternatives are compared; the risk of a row is the largest difference among them.
    by_row : bool
        Whether the alternatives are the row's own (a quantity) or the same for all rows.
    """

    name: Hashable
    side: Sides
    values: tuple[tuple[Any, ...], tuple[Any, ...]]
    donors: Ints
    contrasts: tuple[tuple[int, int], ...]
    by_row: bool

    @property
    def n_missing(self) -> int:
        """The number of rows whose attribute is missing."""
        return int(np.count_nonzero(self.side < 0))

    @classmethod
    def read(cls, table: Table, column: int, privileged: Privileged) -> "Groups":
        """Return the groups by one column of a table.

        A value or several values name the privileged side of a category, and every privileged value
        is compared with every other one. An interval or a function splits a quantity, whose
        value is then compared with the median of the other side.
        """
        name = table.names[column]
        keys = _keys(table, column)
        present = ~np.isnan(keys)
        if is_missing(privileged):
            values = table.store.values(column, table.distinct(column))
            raise GroupError(
                f"privileged is not given. {name!r} holds {listing(values)}; say which is privileged."
            )
        if table.is_numeric(column) and (callable(privileged) or isinstance(privileged, pd.Interval)):
            mask = np.zeros(len(keys), dtype=np.bool_)
            rows = np.flatnonzero(present)
            if len(rows):
                mask[rows] = _split(_quantities(table, column, rows, keys), privileged, name)
            return cls._of_quantity(table, column, keys, mask)
        return cls._of_values(table, column, keys, privileged)

    @classmethod
    def _of_quantity(cls, table: Table, column: int, keys: Floats, mask: Bools) -> "Groups":
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
            (values[0], values[1]),
            np.column_stack([rows, other]),
            ((0, 1),),
            by_row=True,
        )

    @classmethod
    def _of_values(cls, table: Table, column: int, keys: Floats, privileged: Privileged) -> "Groups":
        name = table.names[column]
        firsts = table.distinct(column)
        values = table.store.values(column, firsts)
        if table.is_numeric(column) and len(values) > _MOST_NUMERIC_VALUES:
            raise GroupError(
                f"{name!r} is a quantity with {len(values)} distinct values; say which range is "
                f"privileged, for example privileged=pandas.Interval(25, 60), or a function of the "
                "values, for example privileged=lambda age: age > 25."
            )
        chosen = _chosen(values, privileged, name)
        side = np.full(table.n_rows, -1, dtype=np.int8)
        for first_row, is_privileged in zip(firsts, chosen, strict=True):
            side[keys == keys[first_row]] = is_privileged
        _check_both(side, name, f"privileged={privileged!r} picks")
        return cls(
            name,
            side,
            (
                tuple(v for v, p in zip(values, chosen, strict=True) if not p),
                tuple(v for v, p in zip(values, chosen, strict=True) if p),
            ),
            np.broadcast_to(firsts, (table.n_rows, len(firsts))),
            tuple(
                (a, b) for a in range(len(values)) for b in range(len(values)) if not chosen[a] and chosen[b]
            ),
            by_row=False,
        )


def _keys(table: Table, column: int) -> Floats:
    """Return numbers that are equal where the cells are equal, NaN where one is missing."""
    cells = table.column(column)
    return cells if table.is_numeric(column) else np.where(cells < 0, np.nan, cells)


def _split(values: NDArray[Any], privileged: Privileged, name: Hashable) -> Bools:
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
            f"{len(values)} values."
        )
    return mask


def _end(end: Any, values: NDArray[Any], name: Hashable) -> Any:
    """Return an end of an interval as something that the values can be compared with."""
    if (values.dtype.kind in "mM") != isinstance(end, (pd.Timestamp, pd.Timedelta)):
        raise GroupError(
            f"privileged is an interval of {type(end).__name__}, but {name!r} holds {values.dtype}."
        )
    if isinstance(end, pd.Timestamp) and end.tz is not None:
        end = end.tz_convert(None)
    return end.to_numpy() if values.dtype.kind in "mM" else end


def _quantities(table: Table, column: int, rows: Ints, keys: Floats) -> NDArray[Any]:
    """Return numbers as float64, and dates as numpy's, in UTC where they have a time zone."""
    first = table.store.values(column, rows[:1])[0]
    if isinstance(first, (date, timedelta)):
        index = pd.Index(table.store.values(column, rows))
        if isinstance(first, timedelta):
            return np.asarray(pd.to_timedelta(index))
        return np.asarray(pd.to_datetime(index, utc=True).tz_convert(None))
    return keys[rows]


def _chosen(values: list[Any], privileged: Privileged, name: Hashable) -> list[bool]:
    """Return for each value whether it is privileged."""
    if isinstance(privileged, pd.Interval):
        raise GroupError(
            f"privileged is an interval, but {name!r} holds categories: {listing(values)}. "
            "Name the privileged one."
        )
    if callable(privileged):
        known: Callable[[Any], Any] = privileged
        array = np.empty(len(values), dtype=object)
        array[:] = values
        mask = np.asarray(known(array), dtype=object)
        if mask.shape != array.shape:
            raise GroupError(
                f"privileged, a function of the values of {name!r}, must return one boolean for "
                f"each value; it returned shape {mask.shape} for {len(values)} values."
            )
        return [bool(item) for item in mask]
    wanted = list(privileged) if _is_several(privileged) else [privileged]
    for value in wanted:
        if not any(_same(value, known) for known in values):
            raise GroupError(
                f"privileged={value!r} does not occur in {name!r}, which holds {listing(values)}."
                f"{did_you_mean(value, values)}"
            )
    return [any(_same(value, known) for value in wanted) for known in values]


def _is_several(privileged: Privileged) -> bool:
    return isinstance(privileged, Iterable) and not isinstance(privileged, (str, bytes))


def _same(wanted: Any, known: Any) -> bool:
    return bool(wanted == known)


def _check_both(side: Sides, name: Hashable, what: str) -> None:
    for s, word in ((1, "none"), (0, "all")):
        if not (side == s).any():
            raise GroupError(
                f"{name!r} does not split the {int((side >= 0).sum())} rows into two groups: {what} "
                f"{word} of them. Two groups are needed, so more than one sample and more than one value."
            )


def _median_row(keys: Floats, rows: Ints) -> int:
    """Return a row that holds the median; of two middle values the lower, so that it is a real one."""
    order = np.argsort(keys[rows], kind="stable")
    return int(rows[order[(len(rows) - 1) // 2]])
