import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from fairshap._kernels import distance
from fairshap._kernels.distance import nearest_both_ways, squared_distances


def plain_distance(a, codes_a, b, codes_b):
    """The definition, one cell at a time."""
    total = 0.0
    for x, z in zip(a, b, strict=True):
        if np.isnan(x) and np.isnan(z):
            continue
        total += 2.0 if np.isnan(x) or np.isnan(z) else (x - z) ** 2
    return total + 2.0 * sum(int(x != z) for x, z in zip(codes_a, codes_b, strict=True))


def all_distances(a, codes_a, b, codes_b):
    holes = np.isnan(a).any(axis=0) | np.isnan(b).any(axis=0)
    return squared_distances(a, codes_a, b, codes_b, holes)


@st.composite
def blocks(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    p, c = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    number = st.one_of(st.sampled_from([0.0, 1.0, -1.0, np.nan]), st.floats(-5, 5))
    code = st.integers(-1, 2)
    return tuple(
        (
            draw(arrays(np.float64, (rows, p), elements=number)),
            draw(arrays(np.int32, (rows, c), elements=code)),
        )
        for rows in (n, m)
    )


@given(blocks())
def test_distances_are_those_of_the_definition(two):
    (a, codes_a), (b, codes_b) = two
    expected = [
        [plain_distance(a[i], codes_a[i], b[j], codes_b[j]) for j in range(len(b))] for i in range(len(a))
    ]
    assert_allclose(all_distances(a, codes_a, b, codes_b), expected, rtol=1e-12, atol=1e-12)


@given(blocks(), st.integers(1, 20))
def test_nearest_is_the_first_of_the_smallest_both_ways(two, cells):
    (a, codes_a), (b, codes_b) = two
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distance, "_BLOCK_CELLS", cells)
        to_b, squared_a, to_a, squared_b = nearest_both_ways(a, codes_a, b, codes_b)
    full = all_distances(a, codes_a, b, codes_b)
    assert_array_equal(to_b, full.argmin(axis=1))
    assert_array_equal(to_a, full.argmin(axis=0))
    assert_array_equal(squared_a, full.min(axis=1))
    assert_array_equal(squared_b, full.min(axis=0))


def test_a_mismatch_costs_what_it_costs_in_one_hot_space():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    codes = rng.integers(0, 4, size=(300, 2)).astype(np.int32)
    one_hot = np.hstack([numbers, *(pd.get_dummies(column).to_numpy(float) for column in codes.T)])
    distances, neighbours = (
        NearestNeighbors(n_neighbors=1, algorithm="brute").fit(one_hot[150:]).kneighbors(one_hot[:150])
    )
    nearest, squared, _, _ = nearest_both_ways(numbers[:150], codes[:150], numbers[150:], codes[150:])
    assert_array_equal(nearest, neighbours[:, 0])
    assert_allclose(np.sqrt(squared), distances[:, 0], atol=1e-6)
