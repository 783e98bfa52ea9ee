"""Models: a fitted model as the numbers that risk is measured on, and how an estimator becomes one.

``fairshap._models._native``, a tree ensemble as arrays, is imported where it is needed: with it comes
numba, which a small table never waits for.
"""

from fairshap._models._encoding import ColumnEncoder
from fairshap._models._errors import NotNativeError
from fairshap._models._fitting import (
    default_estimator,
    fit_model,
    is_frozen,
    needs_columns,
)
from fairshap._models._kinds import takes_quantities
from fairshap._models._risk import Risk
from fairshap._models._scorer import Scorer
from fairshap._models._weighing import Weighing, fit_weighted, repeats_of

__all__ = [
    "ColumnEncoder",
    "NotNativeError",
    "Risk",
    "Scorer",
    "Weighing",
    "default_estimator",
    "fit_model",
    "fit_weighted",
    "is_frozen",
    "needs_columns",
    "repeats_of",
    "takes_quantities",
]
