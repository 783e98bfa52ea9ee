"""How large the values of a pair can be at most, without enumerating its coalitions."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.descending import BLOCK
from fairshap._kernels.games import join_gap, logistic, risk_of_outputs
from fairshap._kernels.paths import (
    MET,
    MOST_PLAYERS,
    OTHER,
    OWN,
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
        Written; the risks are those of the full and the empty coalition, where there is a bound.
    """
    n_alternatives = switched.shape[1]
    desk = make_desk(walker)
    masks, amounts = desk.masks, desk.amounts
    everyone = (1 << n_alternatives) - 1
    room = make_room(MOST_SCREENED, n_alternatives)
    largest, smallest = room.by_level, room.by_difference
    outputs = np.empty(n_alternatives)
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        values = switched[start:stop] if len(switched) > 1 else switched
        lay_out(walker, rows[start:stop], references[start:stop], desk)
        for i in range(start, stop):
            j = i - start
            q, n, constant, low, high = collect(
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j
            )
            bounds[i], full[i], empty[i] = 0.0, 0.0, 0.0
            if q > MOST_PLAYERS or count_bits(players_of_difference(masks, n, everyone)) > MOST_SCREENED:
                bounds[i] = np.inf
            elif n:
                full[i] = _risk_of_paths(walker, masks, amounts, n, constant, OTHER, outputs)
                empty[i] = _risk_of_paths(walker, masks, amounts, n, constant, OWN, outputs)
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
def _risk_of_paths(
    walker: Walker, masks: Ints, amounts: Floats, n_paths: int, constant: float, side: int, outputs: Floats
) -> float:
    """Return the risk of the coalition that all paths are open to for which nobody stands on a side."""
    outputs[:] = constant
    for k in range(n_paths):
        if masks[k, side] == 0:
            for a in range(len(outputs)):
                if masks[k, MET] >> a & 1:
                    outputs[a] += amounts[k, VALUE]
    for a in range(len(outputs)):
        outputs[a] = walker.base + walker.scale * outputs[a]
        if walker.is_logistic:
            outputs[a] = logistic(outputs[a])
    return risk_of_outputs(outputs, walker.contrasts, walker.is_mean)


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
            largest[k] = join_gap(largest[k], top, len(contrasts), walker.is_mean)
            smallest[k] = join_gap(smallest[k], bottom, len(contrasts), walker.is_mean)


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
