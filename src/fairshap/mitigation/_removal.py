"""Train without the sensitive attribute."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin

from fairshap._frames import Table
from fairshap._problem import Hiding, Privileged
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.mitigation._base import RowTransformer


class SensitiveRemover(OneToOneFeatureMixin, RowTransformer):
    """Drop the sensitive column (RSA in the paper).

    Discriminative risk is then zero; what the other columns tell about the attribute stays. An attribute that
    is given beside the table is not in it, and nothing is dropped. Test rows are transformed too.

    A pipeline that names its columns, or counts on their places, cannot do without one of them; and without
    the only column of words an estimator would no longer be fitted behind the encoding, which also
    standardises the numbers. With ``hold`` the column stays and has the same value in all rows.
    :class:`BaselineClassifier` sees to that.

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. It makes no difference here; it is checked, as in every baseline.
    hold : bool, default=False
        Whether the column is held at one value instead.

    Attributes
    ----------
    kept_ : ndarray of int
        The positions of the columns that are kept.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import SensitiveRemover
    >>> X = pd.DataFrame({"sex": ["m", "f"], "age": [30, 40]})
    >>> SensitiveRemover(sensitive="sex", privileged="m").fit_transform(X)
       age
    0   30
    1   40
    """

    def __init__(self, *, sensitive: Any = None, privileged: Privileged = None, hold: bool = False) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.hold = hold

    def fit(self, X: Native, y: Any = None, *, sensitive_features: Any = None) -> "SensitiveRemover":  # noqa: ARG002
        """Remember which columns to keep; see :class:`SensitiveRemover` for the parameters."""
        setting = self._setting(X, sensitive_features)
        names = setting.own.names
        self._hiding = Hiding.of(setting, self.hold)
        self.kept_ = np.setdiff1d(np.arange(len(names)), self._hiding.dropped)
        if len(self._hiding.columns) == len(names):
            raise InputError(
                f"X has {len(names)} feature(s), all of them sensitive: none would be left to train on."
            )
        return self

    def _transform(self, table: Table, sensitive_features: Any) -> Native:  # noqa: ARG002
        return self._hiding.apply(table.store)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns that are kept."""
        return np.asarray(super().get_feature_names_out(input_features))[self.kept_]
