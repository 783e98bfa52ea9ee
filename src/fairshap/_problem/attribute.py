"""The values of a sensitive attribute of one or several columns, and which of them are privileged."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._frames import Table
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import GroupError

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
