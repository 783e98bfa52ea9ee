"""The players whose replacement lowers a row's risk the most for what it costs."""

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._kernels.trees.ensemble import BLOCK
from fairshap._kernels.trees.games import MET, OTHER, OWN, VALUE, logistic, risk_of_outputs, subset_sums
from fairshap._kernels.trees.walker import Walker, collect, lay_out, make_desk
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints


@compiled
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

    The parameters are those of :func:`~fairshap._kernels.trees.pairs.solve_pairs`, and:

    cells : ndarray of int, shape (pairs, players)
        How many cells replacing a player takes; 0 if it may not be replaced.
    prices : ndarray of float, shape (players,)
        What a cell of each player costs, in units of the risk.
    most_cells : int
        How many cells of a row are replaced at most.
    most : int
        The greatest number of players of a game that is enumerated.
    tolerance : float
        By how much the sums of risk and cost of two choices may differ and still be equal.
    replaced, risks : ndarray, shape (pairs, players), (pairs, 2)
        Written: who is replaced, and the risk before and after; NaN if there are more players.
        Of equally good choices the one with the fewest cells is taken, and of these the one with the
        earliest player that not all of them have.
    """
    n_alternatives = switched.shape[1]
    margins, count = np.empty((n_alternatives, 1 << most)), np.empty(1 << most, dtype=np.int64)
    spent = np.empty(1 << most)
    outputs, taken, cost = np.empty(n_alternatives), np.empty(most, dtype=np.int64), np.empty(most)
    desk = make_desk(walker)
    for start in range(0, len(rows), BLOCK):
        stop = min(start + BLOCK, len(rows))
        values = switched[start:stop] if len(switched) > 1 else switched
        lay_out(walker, rows[start:stop], references[start:stop], desk)
        for i in range(start, stop):
            j = i - start
            q, n, constant, _, _ = collect(
                walker, rows[i], references[i], values[j if len(values) > 1 else 0], desk, j, 0, False
            )
            replaced[i, :] = False
            risks[i, :] = 0.0
            if q > most:
                risks[i, :] = np.nan
            elif n:
                _add_up(desk.masks[:n], desk.amounts, 1 << q, margins)
                for s in range(q):
                    taken[s] = cells[i, desk.active[s]]
                    cost[s] = taken[s] * prices[desk.active[s]]
                mask, before, after = _best(
                    walker,
                    margins,
                    constant,
                    desk.active,
                    taken[:q],
                    cost,
                    most_cells,
                    tolerance,
                    count,
                    spent,
                    outputs,
                )
                risks[i, 0], risks[i, 1] = before, after
                for s in range(q):
                    replaced[i, desk.active[s]] = mask >> s & 1


@compiled
def _add_up(masks: Ints, amounts: Floats, size: int, margins: Floats) -> None:
    """Write what the paths give to every coalition, for each value of the attribute."""
    margins[:, :size] = 0.0
    for k in range(len(masks)):
        others = masks[k, OTHER]
        # With a sign for each of those who must be out, subset sums leave the coalitions without them.
        part, amount = others, amounts[k, VALUE]
        while True:
            sign = 1.0
            bits = part
            while bits:
                bits &= bits - 1
                sign = -sign
            for a in range(len(margins)):
                if masks[k, MET] >> a & 1:
                    margins[a, masks[k, OWN] | part] += sign * amount
            if part == 0:
                break
            part = (part - 1) & others
    for a in range(len(margins)):
        subset_sums(margins[a, :size])


@compiled
def _best(
    walker: Walker,
    margins: Floats,
    constant: float,
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
    before = _risk(walker, margins, constant, everyone, outputs)
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
            total = _risk(walker, margins, constant, everyone ^ mask, outputs) + spent[mask]
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


@compiled
def _comes_first(mask: int, other: int, active: Codes) -> bool:
    """Say whether, of the players that only one of two choices replaces, the earliest is in the first."""
    apart = mask ^ other
    earliest = -1
    for s in range(len(active)):
        if apart >> s & 1 and (earliest < 0 or active[s] < active[earliest]):
            earliest = s
    return bool(mask >> earliest & 1)


@compiled
def _risk(walker: Walker, margins: Floats, constant: float, coalition: int, outputs: Floats) -> float:
    for a in range(len(outputs)):
        margin = walker.base + walker.scale * (constant + margins[a, coalition])
        outputs[a] = logistic(margin) if walker.is_logistic else margin
    return risk_of_outputs(outputs, walker.contrasts, walker.is_mean)
