"""Two sides from a sensitive attribute, and what it means to switch it."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import compress, product
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fairshap._frames import Table, first_rows, is_missing
from fairshap._messages import check_choice, check_count, did_you_mean, listing, quote_name, warn
from fairshap._typing import Bools, Ints, Sides
from fairshap.exceptions import GroupError, PooledGroupsWarning

_wrong_groups = partial(GroupError, parameter="privileged")
#: A value, several values, an interval, or a function from the values to a mask.
Privileged: TypeAlias = Any
#: How several values of the attribute are compared.
Comparison: TypeAlias = Literal["max", "mean", "random"]
# A numeric attribute with more values than this is a quantity, of which no single value is a group.
_MOST_NUMERIC_VALUES = 32
# Rows that a group of several attributes has at least, where nothing else is said.
_FEW = 10


@dataclass(frozen=True, slots=True)
class Groups:
    """Which side each row stands on, and which values its attribute is switched between."""

    #: The sensitive attribute; a tuple of names where there are several.
    name: Hashable
    #: 1 privileged, 0 not privileged, -1 where the attribute is missing.
    side: Sides
    #: The unprivileged group of each row, from 0 on; -1 for the others.
    group: Ints
    #: The group of each row among all that are compared, privileged ones included: one for each value (small
    #: ones as one), or the two sides of a quantity; -1 where the attribute is missing.
    code: Ints
    #: What these groups are called.
    names: tuple[str, ...]
    #: The values of the unprivileged and of the privileged side; of a quantity its two medians.
    values: tuple[tuple[Any, ...], tuple[Any, ...]]
    #: For each row and each value that its attribute is set to, a row that has that value.
    donors: Ints
    #: Which pairs of these values are compared; without any, outputs count as they are.
    contrasts: tuple[tuple[int, int], ...]
    #: Whether the risk of a row is the mean of the differences among them, or the largest.
    is_mean: bool
    #: Whether the values are the row's own (a quantity, a value drawn for it) or the same for all.
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
        check_choice(comparison, "comparison", get_args(Comparison))
        least = (1 if len(columns) == 1 else _FEW) if min_group_size is None else min_group_size
        check_count(least, "min_group_size", ": a number of rows, or None")
        name = table.names[columns[0]] if len(columns) == 1 else tuple(table.names[c] for c in columns)
        if is_missing(privileged):
            values = read_attribute(table, columns).values
            raise _wrong_groups(
                f"privileged is not given. {name!r} holds {listing(values)}; say which is privileged."
            )
        is_split = callable(privileged) or isinstance(privileged, pd.Interval)
        if is_split and len(columns) == 1 and table.is_numeric(columns[0]):
            return cls._of_quantity(table, columns[0], privileged)
        groups = cls._of_values(table, columns, name, privileged, least, is_mean=comparison == "mean")
        return groups._drawn(random_state) if comparison == "random" else groups

    @classmethod
    def _of_quantity(cls, table: Table, column: int, privileged: Privileged) -> "Groups":
        name, keys = table.names[column], table.column(column)
        side = split_quantity(table, column, privileged, name)
        _check_both(side, name, "privileged picks")
        # Of two middle values the lower, so that it is a real one.
        ordered = np.argsort(keys, kind="stable")
        by_side = [ordered[side[ordered] == s] for s in (0, 1)]
        medians = np.array([rows[(len(rows) - 1) // 2] for rows in by_side])
        lower, upper = table.store.values(column, medians)
        return cls(
            name,
            **sides_of_quantity(side, medians),
            names=("others", str(privileged) if isinstance(privileged, pd.Interval) else "privileged"),
            values=((lower,), (upper,)),
            contrasts=((0, 1),),
            is_mean=False,
            by_row=True,
        )

    @classmethod
    def _of_values(
        cls,
        table: Table,
        columns: Sequence[int],
        name: Hashable,
        privileged: Privileged,
        least: int,
        is_mean: bool,
    ) -> "Groups":
        attribute = read_attribute(table, columns)
        chosen = _choose_values(attribute.values, privileged, name, len(columns))

        def by_row(of_values: Any) -> Ints:
            # The last place is for a missing value, whose code is -1.
            return np.append(of_values, -1)[attribute.code]

        side = by_row(chosen).astype(np.int8)
        _check_both(side, name, f"privileged={privileged!r} picks")
        sizes = np.bincount(attribute.code[attribute.code >= 0], minlength=len(chosen))
        pool = _pool_small(attribute.values, sizes, chosen, least, name)
        # A pooled group is switched to its most frequent value.
        kept = np.unique(pool)
        lower, upper = (np.flatnonzero(chosen[kept] == is_chosen).tolist() for is_chosen in (False, True))
        return cls(
            name,
            side,
            group=by_row(np.where(chosen, -1, np.searchsorted(np.unique(pool[~chosen]), pool))),
            code=by_row(np.searchsorted(kept, pool)),
            names=tuple(_name_of(list(compress(attribute.values, pool == k))) for k in kept),
            values=(tuple(compress(attribute.values, ~chosen)), tuple(compress(attribute.values, chosen))),
            donors=np.broadcast_to(attribute.first[kept], (len(side), len(kept))),
            contrasts=tuple(product(lower, upper)),
            is_mean=is_mean,
            by_row=False,
        )

    def _drawn(self, random_state: Any) -> "Groups":
        """Return the groups in which each row is compared with one value of the other side, drawn for it."""
        rng = check_random_state(random_state)
        own = np.arange(len(self.side))
        other = own.copy()
        for s in (0, 1):
            rows = np.flatnonzero(self.side == s)
            ends = np.unique([pair[1 - s] for pair in self.contrasts])
            other[rows] = self.donors[rows, ends[rng.randint(len(ends), size=len(rows))]]
        return replace(self, donors=np.column_stack([own, other]), contrasts=((0, 1),), by_row=True)


def _check_both(side: Sides, name: Hashable, what: str) -> None:
    for s, word in ((1, "none"), (0, "all")):
        if not (side == s).any():
            raise _wrong_groups(
                f"{quote_name(name)} does not split the {int((side >= 0).sum())} rows into two groups: "
                f"{what} {word} of them. Two groups are needed, so more than one sample and more than one "
                "value."
            )


def _pool_small(values: list[Any], sizes: Ints, chosen: Bools, least: int, name: Hashable) -> Ints:
    """Return for each value the one that stands for its group: itself, or the most frequent of a pool."""
    pool = np.arange(len(values))
    others = np.flatnonzero(~chosen)
    small = others[sizes[others] < least]
    if not len(small) or len(others) == 1:
        return pool
    said = "fewer"
    if len(small) == 1:
        # One alone goes with the next smallest.
        rest = np.setdiff1d(others, small)
        small, said = np.append(small, rest[sizes[rest].argmin()]), "one fewer"
    warn(
        f"{quote_name(name)}: the groups {listing([_name_of([values[k]]) for k in small])} have "
        f"{listing(sizes[small].tolist())} rows, {said} than {least}; they are taken as one group.",
        PooledGroupsWarning,
        hint="min_group_size sets that number.",
    )
    pool[small] = small[sizes[small].argmax()]
    return pool


def _name_of(values: list[Any]) -> str:
    """Return what a group is called: its value, those of several columns, or all that are taken as one."""
    return ", ".join(" / ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values)


class Attribute(NamedTuple):
    """The number of each row's value, -1 where it is missing; the values, and the row where each is first."""

    code: Ints
    values: list[Any]
    first: Ints


def read_attribute(
    table: Table, columns: Sequence[int], most_numbers: int = _MOST_NUMERIC_VALUES
) -> Attribute:
    """Return what columns make together, missing where one is; more than ``most_numbers`` are an error."""
    code = np.zeros(table.n_rows, dtype=np.int64)
    for column in columns:
        own = table.numbered(column)
        n_values = int(own.max()) + 1
        if table.is_numeric(column) and n_values > most_numbers:
            advice = (
                "say which range is privileged, for example privileged=pandas.Interval(25, 60), or a "
                "function of the values, for example privileged=lambda age: age > 25."
                if len(columns) == 1
                else "cut it into ranges first, for example with pandas.cut."
            )
            raise _wrong_groups(
                f"{table.names[column]!r} is a quantity with {n_values} distinct values; {advice}"
            )
        # Numbered anew by each column, in the order of appearance.
        code, _ = pd.factorize(np.where((code < 0) | (own < 0), np.nan, code * float(n_values) + own))
    first = first_rows(code)
    by_column = [table.store.values(column, first) for column in columns]
    return Attribute(code, by_column[0] if len(columns) == 1 else list(zip(*by_column, strict=True)), first)


class KnownValues(list[Any]):
    """Privileged values that a whole table holds, of which a part of it, such as a fold, may lack some."""


def known_values(privileged: Privileged, width: int) -> Privileged:
    """Return what is privileged for parts of a table that holds all of it: several values as known ones."""
    return KnownValues(privileged) if _is_several(privileged, width) else privileged


def _is_several(privileged: Privileged, width: int) -> bool:
    """Say whether several values are named; one of several columns is a tuple."""
    if callable(privileged) or isinstance(privileged, (str, bytes)) or not isinstance(privileged, Iterable):
        return False
    return width == 1 or not isinstance(privileged, tuple) or any(isinstance(v, tuple) for v in privileged)


def _choose_values(values: list[Any], privileged: Privileged, name: Any, width: int) -> Bools:
    """Return for each value whether it is privileged."""
    if isinstance(privileged, pd.Interval):
        raise _wrong_groups(
            f"privileged is an interval, but {name!r} holds categories: {listing(values)}. "
            "Name the privileged one."
        )
    if callable(privileged):
        # Of objects, so that a tuple is not taken for a row.
        return _call(privileged, pd.Series(values, dtype=object).to_numpy(), name)
    wanted = list(privileged) if _is_several(privileged, width) else [privileged]
    if width > 1 and not (wanted and all(isinstance(v, tuple) and len(v) == width for v in wanted)):
        raise _wrong_groups(
            f"privileged={privileged!r} does not name a value of each of {listing(name)}; give a tuple, for "
            f"example {values[0]!r}, or a list of tuples."
        )
    for value in wanted:
        if value not in values and not isinstance(privileged, KnownValues):
            raise _wrong_groups(
                f"privileged={value!r} does not occur in {name!r}, which holds {listing(values)}."
                f"{did_you_mean(value, values)}"
            )
    return np.array([known in wanted for known in values], dtype=np.bool_)


def split_quantity(table: Table, column: int, privileged: Privileged, name: Hashable) -> Sides:
    """Return the side of each row of a quantity, by what an interval or a function calls privileged."""
    keys = table.column(column)
    side = np.full(len(keys), -1, dtype=np.int8)
    rows = np.flatnonzero(~np.isnan(keys))
    values: NDArray[Any] = keys[rows]
    for first in table.store.values(column, rows[:1]):
        # As the table counts them; dates are in UTC where they have a time zone.
        if isinstance(first, (timedelta, date)):
            values = values.astype(np.int64).view("m8[ns]" if isinstance(first, timedelta) else "M8[us]")
    if isinstance(privileged, pd.Interval):
        left, right = (_end(end, values, name) for end in (privileged.left, privileged.right))
        above = values >= left if privileged.closed_left else values > left
        below = values <= right if privileged.closed_right else values < right
        side[rows] = above & below
    else:
        side[rows] = _call(privileged, values, name)
    return side


def sides_of_quantity(side: Sides, medians: Ints) -> dict[str, Any]:
    """Return what groups hold for each row, whose value is compared with the median of the other side."""
    rows = np.arange(len(side))
    other = np.where(side < 0, rows, medians[1 - np.maximum(side, 0)])
    return {
        "side": side,
        "group": np.where(side == 0, 0, -1),
        "code": side.astype(np.int64),
        "donors": np.column_stack([rows, other]),
    }


def _call(privileged: Any, values: NDArray[Any], name: Hashable) -> Bools:
    """Return which values a function calls privileged."""
    mask = np.asarray(privileged(values))
    if mask.shape != values.shape or (values.dtype != object and mask.dtype != np.bool_):
        raise _wrong_groups(
            f"privileged, a function of the values of {name!r}, must return one boolean for each value; it "
            f"returned an array of type {mask.dtype} and shape {mask.shape} for {len(values)} values."
        )
    return mask.astype(np.bool_)


def _end(end: Any, values: NDArray[Any], name: Hashable) -> Any:
    """Return an end of an interval as something that the values can be compared with."""
    if (values.dtype.kind in "mM") != isinstance(end, (pd.Timestamp, pd.Timedelta)):
        raise _wrong_groups(
            f"privileged is an interval of {type(end).__name__}, but {name!r} holds {values.dtype}."
        )
    if isinstance(end, pd.Timestamp) and end.tz is not None:
        end = end.tz_convert(None)
    return end.to_numpy().astype(values.dtype) if values.dtype.kind in "mM" else end
