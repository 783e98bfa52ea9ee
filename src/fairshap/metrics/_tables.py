"""Metrics of tables: discriminative risk, the bound that it gives, and how far a repaired table moved."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.stats import wasserstein_distance

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import mean_and_scale
from fairshap._models import Risk, Scorer
from fairshap._problem import Comparison, Privileged, Problem
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError


def discriminative_risk(
    model: Any,
    X: Native,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    comparison: Comparison = "max",
    min_group_size: int | None = None,
    random_state: Any = None,
    reduce: Literal["mean"] | None = "mean",
) -> Any:
    """Return how much the model's output changes when nothing but the sensitive attribute does (DR).

    ``|f(x, A=0) - f(x, A=1)|`` for each row, where f is the probability of a class or a regressor's
    prediction. With more than two classes it is the total variation: half the sum of these differences over
    the classes. With more than two values of the attribute, ``comparison`` says which differences count. For
    a quantity such as age, a row's own value is compared with the median of the other group.

    An attribute that carries no information has a risk above 0 too, because a model finds some use for any
    column. :func:`fairshap.evaluate` shows this noise level next to the risk.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows, as the model takes them.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of X. Several columns make a group of each combination.
    privileged : value, list of values, pandas.Interval or function
        The privileged values; a tuple for several columns.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X; the model sees it as a last column.
    comparison : {"max", "mean", "random"}, default="max"
        With more than two values: the largest or the mean difference between a privileged and an
        unprivileged one, or that between the row's own value and a random one of the other group, as in the
        paper's code.
    min_group_size : int, optional
        Unprivileged groups of fewer rows are pooled; by default 10 for several columns.
    random_state : int, RandomState instance or None
        The seed of the random comparison.
    reduce : {"mean"} or None, default="mean"
        The mean, a float; or with None the risk of each row, an array with NaN where a quantity is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> round(discriminative_risk(model, X, sensitive=0, privileged=1), 3)
    0.031
    """
    if reduce not in ("mean", None):
        raise InputError(f"reduce={reduce!r} is not known; give 'mean' or None.", parameter="reduce")
    problem = Problem.read(
        X,
        sensitive=sensitive,
        privileged=privileged,
        sensitive_features=sensitive_features,
        comparison=comparison,
        min_group_size=min_group_size,
        random_state=random_state,
    )
    risks = row_risks(Risk(Scorer(model), problem))
    return float(np.nanmean(risks)) if reduce else risks


def row_risks(risk: Risk, rows: Ints | None = None) -> Floats:
    """Return the risk of rows, by default of all, NaN where a quantity is missing."""
    rows = np.arange(risk.problem.table.n_rows) if rows is None else rows
    risks = risk.of_rows(rows)
    if risk.problem.groups.by_row:
        risks[risk.problem.groups.side[rows] < 0] = np.nan
    return risks


@dataclass(frozen=True, slots=True)
class ParityBound:
    """An upper bound on the gap in the mean score between the groups.

    ``score_parity`` is the gap itself, ``|E[f | unprivileged] - E[f | privileged]|``. The risks
    are the means of the groups. ``total_variation`` is the plug-in estimate of
    TV(D0, D1): half the sum of the absolute differences between the frequencies of whole rows, without the
    attribute. ``bound`` is the smaller risk plus the total variation; it ``is_vacuous`` if it is 1 or more,
    which every classifier meets.
    """

    score_parity: float
    risk_unprivileged: float
    risk_privileged: float
    total_variation: float
    bound: float
    is_vacuous: bool


def demographic_parity_bound(
    model: Any,
    X: Native,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
) -> ParityBound:
    """Return the paper's bound on score-based demographic parity, and what it is made of.

    ``|E[f(x, 0) | D0] - E[f(x, 1) | D1]| <= min(DR(D0), DR(D1)) + TV(D0, D1)`` for two values of the
    attribute and a classifier with probabilities of two classes. It holds exactly for the given rows, whose
    frequencies the plug-in total variation compares. If few rows are equal, the total variation is close to 1
    (0.7 to 1 on the paper's tables), and the bound says little or, when ``is_vacuous``, nothing.

    The parameters are those of :func:`discriminative_risk`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0, 1.0], [0, 3.0], [0, 1.0], [1, 1.0], [1, 3.0], [1, 5.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 0, 1, 1, 1])
    >>> found = demographic_parity_bound(model, X, sensitive=0, privileged=1)
    >>> f"{found.total_variation:.2f}, {found.score_parity:.2f} <= {found.bound:.2f}"
    '0.33, 0.34 <= 0.55'
    """
    problem = Problem.read(
        X, sensitive=sensitive, privileged=privileged, sensitive_features=sensitive_features
    )
    return parity_bound(Risk(Scorer(model), problem))


def parity_bound(risk: Risk) -> ParityBound:
    """Return the bound for the rows of a table whose groups are known."""
    problem, scorer = risk.problem, risk.scorer
    if not scorer.has_probabilities:
        what = "is a regressor" if scorer.is_regressor else "has a decision function only"
        raise InputError(f"the bound is for probabilities; the model {what}.")
    if scorer.n_classes > 2:
        raise InputError(f"the bound is for two classes; the model has {scorer.n_classes}.")
    if len(problem.groups.contrasts) > 1 or problem.groups.by_row:
        raise InputError(f"the bound is for two values of the attribute; {problem.groups.name!r} has more.")
    side, table = problem.groups.side, problem.table
    risks = row_risks(risk)
    scores = scorer(table.native)
    columns = ~np.isin(np.arange(len(table.names)), problem.columns)
    rows = table.hashes(np.arange(table.n_rows), 0)[:, columns].sum(axis=1, dtype=np.uint64)
    _, kind = np.unique(rows, return_inverse=True)
    frequency = [np.bincount(kind[side == s], minlength=kind.max() + 1) / np.sum(side == s) for s in (0, 1)]
    variation = float(np.abs(frequency[0] - frequency[1]).sum() / 2)
    means = [float(risks[side == s].mean()) for s in (0, 1)]
    bound = min(means) + variation
    return ParityBound(
        score_parity=abs(float(scores[side == 0].mean() - scores[side == 1].mean())),
        risk_unprivileged=means[0],
        risk_privileged=means[1],
        total_variation=variation,
        bound=bound,
        is_vacuous=bound >= 1.0,
    )


class Fidelity(NamedTuple):
    """How far the columns moved; see :func:`data_fidelity`."""

    mean: float
    std: float
    columns: dict[Hashable, float]


def data_fidelity(X_before: Native, X_after: Native) -> Fidelity:
    """Return how far each column's distribution moved, with the mean and std over the columns.

    For a numeric column it is the one-dimensional Wasserstein distance between the old and the new values.
    In a frame both are divided by the old standard deviation; in an array they are taken as given. For a
    categorical column it is half the sum of the absolute changes of the frequencies: the Wasserstein distance
    if any two categories are one apart. A missing value counts as a category.

    Parameters
    ----------
    X_before, X_after : data frame or array
        The original table and the repaired one, with the same rows and columns.

    Returns
    -------
    Fidelity
        ``mean`` and ``std`` over the columns, and ``columns``, the distance of each.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"colour": ["red", "red", "blue", "blue"]})
    >>> after = pd.DataFrame({"colour": ["red", "red", "red", "blue"]})
    >>> data_fidelity(before, after).mean
    0.25
    """
    both, n = _both(X_before, X_after)
    moved: dict[Hashable, float] = {}
    for column, name in enumerate(both.names):
        cells = both.column(column)
        if both.is_numeric(column):
            moved[name] = _numeric_distance(cells, n, both.is_array)
        else:
            old, new = (np.bincount(part + 1, minlength=cells.max() + 2) for part in (cells[:n], cells[n:]))
            moved[name] = float(np.abs(old - new).sum() / (2 * n))
    distances = np.array(list(moved.values()))
    return Fidelity(float(distances.mean()), float(distances.std()), moved)


def training_adjustment_rate(X_before: Native, X_after: Native) -> float:
    """Return the share of cells that differ between the original table and the repaired one.

    Examples
    --------
    >>> import numpy as np
    >>> training_adjustment_rate(np.zeros((2, 2)), np.array([[0, 1], [0, 0]]))
    0.25
    """
    both, n = _both(X_before, X_after)
    return float(both.differ(np.arange(n), np.arange(n) + n).mean())


def _both(X_before: Native, X_after: Native) -> tuple[Table, int]:
    """Return one table with the old rows and below them the new ones, and how many there are."""
    before = Table.read(X_before)
    return before.above(X_after), before.n_rows


def _numeric_distance(numbers: Floats, n: int, as_given: bool) -> float:
    old, new = (part[~np.isnan(part)] for part in (numbers[:n], numbers[n:]))
    missing = abs(len(old) - len(new)) / n
    if not len(old) or not len(new):
        return missing
    scale = 1.0 if as_given else float(mean_and_scale(old[:, None])[1][0])
    if len(old) == len(new):
        # Between equally many values, the optimal transport pairs them in their order.
        distance = float(np.abs(np.sort(old) - np.sort(new)).mean())
    else:
        distance = float(wasserstein_distance(old, new))
    return distance / scale + missing
