"""Match every row with its nearest rows of the other group and the same label."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from fairshap._kernels.distance import is_large, nearest_both_ways
from fairshap._kernels.onehot import without_one_hot
from fairshap._kernels.scaling import mean_and_scale
from fairshap._messages import did_you_mean, listing, warn
from fairshap._progress import Progress
from fairshap._typing import Bools, Codes, Floats, Ints, Native
from fairshap.exceptions import InputError, UnmatchedRowsWarning
from fairshap.groups import Groups, Labels, Privileged, Setting
from fairshap.matching._plan import MatchPlan
from fairshap.table import Table

#: Whether a privileged row has one reference in all unprivileged groups or one in each.
Pairing: TypeAlias = Literal["pooled", "each"]
PAIRINGS = ("pooled", "each")


def match(
    X: Native,
    y: Any,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    k: int = 1,
    bins: int | None = None,
    pairing: Pairing = "pooled",
    min_group_size: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> MatchPlan:
    """Return the nearest rows of the other group with the same label, or about the same quantity.

    The squared distance of two rows is the sum of the squared differences of their numbers plus 2 for
    each category that differs (what it costs in one-hot space) and for each number that one
    of them lacks. In a frame, numbers are standardised first; in an array they count as given.
    The sensitive attribute takes no part. Ties go to the lowest row.

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
    k : int, default=1
        How many references a row has, each of weight 1/k. If fewer rows qualify, all of them are.
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
        The references of each row, as row positions, the nearest first. Rows that have none (their
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
        X, sensitive, privileged, sensitive_features, is_fitted=False, min_group_size=min_group_size
    )
    labels = Labels.read(y, setting.table.n_rows, bins=bins)
    return match_rows(setting, labels, n_jobs, k, verbose, pairing)


def match_rows(
    setting: Setting,
    labels: Labels,
    n_jobs: int | None = None,
    k: int = 1,
    verbose: int = 0,
    pairing: Pairing = "pooled",
) -> MatchPlan:
    """Return the match plan of a table whose groups and labels are known."""
    _check_k(k)
    if pairing not in PAIRINGS:
        raise InputError(
            f"pairing={pairing!r} is not known; give one of {listing(PAIRINGS)}."
            f"{did_you_mean(pairing, PAIRINGS)}"
        )
    table = setting.table
    numbers, weights, codes = distance_space(table, setting.columns)
    n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    strata = _strata(setting.groups, labels, pairing)
    compiled = is_large([(len(a), len(b)) for a, b in strata], numbers.shape[1] + codes.shape[1])
    unmatched = np.ones(table.n_rows, dtype=np.bool_)
    pairs = []
    with Progress("Matching", table.n_rows, verbose) as progress:
        for a, b in strata:
            to_b, squared_a, to_a, squared_b = nearest_both_ways(
                numbers[a],
                weights,
                codes[a],
                numbers[b],
                codes[b],
                k=int(k),
                compiled=compiled,
                n_threads=n_threads,
                advance=lambda rows: progress.advance(rows, rows),
            )
            for rows, others, nearest, squared in ((a, b, to_b, squared_a), (b, a, to_a, squared_b)):
                found = nearest.shape[1]
                unmatched[rows] &= not found
                weight = np.full(nearest.size, 1.0 / max(found, 1))
                pairs.append((np.repeat(rows, found), others[nearest].ravel(), weight, squared.ravel()))
    row, reference, weight, squared = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    if not np.isfinite(squared).all():
        raise InputError(
            "the numbers of X are too large to take distances of: their squares overflow. Scale the columns."
        )
    _warn_unmatched(setting, labels, unmatched)
    if pairing == "each":
        # A privileged row has references of several groups: they share its weight, the nearest first.
        weight /= np.bincount(row, weight, minlength=table.n_rows)[row]
        order = np.argsort(squared, kind="stable")
        row, reference, weight, squared = (part[order] for part in (row, reference, weight, squared))
    return MatchPlan(table.n_rows, row, reference, weight, np.sqrt(squared), table.store.library)


def _strata(groups: Groups, labels: Labels, pairing: Pairing) -> list[tuple[Ints, Ints]]:
    """Return the rows that are matched with each other: unprivileged and privileged ones of one label."""
    group = np.minimum(groups.group, 0) if pairing == "pooled" else groups.group
    return [
        (
            np.flatnonzero((group == g) & (labels.codes == label)),
            np.flatnonzero((groups.side == 1) & (labels.codes == label)),
        )
        for label in range(len(labels.names))
        for g in range(group.max() + 1)
    ]


def _check_k(k: Any) -> None:
    """Raise an error unless k is a number of references."""
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(
            f"k={k!r} is not a number of references; give a whole number from 1 on, such as k=1 for the "
            "nearest row alone."
        )


def distance_space(table: Table, without: Sequence[int]) -> tuple[Floats, Floats, Codes]:
    """Return the numbers, their weights and the codes that distances are taken in.

    The columns ``without`` play no part. Standardising is left to the weights: the difference of two whole
    numbers is exact, that of two standardised ones is not, and ties would go by the rounding. The numbers are
    brought near one by powers of two, which is exact too, so that no square overflows.
    """
    columns = np.flatnonzero(~np.isin(table.numeric_columns, without))
    codes = table.codes[:, ~np.isin(table.category_columns, without)]
    if table.is_array:
        numbers, more = without_one_hot(table.numbers, columns)
        return numbers, np.ones(numbers.shape[1]), np.column_stack([codes, more])
    numbers = table.numbers[:, columns]
    _, scale = mean_and_scale(numbers)
    power = np.exp2(np.round(np.log2(scale)))
    return numbers / power, (power / scale) ** 2, codes


def _warn_unmatched(setting: Setting, labels: Labels, unmatched: Bools) -> None:
    """Say which rows have no reference, and why."""
    if not unmatched.any():
        return
    groups = setting.groups
    reasons = []
    if groups.n_missing:
        reasons.append(f"{groups.n_missing} rows have no value of {groups.name!r}")
    for side, word in ((0, "unprivileged"), (1, "privileged")):
        for code, label in enumerate(labels.names):
            alone = int(np.count_nonzero(unmatched & (groups.side == side) & (labels.codes == code)))
            if alone:
                reasons.append(f"{alone} {word} rows have {label}, which the other group never has")
    hint = " Fewer bins would leave out fewer." if labels.classes is None else ""
    warn(
        f"{int(unmatched.sum())} of {len(unmatched)} rows have no reference and stay as they are: "
        f"{'; '.join(reasons)}.{hint}",
        UnmatchedRowsWarning,
    )
