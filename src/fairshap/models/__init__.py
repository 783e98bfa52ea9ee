"""Models: a fitted classifier as one number a row, and how an estimator becomes one."""

from fairshap.models._encoding import ColumnEncoder
from fairshap.models._fitting import check_takes_weights, default_estimator, fit_model, is_frozen
from fairshap.models._scorer import Scorer

__all__ = [
    "ColumnEncoder",
    "Scorer",
    "check_takes_weights",
    "default_estimator",
    "fit_model",
    "is_frozen",
]
