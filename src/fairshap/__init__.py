"""Find and replace the few cells of a training table that make a model unfair.

The flow: table -> groups -> matching -> attribution -> edits -> retrained model. :class:`FairSHAP` strings
the steps together; :func:`match`, :func:`attribute` and :func:`select_edits` are the steps alone.

Everything is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairshap import datasets, exceptions, matching, metrics, mitigation
    from fairshap._models import ColumnEncoder
    from fairshap.attribution import Attributions, attribute
    from fairshap.comparing import Comparison, evaluate
    from fairshap.edits import Edits, select_edits
    from fairshap.estimators import (
        BudgetCurve,
        FairSHAP,
        FairSHAPClassifier,
        FairSHAPRegressor,
        Tuning,
        budget_curve,
        paper_settings,
        tune,
    )
    from fairshap.matching import MatchPlan, match

__version__ = "0.1.0"

__all__ = [
    "FairSHAP",
    "FairSHAPClassifier",
    "FairSHAPRegressor",
    "match",
    "MatchPlan",
    "attribute",
    "Attributions",
    "select_edits",
    "Edits",
    "tune",
    "Tuning",
    "budget_curve",
    "BudgetCurve",
    "paper_settings",
    "evaluate",
    "Comparison",
    "ColumnEncoder",
    "datasets",
    "matching",
    "metrics",
    "mitigation",
    "exceptions",
]

# The module of each public name that is not itself a module.
_MODULES = {
    "FairSHAP": "estimators",
    "FairSHAPClassifier": "estimators",
    "FairSHAPRegressor": "estimators",
    "match": "matching",
    "MatchPlan": "matching",
    "attribute": "attribution",
    "Attributions": "attribution",
    "select_edits": "edits",
    "Edits": "edits",
    "tune": "estimators",
    "Tuning": "estimators",
    "budget_curve": "estimators",
    "BudgetCurve": "estimators",
    "paper_settings": "estimators",
    "evaluate": "comparing",
    "Comparison": "comparing",
    "ColumnEncoder": "_models",
}


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
