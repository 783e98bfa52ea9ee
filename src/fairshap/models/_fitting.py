"""Fit the user's estimator on a raw table, behind the encoding if it needs one."""

from typing import Any

from sklearn import get_config
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fairshap._typing import Native
from fairshap.exceptions import ModelError
from fairshap.models._encoding import ColumnEncoder
from fairshap.table import Table


def default_estimator(random_state: Any = None) -> Any:
    """Return the estimator that is used when none is given."""
    return HistGradientBoostingClassifier(random_state=random_state)


def is_frozen(estimator: Any) -> bool:
    """Say whether an estimator is a fitted model that must not be fitted again."""
    return isinstance(estimator, FrozenEstimator)


def fit_model(estimator: Any, X: Native, y: Any, fit_params: dict[str, Any] | None = None) -> Any:
    """Return a fitted clone of the estimator, behind the encoding where it refuses the raw table.

    The raw table is tried first: an estimator that takes categories, or a pipeline that encodes for
    itself, is taken as it is. One that refuses a table with categories is fitted as
    ``Pipeline(encode, model)``. If that fails too, the estimator's own error is raised.
    """
    params = dict(fit_params or {})
    try:
        return clone(estimator).fit(X, y, **_for_last_step(estimator, params))
    except Exception as refused:
        table = Table.read(X)
        if table.is_array and not len(table.category_columns):
            raise
        if table.store.library == "pandas" and not len(table.category_columns):
            raise
        encoded = Pipeline([("encode", ColumnEncoder()), ("model", clone(estimator))])
        try:
            return encoded.fit(X, y, **_for_last_step(encoded, params))
        except Exception as error:
            error.add_note(
                f"fairshap first gave {type(estimator).__name__} the raw table, which it refused "
                f"({type(refused).__name__}: {refused}), then the table with its categories one-hot "
                "encoded, which failed as above."
            )
            raise


def _for_last_step(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return the fit parameters as the estimator takes them; a pipeline's last step gets them.

    Where metadata is routed, the pipeline does that itself.
    """
    if not isinstance(estimator, Pipeline) or get_config()["enable_metadata_routing"]:
        return params
    name = estimator.steps[-1][0]
    return {f"{name}__{key}": value for key, value in params.items()}


def check_takes_weights(estimator: Any) -> None:
    """Raise an error if the estimator cannot take ``sample_weight``."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if not has_fit_parameter(last, "sample_weight"):
        raise ModelError(
            f"sample_weight is given, but {type(last).__name__}.fit does not take it. "
            "Leave the weights out, or use an estimator that takes them."
        )
