"""The Shapley values of a risk whose margins are sums, one term for each player.

Coalitions of few players are enumerated. For more, the gap between two logistic outputs is written as a
Fourier series, of which each term is a product over the players: its mean over coalitions takes
no enumeration. The values are exact to twelve digits for any number of players.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fairshap._kernels.compiling import compiled, compiled_in_any_order, inlined, inner
from fairshap._kernels.trees.games import add_weighted, logistic, risk_of_outputs, sums_by_player
from fairshap._typing import Bools, Floats, Ints

# Players up to which enumerating is quicker than a series, and up to which it can be done.
FEW, MOST = 9, 20
# How far beyond its range a period of the series reaches, and the frequency after which no term
# matters: both leave a relative error of 1e-15.
MARGIN, _FREQUENCY = 36.0, 12.0
# The longest period: a series of it has some ten thousand terms.
_LONGEST = 5000.0


class Sums(NamedTuple):
    """The margins of many pairs."""

    #: shape (components, pairs, players): what each player adds to the margin by keeping the row's value
    steps: Floats
    #: shape (components, pairs): the margin of the reference without the attribute
    level: Floats
    #: shape (components, pairs or 1, alternatives): what each value of the attribute adds
    shifts: Floats
    #: shape (components,): what each component counts in the output
    shares: Floats
    #: shape (contrasts, 2): which values of the attribute are compared
    contrasts: Ints
    #: Whether the risk is the mean of their gaps or the largest
    is_mean: bool
    #: Whether the margins go through the logistic function
    is_logistic: bool


def solve_sums(
    sums: Sums,
    few: int,
    weights: Floats,
    nodes: Floats,
    node_weights: Floats,
    phi: Floats,
    full: Floats,
    empty: Floats,
    solved: Bools,
) -> None:
    """Write the Shapley values of the risk of each pair, and whether they could be had.

    Coalitions of up to ``few`` players, :data:`FEW` by rights, are enumerated. ``weights`` are those of
    :func:`~fairshap._kernels.trees.ensemble.coalition_weights` for :data:`MOST` players, ``nodes`` and
    ``node_weights`` those of :func:`gauss_rules`. ``phi`` holds 0 before.
    """
    q = np.count_nonzero((sums.steps != 0).any(axis=0), axis=1)
    empty[:], full[:] = _risks(sums, sums.level), _risks(sums, sums.level + sums.steps.sum(axis=2))
    # Without a link the attribute makes the same difference to every coalition.
    solved[:] = (q == 0) | (not sums.is_logistic)
    active = np.empty(phi.shape[1], dtype=np.int64)
    first, last = _smooth_contrasts(sums.shifts, sums.contrasts, sums.is_mean)
    many = np.flatnonzero(~solved & (q > few) & (last > first))
    if len(many):
        _solve_by_series(sums, many, first, last, nodes, node_weights, active, phi, solved)
    left = np.flatnonzero(~solved & (q <= MOST))
    if len(left):
        size = 1 << int(q[left].max())
        outputs = np.empty((size, sums.shifts.shape[2]))
        _solve_by_enumeration(sums, left, weights, active, np.empty((3, size)), outputs, phi)
        solved[left] = True


def _risks(sums: Sums, level: Floats) -> Floats:
    """Return the risk of one row for each pair."""
    margins = level[:, :, None] + sums.shifts
    outputs = np.tensordot(sums.shares, expit(margins) if sums.is_logistic else margins, axes=1)
    gaps = np.abs(outputs[:, sums.contrasts[:, 0]] - outputs[:, sums.contrasts[:, 1]])
    return np.asarray(gaps.mean(axis=1) if sums.is_mean else gaps.max(axis=1))


def _smooth_contrasts(shifts: Floats, contrasts: Ints, is_mean: bool) -> tuple[Ints, Ints]:
    """Return the contrasts, from and to, of whose gaps the risk is the mean whatever the level, or none.

    For the mean these are all of them; for the largest, the one whose range contains those of all others.
    The gaps of several components add up where they are the same way round. There is one answer for each
    pair, or one for all.
    """
    one, other = shifts[:, :, contrasts[:, 0]], shifts[:, :, contrasts[:, 1]]
    is_smooth = ((other >= one) == (other >= one)[:1]).all(axis=0)
    if is_mean:
        last = len(contrasts) * is_smooth.all(axis=1)
        return np.zeros_like(last), last
    low, high = np.minimum(one, other), np.maximum(one, other)
    is_widest = (low <= low.min(axis=2, keepdims=True)) & (high >= high.max(axis=2, keepdims=True))
    is_smooth &= is_widest.all(axis=0)
    first = is_smooth.argmax(axis=1)
    return first, first + is_smooth.any(axis=1)


@compiled
def _solve_by_enumeration(
    sums: Sums, pairs: Ints, weights: Floats, active: Ints, tables: Floats, outputs: Floats, phi: Floats
) -> None:
    """Write the values of pairs from the risks of all their coalitions."""
    n_components = len(sums.steps)
    margin, risk, total = tables[0], tables[1], tables[2]
    for place in range(len(pairs)):
        i = pairs[place]
        at = i if sums.shifts.shape[1] > 1 else 0
        q = find_active(sums.steps, i, active)
        size = 1 << q
        for j in range(size):
            total[j] = 0.0
            for a in range(outputs.shape[1]):
                outputs[j, a] = 0.0
        for c in range(n_components):
            margin[0] = sums.level[c, i]
            for k in range(q):
                for j in range(1 << k):
                    margin[(1 << k) + j] = margin[j] + sums.steps[c, i, active[k]]
            for j in range(size):
                for a in range(outputs.shape[1]):
                    outputs[j, a] += sums.shares[c] * logistic(margin[j] + sums.shifts[c, at, a])
        for j in range(size):
            risk[j] = risk_of_outputs(outputs[j], sums.contrasts, sums.is_mean)
        gain = risk[size - 1] - risk[0]
        add_weighted(risk[:size], weights[size : 2 * size], total)
        # The margins are not needed any more.
        sums_by_player(total[:size], q, margin)
        rest = -gain
        for k in range(q):
            rest += margin[k]
        for k in range(q):
            phi[i, active[k]] = margin[k] - rest / q


@inner
def find_active(steps: Floats, i: int, active: Ints) -> int:
    """Write which players of a pair have a step, and return how many they are."""
    q = 0
    for k in range(steps.shape[2]):
        for c in range(steps.shape[0]):
            if steps[c, i, k] != 0:
                active[q] = k
                q += 1
                break
    return q


@compiled_in_any_order
def _solve_by_series(
    sums: Sums,
    pairs: Ints,
    first: Ints,
    last: Ints,
    nodes: Floats,
    node_weights: Floats,
    active: Ints,
    phi: Floats,
    solved: Bools,
) -> None:
    """Write the values of pairs from the series of each component, where these are short enough.

    The gap of a component is ``g(m) = s(m + b) - s(m + a)``, with s the logistic function. Where players
    join at random moments from 0 to 1, those before a player who joins at p are each of the others with
    probability p: ``phi_k`` is the mean over p and over such coalitions S of ``g(m(S + k)) - g(m(S))``.
    """
    n_components, _, n_players = sums.steps.shape
    most = (n_players + 1) // 2
    # Arrays of its own, of which the compiler knows that no other shares their memory.
    before_re, before_im = np.empty((n_players + 1, most)), np.empty((n_players + 1, most))
    after_re, after_im, part, steps = np.empty(most), np.empty(most), np.empty(n_players), np.empty(n_players)
    turn_re, turn_im = np.empty(n_players), np.empty(n_players)
    one_re, one_im = np.empty(n_players), np.empty(n_players)
    for place in range(len(pairs)):
        i = pairs[place]
        at = i if len(first) > 1 else 0
        q = find_active(sums.steps, i, active)
        for k in range(q):
            part[k] = 0.0
        solved[i] = True
        for job in range(first[at] * n_components, last[at] * n_components):
            contrast, c = job // n_components, job % n_components
            one = sums.shifts[c, at, sums.contrasts[contrast, 0]]
            other = sums.shifts[c, at, sums.contrasts[contrast, 1]]
            gap = abs(one - other)
            level = sums.level[c, i] + (one if one < other else other)
            lowest, highest = level + gap / 2, level + gap / 2
            for k in range(q):
                steps[k] = sums.steps[c, i, active[k]]
                lowest += steps[k] if steps[k] < 0.0 else 0.0
                highest += steps[k] if steps[k] > 0.0 else 0.0
            period = (highest if highest > -lowest else -lowest) + gap / 2 + MARGIN
            if period > _LONGEST:
                solved[i] = False
                break
            share = sums.shares[c] / (last[at] - first[at])
            _add_series(
                level, gap, steps, q, period, share, nodes, node_weights, before_re, before_im,
                after_re, after_im, turn_re, turn_im, one_re, one_im, part,
            )  # fmt: skip
        if solved[i]:
            for k in range(q):
                phi[i, active[k]] = part[k]


@inlined
def _add_series(
    level: float,
    gap: float,
    steps: Floats,
    q: int,
    period: float,
    share: float,
    nodes: Floats,
    node_weights: Floats,
    before_re: Floats,
    before_im: Floats,
    after_re: Floats,
    after_im: Floats,
    turn_re: Floats,
    turn_im: Floats,
    one_re: Floats,
    one_im: Floats,
    phi: Floats,
) -> None:
    """Add the values of one component; the arrays between the rules and these are to work in.

    A term of frequency t has the Fourier transform of g, ``(pi t / sinh(pi t)) (exp(i t gap) - 1) / (i t)``,
    times ``exp(i t m)``, whose mean over coalitions is a product of ``1 - p + p exp(i t step)``; those over
    all players but one come from the products over the players before and after it.
    """
    base, n_nodes = 2.0 * math.pi / period, (q + 1) // 2
    # The rule for so many players; rules for fewer come before it.
    start = n_nodes * (n_nodes - 1) // 2
    for p in range(n_nodes):
        before_re[0, p], before_im[0, p] = 1.0, 0.0
    for k in range(q):
        turn_re[k], turn_im[k] = 1.0, 0.0
        one_re[k], one_im[k] = math.cos(base * steps[k]), math.sin(base * steps[k])
    for n in range(1, math.ceil(_FREQUENCY / base) + 1):
        t = base * n
        # 2 / period: the terms of frequency -t are the conjugates.
        size = 2.0 * share / period * math.pi / math.sinh(math.pi * t)
        # exp(i t gap) - 1, divided by i, times exp(i t level)
        e_re, e_im = math.sin(t * gap), 1.0 - math.cos(t * gap)
        c_re, c_im = math.cos(t * level), math.sin(t * level)
        a_re, a_im = size * (e_re * c_re - e_im * c_im), size * (e_re * c_im + e_im * c_re)
        for k in range(q):
            x, y = turn_re[k], turn_im[k]
            turn_re[k], turn_im[k] = x * one_re[k] - y * one_im[k], x * one_im[k] + y * one_re[k]
            x, y = turn_re[k] - 1.0, turn_im[k]
            for p in range(n_nodes):
                z, w = 1.0 + nodes[start + p] * x, nodes[start + p] * y
                u, v = before_re[k, p], before_im[k, p]
                before_re[k + 1, p] = u * z - v * w
                before_im[k + 1, p] = u * w + v * z
        for p in range(n_nodes):
            after_re[p], after_im[p] = node_weights[start + p], 0.0
        for k in range(q - 1, -1, -1):
            x, y = turn_re[k] - 1.0, turn_im[k]
            mean_re, mean_im = 0.0, 0.0
            for p in range(n_nodes):
                u, v, after = before_re[k, p], before_im[k, p], after_re[p]
                mean_re += u * after - v * after_im[p]
                mean_im += u * after_im[p] + v * after
                z, w = 1.0 + nodes[start + p] * x, nodes[start + p] * y
                after_re[p] = after * z - after_im[p] * w
                after_im[p] = after * w + after_im[p] * z
            # The real part of a (turn - 1) mean.
            phi[k] += (a_re * x - a_im * y) * mean_re - (a_re * y + a_im * x) * mean_im


def gauss_rules(n_players: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights over 0 to 1 of the rules of 1, 2, 3 ... points, one after the other.

    The rule of n points is exact for polynomials of a degree up to 2 n - 1, which serves 2 n players.
    """
    rules = [np.polynomial.legendre.leggauss(n) for n in range(1, (n_players + 1) // 2 + 1)]
    nodes = [(1.0 + nodes) / 2.0 for nodes, _ in rules]
    weights = [weights / 2.0 for _, weights in rules]
    return np.concatenate([*nodes, np.zeros(0)]), np.concatenate([*weights, np.zeros(0)])
