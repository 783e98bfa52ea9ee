"""Give each group its own threshold: the post-processing of fairlearn and of error-parity."""

from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from fairshap._crossval.folds import make_folds
from fairshap._crossval.trials import draw_seed
from fairshap._frames import Table
from fairshap._messages import check_choice
from fairshap._models import fit_model
from fairshap._problem import Privileged
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError
from fairshap.mitigation._randomized import (
    Constraint,
    KnownGroups,
    RandomizedClassifier,
    compared_groups,
)
from fairshap.mitigation._removal import import_fairlearn

_METHODS = ("fairlearn", "error_parity")
# What both libraries call the constraints.
_NAMES = {
    "demographic_parity": "demographic_parity",
    "equal_opportunity": "true_positive_rate_parity",
    "equalized_odds": "equalized_odds",
}


class ThresholdClassifier(RandomizedClassifier):
    """Train a classifier and give each group a threshold of its own, so that a constraint is met.

    Post-processing after Hardt, Price and Srebro, *Equality of opportunity in supervised learning*, 2016, for
    the tables that fairshap takes. The rows to predict must hold the sensitive attribute, and two people who
    differ in nothing else can be decided differently. The thresholds are found on out-of-fold scores. Rows
    whose attribute is missing, or whose group was too small to be compared, keep the classifier's own
    decision.

    Parameters
    ----------
    estimator : classifier
        The classifier to train; it sees the table as it is. It needs ``predict_proba`` or
        ``decision_function``.
    sensitive, privileged
        See :class:`fairshap.FairSHAP`. The attribute must be a column of the table.
    method : {"fairlearn", "error_parity"}, default="fairlearn"
        fairlearn's ``ThresholdOptimizer`` (extra ``fairshap[fairlearn]``), or ``RelaxedThresholdOptimizer``
        of the package error-parity (Cruz and Hardt, 2024), which relaxes equalized odds too. The latter asks
        for an old numpy but works with later ones: install it by ``pip install cvxpy ecos seaborn`` and
        ``pip install --no-deps error-parity``.
    constraint : {"demographic_parity", "equal_opportunity", "equalized_odds"}, default="demographic_parity"
        In what the groups are held alike: the positive rate, the true positive rate, or that and the false
        positive rate.
    tol : float, default=0.0
        How far the rates of two groups may be apart.
    cv : int or None, default=5
        The folds of the out-of-fold scores. With None the thresholds are found on the scores of the training
        rows, as the libraries do; a classifier that fits these too well has other scores on new rows.
    positive : label, optional
        The positive label; by default the larger one.
    random_state : int, RandomState instance or None
        The seed of the folds and of what is decided by chance.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, trained on all rows. ``predict_proba`` is its own.
    thresholds_ : dict of int to list of (float, float)
        For each group, 0 the privileged one, thresholds with the probability that each decides: a row above
        it is positive.
    n_fits_ : int
        How often the classifier was trained.
    classes_ : ndarray, shape (2,)
        The two labels.

    See Also
    --------
    ReductionClassifier : A constraint without the attribute at prediction.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, metrics
    >>> from fairshap.mitigation import ThresholdClassifier
    >>> d = datasets.make_biased(400, random_state=0)
    >>> clf = ThresholdClassifier(LogisticRegression(), sensitive="group", privileged="a", random_state=0)
    >>> predicted = clf.fit(d.X, d.y).predict(d.X)
    >>> gap = metrics.demographic_parity_difference(
    ...     d.y, predicted, sensitive_features=d.X["group"], privileged="a")
    >>> bool(gap < 0.1)
    True
    """

    attribute_at_prediction: ClassVar[bool] = True

    def __init__(
        self,
        estimator: Any,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        method: Literal["fairlearn", "error_parity"] = "fairlearn",
        constraint: Constraint = "demographic_parity",
        tol: float = 0.0,
        cv: int | None = 5,
        positive: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sensitive = sensitive
        self.privileged = privileged
        self.method = method
        self.constraint = constraint
        self.tol = tol
        self.cv = cv
        self.positive = positive
        self.random_state = random_state

    def fit(self, X: Native, y: Any) -> "ThresholdClassifier":
        """Train the classifier and find the thresholds."""
        self._check()
        problem, target = self._read(X, y)
        labels = target.codes == target.positive
        group = compared_groups(problem, labels)
        self._seed = draw_seed(self.random_state)
        table = problem.own
        self.estimator_ = fit_model(self.estimator, table.native, target.values, table=table)
        self.n_fits_ = 1
        if self.cv is None:
            scores = self._scores(self.estimator_, table.native)
        else:
            scores = np.empty(table.n_rows)
            for train, test in make_folds(target, problem.groups.side, self.cv, 1, self._seed):
                part = _safe_indexing(table.native, train)
                model = fit_model(self.estimator, part, target.values[train])
                scores[test] = self._scores(model, _safe_indexing(table.native, test))
                self.n_fits_ += 1
        used = group >= 0
        find = _by_fairlearn if self.method == "fairlearn" else _by_error_parity
        self.thresholds_ = find(
            scores[used], labels[used] * 1, group[used], _NAMES[self.constraint], self.tol
        )
        self._known = KnownGroups(problem, group)
        return self

    def _check(self) -> None:
        """Raise an error for a parameter that no method takes."""
        check_choice(self.method, "method", _METHODS)
        tol: Any = self.tol
        if isinstance(tol, bool) or not isinstance(tol, Real) or not 0 <= float(tol) <= 1:
            raise InputError(f"tol={tol!r} must be a number from 0 to 1.", parameter="tol")
        if tol and self.method == "fairlearn" and self.constraint == "equalized_odds":
            raise InputError(
                f"tol={tol!r} does not go with constraint='equalized_odds': fairlearn meets it exactly or "
                "not at all. Use tol=0 or method='error_parity'.",
                parameter="tol",
            )

    def _scores(self, model: Any, X: Native) -> Floats:
        """Return the score of the positive label in double precision, which pandas insists on."""
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X), dtype=np.float64)[:, self._positive]
        score = np.asarray(model.decision_function(X), dtype=np.float64)
        return score if self._positive else -score

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row, by the threshold of its group."""
        rows = self.prepare_rows(X)
        scores, group = self._scores(self.estimator_, rows), self._known.read(Table.read(rows))
        own = np.asarray(self.estimator_.predict(rows)) == self.classes_[self._positive]
        probability = own.astype(np.float64)
        for one, thresholds in self.thresholds_.items():
            mine = group == one
            probability[mine] = sum(p * (scores[mine] > threshold) for p, threshold in thresholds)
        return self._decide(rows, probability)


class _Scores(BaseEstimator):
    """A fitted model whose scores are the only column of its table."""

    def fit(self, X: Any, y: Any) -> "_Scores":  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Floats:
        return np.asarray(X)[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return True


Thresholds = dict[int, list[tuple[float, float]]]


def _by_fairlearn(scores: Floats, labels: Ints, group: Ints, constraint: str, tol: float) -> Thresholds:
    """Return the thresholds of each group with their probabilities, by fairlearn."""
    optimizer = import_fairlearn("postprocessing", "ThresholdClassifier").ThresholdOptimizer(
        estimator=_Scores(), constraints=constraint, prefit=True, predict_method="predict", tol=tol or None
    )
    optimizer.fit(scores[:, None], labels, sensitive_features=group)
    found: Thresholds = {}
    for one, way in optimizer.interpolated_thresholder_.interpolation_dict.items():
        kept = 1 - way.get("p_ignore", 0.0)
        parts = [(way.p0, way.operation0), (way.p1, way.operation1)]
        found[int(one)] = [(float(kept * p), float(rule.threshold)) for p, rule in parts]
        # A constant decision is a threshold that all scores, or none, are above.
        if kept < 1:
            constant = float(way.prediction_constant)
            found[int(one)] += [((1 - kept) * constant, -np.inf), ((1 - kept) * (1 - constant), np.inf)]
    return found


def _by_error_parity(scores: Floats, labels: Ints, group: Ints, constraint: str, tol: float) -> Thresholds:
    """Return the thresholds of each group with their probabilities, by error-parity."""
    try:
        from error_parity import RelaxedThresholdOptimizer
    except ImportError as error:
        raise InputError(
            "method='error_parity' needs the package error-parity, which is not installed. It asks for an "
            "old numpy, so: pip install cvxpy ecos seaborn, then pip install --no-deps error-parity.",
            parameter="method",
        ) from error
    names, codes = np.unique(group, return_inverse=True)
    optimizer = RelaxedThresholdOptimizer(predictor=np.ravel, constraint=constraint, tolerance=tol)
    optimizer.fit(scores, labels, group=codes)
    rules = optimizer._realized_classifier.group_to_clf
    found: Thresholds = {}
    for one, (rate, _), rule in zip(
        names.tolist(), optimizer.groupwise_roc_points, rules.values(), strict=True
    ):
        parts = zip(getattr(rule, "probabilities", [1.0]), getattr(rule, "classifiers", [rule]), strict=True)
        found[one] = []
        for p, part in parts:
            if hasattr(part, "threshold"):
                # From the threshold on, not above it.
                found[one].append((float(p), float(np.nextafter(part.threshold, -np.inf))))
            else:
                # Positive at this rate, whatever the score.
                found[one] += [(float(p * rate), -np.inf), (float(p * (1 - rate)), np.inf)]
    return found
