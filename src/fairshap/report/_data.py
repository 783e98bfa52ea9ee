"""What a page is written from: a repair, its models on held-out rows, and what other thresholds would do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from fairshap._crossval import MEASURES, CrossValidation, Evaluation, Trial, judge, make_folds, shuffled_risk
from fairshap._frames import show
from fairshap._models import copy_estimator, is_frozen
from fairshap._problem import Problem, Target
from fairshap.attribution import Explanation
from fairshap.attribution._subsets import risk_when_replaced
from fairshap.edits import Budget, Edits, Iterative, OptimalSubset, Selector, Threshold
from fairshap.edits._certificate import Certificate
from fairshap.edits._recipe import Recipe
from fairshap.exceptions import FairshapError, InputError

# Models with the attribute shuffled that the noise on a held-out set comes from; of folds, each has one.
_SHUFFLES = 5

# The thresholds that are tried, as multiples of the chosen one.
_MULTIPLES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """A repair, or the one that an audit would make.

    ``target`` knows the positive label. ``evaluation`` has the models before and after a repair on held-out
    rows; if it is None, ``not_measured`` says why.
    """

    explanation: Explanation
    recipe: Recipe
    edits: Edits
    certificate: Certificate
    target: Target
    evaluation: Evaluation | None = None
    not_measured: str = ""
    tuning: Any = None
    is_audit: bool = False

    @property
    def problem(self) -> Problem:
        """The table with its groups."""
        return self.explanation.problem

    def measure_lines(self) -> dict[str, dict[str, Any]] | None:
        """Return a line for each measure: before, after and change, each with the ends of its interval.

        None if nothing was measured.
        """
        if self.evaluation is None:
            return None
        measures, lines = self.evaluation.measures, {}
        levels = np.stack([measures.values, measures.low, measures.high], axis=-1)[:2]
        changes = np.stack(measures.changes(), axis=-1)[1]
        for k, (name, measure) in enumerate(MEASURES.items()):
            pairs = [measures.pair(model, name) for model in range(2)]
            said = [f"{show(pair[0], 40)} over {show(pair[1], 40)}" for pair in pairs if pair]
            groups = f"; {said[0]}" if said else ""
            groups += f" before, {said[1]} after" if len(set(said)) > 1 else ""
            line: dict[str, Any] = {"label": measure.label, "description": measure.description + groups}
            line |= dict(zip(("before", "after"), levels[:, k].tolist(), strict=True))
            change, low, high = line["change"] = changes[k].tolist()
            line["verdict"] = "not measurable"
            # A gap that cannot be taken is NaN, and not measurable either.
            if low > 0 or high < 0:
                line["verdict"] = "better" if (change > 0) == measure.higher_is_better else "worse"
            lines[name] = line
        return lines

    @property
    def n_cells(self) -> int:
        """The number of cells of the table."""
        return self.problem.own.n_rows * len(self.problem.own.names)

    @property
    def selector(self) -> Selector:
        """What selects the edits of one round."""
        selector = self.recipe.selector
        return selector.selector or Threshold() if isinstance(selector, Iterative) else selector

    @property
    def threshold(self) -> float:
        """The smallest Shapley value that leads to an edit; for an optimal subset, the cost of a cell."""
        selector = self.selector
        if isinstance(selector, Threshold):
            return selector.threshold_of(self.explanation)
        if isinstance(selector, OptimalSubset):
            return self.explanation.default_threshold if selector.cost is None else selector.cost
        # A budget has no threshold of its own: it ends where it is spent.
        values = self.edits.phi if len(self.edits) else [np.nan_to_num(self.explanation.values).max()]
        return float(np.min(values))

    @property
    def selection(self) -> str:
        """Which cells are edited, in words."""
        selector, whole = self.selector, self.recipe.selector
        if isinstance(selector, Threshold):
            is_finite = np.isfinite(self.threshold)
            said = f"cells with a Shapley value of at least {self.threshold:.4g}" if is_finite else "none"
        elif isinstance(selector, Budget):
            said = f"the cells with the largest Shapley values, at most {selector.max_cells(self.problem):,}"
        elif isinstance(selector, OptimalSubset):
            said = f"the cells that minimize a row's risk plus {self.threshold:.4g} per edited cell"
        else:
            said = show(selector)
        return said + (f"; up to {whole.max_rounds} rounds" if isinstance(whole, Iterative) else "")

    def mean_risks(self, edited: bool = False) -> tuple[float, float] | None:
        """Return the explained model's mean risk before and after, over all rows or the edited ones."""
        known = ~np.isnan(self.certificate.before)
        if edited:
            known &= self.certificate.edited
        if not known.any():
            return None
        return float(self.certificate.before[known].mean()), float(self.certificate.after[known].mean())


class Sweep(NamedTuple):
    """The cells and rows that each threshold would edit, and the explained model's mean risk after that.

    ``chosen`` is the position of the repair's own threshold, -1 if it is not among them.
    """

    thresholds: tuple[float, ...]
    cells: tuple[int, ...]
    rows: tuple[int, ...]
    risk: tuple[float, ...]
    chosen: int

    @classmethod
    def of(cls, data: ReportData) -> "Sweep":
        """Return what each threshold would do in one round, within the constraints but without a budget."""
        taken = data.threshold
        is_usable = bool(0 < taken < np.inf)
        if not is_usable:
            taken = float(np.nan_to_num(data.explanation.values).max(initial=1e-3))
        found = _try(data, [taken * one for one in _MULTIPLES])
        lines = [(float(f"{taken * one:.4g}"), *tried) for one, tried in zip(_MULTIPLES, found, strict=True)]
        thresholds, cells, rows, risk = zip(*lines, strict=True)
        return cls(thresholds, cells, rows, risk, _MULTIPLES.index(1.0) if is_usable else -1)


def _try(data: ReportData, thresholds: Iterable[float]) -> Iterator[tuple[int, int, float]]:
    """Yield the cells, the rows and the mean risk after the edits of each threshold.

    The model is asked about rows whose edits differ from those of the threshold before.
    """
    explanation, before = data.explanation, data.certificate.before
    features = explanation.features
    kind = OptimalSubset if isinstance(data.selector, OptimalSubset) else Threshold
    last, risk = np.zeros((len(explanation), len(features.names)), dtype=np.bool_), before.copy()
    for threshold in thresholds:
        rows, chosen = kind(threshold).choose(explanation, data.recipe.constraints)
        replaced = np.zeros_like(last)
        replaced[rows] = chosen
        changed = np.flatnonzero((replaced != last).any(axis=1))
        risk[changed] = before[changed]
        if len(asked := changed[replaced[changed].any(axis=1)]):
            risk[asked] = risk_when_replaced(explanation, asked, replaced[asked])
        cells = 0
        if len(rows):
            differ = data.problem.table.differ(rows, explanation.best[rows])[:, : len(features.of_column)]
            cells = int((differ & chosen[:, features.of_column]).sum())
        yield cells, len(rows), round(float(np.nanmean(risk)), 6)
        last = replaced


# ---- held-out measures


def evaluate_repair(
    fitted: Any, problem: Problem, recipe: Recipe, X_test: Any, y_test: Any, beside: Any
) -> tuple[Evaluation | None, str, Problem]:
    """Return the models before and after on held-out rows, or None and why not; and whose rows these are."""
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test belong together; give both, or neither.")
    target = problem.y
    if target.classes is None or len(target.classes) != 2:
        why = "Accuracy and the gaps between groups are measures of a target with two labels."
        return None, why, problem
    seed = int(check_random_state(fitted.random_state).randint(np.iinfo(np.int32).max))
    judged = problem
    if X_test is not None:
        if problem.added and beside is None:
            message = "X_test is given without the sensitive attribute; give sensitive_features_test too."
            raise InputError(message, parameter="sensitive_features_test")
        # The test rows may lack some of the privileged values that the table has.
        reader = copy_estimator(fitted).set_params(privileged=problem.privileged_in_parts)
        judged = reader._problem(X_test, y_test, beside, positive=target.positive_value)
        found = _on_test_rows(fitted, problem, recipe, judged, seed)
    else:
        try:
            found = _cross_validate(fitted, problem, recipe, seed)
        except FairshapError as error:
            # A fold can lack a group that the table has; the rest of the report does not need it.
            return None, f"A fold of the table could not be repaired: {error}", problem
    found.warn_if_noise(problem.groups.name)
    return found, "", judged


def _on_test_rows(fitted: Any, problem: Problem, recipe: Recipe, test: Problem, seed: int) -> Evaluation:
    """Measure on a held-out set; the noise comes from several models with the attribute shuffled."""
    explanation, values = fitted.explanation_, problem.y.values
    before = explanation.model
    if problem.added:
        # What would be deployed never sees the attribute, as the explained model does.
        before = fitted._refit(problem.own.native, values, None)
    repaired = recipe.finish(explanation, problem.own.native, values, fitted.edits_)
    after = fitted._refit(repaired.X, repaired.y, repaired.sample_weight)
    how = f"Measured on a held-out set of {test.table.n_rows:,} rows."
    judged = [[judge(model, test)] for model in (before, after)]
    found = Evaluation.of(["before", "after"], judged, test.groups.names, how)
    if is_frozen(fitted.estimator) or problem.added:
        # A model that was given fitted is not trained again; one that is blind has no noise.
        return found
    fit = partial(fitted._refit, y=values, sample_weight=None)
    train, rows = np.arange(problem.table.n_rows), np.arange(test.table.n_rows)
    noise = [shuffled_risk(problem, train, fit, test, rows, seed + k) for k in range(_SHUFFLES)]
    return replace(found, noise=np.array(noise))


def _cross_validate(fitted: Any, problem: Problem, recipe: Recipe, seed: int) -> Evaluation:
    """Measure on folds of the table; the explanation of a fold is of its baseline."""
    # A fold may lack a privileged value that the table has.
    sampler = copy_estimator(fitted).set_params(random_state=seed, privileged=problem.privileged_in_parts)
    sampler.set_params(selector=recipe.selector, threshold=None)
    if is_frozen(fitted.estimator):
        # The fitted model has seen the rows of every fold: one of its kind is trained on each instead.
        sampler.set_params(estimator=copy_estimator(fitted.estimator.estimator))
    folds = make_folds(problem.y, problem.groups.side, None, None, seed)
    trials = [Trial("before"), Trial("after", sampler)]
    return CrossValidation(sampler, problem, folds, seed).run(trials).evaluation
