"""Sums through the logistic function: the series against the enumeration, and both against the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from fairshap._kernels import linear
from fairshap._kernels.linear import Sums, gauss_rules, solve_sums
from fairshap._kernels.shapley import AllCoalitions, shapley_values
from fairshap._kernels.trees.ensemble import coalition_weights
from tests.conftest import examples


def random_sums(
    rng, q, n_components=1, n_alternatives=2, n_pairs=3, scale=1.0, is_logistic=True, is_mean=False
):
    return Sums(
        steps=rng.normal(scale=scale, size=(n_components, n_pairs, q)),
        level=rng.normal(scale=2, size=(n_components, n_pairs)),
        shifts=np.sort(rng.normal(size=(n_components, 1, n_alternatives)), axis=2),
        shares=np.full(n_components, 1 / n_components),
        contrasts=np.array([[0, k] for k in range(1, n_alternatives)]),
        is_mean=is_mean,
        is_logistic=is_logistic,
    )


def solve(sums, few=linear.FEW):
    _, n_pairs, q = sums.steps.shape
    phi, (full, empty) = np.zeros((n_pairs, q)), np.empty((2, n_pairs))
    solved = np.empty(n_pairs, dtype=np.bool_)
    solve_sums(sums, few, coalition_weights(min(q, 20)), *gauss_rules(q), phi, full, empty, solved)
    return phi, full, empty, solved


def by_definition(sums):
    _, n_pairs, q = sums.steps.shape
    margins = sums.level[:, :, None] + sums.steps @ AllCoalitions(q)[:].T
    outputs = margins[..., None] + sums.shifts[:, :, None, :]
    if sums.is_logistic:
        outputs = expit(outputs)
    outputs = np.tensordot(sums.shares, outputs, 1)
    gaps = [np.abs(outputs[..., a] - outputs[..., b]) for a, b in sums.contrasts]
    risk = np.mean(gaps, axis=0) if sums.is_mean else np.max(gaps, axis=0)
    return shapley_values(risk), risk[:, -1], risk[:, 0], np.ones(n_pairs, dtype=np.bool_)


@examples(30)
@given(
    st.integers(0, 10_000),
    st.integers(1, 8),
    st.integers(1, 3),
    st.integers(2, 4),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_values_are_those_of_the_definition(
    seed, q, n_components, n_alternatives, logistic, by_series, is_mean
):
    rng = np.random.default_rng(seed)
    sums = random_sums(rng, q, n_components, n_alternatives, is_logistic=logistic, is_mean=is_mean)
    sums.steps[:, 0, rng.integers(q)] = 0.0
    for ours, expected in zip(solve(sums, 0 if by_series else 9), by_definition(sums), strict=True):
        assert_allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("q", [10, 13])
def test_the_series_is_exact_for_more_players(q, scale):
    sums = random_sums(np.random.default_rng(q), q, n_components=2, scale=scale)
    for ours, expected in zip(solve(sums), by_definition(sums), strict=True):
        assert_allclose(ours, expected, atol=1e-11)


def test_many_players_add_up_to_the_gain():
    sums = random_sums(np.random.default_rng(0), 80, scale=0.2, n_pairs=1)
    phi, full, empty, solved = solve(sums)
    assert solved.all()
    assert_allclose(phi.sum(axis=1), full - empty, atol=1e-11)


def test_values_of_the_attribute_around_the_privileged_one_need_the_coalitions():
    sums = random_sums(np.random.default_rng(1), 10, n_alternatives=3)._replace(
        contrasts=np.array([[0, 1], [2, 1]])
    )
    for ours, expected in zip(solve(sums), by_definition(sums), strict=True):
        assert_allclose(ours, expected, atol=1e-12)


def test_what_cannot_be_solved_is_said():
    crossing = random_sums(np.random.default_rng(1), 21, n_alternatives=3)._replace(
        contrasts=np.array([[0, 1], [2, 1]])
    )
    assert not solve(crossing)[3].any()
    endless = random_sums(np.random.default_rng(1), 21, scale=1e4)
    assert not solve(endless)[3].any()
    short = random_sums(np.random.default_rng(1), 10, scale=1e4)
    for ours, expected in zip(solve(short), by_definition(short), strict=True):
        assert_allclose(ours, expected, atol=1e-12)
