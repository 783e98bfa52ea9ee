"""Model selection: mitigation methods side by side, and the search for a repair."""

from fairshap._crossval import MEASURES, Evaluation
from fairshap._names import METHODS
from fairshap.model_selection._evaluate import budget_curve, evaluate, evaluate_fitted
from fairshap.model_selection._holdout import HoldoutCheck, holdout_check
from fairshap.model_selection._tune import TradeoffCurve, Tuning, tune

__all__ = [
    "MEASURES",
    "METHODS",
    "Evaluation",
    "HoldoutCheck",
    "TradeoffCurve",
    "Tuning",
    "budget_curve",
    "evaluate",
    "evaluate_fitted",
    "holdout_check",
    "tune",
]
