"""Sample weights."""

from typing import Any

import numpy as np

from fairshap._typing import Floats
from fairshap.exceptions import InputError


def check_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return the weights as an array of one number for each row."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InputError(
            f"sample_weight has shape {weights.shape}; one weight for each of {n_rows} rows is needed.",
            parameter="sample_weight",
        )
    bad = ~(weights >= 0) | np.isinf(weights)
    if bad.any():
        raise InputError(
            f"sample_weight holds {weights[bad][0]} in row {int(bad.argmax())}; "
            "weights are numbers from 0 on.",
            parameter="sample_weight",
        )
    return weights
