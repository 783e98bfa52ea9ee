"""What mitigations share: the attribute, tables that are checked and read, and training on changed tables."""

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._display import Shown
from fairshap._frames import Table, open_store
from fairshap._problem import Privileged, Problem
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError

if TYPE_CHECKING:
    from fairshap.mitigation._removal import SensitiveRemover

# Pickled objects are without these.
_OF_ROWS = ("sample_weight_", "counterfactual_of_")


class Mitigator(Shown, BaseEstimator):
    """The base of every mitigation: it holds the attribute and reads the groups as FairSHAP does.

    Pickled, it is without ``sample_weight_`` and ``counterfactual_of_``, which tell of single rows.
    """

    #: Whether the rows to predict must be transformed too, or the training rows only.
    transforms_test_rows: ClassVar[bool] = False

    def __init__(self, *, sensitive: Any = None, privileged: Privileged = None) -> None:
        self.sensitive = sensitive
        self.privileged = privileged

    def _problem(self, X: Native, **options: Any) -> Problem:
        """Return the training table and its groups, and remember its columns."""
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True)
        who = {"sensitive": self.sensitive, "privileged": self.privileged}
        return Problem.read(X, **who, is_fitted=False, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in _OF_ROWS}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def check_share(value: Any, name: str) -> None:
    """Raise an error unless a parameter is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} must be a number from 0 to 1.", parameter=name)


class RowWeigher(Mitigator):
    """Weights training rows."""

    sample_weight_: Floats


class RowTransformer(OneToOneFeatureMixin, TransformerMixin, Mitigator):
    """Transforms training rows and test rows alike. The attribute must be a column of the table."""

    transforms_test_rows: ClassVar[bool] = True

    def _training_table(self, X: Native) -> Problem:
        """Return the training table; ``_columns`` are then the sensitive columns, ``_others`` the others."""
        problem = self._problem(X)
        names = problem.own.names
        self._columns = list(problem.columns)
        self._others = [column for column in range(len(names)) if column not in self._columns]
        if not self._others:
            raise InputError(
                f"X has {len(names)} feature(s), all of them sensitive: none would be left to train on.",
                parameter="X",
            )
        return problem

    def _other_rows(self, X: Native) -> Table:
        """Return rows to transform; they must have the columns of the training rows."""
        check_is_fitted(self)
        X = open_store(X).native
        validate_data(self, X, skip_check_array=True, reset=False)
        return Table.read(X)


def offered(method: str) -> Any:
    """Offer a method if the trained estimator has it, or before the fit the one to train."""

    def check(self: "Trainer") -> bool:
        # The error of an estimator without it says more.
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._estimator(), method)
        return True

    return available_if(check)


def read_rows(owner: Any, X: Native, remover: "SensitiveRemover | None") -> Native:
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
    _remover: "SensitiveRemover | None" = None

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
