"""The game of a linear model, whose margins are sums over the columns."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from fairshap._kernels.linear import FEW, MARGIN, MOST, Sums, gauss_rules, solve_sums
from fairshap._kernels.trees.ensemble import coalition_weights
from fairshap._messages import Progress, in_threads
from fairshap._models.linear import read_linear
from fairshap._models.scorer import risk_of_scores
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Game, Rows, in_parts

# The cells of a part of the pairs: 2 Mi numbers are 16 MiB.
_CELLS = 1 << 21


class LinearGame:
    """The games of a :class:`~fairshap.attribution._calls.Game` through a linear model's weights."""

    def __init__(self, game: Game, n_jobs: int | None) -> None:
        problem, players = game.risk.problem, game.players
        self.table = read_linear(game.risk.scorer, problem.table)
        self.is_logistic = game.risk.scorer.has_probabilities
        self.groups, self.columns = problem.groups, list(problem.columns)
        self.rows, self.references = game.rows, game.references
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        self.parts = in_parts(np.arange(len(self.rows)), _CELLS // self.table.terms[:, 0].size)
        #: Which columns are each player's; the attribute, and what is beside the table, is nobody's.
        self.is_player = np.zeros((len(problem.table.names), len(players.names)))
        self.is_player[np.arange(len(players.of_column)), players.of_column] = 1.0
        self.is_player[self.columns] = 0.0

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
