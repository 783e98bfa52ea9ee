"""The game of a linear model, whose margins are sums over the columns."""

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from fairshap._frames import Players
from fairshap._kernels.linear import FEW, MOST, Sums, gauss_rules, solve_sums
from fairshap._kernels.trees.ensemble import coalition_weights
from fairshap._models.linear import is_linear, read_linear
from fairshap._models.scorer import Risk, risk_of_scores
from fairshap._progress import Progress, in_threads
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Rows

__all__ = ["LinearGame", "is_linear"]

# The cells of a part of the pairs: 2 Mi numbers are 16 MiB.
_CELLS = 1 << 21


class LinearGame:
    """Many games at once, one for each pair of a row and its reference, through a linear model's weights.

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
        self.table = read_linear(risk.scorer, risk.problem.table)
        self.groups, self.columns = risk.problem.groups, list(risk.problem.columns)
        self.rows, self.references = rows, references
        self.n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        #: Which columns are each player's; the attribute, and what is beside the table, is nobody's.
        self.is_player = np.zeros((len(risk.problem.table.names), len(players.names)))
        self.is_player[np.arange(len(players.of_column)), players.of_column] = 1.0
        self.is_player[self.columns] = 0.0

    def solve(self, rows: Rows, progress: Progress) -> Ints:
        """Add the values of all pairs to their rows; return the pairs that could not be solved."""
        n_players = self.is_player.shape[1]
        rules = coalition_weights(min(n_players, MOST)), *gauss_rules(n_players)
        size = max(1, _CELLS // (len(self.table.components) * self.table.width))
        parts = np.split(np.arange(len(self.rows)), range(size, len(self.rows), size))
        results: dict[int, tuple[Any, ...]] = {}

        def solve_part(part: Ints) -> tuple[Any, ...]:
            phi, (full, empty) = np.zeros((len(part), n_players)), np.empty((2, len(part)))
            solved = np.empty(len(part), dtype=np.bool_)
            solve_sums(self._sums(part), FEW, *rules, phi, full, empty, solved)
            phi = phi[solved]
            pair, active = np.nonzero(phi)
            counts = np.bincount(pair, minlength=len(phi))
            values = counts, active, phi[pair, active], full[solved], empty[solved]
            return part[~solved], part[solved], *values

        def keep(item: tuple[Ints, ...], result: tuple[Any, ...]) -> None:
            results[int(item[0][0])] = result
            progress.advance(len(item[0]), len(item[0]))

        in_threads(solve_part, [(part,) for part in parts if len(part)], self.n_threads, keep)
        left = [np.empty(0, dtype=np.int64)]
        # In the order of the pairs, in which the values of a row are summed.
        for _, (unsolved, *values) in sorted(results.items()):
            rows.add(*values)
            left.append(unsolved)
        return np.concatenate(left)

    def without(self, taken: Bools) -> Floats:
        """Return v of one coalition for each pair: all players but those taken, shape (pairs, players)."""
        size = max(1, _CELLS // (len(self.table.components) * self.table.width))
        risks = np.empty(len(self.rows))
        for start in range(0, len(self.rows), size):
            part = np.arange(start, min(start + size, len(self.rows)))
            sums = self._sums(part)
            margins = sums.level + np.where(taken[part], 0.0, sums.steps).sum(axis=2)
            outputs = margins[:, :, None] + sums.shifts
            scores = np.tensordot(sums.shares, expit(outputs) if sums.is_logistic else outputs, axes=1)
            risks[part] = risk_of_scores(self.groups, scores.T)
        return risks

    def _sums(self, part: Ints) -> Sums:
        """Return the margins of some pairs."""
        own, other = (self.table.terms(at[part]) for at in (self.rows, self.references))
        owners = self.rows[part] if self.groups.by_row else np.zeros(1, dtype=np.int64)
        without: Floats = np.delete(other, self.columns, axis=2)
        return Sums(
            steps=(own - other) @ self.is_player,
            level=without.sum(axis=2) + self.table.constants[:, None],
            shifts=self._shifts(owners),
            shares=np.full(len(own), 1.0 / len(own)),
            contrasts=np.array(self.groups.contrasts, dtype=np.int64),
            is_mean=self.groups.is_mean,
            is_logistic=self.table.is_logistic,
        )

    def _shifts(self, owners: Ints) -> Floats:
        """Return what the attribute's values add for some rows, shape (components, rows, alternatives)."""
        donors = self.groups.donors[owners]
        terms = self.table.terms(donors.ravel())[:, :, self.columns].sum(axis=2)
        return np.asarray(terms).reshape(len(terms), *donors.shape)
