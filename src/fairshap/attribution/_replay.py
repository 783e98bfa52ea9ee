"""Play the games of pairs once more, for one coalition each."""

from typing import TYPE_CHECKING

import numpy as np

from fairshap._frames import Players
from fairshap._models import Risk
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Game

if TYPE_CHECKING:
    from fairshap.attribution._trees import TreeGame


def replay(
    route: str,
    risk: Risk,
    players: Players,
    rows: Ints,
    references: Ints,
    taken: Bools,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """Return v of all players, and of all but those taken, by the route that their values came by.

    Parameters
    ----------
    route : str
        :attr:`Attributions.route`.
    risk, players, rows, references, n_jobs
        Those of the games.
    taken : ndarray of bool, shape (pairs, players)
        Which players have the reference's value.
    """
    nobody = np.zeros_like(taken)
    if route == "trees":
        from fairshap.attribution._trees import TreeGame

        return _by_trees(TreeGame(risk, players, rows, references, n_jobs), taken)
    if route == "weights":
        from fairshap.attribution._linear import LinearGame

        linear = LinearGame(risk, players, rows, references, n_jobs)
        return linear.without(nobody), linear.without(taken)
    game = Game(risk, players, rows, references)
    return game.without(nobody), game.without(taken)


def _by_trees(game: "TreeGame", taken: Bools) -> tuple[Floats, Floats]:
    full, without = np.empty(len(taken)), np.empty(len(taken))
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
