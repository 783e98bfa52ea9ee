"""Tables with one number for each coalition of a game, and the gaps between its outputs.

A game without contrasts compares no values of the attribute: a coalition is worth its output itself.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from fairshap._kernels.compiling import inner, inner_in_any_order
from fairshap._kernels.trees.ensemble import Output
from fairshap._kernels.trees.paths import MET, MOST_PLAYERS, OTHER, OWN, VALUE
from fairshap._typing import Floats, Ints

# The coalitions of the lowest players, five of them, whose products are taken side by side.
LANES = 32
# The bits of a coalition that are looked up at a time.
_DIGIT = 10
# The coalitions that are finished before the next are begun, which fit into the first cache, and how many
# times as many are finished then.
_INNER, _WIDER = 1 << 11, 32
# Numbers between the tables of a room: those at powers of two would contend for the same lines of the cache.
_GAP = 40
#: The tables of a room beside one for each value of the attribute.
N_TABLES = 7
# False, but no literal: kernels are compiled for literals apart.
NO: Any = np.bool_(False)
# In place of a value of the attribute: no path is met by it.
NO_VALUE = MOST_PLAYERS


class Room(NamedTuple):
    """What solving a game works in: tables by coalition, and the places that players get in them."""

    #: shape (tables, coalitions)
    tables: Floats
    #: shape (players,)
    sums: Floats
    place: Ints
    moved: Ints


def make_room(most: int, n_alternatives: int) -> Room:
    """Return room for games of so many players and values of the attribute."""
    size = max(1 << max(most, 0), LANES)
    return Room(
        np.empty((N_TABLES + n_alternatives, size + _GAP)),
        np.empty(max(most, 0)),
        np.empty(MOST_PLAYERS, dtype=np.int64),
        np.zeros((MOST_PLAYERS // _DIGIT + 1, 1 << _DIGIT), dtype=np.int64),
    )


@inner
def count_bits(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@inner
def players_of_difference(masks: Ints, everyone: int) -> int:
    """Return the players on whom it depends what difference the attribute makes."""
    players = 0
    for k in range(len(masks)):
        if masks[k, MET] != everyone:
            players |= masks[k, OWN] | masks[k, OTHER]
    return players


@inner
def arrange(masks: Ints, q: int, everyone: int, place: Ints, moved: Ints) -> int:
    """Give the players of the level the low bits and those of the difference the high ones.

    Return how many the former are.
    """
    players = players_of_difference(masks, everyone)
    n_level = q - count_bits(players)
    low, high = 0, n_level
    for s in range(q):
        if players >> s & 1:
            place[s] = high
            high += 1
        else:
            place[s] = low
            low += 1
    if 0 < n_level < q:
        # Where all bits of a coalition go, for each value of some bits at a time.
        for s in range(q):
            digit, known = s // _DIGIT, 1 << s % _DIGIT
            for bits in range(known):
                moved[digit, known + bits] = moved[digit, bits] | 1 << place[s]
        for k in range(len(masks)):
            for kind in range(OTHER + 1):
                bits = masks[k, kind]
                result = moved[0, bits & ((1 << _DIGIT) - 1)]
                for digit in range(1, (q + _DIGIT - 1) // _DIGIT):
                    result |= moved[digit, bits >> (digit * _DIGIT) & ((1 << _DIGIT) - 1)]
                masks[k, kind] = result
    return n_level


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
    for j in range(len(margins)):
        margins[j] = 0.0
    used = NO
    for k in range(len(masks)):
        sign = (masks[k, MET] >> value & 1) - (masks[k, MET] >> against & 1)
        if sign == 0:
            continue
        own, other, amount = masks[k, OWN] >> first, masks[k, OTHER] >> first, sign * amounts[k, VALUE]
        free = (len(margins) - 1) & ~(own | other)
        # The coalitions that the path is open to may be fewer than those that cancel it elsewhere.
        is_direct = count_bits(free) < count_bits(other)
        if is_direct and not used:
            used = ~NO
            for j in range(len(margins)):
                direct[j] = 0.0
        part = free if is_direct else other
        while True:
            if is_direct:
                direct[own | part] += amount
            else:
                # The sums that follow cancel the value wherever one of ``other`` takes part.
                margins[own | part] += -amount if count_bits(part) & 1 else amount
            if part == 0:
                break
            part = (part - 1) & (free if is_direct else other)
    margins[0] += constant
    subset_sums(margins)
    if used:
        for j in range(len(margins)):
            margins[j] += direct[j]


@inner
def subset_sums(values: Floats) -> None:
    """Replace the value of each coalition by the sum over its subsets."""
    step = 1
    while step < len(values):
        for start in range(0, len(values), 2 * step):
            # As two arrays, so that the compiler sees that they do not overlap.
            without, with_one = values[start : start + step], values[start + step : start + 2 * step]
            for k in range(step):
                with_one[k] += without[k]
        step *= 2


@inner
def subset_products(values: Floats, step: int) -> None:
    """Replace the value of each coalition by the product over its subsets.

    The players below bit ``step`` have been done. Two are done at a time, which halves what is read and
    written, first within parts that fit into the cache.
    """
    size, width = len(values), _INNER
    while step < size:
        width = width if width < size else size
        for begin in range(0, size, width):
            near = step
            while near < width:
                is_single = 2 * near == width
                for start in range(begin, begin + width, 4 * near):
                    # As four arrays, so that the compiler sees that they do not overlap.
                    none, first = values[start : start + near], values[start + near : start + 2 * near]
                    second = values[start + 2 * near : start + 3 * near]
                    both = values[start + 3 * near : start + 4 * near]
                    if is_single:
                        for k in range(near):
                            first[k] *= none[k]
                    else:
                        for k in range(near):
                            one, other = first[k] * none[k], second[k] * none[k]
                            both[k] = both[k] * second[k] * one
                            first[k], second[k] = one, other
                near *= 4
        step, width = width, width * _WIDER


@inner
def logistic(margin: float) -> float:
    """Return ``1 / (1 + exp(-margin))``, also where the exponential would overflow."""
    odds = math.exp(-margin if margin >= 0 else margin)
    return (1.0 if margin >= 0 else odds) / (1.0 + odds)


@inner
def risk_of_outputs(outputs: Floats, contrasts: Ints, is_mean: bool) -> float:
    """Return the mean or the largest gap between two outputs that are compared; without any, the output."""
    if len(contrasts) == 0:
        return outputs[0]  # type: ignore[no-any-return]
    total, largest = 0.0, 0.0
    for c in range(len(contrasts)):
        gap = abs(outputs[contrasts[c, 0]] - outputs[contrasts[c, 1]])
        total += gap
        largest = gap if gap > largest else largest
    return total / len(contrasts) if is_mean else largest


@inner
def risk_of_margins(output: Output, margins: Floats, outputs: Floats) -> float:
    """Return the risk of a coalition with these margins, one for each value of the attribute."""
    for a in range(len(outputs)):
        margin = output.base + output.scale * margins[a]
        outputs[a] = logistic(margin) if output.is_logistic else margin
    return risk_of_outputs(outputs, output.contrasts, output.is_mean)


@inner
def logistic_gap(odds: float, a: float, b: float) -> float:
    """Return the gap between two logistic outputs, ``1 / (1 + odds a)`` and ``1 / (1 + odds b)``."""
    return abs(b - a) * odds / ((1.0 + odds * a) * (1.0 + odds * b))


@inner_in_any_order
def add_logistic_gaps(
    odds: Floats,
    first: int,
    a: float,
    b: float,
    share: float,
    weights: Floats,
    first_weight: int,
    total: Floats,
    n: int,
) -> float:
    """Return the weighted sum of a share of the gaps between two logistic outputs, and add each to a total.

    The odds, n of them from ``first`` on, are the coalitions'; a and b belong to two values of the
    attribute. The product of any four odds must be a number.
    """
    # Places rather than parts of arrays, which take longer to cut out than few coalitions to add; unsigned,
    # so that none is looked at for being negative.
    half, whole = np.uint64(n // 2), np.uint64(n)
    odds_at, weight_at = np.uint64(first), np.uint64(first_weight)
    everything, numerator = 0.0, share * abs(b - a)
    for k in range(half):
        # Two quotients by one division, which takes longer than all the rest.
        one, other = odds[odds_at + k], odds[odds_at + half + k]
        below_one = (1.0 + one * a) * (1.0 + one * b)
        below_other = (1.0 + other * a) * (1.0 + other * b)
        inverse = numerator / (below_one * below_other)
        gap_one = weights[weight_at + k] * one * below_other * inverse
        gap_other = weights[weight_at + half + k] * other * below_one * inverse
        total[k] += gap_one
        total[half + k] += gap_other
        everything += gap_one + gap_other
    for k in range(half + half, whole):
        gap = weights[weight_at + k] * share * logistic_gap(odds[odds_at + k], a, b)
        total[k] += gap
        everything += gap
    return everything


@inner
def raise_to_logistic_gap(risk: Floats, odds: Floats, a: float, b: float) -> None:
    """Raise each risk to the gap between two logistic outputs, as in :func:`add_logistic_gaps`."""
    for k in range(len(odds)):
        here = logistic_gap(odds[k], a, b)
        risk[k] = here if here > risk[k] else risk[k]


@inner_in_any_order
def add_weighted(risk: Floats, weights: Floats, total: Floats) -> float:
    """Return the weighted sum of the risks, and add each to a total."""
    everything = 0.0
    for k in range(len(risk)):
        weighted = weights[k] * risk[k]
        total[k] += weighted
        everything += weighted
    return everything


@inner_in_any_order
def sums_by_player(values: Floats, n_players: int, sums: Floats) -> None:
    """Write for each player the sum over the coalitions with it; ``values`` is used up.

    The players are folded away, the last one first.
    """
    half = len(values) // 2
    for k in range(n_players - 1, -1, -1):
        lower, upper = values[:half], values[half : 2 * half]
        total = 0.0
        for j in range(half):
            total += upper[j]
            lower[j] += upper[j]
        sums[k] = total
        half //= 2
