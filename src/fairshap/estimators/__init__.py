"""Estimators: the only place that strings the steps together."""

from fairshap.estimators._classifier import FairSHAPClassifier
from fairshap.estimators._curve import BudgetCurve, budget_curve
from fairshap.estimators._paper import paper_settings
from fairshap.estimators._regressor import FairSHAPRegressor
from fairshap.estimators._sampler import FairSHAP
from fairshap.estimators._tune import Tuning, tune

__all__ = [
    "BudgetCurve",
    "FairSHAP",
    "FairSHAPClassifier",
    "FairSHAPRegressor",
    "Tuning",
    "budget_curve",
    "paper_settings",
    "tune",
]
