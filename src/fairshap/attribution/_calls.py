"""The game played by calling the model, and the rows that the values of all games are added up for."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshap._frames import Players
from fairshap._kernels.shapley import AllCoalitions, add_walks, antithetic_walks
from fairshap._messages import Forecast, Progress
from fairshap._models import Risk
from fairshap._problem.target import floor_of
from fairshap._typing import AnyCodes, Bools, Floats, Hashes, Ints
from fairshap.attribution._explanation import Options
from fairshap.matching import MatchPlan

if TYPE_CHECKING:
    from fairshap.attribution._trees import TreeGame

# The cells whose fingerprints are held at a time.
_HASH_CELLS = 1 << 22
# The rows whose risks are held so that the model is not asked again: 24 bytes each, 48 MiB together.
_MOST_KNOWN = 1 << 21
# Orders that are drawn before a row may stop, and the standard errors that make a decision clear.
_FIRST, _CLEAR = 16, 5.0


#: Pairs, the number of their active players, and the coalitions of these whose values are wanted.
Job = tuple[Ints, int, Bools | AllCoalitions]


class Game:
    """Many games at once, one for each pair of a row and its reference.

    ``v(S)`` is the risk of the row that has its own values for the players in S and the reference's
    for all others; in the gap game it is the score. A player whose values are equal in both is a dummy, as is
    the sensitive attribute where the risk sets it: only the other players are active.
    """

    def __init__(self, risk: Risk, players: Players, rows: Ints, references: Ints) -> None:
        #: What times the first rows that the model is asked about, if somebody waits for many.
        self.forecast = Forecast(0, "")
        self.risk = risk
        self.players = players
        self.rows = rows
        self.references = references
        self._known = _Known()

    # Read when it is needed: a game that is played otherwise never asks.
    @cached_property
    def _active(self) -> Bools:
        cells = self.risk.problem.table.differ(self.rows, self.references)
        cells[:, list(self.risk.problem.columns)] = False
        return self.players.differ(cells[:, : len(self.players.of_column)])

    @cached_property
    def q(self) -> Ints:
        """The number of active players of each pair."""
        return np.asarray(np.count_nonzero(self._active, axis=1))

    def batches(self, pairs: Ints, coalitions: int) -> list[Ints]:
        """Cut pairs into batches whose coalitions, that many each, fit into one call of the model."""
        width = len(self.risk.problem.table.names)
        return in_parts(pairs, min(self.risk.call_rows // coalitions, _HASH_CELLS // width))

    def values(self, pairs: Ints, q: int, coalitions: Bools | AllCoalitions) -> tuple[Floats, Ints]:
        """Return v of coalitions, those who keep the row's value, and the q active players of each pair."""
        active = np.nonzero(self._active[pairs])[1].reshape(len(pairs), q)
        values = np.empty((len(pairs), len(coalitions)))
        step = max(1, self.risk.call_rows // len(pairs))
        for start in range(0, len(coalitions), step):
            part = coalitions[start : start + step]
            # Each distinct row is asked about once, here and as long as it is known from before.
            keys = np.array([self._fingerprints(pairs, active, part, salt) for salt in (0, 1)])
            first, inverse = _distinct(*keys)
            risks = self._known.find(keys[:, first])
            new = np.flatnonzero(np.isnan(risks))
            pair, coalition = np.divmod(first[new], len(part))
            from_reference = np.zeros((len(new), len(self.players.names)), dtype=np.bool_)
            from_reference[np.arange(len(new))[:, None], active[pair]] = ~part[coalition]
            risks[new] = self._mixed(pairs[pair], from_reference)
            self._known.add(keys[:, first[new]], risks[new])
            values[:, start : start + step] = risks[inverse].reshape(len(pairs), len(part))
        return values, active

    def values_of(self, jobs: Sequence[Job]) -> Iterator[tuple[Floats, Ints]]:
        """Yield what :meth:`values` returns for each job."""
        return (self.values(*job) for job in jobs)

    def without(self, taken: Bools) -> Floats:
        """Return v of one coalition for each pair: all players but those taken, shape (pairs, players)."""
        risks = np.empty(len(self.rows))
        for part in self.batches(np.arange(len(self.rows)), 1):
            risks[part] = self._mixed(part, taken[part])
        return risks

    def _mixed(self, pairs: Ints, from_reference: Bools) -> Floats:
        """Return the risk of rows that have some players, shape (pairs, players), from the reference."""
        own, other = self.rows[pairs], self.references[pairs]
        sources = [np.where(from_reference[:, player], other, own) for player in self.players.of_column]
        # An attribute that was added is no player's column; the risk sets it.
        sources += [own] * (len(self.risk.problem.table.names) - len(sources))
        risks, stop = np.empty(len(own)), 0
        while stop < len(own):
            part = slice(stop, min(stop + self.forecast.most, len(own)))
            ask = partial(self.risk.of_mixes, [rows[part] for rows in sources], own[part])
            risks[part] = self.forecast.ask(part.stop - part.start, ask)
            stop = part.stop
        return risks

    def _fingerprints(self, pairs: Ints, active: Ints, coalitions: Bools, salt: int) -> Hashes:
        """Return a fingerprint of every mixed row, flattened: equal rows have equal ones."""
        problem = self.risk.problem
        own = problem.table.hashes(self.rows[pairs], salt)
        other = problem.table.hashes(self.references[pairs], salt)
        columns = list(problem.columns)
        other[:, columns] = 0
        if problem.groups.by_row:
            # Where the attribute's alternatives are the row's own, rows differ by them as well.
            for k, rows in enumerate(problem.groups.donors[self.rows[pairs]].T):
                other[:, columns] += problem.table.hashes(rows, salt + 2 * (k + 1))[:, columns]
        hashes = np.repeat(other.sum(axis=1, dtype=np.uint64)[:, None], len(coalitions), axis=1)
        change = np.zeros((len(pairs), len(self.players.names)), dtype=np.uint64)
        for column, player in enumerate(self.players.of_column):
            if column not in columns:
                change[:, player] += own[:, column] - other[:, column]
        for k in range(active.shape[1]):
            gain = np.take_along_axis(change, active[:, k : k + 1], axis=1)
            hashes += gain * coalitions[:, k].astype(np.uint64)
        return hashes.reshape(-1)


def in_parts(pairs: Ints, size: int) -> list[Ints]:
    """Cut pairs into parts of a size, the last one smaller; none is empty."""
    return [pairs[start : start + max(size, 1)] for start in range(0, len(pairs), max(size, 1))]


def _distinct(first_hash: Hashes, second_hash: Hashes) -> tuple[Ints, Ints]:
    """Return where each distinct row stands first, and which distinct row each row is.

    Two rows are taken for equal when both 64-bit fingerprints agree. Should the first ever agree
    where the second does not, no row is taken for another.
    """
    _, first, inverse = np.unique(first_hash, return_index=True, return_inverse=True)
    if (second_hash[first][inverse] != second_hash).any():
        everyone = np.arange(len(first_hash))
        return everyone, everyone
    return first, inverse


class _Known:
    """The risks of rows that the model was asked about, by both fingerprints, as many as may be held."""

    def __init__(self) -> None:
        self.keys, self.risks = np.zeros((2, 1), dtype=np.uint64), np.full(1, np.nan)

    def find(self, keys: Hashes) -> Floats:
        """Return the risks of rows, NaN where they are not known."""
        place = np.searchsorted(self.keys[0], keys[0])
        place[place == len(self.risks)] = 0
        return np.where((self.keys[:, place] == keys).all(axis=0), self.risks[place], np.nan)

    def add(self, keys: Hashes, risks: Floats) -> None:
        """Keep the risks of rows that were not known, unless they are too many."""
        if len(self.risks) + len(risks) > _MOST_KNOWN:
            return
        keys, risks = np.hstack([self.keys, keys]), np.append(self.risks, risks)
        # Both are in order: they are merged.
        order = np.argsort(keys[0], kind="stable")
        self.keys, self.risks = keys[:, order], risks[order]


class Rows:
    """The weighted means over each row's references, while its pairs are being solved."""

    def __init__(
        self, plan: MatchPlan, players: Players, n_rows: int, unit: float, sign: Floats | None = None
    ) -> None:
        self.plan = plan
        self.unit = unit
        #: By what the values of each row's games are multiplied.
        self.sign = np.ones(n_rows) if sign is None else sign
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
        """Add the values of pairs, by weight: those of so many players of one after those of the other."""
        row, weight = self.plan.row[pairs], self.plan.weight[pairs]
        at = (np.repeat(row, counts), active.ravel())
        share = np.repeat(weight, counts)
        np.add.at(self.values, at, np.repeat(self.sign[row] * weight, counts) * phi.ravel())
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
        found = {
            "values": self.values,
            "errors": self.errors,
            "output": self.full,
            "reference_output": self.empty,
        }
        for array in found.values():
            if array is not None:
                array[self.status == "unmatched"] = np.nan
        return {**found, "status": self.status}


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

    The number of orders doubles until every value of a pair is clear of the threshold, or there are as many
    as may be. Pairs that share their row with others go on to the end: what has to be clear is their mean.
    """
    # Seeded by q, so that a row's estimate does not depend on which other rows there are.
    rng = np.random.default_rng((seed, q))
    mean, spread = np.zeros((2, len(pairs), q))
    active = np.zeros((len(pairs), q), dtype=np.int64)
    full, empty = np.zeros((2, len(pairs)))
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
            sign = rows.sign[rows.plan.row[pairs[left]]][:, None]
            ends |= _is_clear(sign * mean[left], error, enough) & rows.is_lone[pairs[left]]
        done = left[ends]
        counts = np.full(len(done), q)
        rows.add(pairs[done], counts, active[done], mean[done], full[done], empty[done], error[ends])
        progress.advance(len(done), len(done) * work)
        left = left[~ends]


def _is_clear(mean: Floats, error: Floats, enough: float) -> Bools:
    """Say for each pair whether all its values are surely on their side of the smallest that is enough."""
    return np.asarray((np.abs(mean - enough) > _CLEAR * error).all(axis=1))
