import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment, linprog

from fairshap.exceptions import NotConvergedError, NotConvergedWarning
from fairshap.matching._transport import _pricing
from fairshap.matching._transport._exact import solve_exactly
from fairshap.matching._transport._pairs import Pairs, mean_squared
from fairshap.matching._transport._pricing import prices_by_search, prices_in_blocks, solve_growing
from fairshap.matching._transport._proposals import nearby_pairs, sliced_pairs
from tests.matching.problems import costs, problems, random_problem

LIMIT = 10**9


def lowest_cost(cost):
    """The transport problem as a linear program, for masses that sum to 1."""
    n, m = cost.shape
    conditions = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    masses = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return linprog(cost.ravel(), A_eq=conditions, b_eq=masses).fun


def check_is_coupling(joint, n, m):
    mass = joint.mass.toarray()
    assert_array_equal(mass.sum(axis=1), np.full(n, m))
    assert_array_equal(mass.sum(axis=0), np.full(m, n))
    assert (mass >= 0).all()
    return mass / (n * m)


@given(problems())
def test_the_plan_over_all_pairs_is_that_of_the_linear_program(problem):
    cost = costs(problem)
    joint = solve_exactly(Pairs.all_of(problem), LIMIT).joint
    plan = check_is_coupling(joint, *cost.shape)
    assert_allclose(joint.cost, lowest_cost(cost), rtol=1e-9, atol=1e-9)
    assert_allclose(joint.cost, (plan * cost).sum(), rtol=1e-12, atol=1e-12)
    assert joint.gap < 1e-9
    assert joint.marginal_error == 0


def test_of_equally_many_rows_each_has_one_reference():
    problem = random_problem(40, 40)
    joint = solve_exactly(Pairs.all_of(problem), LIMIT).joint
    _, assigned = linear_sum_assignment(costs(problem))
    assert_array_equal(joint.mass.toarray().argmax(axis=1), assigned)
    assert joint.mass.nnz == 40


@given(problems(), st.integers(1, 3))
def test_growing_from_a_few_pairs_ends_at_the_optimum_of_all(problem, k):
    pairs = nearby_pairs(problem, k, np.random.default_rng(0), 1)
    joint = solve_growing(problem, pairs, LIMIT, 1e-9, 1)
    check_is_coupling(joint, *problem.shape)
    assert_allclose(joint.cost, lowest_cost(costs(problem)), rtol=1e-8, atol=1e-9)
    assert joint.gap <= 1e-9


def test_growing_ends_as_soon_as_the_gap_is_small_enough_and_its_gap_is_a_bound():
    problem = random_problem(150, 230, n_numbers=4)
    pairs = nearby_pairs(problem, 2, np.random.default_rng(0), 1)
    best = solve_exactly(Pairs.all_of(problem), LIMIT).joint.cost
    joints = [solve_growing(problem, pairs, LIMIT, tolerance, 1) for tolerance in (1.0, 0.05, 0.0)]
    assert [joint.iterations for joint in joints] == sorted({joint.iterations for joint in joints})
    for joint in joints:
        assert best * (1 - 1e-12) <= joint.cost <= best / (1 - joint.gap) * (1 + 1e-9)


def test_growing_that_is_cut_short_says_how_far_it_may_be_off(monkeypatch):
    monkeypatch.setattr(_pricing, "_ROUNDS", 1)
    problem = random_problem(150, 230, n_numbers=4)
    pairs = nearby_pairs(problem, 1, np.random.default_rng(0), 1)
    with pytest.warns(NotConvergedWarning, match=r"150 x 230 rows may cost .* after 1 rounds"):
        joint = solve_growing(problem, pairs, LIMIT, 1e-6, 1)
    check_is_coupling(joint, 150, 230)


@given(st.integers(0, 1000), st.booleans())
def test_prices_found_by_the_search_are_those_of_all_pairs(seed, ties):
    problem = random_problem(30, 45, seed, ties=ties)
    optimum = solve_exactly(sliced_pairs(problem, 1, np.random.default_rng(seed)), LIMIT)
    quick, plain = prices_by_search(problem, optimum, 2), prices_in_blocks(problem, optimum)
    reduced = costs(problem) - optimum.row_value[:, None] - optimum.other_value
    assert_allclose(quick.lowest, plain.lowest, rtol=1e-9, atol=1e-9)
    for found in (quick, plain):
        assert (reduced.ravel()[found.keys] < 0).all()
        # Each row of either side that has a cheaper pair has one of its cheapest among them.
        has = np.zeros(reduced.shape, dtype=bool)
        has.ravel()[found.keys] = True
        for axis in (0, 1):
            best = reduced.min(axis=axis)
            known = np.where(has, reduced, np.inf).min(axis=axis)
            assert_allclose(known[best < -1e-6], best[best < -1e-6], rtol=1e-7)


@given(problems())
def test_the_mean_cost_is_known_without_the_pairs(problem):
    squared = problem.space.squared(*problem.stratum)
    assert_allclose(mean_squared(problem.space, problem.stratum), squared.mean(), rtol=1e-9, atol=1e-12)


@given(problems(), st.data())
def test_pairs_by_key_are_some_of_all(problem, data):
    n, m = problem.shape
    keys = np.array(sorted(data.draw(st.sets(st.integers(0, n * m - 1), min_size=1))))
    pairs = Pairs.of_keys(problem, keys)
    assert_array_equal(pairs.keys, keys)
    assert_allclose(pairs.cost, costs(problem).ravel()[keys], rtol=1e-12, atol=1e-12)
    assert_array_equal(Pairs.all_of(problem).keys, np.arange(n * m))


def test_a_simplex_that_is_cut_short_is_an_error():
    with pytest.raises(NotConvergedError, match=r"20 x 30 rows after max_iter=1 steps"):
        solve_exactly(Pairs.all_of(random_problem(20, 30)), 1)


def test_pairs_without_a_plan_are_an_error():
    pairs = Pairs.of_keys(random_problem(2, 2), np.array([0, 2]))
    with pytest.raises(NotConvergedError, match="2 x 2 rows over 2 pairs"):
        solve_exactly(pairs, LIMIT)
