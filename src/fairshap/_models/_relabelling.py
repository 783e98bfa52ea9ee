"""Classifiers that know no labels but 0, 1 and so on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from fairshap._typing import Floats, Native


def _inner_has(method: str) -> Any:
    return available_if(lambda self: hasattr(self.inner_, method))


class Relabelled(ClassifierMixin, BaseEstimator):
    """A classifier fitted on the labels' numbers, from 0 on, that predicts the labels themselves.

    Parameters
    ----------
    estimator : classifier
        One that refuses other labels, such as XGBoost's.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Native, y: NDArray[Any], **fit_params: Any) -> "Relabelled":
        """Fit the classifier on 0 for the first label, 1 for the second and so on."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.inner_ = clone(self.estimator).fit(X, codes, **fit_params)
        return self

    @property
    def n_features_in_(self) -> int:
        """The number of features that the classifier itself sees."""
        last = self.inner_.steps[-1][1] if isinstance(self.inner_, Pipeline) else self.inner_
        return int(last.n_features_in_)

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return np.asarray(self.classes_[np.asarray(self.inner_.predict(X)).astype(np.int64)])

    @_inner_has("predict_proba")
    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the labels for each row."""
        return np.asarray(self.inner_.predict_proba(X))

    @_inner_has("decision_function")
    def decision_function(self, X: Native) -> Floats:
        """Return the margin of each row."""
        return np.asarray(self.inner_.decision_function(X))
