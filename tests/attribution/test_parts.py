"""Models that are made of models: walking their parts against calling them."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.testing import assert_allclose
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier, XGBRegressor

from fairshap import Explainer, MatchPlan, OptimalSubset, explain, select_edits
from fairshap._models import Risk, Scorer
from fairshap._models.encoded import EncodedRisk
from fairshap._problem import Problem
from fairshap.attribution import _explain

N = 300
SEEDED = {"n_estimators": 15, "random_state": 0}
CATBOOST = {
    "iterations": 15,
    "random_seed": 0,
    "verbose": 0,
    "allow_writing_files": False,
    "thread_count": 1,
}


@pytest.fixture(autouse=True)
def no_table_is_small(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)


@pytest.fixture(scope="module")
def table():
    """Numbers of few and of many values, with an attribute that matters, and what to predict of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * N, 6))
    X[:, 0] = np.arange(2 * N) % 2
    X[:, 1:3] = X[:, 1:3].round()
    score = X[:, 1] + X[:, 3] * (1 + X[:, 0]) + 0.5 * X[:, 0] + X[:, 4] + rng.normal(size=2 * N)
    targets = {
        "two": (score > 0).astype(int),
        "three": np.digitize(score, [-1, 1]),
        "rate": np.exp(score / 3),
    }
    with_missing = X.copy()
    with_missing[:, 2:][rng.random((2 * N, 4)) < 0.1] = np.nan
    return X, with_missing, targets


def some_pairs():
    rows = np.arange(N)
    return MatchPlan(2 * N, rows, (rows + N + 1) % (2 * N), np.ones(N), np.zeros(N))


def assert_same(model, X, monkeypatch, route="parts", atol=1e-6, **options):
    """Explain a fitted model by its parts and by calls, and compare."""
    options = {"sensitive": 0, "privileged": 1} | options
    ours = explain(model, X, some_pairs(), **options)
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        called = explain(model, X, some_pairs(), **options)
    assert ours.route.startswith(route)
    assert np.nanmax(np.abs(called.values)) > 1e-3
    for name in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(ours, name), getattr(called, name), atol=atol * max(1, called.unit))
    return ours


def xgboost(**options):
    return XGBClassifier(**SEEDED | options)


def forest():
    return RandomForestClassifier(**SEEDED)


# The target, whether values may be missing, and the model.
COMPOSED = {
    "XGBoost, 3 classes": ("three", True, lambda: xgboost()),
    "LightGBM, 3 classes": ("three", True, lambda: LGBMClassifier(verbose=-1, **SEEDED)),
    "forest, 3 classes": ("three", True, forest),
    "bag of trees, 3 classes": ("three", True, lambda: BaggingClassifier(max_features=4, **SEEDED)),
    "histogram boosting, 3 classes": (
        "three",
        True,
        lambda: HistGradientBoostingClassifier(max_iter=15, random_state=0),
    ),
    "gradient boosting, 3 classes": ("three", False, lambda: GradientBoostingClassifier(**SEEDED)),
    "CatBoost, 3 classes": ("three", True, lambda: CatBoostClassifier(**CATBOOST)),
    "logistic regression, 3 classes": ("three", False, LogisticRegression),
    "bag of XGBoost": (
        "two",
        True,
        lambda: BaggingClassifier(xgboost(), n_estimators=3, max_features=5, random_state=0),
    ),
    "bag of logistic regressions": (
        "two",
        False,
        lambda: BaggingClassifier(LogisticRegression(), n_estimators=3, max_features=5, random_state=0),
    ),
    "calibrated XGBoost": ("two", True, lambda: CalibratedClassifierCV(xgboost(), cv=3)),
    "calibrated XGBoost, 3 classes": ("three", True, lambda: CalibratedClassifierCV(xgboost(), cv=3)),
    # Steep where two scores are close: there a rounding of XGBoost's 32 bits shows.
    "calibrated XGBoost, isotonic": (
        "two",
        True,
        lambda: CalibratedClassifierCV(xgboost(n_estimators=60), cv=3, method="isotonic"),
    ),
    "calibrated XGBoost, isotonic, 3 classes": (
        "three",
        True,
        lambda: CalibratedClassifierCV(xgboost(n_estimators=60), cv=3, method="isotonic"),
    ),
    "calibrated support vectors, isotonic": (
        "two",
        False,
        lambda: CalibratedClassifierCV(LinearSVC(random_state=0), cv=3, method="isotonic"),
    ),
    "calibrated forest, isotonic": (
        "two",
        True,
        lambda: CalibratedClassifierCV(forest(), cv=3, method="isotonic"),
    ),
    "calibrated gradient boosting": (
        "two",
        False,
        lambda: CalibratedClassifierCV(GradientBoostingClassifier(loss="exponential", **SEEDED), cv=3),
    ),
    "calibrated AdaBoost": (
        "two",
        False,
        lambda: CalibratedClassifierCV(
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **SEEDED), cv=3
        ),
    ),
    "calibrated pipeline in a pipeline": (
        "two",
        True,
        lambda: make_pipeline(
            StandardScaler(),
            CalibratedClassifierCV(
                make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=10, random_state=0)),
                cv=3,
            ),
        ),
    ),
    "soft vote": (
        "two",
        True,
        lambda: VotingClassifier([("x", xgboost()), ("f", forest())], voting="soft", weights=[2, 1]),
    ),
    "soft vote, 3 classes": (
        "three",
        True,
        lambda: VotingClassifier([("x", xgboost()), ("f", forest())], voting="soft"),
    ),
    "soft vote with logistic regression": (
        "two",
        False,
        lambda: VotingClassifier(
            [("x", xgboost()), ("l", make_pipeline(StandardScaler(), LogisticRegression()))], voting="soft"
        ),
    ),
    "stack": ("two", True, lambda: StackingClassifier([("x", xgboost()), ("f", forest())], cv=3)),
    "stack, 3 classes": (
        "three",
        False,
        lambda: StackingClassifier([("x", xgboost()), ("g", GradientBoostingClassifier(**SEEDED))], cv=3),
    ),
    "stack with a final forest": (
        "two",
        False,
        lambda: StackingClassifier(
            [("g", GradientBoostingClassifier(**SEEDED)), ("f", forest())], forest(), cv=3
        ),
    ),
    "XGBoost, Poisson": ("rate", True, lambda: XGBRegressor(objective="count:poisson", **SEEDED)),
    "XGBoost, gamma": ("rate", True, lambda: XGBRegressor(objective="reg:gamma", **SEEDED)),
    "LightGBM, Poisson": ("rate", True, lambda: LGBMRegressor(objective="poisson", verbose=-1, **SEEDED)),
    "histogram boosting, Poisson": (
        "rate",
        True,
        lambda: HistGradientBoostingRegressor(loss="poisson", max_iter=15, random_state=0),
    ),
    "CatBoost, Poisson": ("rate", True, lambda: CatBoostRegressor(loss_function="Poisson", **CATBOOST)),
    "Poisson regression": ("rate", False, PoissonRegressor),
    "trees of a logarithm": (
        "rate",
        True,
        lambda: TransformedTargetRegressor(RandomForestRegressor(**SEEDED), func=np.log, inverse_func=np.exp),
    ),
    "vote of regressors": (
        "rate",
        True,
        lambda: VotingRegressor([("x", XGBRegressor(**SEEDED)), ("f", RandomForestRegressor(**SEEDED))]),
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_parts_give_what_calls_give(name, table, monkeypatch):
    target, may_miss, make = COMPOSED[name]
    X = table[may_miss]
    model = make().fit(X, table[2][target])
    assert_same(model, X, monkeypatch)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), **SEEDED),
        lambda: BaggingClassifier(max_features=4, **SEEDED),
        lambda: CatBoostClassifier(**CATBOOST),
        lambda: GridSearchCV(xgboost(), {"max_depth": [2, 3]}, cv=2),
        lambda: FixedThresholdClassifier(xgboost(), threshold=0.3),
        lambda: TunedThresholdClassifierCV(xgboost(), cv=2),
        lambda: make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), xgboost())),
    ],
)
def test_one_ensemble_behind_wrappers_is_walked(make, table, monkeypatch):
    X = table[0]
    assert_same(make().fit(X, table[2]["two"]), X, monkeypatch, route="trees")


def test_a_bag_of_regression_trees_is_walked(table, monkeypatch):
    X = table[1]
    assert_same(BaggingRegressor(**SEEDED).fit(X, table[2]["rate"]), X, monkeypatch, route="trees")


def mlp():
    return MLPClassifier((5,), max_iter=30, random_state=0)


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::fairshap.exceptions.MarginWarning"
)
@pytest.mark.parametrize(
    "steps",
    [
        # A pipeline begins with an encoder whose table is sparse, or else dense.
        [MaxAbsScaler(), mlp()],
        [MaxAbsScaler(), KNeighborsClassifier()],
        [mlp()],
        [SVC()],
        [KNeighborsClassifier()],
        [PCA(3), xgboost()],
        [PolynomialFeatures(), LogisticRegression(max_iter=300)],
        [StandardScaler(with_mean=False), PolynomialFeatures(), StandardScaler(), mlp()],
    ],
)
def test_what_cannot_be_read_is_called_on_encoded_rows(steps, table, monkeypatch):
    X = pd.DataFrame(table[0], columns=list("abcdef"))
    X["b"] = X["b"].astype(str)
    before = make_column_transformer(
        (OneHotEncoder(), ["b"]),
        (StandardScaler(), list("acdef")),
        sparse_threshold=float(isinstance(steps[0], MaxAbsScaler)),
    )
    pipeline = make_pipeline(before, *steps).fit(X, table[2]["two"])
    with monkeypatch.context() as patch:
        # What is transformed once does not see a coalition.
        risk = Risk(Scorer(pipeline), Problem.read(X, sensitive="a", privileged=1))
        encoded = EncodedRisk(risk)
        patch.setattr(before, "transform", None)
        rows = np.arange(4)
        mixed = encoded.of_mixes([rows, rows + 1, *[rows] * 4], rows)
    assert_allclose(mixed, risk.of_mixes([rows, rows + 1, *[rows] * 4], rows), atol=1e-6)
    assert_same(pipeline, X, monkeypatch, route="model calls on encoded rows", sensitive="a")


def with_ratio(X):
    return np.column_stack([X[:, 0], X[:, 1], X[:, 2], X[:, 3] / (1 + X[:, 4] ** 2), X[:, 4:]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("head", "route"),
    [
        (xgboost(), "trees"),
        (LogisticRegression(), "weights"),
        (CalibratedClassifierCV(xgboost(), cv=2), "parts"),
        (mlp(), "model calls on encoded rows"),
    ],
)
def test_columns_of_one_feature_are_taken_as_one_player(head, route, table, monkeypatch):
    X = table[0]
    model = make_pipeline(FunctionTransformer(with_ratio), head).fit(X, table[2]["two"])
    alone = explain(model, X, some_pairs(), sensitive=0, privileged=1)
    assert alone.route.startswith("model calls: ")
    assert alone.route.endswith(
        "Explainer(feature_groups={'3+4': [3, 4]}) takes them as one, which is faster"
    )
    assert_same(model, X, monkeypatch, route=route, explainer=Explainer(feature_groups={"ratio": [3, 4]}))


def test_a_feature_of_the_attribute_is_not_offered_as_a_player(table):
    model = make_pipeline(FunctionTransformer(lambda X: X + X[:, [0]]), xgboost())
    route = explain(
        model.fit(table[0], table[2]["two"]), table[0], some_pairs(), sensitive=0, privileged=1
    ).route
    assert "feature_groups" not in route
    assert "make that feature without it" in route


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_that_are_mixed_are_called_raw(table, monkeypatch):
    mix = FunctionTransformer(lambda X: X + X[:, ::-1])
    model = make_pipeline(mix, MLPClassifier((5,), max_iter=30, random_state=0)).fit(
        table[0], table[2]["two"]
    )
    explanation = assert_same(model, table[0], monkeypatch, route="model calls: ")
    assert "encoded" not in explanation.route


@pytest.mark.parametrize(
    "head", [XGBClassifier(**SEEDED), LGBMClassifier(verbose=-1, **SEEDED), LogisticRegression()]
)
def test_a_sparse_matrix_is_read_as_the_model_reads_it(head, table, monkeypatch):
    # Many zeros among the numbers: XGBoost takes those that are not stored for missing values.
    X = pd.DataFrame(table[0], columns=list("abcdef"))
    X["c"] = np.arange(2 * N) % 40
    before = make_column_transformer(
        (OneHotEncoder(), ["c"]),
        (SplineTransformer(), ["e", "f"]),
        ("passthrough", list("abd")),
        sparse_threshold=1,
    )
    model = make_pipeline(before, head).fit(X, table[2]["two"])
    assert issparse(before.transform(X))
    route = "weights" if isinstance(head, LogisticRegression) else "trees"
    assert_same(model, X, monkeypatch, route=route, sensitive="a")


def test_estimates_and_subsets_go_through_the_parts(table, monkeypatch):
    X = table[1]
    model = CalibratedClassifierCV(xgboost(), cv=2).fit(X, table[2]["two"])
    who = {"sensitive": 0, "privileged": 1, "random_state": 0}
    sampled = explain(
        model, X, some_pairs(), explainer=Explainer(method="permutation", n_permutations=512), **who
    )
    exact = explain(model, X, some_pairs(), **who)
    assert sampled.route == exact.route == "parts"
    assert "estimated" in sampled.status
    assert_allclose(sampled.values, exact.values, atol=0.02)
    edits = select_edits(exact, selector=OptimalSubset(0.02))
    with monkeypatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf)
        called = select_edits(explain(model, X, some_pairs(), **who), selector=OptimalSubset(0.02))
    assert len(edits) > 10
    assert edits.frame().drop(columns="phi").equals(called.frame().drop(columns="phi"))


def test_the_result_does_not_depend_on_threads(table):
    X = table[1]
    model = BaggingClassifier(xgboost(), n_estimators=2, random_state=0).fit(X, table[2]["two"])
    one, two = (explain(model, X, some_pairs(), sensitive=0, privileged=1, n_jobs=n) for n in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()


class Distance(ClassifierMixin, BaseEstimator):
    """A classifier that cannot be read, and that takes missing values."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        size = np.nan_to_num(X, nan=2.0)
        odds = np.exp(-(size[:, 0] + 1) * np.abs(size).sum(axis=1) / 10)
        return np.column_stack([1 - odds, odds])


def with_a_rare_gap(X):
    # Missing in one row of the whole table, which is none of those that are tried.
    gap = np.zeros(len(X))
    if len(X) == 2 * N:
        gap[2 * N // 3 + 1] = np.nan
    return np.column_stack([X, gap])


def test_a_feature_that_is_missing_where_nobody_tried_is_noticed(table):
    model = make_pipeline(FunctionTransformer(with_a_rare_gap), Distance()).fit(table[0], table[2]["two"])
    route = explain(model, table[0], some_pairs(), sensitive=0, privileged=1).route
    assert route.startswith("model calls: Distance is neither")
    assert "encoded" not in route
