from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fairshap._kernels.games import exponentials, shapley_by_folding, subset_sums
from fairshap._kernels.shapley import shapley_values


@pytest.mark.parametrize("q", [0, 1, 2, 3, 4, 9, 12])
def test_subset_sums_are_those_of_the_definition(q):
    values = np.random.default_rng(q).normal(size=1 << q)
    expected = values.copy()
    for bit in range(q):
        for k in range(1 << q):
            if k >> bit & 1:
                expected[k] += expected[k ^ 1 << bit]
    subset_sums(values)
    assert_allclose(values, expected, atol=1e-11)


def test_exponentials_are_numpy_s():
    m = np.concatenate([np.linspace(-340, 340, 4001), [0.0, -0.0, 1e-300, 1000.0, -1000.0]])
    values = m.copy()
    exponentials(values, 0.5, 1.5, np.empty(512), np.empty(512))
    assert_allclose(values, np.exp(-np.clip(0.5 + 1.5 * m, -350, 350)), rtol=1e-13)


@pytest.mark.parametrize("q", [0, 1, 2, 5])
def test_folding_gives_the_shapley_values(q):
    values = np.random.default_rng(q).normal(size=1 << q)
    sizes = np.bitwise_count(np.arange(1 << q))
    w = np.array([0.0, *(1 / (q * comb(q - 1, size)) for size in range(q)), 0.0])
    phi = np.empty(q)
    shapley_by_folding(values.copy(), w[sizes] + w[sizes + 1], w[sizes + 1], phi)
    assert_allclose(phi, shapley_values(values[None])[0], atol=1e-12)
