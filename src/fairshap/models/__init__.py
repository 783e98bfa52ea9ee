"""Models: a fitted model as the numbers that risk is measured on, and how an estimator becomes one.

``fairshap.models._native``, a tree ensemble as arrays, is imported where it is needed: with it comes
numba, which a small table never waits for.
"""

from fairshap.models._encoding import ColumnEncoder
from fairshap.models._errors import NotNativeError
from fairshap.models._fitting import (
    check_takes_weights,
    default_estimator,
    fit_model,
    is_frozen,
    may_name_columns,
    takes_weights,
)
from fairshap.models._kinds import takes_quantities
from fairshap.models._scorer import Scorer

__all__ = [
    "ColumnEncoder",
    "NotNativeError",
    "Scorer",
    "check_takes_weights",
    "default_estimator",
    "fit_model",
    "is_frozen",
    "may_name_columns",
    "takes_quantities",
    "takes_weights",
]
