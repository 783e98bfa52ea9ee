"""Make the numbers of all groups alike, quantile by quantile."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import OneToOneFeatureMixin

from fairshap._frames import Table
from fairshap._messages import listing
from fairshap._problem import Privileged, Setting
from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError
from fairshap.mitigation._attribute import GroupReader
from fairshap.mitigation._base import RowTransformer, check_share
from fairshap.mitigation._quantiles import ColumnRepair, full_repair


class DisparateImpactRemover(OneToOneFeatureMixin, RowTransformer):
    """Move the numbers of each group to the medians of the groups' quantiles (DIR in the paper).

    After Feldman et al., *Certifying and removing disparate impact*, KDD 2015; for numbers the same result
    as AIF360's class of this name, but that AIF360 bins the attribute first and in a table of few rows may
    take two of several values for one. Within a group the order of the values stays. New values are values
    that the column has, so that types stay what they are; the sensitive attribute stays too.

    Only numbers (and dates) are repaired. **Categories stay as they are**: one-hot encoded first, as in the
    paper, the repair leaves them too, but for a category that some group never has, which it removes. Missing
    values stay missing.

    Test rows are transformed too, by what was learnt from the training rows, so that each row is repaired by
    itself. AIF360 has no such step, and in the paper's experiments the test rows were repaired by their own
    quantiles: that is ``fit_transform(X_test)`` of another remover. Since a row's own attribute decides how
    it is repaired, switching it in a raw row changes more than in a row that stays repaired as it was.

    Parameters
    ----------
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of the table.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged. They are one group, each other value is one.
    repair_level : float, default=1.0
        How far the numbers go, from 0 (not at all) to 1, counted in values of the column.
    min_group_size : int, default=None
        Unprivileged groups of fewer rows are taken as one; by default 10 for several columns. The group with
        the fewest values decides how many quantiles there are.

    Attributes
    ----------
    columns_ : dict
        For each repaired column, by its position, its values and where they go.
    n_features_in_ : int
        The number of columns of the table.
    feature_names_in_ : ndarray of str
        Their names, if the table is a frame whose names are all strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.mitigation import DisparateImpactRemover
    >>> X = pd.DataFrame({"sex": ["m", "m", "m", "f", "f", "f"], "score": [5, 7, 9, 1, 2, 3]})
    >>> DisparateImpactRemover(sensitive="sex", privileged="m").fit_transform(X)["score"].tolist()
    [1, 2, 3, 1, 2, 3]
    """

    def __init__(
        self,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        repair_level: float = 1.0,
        min_group_size: int | None = None,
    ) -> None:
        super().__init__(sensitive=sensitive, privileged=privileged)
        self.repair_level = repair_level
        self.min_group_size = min_group_size

    def fit(
        self,
        X: Native,
        y: Any = None,  # noqa: ARG002
        *,
        sensitive_features: Any = None,
    ) -> "DisparateImpactRemover":
        """Learn the values of each group; see :class:`DisparateImpactRemover` for the parameters."""
        check_share(self.repair_level, "repair_level")
        setting = self._setting(X, sensitive_features, min_group_size=self.min_group_size)
        self._groups = GroupReader.of(setting, sensitive_features, self.privileged)
        self.columns_ = {
            int(column): _learn(setting, column, self._groups)
            for column in np.setdiff1d(setting.own.numeric_columns, setting.columns)
        }
        if not self.columns_:
            names = setting.own.names
            raise InputError(
                f"none of X's {len(names)} feature(s), {listing(names)}, is a column of "
                "numbers to repair; DisparateImpactRemover leaves categories and the attribute as they are."
            )
        return self

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        group = self._groups.read(table, sensitive_features)
        members = [np.flatnonzero(group == g) for g in range(self._groups.n_groups)]
        cells = {}
        for column, repair in self.columns_.items():
            if not table.is_numeric(column):
                raise InputError(
                    f"column {table.names[column]!r} held numbers when fitting; now it holds something else."
                )
            rows, new = repair.moved(table.column(column), members, float(self.repair_level))
            if len(rows):
                _check_type(table, column, repair.keys[new])
                cells[column] = (rows, [repair.cells[k] for k in new.tolist()])
        try:
            return table.store.assign(cells)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the repaired numbers do not fit into a column of X: {error}. Give the columns the types "
                "that they had when fitting."
            ) from error


def _learn(setting: Setting, column: int, groups: GroupReader) -> ColumnRepair:
    """Return where the values of a column go."""
    numbers = setting.own.column(int(column))
    rows = np.flatnonzero((groups.training >= 0) & ~np.isnan(numbers))
    codes, keys = pd.factorize(numbers[rows], sort=True)
    some = np.empty(len(keys), dtype=np.int64)
    some[codes] = rows
    cells = setting.own.store.values(int(column), some)
    return ColumnRepair(keys, cells, full_repair(codes, groups.training[rows], groups.n_groups, len(keys)))


def _check_type(table: Table, column: int, numbers: Floats) -> None:
    """Raise an error where numpy would cut numbers without a word; frames raise their own."""
    if table.is_array and table.native.dtype.kind in "iu" and (numbers % 1).any():
        raise InputError(
            f"column {table.names[column]} of X is of type {table.native.dtype} and cannot hold the repaired "
            "number; give the array the type that it had when fitting."
        )
