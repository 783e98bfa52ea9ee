"""More than two classes, and quantities, through the estimators."""

import numpy as np
import pandas as pd
import pytest
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from xgboost import XGBClassifier, XGBRegressor

from fairshap import ColumnEncoder, FairSHAP, FairSHAPClassifier, FairSHAPRegressor, NearestMatcher, metrics
from fairshap.exceptions import (
    InputError,
    MarginWarning,
    ModelError,
    NothingToRepairWarning,
    TargetError,
)
from tests.conftest import to_library, to_pandas

# A few hundred rows leave some quantile bins with one row of a group.
pytestmark = pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")

WHO = {"sensitive": "sex", "privileged": "m"}
QUICK = {"n_estimators": 15, "max_depth": 3, "n_jobs": 1, "random_state": 0}


def people(n=300):
    """Pay that depends on a post that one sex has far more often, twice as much for that sex."""
    rng = np.random.default_rng(0)
    sex = np.where(np.arange(n) % 2, "m", "f")
    post = np.where(rng.random(n) < np.where(sex == "m", 0.8, 0.3), "head", "staff")
    age = rng.integers(20, 60, n).astype(float)
    age[rng.random(n) < 0.05] = np.nan
    pay = 1000 + 200 * (post == "head") * (1 + (sex == "m")) + 5 * np.nan_to_num(age, nan=40)
    X = pd.DataFrame({"sex": sex, "post": post, "age": age, "noise": rng.normal(size=n)})
    return X, pd.Series(pay + 150 * rng.normal(size=n), name="pay")


X, PAY = people()
RANK = pd.Series(np.array(["low", "middle", "high"])[np.digitize(PAY, [1250, 1450])])


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        XGBRegressor(**QUICK),
        make_pipeline(ColumnEncoder(), HistGradientBoostingRegressor(random_state=0)),
        GridSearchCV(XGBRegressor(enable_categorical=True, **QUICK), {"max_depth": [2]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_regressor_repairs_a_raw_table(estimator):
    fs = FairSHAP(estimator, random_state=0, **WHO)
    X_fair, y = fs.fit_resample(X, PAY)
    assert is_regressor(fs.model_)
    assert (y == PAY).all()
    assert X_fair.dtypes.equals(X.dtypes)
    assert fs.threshold_ == 0.05 * np.std(PAY)
    frame = fs.edits_.frame()
    assert (frame["phi"] >= fs.threshold_ * (1 - 1e-9)).all()
    assert set(frame["column"]) >= {"post"}
    assert (X_fair["sex"] == X["sex"]).all()
    assert_references_are_of_the_same_bin(fs)


def assert_references_are_of_the_same_bin(fs):
    bins = pd.qcut(PAY, 10, labels=False)
    assert len(fs.explanation_.match_plan) > 250
    assert (
        bins[fs.explanation_.match_plan.row].to_numpy()
        == bins[fs.explanation_.match_plan.reference].to_numpy()
    ).all()


@pytest.mark.parametrize(
    "estimator",
    [None, XGBClassifier(**QUICK), LogisticRegression(max_iter=5000)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_several_classes_are_repaired(estimator):
    table = X.fillna({"age": 40.0})
    fs = FairSHAP(estimator, random_state=0, **WHO)
    fs.fit(table, RANK)
    assert fs.model_.classes_.tolist() == ["high", "low", "middle"]
    assert fs.threshold_ == 0.05
    assert len(fs.edits_) > 0
    labels = RANK.to_numpy()
    assert (labels[fs.explanation_.match_plan.row] == labels[fs.explanation_.match_plan.reference]).all()
    assert np.nanmax(fs.explanation_.risk) <= 1


def test_the_regressor_explains_repairs_and_retrains():
    reg = FairSHAPRegressor(FairSHAP(random_state=0, **WHO)).fit(X, PAY)
    assert isinstance(reg.repair_.model_, Pipeline)
    assert isinstance(reg.repair_.model_[-1], HistGradientBoostingRegressor)
    assert not hasattr(reg, "classes_")
    assert not hasattr(reg, "predict_proba")
    assert reg.score(X, PAY) > 0.5
    before = metrics.discriminative_risk(reg.repair_.model_, X, **WHO)
    after = metrics.discriminative_risk(reg, X, **WHO)
    assert after < 0.9 * before
    again = clone(reg).fit(X, PAY)
    assert again.predict(X).tolist() == reg.predict(X).tolist()


def test_the_classifier_predicts_any_number_of_labels():
    clf = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **WHO, random_state=0)).fit(X, RANK)
    assert clf.classes_.tolist() == ["high", "low", "middle"]
    assert clf.predict_proba(X).shape == (300, 3)
    assert clf.score(X, RANK) > 0.7
    assert get_tags(clf).classifier_tags.multi_class


def test_a_target_of_whole_numbers_is_a_quantity_to_a_regressor():
    y = PAY.round().astype(int)
    whole = FairSHAPRegressor(FairSHAP(random_state=0, **WHO)).fit(X, y)
    assert whole.predict(X).shape == (300,)
    with pytest.raises(TargetError, match="labels or a quantity"):
        FairSHAP(**WHO).fit(X, y)
    fs = FairSHAP(random_state=0, **WHO, matcher=NearestMatcher(bins=10)).fit(X, y)
    assert is_regressor(fs.model_)
    assert fs.edits_.frame().equals(whole.repair_.edits_.frame())


def test_fewer_bins_have_more_to_choose_from():
    distances = [
        FairSHAP(XGBRegressor(**QUICK), **WHO, random_state=0, matcher=NearestMatcher(bins=bins))
        .fit(X, PAY)
        .explanation_.match_plan.distance.mean()
        for bins in (2, 5, 10)
    ]
    assert distances == sorted(distances)


def test_labels_that_are_numbers_can_be_matched_by_bins():
    y = np.digitize(PAY, np.quantile(PAY, np.linspace(0, 1, 21)[1:-1]))
    clf = FairSHAPClassifier(
        FairSHAP(GaussianNB(), **WHO, random_state=0, matcher=NearestMatcher(bins=4))
    ).fit(X.drop(columns="age"), y)
    assert len(clf.classes_) == 20
    plan = clf.repair_.explanation_.match_plan
    assert (y[plan.row] // 5 == y[plan.reference] // 5).all()
    assert (y[plan.row] != y[plan.reference]).any()


def test_a_fitted_regressor_is_explained_unchanged():
    model = make_pipeline(ColumnEncoder(), HistGradientBoostingRegressor(random_state=0)).fit(X, PAY)
    reg = FairSHAPRegressor(FairSHAP(FrozenEstimator(model), **WHO, random_state=0)).fit(X, PAY)
    assert reg.repair_.model_.estimator is model
    assert len(reg.repair_.edits_) > 0
    assert reg.estimator_ is not model


@pytest.mark.parametrize("target", ["quantity", "classes"])
def test_an_attribute_beside_the_table_and_weights_work(target, library):
    y = PAY if target == "quantity" else RANK
    table = to_library(X.drop(columns="sex"), library)
    kind = FairSHAPRegressor if target == "quantity" else FairSHAPClassifier
    repair = FairSHAP(privileged="m", random_state=0)
    model = kind(repair).fit(table, y, sensitive_features=X["sex"], sample_weight=np.arange(300) % 3 + 1)
    assert len(model.repair_.edits_) > 0
    assert model.n_features_in_ == 3
    unweighted = kind(repair).fit(table, y, sensitive_features=X["sex"])
    assert (model.repair_.explanation_.risk != unweighted.repair_.explanation_.risk).any()
    assert len(model.predict(table)) == 300


def test_metadata_is_routed_to_a_regressor():
    with config_context(enable_metadata_routing=True):
        reg = FairSHAPRegressor(
            FairSHAP(random_state=0, **WHO, matcher=NearestMatcher(bins=5))
        ).set_fit_request(sample_weight=True)
        reg.set_score_request(sample_weight=True)
        scores = cross_val_score(reg, X, PAY, params={"sample_weight": np.ones(300)}, cv=3)
        asked = HistGradientBoostingRegressor(random_state=0).set_fit_request(sample_weight=True)
        FairSHAP(asked, **WHO, random_state=0).fit(X.drop(columns="post"), PAY, sample_weight=np.ones(300))
    assert scores.min() > 0.3


def test_every_library_gives_the_same_repair_of_a_quantity(library):
    expected, _ = FairSHAP(random_state=0, **WHO).fit_resample(X, PAY)
    found, _ = FairSHAP(random_state=0, **WHO).fit_resample(to_library(X, library), PAY)
    pd.testing.assert_frame_equal(
        to_pandas(found).astype({"sex": str, "post": str}), expected.astype({"sex": str, "post": str})
    )


def test_in_a_pipeline_and_a_search_a_regressor_is_like_any_other():
    pipe = make_sampling_pipeline(
        FairSHAP(XGBRegressor(**QUICK), **WHO, random_state=0, matcher=NearestMatcher(bins=5)),
        ColumnEncoder(),
        HistGradientBoostingRegressor(random_state=0),
    )
    assert cross_val_score(pipe, X, PAY, cv=3).min() > 0.3
    search = GridSearchCV(
        FairSHAPRegressor(FairSHAP(XGBRegressor(**QUICK), **WHO, matcher=NearestMatcher(), random_state=0)),
        {"repair__threshold": [20.0, None], "repair__matcher__bins": [5]},
        cv=2,
    )
    assert search.fit(X, PAY).best_score_ > 0.3


def test_the_risk_of_a_linear_regressor_cannot_be_lowered():
    table = X.fillna({"age": 40.0})
    with pytest.warns(NothingToRepairWarning, match=r"whatever the other columns hold.*no edit can lower it"):
        FairSHAPRegressor(FairSHAP(Ridge(), **WHO, random_state=0)).fit(table, PAY)


def test_a_regressor_that_never_asks_has_nothing_to_repair():
    with pytest.warns(NothingToRepairWarning, match="never uses column 'sex'"):
        FairSHAP(XGBRegressor(n_estimators=1, max_depth=1), **WHO, random_state=0).fit(X, X["noise"] + 0.5)


def test_an_unreachable_threshold_is_said_in_units_of_the_prediction():
    with pytest.warns(NothingToRepairWarning, match=r"reaches threshold=10000; the largest is \d"):
        FairSHAP(XGBRegressor(**QUICK), threshold=1e4, **WHO, random_state=0).fit(X, PAY)


def test_the_default_threshold_goes_with_the_unit():
    fits = [
        FairSHAP(HistGradientBoostingRegressor(random_state=0), **WHO, random_state=0).fit(
            X, unit * (PAY + shift)
        )
        for unit, shift in ((1.0, 0.0), (1024.0, 0.0), (1.0, -1500.0))
    ]
    frames = [fs.edits_.frame().drop(columns="phi") for fs in fits]
    assert frames[0].equals(frames[1])
    assert fits[1].threshold_ == pytest.approx(1024 * fits[0].threshold_)
    assert len(frames[0]) > 0
    # A shift moves the rounding, and so perhaps a cell at the very threshold.
    assert abs(len(frames[2]) - len(frames[0])) <= 2


@pytest.mark.parametrize(
    ("make", "y", "error", "message"),
    [
        (lambda: FairSHAP(LogisticRegression(), **WHO), PAY, TargetError, "Unknown label type: continuous"),
        (lambda: FairSHAPClassifier(FairSHAP(**WHO)), PAY, TargetError, "Unknown label type: continuous"),
        (lambda: FairSHAP(Ridge(), **WHO), RANK, TargetError, "y holds text, such as"),
        (lambda: FairSHAPRegressor(FairSHAP(**WHO)), RANK, TargetError, "y holds text, such as"),
        (lambda: FairSHAPRegressor(FairSHAP(**WHO)), PAY * 0 + 1, TargetError, "one value only, 1"),
        (lambda: FairSHAPRegressor(FairSHAP(**WHO)), PAY.where(PAY > 1200), TargetError, "missing values"),
        (lambda: FairSHAPRegressor(FairSHAP(**WHO)), PAY.where(PAY > 1200, np.inf), TargetError, "infinite"),
        (lambda: FairSHAPRegressor(FairSHAP(**WHO)), np.zeros((300, 2)), TargetError, "1d array"),
        (lambda: FairSHAP(**WHO, matcher=NearestMatcher(bins=1)), PAY, InputError, "bins=1 must be a whole"),
        (
            lambda: FairSHAP(**WHO, matcher=NearestMatcher(bins="a")),
            PAY,
            InputError,
            "bins='a' must be a whole number",
        ),
        (
            lambda: FairSHAP(**WHO, matcher=NearestMatcher(bins=301)),
            PAY,
            InputError,
            "bins=301 are more than the 300 rows",
        ),
        (lambda: FairSHAP(**WHO, matcher=NearestMatcher(bins=3)), RANK, TargetError, "y holds text"),
        (
            lambda: FairSHAP(LogisticRegression(), **WHO, matcher=NearestMatcher(bins=3)),
            RANK,
            TargetError,
            "y holds text",
        ),
        (
            lambda: FairSHAPRegressor(FairSHAP(GaussianNB(), **WHO)),
            PAY,
            ModelError,
            "GaussianNB is not a regressor",
        ),
        (lambda: FairSHAPClassifier(FairSHAP(Ridge(), **WHO)), RANK, ModelError, "Ridge is a regressor"),
        (lambda: FairSHAP(threshold=-1, **WHO), PAY, InputError, "threshold=-1"),
    ],
)
def test_what_does_not_go_together_is_refused(make, y, error, message):
    with pytest.raises(error, match=message):
        make().fit(X, y)


def test_margins_of_more_than_two_classes_are_refused():
    with (
        pytest.warns(MarginWarning),
        pytest.raises(ModelError, match=r"For more classes probabilities are needed.*CalibratedClassifierCV"),
    ):
        FairSHAP(LinearSVC(random_state=0), **WHO, random_state=0).fit(X.drop(columns="age"), RANK)


def test_weights_for_a_regressor_that_takes_none_are_refused():
    with pytest.raises(ModelError, match="KNeighborsRegressor takes no sample_weight"):
        FairSHAPRegressor(FairSHAP(KNeighborsRegressor(), **WHO)).fit(X, PAY, sample_weight=np.ones(300))


def test_tags_are_those_of_the_estimator():
    assert get_tags(FairSHAPRegressor()).estimator_type == "regressor"
    assert get_tags(FairSHAPRegressor()).input_tags.allow_nan
    assert not get_tags(FairSHAPRegressor(FairSHAP(LinearRegression()))).input_tags.allow_nan
    assert get_tags(
        FairSHAPClassifier(FairSHAP(HistGradientBoostingClassifier()))
    ).classifier_tags.multi_class
