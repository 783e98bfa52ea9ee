"""The game of a tree ensemble, solved in compiled code without calling the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from fairshap._frames import Players
from fairshap._kernels.trees.ensemble import active_counts, coalition_weights, make_walker
from fairshap._kernels.trees.pairs import choose_players, coalition_risks, count_players, solve_pairs
from fairshap._kernels.trees.paths import MOST_PLAYERS
from fairshap._models import NotNativeError, Risk
from fairshap._models.probing import rank_table
from fairshap._progress import Progress, in_threads
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints

# Players up to which a game is solved without a look at how many of them matter.
_FEW = 16
# What a walk costs, in coalitions, and how much a thread takes at a time: some hundredths of a second, or
# less where there is little to share.
_WALK, _LEAST, _MOST = 2500, 1 << 18, 1 << 22

# The rows that a thread takes through the trees at a time.
_ROWS = 1 << 14

# The values of coalitions held at a time: 4 Mi of them are 32 MiB.
_VALUES = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """The values of many games, one after the other.

    Parameters
    ----------
    counts : ndarray of int, shape (pairs,)
        How many players of each pair have a value.
    active, phi : ndarray, shape (sum of the counts,)
        Who they are, and their values.
    full, empty : ndarray, shape (pairs,)
        The risks of the full and the empty coalition.
    """

    counts: Codes
    active: Codes
    phi: Floats
    full: Floats
    empty: Floats


class TreeGame:
    """Many games at once, one for each pair of a row and its reference, through the trees themselves.

    A player is active only if some split sends the two rows different ways; there are never more of them
    than in :class:`~fairshap.attribution._calls.Game`, which is the oracle of this one.

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
        self.groups = risk.problem.groups
        if self.groups.donors.shape[1] > MOST_PLAYERS:
            raise NotNativeError(f"the attribute has {self.groups.donors.shape[1]} values")
        table = rank_table(risk.scorer, risk.problem.table)
        ensemble = table.ensemble
        if ensemble.scale == 0:
            raise NotNativeError("its trees count nothing")
        own = (table.column >= 0) & ~np.isin(table.column, risk.problem.columns)
        player = np.where(own, np.append(players.of_column, -1)[table.column], -1).astype(np.int32)
        self.walker = make_walker(
            ensemble.trees,
            np.isin(table.column, risk.problem.columns),
            table.ranks,
            player,
            len(players.names),
            np.array(self.groups.contrasts, dtype=np.int64),
            self.groups.is_mean,
            ensemble.base,
            ensemble.scale,
            ensemble.is_logistic,
        )
        self.rows, self.references = rows, references
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        #: The number of players of each pair whose values some split tells apart.
        self.q: Codes = active_counts(table.ranks, rows, references, player, len(players.names))

    def reached(self, pairs: Ints, most: float) -> Codes:
        """Return how many players the game of each pair must have.

        They are counted where there may be more than ``most``: on the way through the trees many a split
        that tells the two rows apart is never reached.
        """
        counts = self.q[pairs]
        many = np.flatnonzero(counts > min(most, _FEW))
        reached = np.empty(len(many), dtype=np.int32)

        def count(part: slice) -> None:
            chosen = pairs[many[part]]
            switched = self._switched(chosen)
            count_players(self.walker, self.rows[chosen], self.references[chosen], switched, reached[part])

        self._in_threads(count, _parts(len(many)))
        # Those that are not told apart any more are too many in any case.
        counts[many] = np.where(reached > MOST_PLAYERS, counts[many], reached)
        return counts

    def work(self, reached: AnyCodes) -> Floats:
        """Return what solving games of so many players costs, in coalitions."""
        return np.asarray(np.exp2(reached) + _WALK)

    def solve(self, pairs: Ints, reached: AnyCodes, work: Floats, progress: Progress) -> Solved:
        """Return the values of pairs, of which so many players are reached at most.

        ``work`` is what each of them costs.
        """
        n = len(pairs)
        bounds = self.q[pairs].astype(np.int64)
        start = np.cumsum(bounds) - bounds
        counts = np.empty(n, dtype=np.int32)
        active, phi = np.empty(bounds.sum(), dtype=np.int32), np.empty(bounds.sum())
        full, empty = np.empty(n), np.empty(n)
        weights = coalition_weights(int(reached.max(initial=0)))

        def solve_part(part: Ints) -> None:
            chosen = pairs[part]
            counts_part, full_part, empty_part = np.empty(len(part), np.int32), *np.empty((2, len(part)))
            solve_pairs(
                self.walker,
                self.rows[chosen],
                self.references[chosen],
                self._switched(chosen),
                weights,
                int(reached[part].max()),
                start[part],
                counts_part,
                active,
                phi,
                full_part,
                empty_part,
            )
            counts[part], full[part], empty[part] = counts_part, full_part, empty_part

        parts = self._shares(reached, work)
        self._in_threads(solve_part, parts, lambda part: progress.advance(len(part), work[part].sum()))
        kept = np.repeat(start, counts) + _within(counts)
        return Solved(counts, active[kept], phi[kept], full, empty)

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
        everyone = np.arange(n)
        # Those of a forest are counted by what they do to the difference, which is not all that is tabled.
        reached = self.reached(everyone, most) if self.walker.output.is_logistic else self.q
        replaced, risks = np.zeros(cells.shape, dtype=np.bool_), np.full((n, 2), np.nan)
        chosen = np.flatnonzero(reached <= most)

        def choose_part(part: Ints) -> None:
            replaced_part, risks_part = (
                np.empty((len(part), cells.shape[1]), np.bool_),
                np.empty((len(part), 2)),
            )
            choose_players(
                self.walker,
                self.rows[part],
                self.references[part],
                self._switched(part),
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
        size = max(1, _VALUES // coalitions)
        return np.split(pairs, range(size, len(pairs), size))

    def values(self, pairs: Ints, q: int, coalitions: Bools) -> tuple[Floats, Ints]:
        """Return v of the coalitions for pairs with q active players, and who these players are.

        A coalition says which of them keep the row's value.
        """
        values = np.empty((len(pairs), len(coalitions)))
        active = np.empty((len(pairs), q), dtype=np.int32)

        def value_part(part: slice) -> None:
            chosen = pairs[part]
            coalition_risks(
                self.walker,
                self.rows[chosen],
                self.references[chosen],
                self._switched(chosen),
                coalitions,
                active[part],
                values[part],
            )

        self._in_threads(value_part, _parts(len(pairs), size=1 + _ROWS // len(coalitions)))
        return values, active.astype(np.int64)

    def _shares(self, reached: AnyCodes, work: Floats) -> list[Ints]:
        """Cut games into parts of about the same work, the longest games first: none is left at the end."""
        order = np.argsort(-reached, kind="stable")
        share = np.clip(work.sum() / (4 * self.n_threads), _LEAST, _MOST)
        cuts = np.searchsorted(np.cumsum(work[order]), np.arange(share, work.sum(), share))
        return [part for part in np.split(order, np.unique(cuts)) if len(part)]

    def _switched(self, pairs: Ints) -> Codes:
        """Return the ranks of the attribute's values, for each pair or once for all."""
        owners = self.rows[pairs] if self.groups.by_row else np.zeros(1, dtype=np.int64)
        return self.walker.ranks[self.groups.donors[owners]]

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


def _within(counts: Codes) -> Ints:
    """Return the numbers from 0 on within each of several runs of these lengths."""
    ends = np.cumsum(counts, dtype=np.int64)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
