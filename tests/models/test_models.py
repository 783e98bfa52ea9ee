import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier, XGBRegressor

from fairshap import ColumnEncoder
from fairshap._frames import Table
from fairshap._models import Risk, Scorer, Weighing, fit_model
from fairshap._problem import Problem
from fairshap.exceptions import InputError, MarginWarning, ModelError
from tests.conftest import to_library

RAW = pd.DataFrame({"town": ["x", "y", "x", "z"] * 10, "age": np.arange(40.0)})
Y = np.arange(40) % 2


class Returns:
    def __init__(self, **outputs):
        for name, output in outputs.items():
            setattr(self, name, lambda X, output=output: output)


def test_the_probability_of_the_second_class_is_taken():
    model = Returns(predict_proba=np.array([[0.3, 0.7]]))
    assert Scorer(model)(np.zeros((1, 1))) == [0.7]


def test_a_margin_is_taken_with_a_warning():
    model = LinearSVC(random_state=0).fit(RAW[["age"]], Y)
    with pytest.warns(MarginWarning, match=r"LinearSVC has no predict_proba.*units of that margin"):
        scorer = Scorer(model)
    np.testing.assert_array_equal(scorer(RAW[["age"]]), model.decision_function(RAW[["age"]]))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (np.zeros((2, 1)), r"shape \(2, 1\) for 2 rows; .* a column for each class, \(2, 2\) for two"),
        (np.zeros((1, 2, 3)), r"shape \(1, 2, 3\)"),
        (np.zeros(2), r"shape \(2,\)"),
        (np.zeros((3, 2)), r"shape \(3, 2\) for 2 rows"),
        (np.full((2, 2), np.nan), "NaN or infinite values for 2 of 2 rows"),
    ],
)
def test_outputs_of_the_wrong_shape_are_refused(output, message):
    with pytest.raises(ModelError, match=message):
        Scorer(Returns(predict_proba=output))(np.zeros((2, 2)))


def test_a_model_that_cannot_be_asked_is_refused():
    with pytest.raises(ModelError, match="neither predict_proba nor decision_function"):
        Scorer(Returns(predict=np.zeros(2)))
    with pytest.raises(ModelError, match="LogisticRegression is not fitted"):
        Scorer(LogisticRegression())(np.zeros((2, 2)))


def test_margins_of_a_wrong_shape_are_refused():
    with pytest.warns(MarginWarning):
        scorer = Scorer(Returns(decision_function=np.zeros((2, 3))))
    with pytest.raises(ModelError, match=r"decision_function returned an array of shape \(2, 3\)"):
        scorer(np.zeros((2, 2)))


def test_more_than_two_classes_are_taken_with_all_their_probabilities():
    model = Returns(predict_proba=np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]))
    assert Scorer(model)(np.zeros((2, 1))).tolist() == [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
    model.classes_ = np.array([0, 1])
    with pytest.raises(ModelError, match=r"returned an array of shape \(2, 3\)"):
        Scorer(model)(np.zeros((2, 1)))


def test_a_regressor_is_asked_for_its_prediction():
    X = RAW[["age"]]
    for model in (Ridge(), FrozenEstimator(Ridge().fit(X, Y)), make_pipeline(Ridge()), XGBRegressor()):
        scorer = Scorer(model.fit(X, Y))
        assert scorer.is_regressor
        np.testing.assert_array_equal(scorer(X), model.predict(X))


def test_a_regressor_without_tags_is_known_by_its_type():
    model = Returns(predict=np.array([1.5, 2.5]))
    model._estimator_type = "regressor"
    assert Scorer(model)(np.zeros((2, 1))).tolist() == [1.5, 2.5]


def test_predictions_that_are_no_one_quantity_are_refused():
    X = RAW[["age"]]
    with pytest.raises(ModelError, match=r"Ridge\.predict returned an array of shape \(40, 2\).* one target"):
        Scorer(Ridge().fit(X, np.column_stack([Y, Y])))(X)
    assert Scorer(Ridge().fit(X, Y[:, None]))(X).shape == (40,)
    with pytest.raises(ModelError, match="Ridge is not fitted"):
        Scorer(Ridge())(X)


def test_a_regressor_is_never_given_numbers_for_its_target():
    y = np.array([3, 1, 7, 5] * 10)
    model = fit_model(XGBRegressor(n_estimators=3), RAW, y)
    assert isinstance(model, Pipeline)
    assert model.predict(RAW).max() > 3
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit_model(Ridge(), RAW, np.array(["a", "b"] * 20))


@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [3, 1, 7, 5], [0, 1, 2, 3]])
def test_an_estimator_that_counts_its_labels_still_predicts_them(labels):
    y = np.array(labels * 10)
    model = fit_model(XGBClassifier(n_estimators=30), RAW, y)
    assert model.classes_.tolist() == sorted(labels)
    assert (model.predict(RAW) == y).mean() > 0.4
    assert model.predict_proba(RAW).shape == (40, 4)


@pytest.mark.parametrize(
    "estimator", [XGBClassifier(n_estimators=3), LogisticRegression(), GaussianNB(), KNeighborsClassifier()]
)
def test_an_estimator_that_refuses_categories_is_fitted_behind_the_encoding(estimator, library):
    model = fit_model(estimator, to_library(RAW, library), Y)
    assert isinstance(model, Pipeline)
    assert isinstance(model[0], ColumnEncoder)
    assert model.predict_proba(to_library(RAW, library)).shape == (40, 2)


@pytest.mark.parametrize(
    "estimator",
    [
        HistGradientBoostingClassifier(random_state=0),
        XGBClassifier(enable_categorical=True),
        LGBMClassifier(verbose=-1),
        make_pipeline(OneHotEncoder(), LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_estimator_that_takes_categories_is_taken_as_it_is(estimator):
    X = RAW.astype({"town": "category"})
    model = fit_model(estimator, X, Y)
    assert type(model) is type(estimator)
    assert not isinstance(model, Pipeline) or len(model) == 2


def test_the_width_of_a_frozen_pipeline_is_that_of_its_classifier():
    model = fit_model(LogisticRegression(), RAW, Y)
    assert Scorer(FrozenEstimator(model)).width == model[0].n_features_out_ > RAW.shape[1]


def test_numbered_categories_are_not_read_as_numbers():
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 3, 4] * 10)})
    for estimator in (LogisticRegression(), KNeighborsClassifier()):
        assert isinstance(fit_model(estimator, X, Y), Pipeline)
    for estimator in (HistGradientBoostingClassifier(random_state=0), XGBClassifier(enable_categorical=True)):
        assert type(fit_model(estimator, X, Y)) is type(estimator)


def test_dates_are_encoded_too():
    X = RAW[["age"]].assign(day=pd.date_range("2020-01-01", periods=40))
    model = fit_model(LogisticRegression(max_iter=1000), X, Y)
    assert isinstance(model[0], ColumnEncoder)
    assert model[0].n_features_out_ == 2


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True), (0.5, 1.5)])
@pytest.mark.parametrize("X", [RAW, RAW[["age"]]], ids=["raw", "numbers"])
def test_an_estimator_that_knows_only_0_and_1_still_predicts_the_labels(labels, X):
    y = np.array(labels)[Y]
    model = fit_model(XGBClassifier(n_estimators=3), X, y, {"sample_weight": np.ones(40)})
    assert model.classes_.tolist() == list(labels)
    assert set(model.predict(X).tolist()) <= set(labels)
    plain = fit_model(XGBClassifier(n_estimators=3), X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert Scorer(model).width == Scorer(plain).width > 0


def test_weights_by_class_are_those_of_the_user_s_labels():
    y = np.array(["no", "yes"])[Y]
    model = fit_model(LogisticRegression(class_weight={"no": 1, "yes": 1000}), RAW[["age"]], y)
    assert (model.predict(RAW[["age"]]) == "yes").all()


def test_numeric_frames_and_arrays_are_never_encoded():
    for X in (RAW[["age"]], RAW[["age"]].to_numpy(), pl.from_pandas(RAW[["age"]])):
        assert isinstance(fit_model(LogisticRegression(), X, Y), LogisticRegression)


def test_the_estimator_s_own_error_is_raised():
    holes = RAW.assign(age=np.nan)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit_model(LogisticRegression(), holes[["age"]], Y)
    with pytest.raises(ValueError, match="Input X contains NaN") as caught:
        fit_model(LogisticRegression(), holes, Y)
    assert "gave LogisticRegression the raw table, which it refused" in caught.value.__notes__[0]


def test_weights_reach_the_last_step_of_a_pipeline():
    weights = np.where(Y, 1.0, 1e-9)
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    for estimator in (LogisticRegression(), pipeline):
        model = fit_model(estimator, RAW, Y, {"sample_weight": weights})
        assert (model.predict(RAW) == 1).all()


def test_weights_for_an_estimator_that_takes_none_are_refused():
    with pytest.raises(ModelError, match=r"Pipeline takes no sample_weight \(its last step is KNeighborsC"):
        Weighing.of(make_pipeline(OneHotEncoder(), KNeighborsClassifier()), RAW, Y).check()
    Weighing.of(RidgeClassifier(), RAW, Y).check()


def test_the_encoding_is_numbers_standardised_and_categories_one_hot(library):
    X = pd.DataFrame({"age": [20.0, 40.0, np.nan], "town": ["x", None, "y"], "member": [True, False, True]})
    encoded = ColumnEncoder().fit_transform(to_library(X, library))
    expected = [[-1, 1, 0, 0, 1, 0], [1, 0, 0, 1, 0, 1], [np.nan, 0, 1, 0, 1, 0]]
    np.testing.assert_allclose(encoded, expected)


def test_unknown_categories_have_no_feature_and_numbers_must_stay_numbers():
    encoder = ColumnEncoder().fit(RAW)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"town": ["new"], "age": [0.0]}))[0, :3], 0)
    with pytest.raises(InputError, match="'age' held numbers"):
        encoder.transform(pd.DataFrame({"town": ["x"], "age": ["old"]}))


def test_a_number_where_a_category_was_is_looked_up_among_the_categories():
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 1])})
    encoder = ColumnEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"code": [2]})), [[0, 1]])


@pytest.mark.parametrize(
    ("fitted", "given"),
    [(["0", "1"], [0, 1]), ([True, False], ["True", "False"]), (pd.Categorical([1, 2]), ["1", "2"])],
)
def test_a_category_of_another_type_is_refused(fitted, given):
    encoder = ColumnEncoder().fit(pd.DataFrame({"a": fitted}))
    with pytest.raises(InputError, match=r"column 'a' held .* when the encoder was fitted; now it holds"):
        encoder.transform(pd.DataFrame({"a": given}))


def test_lightgbm_is_not_given_text_that_would_end_the_process(library):
    model = fit_model(LGBMClassifier(n_estimators=3, verbose=-1), to_library(RAW, library), Y)
    assert isinstance(model, Pipeline)


def test_features_have_names():
    X = pd.DataFrame({"age": [1, 2, 3], "town": ["x", None, "x"]})
    assert ColumnEncoder().fit(X).get_feature_names_out().tolist() == ["age", "town=x", "town=missing"]
    encoder = ColumnEncoder(max_categories=1).set_output(transform="pandas")
    assert list(encoder.fit_transform(X).columns) == ["age", "town=x", "town=others"]


def test_the_most_categories_must_be_a_number():
    with pytest.raises(InputError, match="max_categories=0"):
        ColumnEncoder(max_categories=0).fit(RAW)


def test_rare_categories_share_a_feature():
    X = pd.DataFrame({"id": ["a", "a", "b", "b", "c", "d"]})
    encoded = ColumnEncoder(max_categories=2).fit_transform(X)
    np.testing.assert_array_equal(encoded, [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2)


def test_a_mix_of_rows_is_encoded_as_the_mix_of_their_encodings(people):
    encoder = ColumnEncoder().fit(people)
    table = Table.read(people)
    own, other = np.arange(6), np.array([3, 2, 1, 0, 5, 4])
    from_other = np.array([True, False, True, True, False, False])
    mixed = table.store.mix([other if swapped else own for swapped in from_other])
    widths = [column.width for column in encoder.columns_]
    features = np.repeat(from_other, widths)
    encoded = encoder.transform(people)
    np.testing.assert_array_equal(encoder.transform(mixed), np.where(features, encoded[other], encoded[own]))


def some_mixes(n_rows, n_columns):
    return list(np.random.default_rng(0).integers(0, n_rows, size=(n_columns, 30)))


@pytest.mark.parametrize("estimator", [XGBClassifier(n_estimators=5), LogisticRegression()])
@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_mixed_rows_are_scored_behind_the_encoding_as_before_it(estimator, labels, library, monkeypatch):
    X = RAW.assign(sex=["m", "f", "f", None] * 10, town=[None, "y", "x", "z"] * 10)
    X = to_library(X, library)
    model = FrozenEstimator(fit_model(estimator, X, np.array(labels)[Y]))
    problem = Problem.read(X, sensitive="sex", privileged="m")
    risk, sources = Risk(Scorer(model), problem), some_mixes(40, 3)
    expected = risk.scorer(problem.table.store.mix(sources))
    # The table is not read again.
    monkeypatch.delattr(ColumnEncoder, "transform")
    np.testing.assert_array_equal(risk.score(sources), expected)


def test_an_encoding_that_gives_frames_is_asked_for_them():
    model = Pipeline([("encode", ColumnEncoder()), ("model", XGBClassifier(n_estimators=5))])
    model.set_output(transform="pandas").fit(RAW, Y)
    problem = Problem.read(RAW, sensitive="town", privileged="x")
    risk, sources = Risk(Scorer(model), problem), some_mixes(40, 2)
    np.testing.assert_array_equal(risk.score(sources), risk.scorer(problem.table.store.mix(sources)))


def test_columns_in_another_order_than_the_encoding_knows_are_refused():
    model = fit_model(LogisticRegression(), RAW, Y)
    problem = Problem.read(RAW[["age", "town"]], sensitive="town", privileged="x")
    with pytest.raises(ValueError, match="feature names should match"):
        Risk(Scorer(model), problem).score(some_mixes(40, 2))


def test_rare_categories_are_not_kept_and_unseen_ones_count_among_them():
    X = pd.DataFrame({"name": ["a", "a", "b", "b", "Zoe", "Yan"]})
    encoder = ColumnEncoder(max_categories=2).fit(X)
    encoded = encoder.transform(pd.DataFrame({"name": ["a", "Zoe", "never"]}))
    assert encoded.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert b"Zoe" not in pickle.dumps(encoder)
