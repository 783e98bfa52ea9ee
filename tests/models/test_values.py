"""Preprocessing by column is given every value once: what that gives against transforming the whole table."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler
from xgboost import XGBClassifier

from fairshap._frames import Table
from fairshap._models import probing
from fairshap._models.linear import column_terms
from fairshap._models.probing import condense, rank_features, to_numbers
from fairshap._models.trees import import_trees

N = 3000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "town": rng.choice([f"town {k}" for k in range(30)], N).astype(object),
        "age": rng.integers(18, 90, N).astype(float),
        "hours": rng.integers(0, 20, N),
        "constant": np.ones(N),
    })  # fmt: skip
    X.loc[rng.random(N) < 0.1, ["age"]] = np.nan
    X.loc[rng.random(N) < 0.1, ["town"]] = np.nan
    y = (X["hours"] + rng.normal(size=N) + X["age"].fillna(60) / 20 > 12).astype(int)
    return X, y


class Counting:
    """A step that counts the rows it is given."""

    def __init__(self, step):
        self.step, self.n = step, 0

    def transform(self, X):
        self.n += len(X)
        return self.step.transform(X)


def before(is_sparse):
    return make_column_transformer(
        (OneHotEncoder(), ["town"]),
        ("passthrough", ["age", "constant"]),
        (SplineTransformer(), ["hours"]),
        sparse_threshold=int(is_sparse),
    )


@pytest.mark.parametrize("cells", [probing.ENCODED_CELLS, 500])
@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize("kind", [XGBClassifier, partial(LGBMClassifier, verbose=-1)])
def test_trees_see_what_they_see_of_the_whole_table(kind, is_sparse, cells, table, monkeypatch):
    monkeypatch.setattr(probing, "ENCODED_CELLS", cells)
    X, y = table
    step = Counting(before(is_sparse).fit(X))
    encoded = step.step.transform(X)
    model = kind(n_estimators=10, random_state=0).fit(encoded, y)
    ensemble = import_trees(model)
    ranked = rank_features([step], model, ensemble, Table.read(X))
    # To XGBoost a number that is not stored is missing.
    whole = to_numbers(encoded, np.nan if kind is XGBClassifier else 0.0)
    places = np.arange(len(ensemble.features))
    assert_array_equal(ranked.ranks, ensemble.rank(places, whole[:, ensemble.features]))
    assert step.n < N / 5


@pytest.mark.parametrize("is_sparse", [True, False])
def test_columns_whose_values_are_known_are_not_transformed_again(is_sparse, table, monkeypatch):
    X, y = table
    X = X.assign(income=np.random.default_rng(1).normal(size=N))
    step = make_column_transformer(
        (OneHotEncoder(), ["town"]),
        ("drop", ["constant"]),
        (StandardScaler(), ["age", "income"]),
        remainder="passthrough",
        sparse_threshold=int(is_sparse),
    ).fit(X)
    encoded = step.transform(X)
    model = LGBMClassifier(n_estimators=10, random_state=0, verbose=-1).fit(encoded, y)
    rows, transform = [], OneHotEncoder.transform
    monkeypatch.setattr(
        OneHotEncoder, "transform", lambda own, X: [rows.append(len(X)), transform(own, X)][1]
    )
    monkeypatch.setattr(probing, "ENCODED_CELLS", 500 * encoded.shape[1])
    ensemble = import_trees(model)
    ranked = rank_features([step], model, ensemble, Table.read(X))
    places = np.arange(len(ensemble.features))
    assert_array_equal(ranked.ranks, ensemble.rank(places, to_numbers(encoded)[:, ensemble.features]))
    assert sum(rows) < N / 2


@pytest.mark.parametrize("is_sparse", [True, False])
def test_weights_get_what_they_get_of_the_whole_table(is_sparse, table):
    X, y = table
    X = X.fillna({"age": 50.0})
    step = Counting(before(is_sparse).fit(X))
    encoded = step.step.transform(X)
    model = LogisticRegression(max_iter=1000).fit(encoded, y)
    terms, constants = column_terms([step], model, Table.read(X))
    assert_allclose(terms[0].sum(axis=1) + constants, model.decision_function(encoded), atol=1e-12)
    assert step.n < N / 5


def test_a_missing_value_is_a_value_that_comes_last():
    X = pd.DataFrame({"a": [np.nan, 2.0, 1.0, 2.0, np.nan], "b": ["x", None, "y", None, "x"]})
    values, which = condense(Table.read(X))
    assert [rows.tolist() for rows in values] == [[1, 2, 0], [0, 2, 1]]
    assert [codes.tolist() for codes in which] == [[2, 0, 1, 0, 2], [0, 2, 1, 2, 0]]
