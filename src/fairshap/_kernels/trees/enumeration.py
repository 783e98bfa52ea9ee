"""The risks of all coalitions of a game, from the paths that lead to its outputs, and its Shapley values.

Most players matter to the level of the output only: few change the *difference* that the attribute makes. So
the difference has a small table of its own, and the level a large one, which is all that is enumerated.

Margins go through the link as products of exponentials, or as sums where there is no link or where the
exponentials would overflow. Products are taken a chunk at a time: the coalitions of the low players, for each
coalition of the high ones. A chunk stays in the processor's cache, however many players there are.
"""

import math
from typing import Any

import numpy as np

from fairshap._kernels.compiling import inlined, inner
from fairshap._kernels.trees.ensemble import Output
from fairshap._kernels.trees.games import (
    LANES,
    N_TABLES,
    NO,
    NO_VALUE,
    Room,
    add_logistic_gaps,
    add_weighted,
    arrange,
    count_bits,
    logistic_gap,
    raise_to_logistic_gap,
    risk_of_margins,
    subset_products,
    sum_paths,
    sums_by_player,
)
from fairshap._kernels.trees.paths import INVERSE, MET, ODDS, OTHER, OWN, VALUE
from fairshap._typing import Floats, Ints

# The players whose coalitions are multiplied side by side.
_LOW = LANES.bit_length() - 1
# The players of a chunk, at least: 2^12 coalitions are 32 KiB.
_CHUNK = 12
# Margins up to which their exponentials can be multiplied without an overflow: those of all paths, and
# those of any four coalitions.
_SAFE, _SAFE_BY_FOUR = 600.0, 150.0
# In place of a coalition of high players, and no literal: kernels are compiled for literals apart.
_NOBODY: Any = np.int64(-1)
# The tables of a room: what all chunks have in common, what is multiplied after the subsets, the chunk, the
# risks; the sums by the level's players and by the difference's; and from the last one on the differences.
_BASE, _BASE_DIRECT, _LEVEL, _DIRECT, _RISK, _BY_LEVEL, _BY_DIFFERENCE, _DIFFERENCE = range(N_TABLES + 1)


@inner
def is_safe(amounts: Floats, constant: float, low: float, high: float, scale: float) -> bool:
    """Say whether exponentials of margins, which are within a range, can be multiplied."""
    total = abs(constant)
    for k in range(len(amounts)):
        total += abs(amounts[k, VALUE])
    limit = _SAFE_BY_FOUR / abs(scale)
    return total * abs(scale) < _SAFE and -limit < low and high < limit


@inlined
def solve_by_products(
    masks: Ints,
    amounts: Floats,
    constant: float,
    q: int,
    n_alternatives: int,
    output: Output,
    weights: Floats,
    room: Room,
    phi: Floats,
) -> tuple[float, float]:
    """Write the Shapley values of a game of q players; return the risks of the full and the empty coalition.

    The paths, some of which are not open to all values of the attribute, are used up. Every coalition has the
    ``constant`` besides. ``exp(-m)`` of a coalition is a product over its subsets, and the factors are those
    of the paths: no exponential is taken for a coalition.
    """
    tables = room.tables
    n_level = arrange(masks, q, (1 << n_alternatives) - 1, room.place, room.moved)
    if len(output.contrasts) == 0 and n_level > _CHUNK:
        # Nobody is a player of the difference, so that anybody can take the place of one.
        n_level = _CHUNK
    n_difference = q - n_level
    n_low = n_level if n_level > _CHUNK else _CHUNK
    n_low = n_low if n_low < q else q
    # The differences of all values of the attribute, then what all chunks have in common.
    value, against, first, n, table, of_direct = 0, 0, n_level, n_difference, _DIFFERENCE, _DIRECT
    for a in range(n_alternatives + 1):
        value, table = a, _DIFFERENCE + a
        if a == n_alternatives:
            value, against, first, n, table, of_direct = 0, NO_VALUE, 0, n_low, _BASE, _BASE_DIRECT
        size = 1 << n if n > _LOW else LANES
        level, direct = tables[table, :size], tables[of_direct, :size]
        for j in range(size):
            level[j] = 1.0
        used = _multiply_paths(masks, amounts, value, against, first, n, _NOBODY, level, direct, NO)
        if a < n_alternatives:
            _multiply_subsets(level, direct, used)
    base, base_direct = level, direct
    level, direct = tables[_LEVEL, :size], tables[_DIRECT, :size]
    by_level, by_difference = tables[_BY_LEVEL, : 1 << n_level], tables[_BY_DIFFERENCE, : 1 << n_difference]
    for j in range(1 << n_level):
        by_level[j] = 0.0
    odds = math.exp(-output.scale * constant)
    for j in range(LANES):
        base[j] *= odds
    empty = 0.0
    for high in range(1 << (q - n_low)):
        for j in range(size):
            level[j] = base[j]
        if used:
            for j in range(size):
                direct[j] = base_direct[j]
        used_here = used
        if n_low < q:
            used_here = _multiply_paths(
                masks, amounts, value, against, first, n_low, high, level, direct, used
            )
        _multiply_subsets(level, direct, used_here)
        for low in range(1 << (n_low - n_level)):
            block = (high << (n_low - n_level)) + low
            # The weights go by the size of the coalition only: those of the first block of that size do.
            weight = (1 << q) + (((1 << count_bits(block)) - 1) << n_level)
            by_difference[block] = _add_block(
                level, low << n_level, weights, weight, 1 << n_level, tables, block, output, by_level
            )
            if block == 0:
                empty = _risk(level[0], tables, block, output)
    full = _risk(level[(1 << n_low) - 1], tables, (1 << n_difference) - 1, output)
    sums_by_player(by_level, n_level, room.sums)
    sums_by_player(by_difference, n_difference, room.sums[n_level:])
    _share_out(room.sums[:q], full - empty, room.place, 0, phi)
    return full, empty


@inlined
def solve_by_sums(
    masks: Ints,
    amounts: Floats,
    constant: float,
    q: int,
    outputs: Floats,
    output: Output,
    weights: Floats,
    room: Room,
    phi: Floats,
) -> tuple[float, float]:
    """Do the same where there is no link or where exponentials would overflow."""
    tables, against, first = room.tables, NO_VALUE, 0
    if not output.is_logistic:
        # A player that leaves the difference alone is a dummy.
        first = arrange(masks, q, (1 << len(outputs)) - 1, room.place, room.moved)
        against, constant = 0, 0.0
    else:
        for s in range(q):
            room.place[s] = s
    size = 1 << (q - first)
    risk, total = tables[_RISK, :size], tables[_BY_LEVEL, :size]
    for a in range(len(outputs)):
        margins = tables[_DIFFERENCE + a, :size]
        sum_paths(masks, amounts, a, against, first, constant, margins, tables[_DIRECT])
    for j in range(size):
        risk[j], total[j] = risk_of_margins(output, tables[_DIFFERENCE:, j], outputs), 0.0
    full, empty = risk[size - 1], risk[0]
    add_weighted(risk, weights[size : 2 * size], total)
    sums_by_player(total, q - first, room.sums)
    _share_out(room.sums[: q - first], full - empty, room.place, first, phi)
    return full, empty


@inner
def _share_out(sums: Floats, gain: float, place: Ints, first: int, phi: Floats) -> None:
    """Write the values of players, from place ``first`` on, which are their sums and add up to the gain."""
    rest = -gain
    for k in range(len(sums)):
        rest += sums[k]
    for s in range(len(phi)):
        k = place[s] - first
        phi[s] = sums[k] - rest / len(sums) if k >= 0 else 0.0


@inner
def _risk(odds: float, tables: Floats, block: int, output: Output) -> float:
    """Return the risk of one coalition."""
    contrasts = output.contrasts
    if len(contrasts) == 0:
        return 1.0 / (1.0 + odds)
    total, largest = 0.0, 0.0
    for c in range(len(contrasts)):
        a, b = tables[_DIFFERENCE + contrasts[c, 0], block], tables[_DIFFERENCE + contrasts[c, 1], block]
        gap = logistic_gap(odds, a, b)
        total += gap
        largest = gap if gap > largest else largest
    return total / len(contrasts) if output.is_mean else largest


@inner
def _add_block(
    level: Floats,
    first: int,
    weights: Floats,
    weight: int,
    n: int,
    tables: Floats,
    block: int,
    output: Output,
    by_level: Floats,
) -> float:
    """Add the risks of the n coalitions that have the same players of the difference; return their sum."""
    contrasts, risk, total, n_contrasts = output.contrasts, tables[_RISK], 0.0, len(output.contrasts)
    is_sum = output.is_mean or n_contrasts < 2
    # Without contrasts, the gap to an output of 1 is taken off. That shifts all sums by the same.
    a, b, share = 1.0, 0.0, 1.0 / n_contrasts if n_contrasts else -1.0
    if not is_sum:
        for j in range(n):
            risk[j] = 0.0
    for c in range(n_contrasts if n_contrasts else 1):
        if n_contrasts:
            a, b = tables[_DIFFERENCE + contrasts[c, 0], block], tables[_DIFFERENCE + contrasts[c, 1], block]
        if is_sum:
            total += add_logistic_gaps(level, first, a, b, share, weights, weight, by_level, n)
        else:
            raise_to_logistic_gap(risk[:n], level[first : first + n], a, b)
    if not is_sum:
        total = add_weighted(risk[:n], weights[weight : weight + n], by_level)
    return total


@inner
def _multiply_paths(
    masks: Ints,
    amounts: Floats,
    value: int,
    against: int,
    first: int,
    n_low: int,
    high: int,
    level: Floats,
    direct: Floats,
    used: bool,
) -> bool:
    """Multiply coalitions by the odds of the paths open to them; return whether ``direct`` is in use.

    The odds are those of a value of the attribute over those of another one. The players are those from bit
    ``first`` on. Taken are the paths that name some of the players above the low ones and are open to these
    ``high`` ones, or, if that is -1, those that name none of them. :func:`_multiply_subsets` follows.
    """
    below = len(level) - 1
    for k in range(len(masks)):
        sign = (masks[k, MET] >> value & 1) - (masks[k, MET] >> against & 1)
        own, other = masks[k, OWN] >> first, masks[k, OTHER] >> first
        high_own, high_other = own >> n_low, other >> n_low
        if sign == 0 or ((high_own | high_other) == 0) != (high < 0):
            continue
        if high >= 0 and (high_own & ~high) | (high_other & high) != 0:
            continue
        odds, inverse = amounts[k, ODDS], amounts[k, INVERSE]
        if sign < 0:
            odds, inverse = inverse, odds
        own_row, other_row = (own & below) >> _LOW, (other & below) >> _LOW
        free = (below >> _LOW) & ~(own_row | other_row)
        own, other = own & (LANES - 1), other & (LANES - 1)
        # The coalitions that the path is open to may be fewer than those that cancel it elsewhere.
        is_direct = count_bits(free) < count_bits(other_row)
        if is_direct and not used:
            used = ~NO
            for j in range(len(direct)):
                direct[j] = 1.0
        parts = free if is_direct else other_row
        part = parts
        while True:
            # By inclusion and exclusion: the products that follow cancel the odds wherever one of ``other``
            # takes part.
            factor = inverse if not is_direct and count_bits(part) & 1 else odds
            row = (own_row | part) * LANES
            lanes = direct[row : row + LANES] if is_direct else level[row : row + LANES]
            # Without a branch: all lanes are multiplied at a time.
            for lane in range(LANES):
                is_open = (own & ~lane) | (other & lane) == 0
                lanes[lane] *= factor if is_open else 1.0
            if part == 0:
                break
            part = (part - 1) & parts
    return used


@inner
def _multiply_subsets(level: Floats, direct: Floats, used: bool) -> None:
    """Replace the odds of each coalition by the product over its subsets, and by what is had directly."""
    subset_products(level, LANES)
    if used:
        for j in range(len(level)):
            level[j] *= direct[j]
