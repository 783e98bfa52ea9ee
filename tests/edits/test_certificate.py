"""The paper's identity, row by row: what the model says of both tables against what the game says."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from fairshap import Edits, Explainer, FairSHAP, FairSHAPClassifier, NearestMatcher, datasets, metrics
from fairshap._kernels.shapley import AllCoalitions
from fairshap.attribution import _explain
from fairshap.attribution._calls import Game
from fairshap.edits._certificate import certify
from tests.conftest import LIBRARIES, examples, to_library, to_pandas

pytestmark = [
    pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning"),
    # Some of the small tables do not let a network or a regression converge, which does not matter here.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

#: Each kind of model, how it is read where the table is not small, and what its numbers allow.
MODELS = {
    "logistic": (LogisticRegression(C=10), "weights", 1e-9),
    "boosting": (
        HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=2, random_state=0),
        "trees",
        1e-9,
    ),
    "forest": (RandomForestClassifier(8, random_state=0), "trees", 1e-6),
    "xgboost": (XGBClassifier(n_estimators=8, n_jobs=1), "trees", 1e-6),
    "neighbours": (KNeighborsClassifier(5), "model calls", 1e-9),
    "network": (MLPClassifier((4,), max_iter=30, random_state=0), "model calls", 1e-9),
}
TAKE_MISSING = ("boosting", "xgboost")


def people_of(seed, n=60, *, missing=True):
    """Return a table of every kind of column, with an attribute of several values that matters."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "who": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 70, n),
            "income": rng.normal(size=n).round(1),
            "town": pd.Categorical(rng.choice(["x", "y", "z"], n)),
            "member": rng.random(n) < 0.5,
            "work": rng.choice(["u", "v", None], n).astype(object),
        }
    )
    score = X["income"] + (X["who"] == "a") * (X["town"] == "x") + (X["age"] > 40) * (X["who"] != "b")
    y = (score + rng.normal(size=n) / 2 > 0.8).to_numpy().astype(int)
    y[:4] = [0, 1, 0, 1]
    if missing:
        X.loc[rng.random(n) < 0.15, "income"] = np.nan
        X.loc[rng.random(n) < 0.15, "town"] = None
    return X, y


def numbers_of(X):
    """Return a table as an array of numbers."""
    codes = {name: pd.factorize(X[name])[0].astype(float) for name in ("who", "town", "member", "work")}
    return X.assign(**codes).to_numpy(dtype=float)


CASES = st.fixed_dictionaries(
    {
        "name": st.sampled_from(sorted(MODELS)),
        "seed": st.integers(0, 10_000),
        "kind": st.sampled_from(["values", "quantity", "beside", "array"]),
        "library": st.sampled_from(LIBRARIES),
        "is_small": st.booleans(),
        "options": st.fixed_dictionaries(
            {
                "threshold": st.sampled_from([0.001, 0.01, 0.05]),
                "matcher": st.builds(
                    NearestMatcher,
                    n_neighbors=st.sampled_from([1, 3]),
                    pairing=st.sampled_from(["pooled", "each"]),
                ),
                "explainer": st.builds(
                    Explainer,
                    comparison=st.sampled_from(["max", "mean", "random"]),
                    max_exact=st.sampled_from([None, 2]),
                    feature_groups=st.sampled_from([None, {"both": ["income", "town"]}]),
                ),
            }
        ),
    }
)


def repair(name, seed, kind, library, is_small, options):
    """Return a fitted repair of a random table, and the table."""
    X, y = people_of(seed, missing=name in TAKE_MISSING)
    fit = {}
    if kind == "array":
        X, who = numbers_of(X), {"sensitive": 0, "privileged": 0}
    elif kind == "quantity":
        who = {"sensitive": "age", "privileged": pd.Interval(30, 50)}
    else:
        who = {"sensitive": "who", "privileged": "a"}
    if kind == "beside":
        fit["sensitive_features"] = X.pop("who")
    X = X if kind == "array" else to_library(X, library)
    model, route, _ = MODELS[name]
    fs = FairSHAP(clone(model), **who, **options, random_state=0)
    if kind in ("array", "quantity"):
        fs.explainer.set_params(feature_groups=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_explain, "_SMALL", np.inf if is_small else 0)
        fs.fit(X, y, **fit)
    assert fs.explanation_.route.startswith("model calls" if is_small else route)
    return fs, X


def gaps_of(certificate):
    """Return by how much the identity is missed in each row that has a reference."""
    c = to_pandas(certificate)
    return (c["dr_after"] - (c["dr_before"] - c["sum_phi"] + c["residual"]))[c["residual"].notna()]


@examples(50)
@given(case=CASES)
def test_the_risk_after_is_that_before_less_the_shapley_values_plus_the_residual(case):
    fs, X = repair(**case)
    atol = MODELS[case["name"]][2]
    frame = fs.certificate_
    assert type(frame) is (pd.DataFrame if isinstance(X, np.ndarray) else type(X))
    c = to_pandas(frame)
    assert list(c.columns) == ["row", "dr_before", "sum_phi", "residual", "dr_after", "distance"]
    assert_array_equal(c["row"], np.arange(len(c)))
    assert_allclose(gaps_of(frame), 0.0, atol=atol)
    edited = np.isin(c["row"], fs.edits_.row)
    unmatched = fs.explanation_.status == "unmatched"
    assert_array_equal(c["residual"].isna(), unmatched)
    assert_array_equal(c["sum_phi"].isna(), unmatched)
    assert (c.loc[~edited & ~unmatched, ["sum_phi", "residual"]] == 0).all(axis=None)
    assert (c.loc[edited, "sum_phi"] >= fs.threshold - 1e-9).all()
    assert_array_equal(c.loc[~edited, "dr_after"], c.loc[~edited, "dr_before"])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("k", [1, 3])
def test_every_kind_of_model_is_certified_by_its_own_route(name, k, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    model, route, atol = MODELS[name]
    X, y = people_of(0, 300, missing=name in TAKE_MISSING)
    who = {"sensitive": "who", "privileged": "a"}
    fs = FairSHAP(model, **who, random_state=0, threshold=0.01, matcher=NearestMatcher(n_neighbors=k))
    X_fair, _ = fs.fit_resample(X, y)
    c = fs.certificate_
    assert fs.explanation_.route.startswith(route)
    assert_allclose(gaps_of(c), 0.0, atol=atol)
    assert len(fs.edits_) > 20
    assert c["residual"].abs().max() > 1e-3
    assert (c["dr_after"] != c["dr_before"]).sum() > 10
    # The risks are those that anybody measures.
    for column, table in (("dr_before", X), ("dr_after", X_fair)):
        assert_allclose(c[column], metrics.discriminative_risk(fs.model_, table, **who, reduce=None))
    # A player counts once, however many of its columns are edited; here each has one.
    expected = np.bincount(fs.edits_.row, fs.edits_.phi, minlength=len(X))
    assert_allclose(c["sum_phi"], expected)
    best = fs.explanation_.match_plan.frame().groupby("row").first()
    assert_array_equal(c["distance"], best["distance"])


def test_a_player_of_several_columns_counts_once():
    X, y = people_of(1, 200)
    fs = FairSHAP(
        sensitive="who",
        privileged="a",
        random_state=0,
        threshold=0.01,
        explainer=Explainer(feature_groups={"both": ["income", "town"]}),
    )
    fs.fit(X, y)
    ledger = fs.edits_.frame()
    ledger["player"] = ledger["column"].replace({"income": "both", "town": "both"})
    once = ledger.drop_duplicates(["row", "player"])
    assert len(once) < len(ledger)
    c = fs.certificate_
    assert_allclose(c["sum_phi"], np.bincount(once["row"], once["phi"], minlength=len(X)))
    assert_allclose(gaps_of(c), 0.0, atol=1e-9)


@examples(10)
@given(seed=st.integers(0, 10_000))
def test_the_residual_is_what_edited_and_kept_players_do_together(seed):
    X, y = people_of(seed, 40)
    fs = FairSHAP(
        HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=2, random_state=0),
        sensitive="who",
        privileged="a",
        threshold=0.002,
        random_state=0,
    ).fit(X, y)
    residual = fs.certificate_["residual"]
    players = fs.explanation_.features
    for row in np.unique(fs.edits_.row)[:5]:
        pair = np.array([row]), fs.explanation_.match_plan.best[[row]]
        game = Game(fs.explanation_.risk_function, players, *pair)
        q = int(game.q[0])
        values, active = game.values(np.array([0]), q, AllCoalitions(q))
        columns = [fs.edits_.column[k] for k in np.flatnonzero(fs.edits_.row == row)]
        edited = sum(1 << k for k in range(q) if players.names[active[0, k]] in columns)
        expected = 0.0
        for coalition in range(1, 1 << q):
            subsets = [s for s in range(1 << q) if s & ~coalition == 0]
            size = coalition.bit_count()
            dividend = sum((-1) ** (size - s.bit_count()) * values[0, s] for s in subsets)
            if coalition & edited:
                expected -= dividend * (coalition & ~edited).bit_count() / size
        assert_allclose(residual[row], expected, atol=1e-10)


@pytest.fixture(scope="module")
def repaired():
    data = datasets.make_biased(400, random_state=0)
    fs = FairSHAP(sensitive=data.sensitive, privileged=data.privileged, random_state=0)
    X_fair, _ = fs.fit_resample(data.X, data.y)
    return fs, data, X_fair


def test_a_table_that_was_not_written_as_the_ledger_says_is_found_out(repaired):
    fs, data, X_fair = repaired
    parts = fs.explanation_, fs.edits_
    assert_allclose(gaps_of(certify(*parts, X_fair).frame()), 0.0, atol=1e-12)
    # One edit is forgotten.
    row, column = fs.edits_.row[0], fs.edits_.column[0]
    tampered = X_fair.copy()
    tampered.loc[row, column] = data.X.loc[row, column]
    gaps = gaps_of(certify(*parts, tampered).frame())
    assert abs(gaps[row]) > 0.01
    assert_allclose(gaps.drop(row), 0.0, atol=1e-12)
    # One more row is changed, which no edit accounts for.
    other = int(np.setdiff1d(np.arange(len(data.X)), fs.edits_.row)[0])
    tampered = X_fair.copy()
    tampered.loc[other] = data.X.loc[row].where(data.X.columns != data.sensitive, data.X.loc[other])
    assert abs(gaps_of(certify(*parts, tampered).frame())[other]) > 1e-3


def test_a_ledger_that_leaves_out_edits_is_certified_for_those_it_has(repaired):
    fs, data, _ = repaired
    kept = np.arange(0, len(fs.edits_), 3)
    lists = {name: [getattr(fs.edits_, name)[k] for k in kept] for name in ("index", "column", "old", "new")}
    arrays = {name: getattr(fs.edits_, name)[kept] for name in ("row", "phi", "reference")}
    edits = Edits(**lists, **arrays)
    c = certify(fs.explanation_, edits, edits.apply(data.X)).frame()
    assert_allclose(gaps_of(c), 0.0, atol=1e-12)
    assert_array_equal(np.flatnonzero(c["sum_phi"]), np.unique(edits.row))


def test_nothing_is_measured_before_it_is_asked_for(repaired):
    data = repaired[1]
    fs = FairSHAP(sensitive=data.sensitive, privileged=data.privileged, random_state=0)
    with pytest.raises(NotFittedError):
        fs.certificate_  # noqa: B018
    fs.fit(data.X, data.y)
    # Showing an estimator looks at its attributes: at all of them from scikit-learn 1.9 on.
    assert "What was found" in fs._repr_html_()
    assert "_evidence" not in vars(fs)
    first = fs.certificate_
    first.loc[:] = 0.0
    assert fs.certificate_["dr_before"].max() > 0.01
    # A new fit has a new certificate.
    fs.set_params(threshold=0.2).fit(data.X, data.y)
    assert fs.certificate_["sum_phi"][fs.certificate_["sum_phi"] > 0].min() >= 0.2 - 1e-9


def test_it_survives_being_stored_and_what_is_done_to_the_table(repaired):
    fs, data, _ = repaired
    X = data.X.copy()
    fresh = clone(fs).set_params(keep_data=True).fit(X, data.y)
    X["more"] = 1
    del X[X.columns[0]]
    stored = pickle.loads(pickle.dumps(fresh))  # noqa: S301
    for one in (fresh, stored, pickle.loads(pickle.dumps(fresh))):  # noqa: S301
        pd.testing.assert_frame_equal(one.certificate_, fs.certificate_)


def test_the_classifier_s_repair_is_certified(repaired):
    fs, data, _ = repaired
    repair = FairSHAP(sensitive=data.sensitive, privileged=data.privileged, random_state=0)
    clf = FairSHAPClassifier(repair, weights=None)
    clf.fit(data.X, data.y)
    pd.testing.assert_frame_equal(clf.repair_.certificate_, fs.certificate_)


def test_a_repair_without_edits_changes_no_risk(repaired):
    data = repaired[1]
    fs = FairSHAP(sensitive=data.sensitive, privileged=data.privileged, threshold=10.0, random_state=0)
    fs.fit(data.X, data.y)
    c = fs.certificate_
    assert_array_equal(c["dr_after"], c["dr_before"])
    assert (c[["sum_phi", "residual"]] == 0).all(axis=None)


def test_a_margin_is_certified_too():
    X, y = people_of(3, 300, missing=False)
    fs = FairSHAP(
        LinearSVC(random_state=0),
        sensitive="age",
        privileged=pd.Interval(30, 50),
        threshold=0.01,
        random_state=0,
    ).fit(X, y)
    assert_allclose(gaps_of(fs.certificate_), 0.0, atol=1e-9)
