"""The Shapley values of a risk whose margins are sums, one term for each player.

Coalitions of few players are enumerated. For more, the gap between two logistic outputs is written as a
Fourier series, of which each term is a product over the players: its mean over coalitions takes
no enumeration. The values are exact to twelve digits for any number of players.
"""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled, inner, inner_in_any_order
from fairshap._kernels.trees.games import add_weighted, logistic, risk_of_outputs, sums_by_player
from fairshap._typing import Bools, Floats, Ints

# Players up to which enumerating is quicker than a series, and up to which it can be done.
FEW, MOST = 9, 20
# How far beyond its range a period of the series reaches, and the frequency after which no term
# matters: both leave a relative error of 1e-15.
_MARGIN, _FREQUENCY = 36.0, 12.0
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


@compiled
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
    n_components, n_pairs, n_players = sums.steps.shape
    active, part = np.empty(n_players, dtype=np.int64), np.empty(n_players)
    steps, outputs = np.empty((n_components, n_players)), np.empty(sums.shifts.shape[2])
    bottom, top = np.empty(n_components), np.empty(n_components)
    for i in range(n_pairs):
        shifts = sums.shifts[:, i if sums.shifts.shape[1] > 1 else 0]
        q = 0
        for k in range(n_players):
            differs = False
            for c in range(n_components):
                steps[c, q] = sums.steps[c, i, k]
                differs |= steps[c, q] != 0
            if differs:
                active[q] = k
                q += 1
        for c in range(n_components):
            bottom[c], total = sums.level[c, i], 0.0
            for k in range(q):
                total += steps[c, k]
            top[c] = bottom[c] + total
        empty[i], full[i] = _risk(sums, shifts, bottom, outputs), _risk(sums, shifts, top, outputs)
        solved[i] = True
        # Without a link the attribute makes the same difference to every coalition.
        if not sums.is_logistic or q == 0:
            continue
        first, last = _smooth_contrasts(shifts, sums.contrasts, sums.is_mean)
        solved[i] = False
        if q > few and last > first:
            solved[i] = _solve_by_series(
                sums, shifts, bottom, steps[:, :q], first, last, nodes, node_weights, part[:q]
            )
        if not solved[i] and q <= MOST:
            _solve_by_enumeration(sums, shifts, bottom, steps[:, :q], weights, part[:q])
            solved[i] = True
        if solved[i]:
            for s in range(q):
                phi[i, active[s]] = part[s]


@inner
def _risk(sums: Sums, shifts: Floats, level: Floats, outputs: Floats) -> float:
    """Return the risk of one row."""
    outputs[:] = 0.0
    for c in range(len(level)):
        for a in range(len(outputs)):
            margin = level[c] + shifts[c, a]
            outputs[a] += sums.shares[c] * (logistic(margin) if sums.is_logistic else margin)
    return risk_of_outputs(outputs, sums.contrasts, sums.is_mean)


@inner
def _smooth_contrasts(shifts: Floats, contrasts: Ints, is_mean: bool) -> tuple[int, int]:
    """Return the contrasts, from and to, of whose gaps the risk is the mean whatever the level, or none.

    For the mean these are all of them; for the largest, the one whose range contains those of all others.
    The gaps of several components add up where they are the same way round.
    """
    for w in range(len(contrasts)):
        a, b = contrasts[w]
        is_smooth = True
        for c in range(len(shifts)):
            is_smooth &= (shifts[c, b] >= shifts[c, a]) == (shifts[0, b] >= shifts[0, a])
            low, high = min(shifts[c, a], shifts[c, b]), max(shifts[c, a], shifts[c, b])
            for o in range(len(contrasts)):
                one, other = shifts[c, contrasts[o, 0]], shifts[c, contrasts[o, 1]]
                is_smooth &= is_mean or (low <= min(one, other) and max(one, other) <= high)
        if is_mean and not is_smooth:
            return 0, 0
        if not is_mean and is_smooth:
            return w, w + 1
    return 0, len(contrasts) if is_mean else 0


@inner
def _solve_by_enumeration(
    sums: Sums, shifts: Floats, level: Floats, steps: Floats, weights: Floats, phi: Floats
) -> None:
    """Write the values of one pair from the risks of all its coalitions."""
    q = len(phi)
    size = 1 << q
    margin, risk, total = np.empty(size), np.empty(size), np.zeros(size)
    outputs = np.zeros((size, shifts.shape[1]))
    for c in range(len(level)):
        margin[0] = level[c]
        for k in range(q):
            for j in range(1 << k):
                margin[(1 << k) + j] = margin[j] + steps[c, k]
        for j in range(size):
            for a in range(shifts.shape[1]):
                outputs[j, a] += sums.shares[c] * logistic(margin[j] + shifts[c, a])
    for j in range(size):
        risk[j] = risk_of_outputs(outputs[j], sums.contrasts, sums.is_mean)
    add_weighted(risk, weights[size : 2 * size], total)
    sums_by_player(total, q, phi)
    rest = 0.0
    for k in range(q):
        rest += phi[k]
    rest = (rest - (risk[size - 1] - risk[0])) / q
    for k in range(q):
        phi[k] -= rest


@inner
def _solve_by_series(
    sums: Sums,
    shifts: Floats,
    level: Floats,
    steps: Floats,
    first: int,
    last: int,
    nodes: Floats,
    node_weights: Floats,
    phi: Floats,
) -> bool:
    """Write the values of one pair from the series of each component; return whether it was short enough.

    The gap of a component is ``g(m) = s(m + b) - s(m + a)``, with s the logistic function. Where players
    join at random moments from 0 to 1, those before a player who joins at p are each of the others with
    probability p: ``phi_k`` is the mean over p and over such coalitions S of ``g(m(S + k)) - g(m(S))``.
    """
    phi[:] = 0.0
    for contrast in range(first, last):
        for c in range(len(level)):
            one, other = shifts[c, sums.contrasts[contrast, 0]], shifts[c, sums.contrasts[contrast, 1]]
            low, gap = min(one, other), abs(one - other)
            lowest, highest = level[c] + low, level[c] + low
            for k in range(len(phi)):
                lowest += min(steps[c, k], 0.0)
                highest += max(steps[c, k], 0.0)
            period = max(abs(lowest + gap / 2), abs(highest + gap / 2)) + gap / 2 + _MARGIN
            if period > _LONGEST:
                return False
            share = sums.shares[c] / (last - first)
            _add_series(level[c] + low, gap, steps[c], period, share, nodes, node_weights, phi)
    return True


@inner_in_any_order
def _add_series(
    level: float,
    gap: float,
    steps: Floats,
    period: float,
    share: float,
    nodes: Floats,
    node_weights: Floats,
    phi: Floats,
) -> None:
    """Add the values of one component.

    A term of frequency t has the Fourier transform of g, ``(pi t / sinh(pi t)) (exp(i t gap) - 1) / (i t)``,
    times ``exp(i t m)``, whose mean over coalitions is a product of ``1 - p + p exp(i t step)``; those over
    all players but one come from the products over the players before and after it.
    """
    q, n_nodes = len(steps), (len(steps) + 1) // 2
    before_re, before_im = np.empty((q + 1, n_nodes)), np.empty((q + 1, n_nodes))
    after_re, after_im = np.empty(n_nodes), np.empty(n_nodes)
    turn_re, turn_im = np.ones(q), np.zeros(q)
    one_re, one_im = np.empty(q), np.empty(q)
    base = 2.0 * np.pi / period
    for k in range(q):
        one_re[k], one_im[k] = np.cos(base * steps[k]), np.sin(base * steps[k])
    before_re[0], before_im[0] = 1.0, 0.0
    # The rule for so many players; rules for fewer come before it.
    start = n_nodes * (n_nodes - 1) // 2
    node, node_weight = nodes[start : start + n_nodes], node_weights[start : start + n_nodes]
    for n in range(1, int(np.ceil(_FREQUENCY / base)) + 1):
        t = base * n
        # 2 / period: the terms of frequency -t are the conjugates.
        size = 2.0 * share / period * np.pi / np.sinh(np.pi * t)
        # exp(i t gap) - 1, divided by i, times exp(i t level)
        a_re, a_im = np.sin(t * gap), 1.0 - np.cos(t * gap)
        c_re, c_im = np.cos(t * level), np.sin(t * level)
        a_re, a_im = size * (a_re * c_re - a_im * c_im), size * (a_re * c_im + a_im * c_re)
        for k in range(q):
            turn_re[k], turn_im[k] = (
                turn_re[k] * one_re[k] - turn_im[k] * one_im[k],
                turn_re[k] * one_im[k] + turn_im[k] * one_re[k],
            )
            x, y = turn_re[k] - 1.0, turn_im[k]
            u, v = before_re[k], before_im[k]
            u_next, v_next = before_re[k + 1], before_im[k + 1]
            for p in range(n_nodes):
                z, w = 1.0 + node[p] * x, node[p] * y
                u_next[p] = u[p] * z - v[p] * w
                v_next[p] = u[p] * w + v[p] * z
        for p in range(n_nodes):
            after_re[p], after_im[p] = node_weight[p], 0.0
        for k in range(q - 1, -1, -1):
            x, y = turn_re[k] - 1.0, turn_im[k]
            u, v = before_re[k], before_im[k]
            mean_re, mean_im = 0.0, 0.0
            for p in range(n_nodes):
                mean_re += u[p] * after_re[p] - v[p] * after_im[p]
                mean_im += u[p] * after_im[p] + v[p] * after_re[p]
            for p in range(n_nodes):
                z, w = 1.0 + node[p] * x, node[p] * y
                after = after_re[p]
                after_re[p] = after * z - after_im[p] * w
                after_im[p] = after * w + after_im[p] * z
            # The real part of a (turn - 1) mean.
            b_re, b_im = a_re * x - a_im * y, a_re * y + a_im * x
            phi[k] += b_re * mean_re - b_im * mean_im


def gauss_rules(n_players: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights over 0 to 1 of the rules of 1, 2, 3 ... points, one after the other.

    The rule of n points is exact for polynomials of a degree up to 2 n - 1, which serves 2 n players.
    """
    rules = [np.polynomial.legendre.leggauss(n) for n in range(1, (n_players + 1) // 2 + 1)]
    nodes = [(1.0 + nodes) / 2.0 for nodes, _ in rules]
    weights = [weights / 2.0 for _, weights in rules]
    return np.concatenate([*nodes, np.zeros(0)]), np.concatenate([*weights, np.zeros(0)])
