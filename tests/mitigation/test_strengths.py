"""The rule at given prices, against every rule there is; the search, against its own definition."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, roc_auc_score

from fairshap import metrics
from fairshap.mitigation import _strengths as strengths
from fairshap.mitigation._strengths import (
    PRICED,
    LabeledRows,
    Limits,
    Posteriors,
    margins,
    probabilities,
    rule_weights,
)
from tests.conftest import examples

DIFFERENCES = {
    "demographic_parity": metrics.demographic_parity_difference,
    "equal_opportunity": metrics.equal_opportunity_difference,
    "predictive_equality": metrics.false_positive_rate_difference,
    "equalized_odds": metrics.equalized_odds_difference,
}


@st.composite
def populations(draw):
    """Return how many rows there are of each of a few kinds x, side s and label y: all is known exactly."""
    kinds = draw(st.integers(2, 5))
    counts = draw(st.lists(st.integers(0, 9), min_size=4 * kinds, max_size=4 * kinds))
    counts = np.array(counts).reshape(kinds, 2, 2)
    # Every side has rows of either label, and every kind has rows.
    counts[0] += 1
    counts[counts.sum(axis=(1, 2)) == 0, 0, 0] = 1
    return counts


def rows_of(counts, weight=None):
    """Return the rows of a population, with their true posteriors."""
    kind, side, label = (
        np.repeat(place, counts.ravel()) for place in np.indices(counts.shape).reshape(3, -1)
    )
    joint = (counts / counts.sum(axis=(1, 2), keepdims=True))[kind]
    weight = np.ones(len(kind)) if weight is None else weight
    return kind, Posteriors(label == 1, side.astype(np.int8), side, weight, joint)


def gaps_of(predicted, rows):
    """Return the signed gaps of one rule, by hand."""
    privileged, positive = rows.side == 1, rows.positive

    def gap(among):
        return predicted[among & privileged].mean() - predicted[among & ~privileged].mean()

    return np.array([gap(positive | ~positive), gap(positive), gap(~positive)])


@given(populations(), st.lists(st.floats(-1.5, 1.5), min_size=3, max_size=3))
@examples(60)
def test_no_rule_without_the_attribute_is_better_at_these_prices(counts, given_strengths):
    kind, rows = rows_of(counts)
    shares = rows.shares
    unit = np.array([shares.sum(axis=1).min(), shares[:, 1].min(), shares[:, 0].min()]) / 2
    prices = np.array(given_strengths) * unit

    def value(predicted):
        return np.mean(predicted == rows.positive) / 2 - prices @ gaps_of(predicted, rows)

    chosen = rows.margins(rule_weights(np.array(given_strengths), shares)) > 0
    best = max(value(np.array(rule)[kind]) for rule in product([False, True], repeat=len(counts)))
    assert value(chosen) == pytest.approx(best, abs=1e-9)


@given(
    populations(),
    st.sampled_from(["demographic_parity", "equal_opportunity"]),
    st.sampled_from([0, 0.05, 0.2]),
)
@examples(15)
def test_the_searched_rule_is_the_best_of_all_at_its_own_price_and_keeps_the_limits(counts, minimize, drop):
    kind, rows = rows_of(counts)
    neutral = rows.margins() > 0
    found = strengths.search(rows, minimize, Limits(drop, np.inf, 0.0), is_clipped=False)
    chosen = rows.margins(rule_weights(found, rows.shares)) > 0
    before, after = gaps_of(neutral, rows), gaps_of(chosen, rows)
    own, other = PRICED.index(minimize), 1 - PRICED.index(minimize)
    assert np.mean(chosen == rows.positive) >= np.mean(neutral == rows.positive) - drop - 1e-9
    assert abs(after[own]) <= abs(before[own]) + 1e-9
    assert abs(after[other]) <= abs(before[other]) + 1e-9
    assert after[own] * before[own] >= 0
    # Whoever is at least as accurate and narrows this gap further pays for it with the other gap.
    better = [
        gaps
        for rule in product([False, True], repeat=len(counts))
        for predicted in [np.array(rule)[kind]]
        for gaps in [gaps_of(predicted, rows)]
        if np.mean(predicted == rows.positive) > np.mean(chosen == rows.positive) + 1e-9
        and gaps[own] * np.sign(after[own]) < abs(after[own]) - 1e-9
    ]
    assert found[2] == 0
    if found[other] == 0:
        assert not better


@st.composite
def labeled(draw):
    n = draw(st.integers(70, 90))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    group = rng.integers(0, draw(st.integers(2, 3)), n)
    weight = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    side = (group == 0).astype(np.int8)
    group, side = (np.where(np.arange(n) < draw(st.integers(0, 3)), -1, one) for one in (group, side))
    return LabeledRows(rng.random(n) < 0.5, side.astype(np.int8), group, weight), rng.random((n, 3)) - 0.5


@given(labeled())
@examples(15)
def test_accuracy_and_gaps_are_those_of_the_metrics(case):
    rows, scores = case
    # With more than two groups, all have the rows that make them comparable here.
    rows = rows if np.bincount(rows.group[rows.group >= 0]).min() >= 30 or rows.group.max() == 1 else None
    if rows is None:
        return
    measured = rows.measured({str(k): one for k, one in enumerate(scores.T)})
    frame = pd.DataFrame(measured).set_index("rule")
    known = rows.group >= 0
    for k, score in enumerate(scores.T):
        line = frame.loc[str(k)]
        accuracy = accuracy_score(rows.positive, score > 0, sample_weight=rows.weight)
        assert line["accuracy"] == pytest.approx(accuracy)
        assert line["auc"] == pytest.approx(roc_auc_score(rows.positive, score, sample_weight=rows.weight))
        given = {"sensitive_features": rows.group[known], "sample_weight": rows.weight[known]}
        for name, difference in DIFFERENCES.items():
            expected = difference(rows.positive[known], score[known] > 0, positive=True, **given)
            assert line[name] == pytest.approx(expected), name


def test_reweighing_is_a_point_of_this_space():
    counts = np.array([[[30, 10], [15, 45]]])
    _, rows = rows_of(counts)
    shares = rows.shares
    moved = shares[1, 1] - shares[1].sum() * shares[:, 1].sum()
    point = np.array([0.0, moved / shares[:, 1].min(), moved / shares[:, 0].min()])
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0)) / shares
    assert_allclose(2 * rule_weights(point, shares), expected)


def test_strength_0_is_the_label_s_own_model_and_1_doubles_a_weight_or_makes_it_0():
    _, rows = rows_of(np.array([[[3, 1], [2, 4]], [[1, 5], [1, 2]]]))
    assert_allclose(rows.margins(), rows.joint[:, :, 1].sum(axis=1) - 0.5)
    for k in range(3):
        weights = rule_weights(np.eye(3)[k], rows.shares)
        assert np.abs(weights - 0.5).max() == pytest.approx(0.5)
        assert_allclose(margins(rows.joint, np.array([weights, weights]))[:, 1], rows.margins(weights))


def joint_of(p, q):
    """Return P(s, y | x) of P(y = 1 | x) and P(s = 1 | x), independent given x."""
    return np.stack([1 - q, q], 1)[:, :, None] * np.stack([1 - p, p], 1)[:, None]


def test_roc_auc_is_a_limit_too():
    rng = np.random.default_rng(0)
    n = 1500
    side = rng.integers(0, 2, n)
    q = np.clip(0.5 + 0.45 * (2 * side - 1) * rng.random(n), 0.01, 0.99)
    p = 1 / (1 + np.exp(-2 * rng.normal(size=n) - (2 * q - 1)))
    rows = Posteriors(rng.random(n) < p, side.astype(np.int8), side, np.ones(n), joint_of(p, q))

    def auc(found):
        return rows.auc(probabilities(rows.joint, rule_weights(found, rows.shares)))

    free, limited = (
        auc(strengths.search(rows, "demographic_parity", limits, False))
        for limits in (Limits(1.0, np.inf), Limits(1.0, 0.002))
    )
    before = auc(np.zeros(3))
    assert before == pytest.approx(rows.auc(rows.margins()))
    assert free < before - 0.002 <= limited


@given(populations(), st.lists(st.floats(-3, 3), min_size=3, max_size=3))
@examples(60)
def test_the_probability_is_on_the_side_of_the_margin(counts, given_strengths):
    _, rows = rows_of(counts)
    weights = rule_weights(np.array(given_strengths), rows.shares)
    margin, score = rows.margins(weights), probabilities(rows.joint, weights)
    clear = np.abs(margin) > 1e-9
    assert_allclose((score > 0.5)[clear], (margin > 0)[clear])
    assert ((score >= 0) & (score <= 1)).all()


@pytest.mark.parametrize("minimize", ["demographic_parity", "equal_opportunity", "equalized_odds"])
def test_a_group_without_a_label_is_compared_in_its_other_rates(minimize):
    rng = np.random.default_rng(0)
    n = 600
    group = rng.integers(0, 3, n)
    side = (group == 0).astype(np.int8)
    q = np.clip(0.2 + 0.6 * side + 0.1 * rng.normal(size=n), 0.01, 0.99)
    p = 1 / (1 + np.exp(-2 * rng.normal(size=n) - (2 * q - 1)))
    rows = Posteriors((rng.random(n) < p) & (group < 2), side, group, np.ones(n), joint_of(p, q))
    predicted = rows.margins() > 0
    found = rows.measure(predicted[:, None])
    positive = [predicted[rows.positive & (group == k)].mean() for k in (0, 1)]
    assert found["equal_opportunity"] == pytest.approx(abs(positive[0] - positive[1]))
    negative = [predicted[~rows.positive & (group == k)].mean() for k in (0, 1, 2)]
    assert found["predictive_equality"] == pytest.approx(np.ptp(negative))
    assert strengths.search(rows, minimize, Limits(0.05, 0.05), False).any()


def test_weights_that_widen_the_gap_they_should_narrow_are_not_accepted():
    side, score = np.repeat([1, 0], 50).astype(np.int8), np.tile(np.arange(50) / 50, 2)

    def favor(lead):
        return score + lead * side - 0.5

    # At strength 0 the gap is 0.2.
    joint = joint_of(favor(0.2) * 0.7 + 0.5, np.full(100, 0.5))
    rows = Posteriors(score > 0.5, side, 1 - side, np.ones(100), joint)
    judge = strengths.Judge(rows, "demographic_parity", Limits(1.0, 1.0, 1e6))
    assert [judge.accepts(favor(lead)) for lead in (0.1, 0.2, 0.25, 0.4)] == [True, True, False, False]


def test_what_models_learned_must_keep_each_limit():
    side, score = np.repeat([1, 0], 200).astype(np.int8), np.tile(np.arange(200) / 200, 2)
    lead = score + 0.2 * side - 0.5
    rows = Posteriors(lead > 0, side, 1 - side, np.ones(400), joint_of(lead * 0.7 + 0.5, np.full(400, 0.5)))

    def follows(made, accuracy=1.0, auc=1.0):
        return strengths.Judge(rows, "demographic_parity", Limits(accuracy, auc)).follows(made)

    # It narrows the gap from 0.2 to 0.1, for five of a hundred rows.
    narrower = score + 0.1 * side - 0.5
    assert follows(narrower)
    assert follows(narrower, accuracy=0.04)
    assert not follows(narrower, accuracy=0.0)
    assert not follows(lead + 0.1 * side)
    # The same decisions, in an order that says nothing else.
    flat = np.sign(narrower)
    assert follows(flat, auc=0.2)
    assert not follows(flat, auc=0.01)
