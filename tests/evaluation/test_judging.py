import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from fairshap import datasets, metrics
from fairshap.evaluation._judging import Judgement, judge, means_over_folds, measures_of, resample
from fairshap.groups import Labels, Setting
from tests.conftest import examples


def random_fold(rng, n=40):
    true = rng.random(n) < 0.4
    predicted = np.where(rng.random(n) < 0.7, true, ~true)
    return Judgement(true, predicted, rng.integers(-1, 2, n).astype(np.int8), rng.random(n))


@examples(50)
@given(st.integers(0, 1000), st.integers(3, 40))
def test_the_measures_are_those_of_the_metrics(seed, n):
    fold = random_fold(np.random.default_rng(seed), n)
    known = fold.side >= 0
    if len(set(fold.side[known])) < 2:
        return
    ours = measures_of(fold.columns().sum(axis=0))
    who = {"sensitive_features": fold.side[known], "privileged": 1, "positive": True}
    labels = fold.true[known], fold.predicted[known]
    expected = [
        metrics.accuracy(fold.true, fold.predicted),
        fold.risk.mean(),
        metrics.demographic_parity(*labels, **who),
        metrics.equal_opportunity(*labels, **who),
        metrics.predictive_quality_parity(*labels, **who),
    ]
    assert_allclose(ours, expected, atol=1e-12)


def test_resamples_are_the_same_rows_for_all_candidates_and_follow_the_seed():
    rng = np.random.default_rng(0)
    folds = [random_fold(rng, 300) for _ in range(3)]
    samples = resample([folds, folds], 100, random_state=1)
    assert_array_equal(samples[0], samples[1])
    assert_array_equal(samples, resample([folds, folds], 100, random_state=1))
    assert (samples != resample([folds, folds], 100, random_state=2)).any()


def test_the_spread_of_the_resamples_is_the_standard_error():
    rng = np.random.default_rng(0)
    folds = [random_fold(rng, 400)]
    spread = resample([folds], 2000, random_state=0)[0].std(axis=0)
    p = means_over_folds(folds)[0]
    assert_allclose(spread[0], np.sqrt(p * (1 - p) / 400), rtol=0.1)
    assert_allclose(spread[1], folds[0].risk.std() / 20, rtol=0.1)


def test_a_model_is_judged_by_its_own_answers():
    d = datasets.load("german", encoded=True)
    X, y = d.X.to_numpy(), d.y.to_numpy()
    place = d.X.columns.get_loc(d.sensitive)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    fold = judge(model, Setting.read(X, place, 1.0), Labels.read(y, len(y)), 1)
    who = {"sensitive_features": X[:, place], "privileged": 1.0}
    expected = [
        metrics.accuracy(y, model.predict(X)),
        metrics.discriminative_risk(model, X, sensitive=place, privileged=1.0),
        metrics.demographic_parity(y, model.predict(X), **who),
    ]
    assert_allclose(means_over_folds([fold])[:3], expected, atol=1e-12)
