"""Recipes through the estimators: selectors, rounds and counterfactuals end to end."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

from fairshap import (
    Budget,
    EditConstraints,
    FairSHAP,
    FairSHAPClassifier,
    FairSHAPRegressor,
    Iterative,
    NearestMatcher,
    OptimalSubset,
    Threshold,
    datasets,
    metrics,
)
from fairshap._models import fit_model
from fairshap.exceptions import InputError, NothingToRepairWarning, WeightsWarning
from tests.conftest import to_library, to_pandas

DATA = datasets.load("german")
X, Y = DATA.X, DATA.y
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
#: Retraining on the repaired table and nothing else.
PLAIN = {"weights": None, "drop_sensitive": False}


def repair(X=X, y=Y, **params):
    fs = FairSHAP(HistGradientBoostingClassifier(random_state=0), **WHO, **params, random_state=0)
    return fs, *fs.fit_resample(X, y)


def test_the_default_is_the_papers_threshold():
    fs, X_fair, _ = repair()
    assert len(X_fair) == len(X)
    assert (fs.edits_.phi >= 0.05 - 1e-9).all()
    assert fs.sample_weight_ is None
    assert len(fs.counterfactual_of_) == 0
    assert len(fs.rounds_) == 1


def test_counterfactuals_of_the_edited_rows_follow_the_rows():
    fs, X_fair, y = repair(counterfactuals="edited")
    edited = np.unique(fs.edits_.row)
    assert_array_equal(fs.counterfactual_of_, edited)
    assert len(X_fair) == len(y) == len(fs.sample_weight_) == len(X) + len(edited)
    twins, rows = X_fair.iloc[len(X) :], X_fair.iloc[edited]
    assert (twins[DATA.sensitive].to_numpy() != rows[DATA.sensitive].to_numpy()).all()
    rest = [c for c in X.columns if c != DATA.sensitive]
    pd.testing.assert_frame_equal(twins[rest].reset_index(drop=True), rows[rest].reset_index(drop=True))
    assert_array_equal(y[len(X) :], Y.to_numpy()[edited])
    assert_allclose(fs.sample_weight_[edited], 0.5)
    assert_allclose(fs.sample_weight_.sum(), len(X))


def test_counterfactuals_of_all_rows_leave_the_attribute_without_use():
    _, X_fair, _ = repair(counterfactuals="all")
    model = LogisticRegression(max_iter=5000)
    retrained = FairSHAPClassifier(
        FairSHAP(model, **WHO, counterfactuals="all", random_state=0), **PLAIN
    ).fit(X, Y)
    before = FairSHAPClassifier(FairSHAP(model, **WHO, counterfactuals=None, random_state=0), **PLAIN).fit(
        X, Y
    )
    risks = [metrics.discriminative_risk(m, X, **WHO) for m in (before, retrained)]
    assert risks[1] < 1e-3 < risks[0]
    assert len(X_fair) == 2 * len(X)


@pytest.mark.parametrize("selector", [Threshold(), Iterative()])
def test_counterfactuals_of_the_rows_at_risk_are_those_of_the_model_that_is_explained_first(selector):
    fs, X_fair, _ = repair(counterfactuals=0.1, selector=selector)
    risk = metrics.discriminative_risk(fs.model_, X, **WHO, reduce=None)
    at_risk = np.flatnonzero(risk >= 0.1)
    assert 0 < len(at_risk) < len(X)
    assert set(at_risk.tolist()) != set(np.unique(fs.edits_.row).tolist())
    assert_array_equal(fs.counterfactual_of_, at_risk)
    assert len(X_fair) == len(X) + len(at_risk)
    assert_allclose(fs.sample_weight_[at_risk], 0.5)


def test_counterfactuals_of_all_rows_are_those_of_any_risk():
    X_all, X_any = (repair(counterfactuals=augment)[1] for augment in ("all", 1e-300))
    n_none = len(X_all) - len(X_any)
    assert n_none == (metrics.discriminative_risk(repair()[0].model_, X, **WHO, reduce=None) == 0).sum()


def test_counterfactuals_of_rows_at_risk_without_an_edit_are_no_reason_to_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingToRepairWarning)
        fs, _, _ = repair(threshold=np.inf, counterfactuals=0.1)
    assert len(fs.edits_) == 0 < len(fs.counterfactual_of_)
    with pytest.warns(NothingToRepairWarning, match=r"no row has a risk of 0.999 or more\."):
        repair(threshold=np.inf, counterfactuals=0.999)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_twins_keep_the_type_of_the_table(library):
    given = to_library(X, library)
    fs, X_fair, _ = repair(X=given, counterfactuals="edited")
    assert type(X_fair) is type(given)
    sexes = to_pandas(X_fair)[DATA.sensitive].astype(str).to_numpy()
    assert len(fs.counterfactual_of_) > 0
    assert (sexes[len(X) :] != sexes[fs.counterfactual_of_]).all()


def test_weights_of_the_user_are_shared_by_twins():
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    fs = FairSHAP(
        HistGradientBoostingClassifier(random_state=0), **WHO, counterfactuals="all", random_state=0
    )
    fs.fit_resample(X, Y, sample_weight=weight)
    assert_allclose(fs.sample_weight_, np.concatenate([weight / 2, weight / 2]))


def test_rounds_lower_the_risk_and_never_edit_a_cell_twice():
    fs, X_fair, _ = repair(selector=Iterative(max_rounds=3))
    once, X_once, _ = repair()
    risks = [r.mean_risk for r in fs.rounds_]
    assert len(risks) > 1
    assert risks == sorted(risks, reverse=True)
    assert len(fs.edits_) > len(once.edits_)
    cells = list(zip(fs.edits_.row, fs.edits_.column, strict=True))
    assert len(set(cells)) == len(cells)
    pd.testing.assert_frame_equal(fs.edits_.apply(X), X_fair)
    models = [fit_model(HistGradientBoostingClassifier(random_state=0), T, Y, {}) for T in (X_once, X_fair)]
    risks = [metrics.discriminative_risk(model, X, **WHO) for model in models]
    assert risks[1] < risks[0]


def test_rounds_share_one_budget():
    fs, _, _ = repair(selector=Iterative(Budget(380, threshold=0.05)))
    assert len(fs.edits_) <= 380


def test_a_round_that_is_taken_back_is_not_among_the_rounds():
    data = datasets.make_biased(400, random_state=1)
    who = {"sensitive": data.sensitive, "privileged": data.privileged}
    fs = FairSHAP(
        XGBClassifier(n_estimators=20, n_jobs=1),
        **who,
        counterfactuals="edited",
        random_state=0,
        selector=Iterative(Threshold()),
    )
    full = clone(fs).set_params(selector__max_rounds=20).fit(data.X, data.y)
    assert full.rounds_[-1].n_edits == len(full.edits_)
    # One more was tried: where it is the last that may be, nothing takes it back.
    more = clone(fs).set_params(selector__max_rounds=len(full.rounds_) + 1).fit(data.X, data.y)
    assert len(more.edits_) > len(full.edits_)


def test_one_round_is_the_threshold():
    _, X_fair, _ = repair(selector=Iterative(max_rounds=1))
    pd.testing.assert_frame_equal(X_fair, repair()[1])


def test_limits_hold_end_to_end():
    fs, _, _ = repair(
        constraints=EditConstraints(
            frozen=["age"], max_per_row=1, group="unprivileged", reject_if="risk_rises"
        )
    )
    assert "age" not in fs.edits_.column
    assert np.bincount(fs.edits_.row).max() == 1
    assert set(X[DATA.sensitive].iloc[fs.edits_.row]) == {"female"}


NUMBERS = X.select_dtypes("number").assign(sex=(X[DATA.sensitive] == "male").astype(float))
MANY = pd.qcut(X["duration"], 3).cat.codes.to_numpy()


@pytest.mark.parametrize(
    ("model", "target", "threshold", "near"),
    [
        (make_pipeline(StandardScaler(), SVC(random_state=0)), Y.to_numpy(), 0.05,
         lambda model, rows: model.decision_function(rows) * np.where(Y == 1, 1, -1)),
        (HistGradientBoostingRegressor(random_state=0), X["duration"].to_numpy() ** 2.0, 5.0,
         lambda model, rows: -np.abs(model.predict(rows) - X["duration"].to_numpy() ** 2.0)),
        (HistGradientBoostingClassifier(random_state=0), MANY, 0.01,
         lambda model, rows: model.predict_proba(rows)[np.arange(len(rows)), MANY]),
    ],
    ids=["margins", "quantities", "classes"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.MarginWarning")
def test_the_label_constraint_takes_any_target(model, target, threshold, near):
    rows = NUMBERS.drop(columns="duration")
    guarded = FairSHAP(
        model,
        sensitive="sex",
        privileged=1.0,
        random_state=0,
        threshold=threshold,
        constraints=EditConstraints(reject_if="label_less_likely"),
    )
    (X_fair, _), (X_plain, _) = (
        fs.fit_resample(rows, target) for fs in (guarded, clone(guarded).set_params(constraints=None))
    )
    before, after, plain = (near(guarded.model_, table) for table in (rows, X_fair, X_plain))
    assert (after >= before - 1e-9).all()
    left = (X_plain != X_fair).any(axis=1)
    assert 0 < left.sum() < (X_plain != rows).any(axis=1).sum()
    assert (plain < before - 1e-9)[left].all()


def test_the_label_constraint_finds_them_in_a_model_that_knows_more():
    third = np.where(np.arange(len(X)) % 10 == 0, 7, Y.to_numpy())
    frozen = FrozenEstimator(fit_model(HistGradientBoostingClassifier(random_state=0), X, third, {}))
    kept = third != 7
    fs = FairSHAP(
        frozen,
        **WHO,
        random_state=0,
        threshold=0.03,
        constraints=EditConstraints(reject_if="label_less_likely"),
    )
    X_fair, _ = fs.fit_resample(X[kept], third[kept])
    own = np.searchsorted(frozen.classes_, third[kept])
    before, after = (frozen.predict_proba(Z)[np.arange(kept.sum()), own] for Z in (X[kept], X_fair))
    assert len(fs.edits_) > 0
    assert (after >= before - 1e-9).all()
    with pytest.raises(InputError, match="does not know 5"):
        fs.fit_resample(X[kept], np.where(third[kept] == third[kept].max(), 5, third[kept]))


def test_the_label_constraint_knows_them_by_name_or_by_number_never_by_chance():
    model = HistGradientBoostingClassifier(random_state=0)
    by_name, names = (
        FairSHAP(model, **WHO, random_state=0, constraints=EditConstraints(reject_if="label_less_likely")),
        np.where(Y == 1, "good", "bad"),
    )
    expected = by_name.fit(X, names).edits_.row
    # A model of numbers is asked for the numbers of the labels.
    numbered = FrozenEstimator(fit_model(model, X, (names == "good").astype(int), {}))
    assert_array_equal(
        FairSHAP(numbered, **WHO, random_state=0, constraints=EditConstraints(reject_if="label_less_likely"))
        .fit(X, names)
        .edits_.row,
        expected,
    )
    other = FrozenEstimator(fit_model(model, X, np.where(Y == 1, "a", "b"), {}))
    with pytest.raises(InputError, match="does not know 'bad'; it knows 'a', 'b'"):
        FairSHAP(
            other, **WHO, random_state=0, constraints=EditConstraints(reject_if="label_less_likely")
        ).fit(X, names)


def test_the_label_constraint_goes_by_labels_also_where_they_are_matched_in_bins():
    target = pd.qcut(X["credit_amount"] + 400 * X["age"], 4).cat.codes.to_numpy()
    rows = X.drop(columns="credit_amount")
    fs = FairSHAP(
        HistGradientBoostingClassifier(random_state=0),
        **WHO,
        random_state=0,
        threshold=0.01,
        matcher=NearestMatcher(bins=2),
        constraints=EditConstraints(reject_if="label_less_likely"),
    )
    X_fair, _ = fs.fit_resample(rows, target)
    assert len(fs.edits_) > 0
    before, after = (fs.model_.predict_proba(Z)[np.arange(len(rows)), target] for Z in (rows, X_fair))
    assert (after >= before - 1e-9).all()


def test_the_classifier_passes_the_weights_on_and_is_the_same_by_hand():
    model = HistGradientBoostingClassifier(random_state=0)
    clf = FairSHAPClassifier(FairSHAP(model, **WHO, counterfactuals="edited", random_state=0), **PLAIN).fit(
        X, Y
    )
    fs, X_fair, y = repair(counterfactuals="edited")
    by_hand = fit_model(model, X_fair, y, {"sample_weight": fs.sample_weight_})
    assert_array_equal(clf.predict_proba(X), by_hand.predict_proba(X))


def test_without_weights_rows_are_repeated_and_counterfactuals_need_the_attribute_in_the_table():
    knn = FairSHAP(KNeighborsClassifier(), **WHO, counterfactuals="edited", random_state=0)
    with pytest.warns(WeightsWarning, match="KNeighborsClassifier takes no sample_weight, .* repeated"):
        clf = FairSHAPClassifier(knn).fit(X, Y)
    assert len(clf.repair_.counterfactual_of_) > 0
    rest, beside = X.drop(columns=DATA.sensitive), X[DATA.sensitive]
    with pytest.raises(InputError, match="Leave counterfactuals out"):
        FairSHAP(privileged="male", counterfactuals="all", random_state=0).fit(
            rest, Y, sensitive_features=beside
        )


def test_a_frozen_model_is_consulted_and_its_clone_trained_in_later_rounds():
    frozen = FrozenEstimator(fit_model(HistGradientBoostingClassifier(random_state=0), X, Y, {}))
    fs = FairSHAP(frozen, **WHO, random_state=0, selector=Iterative(Threshold(), max_rounds=2)).fit(X, Y)
    assert len(fs.edits_) == len(repair(selector=Iterative(max_rounds=2))[0].edits_)


def test_rounds_work_with_the_attribute_beside_the_table():
    rest, beside = X.drop(columns=DATA.sensitive), X[DATA.sensitive]
    fs = FairSHAP(
        HistGradientBoostingClassifier(random_state=0),
        privileged="male",
        random_state=0,
        selector=Iterative(Threshold()),
    )
    X_fair, _ = fs.fit_resample(rest, Y, sensitive_features=beside)
    assert list(X_fair.columns) == list(rest.columns)
    assert len(fs.rounds_) > 1


def test_a_regressor_can_have_all_of_it():
    table, amount = X.drop(columns="credit_amount"), X["credit_amount"].astype(float)
    reg = FairSHAPRegressor(
        FairSHAP(
            **WHO,
            random_state=0,
            selector=OptimalSubset(),
            constraints=EditConstraints(frozen=["age"]),
            counterfactuals="edited",
        )
    ).fit(table, amount)
    assert "age" not in reg.repair_.edits_.column
    assert len(reg.repair_.counterfactual_of_) == len(np.unique(reg.repair_.edits_.row))


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"selector": "best"}, "selector='best' is not known"),
        ({"selector": Iterative(max_rounds=0)}, "max_rounds=0"),
        ({"selector": Budget(10), "threshold": 0.1}, "give one of the two"),
        ({"threshold": -1}, "threshold=-1"),
        ({"constraints": EditConstraints(frozen=["agee"])}, "Did you mean 'age'"),
        ({"constraints": EditConstraints(reject_if="labels")}, "reject_if='labels' is not known"),
        ({"constraints": "none"}, "constraints='none' is not known"),
        ({"explainer": "exact"}, "explainer='exact' is not an Explainer"),
        ({"counterfactuals": "edit"}, "Did you mean 'edited'"),
        ({"counterfactuals": True}, "counterfactuals=True"),
        ({"counterfactuals": 0}, "counterfactuals=0 is not a risk"),
        ({"counterfactuals": -0.1}, "counterfactuals=-0.1 is not a risk"),
        ({"counterfactuals": float("nan")}, "counterfactuals=nan is not a risk"),
        ({"counterfactuals": float("inf")}, "counterfactuals=inf is not a risk"),
        ({"counterfactuals": [0.1]}, "or a number: the risk"),
        ({"min_group_size": "ten"}, "min_group_size='ten'"),
        ({"min_group_size": 0}, "min_group_size=0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_fitted(params, text, monkeypatch):
    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", None)
    with pytest.raises(InputError, match=text):
        repair(**params)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (
            {"constraints": EditConstraints(frozen=list(X.columns))},
            r"the largest Shapley value is 0\.\d+, but none is left within frozen=",
        ),
        ({"constraints": EditConstraints(editable=["sex"])}, r"within editable=\['sex'\], and the mean risk"),
        ({"selector": Budget(1e-6)}, "n_cells=1e-06 is less than one cell"),
        ({"selector": OptimalSubset(0.9)}, "lower its risk by cost=0.9 for each cell"),
        (
            {"threshold": 3, "constraints": EditConstraints(frozen=["age"])},
            r"no Shapley value reaches threshold=3; the largest is 0\.\d+, and the mean risk is 0\.",
        ),
        ({"selector": Iterative(Threshold(3))}, "no Shapley value reaches threshold=3"),
    ],
)
def test_why_there_are_no_edits_is_said(params, text):
    with pytest.warns(NothingToRepairWarning, match=text):
        repair(**params)


@pytest.mark.parametrize(
    "params", [{"selector": Iterative()}, {"selector": OptimalSubset()}, {"counterfactuals": "all"}]
)
def test_the_certificate_holds_whatever_the_recipe(params):
    fs, _, _ = repair(**params)
    c = fs.certificate_
    assert_allclose(c["dr_after"], c["dr_before"] - c["sum_phi"] + c["residual"], atol=1e-6)
    assert len(c) == len(X)
