"""Shapley values from a table of coalition values, or from walks along permutations."""

from math import comb

import numpy as np

from fairshap._typing import Bools, Floats, Ints


class AllCoalitions:
    """The 2^q coalitions of q players, made a slice at a time; bit k of a coalition's number is player k."""

    def __init__(self, q: int) -> None:
        self.q = q

    def __len__(self) -> int:
        return 1 << self.q

    def __getitem__(self, part: slice) -> Bools:
        numbers = np.arange(*part.indices(len(self)))
        chosen = np.empty((len(numbers), self.q), dtype=np.bool_)
        for k in range(self.q):
            chosen[:, k] = numbers >> k & 1
        return chosen


def shapley_values(values: Floats) -> Floats:
    """Return the exact Shapley values of many games, shape (games, q).

    ``phi_k = sum over S without k of |S|! (q - |S| - 1)! / q! (v(S + k) - v(S))``, from the ``values`` of all
    coalitions, shape (games, 2^q), in the order of :class:`AllCoalitions`.
    """
    games, size = values.shape
    q = size.bit_length() - 1
    phi = np.empty((games, q))
    if not q:
        return phi
    others = np.bitwise_count(np.arange(size // 2))
    weight = np.array([1.0 / (q * comb(q - 1, s)) for s in range(q)])[others]
    for k in range(q):
        # Axis 2 is whether player k takes part; the rest, flattened, are the other players.
        halves = values.reshape(games, -1, 2, 1 << k)
        gain = (halves[:, :, 1, :] - halves[:, :, 0, :]).reshape(games, -1)
        phi[:, k] = (gain * weight).sum(axis=1)
    return phi


def antithetic_walks(q: int, pairs: int, rng: np.random.Generator) -> tuple[Ints, Bools, Ints]:
    """Return permutations, each followed by its reverse, and the coalitions they pass through.

    The players in the order in which they join, shape (pairs, 2, q); every coalition that some walk passes
    through, once, the empty one first and the full one last, shape (distinct, q); and where each walk's
    coalitions stand among them, shape (pairs, 2, q + 1).
    """
    forward = rng.permuted(np.tile(np.arange(q), (pairs, 1)), axis=1)
    orders = np.stack([forward, forward[:, ::-1]], axis=1)
    joined = np.zeros((pairs, 2, q + 1, q), dtype=np.bool_)
    for step in range(q):
        joined[:, :, step + 1] = joined[:, :, step]
        np.put_along_axis(joined[:, :, step + 1], orders[:, :, step, None], True, axis=2)
    passed = joined.reshape(-1, q)
    # As bytes, which are compared at once; the empty coalition sorts first and the full one last.
    packed = np.packbits(passed, axis=1)
    _, first, steps = np.unique(
        packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True
    )
    return orders, passed[first], steps.reshape(pairs, 2, q + 1)


def add_walks(values: Floats, orders: Ints, steps: Ints, mean: Floats, spread: Floats, count: int) -> None:
    """Add the gains of each player over some walks to their mean and the sum of their squared deviations.

    These are of the ``count`` pairs of walks before, shape (games, q). ``values`` holds the value of every
    coalition of :func:`antithetic_walks`, shape (games, distinct).
    """
    for order, step in zip(orders, steps, strict=True):
        gains = np.zeros(mean.shape)
        for joining, passed in zip(order, step, strict=True):
            gains[:, joining] += np.diff(values[:, passed], axis=1) / 2
        # Welford's update: a sum of squares minus the square of a sum would cancel.
        count += 1
        change = gains - mean
        mean += change / count
        spread += change * (gains - mean)
