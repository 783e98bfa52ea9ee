import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from fairshap.exceptions import NotConvergedWarning
from fairshap.matching._transport._entropic import solve_entropically
from fairshap.matching._transport._exact import load_pot, solve_exactly
from fairshap.matching._transport._pairs import Pairs
from fairshap.matching._transport._proposals import nearby_pairs
from tests.conftest import examples
from tests.matching.problems import costs, problems, random_problem


def sinkhorn(cost, regularisation, allowed=None, rounds=20_000):
    """The definition: scale rows and columns in turn, in the log domain, until nothing moves."""
    n, m = cost.shape
    logs = -cost / regularisation
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


def solve(problem, pairs, regularisation, tolerance=1e-10, max_iter=100_000):
    typical = problem.typical_cost()
    return solve_entropically(pairs, regularisation * typical, typical, max_iter, tolerance)


@examples(25)
@given(problems(), st.sampled_from([0.2, 0.5, 2.0]))
def test_the_plan_is_that_of_the_definition(problem, regularisation):
    joint = solve(problem, Pairs.all_of(problem), regularisation)
    cost = costs(problem)
    expected = sinkhorn(cost, regularisation * problem.typical_cost())
    assert_allclose(joint.mass.toarray(), expected, rtol=1e-5, atol=1e-9)
    assert_allclose(joint.cost, (expected * cost).sum(), rtol=1e-6, atol=1e-9)


def test_the_plan_is_pot_s():
    problem = random_problem(30, 50)
    plan = solve(problem, Pairs.all_of(problem), 0.1).mass.toarray()
    strength = 0.1 * problem.typical_cost()
    expected = load_pot().sinkhorn([], [], costs(problem), strength, method="sinkhorn_log", stopThr=1e-12)
    assert_allclose(plan, expected, rtol=1e-6, atol=1e-12)


def test_over_some_pairs_the_plan_is_that_of_the_definition():
    problem = random_problem(40, 60)
    pairs = nearby_pairs(problem, 8, np.random.default_rng(0), 1)
    allowed = np.zeros(problem.shape, dtype=bool)
    allowed[pairs.row, pairs.other] = True
    assert len(pairs) < allowed.size / 2
    expected = sinkhorn(costs(problem), 0.1 * problem.typical_cost(), allowed)
    joint = solve(problem, pairs, 0.1)
    assert_allclose(joint.mass.toarray(), expected, rtol=1e-4, atol=1e-8)


def test_with_all_rows_as_neighbours_the_plan_is_that_of_all_pairs():
    problem = random_problem(20, 33)
    pairs = nearby_pairs(problem, 50, np.random.default_rng(0), 1)
    some, everything = (solve(problem, p, 0.05).mass.toarray() for p in (pairs, Pairs.all_of(problem)))
    assert_allclose(some, everything, rtol=1e-7)


def test_a_small_regularisation_neither_vanishes_nor_overflows_and_leads_to_the_exact_plan():
    problem = random_problem(25, 40)
    pairs = Pairs.all_of(problem)
    # A plain exponential of these costs is 0 for all but the same few pairs.
    assert np.exp(-pairs.cost / (1e-3 * problem.typical_cost())).min() == 0
    exact = solve_exactly(pairs, 10**9).joint.cost
    over = []
    for regularisation in (0.1, 0.01, 1e-3):
        joint = solve(problem, pairs, regularisation, tolerance=1e-4)
        mass = joint.mass.toarray()
        assert np.isfinite(mass).all()
        assert_allclose(mass.sum(axis=1), 1 / 25, rtol=1e-9)
        assert np.abs(mass.sum(axis=0) - 1 / 40).sum() / 2 <= 1e-4
        over.append(joint.cost / exact - 1)
    assert over[0] > over[1] > over[2]
    assert over[2] < 1e-3


def test_rows_far_from_all_others_have_their_mass_too():
    problem = random_problem(6, 9, holes=False)
    problem.space.numbers[problem.stratum.rows[0]] += 1e6
    problem.space.numbers[problem.stratum.others[3]] -= 1e6
    joint = solve(problem, Pairs.all_of(problem), 1e-4, tolerance=1e-3)
    assert_allclose(joint.mass.toarray().sum(axis=1), 1 / 6, rtol=1e-9)
    assert joint.marginal_error <= 1e-3


def test_scalings_that_have_not_settled_are_told_with_the_error():
    problem = random_problem(20, 30)
    with pytest.warns(
        NotConvergedWarning, match=r"20 x 30 rows .* max_iter=1: [\d.e-]+ of the mass"
    ) as caught:
        joint = solve(problem, Pairs.all_of(problem), 0.01, max_iter=1)
    assert f"{joint.marginal_error:.2g}" in str(caught[0].message)
    assert joint.marginal_error > 1e-10
