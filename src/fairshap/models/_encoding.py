"""The encoding for estimators that take numbers only."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._typing import Floats, Native
from fairshap.exceptions import InputError
from fairshap.table import Table, is_missing


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Encode a raw table column by column: numbers standardised, categories one-hot.

    Each column is encoded by itself, so that a mix of two rows is encoded as the mix of their
    encodings. A missing number stays missing (NaN), a missing category is a category of its own, and
    a category that was not seen when fitting has no feature.

    Parameters
    ----------
    max_categories : int, default=255
        A column with more categories keeps a feature for each of the most frequent ones; the others
        share one. It keeps identifiers and postcodes from making a table of thousands of columns.

    Attributes
    ----------
    columns_ : list of tuple
        For each column of the table: its mean and scale, or its categories as features.
    n_features_out_ : int
        The number of encoded features.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20.0, 40.0], "sex": ["f", "m"]})
    >>> ColumnEncoder().fit_transform(X)
    array([[-1.,  1.,  0.],
           [ 1.,  0.,  1.]])
    """

    def __init__(self, max_categories: int = 255) -> None:
        self.max_categories = max_categories

    def fit(self, X: Native, y: Any = None) -> "ColumnEncoder":  # noqa: ARG002
        """Learn means, scales and categories."""
        validate_data(self, X, skip_check_array=True)
        table = Table.read(X)
        self.columns_: list[_Column] = []
        for column in range(len(table.names)):
            k = np.flatnonzero(table.numeric_columns == column)
            if len(k):
                self.columns_.append(_Number(table.numbers[:, int(k[0])]))
            else:
                values = _category_values(table, column)
                self.columns_.append(_Category(values, self.max_categories))
        self.n_features_out_ = sum(column.width for column in self.columns_)
        return self

    def transform(self, X: Native) -> Floats:
        """Return the encoded table."""
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        table = Table.read(X)
        if len(table.names) != len(self.columns_):
            raise InputError(
                f"X has {len(table.names)} columns, the encoder was fitted on {len(self.columns_)}."
            )
        encoded = np.zeros((table.n_rows, self.n_features_out_))
        start = 0
        for j, column in enumerate(self.columns_):
            part = encoded[:, start : start + column.width]
            start += column.width
            k = np.flatnonzero(table.numeric_columns == j)
            if isinstance(column, _Category):
                column.write(_category_values(table, j), part)
            elif len(k):
                part[:, 0] = (table.numbers[:, int(k[0])] - column.mean) / column.scale
            else:
                raise InputError(
                    f"column {table.names[j]!r} held numbers when the encoder was fitted; "
                    "now it holds something else."
                )
        return encoded


class _Number:
    """A numeric column: its mean and its scale."""

    width = 1

    def __init__(self, numbers: Floats) -> None:
        present = numbers[~np.isnan(numbers)]
        self.mean = float(present.mean()) if len(present) else 0.0
        scale = float(present.std()) if len(present) else 0.0
        self.scale = scale if scale > 1e-12 * max(1.0, abs(self.mean)) else 1.0


class _Category:
    """A category column: which feature each value switches on."""

    def __init__(self, values: "pd.Series[Any]", max_categories: int) -> None:
        counts = values.value_counts(sort=False)
        # By frequency, then by appearance: the same features whatever the order of equal counts.
        frequent = counts.sort_values(ascending=False, kind="stable").index
        kept = set(frequent[:max_categories])
        ordered = [value for value in counts.index if value in kept]
        self.feature: dict[Hashable, int] = {value: k for k, value in enumerate(ordered)}
        self.feature.update(dict.fromkeys(frequent[max_categories:], len(ordered)))
        self.width = max(self.feature.values()) + 1

    def write(self, values: "pd.Series[Any]", part: Floats) -> None:
        features = values.map(self.feature).to_numpy(dtype=np.float64, na_value=np.nan)
        rows = np.flatnonzero(~np.isnan(features))
        part[rows, features[rows].astype(np.int64)] = 1.0


#: What a missing category is called among the categories.
_MISSING = ("missing",)
_Column = _Number | _Category


def _category_values(table: Table, column: int) -> "pd.Series[Any]":
    """Return a column as hashable objects, a missing one as a category of its own."""
    values = table.store.values(column, np.arange(table.n_rows))
    series = pd.Series(values, dtype=object)
    missing = series.isna()
    if missing.any():
        series = pd.Series([_MISSING if is_missing(value) else value for value in values], dtype=object)
    return series
