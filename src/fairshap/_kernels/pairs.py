"""The games of many pairs of rows through the trees of an ensemble."""

from fairshap._kernels.compiling import compiled
from fairshap._kernels.descending import BLOCK
from fairshap._kernels.paths import (
    MOST_PLAYERS,
    count_bits,
    make_room,
    players_of_difference,
)
from fairshap._kernels.solving import solve_game
from fairshap._kernels.walking import Walker, collect, lay_out, make_desk
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
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j
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
        Those of :func:`~fairshap._kernels.games.coalition_weights`.
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
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j
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
