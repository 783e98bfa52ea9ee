"""Quantile bins of a quantity: rows of about the same target."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshap._messages import listing
from fairshap._typing import Floats, Ints
from fairshap.exceptions import InputError, TargetError

# How many bins there are where nothing is said, and how many rows each of them then has at least.
_USUAL, _LEAST_ROWS = 10, 20


def read_quantity(values: NDArray[Any]) -> Floats:
    """Return a target as numbers."""
    try:
        if values.dtype.kind not in "US":
            return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise TargetError(
        f"y holds text, such as {listing(values[:2].tolist())}, where a quantity is needed: for a regressor, "
        "or with bins. Give numbers; for labels give a classifier, and leave bins out.",
        parameter="y",
    )


def quantile_bins(numbers: Floats, bins: int | None) -> tuple[Ints, tuple[str, ...]]:
    """Return the quantile bin of each number, from 0 on, and what the bins are called.

    Bins end at numbers that occur, which belong to the bin that they end. Ends that are equal are one, so
    that a number is never in two bins; and two different numbers make two bins at least.

    Examples
    --------
    >>> quantile_bins(np.array([1.0, 2.0, 3.0, 4.0, 50.0]), 2)[0].tolist()
    [0, 0, 0, 1, 1]
    >>> quantile_bins(np.array([0.0, 0.0, 0.0, 7.0, 8.0]), 2)
    (array([0, 0, 0, 1, 1]), ('a target of 0', 'a target of 7 to 8'))
    """
    n = len(numbers)
    bins = min(_USUAL, max(2, n // _LEAST_ROWS)) if bins is None else _check_bins(bins, n)
    ordered = np.sort(numbers)
    below = ordered[ordered < ordered[-1]]
    if not len(below):
        raise TargetError(
            f"y holds one value only, {ordered[0]:g}; a quantity has two at least, so more than one sample.",
            parameter="y",
        )
    # In whole numbers: the share of rows up to k / bins, rounded, could be one row off.
    ends = ordered[[-(-k * n // bins) - 1 for k in range(1, bins)]]
    ends = np.unique(np.minimum(ends, below[-1]))
    codes = np.searchsorted(ends, numbers)
    first = np.searchsorted(ordered, ends, side="right")
    lows, highs = ordered[np.append(0, first)], np.append(ends, ordered[-1])
    return codes, tuple(_name(low, high) for low, high in zip(lows, highs, strict=True))


def _check_bins(bins: Any, n_rows: int) -> int:
    if isinstance(bins, (bool, np.bool_)) or not isinstance(bins, (int, np.integer)) or bins < 2:
        raise InputError(
            f"bins={bins!r} is not a number of quantile bins; give a whole number from 2 on, such as "
            "bins=10.",
            parameter="bins",
        )
    if bins > n_rows:
        raise InputError(
            f"bins={bins} are more than the {n_rows} rows; give fewer, such as bins=10.", parameter="bins"
        )
    return int(bins)


def _name(low: float, high: float) -> str:
    return f"a target of {low:.6g}" if low == high else f"a target of {low:.6g} to {high:.6g}"
