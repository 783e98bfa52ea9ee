"""The risks of single coalitions, for estimates from some of them."""

import numpy as np

from fairshap._kernels.compiling import compiled, compiled_in_any_order
from fairshap._kernels.trees.games import MET, MOST_PLAYERS, OTHER, OWN, VALUE, logistic, risk_of_outputs
from fairshap._kernels.trees.walker import BOUND, LEFT, LINE, Walker, collect, goes_right, lay_out, make_desk
from fairshap._typing import Bools, Codes, Floats, Ints


@compiled
def coalition_risks(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    coalitions: Bools,
    active: Codes,
    risks: Floats,
) -> None:
    """Write the risk of given coalitions.

    The parameters are those of :func:`~fairshap._kernels.trees.pairs.solve_pairs`, and:

    coalitions : ndarray of bool, shape (coalitions, q)
        Whether a pair's player k keeps the row's value.
    active, risks : ndarray, shape (pairs, q), (pairs, coalitions)
        Written: who player k is, and the risks. All pairs have q players with different ranks.
    """
    n_alternatives = switched.shape[1]
    slot, place_of = np.empty(len(walker.player), np.int32), np.full(walker.n_players, -1, np.int32)
    place = np.empty(MOST_PLAYERS, dtype=np.int32)
    desk = make_desk(walker)
    outputs = np.empty(n_alternatives)
    for i in range(len(rows)):
        values = switched[i : i + 1] if len(switched) > 1 else switched
        lay_out(walker, rows[i : i + 1], references[i : i + 1], desk)
        _number_players(walker, walker.ranks[rows[i]], walker.ranks[references[i]], slot, place_of, active[i])
        q, n, constant, _, _ = collect(walker, rows[i], references[i], values[0], desk, 0, 0, False)
        if q > MOST_PLAYERS:
            _walk_coalitions(walker, rows[i], references[i], values[0], slot, coalitions, outputs, risks[i])
            continue
        for k in range(active.shape[1]):
            place_of[active[i, k]] = k
        for s in range(q):
            place[s] = place_of[desk.active[s]]
        for k in range(active.shape[1]):
            place_of[active[i, k]] = -1
        _sum_paths(walker, desk.masks[:n], desk.amounts, constant, place[:q], coalitions, outputs, risks[i])


@compiled
def _sum_paths(
    walker: Walker,
    masks: Ints,
    amounts: Floats,
    constant: float,
    place: Codes,
    coalitions: Bools,
    outputs: Floats,
    risks: Floats,
) -> None:
    """Write the risks of coalitions from the paths that are open to them; slot s is player ``place[s]``."""
    own, named = np.empty(len(masks), dtype=np.int64), np.empty(len(masks), dtype=np.int64)
    values = np.zeros((len(outputs), len(masks)))
    for k in range(len(masks)):
        own[k], named[k] = masks[k, OWN], masks[k, OWN] | masks[k, OTHER]
        for a in range(len(outputs)):
            if masks[k, MET] >> a & 1:
                values[a, k] = walker.scale * amounts[k, VALUE]
    for c in range(len(coalitions)):
        coalition = 0
        for s in range(len(place)):
            coalition |= int(coalitions[c, place[s]]) << s
        for a in range(len(outputs)):
            output = walker.base + walker.scale * constant + _sum_open(own, named, values[a], coalition)
            outputs[a] = logistic(output) if walker.is_logistic else output
        # No paths: the attribute makes no difference.
        risks[c] = risk_of_outputs(outputs, walker.contrasts, walker.is_mean)


@compiled_in_any_order
def _sum_open(own: Ints, named: Ints, values: Floats, coalition: int) -> float:
    """Return the sum over the paths whose named players are in a coalition or not as they must be."""
    total = 0.0
    for k in range(len(own)):
        total += values[k] if (coalition ^ own[k]) & named[k] == 0 else 0.0
    return total


@compiled
def _walk_coalitions(
    walker: Walker,
    row: int,
    reference: int,
    switched: Codes,
    slot: Codes,
    coalitions: Bools,
    outputs: Floats,
    risks: Floats,
) -> None:
    """Write the risks of coalitions of more players than paths can name, one row through the trees each."""
    x, r = walker.ranks[row], walker.ranks[reference]
    nodes, leaf, contrasts = walker.nodes, walker.leaf, walker.contrasts
    starts, table = walker.table_start, walker.table
    roots, n_switching = walker.descent.roots, walker.descent.n_switching
    for c in range(len(coalitions)):
        outputs[:] = 0.0
        shared = 0.0
        for t in range(len(roots)):
            for a in range(len(outputs) if t < n_switching else 1):
                node = roots[t]
                while nodes[node, LEFT] != node:
                    line = nodes[node, LINE]
                    if line < 0:
                        line = ~line
                        rank = switched[a, line >> 1]
                    else:
                        f = line >> 1
                        rank = x[f] if slot[f] < 0 or coalitions[c, slot[f]] else r[f]
                    start = starts[node] if len(table) else -1
                    node = nodes[node, LEFT + int(goes_right(line, nodes[node, BOUND], start, table, rank))]
                if t < n_switching:
                    outputs[a] += leaf[node, VALUE]
                else:
                    shared += leaf[node, VALUE]
        for a in range(len(outputs)):
            m = walker.base + walker.scale * (outputs[a] + shared)
            outputs[a] = logistic(m) if walker.is_logistic else m
        risks[c] = risk_of_outputs(outputs, contrasts, walker.is_mean)


@compiled
def _number_players(walker: Walker, x: Codes, r: Codes, slot: Codes, slot_of: Codes, active: Codes) -> None:
    """Write the slot of each feature that differs, and each slot's player.

    ``slot_of``, room to work in, holds -1 for each player, before and after.
    """
    q = 0
    for f in range(len(slot)):
        p = walker.player[f]
        slot[f] = -1
        if p >= 0 and x[f] != r[f]:
            if slot_of[p] < 0:
                slot_of[p] = q
                active[q] = p
                q += 1
            slot[f] = slot_of[p]
    for k in range(q):
        slot_of[active[k]] = -1
