"""The game of a model that is made of models: what its parts add up is tabulated, and joined as they are."""

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import effective_n_jobs

from fairshap._kernels.shapley import AllCoalitions
from fairshap._kernels.trees.paths import MOST_PLAYERS
from fairshap._kernels.trees.sums import tabulate_margins
from fairshap._messages import in_threads
from fairshap._models import NotNativeError
from fairshap._models.composition import compose
from fairshap._models.linear import LinearTable
from fairshap._models.probing import RankedTable
from fairshap._models.scorer import risk_of_scores
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Game, Job, in_parts
from fairshap.attribution._trees import make_walkers

# The margins that a thread holds at a time, and of how many pairs at most, so that all threads have some:
# 512 Ki of them are 4 MiB. And the values of a batch.
_CELLS, _PAIRS, _BATCH = 1 << 19, 1 << 10, 1 << 22


class ComposedGame:
    """The games of a :class:`~fairshap.attribution._calls.Game` through the parts of the model."""

    def __init__(self, game: Game, n_jobs: int | None) -> None:
        risk, players = game.risk, game.players
        self.risk, self.players, self.rows, self.references = risk, players, game.rows, game.references
        self.groups = risk.problem.groups
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        if self.groups.donors.shape[1] > MOST_PLAYERS:
            raise NotNativeError(f"the attribute has {self.groups.donors.shape[1]} values")
        composition = self.composition = compose(risk.scorer, risk.problem.table)
        self._tables = [
            _TreeTables(part, game) if isinstance(part, RankedTable) else _LinearTables(part, game)
            for part in composition.parts
        ]
        self._active = np.zeros((len(self.rows), len(players.names)), dtype=np.bool_)
        for table in self._tables:
            table.find_active(self.rows, self.references, self._active)
        #: The number of players of each pair that some part tells apart.
        self.q = np.count_nonzero(self._active, axis=1)
        if self.q.max(initial=0) > MOST_PLAYERS:
            raise NotNativeError(f"a row differs from its reference in {self.q.max()} features")

    def batches(self, pairs: Ints, coalitions: int) -> list[Ints]:
        """Cut pairs into batches whose values, that many each, can be held."""
        return in_parts(pairs, _BATCH // coalitions)

    def values(self, pairs: Ints, q: int, coalitions: Bools | AllCoalitions) -> tuple[Floats, Ints]:
        """Return v of the coalitions for pairs with q active players, and who these players are.

        A coalition says which of them keep the row's value.
        """
        return next(self.values_of([(pairs, q, coalitions)]))

    def values_of(self, jobs: Sequence[Job]) -> Iterator[tuple[Floats, Ints]]:
        """Yield the values of each job; the model is asked once for as many as can be held."""
        held: list[tuple[Ints, Bools | AllCoalitions, Floats, Ints]] = []
        for k, (pairs, q, coalitions) in enumerate(jobs, 1):
            held.append((pairs, coalitions, *self._tabulate(pairs, q, coalitions)))
            if k == len(jobs) or sum(values.size for _, _, values, _ in held) >= _BATCH:
                if self.composition.is_steep:
                    self._ask(held)
                yield from ((values, active) for _, _, values, active in held)
                held = []

    def _tabulate(self, pairs: Ints, q: int, coalitions: Bools | AllCoalitions) -> tuple[Floats, Ints]:
        """Return the values and the players; what hangs on a rounding is NaN."""
        active = np.nonzero(self._active[pairs])[1].reshape(len(pairs), q)
        bits = np.empty(0, dtype=np.int64)
        if not isinstance(coalitions, AllCoalitions):
            bits = coalitions @ (1 << np.arange(q, dtype=np.int64))
        values = np.empty((len(pairs), len(coalitions)))
        n_alternatives = self.groups.donors.shape[1]
        n_margins = sum(table.n_margins for table in self._tables)
        is_steep = self.composition.is_steep
        size = min(max(1, _CELLS // (n_margins * n_alternatives * len(coalitions))), _PAIRS)

        def value_part(part: slice) -> None:
            own, other = self.rows[pairs[part]], self.references[pairs[part]]
            donors = self.groups.donors[own if self.groups.by_row else np.zeros(1, dtype=np.int64)]
            margins = np.empty((n_margins, len(own), n_alternatives, len(coalitions)))
            start = 0
            for table in self._tables:
                stop = start + table.n_margins
                table.write(own, other, donors, active[part], bits, margins[start:stop])
                start = stop
            flat = margins.reshape(n_margins, -1)
            if is_steep:
                outputs, doubt = self.composition.join_in_doubt(flat)
            else:
                outputs = self.composition.join(flat)
            scores = outputs.reshape(*margins.shape[1:], *outputs.shape[1:])
            by_value = np.moveaxis(scores, 1, 0).reshape(n_alternatives, -1, *scores.shape[3:])
            values[part] = risk_of_scores(self.groups, by_value).reshape(len(own), -1)
            if is_steep:
                # The model is asked about these, all together.
                values[part][doubt.reshape(margins.shape[1:]).any(axis=1)] = np.nan

        parts = [slice(start, min(start + size, len(pairs))) for start in range(0, len(pairs), size)]
        in_threads(value_part, [(part,) for part in parts], self.n_threads, lambda *_: None)
        return values, active

    def _ask(self, held: list[tuple[Ints, Bools | AllCoalitions, Floats, Ints]]) -> None:
        """Ask the model for the values that are NaN."""
        asked = []
        for pairs, coalitions, values, active in held:
            pair, coalition = np.nonzero(np.isnan(values))
            taken = np.zeros((len(pair), len(self.players.names)), dtype=np.bool_)
            taken[np.arange(len(pair))[:, None], active[pair]] = ~coalitions[: len(coalitions)][coalition]
            asked.append((self.rows[pairs[pair]], self.references[pairs[pair]], taken))
        own, other, taken = (np.concatenate(arrays) for arrays in zip(*asked, strict=True))
        risks = Game(self.risk, self.players, own, other).without(taken)
        for (_, _, values, _), (rows, _, _) in zip(held, asked, strict=True):
            values[np.isnan(values)], risks = risks[: len(rows)], risks[len(rows) :]


class _TreeTables:
    """The margins of a tree ensemble, for all coalitions of a pair or for some."""

    def __init__(self, part: RankedTable, game: Game) -> None:
        self.ranks = part.ranks
        # All trees matter, as they do behind a link.
        self.walkers = make_walkers(part, game, needs_level=True)
        self.n_margins = len(self.walkers)

    def find_active(self, rows: Ints, references: Ints, active: Bools) -> None:
        """Mark the players whose values some split tells apart."""
        player = self.walkers[0].ways.player
        for feature in np.flatnonzero(player >= 0):
            seen = self.ranks[:, feature]
            active[:, player[feature]] |= seen[rows] != seen[references]

    def write(
        self, rows: Ints, references: Ints, donors: Ints, active: Ints, bits: Ints, margins: Floats
    ) -> None:
        """Write the margins of pairs, shape (margins, pairs, alternatives, coalitions)."""
        switched, players = self.ranks[donors], active.astype(np.int32)
        for walker, table in zip(self.walkers, margins, strict=True):
            tabulate_margins(walker, rows, references, switched, players, bits, table)


class _LinearTables:
    """The margins of a linear model, for all coalitions of a pair or for some."""

    def __init__(self, part: LinearTable, game: Game) -> None:
        players = game.players
        self.n_margins = len(part.terms)
        self.constants = part.constants
        columns = list(game.risk.problem.columns)
        #: What the attribute adds, shape (margins, rows), and what each player does, with players at the end.
        self.of_attribute = part.terms[:, :, columns].sum(axis=2)
        is_player = np.zeros((part.terms.shape[2], len(players.names)))
        is_player[np.arange(len(players.of_column)), players.of_column] = 1.0
        is_player[columns] = 0.0
        self.of_player = part.terms @ is_player

    def find_active(self, rows: Ints, references: Ints, active: Bools) -> None:
        """Mark the players whose terms differ."""
        for of_player in self.of_player:
            active |= of_player[rows] != of_player[references]

    def write(
        self, rows: Ints, references: Ints, donors: Ints, active: Ints, bits: Ints, margins: Floats
    ) -> None:
        """Write the margins of pairs, shape (margins, pairs, alternatives, coalitions)."""
        for k, table in enumerate(margins):
            own, other = self.of_player[k][rows], self.of_player[k][references]
            steps = np.take_along_axis(own - other, active, axis=1)
            if len(bits):
                sums = steps @ (bits >> np.arange(active.shape[1])[:, None] & 1).astype(np.float64)
            else:
                # Each player doubles the table: the coalitions without it, then those with it.
                sums = np.zeros((len(rows), 1))
                for step in steps.T:
                    sums = np.concatenate([sums, sums + step[:, None]], axis=1)
            level = other.sum(axis=1) + self.constants[k]
            table[:] = (sums + level[:, None])[:, None] + self.of_attribute[k][donors][:, :, None]
