"""Find and replace the few cells of a training table that make a model unfair.

The flow: table -> groups -> matching -> attribution -> edits -> retrained model. :class:`FairSHAP` strings
the steps together; :func:`match`, :func:`attribute` and :func:`select_edits` are the steps alone.
"""

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
