"""Estimate the values of pairs with many players from random orders."""

from typing import TYPE_CHECKING

import numpy as np

from fairshap._kernels.shapley import add_walks, antithetic_walks
from fairshap._progress import Progress
from fairshap._ties import floor_of
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution._calls import Game
from fairshap.attribution._explainer import Options
from fairshap.attribution._rows import Rows

if TYPE_CHECKING:
    from fairshap.attribution._trees import TreeGame

# Orders that are drawn before a row may stop, and the standard errors that make a decision clear.
_FIRST, _CLEAR = 16, 5.0


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
