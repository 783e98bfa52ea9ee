"""Budget curves: what more and more edits do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._figures.curve import draw_curves
from fairshap._problem import Privileged
from fairshap._ties import reaches
from fairshap._typing import Floats, Native
from fairshap.estimators._sampler import FairSHAP
from fairshap.estimators._trying import FoldedTable
from fairshap.exceptions import InputError
from fairshap.model_selection import MEASURES, Measured, Trial, Tried
from fairshap.repair import Augment

# The points of a curve where none are given, and the attribution at which it ends.
_POINTS, _END = 25, 0.01


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BudgetCurve:
    """All measures against the number of edits.

    Parameters
    ----------
    budgets : ndarray of int, shape (points,)
        How many cells were allowed.
    edits : ndarray of float, shape (points,)
        How many were edited, in the mean over the folds.
    measured : Measured
        The measures at each point, on all held-out rows together.
    """

    budgets: Floats
    edits: Floats
    measured: Measured

    def __repr__(self) -> str:
        return f"BudgetCurve({len(self.budgets)} points, 0 to {self.edits.max():.0f} edits)"

    def frame(self) -> pd.DataFrame:
        """Return one line for each point: ``budget``, ``edits``, and each measure.

        The ends of its 95 % interval are its ``_low`` and ``_high``.
        """
        data = {"budget": self.budgets, "edits": self.edits}
        for k, name in enumerate(MEASURES):
            data[name] = self.measured.values[:, k]
            data[f"{name}_low"], data[f"{name}_high"] = self.measured.low[:, k], self.measured.high[:, k]
        return pd.DataFrame(data)

    def plot(self, axes: Any = None) -> Any:
        """Draw each measure against the number of edits, with the band of its 95 % intervals.

        Parameters
        ----------
        axes : array of matplotlib axes, optional
            Where to draw, one for each measure; by default on new ones.
        """
        parts = (self.measured.values, self.measured.low, self.measured.high)
        curves = {name: tuple(part[:, k] for part in parts) for k, name in enumerate(MEASURES)}
        return draw_curves(self.edits, curves, axes)


def budget_curve(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    budgets: Sequence[int] | None = None,
    augment: Augment = None,
    n_folds: int = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> BudgetCurve:
    """Return what the largest 0, 1, 2, ... attributions do when their cells are edited, on folds.

    Parameters
    ----------
    X : data frame or array
        The table, which holds the sensitive attribute.
    y : array-like
        The label of each row, two values.
    estimator, sensitive, privileged, positive
        See :class:`FairSHAP`.
    budgets : sequence of int, optional
        The numbers of edited cells; by default 25 from none to as many as have an attribution of 0.01.
    augment : {None, "edited", "all"} or float, default=None
        Which rows get twins; see :class:`FairSHAP`.
    n_folds, n_repeats : int
        The folds.
    random_state : int, RandomState instance or None
        The source of the folds, and of whatever the estimators draw.
    n_jobs, verbose
        See :class:`FairSHAP`.
    **params
        Other parameters of :class:`FairSHAP`, such as ``players``.

    Returns
    -------
    BudgetCurve
        A ``frame()`` and a ``plot()``.

    Examples
    --------
    >>> from fairshap import budget_curve, datasets
    >>> d = datasets.make_biased(300, random_state=0)
    >>> curve = budget_curve(d.X, d.y, sensitive=d.sensitive, privileged=d.privileged, budgets=[0, 30],
    ...                      n_folds=2, random_state=0)
    >>> curve.frame()["edits"].tolist()
    [0.0, 30.0]
    """
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    sampler = FairSHAP(
        estimator,
        sensitive=sensitive,
        privileged=privileged,
        positive=positive,
        random_state=seed,
        n_jobs=n_jobs,
        **params,
    )
    table = FoldedTable.read("budget_curve", sampler, X, y, n_folds, n_repeats, seed)
    # A budget may take attributions of any size, so that no row can be left out.
    sampler.set_params(screen=False)
    points = _default_budgets(sampler, table.setting, y) if budgets is None else _checked(budgets)
    trials = [Trial("0") if not n and not augment else _trial(sampler, n, augment) for n in points.tolist()]
    return _curve(points, table.run(trials, {"own": sampler}, "Curve", verbose))


def _trial(sampler: FairSHAP, n: int, augment: Augment) -> Trial:
    """Return the trial of a number of edits; none is a threshold that nothing reaches."""
    changes: dict[str, Any] = {"strategy": "budget", "budget": n} if n else {"strategy": "threshold"}
    recipe = clone(sampler).set_params(**changes)._recipe(0.05 if n else np.inf, augment)
    return Trial(str(n), recipe, "own")


def _default_budgets(sampler: FairSHAP, setting: Any, y: Any) -> Any:
    found = clone(sampler)._ask(setting, y).attributions
    most = int(np.count_nonzero(reaches(found.values, _END, found.unit)))
    return np.unique(np.linspace(0, most, _POINTS).round().astype(np.int64))


def _checked(budgets: Sequence[int]) -> Any:
    points = np.asarray(budgets)
    if points.ndim != 1 or not len(points) or points.dtype.kind not in "iu" or points.min() < 0:
        raise InputError(
            f"budgets={budgets!r} must be numbers of cells, whole ones from 0 on.", parameter="budgets"
        )
    return points


def _curve(points: Any, tried: Tried) -> BudgetCurve:
    edits = np.array([np.mean(outcome.n_edits) for outcome in tried.outcomes])
    return BudgetCurve(points, edits, tried.measure())
