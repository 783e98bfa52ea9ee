"""The game of a tree ensemble, solved in compiled code without calling the model."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from fairshap._kernels.trees import Trees, active_counts, attribute_trees, coalition_risks
from fairshap._typing import Bools, Codes, Floats, Ints
from fairshap.models._native import rank_table
from fairshap.risk import Risk
from fairshap.table import Players

# To mypy, arguments by a star may be too many.
solve_games: Any = attribute_trees
value_games: Any = coalition_risks

# Pairs that a thread takes at a time: small enough to share the work evenly, large enough to be worth it.
_SHARE = 256

# The values of coalitions held at a time: 4 Mi of them are 32 MiB.
_VALUES = 1 << 22


class TreeGame:
    """Many games at once, one for each pair of a row and its reference, through the trees themselves.

    A player is active only if some split sends the two rows different ways; there are never more of them
    than in :class:`~fairshap.attribution._game.Game`, which is the oracle of this one.

    Parameters
    ----------
    risk : Risk
        The model, the table and the attribute.
    players : Players
        Which columns are switched as one.
    rows, references : ndarray of int, shape (pairs,)
        Positions in the table.
    n_jobs : int, optional
        How many threads work; all cores by default.
    """

    def __init__(
        self, risk: Risk, players: Players, rows: Ints, references: Ints, n_jobs: int | None
    ) -> None:
        table = rank_table(risk.scorer, risk.setting.table)
        self.ensemble, self.ranks = table.ensemble, table.ranks
        self.groups = risk.setting.groups
        self.rows, self.references = rows, references
        self.n_players = len(players.names)
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        own = (table.column >= 0) & (table.column != risk.setting.column)
        self.player = np.where(own, np.append(players.of_column, -1)[table.column], -1).astype(np.int32)
        self.is_sensitive: Bools = table.column == risk.setting.column
        self.switching = _splits_on(self.ensemble.trees, self.is_sensitive)
        self.contrasts = np.array(self.groups.contrasts, dtype=np.int64)
        #: The number of active players of each pair.
        self.q: Codes = active_counts(self.ranks, rows, references, self.player, self.n_players)

    def solve(self, pairs: Ints) -> tuple[Floats, Floats, Floats]:
        """Return phi, shape (pairs, players), and the risks of the full and the empty coalition."""
        most = int(self.q[pairs].max(initial=0))
        phi = np.zeros((len(pairs), self.n_players))
        full, empty = np.empty(len(pairs)), np.empty(len(pairs))
        sizes = np.bitwise_count(np.arange(1 << most)).astype(np.int32)
        weights = _weights(most)
        # The longest games first, so that no thread is left with one at the end.
        order = np.argsort(-self.q[pairs], kind="stable")

        def solve_part(part: Ints) -> None:
            chosen = pairs[part]
            phi_part = np.zeros((len(part), self.n_players))
            full_part, empty_part = np.empty(len(part)), np.empty(len(part))
            solve_games(
                *self._game_of(chosen),
                self.ensemble.depth,
                int(self.q[chosen].max()),
                sizes,
                weights,
                phi_part,
                full_part,
                empty_part,
            )
            phi[part], full[part], empty[part] = phi_part, full_part, empty_part

        self._in_threads(solve_part, np.split(order, range(_SHARE, len(order), _SHARE)))
        return phi, full, empty

    def batches(self, pairs: Ints, coalitions: int) -> list[Ints]:
        """Cut pairs into batches whose values, that many each, can be held."""
        size = max(1, _VALUES // coalitions)
        return np.split(pairs, range(size, len(pairs), size))

    def values(self, pairs: Ints, q: int, coalitions: Bools) -> tuple[Floats, Ints]:
        """Return v of the coalitions for pairs with q active players, and who these players are.

        A coalition says which of them keep the row's value.
        """
        values = np.empty((len(pairs), len(coalitions)))
        active = np.empty((len(pairs), q), dtype=np.int32)

        def value_part(part: Ints) -> None:
            values_part = np.empty((len(part), len(coalitions)))
            active_part = np.empty((len(part), q), dtype=np.int32)
            value_games(*self._game_of(pairs[part]), coalitions, active_part, values_part)
            values[part], active[part] = values_part, active_part

        self._in_threads(value_part, [np.array([k]) for k in range(len(pairs))])
        return values, active.astype(np.int64)

    def _game_of(self, pairs: Ints) -> tuple[Any, ...]:
        """Return what both kernels are given to know of the games of pairs."""
        owners = self.rows[pairs] if self.groups.by_row else np.zeros(1, dtype=np.int64)
        return (
            self.ensemble.trees,
            self.switching,
            self.ranks,
            self.rows[pairs],
            self.references[pairs],
            self.ranks[self.groups.donors[owners]],
            self.contrasts,
            self.player,
            self.is_sensitive,
            self.n_players,
            self.ensemble.base,
            self.ensemble.scale,
            self.ensemble.is_logistic,
        )

    def _in_threads(self, work: Callable[[Ints], None], parts: list[Ints]) -> None:
        with ThreadPoolExecutor(self.n_threads) as pool:
            for _ in pool.map(work, parts):
                pass


def _weights(most: int) -> Floats:
    """Return for each q the weight of a coalition by its size plus one, 0 outside 0 to q - 1."""
    weights = np.zeros((most + 1, most + 2))
    for q in range(1, most + 1):
        for size in range(q):
            weights[q, size + 1] = 1.0 / (q * comb(q - 1, size))
    return weights


def _splits_on(trees: Trees, features: Bools) -> Bools:
    """Return which trees split on one of the features."""
    splits = (trees.left >= 0) & features[trees.feature]
    return np.logical_or.reduceat(splits, trees.roots)
