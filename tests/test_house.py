"""What is promised beside results: what a saved estimator holds, what a fit costs, how it composes."""

import copy
import inspect
import io
import pickle
import zlib

import joblib
import numpy as np
import pandas as pd
import pytest
import shap
import skops.io
from imblearn.pipeline import Pipeline
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import fairshap
from fairshap import (
    Budget,
    ColumnEncoder,
    EditConstraints,
    Explainer,
    FairSHAP,
    FairSHAPClassifier,
    FairSHAPRegressor,
    Iterative,
    NearestMatcher,
    OptimalSubset,
    Threshold,
    TransportMatcher,
    datasets,
    estimators,
    mitigation,
)
from fairshap._frames import Table
from fairshap.attribution import _explain

WHO = {"sensitive": "sex", "privileged": "m", "threshold": 0.01, "random_state": 0}
NUMBERS = ["skill", "hours"]


def people(n: int = 200):
    """Return a table each of whose rows has values of its own: a name, two numbers and an index label."""
    rng = np.random.default_rng(0)
    sex = np.where(np.arange(n) % 2, "m", "f")
    X = pd.DataFrame(
        {
            "sex": sex,
            "name": [f"somebody-{k:04d}" for k in range(n)],
            "skill": rng.normal(size=n) + (sex == "m"),
            "hours": 7 * rng.normal(size=n),
        },
        index=[f"case-{k:04d}" for k in range(n)],
    )
    pay = X["skill"] + (X["sex"] == "m") * X["hours"] / 7 + rng.normal(size=n) / 2
    return X, pay


X, PAY = people()
Y = (PAY > 0.5).astype(int)


def encoder():
    return make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["sex"]))


def logistic():
    return make_pipeline(encoder(), LogisticRegression())


def boosted():
    return make_pipeline(encoder(), HistGradientBoostingRegressor(max_iter=30, random_state=0))


# What a saved estimator holds

SAVED = {
    "sampler": lambda **keep: FairSHAP(logistic(), **WHO, **keep).fit(X, Y),
    "classifier": lambda **keep: FairSHAPClassifier(FairSHAP(logistic(), **WHO, **keep)).fit(X, Y),
    "regressor": lambda **keep: FairSHAPRegressor(
        FairSHAP(boosted(), **WHO, matcher=NearestMatcher(bins=3), counterfactuals="edited", **keep)
    ).fit(X, PAY),
    "pipeline": lambda **keep: Pipeline(
        [
            ("fair", FairSHAP(logistic(), **WHO, **keep)),
            ("encode", encoder()),
            ("model", LogisticRegression()),
        ]
    ).fit(X, Y),
}


def final_model(saved):
    """Return what predicts, without the repair."""
    if isinstance(saved, FairSHAP):
        return None
    return Pipeline(saved.steps[1:]) if isinstance(saved, Pipeline) else saved.estimator_


def joblib_bytes(saved) -> bytes:
    file = io.BytesIO()
    joblib.dump(saved, file)
    return file.getvalue()


def again(saved):
    """Return an estimator as it comes out of a pickle."""
    return pickle.loads(pickle.dumps(saved))  # noqa: S301 - it was written here


# skops writes an archive that is not compressed, so that values can be found in it.
SAVERS = {"pickle": pickle.dumps, "joblib": joblib_bytes, "skops": skops.io.dumps}


def found_in(saved: bytes) -> int:
    """Count the values of single rows that stand in a saved estimator."""
    numbers = [value.tobytes() for name in NUMBERS for value in X[name].to_numpy()]
    texts = [
        text.encode() for text in [*X["name"], *X.index, *(repr(n) for n in X[NUMBERS].stack().tolist())]
    ]
    return sum(value in saved for value in numbers + texts)


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("name", SAVED)
def test_a_saved_estimator_holds_no_row(name, saver):
    saved = SAVED[name]()
    data, bare = SAVERS[saver](saved), SAVERS[saver](final_model(saved))
    assert found_in(data) == 0
    # skops describes every object at length, which only a compressed archive does not show. The weights have
    # an estimator of their own.
    size = (lambda data: len(zlib.compress(data))) if saver == "skops" else len
    assert size(data) - size(bare) <= 12288


@pytest.mark.parametrize("name", SAVED)
def test_it_holds_the_rows_if_that_is_asked_for(name):
    assert found_in(pickle.dumps(SAVED[name](keep_data=True))) > 2 * len(X)


@pytest.mark.parametrize("name", ["classifier", "regressor", "pipeline"])
def test_a_loaded_estimator_predicts_and_knows_its_summary(name):
    saved = SAVED[name]()
    for data, load in (
        (pickle.dumps(saved), pickle.loads),
        (
            skops.io.dumps(saved),
            lambda data: skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data)),
        ),
    ):
        loaded = load(data)
        assert_array_equal(loaded.predict(X), saved.predict(X))
        before, after = (one["fair"] if name == "pipeline" else one.repair_ for one in (saved, loaded))
        assert after.summary_ == before.summary_
        assert after.summary_["n_edits"] == len(before.edits_) > 0
        assert [one.n_edits for one in after.rounds_] == [len(before.edits_)]


@pytest.mark.parametrize("name", ["classifier", "regressor", "pipeline"])
# mlflow says so of its own types when it is imported, and an old setuptools of the order it is imported in.
@pytest.mark.filterwarnings("ignore:.*Any type hint is inferred as AnyType:UserWarning")
@pytest.mark.filterwarnings("ignore:Distutils was imported before|Setuptools is replacing:UserWarning")
def test_mlflow_logs_a_model_that_predicts_the_same(name, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    saved = SAVED[name]()
    options = {"pip_requirements": ["fairshap"]}
    if "skops_trusted_types" in inspect.signature(mlflow.sklearn.log_model).parameters:
        # Later versions write by skops, and load only types that they are told of.
        options["skops_trusted_types"] = skops.io.get_untrusted_types(data=skops.io.dumps(saved))
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(saved, "model", **options)
    assert_array_equal(mlflow.sklearn.load_model(logged.model_uri).predict(X), saved.predict(X))


@pytest.mark.parametrize(
    "name", ["model_", "explanation_", "edits_", "counterfactual_of_", "sample_weight_", "certificate_"]
)
def test_what_is_gone_says_how_to_keep_it(name):
    fitted = FairSHAP(logistic(), **WHO).fit(X, Y)
    loaded = again(fitted)
    with pytest.raises(
        AttributeError,
        match=f"^{name} is not part of a pickled FairSHAP.* Set keep_data=True before pickling",
    ):
        getattr(loaded, name)
    assert not hasattr(loaded, name)
    assert hasattr(fitted, name)
    assert name not in dir(loaded)
    with pytest.raises(AttributeError, match="'FairSHAP' object has no attribute 'explanations_'"):
        loaded.explanations_  # noqa: B018


def test_what_needs_rows_says_so_too():
    loaded = again(FairSHAP(logistic(), **WHO).fit(X, Y))
    with pytest.raises(AttributeError, match="Set keep_data=True"):
        loaded.report()
    X_fair, _ = loaded.fit_resample(X, Y)
    assert len(loaded.edits_) == loaded.summary_["n_edits"]
    assert len(X_fair) == len(X)


def test_before_the_fit_there_is_nothing_to_ask_for():
    for name in ("certificate_", "explanation_", "summary_"):
        assert not hasattr(FairSHAP(), name)
    with pytest.raises(NotFittedError):
        FairSHAP().certificate_  # noqa: B018
    with pytest.raises(NotFittedError):
        FairSHAP().report()


def test_with_its_rows_a_pickle_is_the_same_repair():
    fitted = FairSHAP(logistic(), **WHO, keep_data=True).fit(X, Y)
    loaded = again(fitted)
    pd.testing.assert_frame_equal(loaded.edits_.frame(), fitted.edits_.frame())
    pd.testing.assert_frame_equal(loaded.certificate_, fitted.certificate_)
    assert_array_equal(loaded.explanation_.values, fitted.explanation_.values)


def test_a_copy_in_memory_keeps_everything():
    fitted = FairSHAP(logistic(), **WHO).fit(X, Y)
    for copied in (copy.copy(fitted), copy.deepcopy(fitted)):
        pd.testing.assert_frame_equal(copied.edits_.frame(), fitted.edits_.frame())


# What a fit costs


class Counting(ClassifierMixin, BaseEstimator):
    """Logistic regression that counts its fits."""

    fits = 0

    def fit(self, X, y):
        Counting.fits += 1
        self.model_ = logistic().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def counted(monkeypatch, owner, name):
    """Return the list that each call of a function adds to, from now on."""
    calls, original = [], getattr(owner, name)

    def count(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, count)
    return calls


def test_a_classifier_takes_two_fits_and_one_matching(monkeypatch):
    matchings = counted(monkeypatch, estimators, "match_rows")
    explanations = counted(monkeypatch, estimators, "explain_matched")
    monkeypatch.setattr(Counting, "fits", 0)
    # Its own pipeline, which nobody else sees, names the column.
    plain = {"weights": None, "drop_sensitive": False}
    classifier = FairSHAPClassifier(FairSHAP(Counting(), **WHO), **plain).fit(X, Y)
    assert len(classifier.repair_.edits_) > 0
    assert (Counting.fits, len(matchings), len(explanations)) == (2, 1, 1)


def test_every_further_round_takes_one_fit_and_no_matching(monkeypatch):
    matchings = counted(monkeypatch, estimators, "match_rows")
    monkeypatch.setattr(Counting, "fits", 0)
    rounds = {"selector": Iterative(Threshold(0.01), max_rounds=2), "threshold": None}
    FairSHAP(Counting(), **WHO | rounds).fit(X, Y)
    assert (Counting.fits, len(matchings)) == (2, 1)


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), logistic()], ids=["default", "raw", "own"])
def test_a_repair_reads_the_table_once_and_once_to_encode_it(estimator, monkeypatch):
    reads = []
    original = Table.of.__func__
    monkeypatch.setattr(
        Table, "of", classmethod(lambda cls, store: reads.append(store.native) or original(cls, store))
    )
    table = X.drop(columns="name")
    FairSHAP(estimator, **WHO).fit_resample(table, Y)
    encodes_itself = estimator is not None and hasattr(estimator, "steps")
    # Whatever else is read are the rows that the model is asked about, with the attribute switched.
    assert sum(table.equals(one) for one in reads) == (1 if encodes_itself else 2)


def test_walking_the_trees_does_not_encode_the_table_again(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    reads = []
    original = Table.of.__func__
    monkeypatch.setattr(
        Table, "of", classmethod(lambda cls, store: reads.append(store.native) or original(cls, store))
    )
    # So many rows that those which the model is asked about are few beside them.
    table = pd.concat([X.drop(columns="name")] * 10, ignore_index=True)
    fs = FairSHAP(XGBClassifier(n_estimators=5), **WHO)
    fs.fit_resample(table, np.tile(Y, 10))
    assert fs.explanation_.route == "trees"
    assert sum(table.equals(one) for one in reads) == 2
    assert not any(len(one) > len(table) for one in reads)


# The explanation in shap's plots


@pytest.fixture(scope="module")
def explanation():
    data = datasets.make_biased(200, random_state=0)
    groups = Explainer(feature_groups={"place": ["district", "commute"]})
    who = {"sensitive": data.sensitive, "privileged": data.privileged}
    return (
        FairSHAP(LogisticRegression(), **who, explainer=groups, random_state=0)
        .fit(data.X, data.y)
        .explanation_
    )


def test_base_values_and_values_sum_to_the_risk(explanation):
    shown = explanation.to_shap()
    assert shown.shape == explanation.values.shape
    assert shown.feature_names == [str(name) for name in explanation.feature_names]
    assert_allclose(shown.base_values + shown.values.sum(axis=1), explanation.risk, atol=1e-12)


def test_rows_without_a_reference_are_not_shown():
    data = datasets.make_biased(200, random_state=0)
    table = data.X.assign(group=data.X["group"].where(np.arange(200) > 9))
    with pytest.warns(fairshap.exceptions.UnmatchedRowsWarning):
        fs = FairSHAP(sensitive="group", privileged="a", random_state=0).fit(table, data.y)
    shown = fs.explanation_.to_shap()
    assert shown.shape == (190, 5)
    assert shown.data[0].tolist() == table.iloc[10].tolist()


def test_shap_draws_them(explanation):
    shown = explanation.to_shap()
    swarm = shap.plots.beeswarm(shown, show=False)
    assert {"place", "skill", "colour"} <= {label.get_text() for label in swarm.get_yticklabels()}
    row = int(np.abs(explanation.values).sum(axis=1).argmax())
    fall = shap.plots.waterfall(shown[row], show=False)
    assert any("place" in label.get_text() for label in fall.get_yticklabels())


# Parameters, as scikit-learn has them

OBJECTS = [
    FairSHAP(sensitive="sex", selector=Iterative(Budget(0.1)), constraints=EditConstraints(frozen=["age"])),
    FairSHAPClassifier(FairSHAP(LogisticRegression(), matcher=NearestMatcher())),
    FairSHAPRegressor(FairSHAP(explainer=Explainer("exact"))),
    Explainer(feature_groups={"a": ["b", "c"]}),
    Threshold(0.02),
    Budget(500, threshold=0.01),
    OptimalSubset(0.02),
    Iterative(Threshold(0.02), max_rounds=3),
    EditConstraints(editable=["age"], max_per_row=2),
    NearestMatcher(3, weights="distance"),
    TransportMatcher("sinkhorn"),
    ColumnEncoder(),
    mitigation.CorrelationRemover(sensitive="sex", privileged="m"),
    mitigation.CounterfactualAugmenter(sensitive="sex", privileged="m"),
    mitigation.ParityWeigher(LogisticRegression(), sensitive="sex", privileged="m"),
    mitigation.ProxyCorrection(LogisticRegression(), sensitive="sex", privileged="m"),
    mitigation.SoftLabeler(LogisticRegression(), sensitive="sex", privileged="m"),
]


@pytest.mark.parametrize("made", OBJECTS, ids=lambda made: type(made).__name__)
def test_parameters_are_those_of_the_signature_and_can_be_set(made):
    names = set(inspect.signature(type(made)).parameters)
    params = made.get_params(deep=False)
    assert set(params) == names
    assert repr(clone(made)) == repr(made)
    for name in names:
        mark = object()
        assert clone(made).set_params(**{name: mark}).get_params(deep=False)[name] is mark
    with pytest.raises(ValueError, match="Invalid parameter 'treshold'"):
        clone(made).set_params(treshold=1)
    for name, inner in params.items():
        if hasattr(inner, "get_params"):
            assert {f"{name}__{own}" for own in inner.get_params()} <= set(made.get_params())


@pytest.mark.parametrize(
    ("repair", "grid"),
    [
        ({}, {"repair__threshold": [0.01, 10.0]}),
        ({"selector": Threshold()}, {"repair__selector__threshold": [0.01, 10.0]}),
        ({"selector": Iterative(Threshold())}, {"repair__selector__selector__threshold": [0.01, 10.0]}),
    ],
    ids=["threshold", "selector", "rounds"],
)
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.NothingToRepairWarning")
def test_a_search_tries_the_parameters_of_the_repair(repair, grid):
    params = WHO | {"threshold": None} | repair
    classifier = FairSHAPClassifier(FairSHAP(logistic(), **params), weights=None)

    def least_edits(fitted, X, y):
        return -fitted.repair_.summary_["n_edits"]

    search = GridSearchCV(classifier, grid, cv=2, scoring=least_edits, error_score="raise").fit(X, Y)
    (name,) = grid
    assert search.best_params_ == {name: 10.0}
    assert search.cv_results_["mean_test_score"][0] < search.cv_results_["mean_test_score"][1] == 0
    assert search.best_estimator_.repair_.threshold_ == 10.0
    # What was given is not changed.
    assert classifier.get_params()[name] is None


def test_parameters_of_every_part_can_be_searched():
    repair = FairSHAP(
        logistic(), **WHO, matcher=NearestMatcher(), explainer=Explainer(), constraints=EditConstraints()
    )
    grid = {
        "repair__matcher__n_neighbors": [2],
        "repair__explainer__n_permutations": [8],
        "repair__constraints__max_per_row": [1],
        "repair__estimator__logisticregression__C": [0.5],
    }
    best = (
        GridSearchCV(FairSHAPClassifier(repair, weights=None), grid, cv=2, error_score="raise")
        .fit(X, Y)
        .best_estimator_
    )
    fitted = best.repair_
    assert np.bincount(fitted.explanation_.match_plan.row).max() == 2
    assert fitted.explanation_.options.n_permutations == 8
    assert np.bincount(fitted.edits_.row).max() == 1
    assert fitted.model_[-1].C == best.estimator_[-1].C == 0.5
