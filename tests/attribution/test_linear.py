"""The route of linear models against the general one, which calls the model."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC
from xgboost import XGBClassifier

from fairshap import Explainer, FairSHAP, MatchPlan, datasets, explain
from fairshap.attribution import _explain
from fairshap.exceptions import MarginWarning

N = 300
WHO = {"sensitive": "sex", "privileged": "m"}


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    n = 2 * N
    X = pd.DataFrame(
        {
            "sex": np.where(np.arange(n) % 2, "m", "f"),
            "age": rng.integers(18, 80, n).astype(float),
            "town": rng.choice(["x", "y", "z"], n),
            "income": rng.normal(size=n) * 1000,
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "race": rng.choice(["p", "q", "r"], n),
        }
    )
    score = (X["sex"] == "m") + (X["age"] - 45) / 15 + X["income"] / 1000 + (X["town"] == "x")
    score += 0.5 * (X["race"] == "p") - (X["race"] == "r")
    return X, (score + rng.normal(size=n) > 0.5).astype(int).to_numpy()


def pairs():
    rows = np.arange(N)
    return MatchPlan(2 * N, rows, (rows + N + 1) % (2 * N), np.ones(N), np.zeros(N))


def encoder():
    return make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )


def both_routes(model, X, monkeypatch, **options):
    linear = explain(model, X, pairs(), **options)
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, X, pairs(), **options)
    assert calls.route == "model calls: the table is small"
    assert linear.route == "weights"
    assert_allclose(linear.values, calls.values, atol=1e-9)
    assert_allclose(linear.risk, calls.risk, atol=1e-9)
    assert_allclose(linear.reference_risk, calls.reference_risk, atol=1e-9)
    assert set(linear.status) == {"exact", "unmatched"}
    return linear


MODELS = {
    "logistic regression": make_pipeline(encoder(), LogisticRegression()),
    "bins": make_pipeline(
        make_column_transformer(
            (KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["age", "income"]),
            (OneHotEncoder(), ["sex", "town", "job", "race"]),
        ),
        LogisticRegression(),
    ),
    "stochastic gradient": make_pipeline(encoder(), SGDClassifier(loss="log_loss", random_state=0)),
    "calibrated support vectors": make_pipeline(
        encoder(), CalibratedClassifierCV(LinearSVC(random_state=0), cv=3, ensemble=True)
    ),
    "calibrated pipelines": CalibratedClassifierCV(make_pipeline(encoder(), LinearSVC(random_state=0)), cv=2),
    "calibrated once": make_pipeline(
        encoder(), CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False)
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_linear_models_are_solved_as_they_are_called(name, mixed, monkeypatch):
    X, y = mixed
    linear = both_routes(MODELS[name].fit(X, y), X, monkeypatch, **WHO)
    assert np.nanmax(np.abs(linear.values)) > 0.01


def test_several_values_and_quantities_are_switched_alike(mixed, monkeypatch):
    X, y = mixed
    model = make_pipeline(encoder(), LogisticRegression()).fit(X, y)
    for options in (
        {"sensitive": "race", "privileged": "p"},
        {"sensitive": "race", "privileged": "q"},
        {"sensitive": "age", "privileged": pd.Interval(40, 90)},
        {**WHO, "explainer": Explainer(feature_groups={"money": ["income", "job"]})},
    ):
        both_routes(model, X, monkeypatch, **options)


def test_plain_arrays_need_no_preprocessing(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2 * N, 5))
    X[:, 0] = np.arange(2 * N) % 2
    y = (X.sum(axis=1) + rng.normal(size=2 * N) > 0).astype(int)
    for model in (LogisticRegression(), LinearDiscriminantAnalysis()):
        both_routes(model.fit(X, y), X, monkeypatch, sensitive=0, privileged=1)
    # XGBoost tells its weights to six digits only.
    rounded = XGBClassifier(booster="gblinear").fit(X, y)
    route = explain(rounded, X, pairs(), sensitive=0, privileged=1).route
    assert route.startswith("model calls: its weights give an output that differs from its own by")


def test_a_margin_changes_by_the_same_whatever_the_rest(mixed, monkeypatch):
    X, y = mixed
    for model in (LinearSVC(random_state=0), RidgeClassifier()):
        with pytest.warns(MarginWarning):
            linear = both_routes(make_pipeline(encoder(), model).fit(X, y), X, monkeypatch, **WHO)
        assert (linear.values[:N] == 0).all()
        assert linear.risk[0] > 0


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_what_is_not_linear_or_not_by_column_is_called(mixed):
    X, y = mixed
    curved = make_pipeline(encoder(), SVC(kernel="rbf", probability=True, random_state=0)).fit(X, y)
    assert "encoded rows: SVC is neither" in explain(curved, X, pairs(), **WHO).route
    crossed = make_pipeline(
        encoder(), PolynomialFeatures(2, include_bias=False), LogisticRegression(max_iter=500)
    ).fit(X, y)
    assert "together" in explain(crossed, X, pairs(), **WHO).route
    model = make_pipeline(encoder(), LogisticRegression()).fit(X, y)
    estimated = explain(model, X, pairs(), **WHO, explainer=Explainer(method="permutation", n_permutations=4))
    assert estimated.route.startswith("model calls: permutations were asked for")
    assert "estimated" in estimated.status
    model[-1].predict_proba = LogisticRegression().fit(model[:-1].transform(X), y[::-1]).predict_proba
    misread = explain(model, X, pairs(), **WHO).route
    assert "differs from its own" in misread
    assert "a plain LogisticRegression is read" in misread


def test_many_players_are_exact_and_threads_make_no_difference():
    d = datasets.load("credit")
    X, y = d.X.iloc[:2000], d.y.iloc[:2000]
    results = []
    for n_jobs in (1, 2):
        fs = FairSHAP(
            make_pipeline(encoder(), LogisticRegression(max_iter=300)),
            sensitive=d.sensitive,
            privileged=d.privileged,
            n_jobs=n_jobs,
            threshold=0.001,
            random_state=0,
        ).fit(X, y)
        results.append(fs.explanation_)
    assert fs.explanation_.route == "weights"
    assert set(fs.explanation_.status) == {"exact"}
    assert (np.count_nonzero(fs.explanation_.values, axis=1) > 12).any()
    a, b = results
    assert a.values.tobytes() == b.values.tobytes()
    assert_allclose(a.values.sum(axis=1), a.risk - a.reference_risk, atol=1e-11)
