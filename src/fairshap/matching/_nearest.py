"""The nearest rows of the other group."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._kernels.neighbors.distance import MISMATCH, is_large, nearest_both_ways
from fairshap._problem import Setting
from fairshap._typing import Floats, Ints
from fairshap.exceptions import InputError
from fairshap.matching._approximate import Direction, measure, search_approximately
from fairshap.matching._checks import check_amount, check_k, check_name, read_column_weights
from fairshap.matching._matcher import Found, Matcher
from fairshap.matching._projection import check_projection, is_fitted, project_space, project_table
from fairshap.matching._space import Space, check_finite
from fairshap.matching._strata import Stratum
from fairshap.matching._weighting import WEIGHTINGS, Weighting, weigh

SEARCHES = ("exact", "approximate")


class Nearest(Matcher):
    """Match every row with its nearest rows of the other group and the same label.

    The squared distance of two rows is the sum of the squared differences of their numbers plus
    ``mismatch``, 2 as in one-hot space, for each category that differs and for each number that one
    of them lacks. In a frame, numbers are standardised first; in an array they count as given.
    The sensitive attribute takes no part. Ties go to the lowest row.

    Parameters
    ----------
    k : int, default=1
        How many references a row has. If fewer rows qualify, all of them are, with a warning if the other
        group has no more; ``plan.basis.notes`` counts such rows.
    weights : {"uniform", "distance"} or function, default="uniform"
        What a row's references weigh: the same; in proportion to one over their distance, where exact matches
        share all the weight; or what a function makes of their distances. It is given an array of
        shape (rows, references), the nearest first, once for each side of each stratum, and returns as many
        weights, which are scaled to sum to 1. References of weight 0 are left out.
    caliper : float, default=None
        The largest distance of a reference, as in ``plan.distance``. Those beyond it are dropped, and the
        others share their weight; rows that have none stay unedited and are counted in a warning.
    column_weights : mapping, default=None
        What the columns count, by name, or by position for an array: a weight multiplies the column's squared
        difference, or what a mismatch costs in it. Columns that are not named count 1; 0 leaves one out.
    mismatch : float, default=2.0
        The squared cost of a category that differs, and of a number that one of the rows lacks.
    projection : transformer, default=None
        Where distances are taken instead, as a transformer of scikit-learn's kind makes it of the rows.
        One that is not fitted, such as ``PCA(5)``, is cloned and fitted on the table without its sensitive
        attribute, encoded as float32: numbers standardised (in a frame), categories one-hot, all scaled so
        that distances are those above; a missing number is the mean, beside a column that says so.
        One that is fitted, or needs no fitting, is given X as it is, with the sensitive attribute if that
        is one of its columns; it stays fitted when the matcher is cloned.
    search : {"exact", "approximate"}, default="exact"
        Whether references are the nearest rows, or near ones that a graph leads to (HNSW, of the extra
        ``fairshap[approximate]``). Exact searches leave out most rows of an ordinary table and are quicker
        there; a graph may pay from some 300,000 rows of twenty numbers on. Distances are exact in both, and
        ties go to the lowest row, of those that were found. ``plan.basis.notes`` tells the ``recall`` and
        the ``distance_ratio`` in a sample of 500 rows that are searched exactly too; groups of at most 1,000
        rows are searched exactly only.
    random_state : int, RandomState instance or None, default=None
        What draws that sample, and the projection if it has no random state of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": list("mffmmffm"), "age": [30, 31, 33, 50, 60, 61, 62, 63]})
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> plan = Nearest(k=2, weights="distance").match(X, y, sensitive="sex", privileged="m")
    >>> plan.reference[plan.row == 0].tolist(), plan.weight[plan.row == 0].tolist()
    ([1, 2], [0.75, 0.25])
    """

    def __init__(
        self,
        k: int = 1,
        *,
        weights: Weighting = "uniform",
        caliper: float | None = None,
        column_weights: Mapping[Any, float] | None = None,
        mismatch: float = MISMATCH,
        projection: Any = None,
        search: Literal["exact", "approximate"] = "exact",
        random_state: Any = None,
    ) -> None:
        self.k = k
        self.weights = weights
        self.caliper = caliper
        self.column_weights = column_weights
        self.mismatch = mismatch
        self.projection = projection
        self.search = search
        self.random_state = random_state

    def __sklearn_clone__(self) -> "Nearest":
        """Return a clone; a fitted projection stays fitted, or it would be fitted anew on other columns."""
        params = {name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()}
        if self.projection is not None and is_fitted(self.projection):
            params["projection"] = deepcopy(self.projection)
        return type(self)(**params)

    def check(self) -> None:
        """Raise an error unless the parameters make sense."""
        check_k(self.k)
        if not callable(self.weights):
            check_name(self.weights, "weights", WEIGHTINGS, ", or a function of the distances")
        check_name(self.search, "search", SEARCHES)
        if self.caliper is not None:
            what = "a distance; give a number from 0 on, in units of plan.distance, or None for no limit."
            check_amount(self.caliper, "caliper", what)
        check_amount(self.mismatch, "mismatch", "a cost; give a number from 0 on, such as 2.0.")
        if self.projection is None:
            return
        check_projection(self.projection)
        if is_fitted(self.projection) and (self.column_weights is not None or self.mismatch != MISMATCH):
            name = "mismatch" if self.column_weights is None else "column_weights"
            raise InputError(
                f"{name}={getattr(self, name)!r} has no meaning beside a fitted projection, which sees the "
                "columns as they are. Give the projection unfitted, or let it weigh the columns itself."
            )

    def space(self, setting: Setting) -> Space:
        """Return the space that distances are taken in."""
        if self.projection is not None and is_fitted(self.projection):
            return project_table(self.projection, setting.own)
        weights = None
        if self.column_weights is not None:
            weights = read_column_weights(self.column_weights, setting)
        space = Space.of(setting.table, setting.columns, weights, float(self.mismatch))
        if not space.width and (self.column_weights or self.mismatch == 0):
            raise InputError(
                f"column_weights={self.column_weights!r} and mismatch={self.mismatch!r} leave no column that "
                "counts: all rows would be equally near. Give a column a weight above 0."
            )
        if self.projection is None:
            return space
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return project_space(self.projection, space, seed)

    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the nearest rows, in both directions."""
        notes: dict[str, Any] = {}
        if self.search == "exact":
            directions = _search_exactly(space, strata, int(self.k), n_threads, advance)
        else:
            pairs = [pair for rows, others in strata for pair in ((rows, others), (others, rows))]
            directions = search_approximately(space, pairs, int(self.k), n_threads, advance)
            notes |= measure(space, directions, int(self.k), check_random_state(self.random_state))
        parts = [self._weighed(*direction) for direction in directions]
        found = Found.together([part for part, _ in parts])
        short = np.unique(np.concatenate([rows for _, rows in parts]))
        if len(short):
            notes["rows_with_fewer_than_k"] = len(short)
        why = [] if self.caliper is None else self._beyond(directions, found.row)
        return Found(found.row, found.reference, found.weight, found.squared, why, notes)

    def _weighed(self, rows: Ints, others: Ints, nearest: Ints, squared: Floats) -> tuple[Found, Ints]:
        """Return the pairs within the caliper with their weights, and the rows that have fewer than k."""
        if self.caliper is None:
            check_finite(squared)
        distances = np.sqrt(squared)
        kept = distances <= (np.inf if self.caliper is None else self.caliper)
        weight = weigh(distances, kept, self.weights)
        used = weight > 0
        pairs = Found(np.repeat(rows, used.sum(axis=1)), others[nearest[used]], weight[used], squared[used])
        n_kept = kept.sum(axis=1)
        return pairs, rows[(n_kept > 0) & (n_kept < self.k)]

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


def _search_exactly(
    space: Space, strata: list[Stratum], k: int, n_threads: int, advance: Callable[[int], None]
) -> list[Direction]:
    """Return the k nearest rows and their squared distances, in both directions of each stratum."""
    numbers, codes = space.numbers, space.codes
    compiled = is_large([(len(rows), len(others)) for rows, others in strata], space.width)
    directions: list[Direction] = []
    for a, b in strata:
        to_b, squared_a, to_a, squared_b = nearest_both_ways(
            *(numbers[a], codes[a], numbers[b], codes[b], space.costs),
            k=k,
            compiled=compiled,
            n_threads=n_threads,
            advance=advance,
        )
        directions += [(a, b, to_b, squared_a), (b, a, to_a, squared_b)]
    return directions
