"""Train any classifier after any mitigation."""

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import validate_data

from fairshap._frames import Table, open_store
from fairshap._models import Weighing, fit_weighted, repeats_of
from fairshap._problem import Target, check_weights
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError, ModelError
from fairshap.mitigation._base import Trainer
from fairshap.mitigation._removal import SensitiveRemover, remover_for


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
    drop_sensitive : bool, default=False
        Whether it is trained without the sensitive column, which only the mitigation sees then; rows to
        predict may come with or without it. If the classifier would be fitted otherwise without the column,
        as a pipeline that names its columns, the column has the same value in every row instead.

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

    def __init__(self, method: Any, estimator: Any, *, drop_sensitive: bool = False) -> None:
        self.method = method
        self.estimator = estimator
        self.drop_sensitive = drop_sensitive

    def fit(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "MitigatedClassifier":
        """Fit the mitigation and train the classifier, which never sees ``sensitive_features``."""
        return self._fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)

    def _fit(
        self,
        X: Native,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        known: tuple[Any, tuple[Native, Any, Floats]] | None = None,
    ) -> "MitigatedClassifier":
        """Train after the mitigation, or after one that is fitted, with the rows that it returned."""
        table = Table.read(X)
        validate_data(self, table.native, skip_check_array=True)
        labels = Target.read(y, table.n_rows, is_quantity=False)
        weighing: Weighing | None = None
        given = check_weights(sample_weight, table.n_rows)
        if given is not None:
            weighing = Weighing.of(self.estimator, table.native, labels.values)
            weighing.check()
        method: Any = None if self.method is None else clone(self.method)
        self._remover = self._make_remover(method, table.native, sensitive_features)
        if known is None:
            X, y, weights = _prepare(method, table.native, y, sensitive_features, given)
        else:
            method, (X, y, weights) = known
        if self._remover is not None and self._remover is not method:
            X = self._remover.transform(X)
        labels = Target.read(y, open_store(X).n_rows, is_quantity=False)
        if weights is not None:
            weighing = weighing or Weighing.of(self.estimator, X, labels.values)
            if given is None or not np.array_equal(weights, given):
                self._check_weighing(weighing, weights, hasattr(method, "counterfactual_of_"))
        self.estimator_ = fit_weighted(self.estimator, X, labels.values, weights, weighing)
        self.method_ = method
        self.classes_ = labels.classes
        return self

    def _make_remover(self, method: Any, X: Native, sensitive_features: Any) -> SensitiveRemover | None:
        """Return what takes the sensitive columns away: the mitigation itself, or one that goes with it."""
        if isinstance(method, SensitiveRemover):
            return method.fit_for(self.estimator, X)
        if not self.drop_sensitive or sensitive_features is not None:
            return None
        if getattr(method, "transforms_test_rows", False) or not hasattr(method, "sensitive"):
            raise InputError(
                f"drop_sensitive=True goes with a method that knows the sensitive column and leaves the rows "
                f"to predict as they are, not with {type(method).__name__}. Use SensitiveRemover.",
                parameter="drop_sensitive",
            )
        return remover_for(method, self.estimator, X)

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

    def prepare_rows(self, X: Native) -> Native:
        """Return raw rows as ``estimator_`` takes them: transformed, where the mitigation does that."""
        rows = super().prepare_rows(X)
        is_transforming = self._remover is None and getattr(self.method_, "transforms_test_rows", False)
        return self.method_.transform(rows) if is_transforming else rows


def _prepare(
    method: Any, X: Native, y: Any, sensitive_features: Any, sample_weight: Floats | None
) -> tuple[Native, Any, Floats | None]:
    """Fit a mitigation, or FairSHAP, and return the rows, labels and weights to train on."""
    given = {"sensitive_features": sensitive_features, "sample_weight": sample_weight}

    def call(method: Any) -> Any:
        taken = signature(method).parameters
        return method(X, y, **{name: value for name, value in given.items() if name in taken})

    if method is None:
        return X, y, sample_weight
    if hasattr(method, "fit_resample"):
        X, y = call(method.fit_resample)
        return X, y, getattr(method, "sample_weight_", sample_weight)
    if hasattr(method, "transform"):
        return call(method.fit).transform(X), y, sample_weight
    return X, y, call(method.fit).sample_weight_
