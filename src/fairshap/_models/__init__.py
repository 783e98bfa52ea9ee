"""Models: how an estimator is fitted, and a fitted model as the numbers that risk is measured on.

``probing`` and ``linear``, which read a model's own trees or weights, are imported where they are needed:
with them comes numba, which a small table never waits for.
"""

from fairshap._models.encoding import ColumnEncoder
from fairshap._models.fitting import (
    Weighing,
    add_fits,
    count_fits,
    default_estimator,
    fit_model,
    fit_weighted,
    is_frozen,
    needs_columns,
    repeats_of,
    resampler_of,
    trouble_with_either_label,
)
from fairshap._models.scorer import (
    NotNativeError,
    Risk,
    Scorer,
    copy_estimator,
    risk_of_scores,
    sees_attribute,
    takes_quantities,
)

__all__ = [
    "ColumnEncoder",
    "NotNativeError",
    "Risk",
    "Scorer",
    "Weighing",
    "add_fits",
    "copy_estimator",
    "count_fits",
    "default_estimator",
    "fit_model",
    "fit_weighted",
    "is_frozen",
    "needs_columns",
    "repeats_of",
    "resampler_of",
    "risk_of_scores",
    "sees_attribute",
    "takes_quantities",
    "trouble_with_either_label",
]
