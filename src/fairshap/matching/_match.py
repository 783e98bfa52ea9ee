"""Match every row with similar rows of the other group and the same label."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from fairshap._messages import did_you_mean, listing
from fairshap._problem import Groups, Labels, Privileged, Setting
from fairshap._progress import Progress
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.matching._matcher import Matcher
from fairshap.matching._nearest import Nearest
from fairshap.matching._plan import Basis, MatchPlan
from fairshap.matching._shortage import warn_few, warn_unmatched
from fairshap.matching._space import check_finite
from fairshap.matching._strata import strata_of
from fairshap.matching._transport import Transport

#: Whether a privileged row has one reference in all unprivileged groups or one in each.
Pairing: TypeAlias = Literal["pooled", "each"]
PAIRINGS = ("pooled", "each")

#: The name of a way of matching, or an object that has a method ``match``.
Matching: TypeAlias = Any
MATCHERS: dict[str, Callable[[], Matcher]] = {
    "nearest": Nearest,
    "emd": partial(Transport, "emd"),
    "sinkhorn": partial(Transport, "sinkhorn"),
    "sliced": partial(Transport, "sliced"),
}


def match(
    X: Native,
    y: Any,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    matching: Matching = "nearest",
    bins: int | None = None,
    pairing: Pairing = "pooled",
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
    matching : str or object, default="nearest"
        How rows are matched: "nearest" for the nearest row, "emd", "sinkhorn" or "sliced" for optimal
        transport, a matcher such as ``fairshap.matching.Nearest(k=5)``, or any object whose
        ``match(X, y, sensitive=, privileged=, sensitive_features=)`` returns a plan.
    bins : int, optional
        Into how many quantile bins the target is cut; rows of one bin count as rows of one label. By default
        only a target whose numbers are not all whole ones is cut: into 10, fewer for less than 200 rows.
    pairing : {"pooled", "each"}, default="pooled"
        With several unprivileged groups: whether a privileged row has the nearest row of any of them as its
        reference, as in the paper, or the nearest of each, with equal weights.
    min_group_size : int, optional
        Unprivileged groups of fewer rows are taken as one; by default 10 for several columns.
    n_jobs : int, optional
        How many threads search; all cores by default. The plan is the same for any number.
    verbose : int, default=0
        From 1 on, a bar shows how far it is when that takes over two seconds.

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
    setting = Setting.read(
        X,
        sensitive=sensitive,
        privileged=privileged,
        sensitive_features=sensitive_features,
        is_fitted=False,
        min_group_size=min_group_size,
    )
    labels = Labels.read(y, setting.table.n_rows, bins=bins)
    return match_rows(setting, labels, matching, pairing, n_jobs=n_jobs, verbose=verbose)


def match_rows(
    setting: Setting,
    labels: Labels,
    matching: Matching = "nearest",
    pairing: Pairing = "pooled",
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    random_state: Any = None,
) -> MatchPlan:
    """Return the match plan of a table whose groups and labels are known."""
    if pairing not in PAIRINGS:
        raise InputError(
            f"pairing={pairing!r} is not known; give one of {listing(PAIRINGS)}."
            f"{did_you_mean(pairing, PAIRINGS)}"
        )
    matcher = make_matcher(matching, random_state)
    if not isinstance(matcher, Matcher):
        return _ask(matcher, setting, labels)
    matcher.check()
    table = setting.table
    space = matcher.space(setting)
    strata = strata_of(setting.groups, labels, each=pairing == "each")
    with Progress("Matching", table.n_rows, verbose) as progress:
        found = matcher.find(
            space,
            strata,
            effective_n_jobs(-1 if n_jobs is None else n_jobs),
            lambda rows: progress.advance(rows, rows),
        )
    row, reference, weight, squared = found.row, found.reference, found.weight, found.squared
    check_finite(squared)
    if pairing == "each":
        # A privileged row has references of several groups: they share its weight, the nearest first.
        weight = weight / np.bincount(row, weight, minlength=table.n_rows)[row]
        order = np.argsort(squared, kind="stable")
        row, reference, weight, squared = row[order], reference[order], weight[order], squared[order]
    plan = MatchPlan(
        table.n_rows,
        row,
        reference,
        weight,
        np.sqrt(squared),
        table.store.library,
        Basis(setting, space, strata, found.notes),
    )
    warn_unmatched(setting, labels, plan, found.why_unmatched)
    warn_few(strata, labels, matcher.k if isinstance(matcher, Nearest) else 1)
    return plan


def make_matcher(matching: Matching, random_state: Any = None) -> Any:
    """Return the object that matches: the given one, or the one of that name."""
    if isinstance(matching, str) and matching in MATCHERS:
        matcher = MATCHERS[matching]()
        if "random_state" in matcher.get_params():
            matcher.set_params(random_state=random_state)
        return matcher
    if not isinstance(matching, (str, type)) and callable(getattr(matching, "match", None)):
        return matching
    raise InputError(
        f"matching={matching!r} is not known; give one of {listing(MATCHERS)}, or an object with a "
        f"method match(X, y, ...).{did_you_mean(matching, list(MATCHERS))}"
    )


def _ask(matcher: Any, setting: Setting, labels: Labels) -> MatchPlan:
    """Return the plan of the user's own matcher, which is shown the table that the model sees."""
    groups, names = setting.groups, [setting.table.names[column] for column in setting.columns]
    plan = matcher.match(
        setting.table.native,
        labels.values,
        sensitive=names[0] if len(names) == 1 else names,
        privileged=setting.privileged,
        sensitive_features=None,
    )
    name = type(matcher).__name__
    if not isinstance(plan, MatchPlan):
        raise InputError(f"{name}.match returned a {type(plan).__name__}; it must return a MatchPlan.")
    plan.check_fits(setting.table.n_rows)
    _check_sides(plan, groups, name)
    warn_unmatched(setting, labels, plan, [f"{name} gave them none"])
    return plan


def _check_sides(plan: MatchPlan, groups: Groups, name: str) -> None:
    """Raise an error unless every reference stands on the other side."""
    ends = groups.side[plan.row], groups.side[plan.reference]
    wrong = (ends[0] < 0) | (ends[1] < 0) | (ends[0] == ends[1])
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"{name}.match paired {int(wrong.sum())} rows with rows of their own group, or with rows "
            f"that have no value of {groups.name!r}; the first is row {int(plan.row[at])} with row "
            f"{int(plan.reference[at])}. A reference is a row of the other group."
        )
