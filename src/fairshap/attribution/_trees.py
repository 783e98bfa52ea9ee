"""The game of a tree ensemble, solved in compiled code without calling the model."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from fairshap._kernels.trees.ensemble import Walker, active_counts, coalition_weights, make_walker
from fairshap._kernels.trees.pairs import choose_players, coalition_risks, count_players, solve_pairs
from fairshap._kernels.trees.paths import MOST_PLAYERS
from fairshap._kernels.trees.sums import solve_additive
from fairshap._messages import Progress, in_threads
from fairshap._models import NotNativeError
from fairshap._models.probing import RankedTable, rank_table
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints
from fairshap.attribution._calls import Game, Rows, in_parts

# Players up to which a game is solved without a look at how many of them matter.
_FEW = 16
# What a walk costs, in coalitions, and how much a thread takes at a time: some hundredths of a second, or
# less where there is little to share.
_WALK, _LEAST, _MOST = 2500, 1 << 18, 1 << 22
# The rows that a thread takes through the trees at a time.
_ROWS = 1 << 14
# The values of coalitions held at a time: 4 Mi of them are 32 MiB.
_VALUES = 1 << 22


class TreeGame:
    """The games of a :class:`~fairshap.attribution._calls.Game`, their oracle, through the trees themselves.

    A player is active only if some split sends the two rows different ways; there are never more of them
    than in the oracle.
    """

    #: How many players can be told apart.
    most_players = MOST_PLAYERS

    def __init__(self, game: Game, n_jobs: int | None) -> None:
        self.groups = game.risk.problem.groups
        if self.groups.donors.shape[1] > MOST_PLAYERS:
            raise NotNativeError(f"the attribute has {self.groups.donors.shape[1]} values")
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        table = rank_table(game.risk.scorer, game.risk.problem.table, self.n_threads)
        if table.ensemble.scale == 0:
            raise NotNativeError("its trees count nothing")
        self.walker = make_walkers(table, game, table.ensemble.link == "logistic")[0]
        #: Whether the games are sums over paths: there is no link, and the output itself is explained.
        self.is_additive = not (self.walker.output.is_logistic or self.groups.contrasts)
        self.rows, self.references = game.rows, game.references
        #: The number of players of each pair whose values some split tells apart.
        self.q: Codes = active_counts(
            table.ranks, self.rows, self.references, self.walker.ways.player, self.walker.n_players
        )

    def reached(self, pairs: Ints, most: float) -> Codes:
        """Return how many players the game of each pair must have.

        They are counted where there may be more than ``most``: on the way through the trees many a split
        that tells the two rows apart is never reached.
        """
        counts = self.q[pairs]
        many = np.flatnonzero(counts > (most if self.is_additive else min(most, _FEW)))
        reached, none = np.empty(len(many), dtype=np.int32), np.empty(0)

        def count(part: slice) -> None:
            which = self._pairs(pairs[many[part]])
            if self.is_additive:
                solve_additive(*which, which[1], reached[part], reached[:0], none, none, none)
            else:
                count_players(*which, reached[part])

        self._in_threads(count, _parts(len(many)))
        # Those that are not told apart any more are too many in any case.
        counts[many] = np.where(reached > MOST_PLAYERS, counts[many], reached)
        return counts

    def work(self, reached: AnyCodes) -> Floats:
        """Return what solving games of so many players costs, in coalitions."""
        return np.asarray(np.where(self.is_additive, 0.0, np.exp2(reached)) + _WALK)

    def solve(self, rows: Rows, pairs: Ints, reached: AnyCodes, work: Floats, progress: Progress) -> None:
        """Add the values of pairs, of which so many players are reached, at so much work, to their rows."""
        bounds = self.q[pairs].astype(np.int64)
        start = np.cumsum(bounds) - bounds
        counts = np.empty(len(pairs), dtype=np.int32)
        active, phi = np.empty(bounds.sum(), dtype=np.int32), np.empty(bounds.sum())
        full, empty = np.empty((2, len(pairs)))
        weights = coalition_weights(0 if self.is_additive else int(reached.max(initial=0)))

        def solve_part(part: Ints) -> None:
            counts_part, (full_part, empty_part) = np.empty(len(part), np.int32), np.empty((2, len(part)))
            written: Any = (start[part], counts_part, active, phi, full_part, empty_part)
            if self.is_additive:
                solve_additive(*self._pairs(pairs[part]), *written)
            else:
                solve_pairs(*self._pairs(pairs[part]), weights, int(reached[part].max()), *written)
            counts[part], full[part], empty[part] = counts_part, full_part, empty_part

        parts = self._shares(reached, work)
        self._in_threads(solve_part, parts, lambda part: progress.advance(len(part), work[part].sum()))
        # Where there was room for more players than have a value, it is left out.
        before = np.cumsum(counts, dtype=np.int64) - counts
        kept = np.arange(counts.sum()) + np.repeat(start - before, counts)
        rows.add(pairs, counts, active[kept], phi[kept], full, empty)

    def choose(
        self,
        cells: AnyCodes,
        prices: Floats,
        most_cells: int,
        most: int,
        tolerance: float,
        progress: Progress,
    ) -> tuple[Bools, Bools]:
        """Return the players to replace in each pair, and which pairs have too many to tell.

        The parameters are those of :func:`~fairshap._kernels.trees.pairs.choose_players`.
        """
        n = len(self.rows)
        # Those of a forest are counted by what they do to the difference, which is not all that is tabled.
        reached = self.reached(np.arange(n), most) if self.walker.output.is_logistic else self.q
        replaced, risks = np.zeros(cells.shape, dtype=np.bool_), np.full((n, 2), np.nan)
        chosen = np.flatnonzero(reached <= most)

        def choose_part(part: Ints) -> None:
            replaced_part, risks_part = replaced[part], risks[part]
            choose_players(
                *self._pairs(part),
                cells[part],
                prices,
                most_cells,
                int(reached[part].max()),
                tolerance,
                replaced_part,
                risks_part,
            )
            replaced[part], risks[part] = replaced_part, risks_part

        parts = [chosen[part] for part in self._shares(reached[chosen], self.work(reached[chosen]))]
        self._in_threads(choose_part, parts, lambda part: progress.advance(len(part), len(part)))
        return replaced, np.isnan(risks[:, 0])

    def batches(self, pairs: Ints, coalitions: int) -> list[Ints]:
        """Cut pairs into batches whose values, that many each, can be held."""
        return in_parts(pairs, _VALUES // coalitions)

    def values(self, pairs: Ints, q: int, coalitions: Bools) -> tuple[Floats, Ints]:
        """Return v of coalitions, those who keep the row's value, and the q active players of each pair."""
        values = np.empty((len(pairs), len(coalitions)))
        active = np.empty((len(pairs), q), dtype=np.int32)

        def value_part(part: slice) -> None:
            coalition_risks(*self._pairs(pairs[part]), coalitions, active[part], values[part])

        self._in_threads(value_part, _parts(len(pairs), size=1 + _ROWS // len(coalitions)))
        return values, active.astype(np.int64)

    def _shares(self, reached: AnyCodes, work: Floats) -> list[Ints]:
        """Cut games into parts of about the same work, the longest games first: none is left at the end."""
        order = np.argsort(-reached, kind="stable")
        share = np.clip(work.sum() / (4 * self.n_threads), _LEAST, _MOST)
        cuts = np.searchsorted(np.cumsum(work[order]), np.arange(share, work.sum(), share))
        return [part for part in np.split(order, np.unique(cuts)) if len(part)]

    def _pairs(self, pairs: Ints) -> tuple[Walker, Ints, Ints, Codes]:
        """Return what every kernel is given: the trees, the rows, and the attribute's values as ranks."""
        # Once for all, unless they are each row's own.
        owners = self.rows[pairs] if self.groups.by_row else np.zeros(1, dtype=np.int64)
        switched = self.walker.ways.ranks[self.groups.donors[owners]]
        return self.walker, self.rows[pairs], self.references[pairs], switched

    def _in_threads(
        self,
        work: Callable[[Any], None],
        parts: Sequence[Any],
        finished: Callable[[Any], None] = lambda _: None,
    ) -> None:
        in_threads(work, [(part,) for part in parts], self.n_threads, lambda item, _: finished(*item))


def _parts(n: int, size: int = 1024) -> list[slice]:
    """Cut n pairs into parts of a size for the threads."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def make_walkers(table: RankedTable, game: Game, needs_level: bool) -> list[Walker]:
    """Return the trees of each margin as the kernels take them; the level matters behind a link."""
    problem, players, ensemble = game.risk.problem, game.players, table.ensemble
    is_attribute = np.isin(table.column, problem.columns)
    own = (table.column >= 0) & ~is_attribute
    player = np.where(own, np.append(players.of_column, -1)[table.column], -1).astype(np.int32)
    contrasts = np.array(problem.groups.contrasts, dtype=np.int64).reshape(-1, 2)
    shared = is_attribute, table.ranks, player, len(players.names), contrasts, problem.groups.is_mean
    return [
        make_walker(trees, *shared, base, ensemble.scale, needs_level)
        for trees, base in zip(ensemble.parts, ensemble.base, strict=True)
    ]
