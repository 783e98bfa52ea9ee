"""Fit the user's estimator on a raw table, behind the encoding if it needs one."""

from collections.abc import Collection, Iterable, Iterator
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from fairshap._frames import Table
from fairshap._models._encoding import ColumnEncoder
from fairshap._models._kinds import takes_quantities
from fairshap._models._relabelling import Relabelled
from fairshap._typing import Native

# Libraries whose models split on the categories of a frame, as does scikit-learn's histogram
# gradient boosting, which says so in a parameter.
_NATIVE_CATEGORIES = {"xgboost", "lightgbm", "catboost"}


def default_estimator(random_state: Any = None, is_quantity: bool = False) -> Any:
    """Return the estimator that is used when none is given: a classifier, or for a quantity a regressor."""
    kind = HistGradientBoostingRegressor if is_quantity else HistGradientBoostingClassifier
    return kind(random_state=random_state)


def is_frozen(estimator: Any) -> bool:
    """Say whether an estimator is a fitted model that must not be fitted again."""
    return isinstance(estimator, FrozenEstimator)


def needs_columns(estimator: Any, table: Table, columns: Collection[int]) -> bool:
    """Say whether an estimator may be fitted in another way, or not at all, without some columns.

    A step that counts on columns by name or place, or is free to, fails or takes another column for the one
    that is missing. And if these are the only columns that are not numbers, it is for them that an estimator
    is fitted behind the encoding: without them, the numbers would no longer be standardised.
    """
    parts = estimator.get_params().values()
    if any(isinstance(part, (ColumnTransformer, FunctionTransformer)) for part in parts):
        return True
    others = [column for column in range(len(table.names)) if column not in columns]
    return _are_numbers(table, others) and not _are_numbers(table, columns)


def fit_model(
    estimator: Any,
    X: Native,
    y: NDArray[Any],
    fit_params: dict[str, Any] | None = None,
    *,
    table: Table | None = None,
) -> Any:
    """Return a fitted clone of the estimator, behind the encoding where it refuses the raw table.

    The raw table is tried first: an estimator that takes categories is taken as it is. One that refuses is
    fitted as ``Pipeline(encode, model)``, unless it has a pipeline of its own, which has to encode for
    itself. A classifier that refuses the labels is fitted on their numbers and still predicts the labels. If
    nothing helps, the estimator's own error is raised. ``table`` is X, if it has been read already.
    """
    refusals: list[Exception] = []
    table = Table.read(X) if table is None else table
    for candidate in _candidates(estimator, table, y):
        try:
            return candidate.fit(X, y, **_for_last_step(candidate, fit_params or {}))
        except Exception as refusal:
            refusals.append(refusal)
            if _is_about_weights(refusal):
                break
    first, error = refusals[0], refusals[-1]
    if str(first) == str(error):
        error = first
    elif not _has_pipeline(estimator):
        error.add_note(
            f"fairshap gave {type(estimator).__name__} the raw table, which it refused "
            f"({type(first).__name__}: {first}), and then the table with its categories one-hot "
            "encoded, which failed as above."
        )
    if np.isnan(table.numbers).any() and "NaN" in str(error):
        error.add_note(
            "The table has missing numbers, which this estimator does not take: put an imputer before it "
            "in a Pipeline, or use one that does, such as the default."
        )
    raise error


def _candidates(estimator: Any, table: Table, y: NDArray[Any]) -> Iterator[Any]:
    """Yield what may be fitted, in the order in which it is tried."""
    fresh = []
    if _may_be_raw(estimator, table):
        fresh.append(clone(estimator))
    if not _is_all_numbers(table) and not _has_pipeline(estimator):
        fresh.append(Pipeline([("encode", ColumnEncoder()), ("model", clone(estimator))]))
    yield from fresh
    if takes_quantities(estimator):
        return
    classes = np.unique(y)
    if set(classes.tolist()) != set(range(len(classes))):
        yield from (Relabelled(candidate) for candidate in fresh)


def _has_pipeline(estimator: Any) -> bool:
    """Say whether an estimator is a pipeline or holds one, which has to encode for itself."""
    return any(isinstance(part, Pipeline) for part in (estimator, *estimator.get_params().values()))


def _is_about_weights(error: Exception) -> bool:
    """Say whether an error is about the weights that were passed, which no other table would change."""
    return isinstance(error, UnsetMetadataPassedError) or "sample_weight" in str(error)


def _is_all_numbers(table: Table) -> bool:
    """Say whether any estimator can be expected to read the table, so that encoding would not help."""
    if table.is_array:
        return not len(table.category_columns)
    return isinstance(table.native, pd.DataFrame) and _are_numbers(table, range(len(table.names)))


def _may_be_raw(estimator: Any, table: Table) -> bool:
    """Say whether the raw table can be tried; it cannot where it would be misread and not refused.

    scikit-learn reads the categories 1, 2, 3 of a pandas column as numbers; LightGBM ends the whole
    process when it is given a polars or pyarrow column of text, dates or decimals.
    """
    library = type(estimator).__module__.split(".")[0]
    if not isinstance(table.native, pd.DataFrame):
        return library != "lightgbm" or _are_numbers(table, range(len(table.names)))
    numbered = any(
        isinstance(dtype, pd.CategoricalDtype) and pd.api.types.is_numeric_dtype(dtype.categories.dtype)
        for dtype in table.native.dtypes
    )
    return (
        not numbered
        or _has_pipeline(estimator)
        or library in _NATIVE_CATEGORIES
        or getattr(estimator, "categorical_features", None) == "from_dtype"
    )


def _are_numbers(table: Table, columns: Iterable[int]) -> bool:
    """Say whether columns hold numbers or booleans themselves, not dates or decimals, nor as categories."""
    if isinstance(table.native, pd.DataFrame):
        return all(pd.api.types.is_numeric_dtype(table.native.dtypes.iloc[column]) for column in columns)
    return all(
        isinstance(value, (int, float, np.number, np.bool_))
        for column in columns
        for value in table.store.values(column, table.distinct(column)[:1])
    )


def _for_last_step(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the fit parameters as the estimator takes them; a pipeline's last step gets them.

    Where metadata is routed, the pipeline does that itself.
    """
    prefix = "" if get_config()["enable_metadata_routing"] else _last_step(estimator)
    return {f"{prefix}{key}": value for key, value in params.items()}


def _last_step(estimator: Any) -> str:
    """Return what stands before the name of a fit parameter that is for the last step of a pipeline.

    A search or a transformed target hands the parameters of its pipeline on as they are.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_last_step(last)}"
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    if inner is None or "sample_weight" in signature(estimator.fit).parameters:
        return ""
    return _last_step(inner)
