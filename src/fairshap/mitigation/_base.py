"""What all baselines share: their parameters, and how a table is read."""

from numbers import Real
from typing import Any, ClassVar

from imblearn.base import SamplerMixin
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Table, open_store
from fairshap._problem import Privileged, Setting
from fairshap._typing import Native
from fairshap.exceptions import InputError


class Baseline(BaseEstimator):
    """Holds the sensitive attribute and reads the groups as FairSHAP does."""

    #: Whether the rows that are predicted must be transformed too, or the training rows only.
    transforms_test_rows: ClassVar[bool] = False

    def __init__(self, *, sensitive: Any = None, privileged: Privileged = None) -> None:
        self.sensitive = sensitive
        self.privileged = privileged

    def _setting(self, X: Native, sensitive_features: Any, **options: Any) -> Setting:
        """Return the table to learn from, whose columns are remembered, and its groups."""
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        return Setting.read(
            X, self.sensitive, self.privileged, sensitive_features, is_fitted=False, **options
        )

    def _other_rows(self, X: Native) -> Table:
        """Return rows other than those learnt from; they must have the same columns."""
        check_is_fitted(self)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        return Table.read(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class RowTransformer(TransformerMixin, Baseline):
    """A baseline that transforms training rows and test rows alike."""

    transforms_test_rows: ClassVar[bool] = True

    def fit(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> Any:
        """Learn from the training rows.

        Parameters
        ----------
        X : data frame or array
            The training table.
        y : ignored
            There for pipelines.
        sensitive_features : array-like, optional
            The sensitive attribute, if it is not a column of X.
        """
        raise NotImplementedError

    def transform(self, X: Native, *, sensitive_features: Any = None) -> Native:
        """Return the rows as they are to be trained on or predicted; X is not changed.

        Parameters
        ----------
        X : data frame or array
            Rows with the columns that were fitted on.
        sensitive_features : array-like, optional
            Their sensitive attribute, if it is not a column of X.
        """
        return self._transform(self._other_rows(X), sensitive_features)

    def fit_transform(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> Native:
        """Learn from the training rows and return them transformed."""
        fitted = self.fit(X, y, sensitive_features=sensitive_features)
        return fitted.transform(X, sensitive_features=sensitive_features)

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        raise NotImplementedError


class Sampler(SamplerMixin, Baseline):
    """A baseline that changes the training rows only."""

    def fit(self, X: Native, y: Any, **params: Any) -> Any:
        """Do what :meth:`fit_resample` does, without returning the rows."""
        self.fit_resample(X, y, **params)
        return self

    def _fit_resample(self, X: Native, y: Any, **params: Any) -> tuple[Native, Any]:
        """Answer imbalanced-learn's mixin, whose own fit_resample would drop the index."""
        X, y = self.fit_resample(X, y, **params)
        return X, y


def check_share(value: Any, name: str) -> float:
    """Return a parameter that is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} must be a number from 0 to 1.")
    return float(value)
