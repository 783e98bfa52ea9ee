"""The trees' own route against the general one, which calls the model."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import fairshap
from fairshap import Explainer, FairSHAP, MatchPlan, datasets, explain
from fairshap.attribution import _explain
from fairshap.attribution._trees import TreeGame
from tests.conftest import to_library

N = 500


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


@pytest.fixture(scope="module")
def numbers():
    """Numbers of few and of many values, some missing, with an attribute that matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 7))
    X[:, 0] = np.arange(2 * N) % 2
    X[:, 1:3] = X[:, 1:3].round()
    y = (X[:, 1] + X[:, 3] * (1 + X[:, 0]) + X[:, 4] + rng.normal(size=2 * N) > 0).astype(int)
    X[:, 2:][rng.random((2 * N, 5)) < 0.1] = np.nan
    return X, y


def some_pairs(n):
    rows = np.arange(N)
    return MatchPlan(n, rows, (rows + N + 1) % n, np.ones(N), np.zeros(N))


def both_routes(model, X, plan, monkeypatch, **options):
    """Return the attributions by trees and by calls of the model."""
    trees = explain(model, X, plan, **options)
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, X, plan, **options)
    assert calls.route == "model calls: the table is small"
    return trees, calls


def assert_same_values(trees, calls):
    assert trees.route == "trees"
    assert set(trees.status) <= {"exact", "unmatched"}
    for name in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(trees, name), getattr(calls, name), atol=1e-6)
    assert np.nanmax(np.abs(trees.values)) > 0.01
    assert_allclose(trees.values.sum(axis=1), trees.risk - trees.reference_risk, atol=1e-12)


FAMILIES = [
    XGBClassifier(n_estimators=40),
    XGBClassifier(n_estimators=40, tree_method="exact", base_score=0.3),
    XGBClassifier(n_estimators=20, max_depth=0, max_leaves=31, grow_policy="lossguide"),
    LGBMClassifier(n_estimators=40, verbose=-1),
    RandomForestClassifier(30, random_state=0),
    ExtraTreesClassifier(30, random_state=0),
    HistGradientBoostingClassifier(max_iter=40, random_state=0),
    DecisionTreeClassifier(random_state=0),
]


@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
def test_every_family_is_walked_as_it_is_called(model, numbers, monkeypatch):
    X, y = numbers
    model.fit(X, y)
    options = {"sensitive": 0, "privileged": 1}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))


def test_gradient_boosting_is_walked(numbers, monkeypatch):
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X, y)
    options = {"sensitive": 0, "privileged": 1}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=40, categorical_features=[2, 3], random_state=0),
        LGBMClassifier(n_estimators=40, verbose=-1, min_data_per_group=5),
    ],
    ids=["scikit-learn", "lightgbm"],
)
def test_splits_on_numbered_categories_are_walked(model, numbers, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = numbers[0].copy(), numbers[1]
    X[:, 2:4] = rng.integers(0, 12, size=(2 * N, 2))
    y = np.where(np.isin(X[:, 2], [1, 4, 7]) & (X[:, 0] == 1), 1, y)
    X[:, 3][rng.random(2 * N) < 0.1] = np.nan
    model.fit(X, y, **({"categorical_feature": [2, 3]} if isinstance(model, LGBMClassifier) else {}))
    options = {"sensitive": 0, "privileged": 1}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))


def test_early_stopping_is_respected(numbers, monkeypatch):
    X, y = numbers
    model = XGBClassifier(n_estimators=200, early_stopping_rounds=3)
    model.fit(X[:N], y[:N], eval_set=[(X[N:], y[N:])], verbose=0)
    assert model.best_iteration < 190
    options = {"sensitive": 0, "privileged": 1}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))


@pytest.fixture(scope="module")
def mixed():
    """A frame of every kind of column, with missing values."""
    rng = np.random.default_rng(1)
    n = 2 * N
    X = pd.DataFrame(
        {
            "sex": np.where(np.arange(n) % 2, "m", "f"),
            "age": rng.integers(18, 80, n).astype(float),
            "town": rng.choice(["x", "y", "z", "w"], n),
            "member": rng.random(n) < 0.5,
            "income": rng.normal(size=n) * 1000,
            "job": pd.Categorical(rng.choice(["a", "b", "c"], n)),
        }
    )
    odds = (X["age"] > 50) + (X["town"] == "x") * (1 + (X["sex"] == "m")) + X["member"] + X["income"] / 1000
    y = (odds + rng.normal(size=n) > 1.7).astype(int).to_numpy()
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    X.loc[rng.random(n) < 0.1, "town"] = None
    return X, y


words = make_column_selector(dtype_include=["object", "string", "category", "bool"])
PREPROCESSING = {
    "ours": fairshap.ColumnEncoder(),
    "sparse one-hot": make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder=SimpleImputer()
    ),
    "ordinal": make_column_transformer(
        (OrdinalEncoder(encoded_missing_value=-1), words),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    ),
}


@pytest.mark.parametrize("name", PREPROCESSING)
@pytest.mark.parametrize("last", [XGBClassifier(n_estimators=40), RandomForestClassifier(20, random_state=0)])
def test_preprocessing_by_column_is_looked_through(name, last, mixed, monkeypatch):
    X, y = mixed
    model = make_pipeline(PREPROCESSING[name], last).fit(X, y)
    options = {"sensitive": "sex", "privileged": "m"}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))
    together = {**options, "explainer": Explainer(feature_groups={"where": ["town", "income"]})}
    assert_same_values(*both_routes(FrozenEstimator(model), X, some_pairs(2 * N), monkeypatch, **together))


def test_several_values_and_quantities_are_switched_alike(mixed, monkeypatch):
    X, y = mixed
    model = make_pipeline(fairshap.ColumnEncoder(), XGBClassifier(n_estimators=40)).fit(X, y)
    for options in (
        {"sensitive": "job", "privileged": "a"},
        {"sensitive": "age", "privileged": pd.Interval(50, 100)},
        {"sensitive": "member", "privileged": True},
    ):
        trees, calls = both_routes(model, X, some_pairs(2 * N), monkeypatch, **options)
        assert trees.route == "trees"
        assert_allclose(trees.values, calls.values, atol=1e-6)
        assert_allclose(trees.risk, calls.risk, atol=1e-6)


def test_references_and_attributes_beside_the_table(mixed, monkeypatch):
    X, y = mixed
    beside = X.drop(columns="sex")
    model = make_pipeline(fairshap.ColumnEncoder(), XGBClassifier(n_estimators=40))
    model.fit(beside.assign(sex=X["sex"]), y)
    options = {"privileged": "m", "sensitive_features": X["sex"]}
    assert_same_values(*both_routes(model, beside, beside.iloc[::-1], monkeypatch, **options))


def test_every_library_takes_the_same_route(mixed, library):
    X = mixed[0].drop(columns="job")
    model = make_pipeline(fairshap.ColumnEncoder(), XGBClassifier(n_estimators=20)).fit(X, mixed[1])
    options = {"sensitive": "sex", "privileged": "m"}
    elsewhere = explain(model, to_library(X, library), some_pairs(2 * N), **options)
    assert elsewhere.route == "trees"
    assert elsewhere.values.tobytes() == explain(model, X, some_pairs(2 * N), **options).values.tobytes()


class Own(XGBClassifier):
    """A class of the user's that is one of XGBoost's."""


@pytest.mark.parametrize(
    "last",
    [
        Own(n_estimators=20),
        # Some of its features, which come from the encoder, are categories to it.
        HistGradientBoostingClassifier(max_iter=20, categorical_features=[0, 1], random_state=0),
    ],
    ids=["a class of the user's", "categories behind the encoding"],
)
def test_fairshaps_own_encoding_is_read_as_it_is_called(last, mixed, monkeypatch):
    X, y = mixed
    model = make_pipeline(fairshap.ColumnEncoder(), last).fit(X[["sex", "town", "age"]], y)
    options = {"sensitive": "sex", "privileged": "m"}
    routes = both_routes(model, X[["sex", "town", "age"]], some_pairs(2 * N), monkeypatch, **options)
    assert_same_values(*routes)


def test_any_number_of_threads_gives_the_same_bytes(mixed):
    X, y = mixed
    model = make_pipeline(fairshap.ColumnEncoder(), XGBClassifier(n_estimators=20)).fit(X, y)
    options = {"sensitive": "sex", "privileged": "m"}
    runs = [explain(model, X, some_pairs(2 * N), **options, n_jobs=n) for n in (1, 2, 3)]
    assert runs[0].route == "trees"
    for run in runs[1:]:
        assert run.values.tobytes() == runs[0].values.tobytes()
        assert run.risk.tobytes() == runs[0].risk.tobytes()


def running_sums(X):
    return np.cumsum(X, axis=1)


def shifted_by_the_second(X):
    return np.where(X[:, 1:2] > 0.3, X, X + 1)


CALLED = {
    "LGBMClassifier cannot be read as trees": LGBMClassifier(zero_as_missing=True, verbose=-1),
    "a feature of several columns together (0": make_pipeline(
        FunctionTransformer(running_sums), XGBClassifier(n_estimators=5)
    ),
    "a feature of several columns together (0, or others": make_pipeline(
        FunctionTransformer(shifted_by_the_second), XGBClassifier(n_estimators=5)
    ),
}


@pytest.mark.parametrize("reason", CALLED)
def test_what_cannot_be_walked_is_called_and_it_is_said_why(reason, numbers):
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    model = CALLED[reason].fit(X, y)
    rows = np.arange(0, N)
    X[:, 5:] = 0.0
    plan = MatchPlan(2 * N, rows, (rows + N + 1) % (2 * N), np.ones(N), np.zeros(N))
    result = explain(model, X, plan, sensitive=0, privileged=1, explainer=Explainer(max_exact=4))
    assert result.route.startswith("model calls: ")
    assert reason.partition(",")[0] in result.route


def test_too_many_active_players_are_estimated(numbers):
    X, y = numbers
    model = XGBClassifier(n_estimators=20).fit(X, y)
    options = {"sensitive": 0, "privileged": 1, "random_state": 0}
    few = Explainer(max_exact=4, n_permutations=60)
    exact = explain(model, X, some_pairs(2 * N), **options)
    result = explain(model, X, some_pairs(2 * N), **options, explainer=few)
    assert result.route == "trees"
    assert {"exact", "estimated"} < set(result.status)
    estimated = result.status == "estimated"
    assert (result.standard_errors[result.status == "exact"] == 0).all()
    gap = np.abs(result.values - exact.values)[estimated]
    assert 0 < gap.max() < 0.1
    assert (gap <= 6 * result.standard_errors[estimated] + 1e-12).mean() > 0.999
    again = explain(model, X, some_pairs(2 * N), **options, n_jobs=1, explainer=few)
    assert again.values.tobytes() == result.values.tobytes()
    sampled = Explainer(method="permutation", n_permutations=60)
    everything = explain(model, X, some_pairs(2 * N), **options, explainer=sampled)
    assert everything.route == "trees"
    assert_allclose(everything.values.sum(axis=1), everything.risk - everything.reference_risk, atol=1e-12)


def test_more_players_than_bits_are_estimated_alike_by_both_routes(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 161))
    X[:, 0] = np.arange(400) % 2
    y = (X[:, 1:].sum(axis=1) + 8 * X[:, 0] + rng.normal(size=400) > 4).astype(int)
    model = XGBClassifier(n_estimators=500, max_depth=2).fit(X, y)
    rows = np.array([0, 1])
    plan = MatchPlan(400, rows, rows + 3, np.ones(2), np.zeros(2))
    options = {"sensitive": 0, "privileged": 1, "random_state": 0, "explainer": Explainer(n_permutations=30)}
    trees, calls = both_routes(model, X, plan, monkeypatch, **options)
    assert trees.route == "trees"
    assert (trees.status[:2] == "estimated").all()
    assert (trees.values[0] != 0).sum() > 63
    assert_allclose(trees.values[:2].sum(axis=1), (trees.risk - trees.reference_risk)[:2], atol=1e-12)
    assert_allclose(trees.risk, calls.risk, atol=1e-6)
    error = np.hypot(trees.standard_errors, calls.standard_errors)[:2]
    assert (np.abs(trees.values - calls.values)[:2] <= 6 * error + 1e-6).all()


def keep_words(X):
    return X


@pytest.mark.parametrize(
    "head",
    [
        LGBMClassifier(n_estimators=20, verbose=-1, min_data_per_group=5),
        XGBClassifier(n_estimators=20, enable_categorical=True),
        HistGradientBoostingClassifier(max_iter=20, random_state=0, categorical_features="from_dtype"),
    ],
    ids=lambda head: type(head).__name__,
)
def test_categories_that_preprocessing_hands_on_are_walked(head, mixed, monkeypatch):
    X, y = mixed
    X = X.astype({"sex": "category", "town": "category"})
    model = make_pipeline(FunctionTransformer(keep_words), head).fit(X, y)
    options = {"sensitive": "sex", "privileged": "m"}
    assert_same_values(*both_routes(model, X, some_pairs(2 * N), monkeypatch, **options))


def test_the_sampler_goes_by_trees_and_says_so():
    d = datasets.load("compas")
    fs = FairSHAP(XGBClassifier(), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    fs.fit(d.X, d.y)
    assert fs.explanation_.route == "trees"
    assert repr(fs.explanation_) == "Explanation(7214 rows x 9 features: 7214 exact, by trees)"


def test_estimates_stop_when_every_decision_is_clear(numbers, monkeypatch):
    X, y = numbers
    model = XGBClassifier(n_estimators=20).fit(X, y)
    drawn = []
    values = TreeGame.values
    monkeypatch.setattr(
        TreeGame, "values", lambda game, pairs, *rest: drawn.append(len(pairs)) or values(game, pairs, *rest)
    )
    options = {
        "sensitive": 0,
        "privileged": 1,
        "random_state": 0,
        "explainer": Explainer(n_permutations=512, max_exact=2),
    }
    options["threshold"] = 0.05
    result = explain(model, X, some_pairs(2 * N), **options)
    exact = explain(model, X, some_pairs(2 * N), sensitive=0, privileged=1)
    error = result.standard_errors
    estimated = result.status == "estimated"
    assert estimated.sum() > 100
    # 512 orders are drawn in six lots.
    assert 1 < sum(drawn) / estimated.sum() < 4
    clear = np.abs(result.values - 0.05) > 5 * error
    assert 0.8 < clear[estimated].all(axis=1).mean() < 1
    assert ((result.values >= 0.05) == (exact.values >= 0.05))[estimated & clear.all(axis=1)].all()
    again = explain(model, X, some_pairs(2 * N), **options, n_jobs=1)
    assert again.values.tobytes() == result.values.tobytes()
    # What two references of a row decide together is not clear from one of them.
    rows, references = np.repeat(np.arange(N), 2), (np.repeat(np.arange(N), 2) * 3 + np.arange(2 * N)) % N + N
    double = MatchPlan(2 * N, rows, references, np.full(2 * N, 0.5), np.zeros(2 * N))
    drawn.clear()
    result = explain(model, X, double, **options | {"explainer": Explainer(n_permutations=64, max_exact=2)})
    assert sum(drawn) % 3 == 0
    assert (result.status == "estimated").sum() <= sum(drawn) / 3 <= 2 * N
