"""Consult, repair, retrain: what the classifier and the regressor share."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import open_store
from fairshap._messages import warn
from fairshap._models import Weighing, fit_model, fit_weighted, is_frozen, takes_quantities
from fairshap._problem import read_target
from fairshap._typing import Native
from fairshap.estimators._base import Repairer
from fairshap.estimators._sampler import FairSHAP
from fairshap.exceptions import ModelError, WeightsWarning

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
            Weights for both fits; an error if the estimator does not take them.
        """
        estimator = self._estimator()
        self._check_kind(estimator)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        trained = estimator.estimator if is_frozen(estimator) else estimator
        # What the estimator does with weights is found out before the repair, which takes its time.
        weighing = self._weigh(trained, X, y, sensitive_features, sample_weight)
        # The estimator says whether y is labels or a quantity; the default is no exception here.
        params = {name: getattr(self, name) for name in FairSHAP().get_params(deep=False)}
        params |= {"estimator": estimator, "augment": self._twins(weighing)}
        if self.holdout == "auto":
            params["holdout"] = None if is_frozen(estimator) else _HOLDOUT
        repair = FairSHAP(**params)
        X_fair, y = repair.fit_resample(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight
        )
        labels = repair._labels(y, open_store(X_fair).n_rows)
        weights = repair.sample_weight_
        if sample_weight is None:
            if weighing is not None and weights is not None and len(np.unique(weights)) > 1:
                weighing.warn_of_repeats()
            self.estimator_ = fit_weighted(trained, X_fair, labels.values, weights, weighing)
        else:
            fit_params = self._fit_params("fit", weights)
            self.estimator_ = fit_model(trained, X_fair, labels.values, fit_params)
        self.repair_ = repair
        if labels.classes is not None:
            self.classes_ = labels.classes
        return self

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label or quantity of each row."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(self._checked(X)))

    def _weigh(
        self, estimator: Any, X: Native, y: Any, sensitive_features: Any, sample_weight: Any
    ) -> Weighing | None:
        """Return what the estimator does with weights; None if there will be none.

        Weights of the user's that it cannot be fitted with are an error, and so are they beside twins if the
        rows would have to be repeated.
        """
        # A model that never sees the attribute cannot tell a twin from its row.
        no_twins = self.augment is None or (self.augment == "auto" and sensitive_features is not None)
        # Where metadata is routed, this line checks what the estimator requests.
        given = self._fit_params("fit", sample_weight)
        is_given = bool(given) and not get_config()["enable_metadata_routing"]
        if no_twins and not is_given:
            return None
        weighing = Weighing.of(estimator, X, read_target(y, open_store(X).n_rows))
        if is_given:
            weighing.check()
        if no_twins:
            return None
        if sample_weight is not None and self.augment != "auto" and not weighing.is_used:
            raise ModelError(
                f"{weighing.trouble}, and rows that have weights of their own cannot be repeated instead. "
                f"Leave out sample_weight or augment={self.augment!r}, or use an estimator that takes both.",
                parameter="augment",
            )
        return weighing

    def _twins(self, weighing: Weighing | None) -> Any:
        """Return which rows get twins: by default those that are edited, if the estimator can weigh them."""
        if weighing is None:
            return None
        if self.augment != "auto":
            return self.augment
        if weighing.is_used:
            return "edited"
        warn(
            f"{weighing.trouble}, so that edited rows get no twins: a row and its twin share a weight. "
            "augment=None says so without this warning, augment='edited' repeats rows instead.",
            WeightsWarning,
        )
        return None

    def _check_kind(self, estimator: Any) -> None:
        """Raise an error if a classifier stands where a regressor belongs, or the other way round."""
        if bool(takes_quantities(estimator)) == self._is_regression:
            return
        name, own = type(estimator).__name__, type(self).__name__
        raise ModelError(
            f"{name} is not a regressor, which {own} needs; use FairSHAPClassifier for a classifier."
            if self._is_regression
            else f"{name} is a regressor and {own} needs a classifier; use FairSHAPRegressor.",
            parameter="estimator",
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
