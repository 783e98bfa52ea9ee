"""Every figure against an independent computation: fairlearn, scikit-learn, scipy, or the plain formula."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats
from sklearn import metrics

from fairshap.evidence._figures import (
    Level,
    above_median,
    adjust,
    auc,
    average,
    change,
    compare,
    difference,
    mean_between_folds,
    ratio,
    share,
)
from fairshap.evidence._held import Held
from fairshap.evidence._tables import ERRORS, Split, calibrate, compare_models, group_rows
from fairshap.evidence._words import one_sided
from tests.conftest import examples

EXACT = {"rtol": 0, "atol": 1e-12}
Z = stats.norm.ppf(0.975)


def made(n=600, n_groups=3, weighted=False, seed=0, labels=1, quantity=False):
    """Return what a model does on rows of groups, some of which have no group, and the arrays themselves."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(np.arange(-1, n_groups), n, p=[0.05, *[0.95 / n_groups] * n_groups])
    weight = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    score = rng.uniform(size=(n, labels)).round(2)
    true = (rng.uniform(size=n) < 0.3 + 0.3 * score[:, 0] + 0.1 * (codes == 0)) * 1.0
    predicted = (score > 0.45) * 1.0
    if quantity:
        true = 10 * score[:, 0] + rng.normal(size=n) + codes
        predicted = score * 10
    true = true[:, None] if labels == 1 else np.eye(labels)[rng.integers(labels, size=n)]
    if labels > 1:
        predicted = np.eye(labels)[score.argmax(axis=1)]
    held = Held(
        () if quantity else tuple(f"label {k}" for k in range(labels)),
        true,
        predicted,
        (true[:, 0] == predicted[:, 0]) * 1.0 if labels == 1 else (true * predicted).sum(axis=1),
        [(np.arange(n), score)],
        score,
        not quantity,
        rng.uniform(size=n),
        (rng.uniform(size=n) < 0.1) * 1.0,
        np.array([0.5]),
        weight,
        not weighted,
        "How.",
    )
    return held, Split("sex", codes, tuple(f"g{k}" for k in range(n_groups)))


def by_fairlearn(metric, held, split, label=0):
    """Return a metric of each group with its weights, by fairlearn; rows without a group are left out."""
    known = split.codes >= 0
    frame = MetricFrame(
        metrics=metric,
        y_true=held.true[known, label],
        y_pred=held.predicted[known, label],
        sensitive_features=split.codes[known],
        sample_params={"sample_weight": held.weight[known]},
    )
    return frame.by_group.to_numpy()


SKLEARN = {
    "accuracy": metrics.accuracy_score,
    "error_rate": metrics.zero_one_loss,
    "true_positive_rate": metrics.recall_score,
    "precision": metrics.precision_score,
    "false_positive_rate": lambda y, p, sample_weight: (
        1 - metrics.recall_score(y, p, pos_label=0, sample_weight=sample_weight)
    ),
    "true_negative_rate": lambda y, p, sample_weight: metrics.recall_score(
        y, p, pos_label=0, sample_weight=sample_weight
    ),
    "false_negative_rate": lambda y, p, sample_weight: (
        1 - metrics.recall_score(y, p, sample_weight=sample_weight)
    ),
    "false_discovery_rate": lambda y, p, sample_weight: (
        1 - metrics.precision_score(y, p, sample_weight=sample_weight)
    ),
    "negative_predictive_value": lambda y, p, sample_weight: metrics.precision_score(
        y, p, pos_label=0, sample_weight=sample_weight
    ),
    "false_omission_rate": lambda y, p, sample_weight: (
        1 - metrics.precision_score(y, p, pos_label=0, sample_weight=sample_weight)
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [1, 3])
def test_every_rate_is_that_of_fairlearn_and_scikit_learn(weighted, labels):
    held, split = made(weighted=weighted, labels=labels)
    found = group_rows(split, held)
    assert set(SKLEARN) == set(ERRORS)
    assert len(found.labels) == labels
    for k, table in enumerate(found.labels):
        for name, metric in SKLEARN.items():
            ours = [line.rates[name].value for line in table.errors]
            assert_allclose(ours, by_fairlearn(metric, held, split, k), **EXACT)
        base = by_fairlearn(lambda y, p, sample_weight: np.average(y, weights=sample_weight), held, split, k)
        chosen = by_fairlearn(
            lambda y, p, sample_weight: np.average(p, weights=sample_weight), held, split, k
        )
        assert_allclose([line.base_rate.value for line in table.outcomes], base, **EXACT)
        assert_allclose([line.selection_rate.value for line in table.outcomes], chosen, **EXACT)
        best = chosen.argmax()
        assert table.most_favored == split.names[best]
        for j, line in enumerate(table.outcomes):
            if j != best:
                assert_allclose(line.impact_ratio.value, chosen[j] / chosen.max(), **EXACT)
                assert_allclose(line.difference.value, chosen[j] - chosen.max(), **EXACT)
        gap = table.gaps["true_positive_rate"].figure.value
        assert_allclose(gap, np.ptp(by_fairlearn(metrics.recall_score, held, split, k)), **EXACT)


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_and_calibration_of_groups_are_those_of_scikit_learn(weighted):
    held, split = made(weighted=weighted)
    (table,) = group_rows(split, held).labels
    for k, line in enumerate(table.errors):
        rows = split.codes == k
        true, score, weight = held.true[rows, 0], held.score[rows, 0], held.weight[rows]
        assert_allclose(line.auc.value, metrics.roc_auc_score(true, score, sample_weight=weight), **EXACT)
        assert_allclose(line.calibration_gap.value, np.average(true - score, weights=weight), **EXACT)
        assert sum(one.rows for one in line.calibration) == rows.sum()
        means = [one.mean_score for one in line.calibration]
        assert means == sorted(means)


def test_auc_is_taken_within_folds():
    held, _ = made(n=200)
    true, score = held.true[:, 0], held.score[:, 0]
    halves = [np.arange(0, 200, 2), np.arange(1, 200, 2)]
    found = auc(true, [(at, score[at]) for at in halves], np.ones(200, dtype=bool), held.weight)
    pairs = [true[at].sum() * (1 - true[at]).sum() for at in halves]
    expected = np.average([metrics.roc_auc_score(true[at], score[at]) for at in halves], weights=pairs)
    assert_allclose(found.value, expected, **EXACT)


def test_bins_of_calibration_are_deciles_of_all_scores():
    score = np.linspace(0, 1, 1000)
    true = (score > 0.5) * 1.0
    bins = calibrate(true, score, np.ones(1000, dtype=bool), np.ones(1000))
    assert [one.rows for one in bins] == [100] * 10
    assert [one.observed.value for one in bins] == [0.0] * 5 + [1.0] * 5


def test_calibration_of_scores_that_are_alike_is_that_of_pandas():
    rng = np.random.default_rng(2)
    n = 500
    score, rows, weight = rng.integers(0, 21, n) / 20, rng.random(n) < 0.4, rng.uniform(0.5, 2, n)
    true = (rng.random(n) < score) * 1.0
    edges = np.unique(np.quantile(score, np.arange(1, 10) / 10))
    assert np.isin(score, edges).any()
    frame = pd.DataFrame({"true": true * weight, "score": score * weight, "weight": weight, "rows": 1.0})
    at = pd.cut(score, [-np.inf, *edges, np.inf])
    sums = frame[rows].groupby(at[rows], observed=True).sum()
    found = calibrate(true, score, rows, weight)
    assert_allclose([one.rows for one in found], sums["rows"], **EXACT)
    assert_allclose([one.mean_score for one in found], sums["score"] / sums["weight"], **EXACT)
    assert_allclose([one.observed.value for one in found], sums["true"] / sums["weight"], **EXACT)


@pytest.mark.parametrize("n", [5, 40, 4000])
def test_the_interval_of_a_share_is_that_of_scipy(n):
    hits = n // 3
    counted = np.r_[np.ones(hits), np.zeros(n - hits)]
    found = share(counted, np.ones(n), np.ones(n)).figure()
    expected = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert_allclose([found.low, found.high], [expected.low, expected.high], **EXACT)


def test_the_interval_of_a_share_stays_between_0_and_1():
    for n in range(1, 400):
        none, every = level_of(0, n).figure(), level_of(n, n).figure()
        assert 0 <= none.low < 1e-12 < none.high <= 1
        assert 1 >= every.high > 1 - 1e-12 > every.low >= 0


def simulated(kind, rng):
    """Return a figure of a few hundred made rows, and what it is of all rows of that kind."""
    n = 300
    first = np.arange(n) < 120
    weight = rng.uniform(0.5, 2, n) if kind == "weighted share" else np.ones(n)
    hits = (rng.random(n) < np.where(first, 0.3, 0.45)) * 1.0
    shares = [share(np.where(rows, hits, 0), rows, weight) for rows in (first, ~first)]
    if kind in ("share", "weighted share"):
        return shares[0].figure(), 0.3
    if kind == "difference":
        return difference(*shares), -0.15
    if kind == "ratio":
        return ratio(*shares), 0.3 / 0.45
    if kind == "mean":
        return average(rng.exponential(2, n), first, weight).figure(), 2.0
    if kind == "change":
        # A tenth of all is decided otherwise by the second model.
        other = np.where(rng.random(n) < 0.1, 1 - hits, hits)
        parts = [share(np.where(first, one, 0), first, weight) for one in (hits, other)]
        return change(*parts), 0.1 * (0.7 - 0.3)
    score = rng.normal(size=n) + hits
    # One normal score is above another with the probability of their distance in standard deviations.
    every = np.ones(n, dtype=bool)
    return auc(hits, [(np.arange(n), score)], every, weight).figure(), stats.norm.cdf(1 / np.sqrt(2))


@pytest.mark.parametrize("kind", ["share", "weighted share", "difference", "ratio", "mean", "change", "auc"])
def test_intervals_cover_what_they_say_on_made_data(kind):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(4000):
        found, true = simulated(kind, rng)
        held += found.low <= true <= found.high
    assert 0.935 <= held / 4000 <= 0.965


def test_weights_act_as_numbers_of_rows_up_to_their_certainty():
    held, _ = made(n=100)
    times = np.tile([1, 3], 50)
    one = share(held.true[:, 0], np.ones(100), times * 1.0)
    many = share(np.repeat(held.true[:, 0], times), np.ones(times.sum()), np.ones(times.sum()))
    assert_allclose(one.value, many.value, **EXACT)
    # 200 rows that are copies of 100 are no 200 people.
    assert one.size < 100
    scaled = share(held.true[:, 0], np.ones(100), 7.0 * times)
    assert_allclose([scaled.value, scaled.size], [one.value, one.size], rtol=1e-12)


def newcombe(x1, n1, x2, n2):
    (l1, u1), (l2, u2) = (
        tuple(stats.binomtest(x, n).proportion_ci(method="wilson")) for x, n in ((x1, n1), (x2, n2))
    )
    p1, p2 = x1 / n1, x2 / n2
    d = p1 - p2
    return d - np.hypot(p1 - l1, u2 - p2), d + np.hypot(u1 - p1, p2 - l2)


def level_of(x, n):
    return share(np.r_[np.ones(x), np.zeros(n - x)], np.ones(n), np.ones(n))


@examples(50)
@given(st.integers(0, 40), st.integers(1, 60), st.integers(1, 40), st.integers(1, 60))
def test_differences_ratios_and_tests_of_two_groups(x1, more1, x2, more2):
    n1, n2 = x1 + more1, x2 + more2
    one, other = level_of(x1, n1), level_of(x2, n2)
    found = difference(one, other)
    assert_allclose([found.low, found.high], newcombe(x1, n1, x2, n2), **EXACT)
    impact, turned = ratio(one, other), ratio(other, one)
    assert_allclose(impact.value, (x1 / n1) / (x2 / n2), rtol=1e-12)
    assert 0 <= impact.low <= impact.value <= impact.high
    if x1:
        # Which of two is compared with the other does not matter.
        assert_allclose([1 / turned.high, 1 / turned.low], [impact.low, impact.high], rtol=1e-9)
    # The ratio is 1 within the interval exactly if the difference is 0 within its own.
    assert (found.low <= 0 <= found.high) == (impact.low <= 1 <= impact.high)
    table = [[x1, n1 - x1], [x2, n2 - x2]]
    test = compare(one, other, is_counted=True)
    if test.name == "z test":
        assert_allclose(test.p_value, stats.chi2_contingency(table, correction=False).pvalue, rtol=1e-9)
    else:
        assert_allclose(test.p_value, stats.fisher_exact(table).pvalue, **EXACT)
        assert stats.contingency.expected_freq(table).min() < 5


def test_the_ratio_is_the_solution_of_its_definition():
    # Of MOVER: the ends of p1 - r p2, whose variances come from the Wilson ends, are 0.
    one, other = level_of(12, 80), level_of(45, 90)
    a, b, found = one.figure(), other.figure(), ratio(one, other)
    for r, sign, first, second in ((found.low, -1, a.low, b.high), (found.high, 1, a.high, b.low)):
        end = a.value - r * b.value + sign * np.hypot(a.value - first, r * (b.value - second))
        assert_allclose(end, 0, atol=1e-12)


def test_a_share_of_nothing_is_not_known():
    nothing = share(np.zeros(3), np.zeros(3), np.ones(3))
    known = level_of(1, 3)
    for figure in (
        nothing.figure(),
        difference(nothing, known),
        ratio(known, nothing),
        change(known, nothing),
    ):
        assert np.isnan(figure.value)
    assert np.isnan(compare(nothing, known, is_counted=True).p_value)


def test_p_values_are_adjusted_as_by_scipy():
    p = [0.01, np.nan, 0.04, 0.03]
    expected = stats.false_discovery_control([0.01, 0.04, 0.03])
    assert_allclose(adjust(p), [expected[0], np.nan, *expected[1:]], **EXACT)


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_of_a_quantity_are_those_of_scikit_learn(weighted):
    held, split = made(quantity=True, weighted=weighted)
    table = group_rows(split, held).quantity
    means = []
    for k, line in enumerate(table.lines):
        rows = split.codes == k
        y, p, w = held.true[rows, 0], held.predicted[rows, 0], held.weight[rows]
        means.append(np.average(p, weights=w))
        expected = {
            "mean_target": np.average(y, weights=w),
            "mean_prediction": means[-1],
            "mean_error": np.average(p - y, weights=w),
            "mean_absolute_error": metrics.mean_absolute_error(y, p, sample_weight=w),
            "root_mean_squared_error": metrics.root_mean_squared_error(y, p, sample_weight=w),
            "r2": metrics.r2_score(y, p, sample_weight=w),
        }
        for name, value in expected.items():
            assert_allclose(getattr(line, name).value, value, rtol=1e-12, atol=1e-12)
        if not weighted:
            half = stats.t.ppf(0.975, rows.sum() - 1) * stats.sem(p - y)
            assert_allclose(line.mean_error.high - line.mean_error.value, half, rtol=1e-10)
    assert table.most_favored == split.names[int(np.argmax(means))]
    assert_allclose(table.gap.figure.value, np.ptp(means), **EXACT)


def test_the_test_of_means_is_welch_s_with_many_rows():
    held, _ = made(quantity=True, n=400)
    values, first = held.true[:, 0], np.arange(400) < 150
    one, other = (average(values, rows * 1.0, np.ones(400)) for rows in (first, ~first))
    a, b = values[first], values[~first]
    z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b))
    assert_allclose(compare(one, other, is_counted=True).p_value, 2 * stats.norm.sf(abs(z)), rtol=1e-10)


def test_the_scoring_rate_is_the_share_above_the_median():
    rng = np.random.default_rng(1)
    score = rng.integers(0, 50, 301) / 50
    assert_allclose(above_median(score, np.ones(301)), score > np.median(score), **EXACT)
    assert_allclose(above_median(score[:300], np.ones(300)), score[:300] > np.median(score[:300]), **EXACT)
    times = rng.integers(1, 4, 301)
    assert_allclose(above_median(score, times * 1.0), score > np.median(np.repeat(score, times)), **EXACT)
    held, split = made()
    (table,) = group_rows(split, held).labels
    above = held.score[:, 0] > np.median(held.score[:, 0])
    expected = [above[split.codes == k].mean() for k in range(3)]
    assert_allclose([line.scoring_rate.value for line in table.outcomes], expected, **EXACT)


def test_a_change_between_two_models_is_paired():
    held, split = made(n=300)
    (first, *_) = compare_models(held, held, split)
    assert (first.change.value, first.before) == (0.0, first.after)
    one, other = Level(0.5, 300, np.full(300, 0.01)), Level(0.7, 300, np.full(300, 0.01))
    # What both models do alike cancels out.
    assert change(one, other).high - change(one, other).value < 0.01


def test_groups_are_counted_and_marked():
    held, _ = made(n=2000)
    codes = np.r_[np.full(10, -1), np.full(29, 2), np.full(35, 1), np.full(1926, 0)]
    found = group_rows(Split("race", codes, ("a", "b", "c")), held)
    assert [group.rows for group in found.groups] == [1926, 35, 29]
    assert [group.is_few for group in found.groups] == [False, False, True]
    assert [group.is_small for group in found.groups] == [False, True, True]
    assert (found.unknown_rows, found.unknown_share) == (10, 0.005)
    (table,) = found.labels
    # Two of them are compared, and the p values are corrected for that many.
    assert np.isnan(table.outcomes[2].p_value)
    assert sum(np.isfinite(line.p_adjusted) for line in table.outcomes) == 1


def test_a_label_given_a_tenth_as_often_as_it_occurs_is_given_to_almost_nobody():
    held, _ = made(n=1000)
    split = Split("sex", np.arange(1000) % 2, ("f", "m"))

    def whom(had, given):
        true, predicted = (np.repeat([1.0, 0.0], [n, 1000 - n])[:, None] for n in (had, given))
        found = group_rows(split, replace(held, true=true, predicted=predicted))
        return one_sided(found, found.labels[0]).partition(" (")[0]

    assert [whom(200, given) for given in (18, 22)] == ["almost nobody", ""]
    assert [whom(800, given) for given in (982, 978)] == ["almost everybody", ""]


def test_weights_count_in_shares_of_groups():
    held, split = made(weighted=True)
    found = group_rows(split, held)
    frame = pd.DataFrame({"code": split.codes, "weight": held.weight})
    sums = frame[frame["code"] >= 0].groupby("code")["weight"].sum()
    assert_allclose([group.share for group in found.groups], sums / sums.sum(), **EXACT)
    unknown = frame[frame["code"] < 0]["weight"].sum() / held.weight.sum()
    assert_allclose(found.unknown_share, unknown, **EXACT)


def test_the_mean_risk_varies_between_folds():
    values = np.arange(100) / 100
    one = mean_between_folds(values, np.array([values.mean()]), 100.0, np.ones(100))
    assert_allclose(one.value - one.low, Z * values.std() / 10, **EXACT)
    folds = np.array([0.45, 0.5, 0.54])
    found = mean_between_folds(values, folds, 100 / 3, np.ones(100))
    half = stats.t.ppf(0.975, 2) * folds.std(ddof=1) * np.sqrt(1 / 3 + 1 / 2)
    assert_allclose(found.high - found.value, half, rtol=1e-12)


def test_means_without_spread_that_differ_differ_for_certain():
    values, first = np.repeat([1.0, 2.0], 5), np.repeat([True, False], 5)
    one, other = (average(values, among, np.ones(10)) for among in (first, ~first))
    assert compare(one, other, is_counted=True).p_value == 0
    assert compare(one, one, is_counted=True).p_value == 1
