"""The games of many pairs of rows: their Shapley values, the risks of coalitions, and the best choice."""

import numpy as np

from fairshap._kernels.compiling import compiled, inner, inner_in_any_order
from fairshap._kernels.trees.ensemble import Output, Walker, Ways
from fairshap._kernels.trees.enumeration import is_safe, solve_by_products, solve_by_sums
from fairshap._kernels.trees.games import (
    N_TABLES,
    NO_VALUE,
    Room,
    count_bits,
    logistic,
    make_room,
    players_of_difference,
    risk_of_margins,
    risk_of_outputs,
    sum_paths,
)
from fairshap._kernels.trees.paths import (
    BOUND,
    LEFT,
    LINE,
    MET,
    MOST_PLAYERS,
    OTHER,
    OWN,
    VALUE,
    Pairs,
    goes_right,
    make_pairs,
    read_pair,
)
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints


def count_players(walker: Walker, rows: Ints, references: Ints, switched: Codes, counts: Codes) -> None:
    """Write how many players each pair's game has; more than 62 are not told apart."""
    none, nobody = np.zeros(0), np.zeros(0, dtype=np.int32)
    solve_pairs(walker, rows, references, switched, none, -1, rows, counts, nobody, none, none, none)


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
    """Write the exact Shapley values of the risk of each pair, two positions in the walker's table.

    ``switched``, of shape (pairs or 1, alternatives, features), holds the ranks of the attribute's features
    for the values that it is switched between; ``weights`` are those of ``coalition_weights``; no pair has
    more than ``most`` players. Written are, for each pair, the number of active players; from ``begin`` on
    who they are and their values; the risks of the full and the empty coalition. If ``most`` is -1, only
    ``counts`` is written, with the players that must be enumerated.
    """
    output, n_alternatives = walker.output, switched.shape[1]
    pairs, room = make_pairs(walker, rows, references, switched), make_room(most, n_alternatives)
    outputs = np.empty(n_alternatives)
    if not output.is_logistic:
        _solve_by_sums(pairs, output, weights, most, room, outputs, begin, counts, active, phi, full, empty)
        return
    _solve_by_products(pairs, output, weights, most, room, begin, counts, active, phi, full, empty)
    left = np.flatnonzero(np.isnan(full))
    if len(left):
        known = counts[left], active, phi, full[left], empty[left]
        switched = switched[left] if len(switched) > 1 else switched
        pairs = make_pairs(walker, rows[left], references[left], switched)
        _solve_by_sums(pairs, output, weights, most, room, outputs, begin[left], *known)
        full[left], empty[left] = known[3:]


@compiled
def _solve_by_products(
    pairs: Pairs,
    output: Output,
    weights: Floats,
    most: int,
    room: Room,
    begin: Ints,
    counts: Codes,
    active: Codes,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Solve the games of a model with a link; the full risk is NaN where exponentials would overflow."""
    desk, n_alternatives = pairs.desk, pairs.switched.shape[1]
    for i in range(len(pairs.rows)):
        q, n, constant, low, high = read_pair(pairs, i, 0, len(output.contrasts) == 0)
        masks, amounts = desk.masks[:n], desk.amounts[:n]
        # Too many players may leave no path that is finished.
        counts[i] = q if n or q > MOST_PLAYERS else 0
        if most < 0:
            continue
        constant += output.base / output.scale
        full[i] = 0.0 if len(output.contrasts) else logistic(output.scale * constant)
        empty[i] = full[i]
        if n:
            values = phi[begin[i] : begin[i] + q]
            full[i] = np.nan
            if is_safe(amounts, constant, constant + low, constant + high, output.scale):
                full[i], empty[i] = solve_by_products(
                    masks, amounts, constant, q, n_alternatives, output, weights, room, values
                )
            for s in range(q):
                active[begin[i] + s] = desk.active[s]


@compiled
def _solve_by_sums(
    pairs: Pairs,
    output: Output,
    weights: Floats,
    most: int,
    room: Room,
    outputs: Floats,
    begin: Ints,
    counts: Codes,
    active: Codes,
    phi: Floats,
    full: Floats,
    empty: Floats,
) -> None:
    """Solve any games; without a link only those players are counted that the difference depends on."""
    desk = pairs.desk
    for i in range(len(pairs.rows)):
        q, n, constant, _, _ = read_pair(pairs, i, 0, len(output.contrasts) == 0)
        masks, amounts = desk.masks[:n], desk.amounts[:n]
        counts[i] = q if n or q > MOST_PLAYERS else 0
        if most < 0:
            if n and q <= MOST_PLAYERS:
                counts[i] = count_bits(players_of_difference(masks, (1 << len(outputs)) - 1))
            continue
        full[i], empty[i] = 0.0, 0.0
        if n:
            values = phi[begin[i] : begin[i] + q]
            full[i], empty[i] = solve_by_sums(
                masks, amounts, constant, q, outputs, output, weights, room, values
            )
            for s in range(q):
                active[begin[i] + s] = desk.active[s]


def choose_players(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    cells: AnyCodes,
    prices: Floats,
    most_cells: int,
    most: int,
    tolerance: float,
    replaced: Bools,
    risks: Floats,
) -> None:
    """Write for each pair the players to replace: the risk plus what their cells cost is lowest with them.

    The first parameters are those of :func:`solve_pairs`. ``cells``, of shape (pairs, players), says how many
    cells replacing a player takes, 0 if it may not be replaced, and ``prices`` what one of them costs, in
    units of the risk; at most ``most_cells`` of a row are replaced. Games of more than ``most`` players are
    not enumerated: their ``risks``, of shape (pairs, 2) before and after, are NaN. Totals that differ by the
    ``tolerance`` are equal. Of equally good choices the one with the fewest cells is taken, and of these the
    one with the earliest player that not all of them have.
    """
    pairs, room = make_pairs(walker, rows, references, switched), make_room(most, switched.shape[1])
    _choose_players(
        pairs, walker.output, cells, prices, most_cells, most, tolerance, room,
        np.empty(1 << most, dtype=np.int64), np.empty(most), np.empty(switched.shape[1]), replaced, risks,
    )  # fmt: skip


@compiled
def _choose_players(
    pairs: Pairs,
    output: Output,
    cells: AnyCodes,
    prices: Floats,
    most_cells: int,
    most: int,
    tolerance: float,
    room: Room,
    count: Ints,
    cost: Floats,
    outputs: Floats,
    replaced: Bools,
    risks: Floats,
) -> None:
    desk, direct, spent, taken = pairs.desk, room.tables[0], room.tables[1], room.place
    margins = room.tables[N_TABLES:]
    for i in range(len(pairs.rows)):
        q, n, constant, _, _ = read_pair(pairs, i, 0, len(output.contrasts) == 0)
        replaced[i, :] = False
        risks[i, :] = np.nan if q > most else 0.0
        if n and q <= most:
            for a in range(len(outputs)):
                sum_paths(
                    desk.masks[:n], desk.amounts, a, NO_VALUE, 0, constant, margins[a, : 1 << q], direct
                )
            for s in range(q):
                taken[s] = cells[i, desk.active[s]]
                cost[s] = taken[s] * prices[desk.active[s]]
            mask, risks[i, 0], risks[i, 1] = _best(
                *(output, margins, desk.active, taken[:q], cost),
                *(most_cells, tolerance, count, spent, outputs),
            )
            for s in range(q):
                replaced[i, desk.active[s]] = mask >> s & 1


@inner
def _best(
    output: Output,
    margins: Floats,
    active: Codes,
    cells: Ints,
    cost: Floats,
    most_cells: int,
    tolerance: float,
    count: Ints,
    spent: Floats,
    outputs: Floats,
) -> tuple[int, float, float]:
    """Return whom to replace, as bits, and the risk before and after."""
    everyone = (1 << len(cells)) - 1
    before = risk_of_margins(output, margins[:, everyone], outputs)
    # A coalition's margin is read once; then the total of what it leaves out takes its place.
    totals, lowest = margins[0], before
    count[0], spent[0] = 0, 0.0
    for mask in range(1, everyone + 1):
        first, s = mask & -mask, 0
        while first >> s != 1:
            s += 1
        rest = count[mask ^ first]
        # -1: somebody among them may not be replaced.
        count[mask] = -1 if rest < 0 or cells[s] == 0 else rest + cells[s]
        spent[mask] = spent[mask ^ first] + cost[s]
        total = np.inf
        if 0 <= count[mask] <= most_cells and spent[mask] <= lowest + tolerance:
            total = risk_of_margins(output, margins[:, everyone ^ mask], outputs) + spent[mask]
            lowest = min(lowest, total)
        totals[everyone ^ mask] = total
    if before <= lowest + tolerance:
        return 0, before, before
    best = 0
    for mask in range(1, everyone + 1):
        if totals[everyone ^ mask] <= lowest + tolerance and (
            best == 0
            or count[mask] < count[best]
            or (count[mask] == count[best] and _comes_first(mask, best, active))
        ):
            best = mask
    return best, before, totals[everyone ^ best] - spent[best]


@inner
def _comes_first(mask: int, other: int, active: Codes) -> bool:
    """Say whether, of the players that only one of two choices replaces, the earliest is in the first."""
    apart = mask ^ other
    earliest = -1
    for s in range(len(active)):
        if apart >> s & 1 and (earliest < 0 or active[s] < active[earliest]):
            earliest = s
    return bool(mask >> earliest & 1)


def coalition_risks(
    walker: Walker,
    rows: Ints,
    references: Ints,
    switched: Codes,
    coalitions: Bools,
    active: Codes,
    risks: Floats,
) -> None:
    """Write the risk of given coalitions, and who the players are: row k of ``active`` for pair k.

    The first parameters are those of :func:`solve_pairs`. ``coalitions``, of shape (coalitions, q), says
    whether a pair's player keeps the row's value; all pairs have q players with different ranks.
    """
    slot, place_of = np.empty(len(walker.ways.player), np.int32), np.full(walker.n_players, -1, np.int32)
    n_alternatives, n_leaves = switched.shape[1], walker.n_leaves
    _coalition_risks(
        make_pairs(walker, rows, references, switched), walker.output, np.empty((2, n_leaves), np.int64),
        np.empty((n_alternatives, n_leaves)), slot, place_of, np.empty(MOST_PLAYERS, np.int32),
        np.empty((2, n_alternatives)), coalitions, active, risks,
    )  # fmt: skip


@compiled
def _coalition_risks(
    pairs: Pairs,
    output: Output,
    bits: Ints,
    values: Floats,
    slot: Codes,
    place_of: Codes,
    place: Codes,
    room: Floats,
    coalitions: Bools,
    active: Codes,
    risks: Floats,
) -> None:
    ways, desk, switched, margins, outputs = pairs.ways, pairs.desk, pairs.switched, room[0], room[1]
    for i in range(len(pairs.rows)):
        x, r = ways.ranks[pairs.rows[i]], ways.ranks[pairs.references[i]]
        n_players = _number_players(ways.player, x, r, slot, place_of, active[i])
        q, n, constant, _, _ = read_pair(pairs, i, 0, len(output.contrasts) == 0)
        if q > MOST_PLAYERS:
            theirs = switched[i if len(switched) > 1 else 0]
            _walk_coalitions(ways, output, x, r, theirs, slot, coalitions, margins, outputs, risks[i])
        else:
            for s in range(q):
                place[s] = place_of[desk.active[s]]
            _sum_coalitions(
                *(output, desk.masks[:n], desk.amounts, constant, place[:q]),
                *(bits[:, :n], values[:, :n], coalitions, outputs, risks[i]),
            )
        for k in range(n_players):
            place_of[active[i, k]] = -1


@inner
def _number_players(player: Codes, x: Codes, r: Codes, slot: Codes, slot_of: Codes, active: Codes) -> int:
    """Write the slot of each feature that differs and of its player, and each slot's player; count them.

    ``slot_of`` holds -1 for each player before.
    """
    q = 0
    for f in range(len(slot)):
        p = player[f]
        slot[f] = -1
        if p >= 0 and x[f] != r[f]:
            if slot_of[p] < 0:
                slot_of[p] = q
                active[q] = p
                q += 1
            slot[f] = slot_of[p]
    return q


@inner
def _sum_coalitions(
    output: Output,
    masks: Ints,
    amounts: Floats,
    constant: float,
    place: Codes,
    bits: Ints,
    values: Floats,
    coalitions: Bools,
    outputs: Floats,
    risks: Floats,
) -> None:
    """Write the risks of coalitions from the paths that are open to them; slot s is player ``place[s]``."""
    own, named = bits[0], bits[1]
    for k in range(len(masks)):
        own[k], named[k] = masks[k, OWN], masks[k, OWN] | masks[k, OTHER]
        for a in range(len(outputs)):
            values[a, k] = output.scale * amounts[k, VALUE] if masks[k, MET] >> a & 1 else 0.0
    for c in range(len(coalitions)):
        coalition = 0
        for s in range(len(place)):
            coalition |= int(coalitions[c, place[s]]) << s
        for a in range(len(outputs)):
            margin = output.base + output.scale * constant + _sum_open(own, named, values[a], coalition)
            outputs[a] = logistic(margin) if output.is_logistic else margin
        # No paths: the attribute makes no difference.
        risks[c] = risk_of_outputs(outputs, output.contrasts, output.is_mean)


@inner_in_any_order
def _sum_open(own: Ints, named: Ints, values: Floats, coalition: int) -> float:
    """Return the sum over the paths whose named players are in a coalition or not as they must be."""
    total = 0.0
    for k in range(len(own)):
        total += values[k] if (coalition ^ own[k]) & named[k] == 0 else 0.0
    return total


@inner
def _walk_coalitions(
    ways: Ways,
    output: Output,
    x: Codes,
    r: Codes,
    switched: Codes,
    slot: Codes,
    coalitions: Bools,
    margins: Floats,
    outputs: Floats,
    risks: Floats,
) -> None:
    """Write the risks of coalitions of more players than paths can name, one row through the trees each."""
    nodes, starts, table = ways.nodes, ways.table_start, ways.table
    roots, n_switching = ways.roots, ways.n_switching
    for c in range(len(coalitions)):
        margins[:] = 0.0
        shared = 0.0
        for t in range(len(roots)):
            for a in range(len(margins) if t < n_switching else 1):
                node = roots[t]
                while nodes[node, LEFT] != node:
                    asked = nodes[node, LINE]
                    line, f = max(asked, ~asked), max(asked, ~asked) >> 1
                    if asked < 0:
                        rank = switched[a, f]
                    else:
                        rank = x[f] if slot[f] < 0 or coalitions[c, slot[f]] else r[f]
                    start = starts[node] if len(table) else -1
                    node = nodes[node, LEFT + int(goes_right(line, nodes[node, BOUND], start, table, rank))]
                if t < n_switching:
                    margins[a] += ways.leaf[node, VALUE]
                else:
                    shared += ways.leaf[node, VALUE]
        for a in range(len(margins)):
            margins[a] += shared
        risks[c] = risk_of_margins(output, margins, outputs)
