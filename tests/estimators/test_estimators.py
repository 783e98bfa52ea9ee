import numpy as np
import pandas as pd
import pytest
import sklearn
from imblearn.pipeline import Pipeline as SamplingPipeline
from imblearn.pipeline import make_pipeline as make_sampling_pipeline
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from xgboost import XGBClassifier

import fairshap
from fairshap import Budget, EditConstraints, Explainer, FairSHAP, FairSHAPClassifier, datasets
from fairshap.exceptions import (
    ColumnError,
    GroupError,
    InputError,
    MarginWarning,
    ModelError,
    NothingToRepairWarning,
    OrderWarning,
    TargetError,
    UnmatchedRowsWarning,
)
from tests.conftest import to_library, to_pandas

D = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": "group", "privileged": "a"}
SETTING = {**WHO, "random_state": 0}
QUICK = {"n_estimators": 8, "max_depth": 3}


def own_pipeline(classifier):
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=["object", "string"])),
        remainder=StandardScaler(),
    )
    return make_pipeline(encoder, classifier)


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        XGBClassifier(**QUICK),
        LGBMClassifier(n_estimators=8, verbose=-1),
        RandomForestClassifier(n_estimators=8, random_state=0),
        LogisticRegression(),
        own_pipeline(LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_repairs_a_raw_table(estimator):
    fs = FairSHAP(estimator, **SETTING)
    X, y = fs.fit_resample(D.X, D.y)
    assert len(fs.edits_) > 0
    pd.testing.assert_series_equal(y, D.y)
    pd.testing.assert_index_equal(X.index, D.X.index)
    pd.testing.assert_index_equal(X.columns, D.X.columns)
    assert X.dtypes.tolist() == D.X.dtypes.tolist()
    changed = (X != D.X).to_numpy()
    assert changed.sum() == len(fs.edits_)
    assert_array_equal(np.argwhere(changed)[:, 0], fs.edits_.row)
    assert (X["group"] == D.X["group"]).all()
    for row, column, new, reference in zip(
        fs.edits_.row, fs.edits_.column, fs.edits_.new, fs.edits_.reference, strict=True
    ):
        assert X[column].iloc[row] == new == D.X[column].iloc[reference]


def test_a_vector_machine_repairs_in_units_of_its_margin():
    with pytest.warns(MarginWarning):
        fs = FairSHAP(SVC(random_state=0), **SETTING, threshold=0.2).fit(D.X, D.y)
    assert len(fs.edits_) > 0
    assert (fs.edits_.phi >= 0.2 - 1e-9).all()


def test_the_steps_alone_are_the_sampler():
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    repaired, _ = fs.fit_resample(D.X, D.y)
    plan = fairshap.match(D.X, D.y, **WHO)
    assert_array_equal(plan.reference, fs.explanation_.match_plan.reference)
    explanation = fairshap.explain(fs.model_, D.X, plan, **SETTING)
    assert_array_equal(explanation.values, fs.explanation_.values)
    edits = fairshap.select_edits(explanation, threshold=0.05)
    pd.testing.assert_frame_equal(edits.apply(D.X), repaired)
    pd.testing.assert_frame_equal(fs.edits_.frame(), edits.frame())


def test_every_library_gives_the_same_repair_in_its_own_frame(library):
    X = to_library(D.X, library)
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    repaired, _ = fs.fit_resample(X, D.y.to_numpy())
    expected, _ = FairSHAP(XGBClassifier(**QUICK), **SETTING).fit_resample(D.X, D.y)
    assert type(repaired) is type(X)
    if library != "pandas":
        assert repaired.schema == X.schema
    assert to_pandas(repaired).equals(to_pandas(to_library(expected, library)))
    classifier = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING)).fit(X, D.y.to_numpy())
    on_pandas = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING)).fit(D.X, D.y)
    assert_allclose(classifier.predict_proba(X), on_pandas.predict_proba(D.X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_encoded_array_comes_back_as_an_array(dtype):
    X = pd.get_dummies(D.X[["district", "colour"]]).assign(
        group=(D.X["group"] == "a"), skill=D.X["skill"], commute=D.X["commute"]
    )
    array = X.to_numpy(dtype)
    together = {"district": [0, 1], "colour": [2, 3, 4]}
    fs = FairSHAP(
        XGBClassifier(**QUICK),
        sensitive=5,
        privileged=1,
        random_state=0,
        explainer=Explainer(feature_groups=together),
    )
    repaired, _ = fs.fit_resample(array, D.y)
    assert type(repaired) is np.ndarray
    assert repaired.dtype == dtype
    assert fs.explanation_.feature_names == ("district", "colour", 5, 6, 7)
    assert len(fs.edits_) > 0
    for block in together.values():
        assert (repaired[:, block].sum(axis=1) == 1).all()
    alone = FairSHAP(XGBClassifier(**QUICK), sensitive=5, privileged=1, random_state=0)
    alone.fit(array, D.y)
    assert alone.explanation_.values.shape == array.shape


def test_the_index_may_be_anything_and_repeat():
    X = D.X.set_index(pd.Index(["same"] * len(D.X), name="who"))
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    repaired, _ = fs.fit_resample(X, D.y.to_numpy())
    expected, _ = FairSHAP(XGBClassifier(**QUICK), **SETTING).fit_resample(D.X, D.y)
    assert repaired.index.equals(X.index)
    pd.testing.assert_frame_equal(repaired.reset_index(drop=True), expected)
    assert set(fs.edits_.index) == {"same"}


def test_the_classifier_explains_repairs_and_retrains():
    repair = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    classifier = FairSHAPClassifier(repair, **PLAIN).fit(D.X, D.y)
    repaired = classifier.repair_.edits_.apply(D.X)
    assert len(classifier.repair_.edits_) > 0
    by_hand = fairshap.ColumnEncoder().fit(repaired)
    retrained = XGBClassifier(**QUICK).fit(by_hand.transform(repaired), D.y)
    assert_allclose(classifier.predict_proba(D.X), retrained.predict_proba(by_hand.transform(D.X)))
    assert classifier.score(D.X, D.y) > 0.6
    assert len(classifier.repair_.counterfactual_of_) == 0
    assert classifier.repair_.sample_weight_ is None


def test_another_model_can_be_retrained_than_the_one_that_is_explained():
    repair = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    classifier = FairSHAPClassifier(repair, LogisticRegression(), weights=None).fit(D.X, D.y)
    pd.testing.assert_frame_equal(classifier.repair_.edits_.frame(), repair.fit(D.X, D.y).edits_.frame())
    assert isinstance(classifier.repair_.model_[-1], XGBClassifier)
    assert isinstance(classifier.estimator_[-1], LogisticRegression)
    # The estimator is what is explained, too, if the repair names none.
    alone = FairSHAPClassifier(FairSHAP(**SETTING), XGBClassifier(**QUICK), weights=None).fit(D.X, D.y)
    pd.testing.assert_frame_equal(alone.repair_.edits_.frame(), repair.edits_.frame())
    assert isinstance(alone.estimator_[-1], XGBClassifier)


def test_a_repair_that_is_none_is_refused():
    for wrong in ("threshold", XGBClassifier()):
        with pytest.raises(InputError, match=r"is not a FairSHAP; give for example repair=FairSHAP\(sensi"):
            FairSHAPClassifier(wrong).fit(D.X, D.y)


@pytest.mark.parametrize("labels", [("no", "yes"), (False, True), (-1, 1), (3, 7)])
def test_labels_come_back_as_they_were_given(labels):
    y = np.array(labels)[D.y]
    classifier = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING)).fit(D.X, y)
    assert classifier.classes_.tolist() == sorted(labels)
    assert set(classifier.repair_.model_.predict(D.X).tolist()) == set(labels)
    plain = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING)).fit(D.X, D.y)
    assert_array_equal(classifier.predict(D.X), np.array(labels)[plain.predict(D.X)])
    assert len(classifier.repair_.edits_) == len(plain.repair_.edits_)


def test_an_attribute_beside_the_table_is_seen_by_the_explained_model_only(library):
    X, s = to_library(D.X.drop(columns="group"), library), D.X["group"].tolist()
    fs = FairSHAP(XGBClassifier(**QUICK), privileged="a", random_state=0)
    repaired, _ = fs.fit_resample(X, D.y, sensitive_features=s)
    assert list(to_pandas(repaired).columns) == ["district", "skill", "colour", "commute"]
    assert fs.explanation_.feature_names == ("district", "skill", "colour", "commute")
    assert len(fs.edits_) > 0
    assert fs.model_.n_features_in_ == 5
    inside = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    inside.fit(D.X[["district", "skill", "colour", "commute", "group"]], D.y)
    assert_array_equal(fs.edits_.row, inside.edits_.row)
    classifier = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), privileged="a", random_state=0))
    classifier.fit(X, D.y, sensitive_features=s)
    assert classifier.estimator_.n_features_in_ == classifier.n_features_in_ == 4
    assert classifier.predict(X).shape == (300,)


def test_an_attribute_beside_an_array():
    X = D.X[["skill", "commute"]].assign(north=D.X["district"] == "north").to_numpy(float)
    fs = FairSHAP(XGBClassifier(**QUICK), privileged="a", random_state=0)
    repaired, _ = fs.fit_resample(X, D.y, sensitive_features=D.X["group"])
    assert repaired.shape == X.shape
    assert len(fs.edits_) > 0


def test_a_quantity_such_as_age_can_be_sensitive():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 70, 300), "debt": rng.normal(size=300).round(1)})
    y = ((X["age"] > 40) & (X["debt"] < 0.5)).astype(int).where(rng.random(300) < 0.9, 1)
    fs = FairSHAP(XGBClassifier(**QUICK), sensitive="age", privileged=pd.Interval(40, 100), random_state=0)
    repaired, _ = fs.fit_resample(X, y)
    assert len(fs.edits_) > 0
    assert (repaired["age"] == X["age"]).all()


def test_a_fitted_model_is_explained_unchanged():
    model = XGBClassifier(**QUICK).fit(fairshap.ColumnEncoder().fit_transform(D.X), D.y)
    pipeline = make_pipeline(fairshap.ColumnEncoder(), XGBClassifier(**QUICK)).fit(D.X, D.y)
    fs = FairSHAP(FrozenEstimator(pipeline), **SETTING)
    repaired, _ = fs.fit_resample(D.X, D.y)
    expected, _ = FairSHAP(XGBClassifier(**QUICK), **SETTING).fit_resample(D.X, D.y)
    pd.testing.assert_frame_equal(repaired, expected)
    assert fs.model_.estimator is pipeline
    classifier = FairSHAPClassifier(FairSHAP(FrozenEstimator(pipeline), **SETTING)).fit(D.X, D.y)
    assert classifier.estimator_ is not pipeline
    assert classifier.repair_.model_.estimator is pipeline
    beside = FairSHAP(FrozenEstimator(model), privileged=1, random_state=0)
    with pytest.raises(ModelError, match="never sees the sensitive attribute, and its risk is 0"):
        beside.fit(
            np.zeros((300, model.n_features_in_)), D.y, sensitive_features=(D.X["group"] == "a").astype(int)
        )


def test_in_a_pipeline_rows_are_edited_at_fit_and_never_at_predict():
    sampler = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    pipeline = make_sampling_pipeline(sampler, fairshap.ColumnEncoder(), XGBClassifier(**QUICK))
    pipeline.fit(D.X, D.y)
    # Repaired only: a pipeline neither weights the rows nor drops the column.
    repair = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    classifier = FairSHAPClassifier(repair, weights=None, drop_sensitive=False).fit(D.X, D.y)
    assert_allclose(pipeline.predict_proba(D.X), classifier.predict_proba(D.X))
    assert isinstance(pipeline, SamplingPipeline)


def test_parameters_are_searched_and_validated_like_any_other():
    classifier = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING))
    grid = {"repair__threshold": [0.02, 0.05], "repair__estimator__max_depth": [2, 3]}
    search = GridSearchCV(classifier, grid, cv=2).fit(D.X, D.y)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.repair_.threshold_ == search.best_params_["repair__threshold"]
    scores = cross_validate(classifier, D.X, D.y, cv=3, error_score="raise")["test_score"]
    assert (scores > 0.5).all()
    copy = clone(classifier)
    assert copy.get_params()["repair__sensitive"] == "group"
    assert repr(classifier).startswith("FairSHAPClassifier(repair=FairSHAP(estimator=XGBClassifier(")


def test_the_same_seed_gives_the_same_bytes():
    options = {**WHO, "explainer": Explainer("permutation", n_permutations=4), "random_state": 3}
    runs = [FairSHAP(XGBClassifier(**QUICK), **options).fit(D.X, D.y) for _ in range(2)]
    assert runs[0].explanation_.values.tobytes() == runs[1].explanation_.values.tobytes()
    assert (runs[0].explanation_.status == "estimated").any()
    other = FairSHAP(XGBClassifier(**QUICK), **{**options, "random_state": 4}).fit(D.X, D.y)
    assert (other.explanation_.values != runs[0].explanation_.values).any()


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the weights that each fit was given."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Recorder.seen.append(sample_weight)
        self.inner_ = XGBClassifier(**QUICK).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


#: Retraining on the repaired table and nothing else.
PLAIN = {"weights": None, "drop_sensitive": False}
#: A table that an estimator takes as it is.
NUMBERS = D.X.assign(group=D.X["group"] == "a", district=D.X["district"] == "north").drop(columns="colour")
NUMBERS_SETTING = {"sensitive": "group", "privileged": True, "random_state": 0}


def test_weights_reach_both_fits():
    weights = np.linspace(0.1, 2, 300)
    Recorder.seen.clear()
    FairSHAPClassifier(FairSHAP(Recorder(), **NUMBERS_SETTING), **PLAIN).fit(
        NUMBERS, D.y, sample_weight=weights
    )
    assert len(Recorder.seen) == 2
    for seen in Recorder.seen:
        assert_array_equal(seen, weights)
    almost_none = np.where(D.y, 1, 1e-6)
    with pytest.warns(NothingToRepairWarning):
        light = FairSHAPClassifier(FairSHAP(Recorder(), **NUMBERS_SETTING), **PLAIN).fit(
            NUMBERS, D.y, sample_weight=almost_none
        )
    assert (light.predict(NUMBERS) == 1).all()


def test_one_weight_is_the_weight_of_every_row():
    Recorder.seen.clear()
    FairSHAPClassifier(FairSHAP(Recorder(), **NUMBERS_SETTING), **PLAIN).fit(NUMBERS, D.y, sample_weight=2.0)
    assert len(Recorder.seen) == 2
    for seen in Recorder.seen:
        assert_array_equal(seen, np.full(300, 2.0))


def test_weights_reach_a_search_inside():
    weights = np.linspace(0.1, 2, 300)
    Recorder.seen.clear()
    search = GridSearchCV(Recorder(), {}, cv=KFold(2))
    FairSHAPClassifier(FairSHAP(search, **NUMBERS_SETTING), **PLAIN).fit(NUMBERS, D.y, sample_weight=weights)
    # Explained and retrained: the search fits on the rows of either half, then on all of them. Before that, a
    # trial on a few rows finds out that it takes weights.
    fits = [seen for seen in Recorder.seen if len(seen) >= 150]
    for seen, expected in zip(fits, 2 * [weights[150:], weights[:150], weights], strict=True):
        assert_array_equal(seen, expected)


def test_weights_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match=r"sample_weight has shape \(3,\)"):
        FairSHAP(**SETTING).fit(D.X, D.y, sample_weight=[1, 2, 3])
    with pytest.raises(InputError, match="sample_weight holds nan in row 0"):
        FairSHAP(**SETTING).fit(D.X, D.y, sample_weight=np.full(300, np.nan))
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(ModelError, match="KNeighborsClassifier"):
        FairSHAP(KNeighborsClassifier(), **SETTING).fit(D.X, D.y, sample_weight=np.ones(300))


def test_metadata_is_routed():
    X, s = D.X.drop(columns="group"), D.X["group"]
    weights = np.linspace(0.1, 2, 300)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=True)
        encoded = Pipeline([("encode", fairshap.ColumnEncoder()), ("model", inner)])
        classifier = (
            FairSHAPClassifier(FairSHAP(encoded, privileged="a", random_state=0), weights=None)
            .set_fit_request(sensitive_features=True, sample_weight=True)
            .set_score_request(sample_weight=False)
        )
        Recorder.seen.clear()
        scores = cross_validate(
            classifier,
            X,
            D.y,
            cv=2,
            params={"sensitive_features": s, "sample_weight": weights},
            error_score="raise",
        )
        assert (scores["test_score"] > 0.5).all()
        assert [len(seen) for seen in Recorder.seen] == [150] * 4
        sampler = FairSHAP(privileged="a", random_state=0).set_fit_resample_request(
            sensitive_features=True, sample_weight=True
        )
        final = XGBClassifier(**QUICK).set_fit_request(sample_weight=False)
        pipeline = make_sampling_pipeline(sampler, fairshap.ColumnEncoder(), final)
        pipeline.fit(X, D.y, sensitive_features=s, sample_weight=weights)
        assert pipeline.predict(X).shape == (300,)


def test_a_model_that_never_uses_the_attribute_leaves_nothing_to_repair():
    encoder = make_column_transformer((OneHotEncoder(), ["district"]), remainder="drop")
    fs = FairSHAP(make_pipeline(encoder, LogisticRegression()), **SETTING)
    with pytest.warns(NothingToRepairWarning, match="the explained model never uses column 'group'"):
        repaired, _ = fs.fit_resample(D.X, D.y)
    pd.testing.assert_frame_equal(repaired, D.X)
    assert len(fs.edits_) == 0


def test_a_threshold_out_of_reach_is_said():
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING, threshold=5)
    with pytest.warns(
        NothingToRepairWarning, match=r"no Shapley value reaches threshold=5; the largest is 0\."
    ):
        fs.fit(D.X, D.y)


def test_a_linear_margin_that_no_edit_can_lower_is_said():
    with (
        pytest.warns(MarginWarning, match="LinearSVC has no predict_proba"),
        pytest.warns(NothingToRepairWarning, match="whatever the other columns hold"),
    ):
        FairSHAP(LinearSVC(random_state=0), **SETTING).fit(D.X, D.y)


def test_missing_numbers_for_a_model_that_takes_none_are_explained():
    X = D.X.astype({"skill": "float64"})
    X.loc[0, "skill"] = np.nan
    with pytest.raises(ValueError, match="contains NaN") as caught:
        FairSHAP(LogisticRegression(), **SETTING).fit(X, D.y)
    assert "put an imputer before it in a Pipeline" in caught.value.__notes__[-1]


def test_labels_in_another_order_are_pointed_at():
    with pytest.warns(OrderWarning, match="y has the index labels of X in another order"):
        FairSHAP(XGBClassifier(**QUICK), **SETTING).fit(D.X, D.y[::-1])


def test_rows_without_a_reference_stay_as_they_are():
    X = D.X.copy()
    X.loc[:9, "group"] = None
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    with pytest.warns(UnmatchedRowsWarning, match="10 of 300 rows .* 10 rows have no value of 'group'"):
        repaired, _ = fs.fit_resample(X, D.y)
    assert fs.edits_.row.min() >= 10
    assert repaired["group"].isna().sum() == 10
    assert (fs.explanation_.status[:10] == "unmatched").all()


def test_a_label_that_one_group_never_has_leaves_those_rows():
    y = D.y.where(D.X["group"] == "a", 0)
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    with pytest.warns(UnmatchedRowsWarning, match="the label 1, which the other group never has"):
        fs.fit(D.X, y)
    assert (y.iloc[fs.edits_.row] == 0).all()


def test_when_no_row_has_a_reference_that_is_said():
    y = (D.X["group"] == "a").astype(int)
    with (
        pytest.warns(UnmatchedRowsWarning),
        pytest.warns(NothingToRepairWarning, match="no row has a reference"),
    ):
        FairSHAP(XGBClassifier(**QUICK), **SETTING).fit(D.X, y)


def test_missing_values_are_edited_like_others():
    X = D.X.astype({"skill": "float64"})
    X.loc[X["group"] == "a", "skill"] = np.where(X["skill"][X["group"] == "a"] > 2, np.nan, 0.0)
    y = ((X["group"] == "a") & X["skill"].isna()).astype(int)
    y[:40] = np.arange(40) % 2
    fs = FairSHAP(XGBClassifier(**QUICK), **SETTING)
    fs.fit(X, y)
    frame = fs.edits_.frame()
    assert frame["old"].isna().any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"sensitive": "gruop"},
            ColumnError,
            r"sensitive='gruop' is not a column of X.* Did you mean 'group'\?",
        ),
        (
            {"privileged": "A"},
            GroupError,
            r"'A' does not occur in 'group', which holds .* Did you mean 'a'\?",
        ),
        ({"sensitive": None}, InputError, "sensitive is not given"),
        ({"privileged": None}, GroupError, "privileged is not given"),
        ({"threshold": 0}, InputError, "threshold=0"),
        ({"explainer": Explainer("kernel")}, InputError, "method='kernel' is not known"),
        ({"explainer": "exact"}, InputError, r"explainer='exact' is not an Explainer; give .*Explainer\("),
        ({"explainer": Explainer(feature_groups={"x": ["skil"]})}, ColumnError, "Did you mean 'skill'"),
        ({"selector": "budget"}, InputError, r"selector='budget' is not known; give Threshold\(0.05\), Bud"),
        ({"selector": Budget(9), "threshold": 0.1}, InputError, "and selector is given too; give one of the"),
        ({"constraints": {"frozen": ["skill"]}}, InputError, r"is not known; give fairshap.EditConstraints"),
        ({"constraints": EditConstraints(frozen=["skil"])}, ColumnError, "Did you mean 'skill'"),
        ({"counterfactuals": "some"}, InputError, "counterfactuals='some' is not known"),
        ({"matcher": "closest"}, InputError, "matcher='closest' is not known; give one of 'nearest', 'emd'"),
    ],
)
def test_bad_parameters_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        FairSHAP(XGBClassifier(**QUICK), **{**SETTING, **change}).fit(D.X, D.y)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (D.X, D.y[:-1], TargetError, "X has 300 rows, y has 299"),
        (D.X, D.y.where(D.y == 0), TargetError, "missing values"),
        (D.X, np.arange(300) / 7, TargetError, "Unknown label type: continuous.*300 different numbers"),
        (D.X, np.zeros(300), TargetError, "one class only"),
        (D.X[:0], D.y[:0], InputError, "X is empty"),
        (D.X[D.X["group"] == "a"], D.y[D.X["group"] == "a"], GroupError, "picks all of them"),
        (D.X.assign(skill=np.inf), D.y, InputError, "infinite values .* 'skill'"),
        (D.X.set_axis(["group", "x", "x", "y", "z"], axis=1), D.y, ColumnError, "same name: 'x'"),
    ],
)
def test_bad_tables_are_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        FairSHAP(XGBClassifier(**QUICK), **SETTING).fit(X, y)


class NoScores(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X))


class ThreeColumns(NoScores):
    def predict_proba(self, X):
        return np.zeros((len(X), 3))


def test_models_that_cannot_be_explained_are_refused():
    with pytest.raises(ModelError, match="NoScores has neither predict_proba nor decision_function"):
        FairSHAP(NoScores(), **SETTING).fit(D.X, D.y)
    with pytest.raises(ModelError, match=r"ThreeColumns\.predict_proba returned an array of shape"):
        FairSHAP(ThreeColumns(), **SETTING).fit(D.X, D.y)
    assert not hasattr(FairSHAPClassifier(FairSHAP(NoScores())), "predict_proba")
    assert hasattr(FairSHAPClassifier(), "predict_proba")
    assert not hasattr(FairSHAPClassifier(FairSHAP(XGBClassifier())), "decision_function")


def test_a_classifier_must_be_fitted_before_it_predicts():
    with pytest.raises(NotFittedError):
        FairSHAPClassifier(FairSHAP(**SETTING)).predict(D.X)


@pytest.mark.parametrize("change", ["fewer", "renamed"])
def test_other_columns_at_predict_are_refused(change):
    classifier = FairSHAPClassifier(FairSHAP(XGBClassifier(**QUICK), **SETTING)).fit(D.X, D.y)
    X = D.X.drop(columns="skill") if change == "fewer" else D.X.rename(columns={"skill": "skills"})
    with pytest.raises(ValueError, match="feature"):
        classifier.predict(X)


def test_nothing_that_was_given_is_changed():
    X, y, s = D.X.drop(columns="group").copy(), D.y.copy(), D.X["group"].copy()
    weights = np.ones(300)
    estimator = XGBClassifier(**QUICK)
    before = estimator.get_params()
    _, y_out = FairSHAP(estimator, privileged="a", random_state=0).fit_resample(
        X, y, sensitive_features=s, sample_weight=weights
    )
    pd.testing.assert_frame_equal(X, D.X.drop(columns="group"))
    pd.testing.assert_series_equal(y, D.y)
    pd.testing.assert_series_equal(s, D.X["group"])
    assert estimator.get_params() == before
    assert not hasattr(estimator, "_Booster") or estimator._Booster is None
    assert y_out is not y
