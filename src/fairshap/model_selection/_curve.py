"""Budget curves: what more and more edits do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._crossval import CrossValidation, Evaluation, Trial, check_unfitted, draw_seed, with_params
from fairshap._problem import Privileged
from fairshap._problem.target import reaches
from fairshap._typing import Ints, Native
from fairshap.edits import Budget, Threshold
from fairshap.edits._recipe import CounterfactualRows, Recipe
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError

# The points of a curve by default, and the Shapley value at which it ends.
_POINTS, _END = 25, 0.01


def budget_curve(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    budgets: Sequence[int] | None = None,
    counterfactuals: CounterfactualRows = None,
    n_folds: int = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Evaluation:
    """Return what editing the cells of the largest 0, 1, 2, ... Shapley values does, by cross-validation.

    Parameters
    ----------
    X : data frame or array
        The table, which holds the sensitive attribute.
    y : array-like
        The label of each row, two values.
    estimator, sensitive, privileged
        See :class:`fairshap.FairSHAP`.
    positive : label, optional
        The positive label; by default the larger one.
    budgets : sequence of int, optional
        The numbers of edited cells; by default 25, from none to the number of Shapley values of at least
        0.01.
    counterfactuals : {None, "edited", "all"} or float, default=None
        Which rows get counterfactuals; see :class:`fairshap.FairSHAP`.
    n_folds, n_repeats : int
        The folds; see :func:`fairshap.evaluate`.
    random_state : int, RandomState instance or None
        The seed of the folds and of the estimators.
    n_jobs, verbose
        See :class:`fairshap.FairSHAP`.
    **params
        Other parameters of :class:`fairshap.FairSHAP`, such as ``explainer``.

    Returns
    -------
    Evaluation
        A line for each budget in ``frame()``, and curves in ``plot()``.

    Examples
    --------
    >>> from fairshap import datasets
    >>> from fairshap.model_selection import budget_curve
    >>> d = datasets.make_biased(300, random_state=0)
    >>> curve = budget_curve(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged, budgets=[0, 30],
    ...                      n_folds=2, random_state=0)
    >>> curve.frame()["edits"].tolist()
    [0.0, 30.0]
    """
    seed = draw_seed(random_state)
    who = {"sensitive": sensitive, "privileged": privileged}
    sampler = FairSHAP(estimator, **who, random_state=seed, n_jobs=n_jobs, **params)
    check_unfitted(sampler.estimator, "budget_curve")
    cv = CrossValidation.read("budget_curve", sampler, X, y, positive, n_folds, n_repeats, seed)
    if budgets is None:
        budgets = _default_budgets(cv.template, cv.problem).tolist()
    points = np.asarray(budgets)
    if points.ndim != 1 or not len(points) or points.dtype.kind not in "iu" or points.min() < 0:
        raise InputError(
            f"budgets={budgets!r} must be numbers of cells, whole ones from 0 on.", parameter="budgets"
        )
    constraints = sampler._recipe().constraints
    trials = []
    for n in points.tolist():
        recipe = Recipe(Budget(n) if n else Threshold(np.inf), constraints, counterfactuals)
        trials.append(Trial(n, cv.template, recipe) if n or counterfactuals else Trial(n))
    return cv.run(trials, title="Curve", by="budget", verbose=verbose, has_noise=False)[0]


def _default_budgets(sampler: Any, problem: Any) -> Ints:
    explanation = with_params(sampler)._explain(problem, Recipe(Budget()))
    most = int(np.count_nonzero(reaches(explanation.values, _END, explanation.unit)))
    return np.unique(np.linspace(0, most, _POINTS).round().astype(np.int64))
