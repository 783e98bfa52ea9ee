"""The game of a tree ensemble, solved in compiled code without calling the model."""

from concurrent.futures import ThreadPoolExecutor
from math import comb

import numpy as np
from joblib import effective_n_jobs

from fairshap._kernels.trees import Trees, active_counts, attribute_trees
from fairshap._typing import Bools, Codes, Floats, Ints
from fairshap.models._native import rank_table
from fairshap.risk import Risk
from fairshap.table import Players

# Pairs that a thread takes at a time: small enough to share the work evenly, large enough to be worth it.
_SHARE = 256


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
        #: The number of active players of each pair.
        self.q: Codes = active_counts(self.ranks, rows, references, self.player, self.n_players)

    def solve(self, pairs: Ints) -> tuple[Floats, Floats, Floats]:
        """Return phi, shape (pairs, players), and the risks of the full and the empty coalition."""
        most = int(self.q[pairs].max(initial=0))
        phi = np.zeros((len(pairs), self.n_players))
        full, empty = np.empty(len(pairs)), np.empty(len(pairs))
        sizes = np.bitwise_count(np.arange(1 << most)).astype(np.int32)
        weights = _weights(most)
        switching = _splits_on(self.ensemble.trees, self.is_sensitive)
        contrasts = np.array(self.groups.contrasts, dtype=np.int64)
        # The longest games first, so that no thread is left with one at the end.
        order = np.argsort(-self.q[pairs], kind="stable")

        def solve_part(part: Ints) -> None:
            chosen = pairs[part]
            owners = self.rows[chosen] if self.groups.by_row else np.zeros(1, dtype=np.int64)
            phi_part = np.zeros((len(part), self.n_players))
            full_part, empty_part = np.empty(len(part)), np.empty(len(part))
            attribute_trees(
                self.ensemble.trees,
                switching,
                self.ranks,
                self.rows[chosen],
                self.references[chosen],
                self.ranks[self.groups.donors[owners]],
                contrasts,
                self.player,
                self.is_sensitive,
                self.n_players,
                self.ensemble.base,
                self.ensemble.scale,
                self.ensemble.is_logistic,
                self.ensemble.depth,
                int(self.q[chosen].max()),
                sizes,
                weights,
                phi_part,
                full_part,
                empty_part,
            )
            phi[part], full[part], empty[part] = phi_part, full_part, empty_part

        parts = np.split(order, range(_SHARE, len(order), _SHARE))
        with ThreadPoolExecutor(self.n_threads) as pool:
            for _ in pool.map(solve_part, parts):
                pass
        return phi, full, empty


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
