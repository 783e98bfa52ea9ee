"""Weights by group and label, or the rule that they stand for, chosen on out-of-fold predictions."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from fairshap._crossval.trials import draw_seed
from fairshap._messages import check_choice, check_count
from fairshap._models import default_estimator
from fairshap._problem import Privileged, Problem
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError
from fairshap.mitigation._base import Mitigator, RowWeigher, read_rows
from fairshap.mitigation._posteriors import Calibration, JointModel, Learner, two_labels
from fairshap.mitigation._removal import remover_for
from fairshap.mitigation._strengths import (
    PRICED,
    Judge,
    Limits,
    Minimize,
    Posteriors,
    check_drop,
    probabilities,
    read_strengths,
    rule_weights,
    search,
    shares_of,
)

#: Returns the out-of-fold margins of models that are trained with weights.
Retrain: TypeAlias = Callable[[Floats], Floats]
# How many strengths are tried by training.
_TRIALS = 4


class ParitySearch(Mitigator):
    """What both ways share: the parameters, the cross-fitting and the search for strengths."""

    _measured: dict[str, list[Any]] | None
    # Whether negative weights are taken as 0, as they must be for training.
    _is_clipped = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        positive: Any = None,
        minimize: Minimize = "demographic_parity",
        strengths: Mapping[str, float] | None = None,
        max_accuracy_drop: float | None = 0.004,
        max_auc_drop: float | None = 0.02,
        n_folds: int = 3,
        random_state: Any = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.estimator = estimator
        self.positive = positive
        self.minimize = minimize
        self.strengths = strengths
        self.max_accuracy_drop = max_accuracy_drop
        self.max_auc_drop = max_auc_drop
        self.n_folds = n_folds
        self.random_state = random_state

    def _estimator(self) -> Any:
        if self.estimator is None:
            return default_estimator(self.random_state)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "get_params"):
            raise InputError(
                f"estimator={self.estimator!r} is not a classifier of scikit-learn's kind; give for example "
                "LogisticRegression().",
                parameter="estimator",
            )
        return self.estimator

    def _read(self, X: Native, y: Any, sensitive_features: Any, sample_weight: Any) -> Problem:
        """Return the problem, after a check of the parameters."""
        check_choice(self.minimize, "minimize", get_args(Minimize))
        check_count(self.n_folds, "n_folds", "", least=2)
        beside = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        return self._problem(X, y=y, **beside, positive=self.positive, is_quantity=False)

    def _learner(self, problem: Problem) -> Learner:
        """Return what fits the models, without the sensitive columns of the table; see Learner."""
        estimator = self._estimator()
        remover = None if problem.added else remover_for(self, estimator, problem.own.native)
        return Learner.read(estimator, problem, remover)

    @property
    def out_of_fold_(self) -> pd.DataFrame | None:
        """Accuracy, ROC AUC and gaps of out-of-fold predictions; None if nothing was predicted so."""
        check_is_fitted(self)
        # A frame of its own would keep the estimator from being saved by skops.
        return None if self._measured is None else pd.DataFrame(self._measured).set_index("rule")

    def _limits(self) -> Limits:
        drops = ((getattr(self, name), name) for name in ("max_accuracy_drop", "max_auc_drop"))
        return Limits(*(check_drop(*drop) for drop in drops))

    def _strengths(self, posteriors: Posteriors | None) -> Floats:
        """Return the strengths that are given, or searched by posteriors."""
        given = read_strengths(self.strengths)
        if given is not None or posteriors is None:
            return np.zeros(3) if given is None else given
        return search(posteriors, self.minimize, self._limits(), self._is_clipped)

    def _choose(self, posteriors: Posteriors) -> Floats:
        """Choose the strengths, say what they do out of fold, and return the weights of the rule."""
        strengths = self._strengths(posteriors)
        weights = rule_weights(strengths, posteriors.shares)
        self.strengths_ = dict(zip(PRICED, strengths.tolist(), strict=True))
        self._measured = posteriors.measured(
            {"before": posteriors.margins(), "after": probabilities(posteriors.joint, weights) - 0.5}
        )
        return weights


class ParityWeigher(ParitySearch, RowWeigher):
    """Weight the rows of each group and label so that a model without the attribute treats groups alike.

    At a given price of the gaps between groups, the most accurate rule that does not use the attribute is the
    one that a model learns from rows weighted by group and label. :class:`Reweigher` has one such set of
    weights; here the prices ("strengths") are searched. Models of the label and of the group given the other
    columns are fitted on folds. Their out-of-fold predictions tell what any strengths would do, without
    another fit. The best are then confirmed by training with the weights on the same folds; if a limit is not
    kept, bisection finds the largest share of them that keeps it. Rows are not weighted if that narrows the
    gap by less than half its standard error. Train without the sensitive column, as
    :class:`MitigatedClassifier` does with ``drop_sensitive=True``.

    Parameters
    ----------
    estimator : classifier, default=None
        Predicts label and group, without the sensitive column; it needs ``predict_proba``. None is
        scikit-learn's ``HistGradientBoostingClassifier``. Best is the classifier that will be trained.
    positive : label, optional
        The positive label; by default the larger one.
    minimize : {"demographic_parity", "equal_opportunity", "equalized_odds"}
        The gap to make small. The other of demographic parity and equal opportunity may rise by at most half
        a standard error.
    strengths : mapping of str to float, optional
        Strengths to use instead of a search, for the gaps "demographic_parity", "equal_opportunity" and
        "predictive_equality" (the false positive rate); others are 0. At 1 a weight of the smaller group is
        doubled, or 0. A negative strength favors the privileged group.
    max_accuracy_drop, max_auc_drop : float or None
        How much accuracy and ROC AUC may fall, against the model without the sensitive column and on the same
        out-of-fold predictions; None for no limit.
    n_folds : int, default=3
        The folds. Each takes three fits, two of them on a part of the rows, and one for each trial of
        weights, of which there are up to four.
    random_state : int, RandomState instance or None, default=None
        The seed of the folds and of the default estimator.

    Attributes
    ----------
    sample_weight_ : ndarray of float, shape (rows,)
        The weights of the training rows, multiplied by the given ones. Their sum is unchanged, and a row
        whose attribute is missing keeps its weight.
    factors_ : ndarray of float, shape (2, 2)
        The factor of each group, the privileged one first, and label.
    strengths_ : dict
        The strengths that were chosen, or given.
    out_of_fold_ : data frame, or None
        Accuracy, ROC AUC and gaps of out-of-fold predictions without weights ("before") and with them
        ("after"); None if strengths were given.
    n_fits_ : int
        The number of models that were fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import ParityWeigher
    >>> d = datasets.make_biased(400, random_state=0)
    >>> weigher = ParityWeigher(
    ...     LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged, random_state=0
    ... )
    >>> weigher.fit(d.X, d.y).frame()[["group", "label", "rows", "weight"]].round(2)
      group  label  rows  weight
    0     a      1   130    0.91
    1     a      0    69    1.05
    2     b      1    76    1.15
    3     b      0   125    0.97
    """

    _is_clipped = True

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strengths and weight the rows."""
        problem = self._read(X, y, sensitive_features, sample_weight)
        if self.strengths is not None:
            return self._weigh(problem)
        learner, seed = self._learner(problem), draw_seed(self.random_state)
        posteriors = learner.cross_fit(self.n_folds, seed)[0]
        return self._weigh(problem, posteriors, partial(learner.retrain, n_folds=self.n_folds, seed=seed))

    def _weigh(
        self, problem: Problem, posteriors: Posteriors | None = None, retrain: Retrain | None = None
    ) -> Self:
        """Weight the rows, with the given strengths unless there are posteriors and a way to retrain."""
        strata, strengths = Strata(problem), self._strengths(posteriors)
        self.n_fits_, self._measured = 0, None
        if posteriors is not None and retrain is not None:
            self.n_fits_ = 3 * self.n_folds
            judge = Judge(posteriors, self.minimize, self._limits())
            strengths, score = self._confirm(strata, strengths, judge, retrain)
            if strengths.any() and judge.gap_of(score) > judge.most_gap:
                strengths = np.zeros(3)
            after = score if strengths.any() else posteriors.margins()
            self._measured = posteriors.measured({"before": posteriors.margins(), "after": after})
        self.strengths_ = dict(zip(PRICED, strengths.tolist(), strict=True))
        factors = strata.factors(strengths)
        self.sample_weight_, self.factors_ = strata.weigh(factors), factors[::-1]
        self._ledger = strata.ledger(factors)
        return self

    def _confirm(
        self, strata: "Strata", strengths: Floats, judge: Judge, retrain: Retrain
    ) -> tuple[Floats, Floats]:
        """Return the largest share of strengths that keeps within limits out of fold, by bisection.

        A model that learns the group badly learns more from weights than its posteriors tell.
        """
        best, score, low, high = np.zeros(3), np.empty(0), 0.0, 1.0
        share = high
        for _ in range(_TRIALS if strengths.any() else 0):
            tried = retrain(strata.weigh(strata.factors(share * strengths)))
            self.n_fits_ += self.n_folds
            if judge.accepts(tried):
                best, score, low = share * strengths, tried, share
                if share == 1:
                    break
            else:
                high = share
            share = (low + high) / 2
        return best, score

    def frame(self) -> pd.DataFrame:
        """Return the ledger: group, label, rows, the factor of their weight, total weights, and why."""
        check_is_fitted(self)
        return pd.DataFrame(self._ledger)


class Strata:
    """The rows by side, privileged or not, and label, whose weights are multiplied by a factor."""

    def __init__(self, problem: Problem) -> None:
        self.labels, self.names = two_labels(problem.y), problem.side_names
        self.side, given = problem.groups.side, problem.sample_weight
        self.given = np.ones(len(self.side)) if given is None else given
        self.label = np.asarray(problem.y.values == self.labels[1]).astype(np.int64)
        self.shares = shares_of(self.side, self.label == 1, self.given)

    def factors(self, strengths: Floats) -> Floats:
        """Return what weights are multiplied by at some strengths, so that their sum stays."""
        weights = np.maximum(rule_weights(strengths, self.shares), 0)
        if not weights.any():
            raise InputError("strengths are so large that every row would weigh 0.", parameter="strengths")
        return np.asarray(weights / np.sum(weights * self.shares))

    def factors_of(self, positive: Floats) -> Floats:
        """Return what total weights are multiplied by if each row is positive with some probability."""
        known = self.side >= 0
        side, given = self.side[known], self.given[known]

        def totals(share: Floats) -> Floats:
            of_label = (np.bincount(side, given * part, minlength=2) for part in (1 - share, share))
            return np.column_stack(list(of_label))

        return np.asarray(totals(positive[known]) / totals(self.label[known].astype(np.float64)))

    def weigh(self, factors: Floats) -> Floats:
        """Return the weight of each row."""
        return np.asarray(self.given * np.where(self.side >= 0, factors[self.side, self.label], 1.0))

    def ledger(self, factors: Floats, why: str = "") -> list[dict[str, Any]]:
        """Return a line for each side and label; ``why``, if it is not what the factors do to the gap."""
        lines = []
        for side, label in ((1, 1), (1, 0), (0, 1), (0, 0)):
            rows, factor = (self.side == side) & (self.label == label), float(factors[side, label])
            total = float(self.given[rows].sum())
            line = {"group": self.names[side], "label": self.labels.tolist()[label], "rows": int(rows.sum())}
            line |= {"weight": factor, "total_before": total, "total_after": total * factor}
            lines.append(line | {"why": why or _why(factor, label == 1)})
        return lines


def _why(factor: float, is_positive: bool) -> str:
    """Say what the weight of a group's label is for."""
    if np.isclose(factor, 1):
        return "unchanged"
    return f"{'more' if (factor > 1) == is_positive else 'fewer'} positive predictions for this group"


class ProxyCorrection(ClassifierMixin, MetaEstimatorMixin, ParitySearch):
    """Predict by the most accurate rule without the attribute, at a price of the gaps between groups.

    Columns that stand for the attribute (proxies) tell the group of a row with some probability. Three models
    predict from the other columns the label and, for rows of either label, the group. A row is positive where
    the probability of the label outweighs what a positive prediction adds to the gaps, in the mean over the
    groups that the row may be of. At strength 0 this is the estimator itself, trained without the sensitive
    column. The attribute is needed for fitting only; rows to predict may come with or without it.

    Parameters are those of :class:`ParityWeigher`, which trains one model with weights to the same end.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        The two labels.
    strengths_ : dict
        The strengths that were chosen, or given.
    rule_weights_ : ndarray, shape (2, 2)
        The weight in the rule of each group, the privileged one first, and label; 0.5 at strength 0.
    out_of_fold_ : data frame
        Accuracy, ROC AUC and gaps of out-of-fold predictions before and after.
    n_fits_ : int
        The number of models that were fitted: three a fold, and three on the whole table.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import ProxyCorrection
    >>> d = datasets.make_biased(400, random_state=0)
    >>> model = ProxyCorrection(
    ...     LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged, random_state=0
    ... )
    >>> model.fit(d.X, d.y).predict(d.X.drop(columns=d.sensitive)).shape
    (400,)
    """

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Choose the strengths on folds, and fit the three models on the whole table."""
        problem = self._read(X, y, sensitive_features, sample_weight)
        learner = self._learner(problem)
        fit_all = partial(learner.fit, np.arange(problem.own.n_rows))
        return self._finish(learner, fit_all, *learner.cross_fit(self.n_folds, draw_seed(self.random_state)))

    def _finish(
        self,
        learner: Learner,
        fit_all: Callable[[], JointModel],
        posteriors: Posteriors,
        calibration: Calibration,
    ) -> Self:
        """Choose by posteriors that are known, and fit on the whole table."""
        self.rule_weights_ = self._choose(posteriors)[::-1]
        self.model_ = replace(fit_all(), calibration=calibration)
        self.n_fits_ = 3 * self.n_folds + 3
        self._remover, self._labels = learner.remover, two_labels(learner.problem.y)
        self.classes_: NDArray[Any] = np.sort(self._labels)
        return self

    def decision_function(self, X: Native) -> Floats:
        """Return the score of the second label, from -1 to 1; above 0 it is predicted."""
        positive = 2 * self._probability(X) - 1
        return positive if self._labels[1] == self.classes_[1] else -positive

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return np.asarray(self._labels[(self._probability(X) > 0.5).astype(np.int64)])

    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the two labels if rows weighed as the rule has it.

        At strength 0 they are the estimator's own.
        """
        positive = self._probability(X)
        scores = np.column_stack([1 - positive, positive])
        return scores if self._labels[1] == self.classes_[1] else scores[:, ::-1]

    def _probability(self, X: Native) -> Floats:
        """Return the probability of the positive label."""
        check_is_fitted(self)
        rows = read_rows(self, X, self._remover)
        return probabilities(self.model_.joint(rows), self.rule_weights_[::-1])
