"""The Shapley values of many pairs of rows.

Most players matter to the level of the output only: few change the *difference* that the attribute
makes. So the difference has a small table of its own, and the level a large one, which is all
that is enumerated.
"""

from fairshap._kernels.compiling import compiled
from fairshap._kernels.trees.ensemble import BLOCK
from fairshap._kernels.trees.enumeration import risks_by_products, risks_by_sums
from fairshap._kernels.trees.games import (
    MOST_PLAYERS,
    VALUE,
    Room,
    arrange,
    count_bits,
    make_room,
    players_of_difference,
    sums_by_player,
)
from fairshap._kernels.trees.walker import Walker, collect, lay_out, make_desk
from fairshap._typing import Codes, Floats, Ints


@compiled
def count_players(walker: Walker, rows: Ints, references: Ints, switched: Codes, counts: Codes) -> None:
    """Write how many players each pair's game has; more than 62 are not told apart."""
    n_alternatives = switched.shape[1]
    desk = make_desk(walker)
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        values = switched[start:stop] if len(switched) > 1 else switched
        lay_out(walker, rows[start:stop], references[start:stop], desk)
        for i in range(start, stop):
            j = i - start
            q, n, _, _, _ = collect(
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j, 0, False
            )
            # Too many players may leave no path that is finished.
            counts[i] = q if n or q > MOST_PLAYERS else 0
            if n and q <= MOST_PLAYERS and not walker.is_logistic:
                counts[i] = count_bits(players_of_difference(desk.masks, n, (1 << n_alternatives) - 1))


@compiled
def solve_pairs(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    weights: Floats,
    most: int,
    begin: Ints,
    counts: Codes,
    active: Codes,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Write the exact Shapley values of the risk of each pair.

    Parameters
    ----------
    walker : Walker
        The ensemble, the table and the attribute.
    rows, references : ndarray of int, shape (pairs,)
        Positions in the table.
    switched : ndarray of int32, shape (pairs or 1, alternatives, features)
        The ranks of the attribute's features for the values that it is switched between.
    weights : ndarray
        Those of :func:`~fairshap._kernels.trees.games.coalition_weights`.
    most : int
        The greatest number of players of a pair.
    begin : ndarray of int, shape (pairs,)
        Where each pair's part of ``active`` and ``phi`` begins.
    counts, active, phi, full, empty : ndarray
        Written: the number of active players of each pair; who they are and their values;
        the risks of the full and the empty coalition.
    """
    n_alternatives = switched.shape[1]
    room = make_room(most, n_alternatives)
    desk = make_desk(walker)
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        values = switched[start:stop] if len(switched) > 1 else switched
        lay_out(walker, rows[start:stop], references[start:stop], desk)
        for i in range(start, stop):
            j = i - start
            q, n, constant, low, high = collect(
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j, 0, False
            )
            counts[i], full[i], empty[i] = 0, 0.0, 0.0
            if n:
                counts[i] = q
                constant += walker.base / walker.scale
                full[i], empty[i] = solve_game(
                    desk.masks,
                    desk.amounts,
                    n,
                    constant,
                    max(abs(constant + low), abs(constant + high)),
                    q,
                    (1 << n_alternatives) - 1,
                    walker.contrasts,
                    walker.is_mean,
                    walker.scale,
                    walker.is_logistic,
                    weights,
                    room,
                    phi[begin[i] : begin[i] + q],
                )
                for s in range(q):
                    active[begin[i] + s] = desk.active[s]


# Margins up to which their exponentials can be multiplied without an overflow: those of all paths, and
# those of any four coalitions.
_SAFE, _SAFE_BY_FOUR = 600.0, 150.0


@compiled
def solve_game(
    masks: Ints,
    amounts: Floats,
    n_paths: int,
    constant: float,
    largest: float,
    q: int,
    everyone: int,
    contrasts: Ints,
    is_mean: bool,
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
    largest : float
        No coalition's margin is farther from 0.
    q : int
        The number of players that the paths speak of.
    everyone : int
        All values of the attribute, as bits.
    contrasts, is_mean : ndarray of int, shape (contrasts, 2), bool
        Which of them are compared, and whether the risk is the mean of their gaps or the largest.
    scale, is_logistic : float, bool
        The output is ``scale * margin``, through the logistic function or as it is.
    weights : ndarray
        Those of :func:`~fairshap._kernels.trees.games.coalition_weights`.
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
    if is_logistic and total * abs(scale) < _SAFE and largest * abs(scale) < _SAFE_BY_FOUR:
        full, empty = risks_by_products(
            masks,
            amounts,
            n_paths,
            constant,
            n_level,
            n_difference,
            everyone,
            contrasts,
            is_mean,
            scale,
            weight,
            room,
        )
    else:
        full, empty = risks_by_sums(
            masks,
            amounts,
            n_paths,
            constant,
            first,
            n_level,
            n_difference,
            everyone,
            contrasts,
            is_mean,
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
