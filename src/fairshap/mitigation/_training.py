"""What trains an estimator on a table that was changed, and predicts raw rows with it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._display import Shown
from fairshap._frames import open_store
from fairshap._typing import Floats, Native
from fairshap.mitigation._removal import SensitiveRemover


def offered(method: str) -> Any:
    """Offer a method if the trained estimator has it, or before the fit the one to train."""

    def check(self: "Trainer") -> bool:
        # The error of an estimator without it says more.
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._estimator(), method)
        return True

    return available_if(check)


def read_rows(owner: Any, X: Native, remover: SensitiveRemover | None) -> Native:
    """Return rows that an estimator was given, checked, and without the sensitive columns if these go."""
    X = open_store(X).native
    if remover is not None and remover.is_without(X):
        return remover.complete(X)
    validate_data(owner, X, skip_check_array=True, reset=False)
    return X if remover is None else remover.transform(X)


class Trainer(Shown, MetaEstimatorMixin, BaseEstimator):
    """Trains an estimator on a table that was changed, and predicts with it."""

    estimator: Any
    estimator_: Any

    def _estimator(self) -> Any:
        return self.estimator

    #: Takes the sensitive columns away from the rows; None if the estimator sees them.
    _remover: SensitiveRemover | None = None

    def prepare_rows(self, X: Native) -> Native:
        """Return rows as ``estimator_`` takes them.

        They must have the columns that were fitted on; the sensitive ones may be missing if it does not see
        them.
        """
        check_is_fitted(self)
        return read_rows(self, X, self._remover)

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label or quantity of each row."""
        return self._predict("predict", X)

    @offered("predict_proba")
    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the labels for each row."""
        return self._predict("predict_proba", X)

    @offered("decision_function")
    def decision_function(self, X: Native) -> Floats:
        """Return the margin of each row."""
        return self._predict("decision_function", X)

    def _predict(self, method: str, X: Native) -> NDArray[Any]:
        rows = self.prepare_rows(X)
        return np.asarray(getattr(self.estimator_, method)(rows))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._estimator())
        if tags.classifier_tags is not None and inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = True
        return tags
