"""The Shapley values of one game, from the paths that lead to its outputs.

A path says which players must keep the row's values and which must take the reference's, and which values
of the attribute come along it; the output of a coalition is the sum over the paths open to it. Paths come
as two arrays: ``masks`` holds those three as bits, ``amounts`` the path's value,
``exp(-scale * value)`` and its inverse.
Most players matter to the level of the output only: few change the *difference* that the attribute
makes. So the difference has a small table of its own, and the level a large one, which is all
that is enumerated.
"""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_into_its_caller
from fairshap._kernels.games import (
    add_logistic_gaps,
    add_weighted,
    logistic,
    logistic_gap,
    raise_to_logistic_gap,
    subset_products,
    subset_sums,
    sums_by_player,
)
from fairshap._typing import Floats, Ints

# A coalition is the bits of one number.
MOST_PLAYERS = 62
# Margins up to which their exponentials can be multiplied without an overflow.
_SAFE = 600.0
# The columns of the two arrays.
OWN, OTHER, MET = range(3)
VALUE, ODDS, INVERSE = range(3)
# The bits of a coalition that are looked up at a time.
_DIGIT = 10


class Room(NamedTuple):
    """What solving a game works in: tables by coalition, and the places that players get in them."""

    level: Floats
    direct: Floats
    difference: Floats
    risk: Floats
    by_level: Floats
    by_difference: Floats
    sums: Floats
    place: Ints
    moved: Ints


@compiled
def make_room(most: int, n_alternatives: int) -> Room:
    """Return room for games of so many players and values of the attribute."""
    size = 1 << most
    return Room(
        np.empty(size),
        np.empty(size),
        np.empty((n_alternatives, size)),
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(most),
        np.empty(MOST_PLAYERS, dtype=np.int64),
        np.zeros((MOST_PLAYERS // _DIGIT + 1, 1 << _DIGIT), dtype=np.int64),
    )


@compiled
def count_bits(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@compiled
def players_of_difference(masks: Ints, n_paths: int, everyone: int) -> int:
    """Return the players on whom it depends what difference the attribute makes."""
    players = 0
    for k in range(n_paths):
        if masks[k, MET] != everyone:
            players |= masks[k, OWN] | masks[k, OTHER]
    return players


@compiled
def solve_game(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    q: int,
    everyone: int,
    contrasts: Ints,
    scale: float,
    is_logistic: bool,
    weights: Floats,
    room: Room,
    phi: Floats,
) -> tuple[float, float]:
    """Write the Shapley values of a game and return the risks of the full and the empty coalition.

    Parameters
    ----------
    masks, amounts, n_paths : ndarray of int, ndarray of float, int
        The paths; they are used up. Some are not open to all values of the attribute.
    constant : float
        What every coalition has besides.
    q : int
        The number of players that the paths speak of.
    everyone : int
        All values of the attribute, as bits.
    contrasts : ndarray of int, shape (contrasts, 2)
        Which of them are compared.
    scale, is_logistic : float, bool
        The output is ``scale * margin``, through the logistic function or as it is.
    weights : ndarray
        Those of :func:`~fairshap._kernels.games.coalition_weights`.
    room : Room
        For q players at least.
    phi : ndarray, shape (q,)
        Written.
    """
    n_difference = arrange(masks, n_paths, q, everyone, room)
    # Without a link a player that leaves the difference alone is a dummy.
    n_level = q - n_difference if is_logistic else 0
    first = q - n_difference
    n_players = n_level + n_difference
    by_level, by_difference = room.by_level[: 1 << n_level], room.by_difference[: 1 << n_difference]
    by_level[:] = 0.0
    weight = weights[1 << n_players : 2 << n_players]
    total = abs(constant)
    for k in range(n_paths):
        total += abs(amounts[k, VALUE])
    if is_logistic and total * abs(scale) < _SAFE:
        full, empty = _risks_by_products(
            masks, amounts, n_paths, constant, n_level, n_difference, everyone, contrasts, scale, weight, room
        )
    else:
        full, empty = _risks_by_sums(
            masks,
            amounts,
            n_paths,
            constant,
            first,
            n_level,
            n_difference,
            everyone,
            contrasts,
            scale,
            is_logistic,
            weight,
            room,
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


@compiled
def arrange(masks: Ints, n_paths: int, q: int, everyone: int, room: Room) -> int:
    """Give the players of the level the low bits and those of the difference the high ones.

    Return how many the latter are.
    """
    players = players_of_difference(masks, n_paths, everyone)
    n_level = q - count_bits(players)
    low, high = 0, n_level
    place = room.place
    for s in range(q):
        if players >> s & 1:
            place[s] = high
            high += 1
        else:
            place[s] = low
            low += 1
    if 0 < n_level < q:
        moved = room.moved
        _tabulate_moves(place, q, moved)
        for k in range(n_paths):
            masks[k, OWN] = _move_bits(masks[k, OWN], q, moved)
            masks[k, OTHER] = _move_bits(masks[k, OTHER], q, moved)
    return q - n_level


@compiled
def _tabulate_moves(place: Ints, q: int, moved: Ints) -> None:
    """Write where all bits of a coalition go, for each value of some bits at a time."""
    for digit in range((q + _DIGIT - 1) // _DIGIT):
        first = digit * _DIGIT
        for s in range(first, min(q, first + _DIGIT)):
            known = 1 << (s - first)
            for bits in range(known):
                moved[digit, known + bits] = moved[digit, bits] | 1 << place[s]


@compiled
def _move_bits(bits: int, q: int, moved: Ints) -> int:
    result = moved[0, bits & ((1 << _DIGIT) - 1)]
    for digit in range(1, (q + _DIGIT - 1) // _DIGIT):
        result |= moved[digit, bits >> (digit * _DIGIT) & ((1 << _DIGIT) - 1)]
    return result  # type: ignore[no-any-return]


@compiled
def _risks_by_products(
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


@compiled
def _risks_by_sums(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    first: int,
    n_level: int,
    n_difference: int,
    everyone: int,
    contrasts: Ints,
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
                used_direct = _add_path(
                    masks[k, OWN], masks[k, OTHER], amounts[k, VALUE], level, direct, used_direct
                )
        level[0] += constant
        subset_sums(level)
        if used_direct:
            for j in range(size):
                level[j] += direct[j]
    difference = room.difference
    differences_by_sums(masks, amounts, n_paths, first, n_difference, everyone, difference, direct)
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
                here = max(here, gap)
            weighted = here * weights[(block << n_level) + k]
            by_level[k] += weighted
            by_difference[block] += weighted
            if block == 0 and k == 0:
                empty = here
            full = here
    return full, empty


@compiled
def differences_by_sums(
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
                used_direct = _add_path(
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
def _add_path(own: int, other: int, value: float, level: Floats, direct: Floats, used: bool) -> bool:
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
