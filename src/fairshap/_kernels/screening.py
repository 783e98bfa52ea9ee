"""How large the values of a pair can be at most, without enumerating its coalitions."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.descending import BLOCK
from fairshap._kernels.games import largest_gap, logistic
from fairshap._kernels.paths import (
    MOST_PLAYERS,
    VALUE,
    arrange,
    count_bits,
    make_room,
    players_of_difference,
)
from fairshap._kernels.sums import differences_by_sums
from fairshap._kernels.walking import Walker, collect, lay_out, make_desk
from fairshap._typing import Codes, Floats, Ints

# Players of the difference up to which its table is made.
MOST_SCREENED = 14


@compiled
def bound_pairs(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    weights: Floats,
    bounds: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Write for each pair a number that no player's value exceeds, and the risks of the two rows.

    The difference that the attribute makes is tabulated; of the level only the range is known. With U and L
    the largest and the smallest risk of a coalition of the difference's players, whatever the others do,
    ``phi_k`` is at most the weighted sum of ``U(S + k) - L(S)``.

    Parameters
    ----------
    walker, rows, references, switched
        As in :func:`~fairshap._kernels.pairs.solve_pairs`.
    weights : ndarray, shape (MOST_SCREENED + 2, MOST_SCREENED + 2)
        The Shapley weight of a coalition, by the number of players and its size.
    bounds, full, empty : ndarray of float, shape (pairs,)
        Written; the risks are those of the full and the empty coalition.
    """
    n_alternatives = switched.shape[1]
    desk = make_desk(walker, n_alternatives)
    masks, amounts = desk.masks, desk.amounts
    everyone = (1 << n_alternatives) - 1
    room = make_room(MOST_SCREENED, n_alternatives)
    largest, smallest = room.by_level, room.by_difference
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        values = switched[start:stop] if len(switched) > 1 else switched
        lay_out(walker, rows[start:stop], references[start:stop], values, desk)
        for i in range(start, stop):
            j = i - start
            q, n, constant, low, high = collect(
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j
            )
            full[i] = _risk_of_leaves(walker, desk.leaves[0], n_alternatives, j)
            empty[i] = _risk_of_leaves(walker, desk.leaves[1], n_alternatives, j)
            bounds[i] = 0.0
            if q > MOST_PLAYERS or count_bits(players_of_difference(masks, n, everyone)) > MOST_SCREENED:
                bounds[i] = np.inf
            elif n:
                n_difference = arrange(masks, n, q, everyone, room)
                first = q - n_difference
                differences_by_sums(
                    masks, amounts, n, first, n_difference, everyone, room.difference, room.direct
                )
                one = walker.base + walker.scale * (constant + low)
                other = walker.base + walker.scale * (constant + high)
                _bound_risks(
                    walker, room.difference, n_difference, min(one, other), max(one, other), largest, smallest
                )
                n_level = first if walker.is_logistic else 0
                bounds[i] = _largest_value(largest, smallest, n_difference, n_level, weights)


@compiled
def _risk_of_leaves(walker: Walker, leaves: Codes, n_alternatives: int, j: int) -> float:
    """Return the risk of the row whose leaves stand in column ``j``."""
    n_switching = walker.descent.n_switching
    shared = 0.0
    for line in range(n_switching * n_alternatives, len(leaves)):
        shared += walker.leaf[leaves[line, j], VALUE]
    outputs = np.empty(n_alternatives)
    for a in range(n_alternatives):
        margin = shared
        for t in range(n_switching):
            margin += walker.leaf[leaves[t * n_alternatives + a, j], VALUE]
        output = walker.base + walker.scale * margin
        outputs[a] = logistic(output) if walker.is_logistic else output
    return largest_gap(outputs, walker.contrasts)


@compiled
def _bound_risks(
    walker: Walker,
    difference: Floats,
    n_difference: int,
    low: float,
    high: float,
    largest: Floats,
    smallest: Floats,
) -> None:
    """Write the largest and the smallest risk of each coalition, for margins from ``low`` to ``high``."""
    contrasts = walker.contrasts
    for k in range(1 << n_difference):
        largest[k], smallest[k] = 0.0, 0.0
        for c in range(len(contrasts)):
            gap = abs(walker.scale * (difference[contrasts[c, 0], k] - difference[contrasts[c, 1], k]))
            top, bottom = gap, gap
            if walker.is_logistic:
                # The gap is largest where the two margins lie on either side of 0, as far from it.
                last = max(low, high - gap)
                peak = min(max(-gap / 2, low), last)
                top = logistic(peak + gap) - logistic(peak)
                bottom = min(
                    logistic(low + gap) - logistic(low),
                    logistic(last + gap) - logistic(last),
                )
            largest[k], smallest[k] = max(largest[k], top), max(smallest[k], bottom)


@compiled
def _largest_value(
    largest: Floats, smallest: Floats, n_difference: int, n_level: int, weights: Floats
) -> float:
    """Return the largest bound of any player."""
    bound = 0.0
    if n_level:
        # A player of the level joins a coalition of the others; the difference stays what it is.
        for k in range(1 << n_difference):
            bound += weights[n_difference + 1, count_bits(k)] * (largest[k] - smallest[k])
    for s in range(n_difference):
        total = 0.0
        for k in range(1 << n_difference):
            if not k >> s & 1:
                total += weights[n_difference, count_bits(k)] * (largest[k | 1 << s] - smallest[k])
        bound = max(bound, total)
    return bound
