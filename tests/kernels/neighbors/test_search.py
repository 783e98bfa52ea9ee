import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from fairshap._kernels.neighbors import blocks as blocks_module
from fairshap._kernels.neighbors import search as search_module
from fairshap._kernels.neighbors.blocks import ROWS, Rows, blocks_of, buckets_of
from fairshap._kernels.neighbors.distance import (
    Costs,
    nearest_both_ways,
    nearest_plainly,
    search_plainly,
    terms_of,
)
from fairshap._kernels.neighbors.search import Index, search
from tests.conftest import examples
from tests.matching.problems import equal_costs

# What overflows in machine code does so silently; without the compiler numpy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")

needs_compiler = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="minutes of loops in plain Python")


@st.composite
def sides(draw, most_rows=6):
    """Two sides with ties, duplicates, missing cells, constant columns and columns of one kind only."""
    n, m = draw(st.integers(1, most_rows)), draw(st.integers(1, most_rows))
    p, c = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = draw(
        st.sampled_from([[0.0, 1.0], [0.0, 1.0, np.nan], [0.5, -3.0, 0.1, 0.3, np.nan], [1e200, -1e200, 0.0]])
    )
    categories = draw(st.sampled_from([1, 3, 300]))
    kinds = rng.integers(0, 3, size=p)
    parts = []
    for rows in (n, m):
        numbers = rng.choice(values, size=(rows, p))
        numbers[:, kinds == 1] = rng.normal(size=(rows, int((kinds == 1).sum())))
        numbers[:, kinds == 2] = 0.7
        parts.append((numbers, rng.integers(-1, categories, size=(rows, c)).astype(np.int32)))
    costs = equal_costs(rng.random(p) + 0.1, c)
    if draw(st.booleans()):
        # Costs of which some are the same, some 0, and none is a sum of powers of two.
        costs = Costs(costs.weights, rng.choice([0.0, 0.3, 1.7], p), rng.choice([0.0, 0.7, 0.1], c))
    return (*parts, costs)


def assert_same_search(a, codes_a, b, codes_b, costs, threads, k=1):
    holes = np.isnan(a).any(axis=0) | np.isnan(b).any(axis=0)
    options = (a, codes_a, b, codes_b, holes, costs)
    expected = search_plainly(*options, k=k)
    found = search(*options, k=k, n_threads=threads)
    for plain, compiled in zip(expected, found, strict=True):
        assert plain.shape == compiled.shape
        assert plain.tobytes() == compiled.tobytes()


@given(sides(), st.integers(1, 3), st.integers(1, 8))
def test_the_compiled_search_is_the_plain_one_to_the_last_bit(drawn, threads, k):
    (a, codes_a), (b, codes_b), costs = drawn
    assert_same_search(a, codes_a, b, codes_b, costs, threads, k)


@needs_compiler
@examples(60)
@given(sides(most_rows=1500), st.integers(1, 3), st.sampled_from([1, 2, 5, 70, 2000]))
def test_so_it_is_over_many_blocks(drawn, threads, k):
    (a, codes_a), (b, codes_b), costs = drawn
    assert_same_search(a, codes_a, b, codes_b, costs, threads, k)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("categories", [3, 300])
@pytest.mark.parametrize("is_equal", [True, False])
def test_so_it_is_over_many_columns_and_groups(threads, categories, is_equal, monkeypatch):
    monkeypatch.setattr(search_module, "_CELLS", 10_000_000)
    rng = np.random.default_rng(0)
    numbers = [rng.choice([0.0, 0.5, 1.0, np.nan], size=(rows, 5)) for rows in (90, 9000)]
    for side in numbers:
        side[:, 2] = rng.integers(0, 3, len(side))
    codes = [rng.integers(-1, categories, size=(rows, 300)).astype(np.int32) for rows in (90, 9000)]
    costs = equal_costs(rng.random(5), 300)
    if not is_equal:
        costs = Costs(costs.weights, rng.random(5), rng.choice([0.1, 0.2, 0.7], 300))
    assert_same_search(numbers[0], codes[0], numbers[1], codes[1], costs, threads)
    assert_same_search(numbers[1], codes[1], numbers[0], codes[0], costs, threads)


@needs_compiler
def test_equal_rows_cost_no_time_and_the_lowest_stands_for_them():
    rng = np.random.default_rng(0)
    distinct = rng.integers(0, 3, size=(20, 4)).astype(float)
    a, b = distinct[rng.integers(0, 20, 3000)], distinct[rng.integers(0, 20, 5000)]
    none = np.empty((5000, 0), dtype=np.int32)
    costs = equal_costs(np.ones(4), 0)
    assert_same_search(a, none[:3000], b, none, costs, 2)
    assert_same_search(a, none[:3000], b, none, costs, 2, k=3)


def test_few_buckets_do_when_there_are_many_categories(monkeypatch):
    assert buckets_of(np.array([5, 1000]), 100).offsets.tolist() == [0, 5, 261]
    monkeypatch.setattr(blocks_module, "_BUCKET_BYTES", 10)
    assert buckets_of(np.array([5, 1000]), 100_000).offsets.tolist() == [0, 5, 13]
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100, size=(200, 2)).astype(np.int32)
    none = np.empty((100, 0))
    assert_same_search(none, codes[:100], none, codes[100:], equal_costs(np.ones(0), 2), 1)


def test_blocks_hold_every_row_once_and_boxes_hold_their_rows():
    rng = np.random.default_rng(0)
    n = 500
    # Heavy tails, many rare categories and a column in which all are equal.
    numbers = np.column_stack([np.exp(rng.normal(scale=5, size=n)), np.ones(n)])
    codes = np.column_stack([rng.integers(0, 200, n), rng.integers(0, 2, n)]).astype(np.uint8)
    rows = Rows(numbers, np.empty((n, 0), dtype=np.uint8), codes)
    terms = terms_of(equal_costs(np.ones(2), 2), np.zeros(2, dtype=bool))[2]
    blocks = blocks_of(rows, terms, buckets_of(np.array([200, 2]), n))
    assert_array_equal(np.sort(blocks.order), np.arange(n))
    assert np.diff(blocks.starts).max() <= ROWS
    for b, (start, stop) in enumerate(zip(blocks.starts[:-1], blocks.starts[1:], strict=True)):
        inside = blocks.order[start:stop]
        assert blocks.boxes.first[b] == inside.min() == inside[0]
        assert_array_equal(blocks.boxes.low[0, :, b], numbers[inside].min(axis=0))
        assert_array_equal(blocks.boxes.high[0, :, b], numbers[inside].max(axis=0))
        assert_array_equal(np.flatnonzero(blocks.boxes.absent[0, :200, b] == 0), np.unique(codes[inside, 0]))


def test_compiled_searches_find_what_scikit_learn_finds():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(20, 2)), rng.normal(size=(30, 2))
    none = np.empty((20, 0), dtype=np.int32), np.empty((30, 0), dtype=np.int32)
    nearest, squared, _, _ = nearest_both_ways(
        a, none[0], b, none[1], equal_costs(np.ones(2), 0), k=3, compiled=True, n_threads=2
    )
    distances, neighbours = NearestNeighbors(n_neighbors=3, algorithm="brute").fit(b).kneighbors(a)
    assert_array_equal(nearest, neighbours)
    assert_allclose(np.sqrt(squared), distances, atol=1e-7)


@needs_compiler
def test_a_search_can_be_interrupted_and_reports_often(monkeypatch):
    monkeypatch.setattr(search_module, "_CELLS", 1_000_000)
    rng = np.random.default_rng(0)
    a, codes = rng.normal(size=(3000, 10)), np.zeros((3000, 1), dtype=np.int32)
    told = []
    sides = a, codes, a, codes, np.zeros(10, dtype=bool), equal_costs(np.ones(10), 1)
    search(*sides, k=1, n_threads=2, advance=told.append)
    assert sum(told) == 6000
    assert len(told) > 20

    def stop(n_rows):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        search(*sides, k=1, n_threads=2, advance=stop)


@examples(60)
@given(sides(most_rows=40), st.integers(1, 3), st.integers(1, 7))
def test_an_index_finds_the_nearest_of_any_rows(problem, k, cut):
    """In whatever batches they come, and with categories that the index never saw."""
    (a, codes_a), (b, codes_b), costs = problem
    holes = np.isnan(a).any(axis=0) | np.isnan(b).any(axis=0)
    # One more category than the index knows.
    sizes = codes_b.max(axis=0, initial=-1).astype(np.int64) + 3
    codes_a = np.minimum(codes_a, sizes - 2).astype(np.int32)
    expected = nearest_plainly(a, codes_a, b, codes_b, holes, costs, k)
    both = search_plainly(a, codes_a, b, codes_b, holes, costs, k=k)
    index = Index(b, codes_b, holes, costs, sizes, len(b))
    parts = [slice(start, start + cut) for start in range(0, len(a), cut)]
    found = [index.nearest_of(a[part], codes_a[part], k, 1) for part in parts]
    for n in range(2):
        assert expected[n].tobytes() == both[n].tobytes()
        assert np.concatenate([one[n] for one in found]).tobytes() == expected[n].tobytes()
