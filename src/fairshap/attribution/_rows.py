"""What is known of each row while its pairs are being solved, and estimates from random orders."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fairshap._frames import Players
from fairshap._kernels.shapley import add_walks, antithetic_walks
from fairshap._progress import Progress
from fairshap._ties import floor_of
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution._calls import Game
from fairshap.attribution._explainer import Options
from fairshap.matching import MatchPlan

if TYPE_CHECKING:
    from fairshap.attribution._trees import TreeGame

# Orders that are drawn before a row may stop, and the standard errors that make a decision clear.
_FIRST, _CLEAR = 16, 5.0


class Rows:
    """The weighted means over each row's references, while its pairs are being solved."""

    def __init__(self, plan: MatchPlan, players: Players, n_rows: int, unit: float) -> None:
        self.plan = plan
        self.unit = unit
        self.values = np.zeros((n_rows, len(players.names)))
        self.errors: Floats | None = None
        self.full, self.empty = np.zeros(n_rows), np.zeros(n_rows)
        self.status = np.full(n_rows, "unmatched", dtype="<U9")
        self.status[plan.row] = "exact"
        #: Whether each pair is its row's only one.
        self.is_lone: Bools = np.bincount(plan.row, minlength=n_rows)[plan.row] == 1

    def add(
        self,
        pairs: Ints,
        counts: AnyCodes,
        active: AnyCodes,
        phi: Floats,
        full: Floats,
        empty: Floats,
        error: Floats | None = None,
    ) -> None:
        """Add the values of pairs, each with its weight, to their rows.

        ``active``, ``phi`` and ``error`` hold the players of one pair after those of the other,
        so many of each.
        """
        row, weight = self.plan.row[pairs], self.plan.weight[pairs]
        at = (np.repeat(row, counts), active.ravel())
        share = np.repeat(weight, counts)
        np.add.at(self.values, at, share * phi.ravel())
        np.add.at(self.full, row, weight * full)
        np.add.at(self.empty, row, weight * empty)
        if error is not None:
            if self.errors is None:
                # Not zeros_like, which would take memory for the many rows that have none.
                self.errors = np.zeros(self.values.shape)
            # References of one row share their permutations, so that their errors add up.
            np.add.at(self.errors, at, share * error.ravel())
            self.status[row] = "estimated"

    def finish(self) -> dict[str, Any]:
        """Return what an explanation says of the rows; those without a reference have no values."""
        unmatched = self.status == "unmatched"
        for array in (self.values, self.errors, self.full, self.empty):
            if array is not None:
                array[unmatched] = np.nan
        return {
            "values": self.values,
            "errors": self.errors,
            "status": self.status,
            "risk": self.full,
            "reference_risk": self.empty,
        }


def estimate_pairs(
    game: "Game | TreeGame",
    pairs: Ints,
    q: int,
    rows: Rows,
    options: Options,
    seed: int,
    progress: Progress,
    work: float = 1.0,
) -> None:
    """Estimate the values of pairs with q players and add them to their rows.

    The number of orders doubles until every value of a pair is clear of the threshold, or until as many
    are drawn as may be. Pairs that share their row with others go on to the end: what has to be clear
    is their mean.
    """
    # Seeded by q, so that a row's estimate does not depend on which other rows there are.
    rng = np.random.default_rng((seed, q))
    mean, spread = np.zeros((len(pairs), q)), np.zeros((len(pairs), q))
    active = np.zeros((len(pairs), q), dtype=np.int64)
    full, empty = np.zeros(len(pairs)), np.zeros(len(pairs))
    left, count = np.arange(len(pairs)), 0
    while len(left):
        most = options.n_permutations - count
        more = most if options.threshold is None else min(max(count, _FIRST), most)
        orders, coalitions, steps = antithetic_walks(q, more, rng)
        for batch in game.batches(left, len(coalitions)):
            values, active[batch] = game.values(pairs[batch], q, coalitions)
            full[batch], empty[batch] = values[:, -1], values[:, 0]
            # Taken out and put back: an index by numbers makes a copy.
            sums = mean[batch], spread[batch]
            add_walks(values, orders, steps, *sums, count)
            mean[batch], spread[batch] = sums
        count += more
        error = np.sqrt(spread[left] / (count - 1) / count)
        ends = np.full(len(left), count == options.n_permutations)
        if options.threshold is not None:
            enough = floor_of(options.threshold, rows.unit)
            ends |= _is_clear(mean[left], error, enough) & rows.is_lone[pairs[left]]
        done = left[ends]
        counts = np.full(len(done), q)
        rows.add(pairs[done], counts, active[done], mean[done], full[done], empty[done], error[ends])
        progress.advance(len(done), len(done) * work)
        left = left[~ends]


def _is_clear(mean: Floats, error: Floats, enough: float) -> Bools:
    """Say for each pair whether all its values are surely on their side of the smallest that is enough."""
    return np.asarray((np.abs(mean - enough) > _CLEAR * error).all(axis=1))
