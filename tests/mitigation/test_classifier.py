import numpy as np
import pandas as pd
import pytest
import sklearn
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, FairSHAP, FairSHAPClassifier, metrics
from fairshap.exceptions import ColumnError, GroupError, InputError, ModelError, TargetError, WeightsWarning
from fairshap.mitigation import (
    CorrelationRemover,
    CounterfactualAugmenter,
    MitigatedClassifier,
    Reweigher,
    SensitiveRemover,
)
from tests.conftest import to_library
from tests.mitigation.conftest import ALL, SAMPLERS, SHIFTED, TRANSFORMERS, WHO, D, make

QUICK = {"n_estimators": 8, "max_depth": 3}


@pytest.mark.parametrize("kind", [None, *ALL])
def test_one_loop_trains_after_every_baseline(kind, library):
    X, y = to_library(SHIFTED, library), D.y.to_numpy()
    model = MitigatedClassifier(None if kind is None else make(kind), XGBClassifier(**QUICK)).fit(X, y)
    assert model.score(X, y) > 0.6
    assert model.predict_proba(X).shape == (300, 2)
    on_pandas = clone(model).fit(SHIFTED, D.y)
    assert_allclose(model.predict_proba(X), on_pandas.predict_proba(SHIFTED))
    assert_array_equal(model.predict(X[:7]), model.predict(X)[:7])


def test_without_a_baseline_it_is_the_estimator_itself():
    model = MitigatedClassifier(None, LogisticRegression()).fit(D.X, D.y)
    alone = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(D.X, D.y)
    assert_array_equal(model.predict_proba(D.X), alone.predict_proba(D.X))


def test_fairshap_fits_into_the_same_loop():
    repair = FairSHAP(XGBClassifier(**QUICK), **WHO, random_state=0)
    model = MitigatedClassifier(repair, XGBClassifier(**QUICK)).fit(D.X, D.y)
    own = FairSHAPClassifier(repair, weights=None, drop_sensitive=False).fit(D.X, D.y)
    assert_array_equal(model.predict_proba(D.X), own.predict_proba(D.X))
    assert len(model.method_.edits_) == len(own.repair_.edits_) > 0


def test_test_rows_are_transformed_where_the_baseline_says_so():
    for kind in ALL:
        assert kind.transforms_test_rows == (kind in TRANSFORMERS)
    for kind in TRANSFORMERS:
        model = MitigatedClassifier(make(kind), XGBClassifier(**QUICK)).fit(SHIFTED, D.y)
        rows = model.prepare_rows(SHIFTED)
        assert_array_equal(rows, model.method_.transform(SHIFTED))
        assert_array_equal(model.predict_proba(SHIFTED), model.estimator_.predict_proba(rows))
        assert_array_equal(model.method_.transform(SHIFTED), make(kind).fit_transform(SHIFTED))


def test_without_the_attribute_the_risk_is_zero():
    model = MitigatedClassifier(SensitiveRemover(**WHO), XGBClassifier(**QUICK)).fit(D.X, D.y)
    assert metrics.discriminative_risk(model, D.X, **WHO) == 0


def test_twins_lower_the_risk_of_a_model_that_sees_them():
    plain = MitigatedClassifier(None, LogisticRegression()).fit(D.X, D.y)
    twins = MitigatedClassifier(CounterfactualAugmenter(**WHO), LogisticRegression()).fit(D.X, D.y)
    assert metrics.discriminative_risk(twins, D.X, **WHO) < 1e-3
    assert metrics.discriminative_risk(plain, D.X, **WHO) > 0.05


def test_weights_lower_the_gap_between_the_groups():
    who = {"sensitive_features": D.X["group"], "privileged": "a"}
    gaps = []
    for baseline in (None, Reweigher(**WHO)):
        model = MitigatedClassifier(baseline, LogisticRegression()).fit(D.X, D.y)
        gaps.append(metrics.demographic_parity_difference(D.y, model.predict(D.X), **who))
    assert gaps[1] < gaps[0] / 2


def test_weights_are_those_of_the_baseline_times_those_given():
    given = np.linspace(0.1, 2, 300)
    expected = Reweigher(**WHO).fit(D.X, D.y, sample_weight=given).sample_weight_
    for method, weights in ((None, given), (Reweigher(**WHO), expected)):
        model = MitigatedClassifier(method, LogisticRegression()).fit(D.X, D.y, sample_weight=given)
        encoder = ColumnEncoder().fit(D.X)
        alone = LogisticRegression().fit(encoder.transform(D.X), D.y, sample_weight=weights)
        assert_array_equal(model.predict_proba(D.X), alone.predict_proba(encoder.transform(D.X)))
    augmenter = CounterfactualAugmenter(**WHO)
    twice, y = augmenter.fit_resample(D.X, D.y, sample_weight=given)
    assert_array_equal(augmenter.sample_weight_, np.tile(given / 2, 2))
    assert len(twice) == len(y) == 600


def test_an_estimator_without_weights_is_refused_unless_all_are_equal():
    with pytest.raises(ModelError, match=r"KNeighborsClassifier takes no sample_weight, .* after Reweigher"):
        MitigatedClassifier(Reweigher(**WHO), KNeighborsClassifier()).fit(D.X, D.y)
    model = MitigatedClassifier(CounterfactualAugmenter(**WHO), KNeighborsClassifier()).fit(D.X, D.y)
    assert model.predict(D.X).shape == (300,)
    with pytest.raises(ModelError, match="sample_weight is given, but KNeighborsClassifier takes no"):
        MitigatedClassifier(None, KNeighborsClassifier()).fit(D.X, D.y, sample_weight=np.ones(300))
    calibrated = CalibratedClassifierCV(make_pipeline(ColumnEncoder(), LogisticRegression()), cv=2)
    with pytest.raises(ModelError, match=r"CalibratedClassifierCV does not pass sample_weight .* Reweigher"):
        MitigatedClassifier(Reweigher(**WHO), calibrated).fit(D.X, D.y)


def test_rows_are_repeated_for_an_estimator_that_cannot_weigh_twins():
    X = D.X.assign(group=D.X["group"].where(np.arange(300) >= 30))
    augmenter = CounterfactualAugmenter(**WHO)
    with pytest.warns(WeightsWarning, match="rows are repeated"):
        model = MitigatedClassifier(augmenter, KNeighborsClassifier()).fit(X, D.y)
    both, y = augmenter.fit_resample(X, D.y)
    rows = np.repeat(np.arange(len(both)), np.where(augmenter.sample_weight_ == 1, 2, 1))
    alone = MitigatedClassifier(None, KNeighborsClassifier()).fit(both.iloc[rows], y.iloc[rows])
    assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_an_attribute_beside_the_table_is_never_seen_by_the_classifier():
    X, s = SHIFTED.drop(columns="group"), D.X["group"]
    model = MitigatedClassifier(Reweigher(privileged="a"), XGBClassifier(**QUICK))
    model.fit(X, D.y, sensitive_features=s)
    weights = Reweigher(**WHO).fit(SHIFTED, D.y).sample_weight_
    alone = MitigatedClassifier(None, XGBClassifier(**QUICK)).fit(X, D.y, sample_weight=weights)
    assert_allclose(model.predict_proba(X), alone.predict_proba(X))
    for kind in TRANSFORMERS:
        with pytest.raises(InputError, match="sensitive is not given"):
            MitigatedClassifier(kind(privileged="a"), XGBClassifier()).fit(X, D.y, sensitive_features=s)


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_scikit_learn_s(kind):
    baseline = make(kind)
    copy = clone(baseline)
    assert copy.get_params() == baseline.get_params()
    assert copy.set_params(privileged="b").privileged == "b"
    assert repr(baseline).startswith(kind.__name__ + "(")
    model = MitigatedClassifier(baseline, LogisticRegression(C=3))
    assert model.get_params()["estimator__C"] == 3
    assert model.get_params()["method__privileged"] == "a"
    model.fit(D.X, D.y)
    assert not [name for name in vars(baseline) if name.endswith("_")]


def test_parameters_are_searched():
    model = MitigatedClassifier(CorrelationRemover(**WHO), XGBClassifier(**QUICK))
    grid = {"method__alpha": [0.0, 1.0], "estimator__max_depth": [2, 3]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(SHIFTED, D.y)
    assert set(search.best_params_) == set(grid)
    assert (cross_validate(model, SHIFTED, D.y, cv=3, error_score="raise")["test_score"] > 0.5).all()


@pytest.mark.parametrize("kind", TRANSFORMERS)
def test_a_transformer_stands_in_a_pipeline(kind):
    pipeline = make_pipeline(make(kind), ColumnEncoder(), LogisticRegression()).fit(SHIFTED, D.y)
    model = MitigatedClassifier(make(kind), make_pipeline(ColumnEncoder(), LogisticRegression()))
    assert_allclose(pipeline.predict_proba(SHIFTED), model.fit(SHIFTED, D.y).predict_proba(SHIFTED))


@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_sampler_stands_in_a_pipeline_and_edits_no_rows_that_are_predicted(kind):
    pipeline = make_sampling_pipeline(make(kind), ColumnEncoder(), XGBClassifier(**QUICK)).fit(D.X, D.y)
    sampled, y = make(kind).fit_resample(D.X, D.y)
    encoder = ColumnEncoder().fit(sampled)
    alone = XGBClassifier(**QUICK).fit(encoder.transform(sampled), y)
    assert_allclose(pipeline.predict_proba(D.X), alone.predict_proba(encoder.transform(D.X)))


def test_metadata_is_routed():
    X, s = SHIFTED.drop(columns="group"), D.X["group"]
    with sklearn.config_context(enable_metadata_routing=True):
        model = MitigatedClassifier(Reweigher(privileged="a"), LogisticRegression())
        model.set_fit_request(sensitive_features=True, sample_weight=False)
        model.set_score_request(sample_weight=False)
        scores = cross_validate(model, X, D.y, cv=2, params={"sensitive_features": s}, error_score="raise")
        assert (scores["test_score"] > 0.5).all()
        piped = MitigatedClassifier(Reweigher(**WHO), make_pipeline(ColumnEncoder(), LogisticRegression()))
        piped.fit(D.X, D.y)


def test_methods_are_those_of_the_estimator():
    assert hasattr(MitigatedClassifier(None, XGBClassifier()), "predict_proba")
    assert not hasattr(MitigatedClassifier(None, XGBClassifier()), "decision_function")
    margin = MitigatedClassifier(SensitiveRemover(**WHO), LinearSVC(random_state=0)).fit(D.X, D.y)
    assert not hasattr(margin, "predict_proba")
    assert margin.decision_function(D.X).shape == (300,)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True)])
def test_labels_come_back_as_they_were_given(labels):
    y = np.array(labels)[D.y]
    for kind in (CounterfactualAugmenter, Reweigher, SensitiveRemover):
        model = MitigatedClassifier(make(kind), XGBClassifier(**QUICK)).fit(D.X, y)
        assert model.classes_.tolist() == sorted(labels)
        assert set(model.predict(D.X).tolist()) == set(labels)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"sensitive": "gruop"}, ColumnError, r"is not a column of X.* Did you mean 'group'\?"),
        ({"privileged": "A"}, GroupError, r"'A' does not occur in 'group'.* Did you mean 'a'\?"),
        ({"sensitive": None}, InputError, "sensitive is not given"),
        ({"privileged": None}, GroupError, "privileged is not given"),
    ],
)
def test_bad_parameters_are_refused_alike(kind, change, error, message):
    with pytest.raises(error, match=message):
        make(kind, **change).fit(D.X, D.y)


@pytest.mark.parametrize("kind", [*SAMPLERS, Reweigher])
@pytest.mark.parametrize(
    ("y", "message"),
    [(D.y[:-1], "X has 300 rows, y has 299"), (np.zeros(300), "one class only"), (None, "requires y")],
)
def test_bad_targets_are_refused_alike(kind, y, message):
    with pytest.raises(TargetError, match=message):
        make(kind).fit(D.X, y)


def test_a_baseline_must_be_fitted_before_it_is_used():
    for kind in TRANSFORMERS:
        with pytest.raises(NotFittedError):
            make(kind).transform(D.X)
    with pytest.raises(NotFittedError):
        MitigatedClassifier(None, LogisticRegression()).predict(D.X)


@pytest.mark.parametrize("kind", ALL)
def test_nothing_that_was_given_is_changed(kind):
    X, y, weights = SHIFTED.copy(), D.y.copy(), np.linspace(1, 2, 300)
    model = MitigatedClassifier(make(kind), HistGradientBoostingClassifier(max_iter=3, random_state=0))
    model.fit(X, y, sample_weight=weights).predict(X)
    pd.testing.assert_frame_equal(X, SHIFTED)
    pd.testing.assert_series_equal(y, D.y)
    assert_array_equal(weights, np.linspace(1, 2, 300))
