"""Tuning: which repair does the most within what the user can accept."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import clone

from fairshap._crossval import THRESHOLDS, CrossValidation, Evaluation, Trial, with_params
from fairshap._crossval.objective import Objective, Ranking, check_objective, describe_objective
from fairshap._crossval.trials import check_unfitted, draw_seed, warn_of_skipped
from fairshap._frames import PlayersLike
from fairshap._messages import did_you_mean, listing
from fairshap._messages import is_number as is_risk
from fairshap._models import copy_estimator
from fairshap._problem import Privileged
from fairshap._typing import Bools, Native
from fairshap.attribution._explanation import make_explainer
from fairshap.edits import EditConstraints, Iterative, OptimalSubset, Selector, Threshold
from fairshap.edits._recipe import (
    CounterfactualRows,
    check_counterfactuals,
    describe_counterfactuals,
)
from fairshap.edits._selectors import Rejection, make_constraints
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.mitigation import SensitiveRemover
from fairshap.model_selection._evaluate import train_method

_SELECTORS: dict[str, Callable[[float], Selector]] = {
    "threshold": Threshold,
    "optimal": OptimalSubset,
    "iterative": lambda threshold: Iterative(Threshold(threshold)),
}
# Which of the thresholds a selector that takes long is tried with.
_FEWER = {"optimal": (0, 1, 3), "iterative": (1,)}

# By name, what each repair that is tried selects, within which constraints, and with which counterfactuals.
_Candidates: TypeAlias = dict[str, tuple[Selector, EditConstraints | None, CounterfactualRows]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuning:
    """All candidates of a search, and which to take.

    Attributes
    ----------
    recommended, reason : str
        The name of the candidate to take, and why, in a sentence.
    repair : FairSHAP
        The recommended repair, ready to fit. If a candidate without a repair is recommended, the best repair
        within the limits.
    evaluation : Evaluation
        The measures of all candidates, and the noise level.
    allowed : ndarray of bool
        Which candidates are within the limits.
    taken, is_repair : int, bool
        The position of the recommended one, and whether it is a repair.
    """

    recommended: str
    reason: str
    repair: FairSHAP
    evaluation: Evaluation
    allowed: Bools
    taken: int
    is_repair: bool
    _ranking: Ranking

    def __repr__(self) -> str:
        return f"Tuning({len(self.evaluation.names)} candidates; {self.reason})"

    def frame(self) -> pd.DataFrame:
        """Return all candidates: the baseline, the recommended one, then the best within the limits.

        The columns are those of :meth:`Evaluation.frame`, objective, allowed, on_front and recommended.
        """
        value, places = self._ranking.value, np.arange(len(self.allowed))
        frame = self.evaluation.frame().drop(columns=["raw_dr", "dr_noise"])
        frame.insert(1, "objective", value)
        frame = frame.assign(
            allowed=self.allowed, on_front=self._ranking.front(), recommended=places == self.taken
        )
        order = np.lexsort((value, ~self.allowed, places != self.taken, places > 0))
        return frame.iloc[order].reset_index(drop=True)

    def front(self) -> pd.DataFrame:
        """Return the Pareto front: candidates that no other beats in both accuracy and the objective."""
        frame = self.frame()
        return frame[frame["on_front"]].sort_values("objective", ignore_index=True)

    def plot(self, ax: Any = None) -> Any:
        """Draw accuracy against the objective, with the Pareto front; return the axes."""
        from fairshap._plotting import draw_trade_off

        ranking, label = self._ranking, describe_objective(self._ranking.objective)
        return draw_trade_off(ranking.accuracy, ranking.value, ranking.front(), self.taken, label, ax)


def tune(
    X: Native,
    y: Any,
    estimator: Any = None,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    objective: Objective = "fairness",
    max_accuracy_drop: float = 0.01,
    max_edits: int | float | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    selectors: Sequence[str | Selector] = tuple(_SELECTORS),
    counterfactuals: Sequence[CounterfactualRows] = (None, "edited", "all"),
    reject_if: Sequence[Rejection] | None = None,
    feature_groups: PlayersLike = None,
    each_column: bool = True,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **params: Any,
) -> Tuning:
    """Try many repairs by cross-validation and say which to take.

    The candidates are the selectors with several thresholds, each with and without counterfactuals, and what
    needs no edits: the baseline, the model without the sensitive column, and counterfactuals alone. In each
    fold the rows are matched and the model is explained once for all of them. A candidate that cannot be
    trained is left out with a warning. For an estimator that takes no weights, rows are repeated so that rows
    with and without counterfactuals count the same. A pipeline that may name the sensitive column keeps it,
    with the same value in all rows, instead of losing it.

    Of the repairs within the limits and within one standard error of the best, the most accurate is
    recommended: which of them comes out best on folds is chance. The baseline is kept if the best cannot be
    told from it. A candidate without edits is recommended if it is the best, or at least as good in accuracy,
    DR, DP and EO.

    Parameters that are not listed are those of :func:`fairshap.evaluate`.

    Parameters
    ----------
    objective : str or mapping, default="fairness"
        What is made small. "fairness" is the mean of DR, DP and EO, each relative to the baseline's. Or the
        name of one measure, such as "dp", or a mapping of weights, such as ``{"dr": 1, "dp": 6}``. A model
        that has no use for the attribute has a DR of 0, and so a low mean even if it hardly lowers the
        others; and the lowest EO on small folds is mostly chance. Weights say what counts.
    max_accuracy_drop : float, default=0.01
        How much accuracy a candidate may lose on held-out rows. Models of folds are trained on fewer rows and
        tend to lose more than one of the whole table.
    max_edits : int or float, optional
        How many cells may be edited: a number for the whole table, or a share below 1.
    thresholds : sequence of float, optional
        The thresholds, the largest first.
    selectors : sequence, optional
        The selectors: "threshold", "optimal", "iterative" with the thresholds, or objects such as
        ``Budget(500)`` as they are.
    counterfactuals : sequence, optional
        Which rows get counterfactuals: None, "edited", "all", or a number for those whose risk is at least
        that. With a number, as with "all", counterfactuals alone are a candidate too.
    reject_if : sequence, optional
        When edits of a row are taken back: None, "risk_rises", "label_less_likely"; by default as in
        ``constraints``. The last lowers DP and EO further on some tables, and undoes the repair on others.
    feature_groups : mapping of names to lists of columns, optional
        Columns that are switched together; see :class:`fairshap.Explainer`.
    each_column : bool, default=True
        Whether each column by itself is tried as well, if there are feature groups. Editing half a category
        can leave rows that no encoding makes.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.model_selection import tune
    >>> d = datasets.make_biased(400, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> tuning = tune(d.X, d.y, LogisticRegression(), **who, thresholds=[0.05],
    ...               selectors=["threshold"], n_repeats=1, random_state=0)
    >>> tuning.frame()["name"].tolist()[0]
    'baseline'
    """
    check_objective(objective)
    if not 0 <= max_accuracy_drop <= 1:
        message = f"max_accuracy_drop={max_accuracy_drop!r} must be between 0 and 1."
        raise InputError(message, parameter="max_accuracy_drop")
    seed = draw_seed(random_state)
    who = {"sensitive": sensitive, "privileged": privileged}
    template = FairSHAP(estimator, **who, random_state=seed, n_jobs=n_jobs, **params)
    check_unfitted(template.estimator, "tune")
    made = _candidates(template, thresholds, selectors, counterfactuals, reject_if)
    cv = CrossValidation.read("tune", template, X, y, positive, n_folds, n_repeats)
    trials = _trials(cv.template, made, feature_groups, each_column)
    evaluation, failed = cv.run(trials, title="Tuning", by="name", n_jobs=n_jobs, verbose=verbose, skip=True)
    trials = [trial for trial in trials if trial.name not in failed]
    is_repair = np.array([trial.sampler is not None for trial in trials])
    if not is_repair.any():
        raise next(iter(failed.values()))
    warn_of_skipped(failed)
    evaluation.warn_if_noise(cv.problem.groups.name)
    ranking = Ranking(evaluation, objective, [trial.is_plain for trial in trials])
    n_cells = cv.problem.table.n_rows * len(cv.problem.own.names)
    allowed = ranking.is_allowed(max_accuracy_drop, _share(max_edits, n_cells))
    # The baseline loses nothing and edits nothing.
    allowed[0] = True
    taken, reason = ranking.recommend(allowed)
    best = taken
    if not is_repair[taken]:
        best = ranking.steady(is_repair & allowed if (is_repair & allowed).any() else is_repair)
    repair = copy_estimator(trials[best].sampler).set_params(privileged=privileged, random_state=random_state)
    name = evaluation.names[taken]
    return Tuning(name, reason, repair, evaluation, allowed, taken, bool(is_repair[taken]), ranking)


def _candidates(
    template: FairSHAP, thresholds: Sequence[float], selectors: Any, counterfactuals: Any, reject_if: Any
) -> _Candidates:
    """Return each repair that is tried, by name."""
    if not len(thresholds):
        raise InputError("thresholds is empty; give some, for example [0.1, 0.05, 0.02].")
    if template.selector is not None or template.threshold is not None:
        raise InputError("tune tries selectors with thresholds; name them in selectors and thresholds.")
    own = make_constraints(template.constraints)
    limits: dict[Rejection, EditConstraints | None] = {own.reject_if: template.constraints}
    if reject_if is not None:
        if own.reject_if is not None:
            raise InputError("reject_if is given twice; give it here and not in constraints.")
        rejections = _each_once("reject_if", reject_if, "[None, 'label_less_likely']")
        limits = {one: clone(own).set_params(reject_if=one) for one in rejections}
    rows = _each_once("counterfactuals", counterfactuals, "[None, 'all', 0.1]")
    for one in rows:
        check_counterfactuals(one)
    made: _Candidates = {}
    # A single rejection is that of the repair, also if counterfactuals alone are recommended.
    single = next(iter(limits.values())) if len(limits) == 1 else template.constraints
    for one in ("all", *filter(is_risk, rows)):
        made[f"{describe_counterfactuals(one)}, no edits"] = (Threshold(np.inf), single, one)
    named = _named_selectors(thresholds, selectors).items()
    for (rejection, constraints), (name, selector), one in itertools.product(limits.items(), named, rows):
        said = f", reject_if {rejection}" if rejection and len(limits) > 1 else ""
        said += f", {describe_counterfactuals(one)}" if one is not None else ""
        made[f"{name}{said}"] = (selector, constraints, one)
    return made


def _named_selectors(thresholds: Sequence[float], selectors: Any) -> dict[str, Selector]:
    """Return the selectors that are tried, by name."""
    named: dict[str, Selector] = {}
    for selector in _each_once("selectors", selectors, "['threshold', 'optimal']"):
        if isinstance(selector, Selector):
            named[repr(selector)] = selector
            continue
        if not isinstance(selector, str) or selector not in _SELECTORS:
            raise InputError(
                f"selectors names {selector!r}; give {listing(_SELECTORS)} or a selector such as Budget(500)."
                f"{did_you_mean(selector, list(_SELECTORS))}",
                parameter="selectors",
            )
        places = _FEWER.get(selector, range(len(thresholds)))
        for threshold in [thresholds[k] for k in places if k < len(thresholds)] or thresholds[:1]:
            named[f"{selector} {threshold:g}"] = _SELECTORS[selector](threshold)
    return named


def _trials(template: Any, made: _Candidates, feature_groups: PlayersLike, each_column: bool) -> list[Trial]:
    """Return the trials of what needs no repair, and of each repair with each kind of features."""
    estimator = template._estimator()
    who = {"sensitive": template.sensitive, "privileged": template.privileged}
    train = partial(train_method, SensitiveRemover(**who), estimator)
    trials = [Trial("baseline"), Trial("without the sensitive column", train=train)]
    kinds = {"each column": template.explainer} if each_column or feature_groups is None else {}
    if feature_groups is not None:
        explainer = clone(make_explainer(template.explainer))
        kinds["feature groups"] = explainer.set_params(feature_groups=feature_groups)
    by_name: dict[str, Trial] = {}
    for (kind, explainer), (name, (selector, constraints, rows)) in itertools.product(
        kinds.items(), made.items()
    ):
        chosen = {"selector": selector, "constraints": constraints, "counterfactuals": rows}
        trial = Trial(name, with_params(template, **chosen, explainer=explainer))
        if len(kinds) > 1 and not trial.is_plain:
            trial = replace(trial, name=f"{name}, {kind}")
        # Counterfactuals alone are the same with any features.
        by_name.setdefault(trial.name, trial)
    return [*trials, *by_name.values()]


def _each_once(name: str, values: Any, example: str) -> list[Any]:
    """Return what is tried of something, each once."""
    found = [] if isinstance(values, str) or not np.iterable(values) else list(values)
    if not found:
        message = f"{name}={values!r} must be a list of at least one, such as {example}."
        raise InputError(message, parameter=name)
    once: list[Any] = []
    once += (value for value in found if not any(value is one or value == one for one in once))
    return once


def _share(max_edits: int | float | None, n_cells: int) -> float:
    if max_edits is None:
        return 1.0
    if isinstance(max_edits, bool) or not max_edits >= 0:
        message = f"max_edits={max_edits!r} must be a number of cells, or a share of all cells below 1."
        raise InputError(message, parameter="max_edits")
    return max_edits if max_edits < 1 else max_edits / n_cells
