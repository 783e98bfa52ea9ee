"""A fitted model as an ensemble of trees."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap._models._ensemble import Ensemble
from fairshap._models._errors import NotNativeError
from fairshap._models._from_lightgbm import from_lightgbm
from fairshap._models._from_sklearn import (
    from_decision_tree,
    from_forest,
    from_gradient_boosting,
    from_hist_gradient_boosting,
)
from fairshap._models._from_xgboost import from_xgboost

_LIBRARIES: dict[str, Callable[[Any], Ensemble]] = {"xgboost": from_xgboost, "lightgbm": from_lightgbm}

_SKLEARN: dict[type, Callable[[Any], Ensemble]] = {
    DecisionTreeClassifier: from_decision_tree,
    DecisionTreeRegressor: from_decision_tree,
    ExtraTreesClassifier: from_forest,
    ExtraTreesRegressor: from_forest,
    GradientBoostingClassifier: from_gradient_boosting,
    GradientBoostingRegressor: from_gradient_boosting,
    HistGradientBoostingClassifier: from_hist_gradient_boosting,
    HistGradientBoostingRegressor: from_hist_gradient_boosting,
    RandomForestClassifier: from_forest,
    RandomForestRegressor: from_forest,
}


def import_trees(model: Any) -> Ensemble:
    """Return the ensemble of a fitted classifier or regressor.

    Raises
    ------
    NotNativeError
        If it is none, or one that is not read.
    """
    name = type(model).__name__
    # By name, so that neither library is imported for a model of another.
    reads = [_LIBRARIES.get(type(model).__module__.partition(".")[0])]
    reads += [read for kind, read in _SKLEARN.items() if isinstance(model, kind)]
    read = next((read for read in reads if read is not None), None)
    if read is None:
        raise NotNativeError(f"{name} is neither a tree ensemble nor a linear model that fairshap reads")
    try:
        return read(model)
    except NotNativeError as error:
        raise NotNativeError(f"{name} cannot be read as trees: {error}") from error
    except Exception as error:
        raise NotNativeError(f"{name} cannot be read as trees ({error})") from error
