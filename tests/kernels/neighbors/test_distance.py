import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from fairshap._kernels.neighbors import distance
from fairshap._kernels.neighbors.distance import (
    Costs,
    nearest_both_ways,
    one_hot_blocks,
    squared_distances,
    without_one_hot,
)
from tests.matching.problems import equal_costs


def plain_distance(a, codes_a, b, codes_b, costs):
    """The definition, one cell at a time."""
    total = 0.0
    for x, z, weight, lacking in zip(a, b, costs.weights, costs.lacking, strict=True):
        if np.isnan(x) and np.isnan(z):
            continue
        total += lacking if np.isnan(x) or np.isnan(z) else weight * (x - z) ** 2
    return total + sum(cost for x, z, cost in zip(codes_a, codes_b, costs.mismatch, strict=True) if x != z)


def holes_of(a, b):
    return np.isnan(a).any(axis=0) | np.isnan(b).any(axis=0)


@st.composite
def blocks(draw):
    n, m = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    p, c = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    number = st.one_of(st.sampled_from([0.0, 1.0, -1.0, np.nan]), st.floats(-5, 5))
    code = st.integers(-1, 2)
    cost = st.one_of(st.sampled_from([0.0, 2.0]), st.floats(0.1, 3))
    costs = Costs(*(draw(arrays(np.float64, size, elements=cost)) for size in (p, p, c)))
    sides = [
        (
            draw(arrays(np.float64, (rows, p), elements=number)),
            draw(arrays(np.int32, (rows, c), elements=code)),
        )
        for rows in (n, m)
    ]
    return (*sides, costs)


@given(blocks())
def test_distances_are_those_of_the_definition(drawn):
    (a, codes_a), (b, codes_b), costs = drawn
    expected = [
        [plain_distance(a[i], codes_a[i], b[j], codes_b[j], costs) for j in range(len(b))]
        for i in range(len(a))
    ]
    squared = squared_distances(a[:, None], codes_a[:, None], b, codes_b, holes_of(a, b), costs)
    assert_allclose(squared, expected, rtol=1e-12, atol=1e-12)
    i, j = np.divmod(np.arange(squared.size), len(b))
    of_pairs = squared_distances(a[i], codes_a[i], b[j], codes_b[j], holes_of(a, b), costs)
    assert of_pairs.tobytes() == squared.tobytes()


def first_of_the_smallest(distances, k):
    """From the definition: by distance, then by row."""
    order = [sorted(range(len(row)), key=lambda j, row=row: (row[j], j))[:k] for row in distances.tolist()]
    return np.array(order), np.array([[row[j] for j in js] for row, js in zip(distances, order, strict=True)])


@given(blocks(), st.integers(1, 20), st.integers(1, 8))
def test_nearest_are_the_first_of_the_smallest_both_ways(drawn, cells, k):
    (a, codes_a), (b, codes_b), costs = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distance, "_BLOCK_CELLS", cells)
        found = nearest_both_ways(a, codes_a, b, codes_b, costs, k=k)
    full = squared_distances(a[:, None], codes_a[:, None], b, codes_b, holes_of(a, b), costs)
    expected = *first_of_the_smallest(full, k), *first_of_the_smallest(full.T, k)
    for got, wanted in zip(found, expected, strict=True):
        assert_array_equal(got, wanted)


@pytest.mark.parametrize("compiled", [False, True])
def test_sides_without_rows_have_no_nearest(compiled):
    a, codes = np.ones((3, 2)), np.zeros((3, 1), dtype=np.int32)
    costs = equal_costs(np.ones(2), 1)
    found = nearest_both_ways(a, codes, a[:0], codes[:0], costs, k=2, compiled=compiled)
    assert [part.shape for part in found] == [(3, 0), (3, 0), (0, 2), (0, 2)]
    back = nearest_both_ways(a[:0], codes[:0], a, codes, costs, k=5, compiled=compiled)
    assert [part.shape for part in back] == [(0, 3), (0, 3), (3, 0), (3, 0)]


def test_progress_adds_up_to_the_rows_of_both_sides():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(300, 2)), rng.normal(size=(200, 2))
    none = np.empty((300, 0), dtype=np.int32)
    for compiled in (False, True):
        told: list[int] = []
        nearest_both_ways(
            *(a, none, b, none[:200], equal_costs(np.ones(2), 0)),
            compiled=compiled,
            n_threads=2,
            advance=told.append,
        )
        assert sum(told) == 500


def test_a_mismatch_costs_what_it_costs_in_one_hot_space():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    codes = rng.integers(0, 4, size=(300, 2)).astype(np.int32)
    one_hot = np.hstack([numbers, *(pd.get_dummies(column).to_numpy(float) for column in codes.T)])
    distances, neighbours = (
        NearestNeighbors(n_neighbors=1, algorithm="brute").fit(one_hot[150:]).kneighbors(one_hot[:150])
    )
    nearest, squared, _, _ = nearest_both_ways(
        numbers[:150], codes[:150], numbers[150:], codes[150:], equal_costs(np.ones(3), 2)
    )
    assert_array_equal(nearest, neighbours)
    assert_allclose(np.sqrt(squared), distances, atol=1e-6)


def test_one_hot_blocks_are_found_and_cost_the_same():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(60, 3))
    dummies = [np.eye(3)[column] for column in codes.T]
    flags = rng.integers(0, 2, size=(60, 2)).astype(float)
    table = np.hstack([rng.normal(size=(60, 1)), dummies[0], flags, *dummies[1:], np.ones((60, 1))])
    width = table.shape[1]
    columns = np.arange(width)
    assert one_hot_blocks(table, columns)[0][0].tolist() == [1, 2, 3]
    weights = np.ones(width)
    # The second block weighs the same throughout; the third does not and is left as it is.
    weights[6:9], weights[9:12] = 0.3, [0.5, 1.0, 1.0]
    alone, found, own = without_one_hot(table, columns, weights)
    assert alone.tolist() == [0, 4, 5, 9, 10, 11, 12]
    assert_array_equal(found, codes[:, :2])
    assert own.tolist() == [1.0, 0.3]
    none = np.empty((60, 0), dtype=np.int32)
    costs = Costs(weights, weights, np.empty(0))
    whole = squared_distances(table[:, None], none[:, None], table, none, np.zeros(width, bool), costs)
    costs = Costs(weights[alone], weights[alone], 2 * own)
    numbers, no_holes = table[:, alone], np.zeros(len(alone), bool)
    fewer = squared_distances(numbers[:, None], found[:, None], numbers, found, no_holes, costs)
    assert_allclose(fewer, whole, atol=1e-12)


@pytest.mark.parametrize(
    "numbers",
    [
        np.array([[1.0, 0], [0, 0]]),
        np.array([[1.0, 1], [0, 1]]),
        np.array([[2.0, 0], [0, 2]]),
        np.array([[np.nan, 1], [0, 1]]),
        np.ones((2, 1)),
    ],
)
def test_what_is_no_block_is_left_alone(numbers):
    columns = np.arange(numbers.shape[1])
    assert one_hot_blocks(numbers, columns) == []
    assert_array_equal(without_one_hot(numbers, columns, np.ones(len(columns)))[0], columns)


def test_a_column_that_takes_no_part_may_stand_within_a_block(monkeypatch):
    monkeypatch.setattr(distance, "_COPIED_CELLS", 10)
    codes = np.array([0, 2, 1, 1, 0])
    dummies = np.eye(3)[codes]
    table = np.column_stack([dummies[:, :1], np.arange(5.0), dummies[:, 1:]])
    alone, found, _ = without_one_hot(table, np.array([0, 2, 3]), np.ones(4))
    assert not len(alone)
    assert_array_equal(found[:, 0], codes)
