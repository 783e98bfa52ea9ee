"""Fit the user's estimator: on a raw table or behind the encoding, with weights or repeated rows."""

import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import Parameter, signature
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object

from fairshap._frames import Table
from fairshap._messages import warn
from fairshap._models.encoding import ColumnEncoder
from fairshap._models.scorer import Relabelled, copy_estimator, few_threads, spread, takes_quantities
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import ModelError, WeightsWarning

# Libraries whose models split on the categories of a frame, as does scikit-learn's histogram
# gradient boosting, which says so in a parameter.
_NATIVE_CATEGORIES = {"xgboost", "lightgbm", "catboost"}
# Parameters of boosting libraries that name columns, or have a value for each.
_OF_COLUMNS = {
    *("cat_features", "categorical_feature", "categorical_features", "feature_types", "feature_weights"),
    *("monotone_constraints", "monotonic_cst", "interaction_constraints", "interaction_cst"),
}
# Parameters by which an estimator splits the rows itself. "auto" of histogram gradient boosting did no harm
# where it was measured.
_SPLITTING = {"probability", "early_stopping"}
# Parameters that weight or resample labels, or with which CatBoost encodes categories by counting labels.
_OF_LABELS = {
    "class_weight", "class_weights", "auto_class_weights", "scale_pos_weight", "is_unbalance", "cat_features",
    "sampling_strategy",
}  # fmt: skip
# A trial has so many rows of each label, which leaves some for each fold of a search inside a search.
_ROWS = 30
# What warnings say: those of a calibration, and of a search whose scorer refuses the weights.
_UNUSED = re.compile(r"sample_weight.*(only|not) be used|failed.*sample_weight", re.DOTALL)
# One-hot features up to which histogram gradient boosting gets them.
_FEATURES = 64
# How many times a row is repeated at most, for the sake of memory.
_COPIES = 100

#: How many models were fitted since somebody began to count.
_fits: ContextVar[list[int] | None] = ContextVar("fits", default=None)


@contextmanager
def count_fits() -> Iterator[list[int]]:
    """Count the models that are fitted inside; whoever counts outside does not count these."""
    counter = [0]
    token = _fits.set(counter)
    try:
        yield counter
    finally:
        _fits.reset(token)


def add_fits(number: int) -> None:
    """Count models that were fitted before."""
    counter = _fits.get()
    if counter is not None:
        counter[0] += number


def default_estimator(random_state: Any = None, is_quantity: bool = False) -> Any:
    """Return the estimator that is used when none is given: a classifier, or for a quantity a regressor."""
    kind = HistGradientBoostingRegressor if is_quantity else HistGradientBoostingClassifier
    return kind(random_state=random_state)


def is_frozen(estimator: Any) -> bool:
    """Say whether an estimator is a fitted model that must not be fitted again."""
    return isinstance(estimator, FrozenEstimator)


def needs_columns(estimator: Any, table: Table, columns: Collection[int]) -> bool:
    """Say whether an estimator may be fitted in another way, or not at all, without some columns.

    A step that counts on columns by name or place fails, or takes another for the missing one. And if no
    others are categories, it is behind the encoding only for them, which standardizes the numbers too.
    """
    params = estimator.get_params()
    if any(isinstance(part, (ColumnTransformer, FunctionTransformer)) for part in params.values()):
        return True
    of_columns = (value for key, value in params.items() if key.rpartition("__")[2] in _OF_COLUMNS)
    if any(value is not None and not isinstance(value, str) for value in of_columns):
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
    """Return a fitted clone of the estimator.

    One that refuses the raw table is fitted as ``Pipeline(encode, model)``, unless it has a pipeline of its
    own, which has to encode for itself; one that refuses the labels is fitted on their numbers. If nothing
    helps, the estimator's own error is raised. ``table`` is X, if it has been read already.
    """
    refusals: list[Exception] = []
    table = Table.read(X) if table is None else table
    for candidate in _candidates(estimator, table, y):
        # Where metadata is routed, a pipeline itself finds out whose the parameters are.
        prefix = "" if get_config()["enable_metadata_routing"] else _prefix(candidate)
        try:
            with few_threads(candidate, table.n_rows * len(table.names)):
                fitted = candidate.fit(X, y, **{f"{prefix}{key}": v for key, v in (fit_params or {}).items()})
            add_fits(1)
            return fitted
        except Exception as refusal:
            refusals.append(refusal)
            # No other table would change that.
            if isinstance(refusal, UnsetMetadataPassedError) or "sample_weight" in str(refusal):
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
    fresh = [copy_estimator(estimator)] if _may_be_raw(estimator, table) else []
    # Where all are numbers, any estimator can be expected to read them: encoding would not help.
    if table.is_array:
        is_plain = not len(table.category_columns)
    else:
        is_plain = isinstance(table.native, pd.DataFrame) and _are_numbers(table)
    if not is_plain and not _has_pipeline(estimator):
        fresh.append(_behind_encoding(estimator, table))
    yield from fresh
    if takes_quantities(estimator):
        return
    classes = np.unique(y)
    if set(classes.tolist()) != set(range(len(classes))):
        yield from (Relabelled(candidate) for candidate in fresh)


def _behind_encoding(estimator: Any, table: Table) -> Pipeline:
    """Return the estimator behind fairshap's own encoding.

    Histogram gradient boosting takes as long as it has features, and splits on codes as categories by itself:
    where one-hot features would be many, it gets the codes.
    """
    encoder, model = ColumnEncoder(), copy_estimator(estimator)
    if isinstance(model, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)):
        categories = table.category_columns.tolist()
        widths = [min(len(table.distinct(column)), encoder.max_categories) for column in categories]
        if sum(widths) > _FEATURES and isinstance(model.categorical_features, str):
            # One code is left for the categories that share one.
            encoder.set_params(max_categories=model.max_bins - 1, one_hot=False)
            is_category = np.isin(np.arange(len(table.names)), categories)
            model.set_params(categorical_features=is_category.tolist())
    return Pipeline([("encode", encoder), ("model", model)])


def _has_pipeline(estimator: Any) -> bool:
    return any(isinstance(part, Pipeline) for part in (estimator, *estimator.get_params().values()))


def _may_be_raw(estimator: Any, table: Table) -> bool:
    """Say whether the raw table can be tried; it cannot where it would be misread and not refused."""
    library = type(estimator).__module__.split(".")[0]
    if _has_pipeline(estimator):
        return True
    if library in _NATIVE_CATEGORIES:
        # LightGBM ends the whole process when it is given a column of text, dates or decimals.
        is_frame = isinstance(table.native, pd.DataFrame)
        return is_frame or library != "lightgbm" or _are_numbers(table)
    # scikit-learn reads the categories 1, 2, 3 as numbers, and those that are such texts too.
    read = [column for column in table.category_columns.tolist() if _reads_as_numbers(table, column)]
    if getattr(estimator, "categorical_features", None) == "from_dtype":
        read = [column for column in read if not _is_categorical(table, column)]
    return not read


def _is_categorical(table: Table, column: int) -> bool:
    """Say whether a column of a pandas frame has a type of categories."""
    frame = table.native
    return isinstance(frame, pd.DataFrame) and isinstance(frame.dtypes.iloc[column], pd.CategoricalDtype)


def _reads_as_numbers(table: Table, column: int) -> bool:
    """Say whether all values of a column of categories are texts of numbers, or numbers of that type."""
    values = table.store.values(column, table.distinct(column))
    if isinstance(table.native, pd.DataFrame) and not all(isinstance(value, str) for value in values):
        return _is_categorical(table, column) and all(isinstance(value, Real) for value in values)
    try:
        return all(isinstance(value, str) and np.isfinite(float(value)) for value in values)
    except ValueError:
        return False


def _are_numbers(table: Table, columns: Iterable[int] | None = None) -> bool:
    """Say whether columns hold numbers or booleans themselves, not dates or decimals, nor as categories."""
    columns = range(len(table.names)) if columns is None else columns
    if isinstance(table.native, pd.DataFrame):
        return all(pd.api.types.is_numeric_dtype(table.native.dtypes.iloc[column]) for column in columns)
    return all(
        isinstance(value, (int, float, np.number, np.bool_))
        for column in columns
        for value in table.store.values(column, table.distinct(column)[:1])
    )


def _prefix(estimator: Any) -> str:
    """Return what stands before the name of a fit parameter that is for the last step of a pipeline."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{_prefix(last)}"
    # A search or a transformed target hands the parameters of its pipeline on as they are.
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    if inner is None or "sample_weight" in signature(estimator.fit).parameters:
        return ""
    return _prefix(inner)


@dataclass(frozen=True, slots=True)
class Weighing:
    """Whether an estimator's fit takes weights of rows, whether all of its parts use them, and why not."""

    name: str
    is_taken: bool = True
    is_used: bool = True
    reason: str = ""

    @classmethod
    def of(cls, estimator: Any, X: Native, y: NDArray[Any]) -> "Weighing":
        """Find out what an estimator does with weights: by its signature, or if it holds others by trying."""
        estimator = _asking_for_weights(estimator.estimator if is_frozen(estimator) else estimator)
        name, last = type(estimator).__name__, _last(estimator)
        parameters = signature(last.fit).parameters
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
        if "sample_weight" not in parameters and not takes_any:
            ends = f"its last step is {type(last).__name__}" if last is not estimator else ""
            return cls(name, False, False, ends)
        is_routed = get_config()["enable_metadata_routing"]
        if is_routed and not _routing(estimator).consumes("fit", ["sample_weight"]):
            unasked = "metadata routing is on, and nothing in it asks by set_fit_request(sample_weight=True)"
            return cls(name, False, False, unasked)
        # What routes metadata may refuse it for the sake of another step than the last.
        holder = estimator if is_routed else last
        has_parts = any(hasattr(part, "fit") for part in holder.get_params().values())
        if "sample_weight" in parameters and not has_parts:
            return cls(name)
        # On a few rows, and where that is not enough on all, with weights and without them.
        for rows in (_few_rows(estimator, y), np.arange(len(y))):
            some, target = _safe_indexing(X, rows), y[rows]
            error, said = _try(estimator, some, target, {"sample_weight": 1 / (1 + np.arange(len(rows)) % 2)})
            if error is None:
                return cls(name, True, not said, said)
            if _try(estimator, some, target, {})[0] is None:
                return cls(name, False, False, _words(str(error)))
        # It cannot be trained at all: its own error is for the fit to raise.
        return cls(name)

    def check(self) -> None:
        """Raise an error if weights that the user gave cannot be passed on."""
        if not self.is_taken:
            raise ModelError(
                f"sample_weight is given, but {self.trouble}. Leave the weights out, or use an estimator "
                "that takes them.",
                parameter="sample_weight",
            )

    def warn_of_repeats(self) -> None:
        """Warn that rows are repeated instead of weighed, if that is so."""
        if not self.is_used:
            warn(
                f"{self.trouble}, so rows are repeated instead: a row without counterfactuals stands in the "
                "training table as often as another with its own. Nearest neighbors, penalties and folds "
                "inside the estimator notice that; an estimator that takes weights does not need it.",
                WeightsWarning,
            )

    @property
    def trouble(self) -> str:
        """What is wrong, as the beginning of a sentence."""
        what = "does not pass sample_weight on to its model" if self.is_taken else "takes no sample_weight"
        return f"{self.name} {what} ({self.reason})" if self.reason else f"{self.name} {what}"


def fit_weighted(
    estimator: Any, X: Native, y: NDArray[Any], sample_weight: Floats | None, weighing: Weighing | None
) -> Any:
    """Return a fitted clone of the estimator; see :func:`fit_model`. Weights that it ignores repeat rows."""
    if sample_weight is None or weighing is None:
        return fit_model(estimator, X, y)
    repeats = None if weighing.is_used else repeats_of(sample_weight)
    if repeats is not None:
        rows = np.repeat(np.arange(len(y)), repeats)
        return fit_model(estimator, _safe_indexing(X, rows), y[rows])
    if not weighing.is_taken:
        raise ModelError(
            f"{weighing.trouble}, and the rows cannot be repeated as often as they would have to be instead. "
            "Use an estimator that takes weights."
        )
    return fit_model(_asking_for_weights(estimator), X, y, {"sample_weight": sample_weight})


def trouble_with_either_label(estimator: Any) -> str:
    """Say why an estimator cannot learn from rows that are given twice, weighted, with either label.

    Weights reach the model alone: what counts labels before it sees as many of either. What splits rows may
    learn from one of the two, and is then tested on the other.
    """
    if sampler := resampler_of(estimator):
        return f"its step {sampler} resamples the rows by their labels"
    params = estimator.get_params()
    for pipeline in _pipelines_of(estimator):
        for _, step in pipeline.steps[:-1]:
            parts = (step, *step.get_params().values()) if hasattr(step, "get_params") else (step,)
            learning = next((part for part in parts if _learns_from_labels(part)), None)
            if learning is not None:
                return f"its step {type(learning).__name__} learns from labels, and gets no weights"
    for name, value in params.items():
        last = name.rpartition("__")[2]
        if last == "cv" or (last in _SPLITTING and value is True):
            return f"it splits the rows itself ({name})"
        if last in _OF_LABELS and not _is_off(value):
            return f"it counts or weights labels itself ({name}={value!r})"
    return ""


def resampler_of(estimator: Any) -> str:
    """Return the name of a pipeline's step that resamples the rows, which passes no weights on, if any."""
    steps = (step for pipeline in _pipelines_of(estimator) for _, step in pipeline.steps[:-1])
    return next((type(step).__name__ for step in steps if hasattr(step, "fit_resample")), "")


def _pipelines_of(estimator: Any) -> list[Pipeline]:
    """Return the pipelines among an estimator and its parts."""
    parts = (estimator, *estimator.get_params().values())
    return [part for part in parts if isinstance(part, Pipeline)]


def _is_off(value: Any) -> bool:
    """Say whether a parameter that weights labels leaves them as they are."""
    if isinstance(value, (list, tuple, dict, np.ndarray)):
        return len(value) == 0
    return value is None or value is False or (value is not True and isinstance(value, Real) and value == 1)


def _learns_from_labels(part: Any) -> bool:
    """Say whether a transformer or a part of it learns from labels."""
    # By its tags a selection needs none: it could keep all columns.
    return isinstance(part, BaseEstimator) and (
        get_tags(part).target_tags.required or hasattr(part, "score_func")
    )


def repeats_of(weights: Floats) -> Ints | None:
    """Return how often to repeat rows so that they count as they weigh; None if that is too often."""
    if not (weights > 0).all():
        return None
    shares = weights.max() / weights
    if not np.allclose(shares, np.rint(shares), rtol=1e-9) or shares.max() > _COPIES + 0.5:
        return None
    counts = np.rint(shares).astype(np.int64)
    least = math.lcm(*np.unique(counts).tolist())
    return np.asarray(least // counts) if least <= _COPIES else None


def _asking_for_weights(estimator: Any) -> Any:
    """Return a clone that requests the weights where metadata is routed and nobody has said anything else.

    What else routes metadata is left to the user: a search has scorers too, which may or may not weigh.
    """
    estimator = copy_estimator(estimator)
    if get_config()["enable_metadata_routing"]:
        # As without routing, the last step of a pipeline gets them and its transformers do not.
        _request(_last(estimator), True)
        for part in estimator.get_params().values():
            if hasattr(part, "transform"):
                _request(part, False)
    return estimator


def _request(estimator: Any, wanted: bool) -> None:
    """Say whether an estimator wants the weights, unless that has been said."""
    requests = getattr(getattr(_routing(estimator), "fit", None), "requests", {})
    if "sample_weight" in requests and requests["sample_weight"] is None:
        estimator.set_fit_request(sample_weight=wanted)


def _routing(estimator: Any) -> Any:
    """Return which metadata an estimator requests: none if it does not say, or cannot yet."""
    try:
        return get_routing_for_object(estimator)
    except NotImplementedError:
        return get_routing_for_object(None)


def _last(estimator: Any) -> Any:
    """Return the estimator at the end of a pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def _few_rows(estimator: Any, y: NDArray[Any]) -> Ints:
    """Return some rows of each label, from all over the table; of a quantity, some rows."""
    labels = np.zeros(len(y)) if takes_quantities(estimator) else y
    codes = np.unique(labels, return_inverse=True)[1]
    of_labels = [np.flatnonzero(codes == label) for label in range(codes.max() + 1)]
    return np.sort(np.concatenate([rows[spread(len(rows), _ROWS)] for rows in of_labels]))


def _try(estimator: Any, X: Native, y: NDArray[Any], fit_params: dict[str, Any]) -> tuple[Any, str]:
    """Fit a clone; return its error, if any, and what it said about weights that it did not use."""
    with warnings.catch_warnings(record=True) as caught, count_fits():
        warnings.simplefilter("always")
        try:
            fit_model(estimator, X, y, fit_params)
        except Exception as error:
            return error, ""
    texts = (str(one.message) for one in caught)
    return None, next((_words(text) for text in texts if _UNUSED.search(text)), "")


def _words(text: str) -> str:
    """Return the first sentence of the line of a message that is about weights, or else of the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    said = next((line for line in reversed(lines) if "sample_weight" in line), lines[-1])
    return said.split(". ")[0].rstrip(".")
