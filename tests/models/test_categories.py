"""Models that read the categories of a frame by themselves: by their trees as by calling them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from xgboost import XGBClassifier

from fairshap import MatchPlan, explain
from fairshap.attribution import _explain

N = 500
OPTIONS = {"sensitive": "sex", "privileged": "m"}


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


def some_pairs():
    rows = np.arange(N)
    return MatchPlan(2 * N, rows, (rows + N + 1) % (2 * N), np.ones(N), np.zeros(N))


def both_routes(model, X, monkeypatch, **options):
    """Return the attributions of 500 pairs by trees and by calls of the model."""
    trees = explain(model, X, some_pairs(), **options or OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, X, some_pairs(), **options or OPTIONS)
    return trees, calls


def assert_same_values(trees, calls):
    assert trees.route == "trees"
    assert calls.route == "model calls: the table is small"
    for name in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(trees, name), getattr(calls, name), atol=1e-6)
    assert np.nanmax(np.abs(trees.values)) > 0.01


@pytest.fixture(scope="module")
def people():
    """A frame of every kind of column that these libraries take, with missing values."""
    rng = np.random.default_rng(0)
    n = 2 * N
    town = rng.choice(["x", "y", "z", "w"], n)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            # In neither the alphabet's order nor that of appearance, with one that is never seen.
            "town": pd.Categorical(town, categories=["w", "z", "nowhere", "y", "x"]),
            "member": rng.random(n) < 0.5,
            "sex": pd.Categorical(np.where(np.arange(n) % 2, "m", "f"), categories=["m", "f"]),
            "number": pd.Categorical(rng.integers(0, 30, n) * 10, categories=np.arange(30)[::-1] * 10),
            "income": rng.normal(size=n),
            "children": pd.array(rng.integers(0, 4, n), dtype="Int64"),
        }
    )
    odds = (X["age"] > 50) + X["member"] + X["income"] + 0.5 * (X["number"].astype(int) % 70 == 0)
    odds += 2 * (np.isin(town, ["x", "z"]) & (X["sex"] == "m"))
    y = (odds + rng.normal(size=n) > 2).astype(int).to_numpy()
    for column in ("income", "town", "number", "children"):
        X.loc[rng.random(n) < 0.1, column] = None
    return X, y


MODELS = {
    "xgboost": XGBClassifier(n_jobs=1, n_estimators=20, enable_categorical=True),
    "xgboost, one category a split": XGBClassifier(
        n_estimators=20, enable_categorical=True, max_cat_to_onehot=50
    ),
    "lightgbm": LGBMClassifier(n_jobs=1, n_estimators=20, verbose=-1, min_data_per_group=5, cat_smooth=1),
    "scikit-learn": HistGradientBoostingClassifier(max_iter=20, random_state=0),
}
IN_PANDAS = pytest.mark.parametrize("name", MODELS)


def has_category_splits(model, X):
    from fairshap._models.trees import import_trees

    ensemble = import_trees(model)
    split = {
        X.columns[f] for f, cuts in zip(ensemble.features, ensemble.thresholds, strict=True) if cuts is None
    }
    return {"town", "number"} <= split


@IN_PANDAS
def test_categories_are_walked_as_they_are_called(name, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(X, y)
    assert has_category_splits(model, X)
    assert_same_values(*both_routes(model, X, monkeypatch))


@IN_PANDAS
def test_a_category_may_be_the_attribute(name, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(X, y)
    full = X.assign(town=X["town"].fillna("x"))
    trees, calls = both_routes(model, full, monkeypatch, sensitive="town", privileged="x")
    assert_same_values(trees, calls)


@IN_PANDAS
def test_categories_in_another_order_are_those_of_the_training(name, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(X, y)
    other = X.assign(
        town=X["town"].cat.reorder_categories(["x", "y", "z", "w", "nowhere"]),
        number=X["number"].cat.reorder_categories(np.arange(30) * 10),
    )
    assert_same_values(*both_routes(model, other, monkeypatch))
    assert_allclose(
        both_routes(model, other, monkeypatch)[0].values, both_routes(model, X, monkeypatch)[0].values
    )


@pytest.mark.parametrize("name", ["lightgbm", "scikit-learn"])
def test_categories_that_the_model_never_saw_are_missing_values(name, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(X, y)
    assert_same_values(*both_routes(model, with_new_town(X), monkeypatch))


def test_xgboost_is_called_with_categories_that_it_never_saw(people):
    X, y = people
    model = MODELS["xgboost"].fit(X, y)
    result = explain(model, with_new_town(X), some_pairs(), **OPTIONS)
    reason = "the column 'town' holds 'new', a category that the model never saw; fit it with that"
    assert result.route == f"model calls: {reason}"


def with_new_town(X):
    return X.assign(town=X["town"].cat.add_categories(["new"]).where(np.arange(2 * N) % 7 > 0, "new"))


@IN_PANDAS
def test_missing_values_that_training_had_none_of(name, people, monkeypatch):
    X, y = people
    complete = X.assign(
        town=X["town"].fillna("w"),
        number=X["number"].fillna(0),
        income=X["income"].fillna(0),
        children=X["children"].fillna(0),
    )
    model = MODELS[name].fit(complete, y)
    assert_same_values(*both_routes(model, X, monkeypatch))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_early_stopping_keeps_the_categories(name, people, monkeypatch):
    X, y = people
    if name == "xgboost":
        model = XGBClassifier(n_jobs=1, n_estimators=200, early_stopping_rounds=3, enable_categorical=True)
        model.fit(X[:N], y[:N], eval_set=[(X[N:], y[N:])], verbose=0)
        assert model.best_iteration < 190
    else:
        model = LGBMClassifier(
            n_jobs=1, n_estimators=200, verbose=-1, early_stopping_round=3, min_data_per_group=5
        )
        model.fit(X[:N], y[:N], eval_set=[(X[N:], y[N:])])
        assert model.best_iteration_ < 190
    assert_same_values(*both_routes(model, X, monkeypatch))


def test_categories_of_the_validation_rows_only(people, monkeypatch):
    X, y = people
    towns = X["town"].astype("object")
    towns[:12] = list("abcdefghijkl")
    X = X.assign(town=towns.astype("category"))
    model = HistGradientBoostingClassifier(
        max_iter=20, early_stopping=True, validation_fraction=0.5, random_state=0
    )
    model.fit(X, y)
    assert_same_values(*both_routes(model, X, monkeypatch))


CHOSEN = {
    "names": ["town", "sex", "member", "children"],
    "a mask": [False, True, True, True, False, False, True],
    "positions": [1, 2, 3, 6],
}


@pytest.mark.parametrize("how", CHOSEN)
def test_chosen_columns_are_categories(how, people, monkeypatch):
    X, y = people
    X = X.astype({"town": "object", "sex": "str", "number": "float"})
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features=CHOSEN[how], random_state=0).fit(
        X, y
    )
    assert_same_values(*both_routes(model, X, monkeypatch))


def shift(X):
    return np.asarray(X) + 3


@pytest.mark.parametrize("step", [FunctionTransformer(shift), "passthrough"], ids=["shifted", "as it is"])
def test_chosen_numbers_are_categories_behind_preprocessing_too(step, people, monkeypatch):
    X, y = people
    X = X.assign(town=X["town"].cat.codes * 7, sex=X["sex"].cat.codes).astype(float)
    model = Pipeline(
        [
            ("step", step),
            (
                "model",
                HistGradientBoostingClassifier(max_iter=20, categorical_features=[1, 4], random_state=0),
            ),
        ]
    )
    before = X.copy()
    assert_same_values(*both_routes(model.fit(X, y), X, monkeypatch, sensitive="sex", privileged=0))
    pd.testing.assert_frame_equal(X, before)


def test_numbers_are_categories_where_xgboost_is_told_so(people, monkeypatch):
    X, y = people
    codes = np.column_stack([X["sex"].cat.codes, X["number"].cat.codes, X["income"], X["town"].cat.codes])
    codes[codes[:, 3] < 0, 3] = np.nan
    model = XGBClassifier(
        n_jobs=1, n_estimators=20, feature_types=["q", "c", "q", "c"], enable_categorical=True
    )
    codes[codes[:, 1] < 0, 1] = 30
    model.fit(codes, y)
    codes[5:200:7, 1], codes[6:200:7, 1] = -1, 1000
    assert_same_values(*both_routes(model, codes, monkeypatch, sensitive=0, privileged=0))


def to_polars(X):
    words = X.astype({"town": "object", "sex": "object", "number": "float"})
    types = {"town": pl.Enum(["w", "z", "y", "x"]), "sex": pl.Categorical}
    return pl.from_pandas(words).with_columns(pl.col(name).cast(kind) for name, kind in types.items())


@pytest.mark.parametrize("name", ["xgboost", "scikit-learn"])
def test_polars_categories_are_walked(name, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(to_polars(X), y)
    assert_same_values(*both_routes(model, to_polars(X), monkeypatch))


def test_a_model_of_one_library_reads_the_frames_of_another(people, monkeypatch):
    X, y = people
    X = X.assign(number=X["number"].astype(float))
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    assert_same_values(*both_routes(model, to_polars(X), monkeypatch))
    complete = pa.Table.from_pandas(X.assign(town=X["town"].fillna("w")))
    assert_same_values(*both_routes(model, complete, monkeypatch))


def test_a_missing_category_that_scikit_learn_reads_as_another_is_noticed(people):
    X, y = people
    X = X.assign(number=X["number"].astype(float))
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    arrow = pa.Table.from_pandas(X)
    result = explain(model, arrow, some_pairs(), **OPTIONS)
    same = np.allclose(model.predict_proba(arrow), model.predict_proba(X))
    assert result.route.startswith("trees" if same else "model calls: the trees of HistGradientBoosting")


def test_ordered_categories_are_numbers_to_lightgbm(people, monkeypatch):
    X, y = people
    X = X.assign(number=X["number"].cat.as_ordered(), town=X["town"].cat.as_ordered())
    model = LGBMClassifier(n_jobs=1, n_estimators=20, verbose=-1).fit(X, y)
    assert_same_values(*both_routes(model, X, monkeypatch))


def test_numbered_categories_are_numbers_to_a_forest(people, monkeypatch):
    X, y = people
    X = X[["age", "number", "member"]].assign(sex=(X["sex"] == "m").astype("category"))
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    assert_same_values(*both_routes(model, X, monkeypatch, sensitive="sex", privileged=True))


@pytest.mark.parametrize("missing", [0.0, 2.0])
def test_a_number_that_is_missing_to_xgboost_beside_categories(missing, people, monkeypatch):
    X, y = people
    model = XGBClassifier(n_jobs=1, n_estimators=20, enable_categorical=True, missing=missing).fit(X, y)
    assert_same_values(*both_routes(model, X, monkeypatch))
