"""Find and replace the few cells of a training table that make a model unfair.

The flow: table -> groups -> matching -> explanation -> edits -> retrained model. :class:`FairSHAP` strings
the steps together; :func:`match`, :func:`explain` and :func:`select_edits` are the steps alone.

Everything is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairshap import (
        attribution,
        datasets,
        edits,
        exceptions,
        matching,
        metrics,
        mitigation,
        model_selection,
    )
    from fairshap._models import ColumnEncoder
    from fairshap.attribution import Explainer, Explanation, explain
    from fairshap.edits import (
        Budget,
        EditConstraints,
        Edits,
        Iterative,
        OptimalSubset,
        Threshold,
        select_edits,
    )
    from fairshap.estimators import FairSHAP
    from fairshap.matching import MatchPlan, NearestMatcher, TransportMatcher, match
    from fairshap.model_selection import budget_curve, evaluate, holdout_check, tune
    from fairshap.predictors import FairSHAPClassifier, FairSHAPRegressor

__version__ = "0.1.0"

# The module of each public name that is not itself a module, in the order of the flow.
_MODULES = {
    "FairSHAP": "estimators",
    "FairSHAPClassifier": "predictors",
    "FairSHAPRegressor": "predictors",
    "match": "matching",
    "MatchPlan": "matching",
    "NearestMatcher": "matching",
    "TransportMatcher": "matching",
    "explain": "attribution",
    "Explainer": "attribution",
    "Explanation": "attribution",
    "select_edits": "edits",
    "Edits": "edits",
    "EditConstraints": "edits",
    "Threshold": "edits",
    "Budget": "edits",
    "OptimalSubset": "edits",
    "Iterative": "edits",
    "evaluate": "model_selection",
    "tune": "model_selection",
    "budget_curve": "model_selection",
    "holdout_check": "model_selection",
    "ColumnEncoder": "_models",
}

__all__ = [
    "FairSHAP",
    "FairSHAPClassifier",
    "FairSHAPRegressor",
    "match",
    "MatchPlan",
    "NearestMatcher",
    "TransportMatcher",
    "explain",
    "Explainer",
    "Explanation",
    "select_edits",
    "Edits",
    "EditConstraints",
    "Threshold",
    "Budget",
    "OptimalSubset",
    "Iterative",
    "evaluate",
    "tune",
    "budget_curve",
    "holdout_check",
    "ColumnEncoder",
    "attribution",
    "datasets",
    "edits",
    "exceptions",
    "matching",
    "metrics",
    "mitigation",
    "model_selection",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = import_module(f"fairshap.{_MODULES.get(name, name)}")
    if name in _MODULES:
        value = getattr(value, name)
    # Found without this function from now on.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
