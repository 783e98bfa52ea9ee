"""Consult, repair, retrain: what the classifier and the regressor share."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._typing import Native
from fairshap.estimators._base import Repairer
from fairshap.estimators._sampler import FairSHAP
from fairshap.exceptions import ModelError
from fairshap.models import fit_model, is_frozen, takes_quantities, takes_weights
from fairshap.table import open_store

# The share of the rows that tells whether a repair is any good.
_HOLDOUT = 0.2


class Retrainer(MetaEstimatorMixin, Repairer):
    """A predictor that is trained on the table that :class:`FairSHAP` repaired."""

    def fit(self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> Self:
        """Consult, repair and retrain.

        Parameters
        ----------
        X : data frame or array
            The training table; categories need no encoding.
        y : array-like
            The target of each row: labels for a classifier, numbers for a regressor.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X.
        sample_weight : array-like, optional
            Weights for both fits.
        """
        estimator = self._estimator()
        self._check_kind(estimator)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        # The estimator says whether y is labels or a quantity; the default is no exception here.
        params = {name: getattr(self, name) for name in FairSHAP().get_params(deep=False)}
        params |= {"estimator": estimator, "augment": self._augment(estimator, sensitive_features)}
        if self.holdout == "auto":
            params["holdout"] = None if is_frozen(estimator) else _HOLDOUT
        repair = FairSHAP(**params)
        X_fair, y = repair.fit_resample(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        labels = repair._labels(y, open_store(X_fair).n_rows)
        if is_frozen(estimator):
            estimator = estimator.estimator
        fit_params = self._fit_params("fit", repair.sample_weight_)
        self.estimator_ = fit_model(estimator, X_fair, labels.values, fit_params)
        self.repair_ = repair
        if labels.classes is not None:
            self.classes_ = labels.classes
        return self

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label or quantity of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(self._checked(X)))

    def _augment(self, estimator: Any, sensitive_features: Any) -> Any:
        """Return which rows get twins: by default those that are edited, where twins can be of use."""
        if self.augment != "auto":
            return self.augment
        # A model that never sees the attribute cannot tell a twin from its row.
        return "edited" if sensitive_features is None and takes_weights(estimator) else None

    def _check_kind(self, estimator: Any) -> None:
        """Raise an error if a classifier stands where a regressor belongs, or the other way round."""
        if bool(takes_quantities(estimator)) == self._is_regression:
            return
        name, own = type(estimator).__name__, type(self).__name__
        raise ModelError(
            f"{name} is not a regressor, which {own} needs; use FairSHAPClassifier for a classifier."
            if self._is_regression
            else f"{name} is a regressor and {own} needs a classifier; use FairSHAPRegressor."
        )

    def _checked(self, X: Native) -> Native:
        """Return the rows to predict, which must have the columns that were fitted on."""
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        return X

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator takes and what it hands on to its estimator."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self._estimator(),
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._estimator())
        if tags.classifier_tags is not None and inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.string = True
        return tags
