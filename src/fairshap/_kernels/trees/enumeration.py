"""The risks of all coalitions of a game, from the paths that lead to its outputs.

Margins go through the link as products of exponentials, or as sums where there is no link or where the
exponentials would overflow. Products are taken a chunk at a time: the coalitions of the low players, for each
coalition of the high ones. A chunk stays in the processor's cache, however many players there are.
"""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.trees.games import (
    INVERSE,
    LANES,
    MET,
    ODDS,
    OTHER,
    OWN,
    VALUE,
    Room,
    add_logistic_gaps,
    add_weighted,
    count_bits,
    join_gap,
    logistic,
    logistic_gap,
    raise_to_logistic_gap,
    subset_products,
    subset_sums,
)
from fairshap._typing import Floats, Ints

# The players of a chunk, at least: 2^12 coalitions are 32 KiB.
_CHUNK = 12
# The players whose coalitions are multiplied side by side.
_LOW = LANES.bit_length() - 1


@compiled
def risks_by_products(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    n_level: int,
    n_difference: int,
    everyone: int,
    contrasts: Ints,
    is_mean: bool,
    scale: float,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, whose margins are multiplied as exponentials.

    ``exp(-m)`` of a coalition is a product over its subsets, and the factors are those of the paths: no
    exponential is taken for a coalition.
    """
    difference = room.difference
    _differences_by_products(
        masks, amounts, n_paths, n_level, n_difference, everyone, difference, room.direct
    )
    n_low = min(n_level + n_difference, max(n_level, _CHUNK))
    n_high = n_level + n_difference - n_low
    size = max(1 << n_low, LANES)
    base, level, direct = room.base[:size], room.level[:size], room.direct[:size]
    by_level, by_difference, risk = room.by_level, room.by_difference, room.risk
    base[:] = 1.0
    base[:LANES] = np.exp(-scale * constant)
    n_paths = _multiply_shared(masks, amounts, n_paths, n_low, base)
    empty = 0.0
    for high in range(1 << n_high):
        _multiply_chunk(masks, amounts, n_paths, n_low, high, base, level, direct)
        for low in range(1 << (n_low - n_level)):
            block = (high << (n_low - n_level)) + low
            # The weights go by the size of the coalition only: those of the first block of that size do.
            weight = ((1 << count_bits(block)) - 1) << n_level
            by_difference[block] = _add_block(
                level,
                low << n_level,
                weights,
                weight,
                1 << n_level,
                difference,
                block,
                contrasts,
                is_mean,
                by_level,
                risk,
            )
        if high == 0:
            empty = _risk(level[0], difference, 0, contrasts, is_mean)
    full = _risk(level[(1 << n_low) - 1], difference, (1 << n_difference) - 1, contrasts, is_mean)
    return full, empty


@compiled
def _risk(odds: float, difference: Floats, block: int, contrasts: Ints, is_mean: bool) -> float:
    """Return the risk of one coalition."""
    risk = 0.0
    for c in range(len(contrasts)):
        a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
        risk = join_gap(risk, logistic_gap(odds, a, b), len(contrasts), is_mean)
    return risk


@compiled
def _add_block(
    level: Floats,
    first: int,
    weights: Floats,
    weight: int,
    n: int,
    difference: Floats,
    block: int,
    contrasts: Ints,
    is_mean: bool,
    by_level: Floats,
    risk: Floats,
) -> float:
    """Add the risks of the n coalitions that have the same players of the difference; return their sum."""
    total = 0.0
    if is_mean or len(contrasts) == 1:
        for c in range(len(contrasts)):
            a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
            share = 1.0 / len(contrasts)
            total += add_logistic_gaps(level, first, a, b, share, weights, weight, by_level, n)
    else:
        risk[:n] = 0.0
        for c in range(len(contrasts)):
            a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
            raise_to_logistic_gap(risk[:n], level[first : first + n], a, b)
        total += add_weighted(risk[:n], weights[weight : weight + n], by_level[:n])
    return total


@compiled
def _multiply_shared(masks: Ints, amounts: Floats, n_paths: int, n_low: int, base: Floats) -> int:
    """Multiply what all chunks have in common; keep the other paths, and return how many they are."""
    n_kept = 0
    for k in range(n_paths):
        own, other = masks[k, OWN], masks[k, OTHER]
        if not masks[k, MET] & 1:
            continue
        if (own | other) >> n_low == 0 and not _is_direct(own, other, len(base)):
            _multiply_subsets(own, other, amounts[k, ODDS], amounts[k, INVERSE], base)
        else:
            masks[n_kept, OWN], masks[n_kept, OTHER] = own, other
            amounts[n_kept, ODDS], amounts[n_kept, INVERSE] = amounts[k, ODDS], amounts[k, INVERSE]
            n_kept += 1
    return n_kept


@compiled
def _multiply_chunk(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    n_low: int,
    high: int,
    base: Floats,
    level: Floats,
    direct: Floats,
) -> None:
    """Write the odds of the coalitions that have these high players."""
    for j in range(len(level)):
        level[j] = base[j]
    used_direct = False
    for k in range(n_paths):
        own, other = masks[k, OWN], masks[k, OTHER]
        if (own >> n_low) & ~high == 0 and (other >> n_low) & high == 0:
            used_direct = _multiply_path(
                own & (len(level) - 1),
                other & (len(level) - 1),
                amounts[k, ODDS],
                amounts[k, INVERSE],
                level,
                direct,
                used_direct,
            )
    subset_products(level, LANES)
    if used_direct:
        for j in range(len(level)):
            level[j] *= direct[j]


@compiled
def _is_direct(own: int, other: int, size: int) -> bool:
    """Say whether the coalitions that a path is open to are fewer than those that cancel it elsewhere."""
    free = (size - 1) & ~(own | other)
    return count_bits(free >> _LOW) < count_bits(other >> _LOW)


@compiled
def _multiply_path(
    own: int, other: int, odds: float, inverse: float, level: Floats, direct: Floats, used: bool
) -> bool:
    """Multiply the coalitions that a path is open to; return whether ``direct`` is in use."""
    if not _is_direct(own, other, len(level)):
        _multiply_subsets(own, other, odds, inverse, level)
        return used
    if not used:
        direct[:] = 1.0
    free = ((len(level) - 1) & ~(own | other)) >> _LOW
    part = free
    while True:
        _multiply_lanes(own, other, odds, direct, (own >> _LOW) | part)
        if part == 0:
            return True
        part = (part - 1) & free


@compiled
def _multiply_subsets(own: int, other: int, odds: float, inverse: float, level: Floats) -> None:
    """Multiply by inclusion and exclusion, from the first player on whose coalitions are not side by side.

    The products that follow cancel the odds wherever one of ``other`` takes part.
    """
    high = other >> _LOW
    part = high
    while True:
        factor = inverse if count_bits(part) & 1 else odds
        _multiply_lanes(own, other, factor, level, (own >> _LOW) | part)
        if part == 0:
            return
        part = (part - 1) & high


@compiled
def _multiply_lanes(own: int, other: int, factor: float, level: Floats, row: int) -> None:
    """Multiply the coalitions of the lowest players that a path is open to, among one row of them."""
    own &= LANES - 1
    other &= LANES - 1
    lanes = level[row * LANES : (row + 1) * LANES]
    # Without a branch: all lanes are multiplied at a time.
    for lane in range(LANES):
        is_open = (own & ~lane) | (other & lane) == 0
        lanes[lane] *= factor if is_open else 1.0


@compiled
def _differences_by_products(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    n_level: int,
    n_difference: int,
    everyone: int,
    difference: Floats,
    room: Floats,
) -> None:
    """Write for each value of the attribute the odds over those of the first value."""
    size = max(1 << n_difference, LANES)
    difference[0, :size] = 1.0
    direct = room[:size]
    a = 1
    while (1 << a) <= everyone:
        factors = difference[a, :size]
        factors[:] = 1.0
        used_direct = False
        for k in range(n_paths):
            sign = (masks[k, MET] >> a & 1) - (masks[k, MET] & 1)
            if sign:
                used_direct = _multiply_path(
                    masks[k, OWN] >> n_level,
                    masks[k, OTHER] >> n_level,
                    amounts[k, ODDS if sign > 0 else INVERSE],
                    amounts[k, INVERSE if sign > 0 else ODDS],
                    factors,
                    direct,
                    used_direct,
                )
        subset_products(factors, LANES)
        if used_direct:
            for j in range(size):
                factors[j] *= direct[j]
        a += 1


@compiled
def risks_by_sums(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    first: int,
    n_level: int,
    n_difference: int,
    everyone: int,
    contrasts: Ints,
    is_mean: bool,
    scale: float,
    is_logistic: bool,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, where there is no link or where exponentials would overflow."""
    size = 1 << (n_level + n_difference)
    level, direct = room.level[:size], room.direct[:size]
    if is_logistic:
        level[:] = 0.0
        used_direct = False
        for k in range(n_paths):
            if masks[k, MET] & 1:
                used_direct = add_path(
                    masks[k, OWN], masks[k, OTHER], amounts[k, VALUE], level, direct, used_direct
                )
        level[0] += constant
        subset_sums(level)
        if used_direct:
            for j in range(size):
                level[j] += direct[j]
    difference = room.difference
    _differences_by_sums(masks, amounts, n_paths, first, n_difference, everyone, difference, direct)
    by_level, by_difference = room.by_level, room.by_difference
    full, empty = 0.0, 0.0
    for block in range(1 << n_difference):
        by_difference[block] = 0.0
        for k in range(1 << n_level):
            here = 0.0
            for c in range(len(contrasts)):
                one, other = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
                if is_logistic:
                    margin = level[(block << n_level) + k]
                    gap = abs(logistic(scale * (margin + one)) - logistic(scale * (margin + other)))
                else:
                    gap = abs(scale * (one - other))
                here = join_gap(here, gap, len(contrasts), is_mean)
            weighted = here * weights[(block << n_level) + k]
            by_level[k] += weighted
            by_difference[block] += weighted
            if block == 0 and k == 0:
                empty = here
            full = here
    return full, empty


@compiled
def _differences_by_sums(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    first: int,
    n_difference: int,
    everyone: int,
    difference: Floats,
    direct: Floats,
) -> None:
    """Write for each value of the attribute the margin less that of the first value.

    The players of the difference have the bits from ``first`` on.
    """
    size = 1 << n_difference
    difference[0, :size] = 0.0
    a = 1
    while (1 << a) <= everyone:
        margins = difference[a, :size]
        margins[:] = 0.0
        used_direct = False
        for k in range(n_paths):
            sign = (masks[k, MET] >> a & 1) - (masks[k, MET] & 1)
            if sign:
                used_direct = add_path(
                    masks[k, OWN] >> first,
                    masks[k, OTHER] >> first,
                    sign * amounts[k, VALUE],
                    margins,
                    direct[:size],
                    used_direct,
                )
        subset_sums(margins)
        if used_direct:
            for j in range(size):
                margins[j] += direct[j]
        a += 1


@compiled
def add_path(own: int, other: int, value: float, level: Floats, direct: Floats, used: bool) -> bool:
    """Add to the coalitions that a path is open to; return whether ``direct`` is in use."""
    free = (len(level) - 1) & ~(own | other)
    if count_bits(free) < count_bits(other):
        if not used:
            direct[:] = 0.0
        part = free
        while True:
            direct[own | part] += value
            if part == 0:
                return True
            part = (part - 1) & free
    part = other
    while True:
        level[own | part] += -value if count_bits(part) & 1 else value
        if part == 0:
            return used
        part = (part - 1) & other
