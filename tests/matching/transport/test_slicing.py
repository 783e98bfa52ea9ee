import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fairshap._kernels.neighbors.distance import equal_costs
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum
from fairshap.matching._transport._exact import solve_exactly
from fairshap.matching._transport._pairs import Pairs, Problem
from fairshap.matching._transport._slicing import Projector, sliced_coupling
from tests.matching.problems import costs, problems, random_problem


@given(problems(most=40), st.integers(0, 100))
def test_a_slicing_is_a_coupling_with_few_pairs(problem, seed):
    n, m = problem.shape
    row, other, mass = sliced_coupling(problem.space, problem.stratum, np.random.default_rng(seed))
    assert_array_equal(np.bincount(row, mass, minlength=n), np.full(n, m))
    assert_array_equal(np.bincount(other, mass, minlength=m), np.full(m, n))
    assert (mass > 0).all()
    assert len(row) <= n + m - 1


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 1000), st.booleans())
def test_in_one_dimension_a_slicing_is_optimal(n, m, seed, is_squared):
    rng = np.random.default_rng(seed)
    space = Space.of_numbers(rng.integers(0, 20, (n + m, 1)) / 2)
    problem = Problem(space, Stratum(np.arange(n), np.arange(n, n + m)), is_squared)
    row, other, mass = sliced_coupling(space, problem.stratum, rng)
    exact = solve_exactly(Pairs.all_of(problem), 10**9).joint.cost
    assert_allclose(costs(problem)[row, other] @ mass / (n * m), exact, rtol=1e-12, atol=1e-12)


def test_a_slicing_couples_rows_nearer_than_one_direction_does():
    problem = random_problem(300, 400, n_numbers=5, n_codes=3)
    cost, rng = costs(problem), np.random.default_rng(0)
    row, other, mass = sliced_coupling(problem.space, problem.stratum, rng)
    place = Projector(problem.space, np.concatenate(problem.stratum)).project(rng)
    ranks = place[:300].argsort(), place[300:].argsort()
    at = (np.arange(1200) + 0.5) / 1200
    line = cost[ranks[0][(at * 300).astype(int)], ranks[1][(at * 400).astype(int)]].mean()
    assert cost[row, other] @ mass / mass.sum() < 0.8 * line


def test_points_on_a_line_are_as_far_apart_as_rows_on_average():
    # Squared differences of projections by independent normals have the squared distance as their mean.
    problem = random_problem(4, 5, holes=False)
    projector, rng = Projector(problem.space, np.concatenate(problem.stratum)), np.random.default_rng(0)
    places = np.array([projector.project(rng) for _ in range(40_000)])
    mean = ((places[:, :4, None] - places[:, None, 4:]) ** 2).mean(axis=0)
    assert_allclose(mean, costs(problem), rtol=0.05)


def test_equal_rows_are_coupled_too():
    space = Space(np.ones((7, 2)), np.zeros((7, 1), dtype=np.int32), equal_costs(np.ones(2), 1))
    row, other, mass = sliced_coupling(
        space, Stratum(np.arange(3), np.arange(3, 7)), np.random.default_rng(0)
    )
    assert_array_equal(np.bincount(row, mass), [4, 4, 4])
    assert_array_equal(np.bincount(other, mass), [3, 3, 3, 3])
