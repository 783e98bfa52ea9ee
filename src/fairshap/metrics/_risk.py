"""Discriminative risk, and how it bounds demographic parity."""

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from fairshap._models import Risk, Scorer
from fairshap._problem import Comparison, Privileged, Setting
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError


@overload
def discriminative_risk(
    model: Any,
    X: Native,
    *,
    sensitive: Any = ...,
    privileged: Privileged = ...,
    sensitive_features: Any = ...,
    comparison: Comparison = ...,
    min_group_size: int | None = ...,
    random_state: Any = ...,
    reduce: Literal["mean"] = ...,
) -> float: ...
@overload
def discriminative_risk(
    model: Any,
    X: Native,
    *,
    sensitive: Any = ...,
    privileged: Privileged = ...,
    sensitive_features: Any = ...,
    comparison: Comparison = ...,
    min_group_size: int | None = ...,
    random_state: Any = ...,
    reduce: None,
) -> Floats: ...


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
) -> float | Floats:
    """Return how much the model's output changes when nothing but the sensitive attribute does (DR).

    ``|f(x, A=0) - f(x, A=1)|`` for each row, f being the probability of a class or the prediction of a
    regressor. For more than two classes it is the total variation: half the sum, over the classes, of such
    differences. With more than two values of the attribute ``comparison`` says which differences count; for a
    quantity such as age, the row's own value is compared with the median of the other side.

    It is not 0 for an attribute that says nothing: a model finds some use for any column.
    :func:`fairshap.evaluate` shows that noise level beside it.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows, as the model takes them.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of X; several make a group of each combination.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged; a tuple for several columns.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X; the model sees it as a last column.
    comparison : {"max", "mean", "random"}, default="max"
        With more than two values: the largest or the mean difference between a privileged and an
        unprivileged one, or that between the row's own value and one of the other side that is
        drawn for it, as the paper's code does.
    min_group_size : int, optional
        Unprivileged groups of fewer rows are taken as one; by default 10 for several columns.
    random_state : int, RandomState instance or None
        The source of the values that are drawn.
    reduce : {"mean"} or None, default="mean"
        None returns the risk of each row; NaN where a quantity is missing, so that there is no side
        to compare with. The mean is over the other rows.

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
    setting = Setting.read(
        X,
        sensitive,
        privileged,
        sensitive_features,
        comparison=comparison,
        min_group_size=min_group_size,
        random_state=random_state,
    )
    risks = row_risks(Risk(Scorer(model), setting))
    return float(np.nanmean(risks)) if reduce else risks


def row_risks(risk: Risk, rows: Ints | None = None) -> Floats:
    """Return the risk of rows, by default of all, NaN where a quantity is missing."""
    rows = np.arange(risk.setting.table.n_rows) if rows is None else rows
    risks = risk.of_rows(rows)
    if risk.setting.groups.by_row:
        risks[risk.setting.groups.side[rows] < 0] = np.nan
    return risks


@dataclass(frozen=True, slots=True)
class ParityBound:
    """An upper bound on the gap in the mean score between the groups.

    Parameters
    ----------
    score_parity : float
        The gap itself, ``|E[f | unprivileged] - E[f | privileged]|``, measured.
    risk_unprivileged, risk_privileged : float
        The mean discriminative risk of either group.
    total_variation : float
        The plug-in estimate of TV(D0, D1): half the sum of the absolute differences between the
        frequencies of whole rows, sensitive attribute left out, in the two groups.
    bound : float
        ``min(risk_unprivileged, risk_privileged) + total_variation``.
    is_vacuous : bool
        Whether the bound is 1 or more, which every classifier meets.
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
    attribute and a classifier with probabilities of two classes. It holds exactly for the rows at hand, whose
    frequencies the plug-in total variation compares. But where few rows are equal, that total variation is
    near 1: on the paper's tables it is 0.7 to 1, and the bound says little or, when ``is_vacuous``, nothing.

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
    setting = Setting.read(X, sensitive, privileged, sensitive_features)
    return parity_bound(Risk(Scorer(model), setting))


def parity_bound(risk: Risk) -> ParityBound:
    """Return the bound for the rows of a table whose groups are known."""
    setting, scorer = risk.setting, risk.scorer
    if not scorer.has_probabilities:
        what = "is a regressor" if scorer.is_regressor else "has a decision function only"
        raise InputError(f"the bound is for probabilities; the model {what}.")
    if scorer.n_classes > 2:
        raise InputError(f"the bound is for two classes; the model has {scorer.n_classes}.")
    if len(setting.groups.contrasts) > 1 or setting.groups.by_row:
        raise InputError(f"the bound is for two values of the attribute; {setting.groups.name!r} has more.")
    side, table = setting.groups.side, setting.table
    risks = row_risks(risk)
    scores = scorer(table.native)
    columns = ~np.isin(np.arange(len(table.names)), setting.columns)
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
