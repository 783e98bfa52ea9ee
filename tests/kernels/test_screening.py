"""Bounds of values against the values themselves."""

from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairshap._kernels.screening import MOST_SCREENED, bound_pairs
from tests.conftest import examples
from tests.kernels.test_trees import N_CUTS, N_FEATURES, make, random_trees, solve


def bound(walker, rows, references, switched):
    weights = np.zeros((MOST_SCREENED + 2, MOST_SCREENED + 2))
    for q in range(1, len(weights)):
        weights[q, :q] = [1 / (q * comb(q - 1, size)) for size in range(q)]
    bounds, full, empty = np.empty((3, len(rows)))
    bound_pairs(walker, rows, references, switched, weights, bounds, full, empty)
    return bounds, full, empty


@examples(40)
@given(st.integers(0, 10_000), st.booleans(), st.integers(2, 3), st.booleans(), st.booleans())
def test_no_value_exceeds_its_bound(seed, logistic, n_values, by_row, is_mean):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, 4, 4, with_categories=True)
    ranks = rng.integers(-1, N_CUTS + 1, size=(6, N_FEATURES)).astype(np.int32)
    rows, references = np.array([0, 1, 2]), np.array([3, 4, 5])
    switched = rng.integers(0, N_CUTS + 1, size=(3 if by_row else 1, n_values, N_FEATURES)).astype(np.int32)
    contrasts = np.array([[0, k] for k in range(1, n_values)])
    player = np.array([-1, 0, 1, 1, 2], dtype=np.int32)
    scale = 0.5 if seed % 2 else -1.5
    walker = make(trees, ranks, contrasts, player, player < 0, logistic, scale, is_mean)
    phi, full, empty, _ = solve(walker, rows, references, switched)
    bounds, *risks = bound(walker, rows, references, switched)
    assert (phi.max(axis=1) <= bounds + 1e-12).all()
    # Where the attribute makes no difference to any mix, the pair itself is not looked at.
    for risk, known in zip(risks, (full, empty), strict=True):
        assert_allclose(risk, known, atol=1e-12)
    if not logistic:
        # Without a link the difference is all there is: the bound is the value.
        assert_allclose(bounds, np.maximum(phi.max(axis=1), 0), atol=1e-12)
