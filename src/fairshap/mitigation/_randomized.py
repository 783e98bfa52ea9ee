"""Classifiers that hold the groups alike and may decide by chance: fairlearn's reductions, and thresholds."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from fairshap._crossval.folds import make_folds
from fairshap._crossval.measures import is_compared
from fairshap._crossval.trials import draw_seed
from fairshap._frames import Table
from fairshap._kernels.hashing import cell_hashes, mix64
from fairshap._messages import check_choice, check_count, check_number
from fairshap._models import Weighing, fit_model, fit_weighted
from fairshap._problem import Privileged, Problem
from fairshap._problem.groups import read_attribute, split_quantity
from fairshap._typing import Bools, Floats, Ints, Native
from fairshap.exceptions import InputError, ModelError, TargetError
from fairshap.mitigation._base import Trainer, check_share
from fairshap.mitigation._removal import import_fairlearn, remover_for

#: In what the groups are held alike.
Constraint: TypeAlias = Literal["demographic_parity", "equal_opportunity", "equalized_odds"]


class RandomizedClassifier(ClassifierMixin, Trainer):
    """Decides with a probability for each row, so that a constraint on the groups can be met exactly.

    What is drawn for a row depends on its cells, the attribute aside, and on the seed: the same row is
    decided alike in every batch, and for either value of the attribute by the same draw.
    """

    #: Whether the rows to predict must hold the sensitive attribute.
    attribute_at_prediction: ClassVar[bool]

    estimator: Any
    sensitive: Any
    privileged: Privileged
    constraint: Constraint
    positive: Any
    random_state: Any

    def _read(self, X: Native, y: Any, sensitive_features: Any = None) -> tuple[Problem, Bools, Ints]:
        """Return the training table, which rows are positive, and their groups as they are compared.

        There must be two labels.
        """
        check_choice(self.constraint, "constraint", get_args(Constraint))
        table = Table.read(X)
        validate_data(self, table.native, skip_check_array=True)
        who = {"sensitive": self.sensitive, "privileged": self.privileged}
        problem = Problem.read(table.native, y, **who, sensitive_features=sensitive_features,
                               is_fitted=False, positive=self.positive, is_quantity=False)  # fmt: skip
        target = problem.y
        if target.classes is None or len(target.classes) != 2:
            raise TargetError(
                f"Only binary classification is supported: {type(self).__name__} takes a target of two "
                f"labels, and y has {len(target.names)}.",
                parameter="y",
            )
        self.classes_ = target.classes
        self._positive = int(target.positive)  # type: ignore[arg-type]
        labels = target.codes == target.positive
        return problem, labels, compared_groups(problem, labels)

    def _decide(self, table: Table, probability: Floats, left_out: tuple[int, ...] = ()) -> NDArray[Any]:
        """Return a label for each row, the positive one with the given probability."""
        is_positive = probability > draw(table, left_out, self._seed)
        return np.asarray(self.classes_[np.where(is_positive, self._positive, 1 - self._positive)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def draw(table: Table, left_out: tuple[int, ...], seed: int) -> Floats:
    """Return a number from 0 to 1 for each row, by its cells in all columns but some."""
    total = np.full(table.n_rows, seed, dtype=np.uint64)
    for column in range(len(table.names)):
        if column in left_out:
            continue
        cells = table.column(column)
        if cells.dtype.kind != "f":
            # By what the categories are: their codes depend on the other rows. The last is a missing value's.
            values = table.store.values(column, table.distinct(column))
            cells = np.array([*(crc32(str(value).encode()) for value in values), -1])[cells]
        total += cell_hashes(cells[:, None], np.array([column]))[:, 0]
    # As many bits as a float has.
    return (mix64(total) >> np.uint64(11)).astype(np.float64) / 2.0**53


def compared_groups(problem: Problem, labels: Bools) -> Ints:
    """Return the group of each row, 0 the privileged one, -1 where it cannot be compared.

    That is where the attribute is missing, or the group has too few rows or only one label.
    """
    side = problem.groups.side
    group = np.where(side == 1, 0, problem.groups.group + 1)
    known = side >= 0
    sizes = np.bincount(group[known])
    enough = is_compared(sizes)
    for label in (False, True):
        enough &= np.bincount(group[known & (labels == label)], minlength=len(sizes)) > 0
    if enough.sum() < 2:
        raise InputError(
            "no two groups have rows of both labels: there is nothing to hold alike. Merge groups, or use "
            "another method.",
            parameter="sensitive",
        )
    return np.where(known & enough[group], group, -1)


# What fairlearn's reductions call the constraints.
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
    Rows to predict may come with or without the sensitive column.

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
        check_choice(self.method, "method", ("exponentiated_gradient", "grid_search"))
        check_number(self.eps, "eps", "a difference between the groups from 0 to 1, such as 0.01.", high=1.0)
        check_count(self.max_iter, "max_iter", ", such as 50")
        check_count(self.grid_size, "grid_size", ", such as 10")
        is_grid = self.method == "grid_search"
        reductions = import_fairlearn("reductions", type(self).__name__)
        problem, positive, group = self._read(X, y, sensitive_features)
        if is_grid:
            group = np.where(group > 0, 1, group)
        own = problem.own.native
        self._remover = None if problem.added else remover_for(self, self.estimator, own)
        used = np.flatnonzero(group >= 0)
        rows, labels = _safe_indexing(own, used), positive[used] * 1
        if self._remover is not None:
            rows = self._remover.transform(rows)
        weighing = Weighing.of(self.estimator, rows, labels)
        if not weighing.is_used:
            raise ModelError(
                f"{weighing.trouble}, and a reduction weighs the rows. Use an estimator that takes weights."
            )
        member = _Member(self.estimator, rows, weighing)
        moment = getattr(reductions, _MOMENTS[self.constraint])
        if is_grid:
            search = reductions.GridSearch(member, moment(), grid_size=self.grid_size)
        else:
            bounded = moment(difference_bound=self.eps)
            search = reductions.ExponentiatedGradient(member, bounded, max_iter=self.max_iter)
        numbers = np.arange(len(used))[:, None]
        with warnings.catch_warnings():
            # What fairlearn does with pandas is not the user's to mend.
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"fairlearn\.")
            search.fit(numbers, labels, sensitive_features=group[used])
        if is_grid:
            found, weights = [search.predictors_[search.best_idx_]], np.ones(1)
        else:
            shares = search.weights_.sort_index()
            shares = shares[shares > 0]
            found, weights = [search.predictors_[k] for k in shares.index], shares.to_numpy()
        # Only the models: fairlearn's objects hold the rows.
        self.estimators_ = [one.model_ if isinstance(one, _Member) else one for one in found]
        self.weights_ = weights / weights.sum()
        self.estimator_ = _Mixture(self.estimators_, self.weights_)
        self.n_fits_ = len(search.oracle_execution_times_)
        self._seed = draw_seed(self.random_state)
        return self

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row: that of one of the classifiers, drawn for the row."""
        rows = self.prepare_rows(X)
        return self._decide(Table.read(rows), self.estimator_.mean(_decision, rows))

    def predict_proba(self, X: Native) -> Floats:
        """Return the mean of the classifiers' probabilities; of one that has none, its decisions."""
        score = self.estimator_.mean(_score, self.prepare_rows(X))
        both = np.column_stack([1 - score, score])
        return both if self._positive else both[:, ::-1]


@dataclass(frozen=True)
class _Mixture:
    """Classifiers, and how often each of them decides."""

    estimators: list[Any]
    weights: Floats

    def mean(self, output: Callable[[Any, Native], Floats], rows: Native) -> Floats:
        """Return the mean of an output of the classifiers."""
        outputs = (output(one, rows) for one in self.estimators)
        return np.asarray(sum(w * one for w, one in zip(self.weights, outputs, strict=True)))


def _decision(model: Any, rows: Native) -> Floats:
    """Return 1 where the label 1 is predicted."""
    return np.asarray(model.predict(rows), dtype=np.float64)


def _score(model: Any, rows: Native) -> Floats:
    """Return the probability of the label 1."""
    if hasattr(model, "predict_proba") and len(model.classes_) == 2:
        return np.asarray(model.predict_proba(rows), dtype=np.float64)[:, 1]
    return _decision(model, rows)


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


# What fairlearn's and error-parity's thresholds call the constraints.
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
        problem, positive, group = self._read(X, y)
        self._seed = draw_seed(self.random_state)
        table, target = problem.own, problem.y
        self.estimator_ = fit_model(self.estimator, table.native, target.values, table=table)
        self.n_fits_ = 1
        if self.cv is None:
            scores = self._scores(self.estimator_, table.native)
        else:
            scores = np.empty(table.n_rows)
            try:
                folds = make_folds(target, problem.groups.side, self.cv, 1, self._seed)
            except InputError as error:
                advice = "Give fewer folds, or cv=None for the scores of the training rows."
                raise InputError(f"cv={self.cv!r}: {error} {advice}", parameter="cv") from error
            for train, test in folds:
                part = _safe_indexing(table.native, train)
                model = fit_model(self.estimator, part, target.values[train])
                scores[test] = self._scores(model, _safe_indexing(table.native, test))
                self.n_fits_ += 1
        used = group >= 0
        find = _by_fairlearn if self.method == "fairlearn" else _by_error_parity
        labels, name = positive[used] * 1, _NAMES[self.constraint]
        self.thresholds_ = find(scores[used], labels, group[used], name, self.tol)
        self._known = KnownGroups(problem, group)
        return self

    def _check(self) -> None:
        """Raise an error for a parameter that no method takes."""
        check_choice(self.method, "method", ("fairlearn", "error_parity"))
        check_share(self.tol, "tol")
        if self.tol and self.method == "fairlearn" and self.constraint == "equalized_odds":
            raise InputError(
                f"tol={self.tol!r} does not go with constraint='equalized_odds': fairlearn meets it exactly "
                "or not at all. Use tol=0 or method='error_parity'.",
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
        table, scores = Table.read(rows), self._scores(self.estimator_, rows)
        group = self._known.read(table)
        own = np.asarray(self.estimator_.predict(rows)) == self.classes_[self._positive]
        probability = own.astype(np.float64)
        for one, thresholds in self.thresholds_.items():
            mine = group == one
            probability[mine] = sum(p * (scores[mine] > threshold) for p, threshold in thresholds)
        return self._decide(table, probability, self._known.columns)


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


class KnownGroups:
    """The groups of a training table by the values of the attribute, for rows to predict."""

    def __init__(self, problem: Problem, group: Ints) -> None:
        self.columns, self.privileged = problem.columns, problem.privileged
        self.is_quantity = problem.groups.by_row
        self.of_value: dict[Any, int] = {}
        if not self.is_quantity:
            attribute = read_attribute(problem.own, self.columns)
            self.of_value = dict(zip(attribute.values, group[attribute.first].tolist(), strict=True))

    def read(self, table: Table) -> Ints:
        """Return the group of each row, -1 where it is missing or was not among the training rows."""
        if self.is_quantity:
            column = self.columns[0]
            side = split_quantity(table, column, self.privileged, table.names[column])
            return np.array([1, 0, -1])[side]
        attribute = read_attribute(table, self.columns)
        groups = [self.of_value.get(value, -1) for value in attribute.values]
        # The last place is for a missing value, whose code is -1.
        return np.array([*groups, -1])[attribute.code]
