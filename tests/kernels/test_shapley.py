from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from fairshap._kernels.shapley import AllCoalitions, add_walks, antithetic_walks, shapley_values

finite = st.floats(-10, 10, allow_nan=False)


@st.composite
def games(draw, players=None):
    q = draw(st.integers(1, 5) if players is None else players)
    return draw(arrays(np.float64, 1 << q, elements=finite))


def brute_force(values):
    """Average the gains over every order in which the players can join: the definition."""
    q = len(values).bit_length() - 1
    phi = np.zeros(q)
    orders = list(permutations(range(q)))
    for order in orders:
        coalition = 0
        for player in order:
            phi[player] += values[coalition | 1 << player] - values[coalition]
            coalition |= 1 << player
    return phi / len(orders)


def test_coalitions_are_the_bits_of_their_number():
    assert AllCoalitions(2)[:].tolist() == [[False, False], [True, False], [False, True], [True, True]]
    assert AllCoalitions(3)[5:99].tolist() == [[True, False, True], [False, True, True], [True] * 3]
    assert AllCoalitions(0)[:].shape == (1, 0)
    assert len(AllCoalitions(30)) == 2**30


@given(games())
def test_values_are_the_mean_gain_over_all_orders(values):
    assert_allclose(shapley_values(values[None])[0], brute_force(values), atol=1e-12)


@given(games())
def test_values_sum_to_the_gain(values):
    assert_allclose(shapley_values(values[None]).sum(), values[-1] - values[0], atol=1e-11)


@given(games(st.integers(2, 5)), st.integers(0, 4), st.integers(0, 4))
def test_players_that_add_the_same_get_the_same(values, first, second):
    q = len(values).bit_length() - 1
    i, j = first % q, second % q
    numbers = np.arange(len(values))
    swapped = numbers & ~(1 << i | 1 << j) | (numbers >> i & 1) << j | (numbers >> j & 1) << i
    symmetric = values + values[swapped]
    phi = shapley_values(symmetric[None])[0]
    assert_allclose(phi[i], phi[j], atol=1e-11)


@given(games(st.integers(1, 4)), st.integers(0, 4))
def test_a_player_that_adds_nothing_gets_nothing(values, at):
    q = len(values).bit_length() - 1
    k = at % (q + 1)
    numbers = np.arange(2 * len(values))
    without = numbers & ((1 << k) - 1) | numbers >> (k + 1) << k
    assert shapley_values(values[without][None])[0, k] == 0.0


@given(games(st.just(4)), games(st.just(4)), finite)
def test_the_values_of_a_sum_are_the_sum_of_the_values(a, b, factor):
    combined = shapley_values((a + factor * b)[None])
    assert_allclose(combined, shapley_values(a[None]) + factor * shapley_values(b[None]), atol=1e-9)


def test_many_games_are_each_by_itself():
    values = np.random.default_rng(0).normal(size=(7, 16))
    assert_allclose(shapley_values(values), [brute_force(game) for game in values], atol=1e-12)


@pytest.mark.parametrize("q", [2, 5])
def test_walks_pass_from_nobody_to_everybody_and_back_the_other_way(q):
    orders, coalitions, steps = antithetic_walks(q, 6, np.random.default_rng(0))
    assert not coalitions[0].any()
    assert coalitions[-1].all()
    assert len(np.unique(coalitions, axis=0)) == len(coalitions)
    assert (orders[:, 1] == orders[:, 0, ::-1]).all()
    sizes = coalitions.sum(axis=1)[steps]
    assert (sizes == np.arange(q + 1)).all()
    joined = np.diff(coalitions[steps].astype(int), axis=2).argmax(axis=3)
    assert (joined == orders).all()


def walk_values(values, orders, steps, cut=2):
    """Return the means and their standard errors, the walks added in two lots."""
    mean, spread = np.zeros((2, len(values), orders.shape[2]))
    for count, part in ((0, slice(cut)), (cut, slice(cut, None))):
        add_walks(values, orders[part], steps[part], mean, spread, count)
    return mean, np.sqrt(spread / (len(orders) - 1) / len(orders))


def test_walks_in_all_orders_give_the_exact_values():
    q = 4
    values = np.random.default_rng(1).normal(size=(3, 1 << q))
    orders = np.array(list(permutations(range(q))))
    orders = np.stack([orders, orders[:, ::-1]], axis=1)
    bits = np.cumsum(1 << orders, axis=2)
    steps = np.concatenate([np.zeros((*bits.shape[:2], 1), dtype=int), bits], axis=2)
    phi, error = walk_values(values, orders, steps)
    assert_allclose(phi, shapley_values(values), atol=1e-12)
    assert (error > 0).all()


def test_walks_are_exact_without_interactions_and_say_so():
    weights = np.array([1.0, -2.0, 0.5])
    orders, coalitions, steps = antithetic_walks(3, 4, np.random.default_rng(0))
    phi, error = walk_values((coalitions @ weights)[None], orders, steps)
    assert_allclose(phi[0], weights, atol=1e-12)
    assert_allclose(error, 0, atol=1e-15)


def test_the_standard_error_is_the_spread_of_the_estimate():
    q = 6
    values = np.random.default_rng(3).normal(size=(1, 1 << q))
    exact = shapley_values(values)[0]
    estimates, errors = [], []
    for seed in range(200):
        orders, coalitions, steps = antithetic_walks(q, 30, np.random.default_rng(seed))
        number = coalitions @ (1 << np.arange(q))
        phi, error = walk_values(values[:, number], orders, steps)
        estimates.append(phi[0])
        errors.append(error[0])
    spread = np.std(estimates, axis=0)
    assert_allclose(np.mean(errors, axis=0), spread, rtol=0.25)
    assert (np.abs(np.mean(estimates, axis=0) - exact) < 4 * spread / np.sqrt(200)).all()
