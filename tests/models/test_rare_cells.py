"""Preprocessing that mixes columns only where a rare cell stands, and other corners of reading a model."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from fairshap import Explainer, FairSHAP, MatchPlan, explain
from fairshap.attribution import _explain
from tests.conftest import to_library


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    X[:, 0] = np.arange(2000) % 2
    y = (X[:, 1] + X[:, 2] * (1 + X[:, 0]) + rng.normal(size=2000) > 0).astype(int)
    X[rng.choice(2000, 6, replace=False), 2] = np.nan
    return X, y


def some_pairs(n):
    rows = np.arange(100)
    return MatchPlan(n, rows, rows + 101, np.ones(100), np.zeros(100))


def both_routes(model, X, plan, **options):
    native = explain(model, X, plan, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        return native, explain(model, X, plan, **options)


MODELS = {"trees": XGBClassifier(n_estimators=20), "linear": LogisticRegression()}


@pytest.mark.parametrize("name", MODELS)
def test_an_imputer_that_looks_at_other_columns_is_noticed(name, table):
    X, y = table
    model = make_pipeline(KNNImputer(), MODELS[name]).fit(X, y)
    route = explain(model, X, some_pairs(len(X)), sensitive=0, privileged=1).route
    assert route.startswith("model calls: ")
    assert "differ" in route or "column by column" in route


def test_a_code_that_no_probe_tried_is_noticed_or_read():
    rng = np.random.default_rng(1)
    n = 20_000
    code = rng.integers(0, 3, n)
    rare = rng.choice(n, 180, replace=False)
    code[rare] = 3 + np.arange(180) // 2
    X = pd.DataFrame({"sex": np.arange(n) % 2, "code": code, "x": rng.normal(size=n)})
    y = (X["x"] + X["sex"] + (code % 5) + rng.normal(size=n) > 2).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["code"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(X, y)
    plan = MatchPlan(n, rare, (rare + 1) % n, np.ones(180), np.zeros(180))
    native, calls = both_routes(model, X, plan, sensitive="sex", privileged=1)
    np.testing.assert_allclose(native.values, calls.values, atol=1e-9)


def test_a_pipeline_of_one_step_is_its_model(table):
    X, y = table
    model = Pipeline([("model", XGBClassifier(n_estimators=5))]).fit(X, y)
    assert explain(model, X, some_pairs(len(X)), sensitive=0, privileged=1).route == "trees"


@pytest.mark.parametrize(("name", "route"), [("trees", "trees"), ("linear", "weights")])
def test_a_pipeline_in_a_pipeline_is_looked_through(name, route, table):
    X, y = np.nan_to_num(table[0]), table[1]
    model = make_pipeline(StandardScaler(), FrozenEstimator(make_pipeline(StandardScaler(), MODELS[name])))
    model[1].estimator.fit(StandardScaler().fit_transform(X), y)
    native, calls = both_routes(model.fit(X, y), X, some_pairs(len(X)), sensitive=0, privileged=1)
    assert native.route == route
    np.testing.assert_allclose(native.values, calls.values, atol=1e-6)


def test_fourteen_players_are_as_the_oracle_says():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 15))
    X[:, 0] = np.arange(400) % 3
    y = (X[:, 1:].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=400) > 0).astype(int)
    model = XGBClassifier(n_estimators=60, max_depth=4).fit(X, y)
    plan = MatchPlan(400, np.array([0, 1]), np.array([1, 2]), np.ones(2), np.zeros(2))
    native, calls = both_routes(model, X, plan, sensitive=0, privileged=1, explainer=Explainer(max_exact=14))
    assert native.route == "trees"
    assert set(calls.status[:2]) == {"exact"}
    assert (np.count_nonzero(native.values[:2], axis=1) > 10).all()
    np.testing.assert_allclose(native.values, calls.values, atol=1e-6)


def test_a_small_table_is_solved_as_a_large_one_is(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 15))
    X[:, 0] = np.arange(400) % 2
    y = (X[:, 1:].sum(axis=1) + X[:, 0] * X[:, 1] + rng.normal(size=400) > 0).astype(int)
    model = XGBClassifier(n_estimators=20).fit(X, y)
    monkeypatch.setattr(_explain, "_SMALL", 20_000)
    plan = MatchPlan(400, np.array([0]), np.array([1]), np.ones(1), np.zeros(1))
    result = explain(model, X, plan, sensitive=0, privileged=1)
    assert result.route == "model calls: the table is small"
    assert result.status[0] == "exact"


def test_dates_of_any_library_do_not_end_the_process(library):
    rng = np.random.default_rng(4)
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 300), unit="D")
    X = pd.DataFrame({"sex": np.arange(300) % 2, "x": rng.normal(size=300), "day": dates})
    y = (X["x"] + X["sex"] + rng.normal(size=300) > 0.5).astype(int).to_numpy()
    fs = FairSHAP(
        LGBMClassifier(n_estimators=5, verbose=-1),
        sensitive="sex",
        privileged=1,
        threshold=0.001,
        random_state=0,
    )
    X_fair, _ = fs.fit_resample(to_library(X, library), y)
    assert type(X_fair) is type(to_library(X, library))
    assert np.isfinite(fs.explanation_.risk).all()
