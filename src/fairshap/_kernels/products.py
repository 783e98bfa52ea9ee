"""The risks of all coalitions of a game, whose margins are multiplied as exponentials."""

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_into_its_caller
from fairshap._kernels.games import (
    add_logistic_gaps,
    add_weighted,
    logistic_gap,
    raise_to_logistic_gap,
    subset_products,
)
from fairshap._kernels.paths import INVERSE, MET, ODDS, OTHER, OWN, Room, count_bits
from fairshap._typing import Floats, Ints


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
    scale: float,
    weights: Floats,
    room: Room,
) -> tuple[float, float]:
    """Sum up the risks of all coalitions, whose margins are multiplied as exponentials.

    ``exp(-m)`` of a coalition is a product over its subsets, and the factors are those of the paths: no
    exponential is taken for a coalition.
    """
    size = 1 << (n_level + n_difference)
    level, direct = room.level[:size], room.direct[:size]
    level[:] = 1.0
    used_direct = False
    for k in range(n_paths):
        if masks[k, MET] & 1:
            used_direct = _multiply_path(
                masks[k, OWN],
                masks[k, OTHER],
                amounts[k, ODDS],
                amounts[k, INVERSE],
                level,
                direct,
                used_direct,
            )
    level[0] *= np.exp(-scale * constant)
    subset_products(level)
    if used_direct:
        for j in range(size):
            level[j] *= direct[j]
    _differences_by_products(masks, amounts, n_paths, n_level, n_difference, everyone, room)
    by_level, by_difference = room.by_level[: 1 << n_level], room.by_difference
    risk, difference = room.risk[: 1 << n_level], room.difference
    for block in range(1 << n_difference):
        odds = level[block << n_level : (block + 1) << n_level]
        # The weights go by the size of the coalition only: those of the first block of that size do.
        start = ((1 << count_bits(block)) - 1) << n_level
        weight = weights[start : start + (1 << n_level)]
        if len(contrasts) == 1:
            a, b = difference[contrasts[0, 0], block], difference[contrasts[0, 1], block]
            by_difference[block] = add_logistic_gaps(odds, a, b, weight, by_level)
        else:
            risk[:] = 0.0
            for c in range(len(contrasts)):
                a, b = difference[contrasts[c, 0], block], difference[contrasts[c, 1], block]
                raise_to_logistic_gap(risk, odds, a, b)
            by_difference[block] = add_weighted(risk, weight, by_level)
    full, empty = 0.0, 0.0
    last = (1 << n_difference) - 1
    for c in range(len(contrasts)):
        one, other = difference[contrasts[c, 0]], difference[contrasts[c, 1]]
        full = max(full, logistic_gap(level[size - 1], one[last], other[last]))
        empty = max(empty, logistic_gap(level[0], one[0], other[0]))
    return full, empty


@compiled_into_its_caller
def _multiply_path(
    own: int, other: int, odds: float, inverse: float, level: Floats, direct: Floats, used: bool
) -> bool:
    """Multiply the coalitions that a path is open to; return whether ``direct`` is in use."""
    free = (len(level) - 1) & ~(own | other)
    if count_bits(free) < count_bits(other):
        if not used:
            direct[:] = 1.0
            used = True
        part = free
        direct[own | part] *= odds
        while part != 0:
            part = (part - 1) & free
            direct[own | part] *= odds
    else:
        # Inclusion and exclusion: the products that follow cancel the odds wherever one of other takes part.
        part = other
        level[own | part] *= inverse if count_bits(part) & 1 else odds
        while part != 0:
            part = (part - 1) & other
            level[own | part] *= inverse if count_bits(part) & 1 else odds
    return used


@compiled
def _differences_by_products(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    n_level: int,
    n_difference: int,
    everyone: int,
    room: Room,
) -> None:
    """Write for each value of the attribute the odds over those of the first value."""
    size = 1 << n_difference
    room.difference[0, :size] = 1.0
    direct = room.direct[:size]
    a = 1
    while (1 << a) <= everyone:
        factors = room.difference[a, :size]
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
        subset_products(factors)
        if used_direct:
            for j in range(size):
                factors[j] *= direct[j]
        a += 1
