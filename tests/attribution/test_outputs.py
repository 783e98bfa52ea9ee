"""More than two classes, and quantities, against plain loops; and the fast routes against the model."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor, XGBRFRegressor

import fairshap
from fairshap import ColumnEncoder, Explainer, MatchPlan, explain, metrics
from fairshap._models import Scorer
from fairshap.attribution import _explain
from tests.conftest import examples

WHO = {"sensitive": 0, "privileged": 1}


def everything_by_loops(model, x, r, n_players):
    """Return the risk of x and the Shapley values of its total variation, from the definitions."""

    def outputs(row):
        return model.predict_proba(np.array([row]))[0].tolist()

    def value(kept):
        mixed = [x[j] if j in kept else r[j] for j in range(len(x))]
        a, b = (outputs([own, *mixed[1:]]) for own in (0.0, 1.0))
        return sum(abs(p - q) for p, q in zip(a, b, strict=True)) / 2

    others = range(1, n_players)
    phi = [0.0] * n_players
    for k in others:
        rest = [j for j in others if j != k]
        for size in range(len(rest) + 1):
            weight = 1 / (len(others) * comb(len(rest), size))
            for kept in combinations(rest, size):
                phi[k] += weight * (value({*kept, k}) - value(set(kept)))
    return value(set(range(n_players))), phi


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_values_of_total_variation_are_those_of_its_definition(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(60, 5))
    X[:, 0] = np.arange(60) % 2
    y = np.digitize(X[:, 1] * (1 + X[:, 0]) + X[:, 2], np.linspace(-1, 1, n_classes - 1))
    model = LogisticRegression().fit(X, y)
    rows = np.arange(8)
    found = explain(model, X[rows], X[rows + 9], **WHO)
    for row in rows:
        risk, phi = everything_by_loops(model, X[row], X[row + 9], 5)
        assert_allclose(found.risk[row], risk, atol=1e-12)
        assert_allclose(found.values[row], phi, atol=1e-12)
    assert np.abs(found.values).max() > 0.01


@given(st.integers(0, 10_000))
@examples(20)
def test_of_two_classes_the_total_variation_is_the_change_of_either(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X[:, 0] = np.arange(40) % 2
    model = GaussianNB().fit(X, X[:, 1] + X[:, 0] > rng.normal(size=40))
    ends = [model.predict_proba(np.column_stack([np.full(40, a), X[:, 1:]])) for a in (0, 1)]
    risk = metrics.discriminative_risk(model, X, reduce=None, **WHO)
    assert_allclose(risk, np.abs(ends[0] - ends[1]).sum(axis=1) / 2, atol=1e-14)
    # To the last bit what it was before there were more classes.
    assert (risk == np.abs(ends[0][:, 1] - ends[1][:, 1])).all()


def some_rows(seed, n, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 0] = np.arange(n) % 2
    X[:, 1:3] = X[:, 1:3].round()
    y = X[:, 1] + X[:, 3] * (1 + X[:, 0]) + X[:, 4] + rng.normal(size=n)
    if missing:
        X[:, 2:][rng.random((n, 4)) < 0.15] = np.nan
    return X, y


def some_pairs(n):
    rows = np.arange(n // 2)
    return MatchPlan(n, rows, rows + n // 2, np.ones(n // 2), np.zeros(n // 2))


def both_routes(model, X, plan, monkeypatch, **options):
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", 0)
        native = explain(model, X, plan, **WHO, **options)
        patch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, X, plan, **WHO, **options)
    assert calls.route == "model calls: the table is small"
    return native, calls


TREES = {
    "xgboost": lambda: XGBRegressor(n_estimators=15),
    "xgboost forest": lambda: XGBRFRegressor(n_estimators=15),
    "xgboost dart": lambda: XGBRegressor(n_estimators=10, booster="dart", rate_drop=0.3),
    "xgboost absolute": lambda: XGBRegressor(n_estimators=15, objective="reg:absoluteerror"),
    "xgboost quantile": lambda: XGBRegressor(
        n_estimators=15, objective="reg:quantileerror", quantile_alpha=0.7
    ),
    "lightgbm": lambda: LGBMRegressor(n_estimators=15, min_child_samples=3, verbose=-1),
    "lightgbm l1": lambda: LGBMRegressor(n_estimators=15, min_child_samples=3, verbose=-1, objective="l1"),
    "tree": lambda: DecisionTreeRegressor(random_state=0),
    "forest": lambda: RandomForestRegressor(10, random_state=0),
    "extra": lambda: ExtraTreesRegressor(10, random_state=0),
    "hist": lambda: HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=3, random_state=0),
    "hist absolute": lambda: HistGradientBoostingRegressor(
        max_iter=15, min_samples_leaf=3, loss="absolute_error", random_state=0
    ),
}


@pytest.mark.parametrize("name", TREES)
@examples(5)
@example(seed=213, scale=1e-3, level=0.0)
@given(
    seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 1.0, 1e5]), level=st.sampled_from([0.0, 7.0])
)
def test_every_family_of_regressors_is_walked_as_it_is_called(name, seed, scale, level):
    X, y = some_rows(seed, 80, missing=True)
    model = TREES[name]().fit(X, scale * (y + level))
    with pytest.MonkeyPatch.context() as monkeypatch:
        trees, calls = both_routes(model, X, some_pairs(80), monkeypatch)
    assert trees.route == "trees"
    # XGBoost's own predictions are numbers of 32 bits.
    atol = (1e-5 if "xgboost" in name else 1e-10) * scale * (1 + level)
    for what in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(trees, what), getattr(calls, what), atol=atol)
    gain = trees.risk - trees.reference_risk
    assert_allclose(trees.values.sum(axis=1), gain, atol=1e-10 * scale * (1 + level))
    # Some trees never ask for the attribute, those of XGBoost where a split gains less than 1e-6; not all.
    assume(np.nanmax(trees.risk) > 0)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
@pytest.mark.parametrize("init", [None, "zero"])
def test_gradient_boosting_is_walked_from_where_it_starts(loss, init, monkeypatch):
    X, y = some_rows(0, 200, missing=False)
    model = GradientBoostingRegressor(n_estimators=20, loss=loss, init=init, random_state=0).fit(X, 1000 * y)
    trees, calls = both_routes(model, X, some_pairs(200), monkeypatch)
    assert trees.route == "trees"
    assert_allclose(trees.values, calls.values, atol=1e-8)
    assert np.nanmax(np.abs(trees.values)) > 1


def test_categories_of_a_frame_are_walked_for_a_regressor_too(monkeypatch):
    X, y = some_rows(1, 400, missing=True)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(
        town=pd.Categorical(np.array(["x", "y", "z", "w"])[np.arange(400) % 4])
    )
    y = y + np.where(frame["town"] == "z", X[:, 0], 0)
    for model in (
        HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype", random_state=0),
        LGBMRegressor(n_estimators=20, verbose=-1),
        XGBRegressor(n_estimators=20, enable_categorical=True),
        make_pipeline(ColumnEncoder(), RandomForestRegressor(10, random_state=0)),
    ):
        model.fit(frame, y)
        monkeypatch.setattr(_explain, "_SMALL", 0)
        trees = explain(model, frame, some_pairs(400), sensitive="a", privileged=1)
        monkeypatch.setattr(_explain, "_SMALL", np.inf)
        calls = explain(model, frame, some_pairs(400), sensitive="a", privileged=1)
        assert trees.route == "trees"
        assert_allclose(trees.values, calls.values, atol=1e-5)


def test_a_large_scale_changes_the_values_by_that_scale(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    X, y = some_rows(3, 300, missing=True)
    small, large = (
        explain(
            DecisionTreeRegressor(random_state=0, max_depth=6).fit(X, scale * y),
            X,
            some_pairs(300),
            threshold=0.5 * scale,
            **WHO,
        )
        for scale in (1.0, 2.0**40)
    )
    assert small.route == large.route == "trees"
    assert (small.status == large.status).all()
    assert_allclose(large.values, 2.0**40 * small.values, rtol=1e-9, atol=2.0**40 * 1e-12)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        Ridge(),
        Lasso(),
        SVR(kernel="linear"),
        make_pipeline(StandardScaler(), LinearRegression(fit_intercept=False)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_risk_of_a_linear_regressor_is_the_same_everywhere(model, monkeypatch):
    X, y = some_rows(4, 200, missing=False)
    model.fit(X, 100 * y)
    weights, calls = both_routes(model, X, some_pairs(200), monkeypatch)
    assert weights.route == "weights"
    assert (np.nan_to_num(weights.values) == 0).all()
    assert_allclose(weights.risk, calls.risk, atol=1e-9)
    assert np.nanmin(weights.risk) > 1e-3
    assert_allclose(calls.values, weights.values, atol=1e-9)


CALLED = {
    "of kind signed_square": LGBMRegressor(n_estimators=5, reg_sqrt=True, verbose=-1),
    "predictions of Ridge": GradientBoostingRegressor(n_estimators=5, init=Ridge(), random_state=0),
    "KNeighborsRegressor is neither a tree ensemble nor a linear model": TransformedTargetRegressor(
        KNeighborsRegressor(), func=np.log, inverse_func=np.exp
    ),
}


@pytest.mark.parametrize("reason", CALLED)
def test_regressors_that_are_no_sums_are_called(reason, monkeypatch):
    X, y = some_rows(5, 200, missing=False)
    model = CALLED[reason].fit(X, np.exp(y))
    native, calls = both_routes(model, X, some_pairs(200), monkeypatch)
    assert native.route.startswith("model calls: ")
    assert reason in native.route
    assert_allclose(native.values, calls.values, atol=1e-12)


def test_rounding_that_drowns_the_trees_is_left_to_the_model(monkeypatch):
    X, y = some_rows(6, 200, missing=False)
    monkeypatch.setattr(_explain, "_SMALL", 0)
    drowned = explain(XGBRegressor(n_estimators=50).fit(X, y + 1e6), X, some_pairs(200), **WHO)
    assert "give an output that differs from its own" in drowned.route
    assert "it rounds its numbers" in drowned.route
    clear = explain(XGBRegressor(n_estimators=50).fit(X, y + 100), X, some_pairs(200), **WHO)
    assert clear.route == "trees"


@pytest.mark.parametrize(
    "model",
    [
        XGBClassifier(n_estimators=5),
        LGBMClassifier(n_estimators=5, verbose=-1),
        HistGradientBoostingClassifier(max_iter=5, random_state=0),
        RandomForestClassifier(5, random_state=0),
        LogisticRegression(),
        CalibratedClassifierCV(LogisticRegression(), cv=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_more_than_two_classes_are_read(model, monkeypatch):
    X, y = some_rows(7, 200, missing=False)
    model.fit(X, np.digitize(y, [-1, 1]))
    native, calls = both_routes(FrozenEstimator(model), X, some_pairs(200), monkeypatch)
    assert native.route == "parts"
    assert_allclose(native.values, calls.values, atol=1e-6)
    assert np.nanmax(native.risk) > 0
    assert np.nanmax(native.risk) <= 1


def test_estimates_of_more_classes_add_up():
    X, y = some_rows(8, 60, missing=False)
    model = GaussianNB().fit(X, np.digitize(y, [-1, 1]))
    exact = explain(model, X, some_pairs(60), **WHO)
    some = explain(model, X, some_pairs(60), random_state=0, **WHO, explainer=Explainer(method="permutation"))
    assert_allclose(np.nansum(some.values, axis=1), np.nansum(exact.values, axis=1), atol=1e-12)
    assert np.nanmax(np.abs(some.values - exact.values)) < 0.05


def test_the_steps_alone_repair_a_quantity():
    X, y = some_rows(9, 300, missing=True)
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    plan = fairshap.match(X, y, **WHO)
    edits = fairshap.select_edits(explain(model, X, plan, **WHO), threshold=0.1)
    assert len(edits) > 0
    assert (edits.phi >= 0.1 - 1e-9).all()


def test_what_a_regressor_s_outputs_are_held_against():
    X, y = some_rows(10, 50, missing=False)
    scorer = Scorer(Ridge().fit(X, y))
    assert scorer.unit(np.array([1.0, 2.1])) == pytest.approx(1.1, rel=1e-5)
    assert scorer.unit(np.array([1.0, 2.0])) == pytest.approx(100.0, rel=1e-5)
    assert Scorer(LogisticRegression().fit(X, y > 0)).unit(np.array([0.2, 0.9])).tolist() == [1.0, 1.0]
