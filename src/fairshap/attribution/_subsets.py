"""Questions about single coalitions: which replacements are best, and what given ones do."""

from typing import TYPE_CHECKING, cast

import numpy as np

from fairshap._kernels.shapley import AllCoalitions
from fairshap._messages import Progress
from fairshap._problem.target import exceeds, steps, tolerance
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution._calls import Game
from fairshap.attribution._explain import native_game
from fairshap.attribution._explanation import Explanation

if TYPE_CHECKING:
    from fairshap.attribution._composed import ComposedGame
    from fairshap.attribution._trees import TreeGame

# Players up to which all coalitions are looked at: where trees are walked, and where the model is called.
_BY_TREES, _BY_CALLS = 20, 12


def best_players(
    explanation: Explanation, rows: Ints, cells: AnyCodes, price: float, most_cells: int
) -> Bools:
    """Return for each row the players to replace: the risk plus what their cells cost is lowest with them.

    Of choices that tie, the one with the fewest cells is taken, and then the one with the earliest player
    that not all of them have. A row with more players than can be enumerated gets the best of the choices
    that take its players in the order of their attributions. ``cells`` says how many cells replacing a player
    takes, 0 if it may not be replaced.
    """
    game, options = _game(explanation, rows), explanation.options
    native, route = native_game(game, options)
    with Progress("Choosing", len(rows), options.verbose) as progress:
        if route == "trees":
            prices, close = np.full(cells.shape[1], price), tolerance(explanation.unit)
            replaced, is_open = cast("TreeGame", native).choose(
                cells, prices, most_cells, _BY_TREES, close, progress
            )
        else:
            if native is not None and route != "weights":
                game = cast("Game", native)
            is_open = game.q > (_BY_TREES if "small" in route or route == "parts" else _BY_CALLS)
            replaced = np.zeros(cells.shape, dtype=np.bool_)
            for q in np.unique(game.q[~is_open]).tolist():
                for pairs in game.batches(np.flatnonzero(game.q == q), 1 << q):
                    replaced[pairs] = _best_of_all(game, pairs, q, cells[pairs], price, most_cells)
                    progress.advance(len(pairs), len(pairs))
        left = np.flatnonzero(is_open)
        phi = np.nan_to_num(explanation.values[rows[left]])
        replaced[left] = _best_in_order(_game(explanation, rows[left]), phi, cells[left], price, most_cells)
    return replaced


def _game(explanation: Explanation, rows: Ints) -> Game:
    """Return the games of some rows against the references that their new values come from."""
    risk = explanation.risk_function
    if explanation.game == "gap":
        risk = risk.of_scores()
    return Game(risk, explanation.features, rows, explanation.best[rows])


def _best_of_all(game: Game, pairs: Ints, q: int, cells: AnyCodes, price: float, most_cells: int) -> Bools:
    """Return the best choices of pairs with q players, from the values of all coalitions."""
    coalitions = AllCoalitions(q)
    out = ~coalitions[:]
    # The earlier a player, the more it counts.
    order = out @ (1 << np.arange(q)[::-1])
    values, active = game.values(pairs, q, coalitions)
    taken = np.take_along_axis(cells, active, axis=1).astype(np.int64)
    count = taken @ out.T
    barred = ((taken == 0) @ out.T) | (count > most_cells)
    total = np.where(barred, np.inf, values + price * count)
    tied = total <= total.min(axis=1, keepdims=True) + tolerance(game.risk.unit)
    fewest = np.where(tied, count, np.iinfo(np.int64).max)
    best = np.where(fewest == fewest.min(axis=1, keepdims=True), order, -1).argmax(axis=1)
    replaced = np.zeros(cells.shape, dtype=np.bool_)
    np.put_along_axis(replaced, active, out[best], axis=1)
    return replaced


def _best_in_order(game: Game, phi: Floats, cells: AnyCodes, price: float, most_cells: int) -> Bools:
    """Return the best of the choices that take the players in the order of their attributions."""
    order = np.argsort(np.where(cells > 0, -steps(phi, game.risk.unit), np.inf), axis=1, kind="stable")
    taken = np.take_along_axis(cells, order, axis=1)
    n_most = int(((taken > 0) & (np.cumsum(taken, axis=1) <= most_cells)).sum(axis=1).max(initial=0))
    best, count = np.full(len(cells), np.inf), np.zeros(len(cells), dtype=np.int64)
    chosen, current = np.zeros(cells.shape, dtype=np.bool_), np.zeros(cells.shape, dtype=np.bool_)
    for k in range(n_most + 1):
        if k:
            fits = (taken[:, k - 1] > 0) & (count + taken[:, k - 1] <= most_cells)
            count += np.where(fits, taken[:, k - 1], 0)
            current[np.flatnonzero(fits), order[fits, k - 1]] = True
        total = game.without(current) + price * count
        better = exceeds(best, total, game.risk.unit)
        best[better], chosen[better] = total[better], current[better]
    return chosen


def risk_when_replaced(explanation: Explanation, rows: Ints, replaced: Bools) -> Floats:
    """Return the risk of rows, some of whose players have the reference's cells, by asking the model."""
    outputs = _game(explanation, rows).without(replaced)
    if explanation.game == "risk":
        return outputs
    return np.asarray(np.abs(outputs - explanation.reference_output[rows]))


def replay(explanation: Explanation, rows: Ints, taken: Bools) -> tuple[Floats, Floats]:
    """Return v of all players, and of all but those taken, by the route that their values came by."""
    route, n_jobs = explanation.route, explanation.options.n_jobs
    game = _game(explanation, rows)
    ask = game.without
    if route in ("trees", "parts"):
        from fairshap.attribution._composed import ComposedGame
        from fairshap.attribution._trees import TreeGame

        return _by_trees((TreeGame if route == "trees" else ComposedGame)(game, n_jobs), taken)
    if route == "weights":
        from fairshap.attribution._composed import LinearGame

        ask = LinearGame(game, n_jobs).without
    return ask(np.zeros_like(taken)), ask(taken)


def _by_trees(game: "TreeGame | ComposedGame", taken: Bools) -> tuple[Floats, Floats]:
    full, without = np.empty((2, len(taken)))
    for q in np.unique(game.q).tolist():
        pairs = np.flatnonzero(game.q == q)
        values, active = game.values(pairs, q, np.ones((1, q), dtype=np.bool_))
        full[pairs] = without[pairs] = values[:, 0]
        if not q:
            continue
        # Pairs that keep the same of their players are valued together.
        kept = ~np.take_along_axis(taken[pairs], active, axis=1)
        coalitions, which = np.unique(kept, axis=0, return_inverse=True)
        for k, coalition in enumerate(coalitions):
            same = pairs[which == k]
            without[same] = game.values(same, q, coalition[None])[0][:, 0]
    return full, without
