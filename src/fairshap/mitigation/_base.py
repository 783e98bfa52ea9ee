"""The base of every mitigation: it holds the sensitive attribute, validates tables and reads them."""

from numbers import Real
from typing import Any, ClassVar, Self

from imblearn.base import SamplerMixin
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Table, open_store
from fairshap._problem import Privileged, Problem
from fairshap._typing import Native
from fairshap.exceptions import InputError


class Mitigator(BaseEstimator):
    """Holds the sensitive attribute and reads the groups as FairSHAP does."""

    #: Whether the rows to predict must be transformed too, or the training rows only.
    transforms_test_rows: ClassVar[bool] = False

    def __init__(self, *, sensitive: Any = None, privileged: Privileged = None) -> None:
        self.sensitive = sensitive
        self.privileged = privileged

    def _problem(self, X: Native, sensitive_features: Any, **options: Any) -> Problem:
        """Return the training table and its groups, and remember its columns."""
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        who = {"sensitive": self.sensitive, "privileged": self.privileged}
        return Problem.read(X, **who, sensitive_features=sensitive_features, is_fitted=False, **options)

    def _other_rows(self, X: Native) -> Table:
        """Return rows other than the training rows; they must have the same columns."""
        check_is_fitted(self)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        return Table.read(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class RowTransformer(OneToOneFeatureMixin, TransformerMixin, Mitigator):
    """Transforms training rows and test rows alike; a subclass defines ``_learn`` and ``_transform``."""

    transforms_test_rows: ClassVar[bool] = True

    def fit(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> Self:  # noqa: ARG002
        """Learn from the training rows."""
        self._learn(X, sensitive_features)
        return self

    def transform(self, X: Native, *, sensitive_features: Any = None) -> Native:
        """Return the rows to train on or to predict, in the type of X."""
        return self._transform(self._other_rows(X), sensitive_features)

    def fit_transform(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> Native:
        """Learn from the training rows and return them transformed."""
        fitted = self.fit(X, y, sensitive_features=sensitive_features)
        return fitted.transform(X, sensitive_features=sensitive_features)

    def _learn(self, X: Native, sensitive_features: Any) -> None:
        raise NotImplementedError

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        raise NotImplementedError


class Sampler(SamplerMixin, Mitigator):
    """Changes the training rows only; a subclass defines ``fit_resample``."""

    def fit(self, X: Native, y: Any, **params: Any) -> Self:
        """Do what :meth:`fit_resample` does without returning the rows."""
        self.fit_resample(X, y, **params)
        return self

    def _fit_resample(self, X: Native, y: Any, **params: Any) -> tuple[Native, Any]:
        """Serve imbalanced-learn's mixin, whose own fit_resample would drop the index."""
        X, y = self.fit_resample(X, y, **params)
        return X, y


def check_share(value: Any, name: str) -> float:
    """Return a parameter that must be a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} must be a number from 0 to 1.", parameter=name)
    return float(value)
