"""Train any classifier after any baseline."""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Table, open_store
from fairshap._models import Weighing, fit_weighted, needs_columns, repeats_of
from fairshap._problem import Labels, check_weights
from fairshap._typing import Floats, Native
from fairshap.exceptions import ModelError
from fairshap.mitigation._removal import SensitiveRemover


class Prepared(NamedTuple):
    """What a classifier is to be trained on: rows, labels, and weights if there are any."""

    X: Native
    y: Any
    sample_weight: Floats | None


def prepare(
    baseline: Any, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> Prepared:
    """Fit a baseline and return what a classifier is to be trained on after it.

    Parameters
    ----------
    baseline : object
        Any of :mod:`fairshap.mitigation`, or :class:`fairshap.FairSHAP`; None leaves everything as it is.
    X : data frame or array
        The training table.
    y : array-like
        The label of each row, two values.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X.
    sample_weight : array-like, optional
        The weights of the rows.

    Returns
    -------
    Prepared
        ``X``, ``y`` and ``sample_weight``, which is None where no weights are needed.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import Reweigher, prepare
    >>> X = pd.DataFrame({"sex": ["m", "m", "m", "f"]})
    >>> prepare(Reweigher(sensitive="sex", privileged="m"), X, [1, 1, 0, 0]).sample_weight
    array([0.75, 0.75, 1.5 , 0.5 ])
    """
    store = open_store(X)
    weights = check_weights(sample_weight, store.n_rows)
    given = {"sensitive_features": sensitive_features, "sample_weight": weights}

    def call(method: Any) -> Any:
        taken = signature(method).parameters
        return method(X, y, **{name: value for name, value in given.items() if name in taken})

    if baseline is None:
        return Prepared(store.native, y, weights)
    if hasattr(baseline, "fit_resample"):
        X, y = call(baseline.fit_resample)
        return Prepared(X, y, getattr(baseline, "sample_weight_", weights))
    if hasattr(baseline, "fit_transform"):
        return Prepared(call(baseline.fit_transform), y, weights)
    return Prepared(store.native, y, call(baseline.fit).sample_weight_)


def _inner_has(method: str) -> Any:
    """Say whether the trained classifier has a method; before the fit, whether the given one has."""

    def check(self: "BaselineClassifier") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class BaselineClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that is trained after a baseline and predicts raw rows.

    It trains on the rows, and with the weights, that the baseline gives, and transforms the rows to predict
    where ``baseline.transforms_test_rows`` says so. A classifier that does not take the table is trained
    behind :class:`fairshap.ColumnEncoder`.

    Parameters
    ----------
    baseline : object
        Any of :mod:`fairshap.mitigation`, or :class:`fairshap.FairSHAP`; None trains on the table as it is.
    estimator : classifier
        The classifier to train.

    Attributes
    ----------
    baseline_ : object
        The fitted baseline.
    estimator_ : classifier
        The trained classifier; it takes transformed rows.
    classes_ : ndarray, shape (2,)
        The two labels.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import BaselineClassifier, Reweigher, SensitiveRemover
    >>> d = datasets.make_biased(400, random_state=0)
    >>> who = {"sensitive": d.sensitive, "privileged": d.privileged}
    >>> for baseline in (None, SensitiveRemover(**who), Reweigher(**who)):
    ...     model = BaselineClassifier(baseline, LogisticRegression()).fit(d.X, d.y)
    ...     print(model.predict(d.X).shape)
    (400,)
    (400,)
    (400,)
    """

    def __init__(self, baseline: Any, estimator: Any) -> None:
        self.baseline = baseline
        self.estimator = estimator

    def fit(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "BaselineClassifier":
        """Fit the baseline and train the classifier.

        Parameters
        ----------
        X : data frame or array
            The training table; categories need no encoding.
        y : array-like
            The label of each row, two values.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X. The classifier does not see it.
        sample_weight : array-like, optional
            The weights of the rows.
        """
        table = Table.read(X)
        validate_data(self, table.native, skip_check_array=True)
        labels = Labels.read(y, table.n_rows, is_quantity=False)
        weighing: Weighing | None = None
        given = check_weights(sample_weight, table.n_rows)
        if given is not None:
            weighing = Weighing.of(self.estimator, table.native, labels.values)
            weighing.check()
        baseline: Any = None if self.baseline is None else clone(self.baseline)
        if isinstance(baseline, SensitiveRemover) and not baseline.hold:
            baseline.fit(table.native, sensitive_features=sensitive_features)
            removed = set(range(len(table.names))) - set(baseline.kept_.tolist())
            baseline.set_params(hold=needs_columns(self.estimator, table, removed))
        prepared = prepare(
            baseline, table.native, y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        labels = Labels.read(prepared.y, open_store(prepared.X).n_rows, is_quantity=False)
        weights = prepared.sample_weight
        if weights is not None:
            weighing = weighing or Weighing.of(self.estimator, prepared.X, labels.values)
            if given is None or not np.array_equal(weights, given):
                self._check_weighing(weighing, weights, has_twins=hasattr(baseline, "twin_of_"))
        self.estimator_ = fit_weighted(self.estimator, prepared.X, labels.values, weights, weighing)
        self.baseline_ = baseline
        self.classes_ = labels.classes
        return self

    def _check_weighing(self, weighing: Weighing, weights: Floats, has_twins: bool) -> None:
        """Raise an error if the estimator does not use the weights that the baseline made.

        If they are those of twins, rows can be repeated instead, which is a warning.
        """
        if weighing.is_used or (weights == weights[0]).all():
            return
        if not has_twins or repeats_of(weights) is None:
            raise ModelError(
                f"{weighing.trouble}, and rows weigh differently after {type(self.baseline).__name__}. Use "
                "an estimator that takes weights, or a baseline that needs none."
            )
        weighing.warn_of_repeats()

    def predict(self, X: Native, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Return the predicted label of each row.

        Parameters
        ----------
        X : data frame or array
            Raw rows with the columns that were fitted on.
        sensitive_features : array-like, optional
            Their sensitive attribute, if it is not a column of X and the baseline transforms test rows by it.
        """
        rows = self.prepare_rows(X, sensitive_features=sensitive_features)
        return np.asarray(self.estimator_.predict(rows))

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Native, *, sensitive_features: Any = None) -> Floats:
        """Return the probabilities of the two labels for each row; see :meth:`predict`."""
        rows = self.prepare_rows(X, sensitive_features=sensitive_features)
        return np.asarray(self.estimator_.predict_proba(rows))

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Native, *, sensitive_features: Any = None) -> Floats:
        """Return the margin of each row; see :meth:`predict`."""
        rows = self.prepare_rows(X, sensitive_features=sensitive_features)
        return np.asarray(self.estimator_.decision_function(rows))

    def prepare_rows(self, X: Native, *, sensitive_features: Any = None) -> Native:
        """Return raw rows as ``estimator_`` takes them: transformed, where the baseline does that.

        Parameters
        ----------
        X : data frame or array
            Raw rows with the columns that were fitted on.
        sensitive_features : array-like, optional
            Their sensitive attribute, if it is not a column of X and the baseline transforms test rows by it.
        """
        check_is_fitted(self)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        if getattr(self.baseline_, "transforms_test_rows", False):
            return self.baseline_.transform(X, sensitive_features=sensitive_features)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = True
        return tags
