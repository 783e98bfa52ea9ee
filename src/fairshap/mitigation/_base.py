"""What all mitigations share: the sensitive attribute, tables that are checked and read, and their groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Table, open_store, read_column
from fairshap._messages import did_you_mean, listing, warn
from fairshap._problem import Privileged, Problem, read_attribute, split_quantity
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import GroupError, InputError, UnseenGroupsWarning


class Mitigator(BaseEstimator):
    """The base of every mitigation: it holds the attribute and reads the groups as FairSHAP does."""

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
        problem = Problem.read(X, **who, sensitive_features=sensitive_features, is_fitted=False, **options)
        # Where the attribute of other rows is: in columns of the table, or beside it.
        self._columns = () if problem.added else problem.columns
        self._attribute = problem.groups.name, len(problem.columns)
        return problem

    def _attributes(self, table: Table, sensitive_features: Any) -> Table:
        """Return the attribute of some rows as a table of its own."""
        name, width = self._attribute
        if self._columns:
            if sensitive_features is not None:
                raise InputError(
                    f"the sensitive attribute is the column {name!r} of X and sensitive_features is "
                    "given too; leave sensitive_features out."
                )
            return Table.read(table.store.compose(self._columns))
        if sensitive_features is None:
            raise InputError(
                "the sensitive attribute was given beside the table when fitting; give sensitive_features, "
                "one value for each row, for these rows too."
            )
        frame = read_column(sensitive_features, "sensitive")
        if frame.shape != (table.n_rows, width):
            needed = f"{table.n_rows} rows and {width} column(s) are needed"
            message = f"sensitive_features has shape {frame.shape}; {needed}."
            raise InputError(message, parameter="sensitive_features")
        return Table.read(frame)

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

    def _other_columns(self, names: Sequence[Any]) -> list[int]:
        """Return the columns that are not sensitive, or say that there is none."""
        others = [column for column in range(len(names)) if column not in self._columns]
        if not others:
            raise InputError(
                f"X has {len(names)} feature(s), all of them sensitive: none would be left to train on.",
                parameter="X",
            )
        return others

    def _learn(self, X: Native, sensitive_features: Any) -> None:
        raise NotImplementedError

    def _transform(self, table: Table, sensitive_features: Any) -> Native:
        raise NotImplementedError


def check_share(value: Any, name: str) -> None:
    """Raise an error unless a parameter is a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name}={value!r} must be a number from 0 to 1.", parameter=name)


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Numbers the groups: 0 is privileged, 1, 2, ... are not; -1 where the attribute is missing or unseen.

    ``values`` maps each value of a category to its group. A quantity has two groups instead, split by the
    interval ``privileged``, or by a function: then ``sides`` are the groups between the ``cuts``.
    """

    name: Any
    n_groups: int
    values: Mapping[Any, int] | None = None
    privileged: Any = None
    cuts: Floats | None = None
    sides: Ints | None = None

    @classmethod
    def of(cls, problem: Problem, alone: Table) -> tuple["GroupReader", Ints]:
        """Return the reader for a training table, given its attribute, and the group of each row."""
        groups = problem.groups
        number = np.where(groups.side == 1, 0, np.where(groups.side == 0, groups.group + 1, -1))
        n_groups = int(number.max()) + 1
        if not groups.by_row:
            read = read_attribute(alone, range(len(alone.names)))
            values = dict(zip(read.values, number[read.first].tolist(), strict=True))
            return cls(groups.name, n_groups, values), number
        if isinstance(problem.privileged, pd.Interval):
            return cls(groups.name, n_groups, privileged=problem.privileged), number
        # What a function says of a value may depend on the other values, as a median does. So it is not
        # called again: a row is in the group of the training row whose value is nearest.
        present = np.flatnonzero(~np.isnan(alone.column(0)))
        known, first = np.unique(alone.column(0)[present], return_index=True)
        sides = number[present[first]]
        last = np.flatnonzero(np.diff(sides))
        cuts = known[last] + (known[last + 1] - known[last]) / 2
        return cls(groups.name, n_groups, cuts=cuts, sides=sides[np.append(0, last + 1)]), number

    def read(self, alone: Table) -> Ints:
        """Return the group of each row of a table of the attribute."""
        if self.values is None:
            return self._of_quantity(alone)
        read = read_attribute(alone, range(len(alone.names)), most_numbers=alone.n_rows)
        numbers = [self.values.get(value, -1) for value in read.values]
        unseen = [value for value, number in zip(read.values, numbers, strict=True) if number < 0]
        if unseen:
            warn(
                f"{self.name!r} holds {listing(unseen)}, which it did not when fitting: "
                f"{listing(self.values)}. Such rows belong to no known group and stay as they are."
                f"{did_you_mean(unseen[0], list(self.values))}",
                UnseenGroupsWarning,
            )
        return np.array([*numbers, -1])[read.code]

    def _of_quantity(self, alone: Table) -> Ints:
        if not alone.is_numeric(0):
            raise GroupError(f"{self.name!r} held numbers when fitting; now it holds something else.")
        if self.cuts is None or self.sides is None:
            side = split_quantity(alone, 0, self.privileged, self.name)
            return np.where(side < 0, -1, 1 - side).astype(np.int64)
        keys = alone.column(0)
        return np.where(np.isnan(keys), -1, self.sides[np.searchsorted(self.cuts, keys)])
