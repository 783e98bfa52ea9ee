import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import logsumexp

from fairshap.exceptions import NotConvergedError, NotConvergedWarning
from fairshap.matching import _transport
from fairshap.matching._transport import (
    conditional,
    load_pot,
    marginal_error,
    near_pairs,
    projected_pairs,
    solve_by_pricing,
    solve_entropically,
    solve_exactly,
)
from tests.conftest import examples
from tests.matching.problems import problems, random_problem


def lowest_cost(costs):
    """The transport problem as a linear program, for masses that sum to 1."""
    n, m = costs.shape
    conditions = np.vstack([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    masses = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return linprog(costs.ravel(), A_eq=conditions, b_eq=masses).fun


def sinkhorn(costs, reg, allowed=None, rounds=20_000):
    """The definition: scale rows and columns in turn, in the log domain, until nothing moves."""
    n, m = costs.shape
    logs = -costs / reg
    if allowed is not None:
        logs = np.where(allowed, logs, -np.inf)
    f, g = np.zeros(n), np.zeros(m)
    for _ in range(rounds):
        g = -np.log(m) - logsumexp(logs + f[:, None], axis=0)
        new = -np.log(n) - logsumexp(logs + g, axis=1)
        if np.abs(new - f).max() < 1e-13:
            break
        f = new
    return np.exp(logs + f[:, None] + g)


def check_is_coupling(plan, n, m):
    mass = plan.mass.toarray()
    assert_array_equal(mass.sum(axis=1), np.full(n, m))
    assert_array_equal(mass.sum(axis=0), np.full(m, n))
    assert (mass >= 0).all()
    return mass / (n * m)


def some_pairs(problem, k):
    return np.union1d(near_pairs(problem, k)[0], projected_pairs(problem, 2))


@given(problems())
def test_the_plan_over_all_pairs_is_that_of_the_linear_program(problem):
    costs = problem.all_costs()
    plan, u, v = solve_exactly(costs)
    mass = check_is_coupling(plan, *costs.shape)
    assert_allclose(plan.cost, lowest_cost(costs), rtol=1e-9, atol=1e-9)
    assert_allclose(plan.cost, (mass * costs).sum(), rtol=1e-12, atol=1e-12)
    assert (costs - u[:, None] - v > -1e-9).all()
    assert_allclose(u.mean() + v.mean(), plan.cost, atol=1e-9)


def test_of_equally_many_rows_each_has_one_reference():
    costs = random_problem(40, 40).all_costs()
    plan, *_ = solve_exactly(costs)
    _, assigned = linear_sum_assignment(costs)
    assert_array_equal(plan.mass.toarray().argmax(axis=1), assigned)
    assert plan.mass.nnz == 40


def test_a_simplex_that_is_cut_short_is_an_error(monkeypatch):
    monkeypatch.setattr(_transport, "_PIVOTS", 1)
    with pytest.raises(NotConvergedError, match="no plan for 20 x 30 rows"):
        solve_exactly(random_problem(20, 30).all_costs())


def test_pairs_without_a_plan_are_an_error():
    with pytest.raises(NotConvergedError, match="no plan for 2 x 2 rows"):
        solve_exactly(random_problem(2, 2).costs(np.array([0, 2])))


@given(problems(), st.integers(1, 3))
def test_pricing_ends_at_the_optimum_of_all_pairs(problem, k):
    plan = solve_by_pricing(problem, some_pairs(problem, k), 1e-9)
    costs = problem.all_costs()
    check_is_coupling(plan, *costs.shape)
    assert_allclose(plan.cost, lowest_cost(costs), rtol=1e-8, atol=1e-9)
    assert plan.gap <= 1e-9


def test_pricing_ends_as_soon_as_the_gap_is_small_enough_and_its_gap_is_a_bound():
    problem = random_problem(150, 230, n_numbers=4)
    keys = some_pairs(problem, 2)
    best = solve_exactly(problem.all_costs())[0].cost
    plans = [solve_by_pricing(problem, keys, tol) for tol in (1.0, 0.05, 0.0)]
    assert plans[0].cost > plans[1].cost > plans[2].cost
    for plan in plans:
        assert best * (1 - 1e-12) <= plan.cost <= best / (1 - plan.gap) * (1 + 1e-9)


def test_pricing_that_is_cut_short_says_how_far_it_may_be_off(monkeypatch):
    monkeypatch.setattr(_transport, "_ROUNDS", 1)
    problem = random_problem(150, 230, n_numbers=4)
    with pytest.warns(NotConvergedWarning, match=r"150 x 230 rows may cost .* after 1 rounds"):
        plan = solve_by_pricing(problem, some_pairs(problem, 1), 1e-6)
    check_is_coupling(plan, 150, 230)


@given(st.integers(0, 1000), st.booleans())
def test_the_search_finds_the_pairs_of_lowest_reduced_cost(seed, ties):
    problem = random_problem(30, 45, seed, ties=ties)
    plan, u, v = solve_exactly(problem.costs(projected_pairs(problem, 1)))
    reduced = problem.all_costs() - u[:, None] - v
    keys, found, bound = near_pairs(problem, 3, u, v)
    assert_allclose(found, reduced.ravel()[keys], atol=1e-9)
    assert bound <= lowest_cost(problem.all_costs()) + 1e-9 <= plan.cost + 2e-9
    rows, others = found[:90].reshape(30, 3), found[90:].reshape(45, 3)
    assert_allclose(rows, np.sort(reduced, axis=1)[:, :3], atol=1e-9)
    assert_allclose(others, np.sort(reduced.T, axis=1)[:, :3], atol=1e-9)


@given(problems(most=40), st.integers(1, 3))
def test_projections_allow_a_plan_with_few_pairs(problem, n_projections):
    n, m = len(problem.rows), len(problem.others)
    keys = projected_pairs(problem, n_projections)
    assert len(keys) <= n_projections * (n + m - 1)
    check_is_coupling(solve_exactly(problem.costs(keys))[0], n, m)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 1000))
def test_in_one_dimension_a_projection_is_optimal(n, m, seed):
    problem = random_problem(n, m, seed, n_numbers=1, n_codes=0, holes=False)
    plan, *_ = solve_exactly(problem.costs(projected_pairs(problem, 1)))
    assert_allclose(plan.cost, solve_exactly(problem.all_costs())[0].cost, rtol=1e-9, atol=1e-12)


@given(problems(), st.data())
def test_costs_by_key_are_some_of_all(problem, data):
    costs = problem.all_costs()
    keys = np.array(sorted(data.draw(st.sets(st.integers(0, costs.size - 1), min_size=1))))
    some = problem.costs(keys)
    assert_array_equal(some.coords[0] * costs.shape[1] + some.coords[1], keys)
    assert_array_equal(some.data, costs.ravel()[keys])


def test_the_typical_cost_is_about_that_of_all_pairs():
    problem = random_problem(30, 45)
    assert problem.typical_cost() == pytest.approx(problem.all_costs().mean(), rel=0.02)
    equal = problem._replace(rows=problem.rows[:1], others=problem.rows[:1])
    assert equal.typical_cost() == 1


@pytest.fixture(autouse=True)
def enough_steps(monkeypatch):
    """Tests ask for more digits than users."""
    monkeypatch.setattr(_transport, "_SCALINGS", 100_000)


@examples(25)
@given(problems(), st.sampled_from([0.2, 0.5, 2.0]), st.booleans())
def test_the_entropic_plan_is_that_of_the_definition(problem, reg, is_sparse):
    costs = problem.all_costs()
    reg *= costs.mean() or 1.0
    given_costs = problem.costs(np.arange(costs.size)) if is_sparse else costs
    plan = solve_entropically(given_costs, reg, 1e-10)
    expected = sinkhorn(costs, reg)
    assert_allclose(plan.mass.toarray(), expected, rtol=1e-5, atol=1e-9)
    assert_allclose(plan.cost, (expected * costs).sum(), rtol=1e-6, atol=1e-9)


def test_over_some_pairs_it_is_that_of_the_definition_too():
    problem = random_problem(40, 60)
    costs, some = problem.all_costs(), problem.costs(some_pairs(problem, 8))
    allowed = np.zeros(costs.shape, dtype=bool)
    allowed[some.coords] = True
    assert some.nnz < allowed.size / 2
    plan = solve_entropically(some, 0.1 * costs.mean(), 1e-10)
    assert_allclose(plan.mass.toarray(), sinkhorn(costs, 0.1 * costs.mean(), allowed), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_small_reg_neither_vanishes_nor_overflows_and_leads_to_the_exact_plan(is_sparse):
    problem = random_problem(25, 40)
    costs = problem.all_costs()
    # A plain exponential of these costs is 0 for all but the same few pairs.
    assert np.exp(-costs / (1e-3 * costs.mean())).min() == 0
    exact, over = solve_exactly(costs)[0].cost, []
    for reg in (0.1, 0.01, 1e-3):
        pairs = problem.costs(np.arange(costs.size)) if is_sparse else costs
        plan = solve_entropically(pairs, reg * costs.mean(), 1e-4)
        assert np.isfinite(plan.mass.data).all()
        assert marginal_error(plan.mass) <= 1e-4
        over.append(plan.cost / exact - 1)
    assert over[0] > over[1] > over[2]
    assert abs(over[2]) < 1e-3


@pytest.mark.parametrize("is_sparse", [False, True])
def test_rows_far_from_all_others_have_their_mass_too(is_sparse):
    problem = random_problem(6, 9, holes=False)
    problem.space.numbers[problem.rows[0]] += 1e6
    problem.space.numbers[problem.others[3]] -= 1e6
    costs = problem.costs(np.arange(54)) if is_sparse else problem.all_costs()
    plan = solve_entropically(costs, 1e-4 * problem.all_costs().mean(), 1e-3)
    assert marginal_error(plan.mass) <= 1e-3


def test_pot_s_own_log_domain_sinkhorn_finds_the_same():
    costs = random_problem(30, 50).all_costs()
    plan = solve_entropically(costs, 0.1 * costs.mean(), 1e-9)
    expected = load_pot().sinkhorn([], [], costs, 0.1 * costs.mean(), method="sinkhorn_log", stopThr=1e-12)
    assert_allclose(plan.mass.toarray(), expected, rtol=1e-5, atol=1e-12)


def plainly(mass, keep):
    """One row at a time: the largest entries until they reach the share."""
    kept = []
    for i, masses in enumerate(mass):
        total, so_far, chosen = masses.sum(), 0.0, []
        for j in sorted(range(len(masses)), key=lambda j: (-masses[j], j)):
            if masses[j] == 0 or so_far >= keep * (1 - 1e-9) * total:
                break
            so_far += masses[j]
            chosen.append(j)
        kept += [(i, j, masses[j] / so_far, so_far / total) for j in chosen]
    return kept


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.3, 0.5, 0.9, 0.99, 1.0]), st.data())
def test_each_row_keeps_its_largest_masses(n, m, keep, data):
    mass = data.draw(arrays(np.float64, (n, m), elements=st.sampled_from([0.0, 1e-4, 1.0, 2.0, 5.0])))
    mass[:, 0] += 1
    row, other, weight, kept = conditional(sp.csr_array(mass), keep)
    expected = plainly(mass, keep)
    assert_array_equal(row, [i for i, *_ in expected])
    assert_array_equal(other, [j for _, j, *_ in expected])
    assert_allclose(weight, [w for *_, w, _ in expected], atol=1e-11)
    assert_allclose(kept[row], [share for *_, share in expected], atol=1e-11)
    assert_allclose(np.bincount(row, weight), 1, rtol=1e-12)
    assert (kept >= keep * (1 - 1e-9)).all()
