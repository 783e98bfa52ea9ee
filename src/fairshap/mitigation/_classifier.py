"""Train any classifier after any mitigation."""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import validate_data

from fairshap._frames import Table, open_store
from fairshap._models import Weighing, fit_weighted, needs_columns, repeats_of
from fairshap._problem import Target, check_weights
from fairshap._typing import Floats, Native
from fairshap.exceptions import ModelError
from fairshap.mitigation._removal import SensitiveRemover
from fairshap.predictors import Trainer, offered


class Prepared(NamedTuple):
    """What a classifier is trained on: rows, labels, and weights or None."""

    X: Native
    y: Any
    sample_weight: Floats | None


def prepare(
    method: Any, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
) -> Prepared:
    """Fit a mitigation, or FairSHAP, and return what to train a classifier on; None changes nothing.

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

    if method is None:
        return Prepared(store.native, y, weights)
    if hasattr(method, "fit_resample"):
        X, y = call(method.fit_resample)
        return Prepared(X, y, getattr(method, "sample_weight_", weights))
    if hasattr(method, "fit_transform"):
        return Prepared(call(method.fit_transform), y, weights)
    return Prepared(store.native, y, call(method.fit).sample_weight_)


class MitigatedClassifier(ClassifierMixin, Trainer):
    """Train a classifier after a mitigation, and predict raw rows.

    The classifier is trained on the rows, and with the weights, that the mitigation returns. The rows to
    predict are transformed where ``method.transforms_test_rows`` is true. A classifier that cannot take the
    table is trained behind :class:`fairshap.ColumnEncoder`.

    Parameters
    ----------
    method : object
        One of :mod:`fairshap.mitigation`, :class:`fairshap.FairSHAP`, or None to train on the raw table.
    estimator : classifier
        The classifier to train.

    Attributes
    ----------
    method_ : object
        The fitted mitigation.
    estimator_ : classifier
        The trained classifier; it takes transformed rows.
    classes_ : ndarray, shape (2,)
        The two labels.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from fairshap import datasets
    >>> from fairshap.mitigation import MitigatedClassifier, SensitiveRemover
    >>> d = datasets.make_biased(400, random_state=0)
    >>> remover = SensitiveRemover(sensitive=d.sensitive, privileged=d.privileged)
    >>> MitigatedClassifier(remover, LogisticRegression()).fit(d.X, d.y).predict(d.X).shape
    (400,)
    """

    def __init__(self, method: Any, estimator: Any) -> None:
        self.method = method
        self.estimator = estimator

    def fit(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "MitigatedClassifier":
        """Fit the mitigation and train the classifier, which never sees ``sensitive_features``."""
        table = Table.read(X)
        validate_data(self, table.native, skip_check_array=True)
        labels = Target.read(y, table.n_rows, is_quantity=False)
        weighing: Weighing | None = None
        given = check_weights(sample_weight, table.n_rows)
        if given is not None:
            weighing = Weighing.of(self.estimator, table.native, labels.values)
            weighing.check()
        method: Any = None if self.method is None else clone(self.method)
        beside = {"sensitive_features": sensitive_features}
        if isinstance(method, SensitiveRemover) and not method.hold:
            method.fit(table.native, **beside)
            removed = set(range(len(table.names))) - set(method.kept_.tolist())
            method.set_params(hold=needs_columns(self.estimator, table, removed))
        prepared = prepare(method, table.native, y, **beside, sample_weight=sample_weight)
        labels = Target.read(prepared.y, open_store(prepared.X).n_rows, is_quantity=False)
        weights = prepared.sample_weight
        if weights is not None:
            weighing = weighing or Weighing.of(self.estimator, prepared.X, labels.values)
            if given is None or not np.array_equal(weights, given):
                self._check_weighing(weighing, weights, hasattr(method, "counterfactual_of_"))
        self.estimator_ = fit_weighted(self.estimator, prepared.X, labels.values, weights, weighing)
        self.method_ = method
        self.classes_ = labels.classes
        return self

    def _check_weighing(self, weighing: Weighing, weights: Floats, has_counterfactuals: bool) -> None:
        """Raise an error if the estimator ignores the mitigation's weights; warn if rows can be repeated."""
        if weighing.is_used or (weights == weights[0]).all():
            return
        if not has_counterfactuals or repeats_of(weights) is None:
            raise ModelError(
                f"{weighing.trouble}, and rows weigh differently after {type(self.method).__name__}. Use "
                "an estimator that takes weights, or a method that needs none."
            )
        weighing.warn_of_repeats()

    def predict(self, X: Native, *, sensitive_features: Any = None) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return self._predict("predict", X, sensitive_features)

    @offered("predict_proba")
    def predict_proba(self, X: Native, *, sensitive_features: Any = None) -> Floats:
        """Return the probabilities of the two labels."""
        return self._predict("predict_proba", X, sensitive_features)

    @offered("decision_function")
    def decision_function(self, X: Native, *, sensitive_features: Any = None) -> Floats:
        """Return the margin of each row."""
        return self._predict("decision_function", X, sensitive_features)

    def _predict(self, method: str, X: Native, sensitive_features: Any) -> NDArray[Any]:
        rows = self.prepare_rows(X, sensitive_features=sensitive_features)
        return np.asarray(getattr(self.estimator_, method)(rows))

    def prepare_rows(self, X: Native, *, sensitive_features: Any = None) -> Native:
        """Return raw rows as ``estimator_`` takes them: transformed, where the mitigation does that."""
        X = self._checked(X)
        if getattr(self.method_, "transforms_test_rows", False):
            return self.method_.transform(X, sensitive_features=sensitive_features)
        return X
