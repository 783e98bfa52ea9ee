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
        dask,
        datasets,
        edits,
        evidence,
        exceptions,
        matching,
        metrics,
        mitigation,
        model_selection,
        scale,
        spark,
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
    from fairshap.evidence import Evidence, audit
    from fairshap.matching import MatchPlan, NearestMatcher, TransportMatcher, match
    from fairshap.model_selection import budget_curve, evaluate, holdout_check, tune
    from fairshap.predictors import FairSHAPClassifier, FairSHAPRegressor
    from fairshap.scale import Repairer, audit_dataset, repair_dataset

__version__ = "0.2.0"

# Where the public names are that are not themselves modules, in the order of the flow.
_NAMES = {
    "estimators": "FairSHAP",
    "predictors": "FairSHAPClassifier FairSHAPRegressor",
    "matching": "match MatchPlan NearestMatcher TransportMatcher",
    "attribution": "explain Explainer Explanation",
    "edits": "select_edits Edits EditConstraints Threshold Budget OptimalSubset Iterative",
    "evidence": "audit Evidence",
    "model_selection": "evaluate tune budget_curve holdout_check",
    "scale": "Repairer audit_dataset repair_dataset",
    "_models": "ColumnEncoder",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

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
    "audit",
    "audit_dataset",
    "Evidence",
    "evaluate",
    "tune",
    "budget_curve",
    "holdout_check",
    "Repairer",
    "repair_dataset",
    "ColumnEncoder",
    "attribution",
    "dask",
    "datasets",
    "edits",
    "evidence",
    "exceptions",
    "matching",
    "metrics",
    "mitigation",
    "model_selection",
    "scale",
    "spark",
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
