"""Questions about single coalitions: which replacements are best, and what given ones do."""

from typing import TYPE_CHECKING, cast

import numpy as np

from fairshap._frames import Players
from fairshap._kernels.shapley import AllCoalitions
from fairshap._messages import Progress
from fairshap._models import Risk
from fairshap._problem.target import exceeds, steps, tolerance
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution._calls import Game
from fairshap.attribution._explain import native_game
from fairshap.attribution._explanation import Options

if TYPE_CHECKING:
    from fairshap.attribution._composed import ComposedGame
    from fairshap.attribution._trees import TreeGame

# Players up to which all coalitions are looked at: where trees are walked, and where the model is called.
_BY_TREES, _BY_CALLS = 20, 12


def best_players(
    risk: Risk,
    players: Players,
    rows: Ints,
    references: Ints,
    phi: Floats,
    cells: AnyCodes,
    prices: Floats,
    most_cells: int,
    options: Options,
) -> Bools:
    """Return for each row the players to replace: the risk plus what their cells cost is lowest with them.

    Of choices that tie, the one with the fewest cells is taken, and then the one with the earliest player
    that not all of them have. A row with more players than can be enumerated gets the best of the choices
    that take its players in the order of their attributions. ``cells`` says how many
    cells replacing a player takes, 0 if it may not be replaced; ``prices`` what a cell of each player costs.
    """
    game = Game(risk, players, rows, references)
    native, route = native_game(game, options)
    with Progress("Choosing", len(rows), options.verbose) as progress:
        if route == "trees":
            replaced, is_open = cast("TreeGame", native).choose(
                cells, prices, most_cells, _BY_TREES, tolerance(risk.unit), progress
            )
        else:
            if native is not None and route != "weights":
                game = cast("Game", native)
            is_open = game.q > (_BY_TREES if "small" in route or route == "parts" else _BY_CALLS)
            replaced = np.zeros(cells.shape, dtype=np.bool_)
            for q in np.unique(game.q[~is_open]).tolist():
                for pairs in game.batches(np.flatnonzero(game.q == q), 1 << q):
                    replaced[pairs] = _best_of_all(game, pairs, q, cells[pairs], prices, most_cells)
                    progress.advance(len(pairs), len(pairs))
        left = np.flatnonzero(is_open)
        game = Game(risk, players, rows[left], references[left])
        replaced[left] = _best_in_order(game, phi[left], cells[left], prices, most_cells)
    return replaced


def _best_of_all(game: Game, pairs: Ints, q: int, cells: AnyCodes, prices: Floats, most_cells: int) -> Bools:
    """Return the best choices of pairs with q players, from the values of all coalitions."""
    coalitions = AllCoalitions(q)
    out = ~coalitions[:]
    # The earlier a player, the more it counts.
    order = out @ (1 << np.arange(q)[::-1])
    values, active = game.values(pairs, q, coalitions)
    taken = np.take_along_axis(cells, active, axis=1).astype(np.int64)
    count = taken @ out.T
    barred = ((taken == 0) @ out.T) | (count > most_cells)
    total = np.where(barred, np.inf, values + (taken * prices[active]) @ out.T)
    tied = total <= total.min(axis=1, keepdims=True) + tolerance(game.risk.unit)
    fewest = np.where(tied, count, np.iinfo(np.int64).max)
    best = np.where(fewest == fewest.min(axis=1, keepdims=True), order, -1).argmax(axis=1)
    replaced = np.zeros(cells.shape, dtype=np.bool_)
    np.put_along_axis(replaced, active, out[best], axis=1)
    return replaced


def _best_in_order(game: Game, phi: Floats, cells: AnyCodes, prices: Floats, most_cells: int) -> Bools:
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
        total = game.without(current) + (current * cells) @ prices
        better = exceeds(best, total, game.risk.unit)
        best[better], chosen[better] = total[better], current[better]
    return chosen


def risk_when_replaced(risk: Risk, players: Players, rows: Ints, references: Ints, replaced: Bools) -> Floats:
    """Return the risk of rows, some of whose players have the reference's cells, by asking the model."""
    return Game(risk, players, rows, references).without(replaced)


def replay(
    route: str,
    risk: Risk,
    players: Players,
    rows: Ints,
    references: Ints,
    taken: Bools,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Return v of all players, and of all but those taken, by the route that their values came by."""
    game, nobody = Game(risk, players, rows, references), np.zeros_like(taken)
    if route == "trees":
        from fairshap.attribution._trees import TreeGame

        return _by_trees(TreeGame(game, n_jobs), taken)
    if route == "parts":
        from fairshap.attribution._composed import ComposedGame

        return _by_trees(ComposedGame(game, n_jobs), taken)
    if route == "weights":
        from fairshap.attribution._linear import LinearGame

        linear = LinearGame(game, n_jobs)
        return linear.without(nobody), linear.without(taken)
    return game.without(nobody), game.without(taken)


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
