from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import FixedThresholdClassifier

from fairshap import datasets, metrics
from fairshap._crossval import MEASURES, judge
from fairshap._crossval.evaluation import Measures
from fairshap._crossval.folds import Predictions
from fairshap._crossval.measures import Estimate, HeldOut, critical_value, newcombe, wilson
from fairshap._crossval.ranking import weights_of
from fairshap._names import MINIMIZE, SCORING
from fairshap._problem import Problem
from tests.conftest import examples

ACCURACY, DR, DP, EO, PQP = (list(MEASURES).index(name) for name in ("accuracy", "dr", "dp", "eo", "pqp"))


def made_folds(rng, n=400, shares=(0.5, 0.5), rates=(0.5, 0.5), base=0.4, n_folds=4, n_repeats=1):
    """Folds of rows whose groups are predicted positive at given rates, whatever their label."""
    true = rng.random(n) < base
    group = np.repeat(np.arange(len(shares)), np.round(np.array(shares) * n).astype(int))
    folds = []
    for _ in range(n_repeats):
        predicted = rng.random(n) < np.array(rates)[group]
        folds += [
            Predictions(rows, true[rows], predicted[rows], group[rows], rng.random(len(rows)))
            for rows in np.array_split(rng.permutation(n), n_folds)
        ]
    return folds


@examples(50)
@given(st.integers(0, 1000), st.integers(2, 4), st.integers(1, 3))
def test_the_levels_are_the_metrics_of_all_held_out_rows_together(seed, n_groups, n_folds):
    rng = np.random.default_rng(seed)
    shares, rates = np.full(n_groups, 1 / n_groups), rng.random(n_groups)
    folds = made_folds(rng, 480, shares, rates, n_folds=n_folds)
    measured = Measures.of([folds], [f"g{k}" for k in range(n_groups)])
    true, predicted, group, risk = (
        np.concatenate([getattr(fold, name) for fold in folds])
        for name in ("true", "predicted", "group", "risk")
    )
    who = {"sensitive_features": group, "positive": True}
    expected = [
        accuracy_score(true, predicted),
        risk.mean(),
        metrics.demographic_parity_difference(true, predicted, **who),
        metrics.equal_opportunity_difference(true, predicted, **who),
    ]
    assert_allclose(measured.values[0, [ACCURACY, DR, DP, EO]], expected, atol=1e-12)
    table = measured.groups(0).set_index("group")
    for measure, rate in (("dp", "positive_rate"), ("eo", "true_positive_rate"), ("pqp", "precision")):
        value = measured.values[0, list(MEASURES).index(measure)]
        if np.isnan(value):
            assert measured.pair(0, measure) is None
            continue
        high, low = measured.pair(0, measure)
        assert_allclose(value, table.loc[high, rate] - table.loc[low, rate], atol=1e-12)
        if not table["few"].any() and table[rate].notna().all() and measure != "pqp":
            assert_allclose(value, table[rate].max() - table[rate].min(), atol=1e-12)


def test_gaps_that_cancel_between_folds_are_no_gap():
    # One fold favors one group, the other fold the other: the mean of absolute gaps would be 0.5.
    group = np.tile([0, 1], 100)
    rows, true = np.arange(200), np.zeros(200, dtype=bool)
    favored = np.where(rows < 100, group == 0, group == 1)
    predicted = favored & (rows % 4 < 2)
    folds = [
        Predictions(part, true[part], predicted[part], group[part], np.zeros(100))
        for part in np.split(rows, 2)
    ]
    measured = Measures.of([folds], ["a", "b"])
    assert measured.values[0, DP] == 0
    assert measured.low[0, DP] < 0 < measured.high[0, DP]


def test_the_widest_pair_is_told_whoever_is_privileged():
    rng = np.random.default_rng(0)
    folds = made_folds(rng, 900, (1 / 3, 1 / 3, 1 / 3), (0.53, 0.19, 0.84))
    measured = Measures.of([folds], ["a", "b", "c"])
    assert measured.pair(0, "dp") == ("c", "b")
    assert measured.values[0, DP] == pytest.approx(0.65, abs=0.06)


def test_a_small_group_of_several_is_named_but_not_compared():
    rng = np.random.default_rng(0)
    folds = made_folds(rng, 400, (0.45, 0.5, 0.05), (0.5, 0.4, 1.0))
    measured = Measures.of([folds], ["a", "b", "tiny"])
    assert "tiny" not in measured.pair(0, "dp")
    assert measured.groups(0).set_index("group")["few"].to_dict() == {"b": False, "a": False, "tiny": True}
    # Of two groups both are compared, however small.
    two = Measures.of([made_folds(rng, 400, (0.95, 0.05), (0.5, 1.0))], ["a", "tiny"])
    assert two.pair(0, "dp") == ("tiny", "a")
    assert not two.groups(0)["few"].any()


def test_rows_without_a_group_count_for_accuracy_alone():
    true = np.ones(60, dtype=bool)
    group = np.repeat([0, 1, -1], 20)
    folds = [Predictions(np.arange(60), true, group >= 0, group, np.zeros(60))]
    measured = Measures.of([folds], ["a", "b"])
    assert_allclose(measured.values[0, [ACCURACY, DP, EO]], [2 / 3, 0, 0])
    assert measured.groups(0)["group"].tolist() == ["a", "b", "missing"]


def test_a_rate_of_nothing_is_no_gap():
    true = np.repeat([True, False], 50)
    group = np.tile([0, 1], 50)
    # Nobody of the second group is predicted positive: there is no precision to compare.
    folds = [Predictions(np.arange(100), true, group == 0, group, np.zeros(100))]
    measured = Measures.of([folds, folds], ["a", "b"])
    assert measured.values[0, DP] == 1
    assert np.isnan(measured.values[0, PQP])
    change, low, high = measured.changes()
    assert np.isnan(change[1, PQP])
    known = [ACCURACY, DR, DP, EO]
    assert_array_equal(change[1, known], 0)
    assert (low[1, known] <= 0).all()
    assert (high[1, known] >= 0).all()


def proportion(p, n):
    """A proportion among n, with its interval."""
    return Estimate(p, *wilson(p, n, critical_value()))


@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("base", [0.35, 0.6, 0.9])
def test_the_interval_of_a_gap_covers_what_it_says(n, share, gap, base):
    rng = np.random.default_rng(0)
    m = round(n * share)
    n, p, q = n - m, base, base - gap
    found = newcombe(
        proportion(rng.binomial(n, p, 40_000) / n, n), proportion(rng.binomial(m, q, 40_000) / m, m)
    )
    covered = ((found[0] <= gap) & (gap <= found[1])).mean()
    assert 0.935 <= covered <= 0.965


def test_the_intervals_of_gaps_are_those_of_the_counts():
    folds = made_folds(np.random.default_rng(0), 500, (0.8, 0.2), (0.5, 0.3))
    measured = Measures.of([folds], ["a", "b"])
    table = measured.groups(0).set_index("group")
    rate, rows = table["positive_rate"], table["rows"]
    assert_allclose(
        (measured.low[0, DP], measured.high[0, DP]),
        newcombe(*(proportion(rate[name], rows[name]) for name in ("a", "b"))),
    )


def test_with_several_groups_the_interval_of_the_widest_pair_covers_it():
    # All groups are alike: what is widest is so by chance, and 0 must be covered all the same.
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        folds = made_folds(rng, 600, np.full(5, 0.2), np.full(5, 0.4), n_folds=1)
        measured = Measures.of([folds], list("abcde"))
        held += measured.low[0, DP] <= 0
    assert 0.93 <= held / 400 <= 0.98


def test_the_interval_of_a_change_covers_it():
    rng = np.random.default_rng(0)
    true = np.repeat([True, False], 300)
    group = np.tile([0, 0, 1], 200)
    held = np.zeros(len(MEASURES))
    for _ in range(500):
        first = rng.random(600) < np.array([0.6, 0.4])[group]
        # A tenth of the first group's positives are taken away, a tenth of the second's negatives given.
        flip = rng.random(600) < 0.1
        second = np.where(flip & (group == 0), False, np.where(flip & (group == 1), True, first))
        parts = [
            [Predictions(np.arange(600), true, predicted, group, np.zeros(600))]
            for predicted in (first, second)
        ]
        _, low, high = Measures.of(parts, ["a", "b"]).changes()
        held += (low[1] <= -0.12) & (high[1] >= -0.12)
    assert ((held[[DP, EO]] / 500 >= 0.93) & (held[[DP, EO]] / 500 <= 0.975)).all()


def test_repeats_tell_more_than_one_draw_and_less_than_as_many_rows():
    rng = np.random.default_rng(0)
    once = Measures.of([made_folds(rng, n_repeats=1)], ["a", "b"])
    often = Measures.of([made_folds(rng, n_repeats=4)], ["a", "b"])
    widths = [found.high[0, DP] - found.low[0, DP] for found in (once, often)]
    assert 0.45 < widths[1] / widths[0] < 0.6
    same = made_folds(rng, n_folds=2)
    twice = Measures.of([same + same], ["a", "b"])
    alone = Measures.of([same], ["a", "b"])
    assert_allclose(twice.high[0, [ACCURACY, DP, EO, PQP]], alone.high[0, [ACCURACY, DP, EO, PQP]])


def test_the_interval_of_the_risk_is_that_between_folds():
    rng = np.random.default_rng(0)
    folds = made_folds(rng, 400, n_folds=4)
    measured = Measures.of([folds], ["a", "b"])
    means = np.array([fold.risk.mean() for fold in folds])
    half = student.ppf(0.975, 3) * means.std(ddof=1) * np.sqrt(1 / 4 + 100 / 300)
    assert_allclose(measured.high[0, DR], means.mean() + half)
    # On one set of rows, it is that of the rows.
    one = Measures.of([folds[:1]], ["a", "b"])
    half = critical_value() * folds[0].risk.std() / np.sqrt(100)
    assert_allclose(one.high[0, DR], folds[0].risk.mean() + half)


def test_a_model_is_judged_by_its_own_answers():
    d = datasets.load("german", encoded=True)
    X, y = d.X.to_numpy(), d.y.to_numpy()
    place = d.X.columns.get_loc(d.sensitive)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    problem = Problem.read(X, y, sensitive=place, privileged=1.0)
    measured = Measures.of([[judge(model, problem)]], problem.groups.names)
    expected = [
        accuracy_score(y, model.predict(X)),
        metrics.discriminative_risk(model, X, sensitive=place, privileged=1.0),
        metrics.demographic_parity_difference(y, model.predict(X), sensitive_features=X[:, place]),
    ]
    assert_allclose(measured.values[0, [ACCURACY, DR, DP]], expected, atol=1e-12)
    some = np.arange(7, 300)
    part = judge(model, problem, some)
    assert_array_equal(part.predicted, model.predict(X[some]) == 1)
    assert_array_equal(part.score, model.predict_proba(X[some])[:, 1])
    assert_allclose(part.risk, judge(model, problem).risk[some])
    # Scores are those of the positive label.
    other = judge(model, Problem.read(X, y, sensitive=place, privileged=1.0, positive=0), some)
    assert_array_equal(other.score, 1 - part.score)
    assert_array_equal(other.flips, part.flips)


def test_the_same_groups_are_compared_in_every_measure_of_every_model():
    # The third group has rows enough, but few of them positive, and all but two predicted negative.
    group = np.repeat([0, 1, 2], [600, 400, 200])
    true = np.concatenate([np.arange(600) % 2 == 0, np.arange(400) % 2 == 0, np.arange(200) < 25])
    predicted = np.where(group < 2, true & (np.arange(1200) % 4 == 0), np.isin(np.arange(1200), [1000, 1150]))
    folds = [Predictions(np.arange(1200), true, predicted, group, np.zeros(1200))]
    measured = Measures.of([folds], ["a", "b", "c"])
    assert measured.pair(0, "eo")[1] == "c"
    assert measured.values[0, EO] == pytest.approx(0.5 - 1 / 25)
    assert measured.pair(0, "pqp") == ("a", "c")


def scored(rng, n=300, base=0.4, shift=1.0, n_folds=3, n_repeats=1):
    """Folds of rows whose scores, and predictions, are higher if they are positive."""
    true, group = np.arange(n) < base * n, rng.integers(0, 2, n)
    folds = []
    for _ in range(n_repeats):
        # Models of folds need not be on one scale.
        for k, rows in enumerate(np.array_split(rng.permutation(n), n_folds)):
            score = rng.normal(size=len(rows)) + shift * true[rows]
            predicted = score > shift / 2
            folds.append(
                Predictions(rows, true[rows], predicted, group[rows], np.zeros(len(rows)), score + k)
            )
    return folds


def level(measured, name, model=0):
    """A measure and the ends of its interval."""
    k = list(MEASURES).index(name)
    return measured.values[model, k], measured.low[model, k], measured.high[model, k]


@examples(30)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_every_measure_of_labels_and_scores_is_the_metric_of_that_name(seed, n_folds):
    folds = scored(np.random.default_rng(seed), n_folds=n_folds)
    measured = Measures.of([folds], ["a", "b"])
    true, predicted, group = (
        np.concatenate([getattr(fold, name) for fold in folds]) for name in ("true", "predicted", "group")
    )
    who = {"sensitive_features": group, "positive": True}
    for name, metric in (
        ("eodds", metrics.equalized_odds_difference),
        ("fprd", metrics.false_positive_rate_difference),
    ):
        assert_allclose(level(measured, name)[0], metric(true, predicted, **who), atol=1e-12)
    expected = balanced_accuracy_score(true, predicted)
    assert_allclose(level(measured, "balanced_accuracy")[0], expected, atol=1e-12)
    # Rows are ranked within folds.
    pairs = [fold.true.sum() * (~fold.true).sum() for fold in folds]
    by_fold = [roc_auc_score(fold.true, fold.score) if n else 0 for fold, n in zip(folds, pairs, strict=True)]
    assert_allclose(level(measured, "auc")[0], np.average(by_fold, weights=pairs), atol=1e-12)
    n_positive = [fold.true.sum() for fold in folds]
    by_fold = [average_precision_score(fold.true, fold.score) if fold.true.any() else 0 for fold in folds]
    assert_allclose(level(measured, "ap")[0], np.average(by_fold, weights=n_positive), atol=1e-12)
    assert np.isnan(level(measured, "log_loss")).all()
    assert np.isnan(level(measured, "flips")).all()


def with_probabilities(folds):
    """The same folds, their scores as probabilities, and the decisions of some rows flipping."""
    return [
        replace(
            fold,
            score=(p := 1 / (1 + np.exp(-fold.score))),
            is_probability=True,
            flips=(np.round(p, 2) * 100 % 3 == 0).astype(float),
        )
        for fold in folds
    ]


@examples(20)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 2))
def test_losses_and_flips_are_means_over_rows(seed, n_folds, n_repeats):
    folds = with_probabilities(scored(np.random.default_rng(seed), n_folds=n_folds, n_repeats=n_repeats))
    measured = Measures.of([folds], ["a", "b"])
    true, score, flips = (
        np.concatenate([getattr(fold, name) for fold in folds]) for name in ("true", "score", "flips")
    )
    for name, expected in (
        ("log_loss", log_loss(true, score)),
        ("brier", brier_score_loss(true, score)),
        ("flips", flips.mean()),
    ):
        value, low, high = level(measured, name)
        assert_allclose(value, expected, atol=1e-9)
        assert 0 <= low < value < high
    assert measured.constant_accuracy == pytest.approx(max(true.mean(), 1 - true.mean()))
    # Models that are alike do not differ.
    change, low, high = Measures.of([folds, folds], ["a", "b"]).changes()
    known = ~np.isnan(change[1])
    assert_array_equal(change[1, known], 0)
    assert (low[1, known] <= 0).all()


def test_the_moves_of_average_precision_are_its_influence_values():
    # Against the jackknife: what the level does without each row.
    rng = np.random.default_rng(0)
    fold = scored(rng, n=240, n_folds=1)[0]
    fold = replace(fold, score=np.round(fold.score, 1))
    rows = HeldOut.of([[fold]], 2)
    found = MEASURES["ap"].estimate(rows, 0)
    n = len(fold.true)
    without = np.array(
        [average_precision_score(np.delete(fold.true, i), np.delete(fold.score, i)) for i in range(n)]
    )
    moves = found.moves(slice(None))[fold.rows]
    assert_allclose(moves.sum(), 0, atol=1e-12)
    # In the sum it is the same up to terms of the order of 1 / n.
    jackknife = (without.mean() - without) * (n - 1) / n
    assert np.corrcoef(moves, jackknife)[0, 1] > 0.99
    assert_allclose(np.sum(moves**2), np.sum(jackknife**2), rtol=0.1)
    assert found.low < found.value < found.high


def test_decisions_flip_as_the_model_decides_also_by_thresholds_of_its_own():
    d = datasets.load("german", encoded=True)
    X, y = d.X.to_numpy(), d.y.to_numpy()
    at = d.X.columns.get_loc(d.sensitive)
    problem = Problem.read(X, y, sensitive=at, privileged=1.0)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    for one in (model, FixedThresholdClassifier(FrozenEstimator(model), threshold=0.7).fit(X, y)):
        one_way, other_way = X.copy(), X.copy()
        one_way[:, at], other_way[:, at] = 0, 1
        expected = one.predict(one_way) != one.predict(other_way)
        assert expected.any()
        assert_array_equal(judge(one, problem).flips, expected)
        other = Problem.read(X, y, sensitive=at, privileged=1.0, positive=0)
        assert_array_equal(judge(one, other).flips, expected)


def test_the_interval_of_auc_is_that_of_delong():
    fold = scored(np.random.default_rng(0), n_folds=1)[0]
    value, low, high = level(Measures.of([[fold]], ["a", "b"]), "auc")
    wins = fold.score[fold.true][:, None] > fold.score[~fold.true]
    variance = sum(np.var(wins.mean(axis=axis)) / wins.shape[1 - axis] for axis in (0, 1))
    assert_allclose((low, high), wilson(value, value * (1 - value) / variance, critical_value()))
    # The same rows predicted twice are no more certain.
    again = Measures.of([[fold, fold]], ["a", "b"])
    assert_allclose(level(again, "auc"), (value, low, high))


@pytest.mark.parametrize(("n", "base"), [(200, 0.5), (600, 0.2)])
def test_the_intervals_of_rates_and_ranks_and_of_their_changes_cover_them(n, base):
    rng = np.random.default_rng(0)
    names, shifts = ["auc", "balanced_accuracy", "ap"], np.array([1.0, 0.8])
    true, group = np.arange(n) < base * n, np.arange(n) % 2
    grid = np.linspace(-8, 9, 20_001)
    # The precision of all rows above a score, averaged over the scores of positive rows.
    aps = []
    for shift in shifts:
        recall, fall_out = norm.sf(grid - shift), norm.sf(grid)
        precision = base * recall / (base * recall + (1 - base) * fall_out)
        aps.append(np.trapezoid(precision * norm.pdf(grid - shift), grid))
    levels = np.array([norm.cdf(shifts / np.sqrt(2)), norm.cdf(shifts / 2), aps])
    at = [list(MEASURES).index(name) for name in names]
    held, changed, level_odds = np.zeros(3), np.zeros(3), 0
    for _ in range(400):
        noise = rng.normal(size=n)
        models = []
        for shift in shifts:
            score = 0.8 * noise + 0.6 * rng.normal(size=n) + shift * true
            one = Predictions(np.arange(n), true, score > shift / 2, group, np.zeros(n), score)
            models.append([one])
        measured = Measures.of(models, ["a", "b"])
        held += (measured.low[0, at] <= levels[:, 0]) & (levels[:, 0] <= measured.high[0, at])
        _, low, high = measured.changes()
        change = levels[:, 1] - levels[:, 0]
        changed += (low[1, at] <= change) & (change <= high[1, at])
        # The groups are alike: the larger of two gaps is wide by chance alone.
        level_odds += level(measured, "eodds")[1] <= 0
    for share in (*held / 400, *changed / 400, level_odds / 400):
        assert 0.925 <= share <= 0.985


def test_what_a_label_or_a_score_is_missing_for_is_not_measured():
    rows, group = np.arange(60), np.arange(60) % 2
    scores = np.linspace(0, 1, 60)
    positive = Predictions(rows, rows >= 0, rows % 3 == 0, group, np.zeros(60), scores)
    measured = Measures.of([[positive]], ["a", "b"])
    for name in ("balanced_accuracy", "auc", "eodds", "fprd", "log_loss", "flips"):
        assert np.isnan(level(measured, name)).all()
        assert measured.pair(0, name) is None
    assert not np.isnan(level(measured, "eo")).any()
    unscored = Predictions(rows, rows % 2 == 0, rows % 3 == 0, group, np.zeros(60))
    assert np.isnan(level(Measures.of([[unscored]], ["a", "b"]), "auc")).all()


def test_the_pair_of_equalized_odds_is_that_of_the_wider_rate():
    true = np.tile([True, False], 100)
    group = np.repeat([0, 1], 100)
    # The first group has all of its positives, the second most of the false ones.
    predicted = np.where(true, group == 0, (group == 1) & (np.arange(200) % 8 == 1))
    measured = Measures.of([[Predictions(np.arange(200), true, predicted, group, np.zeros(200))]], ["a", "b"])
    assert measured.pair(0, "eodds") == measured.pair(0, "eo") == ("a", "b")
    assert measured.pair(0, "fprd") == ("b", "a")
    # Either of two gaps may be the wider one by chance, so the interval is wider than that of one.
    assert level(measured, "eodds")[0] == level(measured, "eo")[0] == 1
    assert level(measured, "eodds")[1] < level(measured, "eo")[1]


def test_the_names_of_measures_are_those_that_options_offer():
    assert tuple(name for name, measure in MEASURES.items() if not measure.is_fairness) == SCORING
    gaps = [name for name, measure in MEASURES.items() if measure.is_fairness]
    # By one word each can be made small, and nothing else.
    assert MINIMIZE[0] == "fairness"
    assert sorted(name for word in MINIMIZE[1:] for name in weights_of(word)) == sorted(gaps)
