"""How much each of a row's references weighs."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._typing import Bools, Floats
from fairshap.exceptions import InputError

#: A name, or a function from distances, shape (rows, references), to as many weights.
Weighting: TypeAlias = Literal["uniform", "distance"] | Callable[[Floats], Any]
WEIGHTINGS = ("uniform", "distance")


def weigh(distances: Floats, kept: Bools, weighting: Weighting) -> Floats:
    """Return the weight of each reference, 0 for those that are not kept; those of a row sum to 1.

    Parameters
    ----------
    distances : ndarray of float, shape (rows, references)
        The nearest first.
    kept : ndarray of bool
        Which references are near enough; those of a row without any weigh 0.
    weighting : str or function
        How the weights follow from the distances.
    """
    if not distances.size:
        return np.zeros(distances.shape)
    raw = _raw(distances, weighting)
    raw[~kept] = 0.0
    # In units of the heaviest, so that no sum overflows.
    heaviest = raw.max(axis=1, keepdims=True)
    weightless = int(np.count_nonzero((heaviest[:, 0] == 0) & kept.any(axis=1)))
    if weightless:
        raise InputError(
            f"weights gave 0 to every reference of {weightless} rows. Give each row's nearest reference a "
            "weight above 0; caliper leaves out rows without a near enough one."
        )
    raw /= np.where(heaviest > 0, heaviest, 1.0)
    total = raw.sum(axis=1, keepdims=True)
    return np.asarray(raw / np.where(total > 0, total, 1.0))


def _raw(distances: Floats, weighting: Weighting) -> Floats:
    """Return weights in any unit."""
    if weighting == "uniform":
        return np.ones(distances.shape)
    if weighting == "distance":
        # In units of the nearest: no division by zero, and an exact match takes all the weight.
        nearest = distances[:, :1]
        ratio = np.divide(nearest, distances, out=np.ones(distances.shape), where=distances > 0)
        return np.asarray(ratio)
    given = weighting(distances.copy())
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights returned a {type(given).__name__}; it must return numbers.") from error
    if weights.shape != distances.shape:
        raise InputError(
            f"weights was given distances of shape {distances.shape}, a row for each row and its references "
            f"side by side, and returned shape {weights.shape}; it must return the same shape."
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(
            f"weights returned {weights.flat[at]:g} for a distance of {distances.flat[at]:g}; it must return "
            "finite numbers from 0 on."
        )
    return weights
