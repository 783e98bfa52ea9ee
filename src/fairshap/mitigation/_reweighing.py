"""Weight the rows so that group and label are independent."""

from typing import Any

import numpy as np

from fairshap._messages import listing
from fairshap._problem import Privileged, Target, check_order, check_weights, read_target
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError, TargetError
from fairshap.mitigation._base import Mitigator
from fairshap.mitigation._groups import GroupReader


class Reweigher(Mitigator):
    """Weight the rows of each group and label as if the two were independent; the rows stay unchanged.

    The weight of a row of group s and label y is ``P(s) P(y) / P(s, y)``, after Kamiran and Calders, *Data
    preprocessing techniques for classification without discrimination*, 2012; for two groups these are the
    weights of AIF360's ``Reweighing``. A row whose attribute is missing has weight 1 and is not counted.

    Parameters
    ----------
    min_group_size : int, default=None
        Merge unprivileged groups with fewer rows; by default 10 for several sensitive columns.

    Attributes
    ----------
    sample_weight_ : ndarray of float, shape (rows,)
        The weights of the training rows, multiplied by the given ones.
    factors_ : ndarray of float, shape (groups, 2)
        The weight of each group, the privileged one first, and label; 1 where no row has both.
    classes_ : ndarray, shape (2,)
        The two labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import Reweigher
    >>> X = pd.DataFrame({"sex": ["m", "m", "m", "f"]})
    >>> Reweigher(sensitive="sex", privileged="m").fit(X, [1, 1, 0, 0]).sample_weight_
    array([0.75, 0.75, 1.5 , 0.5 ])
    """

    def __init__(
        self, *, sensitive: Any = None, privileged: Privileged = None, min_group_size: int | None = None
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.min_group_size = min_group_size

    def fit(
        self, X: Native, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> "Reweigher":
        """Count the rows, or add up their weights, by group and label."""
        problem = self._problem(X, sensitive_features, min_group_size=self.min_group_size)
        labels = Target.read(y, problem.own.n_rows, is_quantity=False)
        check_order(X, y, "y")
        given = check_weights(sample_weight, problem.own.n_rows)
        given = np.ones(problem.own.n_rows) if given is None else given
        self._groups, group = GroupReader.of(problem, sensitive_features)
        counted = group >= 0
        sums = np.zeros((self._groups.n_groups, len(labels.names)))
        np.add.at(sums, (group[counted], labels.codes[counted]), given[counted])
        if not sums.sum():
            raise InputError(
                "sample_weight is zero for all rows; at least one must weigh something.",
                parameter="sample_weight",
            )
        expected = np.outer(sums.sum(axis=1), sums.sum(axis=0)) / sums.sum()
        self.factors_ = np.divide(expected, sums, out=np.ones_like(sums), where=sums > 0)
        self.classes_ = np.unique(labels.values)
        self.sample_weight_ = given * np.where(counted, self.factors_[group, labels.codes], 1.0)
        return self

    def weights(self, X: Native, y: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the weights of any rows, from the counts of the training rows."""
        table = self._other_rows(X)
        values = read_target(y, table.n_rows)
        codes = np.minimum(np.searchsorted(self.classes_, values), len(self.classes_) - 1)
        unknown = values != self.classes_[codes]
        if unknown.any():
            raise TargetError(
                f"y holds {listing(np.unique(values[unknown]).tolist())}; when fitting it held "
                f"{listing(self.classes_.tolist())}.",
                parameter="y",
            )
        group = self._groups.read(table, sensitive_features)
        return np.where(group >= 0, self.factors_[group, codes], 1.0)
