"""Categories as numbers: fairshap's own encoding, and how models number them by themselves."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils.validation import check_is_fitted, validate_data

from fairshap._frames import Table
from fairshap._kernels.neighbors.distance import mean_and_scale
from fairshap._messages import check_count
from fairshap._models.scorer import NotNativeError
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import InputError

#: What a missing category is called among the categories; no cell is a tuple of this kind.
_MISSING = ("missing",)


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Encode a raw table column by column: numbers standardized, categories one-hot or as codes.

    Each column is encoded by itself, so that a mix of two rows is encoded as the mix of their
    encodings. A missing number stays missing (NaN), a missing category is a category of its own, and
    a category that was not seen when fitting has no feature, or that of the others if there is one.

    Parameters
    ----------
    max_categories : int, default=255
        A column with more categories keeps a feature for each of the most frequent ones; the others
        share one, and are not kept. So identifiers and postcodes make no table of thousands of columns.
    one_hot : bool, default=True
        False writes a category as one feature, its code, for models that split on codes as categories. A
        category that has no code is missing (NaN).

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

    def __init__(self, max_categories: int = 255, *, one_hot: bool = True) -> None:
        self.max_categories = max_categories
        self.one_hot = one_hot

    def fit(self, X: Native, y: Any = None) -> "ColumnEncoder":  # noqa: ARG002
        """Learn means, scales and categories."""
        self._learn(X)
        return self

    def transform(self, X: Native) -> Floats:
        """Return the encoded table."""
        check_is_fitted(self)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._encode(Table.read(X))

    def fit_transform(self, X: Native, y: Any = None) -> Floats:  # noqa: ARG002
        """Learn means, scales and categories, and return the encoded table, which is read once."""
        return self._encode(self._learn(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return a name for each encoded feature: ``age``, ``town=x``, ``town=y``."""
        check_is_fitted(self)
        names = [
            name if ending is None else f"{name}={ending}"
            for name, column in zip(self.names_, self.columns_, strict=True)
            for ending in column.endings
        ]
        return np.array([str(name) for name in names], dtype=object)

    def _learn(self, X: Native) -> Table:
        check_count(self.max_categories, "max_categories", ", such as 255")
        validate_data(self, X, skip_check_array=True)
        table = Table.read(X)
        kind = _Category if self.one_hot else _Codes
        self.columns_: list[_Number | _Category] = [
            _Number(table.column(j)) if table.is_numeric(j) else kind(table, j, self.max_categories)
            for j in range(len(table.names))
        ]
        self.names_ = table.names
        self.n_features_out_ = sum(column.width for column in self.columns_)
        return table

    def _encode(self, table: Table) -> Floats:
        encoded = np.zeros((table.n_rows, self.n_features_out_))
        start = 0
        for j, column in enumerate(self.columns_):
            values, which = column.read(table, j)
            if column.width == 1:
                encoded[:, start] = values[which, 0]
            else:
                rows = np.flatnonzero(which >= 0)
                encoded[rows, start + which[rows]] = 1.0
            start += column.width
        return encoded


class _Number:
    """A numeric column: its mean and its scale."""

    width = 1
    endings = (None,)

    def __init__(self, numbers: Floats) -> None:
        mean, scale = mean_and_scale(numbers[:, None])
        self.mean, self.scale = float(mean[0]), float(scale[0])

    def read(self, table: Table, column: int) -> tuple[Floats, Any]:
        """Return the column's encodings, and which of them each row has: its own."""
        if not table.is_numeric(column):
            raise InputError(
                f"column {table.names[column]!r} held numbers when the encoder was fitted; "
                "now it holds something else."
            )
        return (table.column(column) - self.mean)[:, None] / self.scale, slice(None)


class _Category:
    """A category column: which feature each value switches on."""

    def __init__(self, table: Table, column: int, max_categories: int) -> None:
        values, codes = _categories(table, column)
        counts = np.bincount(codes, minlength=len(values))
        # The most frequent ones; of equally frequent ones those that appear first.
        kept = np.sort(np.argsort(-counts, kind="stable")[:max_categories])
        # The others are not kept: a text that one person has, such as a name, is no part of a model.
        self.feature = {values[k]: feature for feature, k in enumerate(kept)}
        self.endings: tuple[Any, ...] = tuple("missing" if values[k] is _MISSING else values[k] for k in kept)
        self.other = -1
        if len(kept) < len(values):
            self.other = len(kept)
            self.endings += ("others",)
        self.width = len(self.endings)

    def read(self, table: Table, column: int) -> tuple[Floats, Any]:
        """Return the column's encodings, and which of them each row has; the last, -1, is of no feature."""
        values, codes = _categories(table, column)
        now, then = _kinds(values), _kinds(self.feature)
        if now and then and not now & then:
            raise InputError(
                f"column {table.names[column]!r} held {' and '.join(sorted(then))} when the encoder was "
                f"fitted; now it holds {' and '.join(sorted(now))}. Give it the same type."
            )
        features = np.array([self.feature.get(value, self.other) for value in values], dtype=np.int64)
        return self._encodings(), features[codes]

    def _encodings(self) -> Floats:
        return np.eye(self.width + 1, self.width)


class _Codes(_Category):
    """A category column: which code each value has."""

    def __init__(self, table: Table, column: int, max_categories: int) -> None:
        super().__init__(table, column, max_categories)
        self.n_codes, self.width, self.endings = self.width, 1, (None,)

    def _encodings(self) -> Floats:
        return np.append(np.arange(self.n_codes, dtype=np.float64), np.nan)[:, None]


def _categories(table: Table, column: int) -> tuple[list[Hashable], Ints]:
    """Return the values of a column, a missing one as a value of its own, and which each row has."""
    values: list[Hashable] = list(table.store.values(column, table.distinct(column)))
    codes = table.numbered(column).astype(np.int64)
    missing = codes < 0
    if missing.any():
        values.append(_MISSING)
        codes = np.where(missing, len(values) - 1, codes)
    return values, codes


def _kinds(values: Iterable[Hashable]) -> set[str]:
    """Return what the values are, in so far as one kind never equals another."""
    kinds = {str: "text", bool: "booleans", int: "numbers", float: "numbers"}
    return {kinds.get(type(value), type(value).__name__) for value in values if value is not _MISSING}


class EncodedTable(NamedTuple):
    """A table behind the encoding, column by column: its encodings, and which of them each row has."""

    columns: list[tuple[Floats, Any]]

    @classmethod
    def of(cls, steps: list[Any], table: Table) -> "EncodedTable | None":
        """Return the table behind some steps, None unless these are the encoding alone, as an array."""
        if [type(step) for step in steps] != [ColumnEncoder] or not hasattr(steps[0], "columns_"):
            return None
        if get_config()["transform_output"] != "default" or hasattr(steps[0], "_sklearn_output_config"):
            return None
        validate_data(steps[0], table.native, skip_check_array=True, reset=False)
        return cls([column.read(table, j) for j, column in enumerate(steps[0].columns_)])

    def mix(self, sources: Sequence[Ints]) -> Floats:
        """Return encoded rows, whose column j is that of the rows ``sources[j]``."""
        parts = [
            values[rows if isinstance(which, slice) else which[rows]]
            for (values, which), rows in zip(self.columns, sources, strict=True)
        ]
        return np.hstack(parts)


class Numbering(NamedTuple):
    """The codes of a column's categories that a model knows.

    All others are missing values to it, unless ``is_closed``: then it takes none.
    """

    codes: Mapping[Any, int]
    is_closed: bool = False


def numberings(model: Any, X: Native) -> dict[int, Numbering]:
    """Return how a model numbers the categories of those columns of X that it does not take as they are."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if isinstance(model, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
        if model.is_categorical_ is None:
            return {}
        columns = np.flatnonzero(model.is_categorical_).tolist()
        known = model._preprocessor.named_transformers_["encoder"].categories_
        return {j: Numbering(_number(values.tolist())) for j, values in zip(columns, known, strict=True)}
    # Before version 3.1 XGBoost kept no categories: it took a frame's own codes, in whatever order.
    if "xgboost" in libraries and not isinstance(X, np.ndarray):
        booster = model.get_booster()
        if not hasattr(booster, "get_categories"):
            return {}
        known = booster.get_categories(export_to_arrow=True).to_arrow()
        # XGBoost raises an error for one unknown category, and reads the next as one that it knows.
        return {
            j: Numbering(_number(values.to_pylist()), is_closed=True)
            for j, (_, values) in enumerate(known)
            if values is not None
        }
    if "lightgbm" in libraries and isinstance(X, pd.DataFrame):
        columns = [j for j, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
        # Where the numbers of columns differ, the model itself raises an error.
        known = model.booster_.pandas_categorical or []
        return {j: Numbering(_number(values)) for j, values in zip(columns, known, strict=False)}
    return {}


def _number(values: list[Any]) -> dict[Any, int]:
    # To scikit-learn's encoder None, other than NaN, is a category like all others.
    return {value: code for code, value in enumerate(values) if value is None or not pd.isna(value)}


def recode(values: Floats, numbering: Numbering) -> Floats:
    """Return the codes of categories that are numbers, NaN where one is missing or unknown."""
    ordered = sorted((value, code) for value, code in numbering.codes.items() if value is not None)
    known, codes = np.array(ordered, dtype=np.float64).reshape(-1, 2).T
    # Equal to nothing, not even to itself: the place of numbers above the last one.
    known, codes = np.append(known, np.nan), np.append(codes, np.nan)
    place = np.searchsorted(known, values)
    return np.where(known[place] == values, codes[place], np.nan)


def category_numbers(table: Table, column: int, numbering: Numbering | None) -> Floats:
    """Return the number that a model has for each code of a column's categories, a missing value's last."""
    cells, name = table.column(column), table.names[column]
    values = table.store.values(column, table.distinct(column))
    if numbering is None:
        if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
            return np.array([*values, np.nan], dtype=np.float64)
        raise NotNativeError(
            f"the model reads the categories of the column {name!r} in its own way; encode them before it"
        )
    unknown = [value for value in values if value not in numbering.codes]
    if unknown and numbering.is_closed:
        raise NotNativeError(
            f"the column {name!r} holds {unknown[0]!r}, a category that the model never saw; fit it with that"
        )
    missing = table.store.values(column, np.flatnonzero(cells < 0)[:1])
    return np.array([numbering.codes.get(value, np.nan) for value in [*values, *(missing or [None])]])
