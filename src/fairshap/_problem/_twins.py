"""Counterfactual twins: rows that stand in the table once more with their attribute switched."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from fairshap._frames import open_store
from fairshap._problem._sensitive import Setting
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Twins:
    """Which rows have twins, and what they weigh together.

    Parameters
    ----------
    of : ndarray of int, shape (twins,)
        The row that each twin is of.
    donor : ndarray of int, shape (twins,)
        The row that it takes the attribute from.
    weight : ndarray of float, shape (rows + twins,)
        A row and its twins share the weight that the row had.
    columns : tuple of int
        Where the attribute stands.
    """

    of: Ints
    donor: Ints
    weight: Floats
    columns: tuple[int, ...]

    @classmethod
    def make(cls, setting: Setting, rows: Ints, sample_weight: Floats | None = None) -> "Twins":
        """Return a twin of each of some rows for each value that its own is compared with.

        Where a value is drawn for each row, or is a median, that is one. Rows whose attribute is missing have
        none.
        """
        if setting.added:
            raise InputError(
                f"{setting.groups.name!r} is not a column of X (it was given as sensitive_features), so that "
                "a twin would be its row again. Leave augment out, or put the attribute into X.",
                parameter="augment",
            )
        groups = setting.groups
        rows = rows[groups.side[rows] >= 0]
        cells = [setting.table.column(column) for column in setting.columns]
        of, donor = [], []
        for others in groups.donors[rows].T:
            differ = np.any([column[rows] != column[others] for column in cells], axis=0)
            of.append(rows[differ])
            donor.append(others[differ])
        twin_of, donors = np.concatenate(of), np.concatenate(donor)
        order = np.argsort(twin_of, kind="stable")
        twin_of, donors = twin_of[order], donors[order]
        n = setting.table.n_rows
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weight = weight / (1 + np.bincount(twin_of, minlength=n))
        return cls(twin_of, donors, np.concatenate([weight, weight[twin_of]]), setting.columns)

    def add_to(self, X: Native) -> Native:
        """Return a table with the twins of its rows below them.

        In a frame whose rows are merely numbered the numbers go on; otherwise a twin has its row's label.
        """
        store = open_store(X)
        rows = np.arange(store.n_rows)
        sources = [
            np.concatenate([rows, self.donor if column in self.columns else self.of])
            for column in range(len(store.names))
        ]
        mixed = store.mix(sources)
        if isinstance(X, pd.DataFrame) and not X.index.equals(pd.RangeIndex(len(X))):
            mixed.index = X.index.append(X.index[self.of])
        return mixed

    def add_to_target(self, y: Any) -> Any:
        """Return a target with those of the twins below it, in its own type."""
        n = len(self.weight) - len(self.of)
        # Some targets are arrays only when they are asked to be.
        target = y if hasattr(y, "__getitem__") else np.asarray(y)
        longer = _safe_indexing(target, np.concatenate([np.arange(n), self.of]))
        if isinstance(y, tuple):
            return tuple(longer)
        if isinstance(y, (pd.Series, pd.DataFrame)) and y.index.equals(pd.RangeIndex(n)):
            longer.index = pd.RangeIndex(len(longer))
        return longer
