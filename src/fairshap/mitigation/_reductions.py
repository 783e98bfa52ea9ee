"""Train under a constraint on the groups, without the attribute: the reductions of fairlearn."""

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from fairshap._crossval.trials import draw_seed
from fairshap._messages import check_choice
from fairshap._models import Weighing, fit_weighted, needs_columns
from fairshap._problem import Privileged
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import ModelError
from fairshap.mitigation._randomized import Constraint, RandomizedClassifier, compared_groups
from fairshap.mitigation._removal import SensitiveRemover, import_fairlearn

_METHODS = ("exponentiated_gradient", "grid_search")
# What fairlearn calls the constraints.
_MOMENTS = {
    "demographic_parity": "DemographicParity",
    "equal_opportunity": "TruePositiveRateParity",
    "equalized_odds": "EqualizedOdds",
}


class ReductionClassifier(RandomizedClassifier):
    """Train a classifier under a constraint on the groups, which predicts without the attribute.

    fairlearn's reductions (Agarwal and others, *A reductions approach to fair classification*, 2018) for the
    tables that fairshap takes; they need the extra ``fairshap[fairlearn]``. The classifier is trained many
    times with other weights and labels, and without the sensitive column. Each value of the attribute is a
    group, the privileged ones together; ``"grid_search"`` compares the privileged rows with all others. Rows
    whose attribute is missing, or whose group is too small to be compared, are left out of the training.

    Parameters
    ----------
    estimator : classifier
        The classifier to train; it must take ``sample_weight``.
    sensitive, privileged
        See :class:`fairshap.FairSHAP`.
    method : {"exponentiated_gradient", "grid_search"}, default="exponentiated_gradient"
        A mixture of classifiers, which decides some rows by chance, or the best one of a grid.
    constraint : {"demographic_parity", "equal_opportunity", "equalized_odds"}, default="demographic_parity"
        In what the groups are held alike: the positive rate, the true positive rate, or that and the false
        positive rate.
    eps : float, default=0.01
        How far the rate of a group may be from that of all rows, for ``"exponentiated_gradient"``.
    max_iter : int, default=50
        The iterations of ``"exponentiated_gradient"``, of a few fits each.
    grid_size : int, default=10
        The number of classifiers that ``"grid_search"`` trains.
    positive : label, optional
        The positive label; by default the larger one.
    random_state : int, RandomState instance or None
        The seed of what is decided by chance.

    Attributes
    ----------
    estimators_ : list of classifier
        The classifiers that predict, of labels 0 and 1 (1 is positive), each trained on the same rows.
    weights_ : ndarray of float
        How often each of them decides.
    n_fits_ : int
        How often the classifier was trained.
    classes_ : ndarray, shape (2,)
        The two labels.

    See Also
    --------
    ThresholdClassifier : Other thresholds for each group, which needs the attribute to predict.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets, metrics
    >>> from fairshap.mitigation import ReductionClassifier
    >>> d = datasets.make_biased(400, random_state=0)
    >>> clf = ReductionClassifier(LogisticRegression(), sensitive="group", privileged="a", random_state=0)
    >>> predicted = clf.fit(d.X, d.y).predict(d.X)
    >>> gap = metrics.demographic_parity_difference(
    ...     d.y, predicted, sensitive_features=d.X["group"], privileged="a")
    >>> bool(gap < 0.1)
    True
    """

    attribute_at_prediction: ClassVar[bool] = False

    def __init__(
        self,
        estimator: Any,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        method: Literal["exponentiated_gradient", "grid_search"] = "exponentiated_gradient",
        constraint: Constraint = "demographic_parity",
        eps: float = 0.01,
        max_iter: int = 50,
        grid_size: int = 10,
        positive: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.sensitive = sensitive
        self.privileged = privileged
        self.method = method
        self.constraint = constraint
        self.eps = eps
        self.max_iter = max_iter
        self.grid_size = grid_size
        self.positive = positive
        self.random_state = random_state

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None) -> "ReductionClassifier":
        """Train the classifiers and find how often each decides."""
        check_choice(self.method, "method", _METHODS)
        reductions = import_fairlearn("reductions", type(self).__name__)
        problem, target = self._read(X, y, sensitive_features)
        labels = target.codes == target.positive
        group = compared_groups(problem, labels)
        if self.method == "grid_search":
            group = np.where(group > 0, 1, group)
        self.remover_ = None
        if not problem.added:
            who = {"sensitive": self.sensitive, "privileged": self.privileged}
            hold = needs_columns(self.estimator, problem.own, problem.columns)
            self.remover_ = SensitiveRemover(**who, hold=hold).fit(problem.own.native)
        used = np.flatnonzero(group >= 0)
        rows, labels = self._without_attribute(_safe_indexing(problem.own.native, used)), labels[used] * 1
        weighing = Weighing.of(self.estimator, rows, labels)
        if not weighing.is_used:
            raise ModelError(
                f"{weighing.trouble}, and a reduction weighs the rows. Use an estimator that takes weights."
            )
        member = _Member(self.estimator, rows, weighing)
        bound = {"difference_bound": self.eps} if self.method == "exponentiated_gradient" else {}
        moment = getattr(reductions, _MOMENTS[self.constraint])(**bound)
        if self.method == "grid_search":
            search = reductions.GridSearch(member, moment, grid_size=self.grid_size)
        else:
            search = reductions.ExponentiatedGradient(member, moment, max_iter=self.max_iter)
        numbers = np.arange(len(used))[:, None]
        with warnings.catch_warnings():
            # What fairlearn does with pandas is not the user's to mend.
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"fairlearn\.")
            search.fit(numbers, labels, sensitive_features=group[used])
        if self.method == "grid_search":
            found, weights = [search.predictors_[search.best_idx_]], np.ones(1)
        else:
            shares = search.weights_.sort_index()
            shares = shares[shares > 0]
            found, weights = [search.predictors_[k] for k in shares.index], shares.to_numpy()
        # Only the models: fairlearn's objects hold the rows.
        self.estimators_ = [one.model_ if isinstance(one, _Member) else one for one in found]
        self.weights_ = weights / weights.sum()
        self.n_fits_ = len(search.oracle_execution_times_)
        self._seed = draw_seed(self.random_state)
        return self

    def _without_attribute(self, X: Native) -> Native:
        return X if self.remover_ is None else self.remover_.transform(X)

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row: that of one of the classifiers, drawn for the row."""
        rows = self.prepare_rows(X)
        votes = (np.asarray(one.predict(rows), dtype=np.float64) for one in self.estimators_)
        return self._decide(X, sum(w * vote for w, vote in zip(self.weights_, votes, strict=True)))

    def predict_proba(self, X: Native) -> Floats:
        """Return the mean of the classifiers' probabilities; of one that has none, its decisions."""
        rows = self.prepare_rows(X)
        scores = (_score(one, rows) for one in self.estimators_)
        return self._columns_of(sum(w * s for w, s in zip(self.weights_, scores, strict=True)))

    def prepare_rows(self, X: Native) -> Native:
        """Return rows as the classifiers take them, without the attribute."""
        return self._without_attribute(super().prepare_rows(X))


def _score(model: Any, rows: Native) -> Floats:
    """Return the probability of the label 1."""
    if hasattr(model, "predict_proba") and len(model.classes_) == 2:
        return np.asarray(model.predict_proba(rows), dtype=np.float64)[:, 1]
    return np.asarray(model.predict(rows), dtype=np.float64)


class _Member(BaseEstimator):
    """The classifier as fairlearn trains it: on the numbers of the rows, so that any table will do."""

    def __init__(self, estimator: Any, rows: Native, weighing: Weighing) -> None:
        self.estimator, self.rows, self.weighing = estimator, rows, weighing

    def fit(self, numbers: Ints, y: Any, sample_weight: Any) -> "_Member":  # noqa: ARG002
        labels, weights = np.asarray(y), np.asarray(sample_weight, dtype=np.float64)
        self.model_ = fit_weighted(self.estimator, self.rows, labels, weights, self.weighing)
        return self

    def predict(self, numbers: Ints) -> NDArray[Any]:  # noqa: ARG002
        return np.asarray(self.model_.predict(self.rows))

    def __sklearn_clone__(self) -> "_Member":
        return _Member(self.estimator, self.rows, self.weighing)

    def __deepcopy__(self, memo: Any) -> "_Member":
        return self.__sklearn_clone__()
