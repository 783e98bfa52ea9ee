"""The sensitive attribute of rows other than those that were learnt from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import Table, read_column
from fairshap._messages import did_you_mean, listing, warn
from fairshap._problem import Setting, quantities, read_attribute, split_quantity
from fairshap._typing import Floats, Ints
from fairshap.exceptions import GroupError, InputError, UnseenGroupsWarning


@dataclass(frozen=True, slots=True)
class AttributeReader:
    """Reads the attribute of any rows from where it was when fitting.

    Parameters
    ----------
    name : hashable
        The attribute.
    columns : tuple of int
        Its columns in the user's table; none where it stands beside.
    width : int
        How many columns it has.
    """

    name: Any
    columns: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, setting: Setting) -> "AttributeReader":
        """Return the reader of a table that is being fitted on."""
        columns = () if setting.added else setting.columns
        return cls(setting.groups.name, columns, len(setting.columns))

    def read(self, table: Table, sensitive_features: Any) -> Table:
        """Return the attribute of some rows as a table of its own."""
        if self.columns:
            if sensitive_features is not None:
                raise InputError(
                    f"the sensitive attribute is the column {self.name!r} of X and sensitive_features is "
                    "given too; leave sensitive_features out."
                )
            return Table.read(table.store.compose(self.columns))
        if sensitive_features is None:
            raise InputError(
                "the sensitive attribute was given beside the table when fitting; give sensitive_features, "
                "one value for each row, for these rows too."
            )
        frame = read_column(sensitive_features, "sensitive")
        if frame.shape != (table.n_rows, self.width):
            raise InputError(
                f"sensitive_features has shape {frame.shape}; {table.n_rows} rows and {self.width} column(s) "
                "are needed."
            )
        return Table.read(frame)


@dataclass(frozen=True, slots=True)
class GroupReader:
    """Numbers the groups of any rows as those of the training rows were numbered.

    The privileged side is 0, the unprivileged groups are 1, 2, ...; -1 is a row whose attribute is missing
    or holds a value that was not seen when fitting.

    Parameters
    ----------
    attribute : AttributeReader
        Where the attribute stands.
    training : ndarray of int
        The group of each training row.
    values : mapping
        The group of each value of a category.
    quantity : ndarray of float
        The training rows' values of a quantity; empty for a category.
    privileged : object
        The interval or the function that splits it.
    """

    attribute: AttributeReader
    training: Ints
    values: Mapping[Any, int]
    quantity: Floats
    privileged: Any

    @classmethod
    def of(cls, setting: Setting, sensitive_features: Any, privileged: Any) -> "GroupReader":
        """Return the reader of a table that is being fitted on."""
        groups = setting.groups
        number = np.where(groups.side == 1, 0, np.where(groups.side == 0, groups.group + 1, -1))
        attribute = AttributeReader.of(setting)
        alone = attribute.read(setting.own, sensitive_features)
        if groups.by_row:
            return cls(attribute, number, {}, alone.column(0), privileged)
        read = read_attribute(alone, range(attribute.width))
        known = dict(zip(read.values, number[read.first].tolist(), strict=True))
        return cls(attribute, number, known, np.empty(0), privileged)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return int(self.training.max()) + 1

    def read(self, table: Table, sensitive_features: Any) -> Ints:
        """Return the group of each of some rows."""
        alone = self.attribute.read(table, sensitive_features)
        if len(self.quantity):
            return self._of_quantity(alone)
        read = read_attribute(alone, range(self.attribute.width), most_numbers=alone.n_rows)
        numbers = [self.values.get(value, -1) for value in read.values]
        unseen = [value for value, number in zip(read.values, numbers, strict=True) if number < 0]
        if unseen:
            warn(
                f"{self.attribute.name!r} holds {listing(unseen)}, which it did not when fitting: "
                f"{listing(self.values)}. Such rows belong to no known group and stay as they are."
                f"{did_you_mean(unseen[0], list(self.values))}",
                UnseenGroupsWarning,
            )
        return np.array([*numbers, -1])[read.code]

    def _of_quantity(self, alone: Table) -> Ints:
        """Return 0 or 1 by the interval itself; a function is not asked anew but looked up.

        What a function says of a value may depend on the other values, as a median does. So a row
        is in the group of the training row whose value is nearest.
        """
        if not alone.is_numeric(0):
            raise GroupError(
                f"{self.attribute.name!r} held numbers when fitting; now it holds something else."
            )
        keys = alone.column(0)
        present = np.flatnonzero(~np.isnan(keys))
        number = np.full(len(keys), -1)
        if isinstance(self.privileged, pd.Interval):
            values = quantities(alone, 0, present, keys) if len(present) else keys[present]
            number[present] = ~split_quantity(values, self.privileged, self.attribute.name)
            return number
        known, first = np.unique(self.quantity[~np.isnan(self.quantity)], return_index=True)
        side = self.training[~np.isnan(self.quantity)][first]
        above = np.clip(np.searchsorted(known, keys[present]), 1, len(known) - 1)
        below = above - 1
        is_nearer = keys[present] - known[below] <= known[above] - keys[present]
        number[present] = side[np.where(is_nearer, below, above)]
        return number
