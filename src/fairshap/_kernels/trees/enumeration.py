"""The risks of all coalitions of a game, from the paths that lead to its outputs, and its Shapley values.

Most players matter to the level of the output only: few change the *difference* that the attribute makes. So
the difference has a small table of its own, and the level a large one, which is all that is enumerated.

Margins go through the link as products of exponentials, or as sums where there is no link or where the
exponentials would overflow. Products are taken a chunk at a time: the coalitions of the low players, for each
coalition of the high ones. A chunk stays in the processor's cache, however many players there are.
"""

from typing import Any

import numpy as np

from fairshap._kernels.compiling import inner
from fairshap._kernels.trees.ensemble import Output
from fairshap._kernels.trees.games import (
    LANES,
    Room,
    add_logistic_gaps,
    add_weighted,
    arrange,
    count_bits,
    join_gap,
    logistic,
    logistic_gap,
    raise_to_logistic_gap,
    subset_products,
    subset_sums,
    sums_by_player,
)
from fairshap._kernels.trees.paths import INVERSE, MET, MOST_PLAYERS, ODDS, OTHER, OWN, VALUE
from fairshap._typing import Floats, Ints

# The players whose coalitions are multiplied side by side.
_LOW = LANES.bit_length() - 1
# The players of a chunk, at least: 2^12 coalitions are 32 KiB.
_CHUNK = 12
# Margins up to which their exponentials can be multiplied without an overflow: those of all paths, and
# those of any four coalitions.
_SAFE, _SAFE_BY_FOUR = 600.0, 150.0
# False, but no literal: kernels are compiled for literals apart.
_NO: Any = np.bool_(False)
# In place of a value of the attribute: no path is met by it.
NO_VALUE = MOST_PLAYERS


@inner
def solve_game(
    masks: Ints,
    amounts: Floats,
    constant: float,
    largest: float,
    q: int,
    n_alternatives: int,
    output: Output,
    weights: Floats,
    room: Room,
    phi: Floats,
) -> tuple[float, float]:
    """Write the Shapley values of a game of q players; return the risks of the full and the empty coalition.

    The paths, some of which are not open to all values of the attribute, are used up. Every coalition has the
    ``constant`` besides, and no margin is farther from 0 than the ``largest``.
    """
    n_difference = arrange(masks, q, (1 << n_alternatives) - 1, room)
    # Without a link a player that leaves the difference alone is a dummy.
    n_level = q - n_difference if output.is_logistic else 0
    first = q - n_difference
    n_players = n_level + n_difference
    by_level, by_difference = room.by_level[: 1 << n_level], room.by_difference[: 1 << n_difference]
    by_level[:] = 0.0
    weight = weights[1 << n_players : 2 << n_players]
    total, scale = abs(constant), abs(output.scale)
    for k in range(len(amounts)):
        total += abs(amounts[k, VALUE])
    if output.is_logistic and total * scale < _SAFE and largest * scale < _SAFE_BY_FOUR:
        full, empty = _risks_by_products(
            masks, amounts, constant, n_level, n_difference, n_alternatives, output, weight, room
        )
    else:
        full, empty = _risks_by_sums(
            masks, amounts, constant, first, n_level, n_difference, n_alternatives, output, weight, room
        )
    sums_by_player(by_level, n_level, room.sums[:n_level])
    sums_by_player(by_difference, n_difference, room.sums[n_level:n_players])
    place, sums = room.place, room.sums
    rest = 0.0
    for k in range(n_players):
        rest += sums[k]
    if n_players:
        rest = (rest - (full - empty)) / n_players
    for s in range(q):
        k = place[s] - (first - n_level)
        phi[s] = sums[k] - rest if k >= 0 else 0.0
    return full, empty


@inner
def _risks_by_products(
    masks: Ints,
    amounts: Floats,
    constant: float,
    n_level: int,
    n_difference: int,
    n_alternatives: int,
    output: Output,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, whose margins are multiplied as exponentials.

    ``exp(-m)`` of a coalition is a product over its subsets, and the factors are those of the paths: no
    exponential is taken for a coalition.
    """
    difference, contrasts, is_mean = room.difference, output.contrasts, output.is_mean
    _differences_by_products(masks, amounts, n_level, n_difference, n_alternatives, difference, room.direct)
    n_low = min(n_level + n_difference, max(n_level, _CHUNK))
    n_high = n_level + n_difference - n_low
    size = max(1 << n_low, LANES)
    base, level, direct = room.base[:size], room.level[:size], room.direct[:size]
    by_level, by_difference, risk = room.by_level, room.by_difference, room.risk
    base[:] = 1.0
    base[:LANES] = np.exp(-output.scale * constant)
    n_kept = _multiply_shared(masks, amounts, n_low, base)
    empty = 0.0
    for high in range(1 << n_high):
        _multiply_chunk(masks[:n_kept], amounts, n_low, high, base, level, direct)
        for low in range(1 << (n_low - n_level)):
            block = (high << (n_low - n_level)) + low
            # The weights go by the size of the coalition only: those of the first block of that size do.
            weight = ((1 << count_bits(block)) - 1) << n_level
            first, n = low << n_level, 1 << n_level
            by_difference[block] = _add_block(
                level, first, weights, weight, n, difference, block, contrasts, is_mean, by_level, risk
            )
        if high == 0:
            empty = _risk(level[0], difference, high, contrasts, is_mean)
    full = _risk(level[(1 << n_low) - 1], difference, (1 << n_difference) - 1, contrasts, is_mean)
    return full, empty


@inner
def _risk(odds: float, difference: Floats, block: int, contrasts: Ints, is_mean: bool) -> float:
    """Return the risk of one coalition."""
    risk = 0.0
    for c in range(len(contrasts)):
        a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
        risk = join_gap(risk, logistic_gap(odds, a, b), len(contrasts), is_mean)
    return risk


@inner
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
    total, share = 0.0, 1.0 / len(contrasts)
    if is_mean or len(contrasts) == 1:
        for c in range(len(contrasts)):
            a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
            total += add_logistic_gaps(level, first, a, b, share, weights, weight, by_level, n)
    else:
        risk[:n] = 0.0
        for c in range(len(contrasts)):
            a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
            raise_to_logistic_gap(risk[:n], level[first : first + n], a, b)
        total = add_weighted(risk[:n], weights[weight : weight + n], by_level[:n])
    return total


@inner
def _multiply_shared(masks: Ints, amounts: Floats, n_low: int, base: Floats) -> int:
    """Multiply what all chunks have in common; keep the other paths, and return how many they are."""
    n_kept = 0
    for k in range(len(masks)):
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


@inner
def _multiply_chunk(
    masks: Ints, amounts: Floats, n_low: int, high: int, base: Floats, level: Floats, direct: Floats
) -> None:
    """Write the odds of the coalitions that have these high players."""
    low = len(level) - 1
    for j in range(len(level)):
        level[j] = base[j]
    used = _NO
    for k in range(len(masks)):
        own, other = masks[k, OWN], masks[k, OTHER]
        if (own >> n_low) & ~high == 0 and (other >> n_low) & high == 0:
            odds, inverse = amounts[k, ODDS], amounts[k, INVERSE]
            used = _multiply_path(own & low, other & low, odds, inverse, level, direct, used)
    subset_products(level, LANES)
    if used:
        for j in range(len(level)):
            level[j] *= direct[j]


@inner
def _differences_by_products(
    masks: Ints,
    amounts: Floats,
    n_level: int,
    n_difference: int,
    n_alternatives: int,
    difference: Floats,
    room: Floats,
) -> None:
    """Write for each value of the attribute the odds over those of the first value."""
    size = max(1 << n_difference, LANES)
    difference[0, :size] = 1.0
    direct = room[:size]
    for a in range(1, n_alternatives):
        factors = difference[a, :size]
        factors[:] = 1.0
        used = _NO
        for k in range(len(masks)):
            own, other = masks[k, OWN] >> n_level, masks[k, OTHER] >> n_level
            sign = (masks[k, MET] >> a & 1) - (masks[k, MET] & 1)
            if sign:
                odds, inverse = amounts[k, ODDS], amounts[k, INVERSE]
                if sign < 0:
                    odds, inverse = inverse, odds
                used = _multiply_path(own, other, odds, inverse, factors, direct, used)
        subset_products(factors, LANES)
        if used:
            for j in range(size):
                factors[j] *= direct[j]


@inner
def _is_direct(own: int, other: int, size: int) -> bool:
    """Say whether the coalitions that a path is open to are fewer than those that cancel it elsewhere."""
    free = (size - 1) & ~(own | other)
    return count_bits(free >> _LOW) < count_bits(other >> _LOW)


@inner
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


@inner
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


@inner
def _multiply_lanes(own: int, other: int, factor: float, level: Floats, row: int) -> None:
    """Multiply the coalitions of the lowest players that a path is open to, among one row of them."""
    own &= LANES - 1
    other &= LANES - 1
    lanes = level[row * LANES : (row + 1) * LANES]
    # Without a branch: all lanes are multiplied at a time.
    for lane in range(LANES):
        is_open = (own & ~lane) | (other & lane) == 0
        lanes[lane] *= factor if is_open else 1.0


@inner
def _risks_by_sums(
    masks: Ints,
    amounts: Floats,
    constant: float,
    first: int,
    n_level: int,
    n_difference: int,
    n_alternatives: int,
    output: Output,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, where there is no link or where exponentials would overflow.

    The players of the difference have the bits from ``first`` on.
    """
    level, difference, scale = room.level[: 1 << (n_level + n_difference)], room.difference, output.scale
    difference[0, : 1 << n_difference] = 0.0
    for a in range(0 if output.is_logistic else 1, n_alternatives):
        against, start, extra = (0, first, 0.0) if a else (NO_VALUE, 0, constant)
        margins = difference[a, : 1 << n_difference] if a else level
        sum_paths(masks, amounts, a, against, start, extra, margins, room.direct)
    by_level, by_difference, contrasts = room.by_level, room.by_difference, output.contrasts
    full, empty = 0.0, 0.0
    for block in range(1 << n_difference):
        by_difference[block] = 0.0
        for k in range(1 << n_level):
            here = 0.0
            for c in range(len(contrasts)):
                one, other = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
                if output.is_logistic:
                    margin = level[(block << n_level) + k]
                    gap = abs(logistic(scale * (margin + one)) - logistic(scale * (margin + other)))
                else:
                    gap = abs(scale * (one - other))
                here = join_gap(here, gap, len(contrasts), output.is_mean)
            weighted = here * weights[(block << n_level) + k]
            by_level[k] += weighted
            by_difference[block] += weighted
            if block == 0 and k == 0:
                empty = here
            full = here
    return full, empty


@inner
def sum_paths(
    masks: Ints,
    amounts: Floats,
    value: int,
    against: int,
    first: int,
    constant: float,
    margins: Floats,
    direct: Floats,
) -> None:
    """Write every coalition's margin for a value of the attribute, less that for another one.

    The players are those from bit ``first`` on.
    """
    margins[:] = 0.0
    used = _NO
    for k in range(len(masks)):
        sign = (masks[k, MET] >> value & 1) - (masks[k, MET] >> against & 1)
        if sign:
            own, other = masks[k, OWN] >> first, masks[k, OTHER] >> first
            used = _add_path(own, other, sign * amounts[k, VALUE], margins, direct, used)
    margins[0] += constant
    subset_sums(margins)
    if used:
        for j in range(len(margins)):
            margins[j] += direct[j]


@inner
def _add_path(own: int, other: int, value: float, margins: Floats, direct: Floats, used: bool) -> bool:
    """Add to the coalitions that a path is open to; return whether ``direct`` is in use."""
    free = (len(margins) - 1) & ~(own | other)
    if count_bits(free) < count_bits(other):
        if not used:
            direct[: len(margins)] = 0.0
        part = free
        while True:
            direct[own | part] += value
            if part == 0:
                return True
            part = (part - 1) & free
    # The sums that follow cancel the value wherever one of ``other`` takes part.
    part = other
    while True:
        margins[own | part] += -value if count_bits(part) & 1 else value
        if part == 0:
            return used
        part = (part - 1) & other
