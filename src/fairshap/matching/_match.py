"""Match every row with similar rows of the other group and the same label, the nearest or others."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from fairshap._kernels.neighbors.distance import is_large, nearest_both_ways
from fairshap._messages import Progress, check_choice, check_count, check_number, listing, warn
from fairshap._problem import Privileged, Problem, Target
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import ColumnError, FewReferencesWarning, InputError, UnmatchedRowsWarning
from fairshap.matching._plan import Basis, MatchPlan, Space, Stratum, check_finite, strata_of

#: The name of a matcher, or an object that has a method ``match``.
Matching: TypeAlias = Any
#: Whether a privileged row has one reference in all unprivileged groups or one in each.
Pairing: TypeAlias = Literal["pooled", "each"]
#: Counts rows that are matched.
Advance: TypeAlias = Callable[[int], None]
#: Rows, their references, the weights and the squared distances of these.
Pairs: TypeAlias = tuple[Ints, Ints, Floats, Floats]
#: Rows, those that may be their references, the nearest of these and their squared distances.
Direction: TypeAlias = tuple[Ints, Ints, Ints, Floats]

# Rows from which on it is worth saying that all of them share one reference.
_MANY = 10


def match(
    X: Native,
    y: Any,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    matcher: Matching = "nearest",
    min_group_size: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MatchPlan:
    """Return similar rows of the other group with the same label, or about the same quantity.

    Parameters
    ----------
    X : data frame or array
        The table.
    y : array-like
        The target of each row: labels, or a quantity, which is cut into quantile bins.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of X; several make a group of each combination.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged; a tuple for several columns.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X.
    matcher : str or object, default="nearest"
        "nearest" for the nearest row, "emd", "sinkhorn" or "sliced" for optimal transport, a matcher such as
        ``NearestMatcher(n_neighbors=5)``, or any object whose
        ``match(X, y, sensitive=, privileged=, sensitive_features=)`` returns a plan.
    min_group_size : int, optional
        Unprivileged groups of fewer rows are taken as one; by default 10 for several columns.
    n_jobs : int, optional
        How many threads search; all cores by default. The plan is the same for any number.
    verbose : int, default=0
        From 1 on, a progress bar is shown when matching takes over two seconds.

    Returns
    -------
    MatchPlan
        The references of each row, the heaviest first. Rows that have none (their attribute is missing, or
        the other group never has their label) are left out, and a warning counts them.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    >>> plan = match(X, [0, 0, 1, 1], sensitive="sex", privileged="m")
    >>> plan.best.tolist()
    [1, 0, 3, 2]
    """
    matcher = make_matcher(matcher)
    problem = Problem.read(
        X,
        y,
        sensitive=sensitive,
        privileged=privileged,
        sensitive_features=sensitive_features,
        is_fitted=False,
        bins=getattr(matcher, "bins", None),
        min_group_size=min_group_size,
    )
    return match_rows(problem, matcher, n_jobs=n_jobs, verbose=verbose)


def match_rows(
    problem: Problem,
    matcher: Matching = "nearest",
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> MatchPlan:
    """Return the match plan of a table whose groups and target are known."""
    matcher = make_matcher(matcher, random_state)
    if not isinstance(matcher, Matcher):
        return _ask(matcher, problem)
    matcher.check()
    each = matcher.pairing == "each"
    table, space = problem.table, matcher.space(problem)
    strata = strata_of(problem.groups, problem.y, each=each)
    n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    with Progress("Matching", table.n_rows, verbose) as progress:
        found = matcher.find(space, strata, n_threads, lambda rows: progress.advance(rows, rows))
    basis = Basis(problem, space, strata, found.notes)
    plan = MatchPlan(table.n_rows, *join_pairs(found.pairs, each=each), table.store.library, basis)
    _warn_unmatched(problem, plan, found.why_unmatched)
    _warn_few(strata, problem.y, matcher.n_neighbors if isinstance(matcher, NearestMatcher) else 1)
    return plan


def join_pairs(found: list[Pairs], *, each: bool) -> Pairs:
    """Return the pairs of all strata as a plan has them: rows, references, weights and distances."""
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0)
    row, reference, weight, squared = map(np.concatenate, zip(none, *found, strict=True))
    if each and len(row):
        # A privileged row has references of several groups: they share its weight, the nearest first.
        weight = weight / np.bincount(row, weight)[row]
        order = np.argsort(squared, kind="stable")
        row, reference, weight, squared = row[order], reference[order], weight[order], squared[order]
    return row, reference, weight, np.sqrt(squared)


def make_matcher(matcher: Matching, random_state: Any = None) -> Any:
    """Return the object that matches: the given one, or the one of that name."""
    if not isinstance(matcher, (str, type)) and callable(getattr(matcher, "match", None)):
        return matcher
    # Not at the top: it is made of what stands here.
    from fairshap.matching._transport import METHODS, TransportMatcher

    more = ", or an object with a method match(X, y, ...)"
    check_choice(matcher, "matcher", ("nearest", *METHODS), more)
    return NearestMatcher() if matcher == "nearest" else TransportMatcher(matcher, random_state=random_state)


def _ask(matcher: Any, problem: Problem) -> MatchPlan:
    """Return the plan of the user's own matcher, which is shown the table that the model sees."""
    groups, names = problem.groups, [problem.table.names[column] for column in problem.columns]
    plan = matcher.match(
        problem.table.native,
        problem.y.values,
        sensitive=names[0] if len(names) == 1 else names,
        privileged=problem.privileged,
        sensitive_features=None,
    )
    name = type(matcher).__name__
    if not isinstance(plan, MatchPlan):
        raise InputError(f"{name}.match returned a {type(plan).__name__}; it must return a MatchPlan.")
    plan.check_fits(problem.table.n_rows)
    # Sides are 0 and 1, or -1 where the attribute is missing.
    wrong = groups.side[plan.row] + groups.side[plan.reference] != 1
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"{name}.match paired {int(wrong.sum())} rows with rows of their own group, or with rows "
            f"that have no value of {groups.name!r}; the first is row {int(plan.row[at])} with row "
            f"{int(plan.reference[at])}. A reference is a row of the other group."
        )
    _warn_unmatched(problem, plan, [f"{name} gave them none"])
    return plan


def _warn_unmatched(problem: Problem, plan: MatchPlan, others: list[str]) -> None:
    """Say which rows have no reference, and why."""
    if not len(plan.unmatched):
        return
    groups, labels, reasons = problem.groups, problem.y, []
    if groups.n_missing:
        reasons.append(f"{groups.n_missing} rows have no value of {groups.name!r}")
    for side, word in ((0, "unprivileged"), (1, "privileged")):
        for code, label in enumerate(labels.names):
            same = groups.side[labels.codes == code]
            alone = int(np.count_nonzero(same == side))
            if alone and not (same == 1 - side).any():
                reasons.append(f"{alone} {word} rows have {label}, which the other group never has")
    hint = " Fewer bins would leave out fewer." if reasons and labels.classes is None else ""
    said = f"{len(plan.unmatched)} of {plan.n_rows} rows have no reference and stay as they are"
    warn(f"{said}: {'; '.join([*reasons, *others])}.{hint}", UnmatchedRowsWarning)


def _warn_few(strata: list[Stratum], labels: Target, n_neighbors: int) -> None:
    """Say of which labels a side has too few rows, or one that is the reference of many."""
    few, lone = [], []
    for stratum in strata:
        for rows, others, word in ((*stratum, "privileged"), (*stratum[::-1], "unprivileged")):
            text = f"{len(others)} {word} for {len(rows)} rows with {labels.names[labels.codes[rows[0]]]}"
            if len(others) < n_neighbors:
                few.append(text)
            elif len(others) == 1 and len(rows) >= _MANY:
                lone.append(text)
    if few:
        warn(
            f"Some rows have fewer than {n_neighbors} references, because the other group has no more rows "
            f"with their label: {listing(few, 4, str, '; ')}. They have all there are.",
            FewReferencesWarning,
            hint="A smaller n_neighbors treats all rows alike.",
        )
    if lone:
        hint = " Fewer bins would give more choice." if labels.classes is None else ""
        warn(
            "Many rows share their only reference, because the other group has one row with their label: "
            f"{listing(lone, 4, str, '; ')}.{hint}",
            FewReferencesWarning,
        )


class Found(NamedTuple):
    """What a matcher found: pairs, numbers by name for the diagnostics, and why others have no reference.

    The weights of a row's references of one stratum sum to 1.
    """

    pairs: list[Pairs]
    notes: dict[str, Any]
    why_unmatched: list[str]


class Matcher(BaseEstimator, ABC):
    """Base class of the matchers that :func:`fairshap.match` and the estimators take.

    Examples
    --------
    >>> from fairshap import NearestMatcher, TransportMatcher
    >>> from fairshap.matching import Matcher
    >>> issubclass(NearestMatcher, Matcher), issubclass(TransportMatcher, Matcher)
    (True, True)
    """

    pairing: Pairing
    bins: int | None

    def match(self, X: Native, y: Any, **options: Any) -> MatchPlan:
        """Match the rows of a table, with the options of :func:`fairshap.match`, such as ``sensitive``."""
        return match(X, y, matcher=self, **options)

    def check(self) -> None:
        """Raise an error unless the parameters make sense."""
        check_choice(self.pairing, "pairing", ("pooled", "each"))

    def space(self, problem: Problem) -> Space:
        """Return the space that distances are taken in."""
        return Space.of(problem.table, problem.columns)

    @abstractmethod
    def find(self, space: Space, strata: list[Stratum], n_threads: int, advance: Advance) -> Found:
        """Return the pairs of all strata, in both directions; ``advance`` counts finished rows."""


class NearestMatcher(Matcher):
    """Match every row with its nearest rows of the other group and the same label.

    The squared distance of two rows is the sum of the squared differences of their numbers plus 2, as in
    one-hot space, for each category that differs and for each number that one of them lacks. The numbers of a
    frame are standardized first; those of an array count as given. The sensitive attribute takes no part.
    Ties go to the lowest row.

    Parameters
    ----------
    n_neighbors : int, default=1
        The number of references of a row. Where fewer rows qualify, a row has all of them, with a warning if
        the other group has no more.
    weights : {"uniform", "distance"}, default="uniform"
        Whether a row's references weigh the same, or in proportion to one over their distance; then exact
        matches share all the weight.
    caliper : float, optional
        The largest ``plan.distance`` of a reference; rows that have none within it stay unedited, and a
        warning counts them.
    column_weights : mapping, optional
        The weights of columns by name, or by position for an array. A weight multiplies the squared
        difference in the column, or the cost of a mismatch. Other columns weigh 1; 0 leaves one out.
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
        pairing: Pairing = "pooled",
        bins: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.caliper = caliper
        self.column_weights = column_weights
        self.pairing = pairing
        self.bins = bins

    def check(self) -> None:
        super().check()
        check_count(self.n_neighbors, "n_neighbors", ", such as 1 for the nearest row alone")
        check_choice(self.weights, "weights", ("uniform", "distance"))
        if self.caliper is not None:
            what = "a distance; give a number from 0 on, in units of plan.distance, or None for no limit."
            check_number(self.caliper, "caliper", what)

    def space(self, problem: Problem) -> Space:
        weights = read_column_weights(self.column_weights, problem)
        space = Space.of(problem.table, problem.columns, weights)
        if not space.width and self.column_weights:
            raise InputError(
                f"column_weights={self.column_weights!r} leaves no column that counts: all rows would be "
                "equally near. Give a column a weight above 0.",
                parameter="column_weights",
            )
        return space

    def find(self, space: Space, strata: list[Stratum], n_threads: int, advance: Advance) -> Found:
        numbers, codes = space.numbers, space.codes
        compiled = is_large([(len(a), len(b)) for a, b in strata], space.width)
        directions: list[Direction] = []
        for a, b in strata:
            to_b, squared_a, to_a, squared_b = nearest_both_ways(
                *(numbers[a], codes[a], numbers[b], codes[b], space.costs),
                holes=space.holes,
                k=int(self.n_neighbors),
                compiled=compiled,
                n_threads=n_threads,
                advance=advance,
            )
            directions += [(a, b, to_b, squared_a), (b, a, to_a, squared_b)]
        pairs = [self.weighed(*direction) for direction in directions]
        if self.caliper is None or not strata:
            return Found(pairs, {}, [])
        matched = np.concatenate([row for row, *_ in pairs])
        if not len(matched):
            smallest = np.sqrt(min(float(squared.min()) for *_, squared in directions))
            raise InputError(
                f"no row has a row of the other group within caliper={self.caliper}; the smallest distance "
                f"is {smallest:.6g}. Give a larger caliper, or None for no limit."
            )
        alone = np.setdiff1d(np.concatenate([rows for rows, *_ in directions]), matched)
        why = f"{len(alone)} rows have no row of the other group within caliper={self.caliper}"
        return Found(pairs, {}, [why] if len(alone) else [])

    def weighed(self, rows: Ints, others: Ints, nearest: Ints, squared: Floats) -> Pairs:
        """Return the pairs within the caliper with their weights."""
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
        return np.repeat(rows, used.sum(axis=1)), others[nearest[used]], weight[used], squared[used]


def read_column_weights(column_weights: Any, problem: Problem) -> Floats:
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
        named[column], weights[column] = name, weight
    return weights
