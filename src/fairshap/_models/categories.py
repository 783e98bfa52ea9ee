"""Columns as the numbers that a model's trees compare, categories as the model itself numbers them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from fairshap._frames import Table
from fairshap._models.scorer import NotNativeError
from fairshap._typing import Codes, Floats, Ints, Native


class Numbering(NamedTuple):
    """The codes of the categories of a column that a model knows.

    All others are missing values to it, unless ``is_closed``: then it takes none.
    """

    codes: Mapping[Any, int]
    is_closed: bool = False


def numberings(model: Any, X: Native) -> dict[int, Numbering]:
    """Return how a model numbers the categories of rows such as X, by the columns' positions.

    Columns that it takes as they are have no entry.
    """
    library = type(model).__module__.partition(".")[0]
    if isinstance(model, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
        if model.is_categorical_ is None:
            return {}
        columns = np.flatnonzero(model.is_categorical_).tolist()
        known = model._preprocessor.named_transformers_["encoder"].categories_
        return {j: Numbering(_number(values.tolist())) for j, values in zip(columns, known, strict=True)}
    if isinstance(X, np.ndarray):
        return {}
    if library == "xgboost":
        booster = model.get_booster()
        # Before version 3.1 a booster kept no categories: it took a frame's own codes, in whatever order.
        if not hasattr(booster, "get_categories"):
            return {}
        known = booster.get_categories(export_to_arrow=True).to_arrow()
        # XGBoost raises an error for one unknown category, and reads the next as one that it knows.
        return {
            j: Numbering(_number(values.to_pylist()), is_closed=True)
            for j, (_, values) in enumerate(known)
            if values is not None
        }
    if library == "lightgbm" and isinstance(X, pd.DataFrame):
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
    values = table.store.values(column, first_rows(cells))
    if numbering is None:
        if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values):
            return np.array([*values, np.nan], dtype=np.float64)
        raise NotNativeError(f"the model reads the categories of the column {name!r} in a way of its own")
    unknown = [value for value in values if value not in numbering.codes]
    if unknown and numbering.is_closed:
        raise NotNativeError(f"the column {name!r} holds {unknown[0]!r}, a category that the model never saw")
    missing = table.store.values(column, np.flatnonzero(cells < 0)[:1])
    return np.array([numbering.codes.get(value, np.nan) for value in [*values, *(missing or [None])]])


def first_rows(codes: Codes) -> Ints:
    """Return the row in which each code, from 0 on, stands first."""
    first = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    present = np.flatnonzero(codes >= 0)[::-1]
    # Of several rows that write to one place, the last stays: here the first one of the table.
    first[codes[present]] = present
    return first
