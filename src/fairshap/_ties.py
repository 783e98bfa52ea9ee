"""When two numbers tie: attributions, risks, and what they are compared with.

Walking trees, calling a model, threads and frames add the same numbers up in different orders, so the same
attribution can differ in its last digits. A forest of 20 trees has many attributions of exactly 1/20; whether
one of them is "at least 0.05" must not depend on those digits. So numbers that differ by less than a
billionth of the output's unit are equal, in every comparison: that is far more than rounding, and far less
than anyone means. The unit is 1 for probabilities, and the spread of the predictions for a regressor; it is
``Risk.unit``, and ``Attributions.unit`` after that.
"""

from typing import overload

import numpy as np

from fairshap._typing import Bools, Floats

_TOLERANCE = 1e-9

# A threshold may be below the tolerance. Even then an attribution of 0 must not reach it.
_SHARE = 1e-3

# Where steps begin, as a share of one: far from all simple fractions, so that rounding does not carry an
# attribution such as 1/1024 over an edge.
_EDGE = 0.6180339887498949


def tolerance(unit: float) -> float:
    """Return by how much numbers may differ and still be equal."""
    return _TOLERANCE * unit


@overload
def floor_of(threshold: float, unit: float) -> float: ...
@overload
def floor_of(threshold: Floats, unit: float) -> Floats: ...
def floor_of(threshold: float | Floats, unit: float) -> float | Floats:
    """Return the smallest number that counts as at least a threshold."""
    return threshold - np.minimum(tolerance(unit), _SHARE * threshold)


def reaches(values: float | Floats, threshold: float | Floats, unit: float) -> Bools:
    """Say which values are at least a threshold, or tie with it; those that are missing are not.

    Examples
    --------
    >>> 0.3 - 0.1 >= 0.2, reaches(np.array([0.3 - 0.1, 0.2 - 1e-6]), 0.2, unit=1.0).tolist()
    (False, [True, False])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(values >= floor_of(threshold, unit))


def exceeds(values: float | Floats, others: float | Floats, unit: float) -> Bools:
    """Say which values are greater than others and do not tie with them; those that are missing are not."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values > others + tolerance(unit))


def steps(values: Floats, unit: float) -> Floats:
    """Return whole numbers that are in the order of the values, and equal for those that tie.

    Two values that are apart by more than rounding and less than the tolerance may be a step apart.

    Examples
    --------
    >>> steps(np.array([0.3 - 0.1, 0.2, 0.4]), unit=1.0).tolist()
    [200000000.0, 200000000.0, 400000000.0]
    """
    return np.asarray(np.floor(values / tolerance(unit) + _EDGE))
