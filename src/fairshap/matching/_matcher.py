"""Matchers: what they have in common, and the nearest rows of the other group."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._kernels.neighbors.distance import MISMATCH, is_large, nearest_both_ways
from fairshap._messages import did_you_mean, listing
from fairshap._problem import Problem
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import ColumnError, InputError
from fairshap.matching._plan import MatchPlan, Space, Stratum, check_finite

#: Whether a privileged row has one reference in all unprivileged groups or one in each.
Pairing: TypeAlias = Literal["pooled", "each"]
#: Rows, their references, the weights and the squared distances of these.
Pairs: TypeAlias = tuple[Ints, Ints, Floats, Floats]
#: Rows, those that may be their references, the nearest of these and their squared distances.
Direction: TypeAlias = tuple[Ints, Ints, Ints, Floats]


class Found(NamedTuple):
    """What a matcher found: the pairs of each stratum and direction, and what it has to say of them.

    The weights of a row's references of one stratum sum to 1. ``why_unmatched`` says in words why rows that
    could have had a reference have none; ``notes`` are numbers by name, for the diagnostics.
    """

    pairs: list[Pairs]
    notes: dict[str, Any]
    why_unmatched: list[str]


class Matcher(BaseEstimator, ABC):
    """Base of the matchers: what :func:`fairshap.match` and the estimators take."""

    pairing: Pairing
    bins: int | None

    def match(self, X: Native, y: Any, **options: Any) -> MatchPlan:
        """Match the rows of a table, with the options of :func:`fairshap.match`, such as ``sensitive``."""
        # Not at the top: that function itself looks up matchers by name.
        from fairshap.matching._match import match

        return match(X, y, matcher=self, **options)

    def check(self) -> None:
        """Raise an error unless the parameters make sense."""
        check_choice(self.pairing, "pairing", ("pooled", "each"))

    def space(self, problem: Problem) -> Space:
        """Return the space that distances are taken in."""
        return Space.of(problem.table, problem.columns)

    @abstractmethod
    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the pairs of all strata, in both directions.

        ``advance`` is called with the number of rows, of both sides, that were finished since the last call.
        """


class NearestMatcher(Matcher):
    """Match every row with its nearest rows of the other group and the same label.

    The squared distance of two rows is the sum of the squared differences of their numbers plus
    ``mismatch``, 2 as in one-hot space, for each category that differs and for each number that one of them
    lacks. The numbers of a frame are standardized first; those of an array count as given. The sensitive
    attribute takes no part. Ties go to the lowest row.

    Parameters
    ----------
    n_neighbors : int, default=1
        The number of references of a row. Where fewer rows qualify, a row has all of them, with a warning if
        the other group has no more; ``plan.basis.notes`` counts such rows.
    weights : {"uniform", "distance"}, default="uniform"
        Whether a row's references weigh the same, or in proportion to one over their distance; then exact
        matches share all the weight.
    caliper : float, optional
        The largest distance of a reference, as in ``plan.distance``. References beyond it are dropped; rows
        that have no other stay unedited and are counted in a warning.
    column_weights : mapping, optional
        The weights of columns by name, or by position for an array. A weight multiplies the squared
        difference in the column, or the cost of a mismatch. Other columns weigh 1; 0 leaves one out.
    mismatch : float, default=2.0
        The squared cost of a category that differs, and of a number that one of the rows lacks.
    pairing : {"pooled", "each"}, default="pooled"
        With several unprivileged groups: whether a privileged row is matched with the nearest rows of any of
        them, as in the paper, or with the nearest of each, with equal weights.
    bins : int, optional
        Into how many quantile bins a numeric target is cut; rows of one bin count as rows of one label. By
        default only a target with fractions is cut: into 10 bins, fewer for less than 200 rows.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": list("mffmmffm"), "age": [30, 31, 33, 50, 60, 61, 62, 63]})
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> matcher = NearestMatcher(n_neighbors=2, weights="distance")
    >>> plan = matcher.match(X, y, sensitive="sex", privileged="m")
    >>> plan.reference[plan.row == 0].tolist(), plan.weight[plan.row == 0].tolist()
    ([1, 2], [0.75, 0.25])
    """

    def __init__(
        self,
        n_neighbors: int = 1,
        *,
        weights: Literal["uniform", "distance"] = "uniform",
        caliper: float | None = None,
        column_weights: Mapping[Any, float] | None = None,
        mismatch: float = MISMATCH,
        pairing: Pairing = "pooled",
        bins: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.caliper = caliper
        self.column_weights = column_weights
        self.mismatch = mismatch
        self.pairing = pairing
        self.bins = bins

    def check(self) -> None:
        super().check()
        check_count(self.n_neighbors, "n_neighbors", "1 for the nearest row alone")
        check_choice(self.weights, "weights", ("uniform", "distance"))
        if self.caliper is not None:
            what = "a distance; give a number from 0 on, in units of plan.distance, or None for no limit."
            check_number(self.caliper, "caliper", what)
        check_number(self.mismatch, "mismatch", "a cost; give a number from 0 on, such as 2.0.")

    def space(self, problem: Problem) -> Space:
        weights = _read_column_weights(self.column_weights, problem)
        space = Space.of(problem.table, problem.columns, weights, float(self.mismatch))
        if not space.width and (self.column_weights or self.mismatch == 0):
            raise InputError(
                f"column_weights={self.column_weights!r} and mismatch={self.mismatch!r} leave no column that "
                "counts: all rows would be equally near. Give a column a weight above 0.",
                parameter="column_weights",
            )
        return space

    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        numbers, codes = space.numbers, space.codes
        compiled = is_large([(len(a), len(b)) for a, b in strata], space.width)
        directions: list[Direction] = []
        for a, b in strata:
            to_b, squared_a, to_a, squared_b = nearest_both_ways(
                *(numbers[a], codes[a], numbers[b], codes[b], space.costs),
                k=int(self.n_neighbors),
                compiled=compiled,
                n_threads=n_threads,
                advance=advance,
            )
            directions += [(a, b, to_b, squared_a), (b, a, to_a, squared_b)]
        pairs, short = zip(*(self._weighed(*direction) for direction in directions), strict=True)
        n_short = len(np.unique(np.concatenate(short)))
        notes = {"rows_with_fewer_neighbors": n_short} if n_short else {}
        why = []
        if self.caliper is not None:
            why = self._beyond(directions, np.concatenate([row for row, *_ in pairs]))
        return Found(list(pairs), notes, why)

    def _weighed(self, rows: Ints, others: Ints, nearest: Ints, squared: Floats) -> tuple[Pairs, Ints]:
        """Return the pairs within the caliper with their weights, and the rows that have too few."""
        if self.caliper is None:
            check_finite(squared)
        distances = np.sqrt(squared)
        kept: Bools = distances <= (np.inf if self.caliper is None else self.caliper)
        weight = np.ones(distances.shape)
        if self.weights == "distance":
            # In units of the nearest: no division by zero, and an exact match takes all the weight.
            np.divide(distances[:, :1], distances, out=weight, where=distances > 0)
        weight[~kept] = 0.0
        total = weight.sum(axis=1, keepdims=True)
        weight /= np.where(total > 0, total, 1.0)
        used = weight > 0
        pairs = np.repeat(rows, used.sum(axis=1)), others[nearest[used]], weight[used], squared[used]
        n_kept = kept.sum(axis=1)
        return pairs, rows[(n_kept > 0) & (n_kept < self.n_neighbors)]

    def _beyond(self, directions: list[Direction], matched: Ints) -> list[str]:
        """Say how many rows have no reference because of the caliper; that all have none is an error."""
        searched = [part for part in directions if part[3].size]
        if searched and not len(matched):
            smallest = np.sqrt(min(float(squared.min()) for *_, squared in searched))
            raise InputError(
                f"no row has a row of the other group within caliper={self.caliper}; the smallest distance "
                f"is {smallest:.6g}. Give a larger caliper, or None for no limit."
            )
        alone = np.setdiff1d(np.concatenate([matched, *(rows for rows, *_ in searched)]), matched)
        text = f"{len(alone)} rows have no row of the other group within caliper={self.caliper}"
        return [text] if len(alone) else []


def check_choice(value: Any, name: str, known: Sequence[str | None], more: str = "") -> None:
    """Raise an error unless the value of a parameter is one of the known ones; ``more`` says what else is."""
    if not isinstance(value, (str, type(None))) or value not in known:
        hint = did_you_mean(value, known)
        raise InputError(
            f"{name}={value!r} is not known; give one of {listing(known)}{more}.{hint}", parameter=name
        )


def check_count(value: Any, name: str, example: str) -> None:
    """Raise an error unless a parameter is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(
            f"{name}={value!r} is not usable: give a whole number from 1 on, such as {example}.",
            parameter=name,
        )


def check_number(value: Any, name: str, what: str, low: float = 0.0, high: float = np.inf) -> None:
    """Raise an error unless a number is finite and within bounds; ``what`` ends the sentence."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or np.isinf(value):
        raise InputError(f"{name}={value!r} is not {what}", parameter=name)


def _read_column_weights(column_weights: Any, problem: Problem) -> Floats:
    """Return the weight of each column of the table; those that are not named weigh 1."""
    column_weights = {} if column_weights is None else column_weights
    if not isinstance(column_weights, Mapping):
        raise InputError(
            f"column_weights={column_weights!r} is not a mapping; give the weights by column, such as "
            f"column_weights={{{problem.own.names[0]!r}: 2.0}}.",
            parameter="column_weights",
        )
    weights = np.ones(len(problem.table.names))
    named: dict[int, Any] = {}
    for name, weight in column_weights.items():
        column = problem.table.position(name, "column_weights")
        if column in problem.columns:
            raise ColumnError(
                f"column_weights names {name!r}, the sensitive attribute, which plays no part in distances. "
                "Leave it out."
            )
        if column in named:
            raise ColumnError(
                f"column_weights names one column twice, as {named[column]!r} and {name!r}; name it once."
            )
        what = "a weight; give a number from 0 on, 0 to leave it out."
        check_number(weight, f"column_weights[{name!r}]", what)
        named[column] = name
        weights[column] = weight
    return weights
