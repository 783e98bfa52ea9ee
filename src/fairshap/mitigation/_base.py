"""What all mitigations share: the sensitive attribute, and tables that are checked and read."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._display import Shown
from fairshap._frames import Table, open_store
from fairshap._problem import Privileged, Problem
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError

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
