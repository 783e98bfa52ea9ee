"""The gap game by every route, against plain enumeration over calls of the model."""

from itertools import product
from math import factorial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier, XGBRegressor

from fairshap import (
    ColumnEncoder,
    EditConstraints,
    Explainer,
    FairSHAP,
    Iterative,
    MatchPlan,
    NearestMatcher,
    OptimalSubset,
    Threshold,
    datasets,
    explain,
    match,
    select_edits,
)
from fairshap.attribution import _calls, _explain
from fairshap.exceptions import InputError, ModelError, TargetError
from tests.conftest import LIBRARIES, examples, to_library, to_pandas

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairshap.exceptions.MarginWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
WHO = {"sensitive": "sex", "privileged": "m"}
GAP = Explainer(game="gap")


def people(seed=0, n=60, n_numbers=3):
    """Return a table whose scores depend on the attribute, alone and with the others."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, n_numbers)).round(1), columns=[f"x{k}" for k in range(n_numbers)])
    X.insert(1, "sex", rng.choice(["f", "m"], n))
    X["town"] = rng.choice(["u", "v", "w"], n)
    is_m = (X["sex"] == "m").to_numpy()
    score = X["x0"] * (1 + is_m) - X["x1"] + is_m + (X["town"] == "u") + rng.normal(size=n)
    return X, (score > 0.5).to_numpy().astype(int), score.to_numpy()


def output(model, X):
    """Return the scores of rows, by the model's own methods."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found[:, 1] if method == "predict_proba" else found
    return model.predict(X)


def oracle(model, X, references, sign):
    """Return the Shapley values of the signed score gap by their definition."""
    n = X.shape[1]
    keeps = np.array(list(product([False, True], repeat=n)))
    mixes = {
        name: np.where(keeps[:, k], X[[name]].to_numpy(), references[[name]].to_numpy()).ravel()
        for k, name in enumerate(X)
    }
    v = sign[:, None] * output(model, pd.DataFrame(mixes).astype(X.dtypes)).reshape(len(X), -1)
    at = {tuple(keep): place for place, keep in enumerate(keeps.tolist())}
    values = np.zeros(X.shape)
    for k in range(n):
        for keep, place in at.items():
            if not keep[k]:
                weight = factorial(sum(keep)) * factorial(n - sum(keep) - 1) / factorial(n)
                values[:, k] += weight * (v[:, at[(*keep[:k], True, *keep[k + 1 :])]] - v[:, place])
    return values


def encoded(model):
    return make_pipeline(ColumnEncoder(), model)


def one_hot(model, *steps):
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "town"]),
        remainder=StandardScaler(),
        sparse_threshold=0,
    )
    return make_pipeline(columns, *steps, model)


TREES = {"max_iter": 6, "min_samples_leaf": 3, "random_state": 0}
#: Each route: a model, whether it predicts the quantity, and how it is read.
MODELS = {
    "boosting": (encoded(HistGradientBoostingClassifier(**TREES)), False, "trees"),
    "xgboost": (one_hot(XGBClassifier(n_estimators=6, n_jobs=1)), False, "trees"),
    "forest": (one_hot(RandomForestClassifier(6, random_state=0)), False, "trees"),
    "xgboost regressor": (one_hot(XGBRegressor(n_estimators=6, n_jobs=1)), True, "trees"),
    "boosting regressor": (one_hot(GradientBoostingRegressor(n_estimators=6, random_state=0)), True, "trees"),
    "logistic": (one_hot(LogisticRegression()), False, "weights"),
    "sigmoid": (one_hot(CalibratedClassifierCV(LinearSVC(), cv=2)), False, "weights"),
    "least squares": (one_hot(LinearRegression()), True, "weights"),
    "margin": (one_hot(LinearSVC()), False, "weights"),
    "vote": (
        one_hot(
            VotingClassifier(
                [("a", LogisticRegression()), ("b", HistGradientBoostingClassifier(**TREES))], voting="soft"
            )
        ),
        False,
        "parts",
    ),
    "isotonic": (
        one_hot(
            CalibratedClassifierCV(HistGradientBoostingClassifier(**TREES), cv=2, method="isotonic"),
        ),
        False,
        "parts",
    ),
    "log link": (one_hot(PoissonRegressor()), True, "parts"),
    "network": (
        one_hot(MLPClassifier((3,), max_iter=20, random_state=0)),
        False,
        "model calls on encoded rows",
    ),
}


def fitted(name, seed=0, n=60):
    X, y, score = people(seed, n)
    model, is_quantity, route = MODELS[name]
    return model.fit(X, np.exp(score / 4) if is_quantity else y), X, y, route


@pytest.mark.parametrize("small", [0, np.inf])
@pytest.mark.parametrize("name", MODELS)
def test_every_route_gives_the_values_of_the_definition(name, small, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", small)
    model, X, y, route = fitted(name)
    plan = match(X, y, **WHO)
    found = explain(model, X, plan, explainer=GAP, **WHO)
    assert found.route.startswith("model calls: the table is small" if small else route)
    assert set(found.status) == {"exact"}
    sign = np.where(X["sex"] == "m", 1.0, -1.0)
    rows = np.arange(len(X))
    references = X.iloc[plan.best[rows]].reset_index(drop=True)
    wanted = oracle(model, X.iloc[rows].reset_index(drop=True), references, sign[rows])
    assert_allclose(found.values[rows], wanted, atol=2e-6)
    scores = output(model, X)
    assert_allclose(found.output, scores, atol=1e-6)
    assert_allclose(found.reference_output, scores[plan.best], atol=1e-6)
    assert_allclose(found.gap, sign * (scores - scores[plan.best]), atol=1e-6)
    assert_allclose(found.risk, np.abs(found.gap))
    assert_array_equal(found.reference_risk, 0.0)
    assert_allclose(found.values.sum(axis=1), found.gap, atol=1e-9)


@examples(20)
@given(st.sampled_from(["boosting", "xgboost", "forest", "logistic", "vote"]), st.integers(0, 10**6))
def test_both_people_of_a_pair_see_the_same_gap(name, seed):
    model, X, _, _ = fitted(name, seed)
    sides = [np.flatnonzero(X["sex"] == side)[:8] for side in ("f", "m")]
    k = min(map(len, sides))
    rows, others = np.r_[sides[0][:k], sides[1][:k]], np.r_[sides[1][:k], sides[0][:k]]
    plan = MatchPlan(len(X), rows, others, np.ones(2 * k), np.zeros(2 * k))
    for small in (0, np.inf):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_explain, "_SMALL", small)
            found = explain(model, X, plan, explainer=GAP, **WHO)
        # The game of one is that of the other read backwards.
        assert_allclose(found.values[sides[0][:k]], found.values[sides[1][:k]], atol=1e-9)
        assert_allclose(found.values.sum(axis=1), found.gap, atol=1e-9)
        # What is equal in both adds nothing.
        same = X.iloc[rows].to_numpy() == X.iloc[others].to_numpy()
        assert_array_equal(found.values[rows][same], 0.0)


@pytest.mark.parametrize("small", [0, np.inf])
@pytest.mark.parametrize("name", ["boosting", "logistic", "vote", "network"])
def test_an_attribute_that_the_model_ignores_adds_nothing(name, small, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", small)
    X, y, _ = people()
    columns = make_column_transformer(
        (OneHotEncoder(), ["town"]), ("passthrough", ["x0", "x1"]), remainder="drop", sparse_threshold=0
    )
    model = make_pipeline(columns, MODELS[name][0][-1]).fit(X, y)
    found = explain(model, X, match(X, y, **WHO), explainer=GAP, **WHO)
    sex = list(found.feature_names).index("sex")
    assert_array_equal(found.values[:, sex], 0.0)
    assert np.abs(found.values).max() > 0.01


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_attribute_beside_the_table_makes_the_groups_only(library):
    X, y, _ = people()
    blind, sex = X.drop(columns="sex"), X["sex"]
    model = encoded(HistGradientBoostingClassifier(**TREES)).fit(to_library(blind, library), y)
    # The attribute is in no distance, whether it is in the table or beside it.
    plan = match(X, y, **WHO)
    found = explain(
        model, to_library(blind, library), plan, sensitive_features=sex, privileged="m", explainer=GAP
    )
    assert list(found.feature_names) == list(blind.columns)
    scores = model.predict_proba(to_library(blind, library))[:, 1]
    assert_allclose(found.gap, np.where(sex == "m", 1, -1) * (scores - scores[plan.best]), atol=1e-9)
    fs = FairSHAP(FrozenEstimator(model), privileged="m", explainer=GAP, threshold=0.02)
    fair, _ = fs.fit_resample(to_library(blind, library), y, sensitive_features=sex)
    assert_allclose(fs.explanation_.gap, found.gap)
    assert len(fs.edits_) > 0
    assert list(to_pandas(fair).columns) == list(blind.columns)


def test_fairshap_fits_the_model_that_would_be_deployed():
    X, y, _ = people()
    fs = FairSHAP(privileged="m", explainer=GAP, random_state=0, threshold=0.02, counterfactuals="all")
    with pytest.raises(InputError, match="is not a column of X"):
        fs.fit(X.drop(columns="sex"), y, sensitive_features=X["sex"])
    fs.set_params(counterfactuals=None).fit(X.drop(columns="sex"), y, sensitive_features=X["sex"])
    assert fs.model_.n_features_in_ == X.shape[1] - 1


def test_numbers_are_a_table_and_words_beside_them_too():
    X, y, _ = people()
    numbers = X[["x0", "x1", "x2"]].to_numpy()
    model = LogisticRegression().fit(numbers, y)
    found = explain(
        model,
        numbers,
        match(X, y, **WHO),
        sensitive_features=X["sex"].to_numpy(),
        privileged="m",
        explainer=GAP,
    )
    assert found.values.shape == (60, 3)


def test_a_model_that_was_fitted_without_a_column_of_the_table_is_refused():
    X, y, _ = people()
    model = encoded(HistGradientBoostingClassifier(**TREES)).fit(X.drop(columns="sex"), y)
    with pytest.raises(ModelError, match="give it as sensitive_features"):
        explain(model, X, match(X, y, **WHO), explainer=GAP, **WHO)


def test_several_classes_are_refused():
    X, _, score = people()
    y = np.digitize(score, [-1, 1])
    model = encoded(HistGradientBoostingClassifier(**TREES)).fit(X, y)
    with pytest.raises(ModelError, match="3 classes"):
        explain(model, X, match(X, y, **WHO), explainer=GAP, **WHO)


def test_a_game_that_is_not_known_is_refused():
    X, _, _ = people()
    with pytest.raises(InputError, match="game='gaps'"):
        explain(LogisticRegression(), X, X, explainer=Explainer(game="gaps"), **WHO)


def test_the_risk_game_has_no_gap():
    model, X, y, _ = fitted("boosting")
    with pytest.raises(InputError, match="game='gap'"):
        _ = explain(model, X, match(X, y, **WHO), **WHO).gap


def test_several_references_are_averaged():
    model, X, y, _ = fitted("boosting")
    plan = match(X, y, **WHO, matcher=NearestMatcher(n_neighbors=3))
    found = explain(model, X, plan, explainer=GAP, **WHO)
    scores = output(model, X)
    mean = np.bincount(plan.row, plan.weight * scores[plan.reference])
    assert_allclose(found.gap, np.where(X["sex"] == "m", 1, -1) * (scores - mean), atol=1e-9)
    assert_allclose(found.values.sum(axis=1), found.gap, atol=1e-9)


def test_the_negative_label_turns_the_gap_around():
    model, X, y, _ = fitted("boosting")
    fs = FairSHAP(FrozenEstimator(model), explainer=GAP, **WHO)
    gaps = []
    for positive in (0, 1):
        problem = fs._problem(X, y, positive=positive)
        gaps.append(fs._explain(problem))
    assert_allclose(gaps[0].values, -gaps[1].values)
    assert_allclose(gaps[0].gap, -gaps[1].gap)
    assert_allclose(gaps[0].values.sum(axis=1), gaps[0].gap, atol=1e-9)


def test_the_label_of_the_score_can_be_named():
    model, X, y, _ = fitted("boosting")
    plan = match(X, y, **WHO)
    values = [
        explain(model, X, plan, y=y, explainer=Explainer(game="gap", positive=label), **WHO).values
        for label in (0, 1)
    ]
    assert_allclose(values[0], -values[1])
    with pytest.raises(TargetError, match="the target y is None"):
        explain(model, X, plan, explainer=Explainer(game="gap", positive=0), **WHO)


def test_a_row_without_a_side_has_no_gap():
    model, X, _, _ = fitted("boosting")
    X.loc[3, "sex"] = None
    found = explain(model, X, X.iloc[::-1], explainer=GAP, **WHO)
    assert found.status[3] == "unmatched"
    assert np.isnan(found.gap[3])
    assert np.isfinite(np.delete(found.gap, 3)).all()


@pytest.mark.parametrize("small", [0, np.inf])
@pytest.mark.parametrize("name", ["boosting", "forest", "vote", "network"])
def test_estimates_are_near_the_exact_values_and_say_how_near(name, small, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", small)
    model, X, y, _ = fitted(name)
    plan = match(X, y, **WHO)
    exact = explain(model, X, plan, explainer=GAP, **WHO)
    how = Explainer("permutation", game="gap", n_permutations=40)
    found = explain(model, X, plan, explainer=how, random_state=0, **WHO)
    assert (found.status == "estimated").mean() > 0.4
    assert_allclose(found.values.sum(axis=1), exact.gap, atol=1e-9)
    assert (np.abs(found.values - exact.values) <= 6 * found.standard_errors + 1e-9).all()
    # What decides whether an estimate is clear of the threshold has the sign of the values.
    seen = []

    def is_clear(mean, *_):
        seen.extend(mean.sum(axis=1))
        return np.full(len(mean), fill_value=True)

    monkeypatch.setattr(_calls, "_is_clear", is_clear)
    quick = explain(model, X, plan, explainer=how, random_state=0, threshold=0.05, **WHO)
    assert_allclose(np.sort(seen), np.sort(quick.gap[quick.status == "estimated"]), atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [XGBClassifier(n_jobs=1, max_depth=8), ExtraTreesRegressor(30, random_state=0), LogisticRegression()],
)
def test_many_features_are_exact(model, monkeypatch):
    # More than a chunk of the enumeration, and more than the enumeration of a forest could take.
    monkeypatch.setattr(_explain, "_SMALL", 0)
    rng = np.random.default_rng(0)
    width = 40 if isinstance(model, ExtraTreesRegressor) else 15
    X = rng.normal(size=(300, width))
    X[:, 0] = np.arange(300) % 2
    y = X @ rng.normal(size=width) + X[:, 1] * X[:, 0]
    model.fit(X, y if isinstance(model, ExtraTreesRegressor) else y > 0)
    plan = MatchPlan(300, np.arange(6), np.arange(6) ^ 1, np.ones(6), np.zeros(6))
    found = explain(model, X, plan, explainer=GAP, sensitive=0, privileged=1)
    assert set(found.status[:6]) == {"exact"}
    assert_allclose(found.values[:6].sum(axis=1), found.gap[:6], atol=1e-9)
    assert_allclose(found.values[[0, 2, 4]], found.values[[1, 3, 5]], atol=1e-9)
    how = Explainer("permutation", game="gap", n_permutations=300)
    drawn = explain(model, X, plan, explainer=how, random_state=0, sensitive=0, privileged=1)
    near = 6 * drawn.standard_errors[:6] + 1e-9
    if not isinstance(model, LogisticRegression):
        assert (np.abs(drawn.values[:6] - found.values[:6]) <= near).all()
    else:
        monkeypatch.setattr(_explain, "_SMALL", np.inf)
        called = explain(model, X, plan, explainer=GAP, sensitive=0, privileged=1)
        assert_allclose(found.values[:6], called.values[:6], atol=1e-12)


def test_margins_that_overflow_are_summed(monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    X, y, _ = people()
    model = one_hot(XGBClassifier(n_estimators=60, learning_rate=9, reg_lambda=0, n_jobs=1)).fit(X, y)
    plan = match(X, y, **WHO)
    found = explain(model, X, plan, explainer=GAP, **WHO)
    rows = np.arange(12)
    sign = np.where(X["sex"] == "m", 1.0, -1.0)
    wanted = oracle(model, X.iloc[rows], X.iloc[plan.best[rows]].reset_index(drop=True), sign[rows])
    assert_allclose(found.values[rows], wanted, atol=2e-6)


DATA = datasets.load("german")
OF_DATA = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


@pytest.fixture(scope="module")
def german():
    return FairSHAP(explainer=GAP, random_state=0, **OF_DATA).fit(DATA.X, DATA.y)


def test_the_attribute_is_never_edited(german):
    values = german.explanation_.values[:, list(DATA.X.columns).index(DATA.sensitive)]
    assert (np.abs(values) >= 0.05).any()
    assert DATA.sensitive not in german.edits_.column
    assert len(german.edits_) > 100


def test_the_certificate_is_of_the_gap(german):
    frame = german.certificate_
    after = frame["gap_before"] - frame["sum_phi"] + frame["residual"]
    assert_allclose(after, frame["gap_after"], atol=1e-6)
    assert_allclose(frame["gap_before"], german.explanation_.gap, atol=1e-6)


def test_edits_that_widen_a_gap_are_taken_back(german):
    explained = german.explanation_
    edits = select_edits(explained, constraints=EditConstraints(reject_if="risk_rises"))
    assert 0 < len(edits) < len(german.edits_)
    frame = german.certificate_
    risen = np.flatnonzero(np.abs(frame["gap_after"]) > np.abs(frame["gap_before"]) + 1e-9)
    assert len(risen)
    assert not set(risen) & set(edits.row)


def test_rounds_go_on_while_the_gaps_become_smaller():
    fs = FairSHAP(selector=Iterative(Threshold(0.05), max_rounds=3), explainer=GAP, random_state=0, **OF_DATA)
    fs.fit(DATA.X, DATA.y)
    assert fs.summary_["mean_risk"] == pytest.approx(np.abs(fs.explanation_.gap).mean())
    risks = [one.mean_risk for one in fs.rounds_]
    assert risks == sorted(risks, reverse=True)


def test_what_is_for_the_risk_alone_is_refused(german):
    with pytest.raises(InputError, match="OptimalSubset"):
        select_edits(german.explanation_, selector=OptimalSubset())
    with pytest.raises(InputError, match="report"):
        german.report()


def test_a_frame_has_the_gap_and_the_scores(german):
    frame = german.explanation_.frame()
    assert list(frame.columns)[:5] == ["row", "status", "gap", "score", "reference_score"]
    sign = np.where(DATA.X["sex"] == "male", 1, -1)
    assert_allclose(frame["gap"], sign * (frame["score"] - frame["reference_score"]))
    assert_allclose(frame["score"], german.model_.predict_proba(DATA.X)[:, 1], atol=1e-9)


def test_shap_is_shown_the_way_from_0_to_the_gap(german):
    shown = german.explanation_.to_shap()
    assert_array_equal(shown.base_values, 0.0)
    assert_allclose(shown.values.sum(axis=1), german.explanation_.gap, atol=1e-9)
