"""Models of label and group given the other columns, and what they say of rows they were not fitted on."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing

from fairshap._crossval import make_folds
from fairshap._frames import Table
from fairshap._models import Scorer, Weighing, fit_model, is_frozen
from fairshap._models.scorer import rows_of
from fairshap._problem import Problem, Target
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import ModelError, TargetError
from fairshap.mitigation._removal import SensitiveRemover
from fairshap.mitigation._strengths import Posteriors, shares_of

#: Intercept and slope of the log-odds of the group, for either label.
Calibration: TypeAlias = tuple[tuple[float, float], ...]
# Probabilities are kept so far from 0 and 1 before they are calibrated.
_EDGE = 1e-6


@dataclass(frozen=True, slots=True)
class JointModel:
    """P(s, y | x) as the product of three models: of the label, and of the group for either label.

    The models of the group are calibrated: an intercept and a slope for the log-odds of each.
    """

    label: Any
    groups: tuple[Any, Any]
    calibration: Calibration = ((0.0, 1.0), (0.0, 1.0))

    def parts(self, X: Native) -> Floats:
        """Return P(y = 1 | x), and the log-odds of s = 1 given y = 0 and 1 before calibration."""
        p, *q = (Scorer(model)(X) for model in (self.label, *self.groups))
        return np.column_stack([p, *(logit(np.clip(one, _EDGE, 1 - _EDGE)) for one in q)])

    def joint(self, X: Native) -> Floats:
        """Return P(s, y | x) of rows, shape (rows, 2, 2)."""
        return join(self.parts(X), self.calibration)


@dataclass(frozen=True, slots=True, eq=False)
class Learner:
    """Fits joint models of a table without its sensitive columns; a group is the privileged or the rest."""

    estimator: Any
    #: The rows as the models see them.
    table: Table
    problem: Problem
    remover: SensitiveRemover | None

    @classmethod
    def read(cls, estimator: Any, problem: Problem, remover: SensitiveRemover | None) -> "Learner":
        """Return the learner of a problem; ``remover``, fitted, takes the sensitive columns away."""
        target = problem.y
        if is_frozen(estimator):
            raise ModelError(
                "a fitted model (FrozenEstimator) cannot be fitted on folds; give the estimator itself."
            )
        if not hasattr(estimator, "predict_proba"):
            raise ModelError(
                f"{type(estimator).__name__} has no predict_proba, and probabilities are needed. Wrap it in "
                "sklearn.calibration.CalibratedClassifierCV."
            )
        # Before anything is fitted: every side needs rows of either label.
        weight = np.ones(problem.own.n_rows) if problem.sample_weight is None else problem.sample_weight
        shares_of(problem.groups.side, target.values == two_labels(target)[1], weight)
        table = problem.own if remover is None else Table.read(remover.transform(problem.own.native))
        if problem.sample_weight is not None:
            Weighing.of(estimator, table.native, target.values).check()
        return cls(estimator, table, problem, remover)

    @property
    def positive(self) -> Bools:
        """Which rows have the positive label."""
        return np.asarray(self.problem.y.values == two_labels(self.problem.y)[1])

    def fit(self, rows: Ints) -> JointModel:
        """Return the models fitted on rows: three fits."""
        side, positive, X = self.problem.groups.side, self.positive, rows_of(self.table, rows)
        label = self._fit(X, rows, positive)
        among = (np.flatnonzero((side[rows] >= 0) & (positive[rows] == value)) for value in (False, True))
        groups = (self._fit(_safe_indexing(X, one), rows[one], side == 1) for one in among)
        return JointModel(label, (next(groups), next(groups)))

    def _fit(self, X: Native, rows: Ints, labels: Bools, weight: Floats | None = None) -> Any:
        weight = self.problem.sample_weight if weight is None else weight
        params = {} if weight is None else {"sample_weight": weight[rows]}
        return fit_model(self.estimator, X, labels[rows].astype(np.int64), params)

    def retrain(self, weight: Floats, n_folds: int, seed: int) -> Floats:
        """Return the margins of all rows by models of the label that were fitted with weights on others."""
        margin = np.empty(self.table.n_rows)
        for train, test in make_folds(self.problem.y, self.problem.groups.side, n_folds, 1, seed):
            model = self._fit(rows_of(self.table, train), train, self.positive, weight)
            margin[test] = Scorer(model)(rows_of(self.table, test)) - 0.5
        return margin

    def learn_softly(self, weight: Floats, n_folds: int, seed: int) -> Floats:
        """Return the margins of all rows by models that learned others with either label.

        ``weight`` holds the weights of the rows' own labels, then those of the other ones.
        """
        margin, positive = np.empty(self.table.n_rows), self.positive
        own, other = np.split(weight, 2)
        for train, test in make_folds(self.problem.y, self.problem.groups.side, n_folds, 1, seed):
            labels = np.concatenate([positive[train], ~positive[train]]).astype(np.int64)
            params = {"sample_weight": np.concatenate([own[train], other[train]])}
            model = fit_model(self.estimator, rows_of(self.table, np.tile(train, 2)), labels, params)
            margin[test] = Scorer(model)(rows_of(self.table, test)) - 0.5
        return margin

    def cross_fit(self, n_folds: int, seed: int) -> tuple[Posteriors, Calibration]:
        """Return the posteriors of all rows by models that were not fitted on them, and the calibration."""
        groups, positive = self.problem.groups, self.positive
        parts = np.empty((self.table.n_rows, 3))
        for train, test in make_folds(self.problem.y, groups.side, n_folds, 1, seed):
            parts[test] = self.fit(train).parts(rows_of(self.table, test))
        given = self.problem.sample_weight
        weight = np.ones(len(parts)) if given is None else given
        of_label = [(groups.side >= 0) & (positive == label) for label in (0, 1)]
        calibration = tuple(
            _calibrate(parts[rows, 1 + label], groups.side[rows], weight[rows])
            for label, rows in enumerate(of_label)
        )
        known = (positive, groups.side, groups.code, weight)
        return Posteriors(*known, join(parts, calibration)), calibration


def two_labels(target: Target) -> NDArray[Any]:
    """Return the negative and the positive label; an error if there are others."""
    if target.classes is None or target.positive is None or len(target.classes) > 2:
        raise TargetError(
            f"y holds {len(target.names)} labels; weights and rules by group and label are for two. "
            "Reweigher takes more.",
            parameter="y",
        )
    return np.asarray(target.classes[[1 - target.positive, target.positive]])


def join(parts: Floats, calibration: Calibration) -> Floats:
    """Return P(s, y | x), shape (rows, 2, 2), from the outputs of the three models."""
    start, slope = np.array(calibration).T
    of_label = np.stack([1 - parts[:, 0], parts[:, 0]], axis=1)
    of_group = expit(start + slope * parts[:, 1:])
    return np.stack([of_label * (1 - of_group), of_label * of_group], axis=1)


def _calibrate(odds: Floats, side: Any, weight: Floats) -> tuple[float, float]:
    """Return intercept and slope by which log-odds are right on rows that they were not learned from."""
    model = LogisticRegression(C=1e3).fit(odds[:, None], side, sample_weight=weight)
    if model.coef_[0, 0] > 0:
        return float(model.intercept_[0]), float(model.coef_[0, 0])
    return float(logit(np.average(side, weights=weight))), 0.0
