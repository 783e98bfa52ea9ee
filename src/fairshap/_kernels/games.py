"""One number for each coalition of a game: sums over subsets, the link, and the Shapley values."""

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_in_any_order
from fairshap._typing import Floats, Ints

# Constants of the exponential function: 1 / log 2, log 2 in two parts, and 1.5 * 2^52, after whose
# addition a number has no binary places left.
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUNDING = 6755399441055744.0
# The numbers whose exponentials are taken at a time: they stay in the fastest cache.
EXPONENTIALS = 512
# The coalitions whose subset sums are taken at a time, likewise.
_BLOCK_SUMS = 2048


@compiled
def subset_sums(values: Floats) -> None:
    """Replace the value of each coalition by the sum over its subsets."""
    size = len(values)
    # Blocks that fit into the fastest cache are finished before the next is begun.
    block = min(size, _BLOCK_SUMS)
    for low in range(0, size, block):
        part = values[low : low + block]
        step = 1
        if block >= 8:
            _sums_of_eights(part)
            step = 8
        while step < block:
            _add_halves(part, step)
            step *= 2
    step = block
    while step < size:
        _add_halves(values, step)
        step *= 2


@compiled
def _sums_of_eights(values: Floats) -> None:
    """Do the first three players in one go: their steps are too short to be worth a loop each."""
    for k in range(0, len(values), 8):
        a0, a1, a2, a3 = values[k], values[k + 1], values[k + 2], values[k + 3]
        a4, a5, a6, a7 = values[k + 4], values[k + 5], values[k + 6], values[k + 7]
        a1, a3, a5, a7 = a1 + a0, a3 + a2, a5 + a4, a7 + a6
        a2, a3, a6, a7 = a2 + a0, a3 + a1, a6 + a4, a7 + a5
        values[k + 1], values[k + 2], values[k + 3] = a1, a2, a3
        values[k + 4], values[k + 5] = a4 + a0, a5 + a1
        values[k + 6], values[k + 7] = a6 + a2, a7 + a3


@compiled
def _add_halves(values: Floats, step: int) -> None:
    """Add to every coalition with one player the one without; the player is bit ``step``."""
    for start in range(0, len(values), 2 * step):
        # As two arrays, so that the compiler sees that they do not overlap.
        without, with_one = values[start : start + step], values[start + step : start + 2 * step]
        for k in range(step):
            with_one[k] += without[k]


@compiled
def exponentials(values: Floats, base: float, scale: float, sums: Floats, powers: Floats) -> None:
    """Replace each value m by exp(-base - scale m), several at a time, with some room to work in.

    A call of the exponential function cannot be done for several numbers at once; this can. With n the
    nearest whole number to ``x / log 2``, ``exp(x) = 2^n exp(r)``, and r is small enough for twelve
    terms of its series to be right to the fourteenth digit. Adding a large constant leaves n in the low bits
    of the sum; moved into the exponent they are 2^n. Values beyond 350 count as 350: the logistic
    function has long reached its limit there.
    """
    for low in range(0, len(values), len(sums)):
        _exponential_block(
            values[low : low + len(sums)],
            base,
            scale,
            sums,
            powers,
            sums.view(np.int64),
            powers.view(np.int64),
        )


@compiled
def _exponential_block(
    values: Floats,
    base: float,
    scale: float,
    sums: Floats,
    powers: Floats,
    sum_bits: Ints,
    power_bits: Ints,
) -> None:
    for k in range(len(values)):
        x = -(base + scale * values[k])
        x = -350.0 if x < -350.0 else x
        x = 350.0 if x > 350.0 else x
        values[k] = x
        sums[k] = x * _LOG2_E + _ROUNDING
    for k in range(len(values)):
        n = sums[k] - _ROUNDING
        r = (values[k] - n * _LN2_HIGH) - n * _LN2_LOW
        series = 1.0 / 39916800.0
        series = series * r + 1.0 / 3628800.0
        series = series * r + 1.0 / 362880.0
        series = series * r + 1.0 / 40320.0
        series = series * r + 1.0 / 5040.0
        series = series * r + 1.0 / 720.0
        series = series * r + 1.0 / 120.0
        series = series * r + 1.0 / 24.0
        series = series * r + 1.0 / 6.0
        series = series * r + 0.5
        series = series * r + 1.0
        values[k] = series * r + 1.0
        power_bits[k] = (sum_bits[k] + 1023) << 52
    for k in range(len(values)):
        values[k] *= powers[k]


@compiled
def raise_to_gap(risk: Floats, a: Floats, b: Floats, is_first: bool, is_logistic: bool, scale: float) -> None:
    """Raise the risk to the gap between two outputs; the first gap is where it starts.

    Logistic outputs come as ``exp(-m)``, so that their difference takes one division; others as sums of
    leaves, whose base cancels.
    """
    if is_first:
        risk[:] = 0.0
    if is_logistic:
        for k in range(len(risk)):
            gap = abs(b[k] - a[k]) / ((1.0 + a[k]) * (1.0 + b[k]))
            risk[k] = gap if gap > risk[k] else risk[k]
    else:
        for k in range(len(risk)):
            gap = abs(scale * (b[k] - a[k]))
            risk[k] = gap if gap > risk[k] else risk[k]


@compiled
def add_values(values: Floats, more: Floats) -> None:
    for k in range(len(values)):
        values[k] += more[k]


@compiled_in_any_order
def shapley_by_folding(values: Floats, joint: Floats, alone: Floats, phi: Floats) -> None:
    """Write the Shapley values of one game; ``values`` is used up.

    ``phi_k`` is the sum over the S with k of ``(w(|S| - 1) + w(|S|)) v(S)`` minus the sum over all S of
    ``w(|S|) v(S)``; ``joint`` and ``alone`` are those weights. The first sum is read off by folding
    the players away, the last one first.
    """
    rest = 0.0
    for k in range(len(values)):
        rest += alone[k] * values[k]
    for k in range(len(values)):
        values[k] *= joint[k]
    half = len(values) // 2
    for k in range(len(phi) - 1, -1, -1):
        lower, upper = values[:half], values[half : 2 * half]
        total = 0.0
        for j in range(half):
            total += upper[j]
        for j in range(half):
            lower[j] += upper[j]
        phi[k] = total - rest
        half //= 2
