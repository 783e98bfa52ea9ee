"""Models whose trees are easily misread: each is walked as it is called, or called and said why."""

import sys

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRFClassifier

from fairshap import MatchPlan, explain
from fairshap._frames import Table
from fairshap._models import NotNativeError, Scorer
from fairshap._models.probing import rank_table
from fairshap._models.trees import Ensemble, Nodes, assemble
from fairshap.attribution import _explain

N = 500
OPTIONS = {"sensitive": 0, "privileged": 1}


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


@pytest.fixture(scope="module")
def numbers():
    """Numbers with zeros and with missing values, and an attribute that matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 6))
    X[:, 0] = np.arange(2 * N) % 2
    X[:, 1:3] = X[:, 1:3].round()
    y = (X[:, 1] + X[:, 3] * (1 + X[:, 0]) + X[:, 4] + rng.normal(size=2 * N) > 0).astype(int)
    X[:, 2:][rng.random((2 * N, 4)) < 0.1] = np.nan
    return X, y


def some_pairs():
    rows = np.arange(N)
    return MatchPlan(2 * N, rows, (rows + N + 1) % (2 * N), np.ones(N), np.zeros(N))


def assert_walked(model, X, monkeypatch, least=0.01):
    trees = explain(model, X, some_pairs(), **OPTIONS)
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, X, some_pairs(), **OPTIONS)
    assert trees.route == "trees"
    assert calls.route == "model calls: the table is small"
    for name in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(trees, name), getattr(calls, name), atol=1e-6)
    assert np.nanmax(np.abs(trees.values)) >= least


def lightgbm(**options):
    return LGBMClassifier(n_jobs=1, n_estimators=20, verbose=-1, **options)


WALKED = {
    "XGBoost, dart": XGBClassifier(n_jobs=1, n_estimators=20, booster="dart", rate_drop=0.5, one_drop=1),
    "XGBoost, a forest": XGBRFClassifier(n_jobs=1, n_estimators=20),
    "XGBoost, boosted forests": XGBClassifier(n_jobs=1, n_estimators=5, num_parallel_tree=4, subsample=0.5),
    "XGBoost, base score": XGBClassifier(n_jobs=1, n_estimators=20, base_score=0.9),
    "XGBoost, several outputs a tree": XGBClassifier(
        n_jobs=1, n_estimators=20, multi_strategy="multi_output_tree"
    ),
    "XGBoost, logistic regression": XGBClassifier(n_jobs=1, n_estimators=20, objective="reg:logistic"),
    "XGBoost, weights": XGBClassifier(n_jobs=1, n_estimators=20, scale_pos_weight=7.0),
    "XGBoost, constraints": XGBClassifier(n_jobs=1, n_estimators=20, monotone_constraints=(0, 1, 0, 1, 0, 0)),
    "XGBoost, deep": XGBClassifier(
        n_jobs=1, n_estimators=5, max_depth=40, min_child_weight=0, reg_lambda=0.01
    ),
    "XGBoost, pruned": XGBClassifier(n_jobs=1, n_estimators=20, gamma=5.0, tree_method="exact"),
    "XGBoost, zeros are missing": XGBClassifier(n_jobs=1, n_estimators=20, missing=0.0),
    "LightGBM, a forest": lightgbm(boosting_type="rf", bagging_fraction=0.5, bagging_freq=1),
    "LightGBM, dart": lightgbm(boosting_type="dart"),
    "LightGBM, goss": lightgbm(data_sample_strategy="goss"),
    "LightGBM, weights": lightgbm(class_weight="balanced"),
    "LightGBM, unbalanced": lightgbm(is_unbalance=True),
    "LightGBM, another slope": lightgbm(sigmoid=2.5),
    "LightGBM, nothing is missing": lightgbm(use_missing=False),
    "LightGBM, constraints": lightgbm(monotone_constraints=[0, 1, 0, 1, 0, 0]),
    "LightGBM, deep": lightgbm(num_leaves=400, min_child_samples=1),
    "histograms, constraints": HistGradientBoostingClassifier(
        max_iter=20, monotonic_cst=[0, 1, 0, 1, 0, 0], random_state=0
    ),
    "histograms, weights": HistGradientBoostingClassifier(
        max_iter=20, class_weight="balanced", random_state=0
    ),
    "histograms, stopped early": HistGradientBoostingClassifier(
        max_iter=200, early_stopping=True, random_state=0
    ),
    "a forest, weights": RandomForestClassifier(20, class_weight="balanced", random_state=0),
    "a forest, constraints": RandomForestClassifier(20, monotonic_cst=[0, 1, 0, 0, 0, 0], random_state=0),
    "extra trees": ExtraTreesClassifier(20, random_state=0),
    "one deep tree": DecisionTreeClassifier(random_state=0),
}


@pytest.mark.parametrize("name", WALKED)
def test_models_out_of_the_ordinary_are_walked(name, numbers, monkeypatch):
    X, y = numbers
    if "constraints" in name and "forest" in name:
        X = np.nan_to_num(X)
    assert_walked(WALKED[name].fit(X, y), X, monkeypatch)


BOOSTED = {
    "exponential loss": GradientBoostingClassifier(n_estimators=20, loss="exponential", random_state=0),
    "from zero": GradientBoostingClassifier(n_estimators=20, init="zero", random_state=0),
    "from zero, exponential loss": GradientBoostingClassifier(
        n_estimators=20, init="zero", loss="exponential", learning_rate=0.3, subsample=0.5, random_state=0
    ),
    "stopped early": GradientBoostingClassifier(n_estimators=200, n_iter_no_change=3, random_state=0),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_gradient_boosting_is_walked_from_where_it_starts(name, numbers, monkeypatch):
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    assert_walked(BOOSTED[name].fit(X, y), X, monkeypatch)


NOTHING = {
    "XGBoost": XGBClassifier(n_jobs=1, n_estimators=3, gamma=1e9),
    "LightGBM": LGBMClassifier(n_jobs=1, n_estimators=3, verbose=-1, min_child_samples=10_000),
    "histograms": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=10_000, random_state=0),
    "a forest": RandomForestClassifier(3, min_samples_leaf=10_000, random_state=0),
    "a tree": DecisionTreeClassifier(min_samples_leaf=10_000, random_state=0),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_model_that_never_splits_has_no_risk(name, numbers, monkeypatch):
    X, y = numbers
    model = NOTHING[name].fit(X, y)
    assert_walked(model, X, monkeypatch, least=0.0)
    assert (explain(model, X, some_pairs(), **OPTIONS).risk[:N] == 0).all()


def test_some_trees_of_a_single_leaf_are_walked(numbers, monkeypatch):
    X, y = numbers
    model = XGBClassifier(n_jobs=1, n_estimators=60, gamma=8.0).fit(X, y)
    leaves = [tree.count("leaf") for tree in model.get_booster().get_dump()]
    assert min(leaves) == 1 < max(leaves)
    assert_walked(model, X, monkeypatch)


CALLED = {
    "zeros are missing values to it (zero_as_missing)": lightgbm(zero_as_missing=True),
    "its leaves are linear models (linear_tree)": lightgbm(linear_tree=True),
    "binary:hinge": XGBClassifier(n_jobs=1, n_estimators=5, objective="binary:hinge"),
    "it starts from the predictions of LogisticRegression": GradientBoostingClassifier(
        n_estimators=5, init=LogisticRegression(), random_state=0
    ),
}


@pytest.mark.parametrize("reason", CALLED)
def test_models_that_are_more_than_trees_are_called(reason, numbers):
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    result = explain(CALLED[reason].fit(X, y), X, some_pairs(), **OPTIONS)
    assert result.route.startswith("model calls: ")
    assert reason in result.route


def test_lightgbm_without_treelite_is_called_and_says_what_to_install(numbers, monkeypatch):
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    monkeypatch.setitem(sys.modules, "treelite", None)
    result = explain(lightgbm().fit(X, y), X, some_pairs(), **OPTIONS)
    assert result.route.startswith(
        "model calls: LGBMClassifier cannot be read as trees: treelite is not inst"
    )
    assert "fairshap[lightgbm]" in result.route


def test_a_number_that_is_missing_to_xgboost_may_stand_in_a_row_that_is_not_compared(numbers, monkeypatch):
    rng = np.random.default_rng(3)
    X, y = np.tile(np.nan_to_num(numbers[0]), (20, 1)), np.tile(numbers[1], 20)
    X[3, 1:] = np.where(rng.random(5) < 0.9, -0.125, X[3, 1:])
    model = XGBClassifier(n_jobs=1, n_estimators=20, missing=-0.125).fit(X, y)
    ranked = rank_table(Scorer(model), Table.read(X))
    used = np.isin(ranked.ensemble.features, np.flatnonzero(X[3] == -0.125))
    assert (ranked.ranks[3, used] == -1).all()
    walked = expit(ranked.ensemble.margins(ranked.ranks)[0])
    assert_allclose(walked, model.predict_proba(X)[:, 1], atol=1e-6)


def test_early_stopping_is_read_from_a_saved_model_too(numbers, monkeypatch, tmp_path):
    X, y = numbers
    model = XGBClassifier(n_jobs=1, n_estimators=200, early_stopping_rounds=3)
    model.fit(X[:N], y[:N], eval_set=[(X[N:], y[N:])], verbose=0)
    model.save_model(tmp_path / "model.json")
    loaded = XGBClassifier()
    loaded.load_model(tmp_path / "model.json")
    assert loaded.best_iteration == model.best_iteration < 190
    assert_walked(loaded, X, monkeypatch)


def test_numbers_are_compared_in_the_precision_of_the_library(monkeypatch):
    rng = np.random.default_rng(0)
    # Numbers so close that some are equal in single precision, some not.
    steps = rng.integers(0, 40, size=(2 * N, 4))
    X = 1 + steps * 2.0**-25
    X[:, 0] = np.arange(2 * N) % 2
    y = (steps[:, 1] + steps[:, 2] * (1 + X[:, 0]) > 50).astype(int)
    for model in (
        ExtraTreesClassifier(20, random_state=0),
        XGBClassifier(n_jobs=1, n_estimators=20),
        lightgbm(),
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
    ):
        assert_walked(model.fit(X, y), X, monkeypatch)


def test_a_rare_value_that_libraries_read_differently_is_compared(numbers, monkeypatch):
    """A missing value in one row of many: without that row nothing would be noticed."""
    X, y = np.tile(np.nan_to_num(numbers[0]), (20, 1)), np.tile(numbers[1], 20)
    model = lightgbm().fit(X, y)
    X[7, 3] = np.nan
    assert rank_table(Scorer(model), Table.read(X)).ranks[7].min() == -1
    rank = Ensemble.rank
    monkeypatch.setattr(Ensemble, "rank", lambda *given: rank(*given[:-1], np.nan_to_num(given[-1], nan=1e9)))
    with pytest.raises(NotNativeError, match=r"differs from its own.*3 is missing: put an imputer"):
        rank_table(Scorer(model), Table.read(X))


def test_a_category_that_is_split_as_a_number_too_is_not_read():
    nodes = Nodes(
        roots=np.array([0]),
        left=np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        feature=np.zeros(5, dtype=np.int64),
        threshold=np.zeros(5),
        default_left=np.zeros(5, dtype=bool),
        value=np.zeros(5),
        category=np.array([1]),
        goes_left=np.ones((1, 2), dtype=bool),
    )
    with pytest.raises(NotNativeError, match="as a number and as a category"):
        assemble(nodes, np.float64)
    with pytest.raises(NotNativeError, match="no trees"):
        assemble(nodes._replace(left=np.array([1, 0, -1, -1, -1])), np.float64)
    with pytest.raises(NotNativeError, match="the model has no trees"):
        assemble(nodes._replace(roots=np.empty(0, dtype=np.int64)), np.float64)
