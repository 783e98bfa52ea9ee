"""Match every row with similar rows of the other group and the same label."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from fairshap._messages import warn
from fairshap._problem import Privileged, Problem, Target, read_target
from fairshap._progress import Progress
from fairshap._typing import Native
from fairshap.exceptions import FewReferencesWarning, InputError, UnmatchedRowsWarning
from fairshap.matching._matcher import Matcher, NearestMatcher, check_choice
from fairshap.matching._plan import Basis, MatchPlan, Stratum, check_finite, strata_of
from fairshap.matching._transport import METHODS, TransportMatcher

#: The name of a matcher, or an object that has a method ``match``.
Matching: TypeAlias = Any
MATCHERS: dict[str, Callable[[], Matcher]] = {
    "nearest": NearestMatcher,
    **{method: partial(TransportMatcher, method) for method in METHODS},
}

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
        How rows are matched: "nearest" for the nearest row, "emd", "sinkhorn" or "sliced" for optimal
        transport, a matcher such as ``NearestMatcher(n_neighbors=5)``, or any object whose
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
        The references of each row, as row positions, the heaviest first. Rows that have none (their
        attribute is missing, or the other group never has their label) are left out, and a warning
        counts them.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    >>> plan = match(X, [0, 0, 1, 1], sensitive="sex", privileged="m")
    >>> plan.best.tolist()
    [1, 0, 3, 2]
    """
    matcher = make_matcher(matcher)
    if y is None:
        read_target(y, 0)
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
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0)
    row, reference, weight, squared = map(np.concatenate, zip(none, *found.pairs, strict=True))
    check_finite(squared)
    if each:
        # A privileged row has references of several groups: they share its weight, the nearest first.
        weight = weight / np.bincount(row, weight, minlength=table.n_rows)[row]
        order = np.argsort(squared, kind="stable")
        row, reference, weight, squared = row[order], reference[order], weight[order], squared[order]
    basis = Basis(problem, space, strata, found.notes)
    plan = MatchPlan(table.n_rows, row, reference, weight, np.sqrt(squared), table.store.library, basis)
    _warn_unmatched(problem, plan, found.why_unmatched)
    _warn_few(strata, problem.y, matcher.n_neighbors if isinstance(matcher, NearestMatcher) else 1)
    return plan


def make_matcher(matcher: Matching, random_state: Any = None) -> Any:
    """Return the object that matches: the given one, or the one of that name."""
    if not isinstance(matcher, (str, type)) and callable(getattr(matcher, "match", None)):
        return matcher
    check_choice(matcher, "matcher", list(MATCHERS), ", or an object with a method match(X, y, ...)")
    made = MATCHERS[matcher]()
    if "random_state" in made.get_params():
        made.set_params(random_state=random_state)
    return made


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
    ends = groups.side[plan.row], groups.side[plan.reference]
    wrong = (ends[0] < 0) | (ends[1] < 0) | (ends[0] == ends[1])
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
    warn(
        f"{len(plan.unmatched)} of {plan.n_rows} rows have no reference and stay as they are: "
        f"{'; '.join([*reasons, *others])}.{hint}",
        UnmatchedRowsWarning,
    )


def _warn_few(strata: list[Stratum], labels: Target, n_neighbors: int) -> None:
    """Say of which labels a side has too few rows, or one that is the reference of many."""
    few, lone = [], []
    for stratum in strata:
        if not min(map(len, stratum)):
            continue
        for rows, others, word in ((*stratum, "privileged"), (*stratum[::-1], "unprivileged")):
            text = f"{len(others)} {word} for {len(rows)} rows with {labels.names[labels.codes[rows[0]]]}"
            if len(others) < n_neighbors:
                few.append(text)
            elif len(others) == 1 and len(rows) >= _MANY:
                lone.append(text)
    if few:
        warn(
            f"Some rows have fewer than n_neighbors={n_neighbors} references, because the other group has no "
            f"more rows with their label: {_some(few)}. They have all there are; give a smaller n_neighbors "
            "to treat all rows alike.",
            FewReferencesWarning,
        )
    if lone:
        hint = " Fewer bins would give more choice." if labels.classes is None else ""
        warn(
            "Many rows share their only reference, because the other group has one row with their label: "
            f"{_some(lone)}.{hint}",
            FewReferencesWarning,
        )


def _some(texts: list[str], limit: int = 4) -> str:
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return "; ".join(texts[:limit]) + more
