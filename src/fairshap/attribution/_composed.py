"""The games of models that are sums: linear ones, and those made of models, whose parts add up."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from fairshap._kernels.linear import FEW, MARGIN, MOST, Sums, gauss_rules, solve_sums
from fairshap._kernels.shapley import AllCoalitions
from fairshap._kernels.trees.ensemble import coalition_weights
from fairshap._kernels.trees.paths import MOST_PLAYERS
from fairshap._kernels.trees.sums import tabulate_margins
from fairshap._messages import Progress, in_threads
from fairshap._models import NotNativeError
from fairshap._models.composition import compose
from fairshap._models.linear import LinearTable, read_linear
from fairshap._models.probing import RankedTable
from fairshap._models.scorer import risk_of_scores
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Game, Job, Rows, in_parts
from fairshap.attribution._trees import make_walkers

# The cells of a part of the pairs of a linear model: 2 Mi numbers are 16 MiB.
_LINEAR_CELLS = 1 << 21
# The margins that a thread holds at a time, and of how many pairs at most, so that all threads have some:
# 512 Ki of them are 4 MiB. And the values of a batch.
_CELLS, _PAIRS, _BATCH = 1 << 19, 1 << 10, 1 << 22


class LinearGame:
    """The games of a :class:`~fairshap.attribution._calls.Game` through a linear model's weights."""

    def __init__(self, game: Game, n_jobs: int | None) -> None:
        problem = game.risk.problem
        self.table = read_linear(game.risk.scorer, problem.table)
        self.is_logistic = game.risk.scorer.has_probabilities
        self.groups, self.columns = problem.groups, list(problem.columns)
        self.rows, self.references = game.rows, game.references
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        self.parts = in_parts(np.arange(len(self.rows)), _LINEAR_CELLS // self.table.terms[:, 0].size)
        self.is_player = _is_player(game)

    @property
    def is_additive(self) -> bool:
        """Whether the games are sums: what is explained is the output itself, and there is no link."""
        return not (self.is_logistic or self.groups.contrasts)

    def solve(self, rows: Rows, progress: Progress) -> Ints:
        """Add the values of all pairs to their rows; return the pairs that could not be solved."""
        n_players = self.is_player.shape[1]
        rules = coalition_weights(min(n_players, MOST)), *gauss_rules(n_players)
        results: dict[int, tuple[Any, ...]] = {}

        def solve_part(part: Ints) -> tuple[Any, ...]:
            phi, (full, empty) = np.zeros((len(part), n_players)), np.empty((2, len(part)))
            solved, sums = np.full(len(part), fill_value=True), self._sums(part)
            if self.is_additive:
                phi = np.tensordot(sums.shares, sums.steps, axes=1)
                empty = sums.shares @ sums.level
                full = empty + phi.sum(axis=1)
            else:
                solve_sums(sums, FEW, *rules, phi, full, empty, solved)
            phi = phi[solved]
            pair, active = np.nonzero(phi)
            counts = np.bincount(pair, minlength=len(phi))
            values = counts, active, phi[pair, active], full[solved], empty[solved]
            return part[~solved], part[solved], *values

        def keep(item: tuple[Ints, ...], result: tuple[Any, ...]) -> None:
            results[int(item[0][0])] = result
            progress.advance(len(item[0]), len(item[0]))

        in_threads(solve_part, [(part,) for part in self.parts], self.n_threads, keep)
        left = [np.empty(0, dtype=np.int64)]
        # In the order of the pairs, in which the values of a row are summed.
        for _, (unsolved, *values) in sorted(results.items()):
            rows.add(*values)
            left.append(unsolved)
        return np.concatenate(left)

    def without(self, taken: Bools) -> Floats:
        """Return v of one coalition for each pair: all players but those taken, shape (pairs, players)."""
        risks = np.empty(len(self.rows))
        for part in self.parts:
            sums = self._sums(part)
            margins = sums.level + np.where(taken[part], 0.0, sums.steps).sum(axis=2)
            outputs = margins[:, :, None] + sums.shifts
            scores = np.tensordot(sums.shares, expit(outputs) if sums.is_logistic else outputs, axes=1)
            risks[part] = risk_of_scores(self.groups, scores.T)
        return risks

    def _sums(self, part: Ints) -> Sums:
        """Return the margins of some pairs."""
        own, other = (self.table.terms[:, at[part]] for at in (self.rows, self.references))
        owners = self.rows[part] if self.groups.by_row else np.zeros(1, dtype=np.int64)
        donors = self.groups.donors[owners]
        # What the attribute's values add, shape (components, rows, alternatives).
        shifts = self.table.terms[:, donors.ravel()][:, :, self.columns].sum(axis=2)
        shifts = shifts.reshape(len(shifts), *donors.shape)
        steps, contrasts = (own - other) @ self.is_player, self.groups.contrasts
        without: Floats = np.delete(other, self.columns, axis=2)
        level = without.sum(axis=2) + self.table.constants[:, None]
        if self.is_logistic and not contrasts:
            # The output is the gap to one that is 0 for all coalitions, so far below are its margins.
            highest = level + np.maximum(steps, 0.0).sum(axis=2)
            below = np.maximum(highest + MARGIN, 1.0)
            shifts, contrasts = np.stack([np.zeros_like(below), -below], axis=2), ((0, 1),)
        return Sums(
            steps=steps,
            level=level,
            shifts=shifts,
            shares=np.full(len(own), 1.0 / len(own)),
            contrasts=np.array(contrasts, dtype=np.int64),
            is_mean=self.groups.is_mean,
            is_logistic=self.is_logistic,
        )


class ComposedGame:
    """The games of a :class:`~fairshap.attribution._calls.Game` through the parts of a model made of models.

    What its parts add up is tabulated, and joined as they are.
    """

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
        self.n_margins = len(part.terms)
        self.constants = part.constants
        columns = list(game.risk.problem.columns)
        #: What the attribute adds, shape (margins, rows), and what each player does, with players at the end.
        self.of_attribute = part.terms[:, :, columns].sum(axis=2)
        self.of_player = part.terms @ _is_player(game)

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


def _is_player(game: Game) -> Floats:
    """Return which columns are each player's; the attribute, and what is beside the table, is nobody's."""
    problem, players = game.risk.problem, game.players
    is_player = np.zeros((len(problem.table.names), len(players.names)))
    is_player[np.arange(len(players.of_column)), players.of_column] = 1.0
    is_player[list(problem.columns)] = 0.0
    return is_player
