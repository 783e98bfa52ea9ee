"""Tables with one number for each coalition of a game, and the gaps between its outputs."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import inner, inner_in_any_order
from fairshap._kernels.trees.paths import MET, MOST_PLAYERS, OTHER, OWN
from fairshap._typing import Floats, Ints

# The coalitions of the lowest players, five of them, whose products are taken side by side.
LANES = 32
# The bits of a coalition that are looked up at a time.
_DIGIT = 10
# The coalitions that are finished before the next are begun: they fit into the first and the second cache.
_INNER, _OUTER = 1 << 11, 1 << 16


class Room(NamedTuple):
    """What solving a game works in: tables by coalition, and the places that players get in them."""

    base: Floats
    level: Floats
    direct: Floats
    difference: Floats
    risk: Floats
    by_level: Floats
    by_difference: Floats
    sums: Floats
    place: Ints
    moved: Ints


@inner
def count_bits(bits: int) -> int:
    """Return how many players a coalition has."""
    n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


@inner
def make_room(most: int, n_alternatives: int) -> Room:
    """Return room for games of so many players and values of the attribute."""
    size = max(1 << most, LANES)
    return Room(
        np.empty(size),
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


@inner
def players_of_difference(masks: Ints, everyone: int) -> int:
    """Return the players on whom it depends what difference the attribute makes."""
    players = 0
    for k in range(len(masks)):
        if masks[k, MET] != everyone:
            players |= masks[k, OWN] | masks[k, OTHER]
    return players


@inner
def arrange(masks: Ints, q: int, everyone: int, room: Room) -> int:
    """Give the players of the level the low bits and those of the difference the high ones.

    Return how many the latter are.
    """
    players = players_of_difference(masks, everyone)
    n_level = q - count_bits(players)
    low, high = 0, n_level
    place, moved = room.place, room.moved
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
            masks[k, OWN] = _move_bits(masks[k, OWN], q, moved)
            masks[k, OTHER] = _move_bits(masks[k, OTHER], q, moved)
    return q - n_level


@inner
def _move_bits(bits: int, q: int, moved: Ints) -> int:
    result = moved[0, bits & ((1 << _DIGIT) - 1)]
    for digit in range(1, (q + _DIGIT - 1) // _DIGIT):
        result |= moved[digit, bits >> (digit * _DIGIT) & ((1 << _DIGIT) - 1)]
    return result  # type: ignore[no-any-return]


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

    The players below bit ``step`` have been done.
    """
    size = len(values)
    near, far = min(size, _INNER), min(size, _OUTER)
    for outer in range(0, size, far):
        for start in range(outer, outer + far, near):
            _multiply_up(values[start : start + near], step)
        _multiply_up(values[outer : outer + far], near)
    _multiply_up(values, far)


@inner
def _multiply_up(values: Floats, step: int) -> None:
    """Do the players from bit ``step`` on, two at a time, which halves what is read and written."""
    size = len(values)
    while 4 * step <= size:
        for start in range(0, size, 4 * step):
            # As four arrays, so that the compiler sees that they do not overlap.
            none, first = values[start : start + step], values[start + step : start + 2 * step]
            second = values[start + 2 * step : start + 3 * step]
            both = values[start + 3 * step : start + 4 * step]
            for k in range(step):
                one, other = first[k] * none[k], second[k] * none[k]
                both[k] = both[k] * second[k] * one
                first[k], second[k] = one, other
        step *= 4
    if step < size:
        lower, upper = values[:step], values[step : 2 * step]
        for k in range(step):
            upper[k] *= lower[k]


@inner
def logistic(margin: float) -> float:
    """Return ``1 / (1 + exp(-margin))``, also where the exponential would overflow."""
    odds = np.exp(-abs(margin))
    return (1.0 if margin >= 0 else odds) / (1.0 + odds)  # type: ignore[no-any-return]


@inner
def join_gap(risk: float, gap: float, n: int, is_mean: bool) -> float:
    """Return the risk with one of n gaps more: their mean or the largest."""
    return risk + gap / n if is_mean else max(risk, gap)


@inner
def risk_of_outputs(outputs: Floats, contrasts: Ints, is_mean: bool) -> float:
    """Return the mean or the largest gap between two outputs that are compared."""
    risk = 0.0
    for c in range(len(contrasts)):
        gap = abs(outputs[contrasts[c, 0]] - outputs[contrasts[c, 1]])
        risk = join_gap(risk, gap, len(contrasts), is_mean)
    return risk


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
