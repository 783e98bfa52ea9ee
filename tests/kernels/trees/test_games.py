import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fairshap._kernels.shapley import shapley_values
from fairshap._kernels.trees import games
from fairshap._kernels.trees.ensemble import coalition_weights


# Kernels that only kernels call are called by one.
@numba.njit
def subset_sums(values):
    games.subset_sums(values)


@numba.njit
def subset_products(values):
    games.subset_products(values, 1)


@numba.njit
def add_logistic_gaps(odds, first, a, b, share, weights, first_weight, total, n):
    return games.add_logistic_gaps(odds, first, a, b, share, weights, first_weight, total, n)


@numba.njit
def raise_to_logistic_gap(risk, odds, a, b):
    games.raise_to_logistic_gap(risk, odds, a, b)


@numba.njit
def sums_of_weighted(values, weights, total, sums):
    everything = games.add_weighted(values, weights, total)
    everything_alike = total.sum()
    games.sums_by_player(total, len(sums), sums)
    return everything, everything_alike


def by_definition(values, combine):
    """Combine the value of each coalition with those of its subsets, one at a time."""
    result = values.copy()
    for coalition in range(len(values)):
        for subset in range(coalition):
            if subset & coalition == subset:
                result[coalition] = combine(result[coalition], values[subset])
    return result


@pytest.mark.parametrize("q", [0, 1, 2, 3, 4, 7])
def test_subset_sums_and_products_are_those_of_the_definition(q):
    values = np.random.default_rng(q).uniform(0.5, 1.5, size=1 << q)
    sums, products = values.copy(), values.copy()
    subset_sums(sums)
    subset_products(products)
    assert_allclose(sums, by_definition(values, np.add), rtol=1e-13)
    assert_allclose(products, by_definition(values, np.multiply), rtol=1e-12)


@pytest.mark.parametrize("q", [11, 12, 13])
def test_products_of_many_players_are_the_exponentials_of_sums(q):
    values = np.random.default_rng(q).normal(scale=1e-3, size=1 << q)
    products = np.exp(values)
    subset_products(products)
    subset_sums(values)
    assert_allclose(products, np.exp(values), rtol=1e-12)


def test_gaps_are_those_between_logistic_outputs():
    rng = np.random.default_rng(0)
    margins, a, b, weights = rng.normal(size=9), 0.3, -0.4, rng.random(9)
    gaps = np.abs(1 / (1 + np.exp(-margins - a)) - 1 / (1 + np.exp(-margins - b)))
    odds, total = np.exp(-margins), np.ones(9)
    shifted, heavier = np.append([7.0, 7.0], odds), np.append(7.0, weights)
    everything = add_logistic_gaps(shifted, 2, np.exp(-a), np.exp(-b), 0.5, heavier, 1, total, 9)
    assert_allclose(total, 1 + weights * gaps / 2, rtol=1e-13)
    assert everything == pytest.approx((weights * gaps).sum() / 2, rel=1e-13)
    risk = np.where(np.arange(9) % 2, 1.0, 0.0)
    raise_to_logistic_gap(risk, odds, np.exp(-a), np.exp(-b))
    assert_allclose(risk, np.maximum(np.arange(9) % 2, gaps), rtol=1e-13)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_weighted_sums_give_the_shapley_values(q):
    values = np.random.default_rng(q).normal(size=1 << q)
    total, sums = np.zeros(1 << q), np.empty(q)
    everything, expected = sums_of_weighted(values, coalition_weights(6)[1 << q : 2 << q], total, sums)
    assert everything == pytest.approx(expected)
    rest = (sums.sum() - (values[-1] - values[0])) / q
    assert_allclose(sums - rest, shapley_values(values[None])[0], atol=1e-12)
