"""The reductions and the thresholds of other libraries, on fairshap's tables."""

import pickle
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, FairSHAP, FairSHAPClassifier, datasets, metrics
from fairshap._frames import Table
from fairshap.exceptions import InputError, MissingExtraError, ModelError, TargetError
from fairshap.mitigation import (
    MitigatedClassifier,
    ReductionClassifier,
    ThresholdClassifier,
)
from fairshap.mitigation._randomized import draw
from tests.conftest import to_library
from tests.mitigation.conftest import WHO

D = datasets.make_biased(800, random_state=1)
WHO_SEEDED = {**WHO, "random_state": 0}
QUICK = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
MODEL = LogisticRegression()
SWITCHED = D.X.assign(group=np.where(D.X["group"] == "a", "b", "a"))
REDUCTIONS = [{"method": method, "grid_size": 6} for method in ("exponentiated_gradient", "grid_search")]
MEASURED = {
    "demographic_parity": metrics.demographic_parity_difference,
    "equal_opportunity": metrics.equal_opportunity_difference,
    "equalized_odds": metrics.equalized_odds_difference,
}


def gap_of(constraint, model, X=D.X, y=D.y):
    return MEASURED[constraint](y, model.predict(X), sensitive_features=X["group"], privileged="a")


def every_peer(estimator=MODEL, **params):
    return [
        *(ReductionClassifier(estimator, **WHO_SEEDED, **how, **params) for how in REDUCTIONS),
        ThresholdClassifier(estimator, **WHO_SEEDED, **params),
    ]


@pytest.mark.parametrize("constraint", MEASURED)
def test_each_peer_narrows_the_gap_that_it_is_asked_to(constraint):
    plain = gap_of(constraint, MitigatedClassifier(None, MODEL).fit(D.X, D.y))
    assert plain > 0.2
    for peer in every_peer(constraint=constraint):
        assert gap_of(constraint, peer.fit(D.X, D.y)) < 0.6 * plain


def test_a_reduction_is_fairlearn_s_own_on_the_encoded_table_without_the_column():
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    # No two rows are equal, or they would be decided alike.
    X = D.X.assign(noise=np.random.default_rng(0).normal(size=800))
    encoded = ColumnEncoder().fit_transform(X.drop(columns="group"))
    theirs = ExponentiatedGradient(MODEL, DemographicParity(difference_bound=0.02))
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        theirs.fit(encoded, D.y, sensitive_features=X["group"])
    ours = ReductionClassifier(MODEL, **WHO_SEEDED, eps=0.02).fit(X, D.y)
    shares = theirs.weights_[theirs.weights_ > 0].sort_index()
    assert_allclose(ours.weights_, shares)
    assert ours.n_fits_ == theirs.n_oracle_calls_
    scores = sum(share * theirs.predictors_[k].predict_proba(encoded)[:, 1] for k, share in shares.items())
    assert_allclose(ours.predict_proba(X)[:, 1], scores)
    # Its decisions are drawn at fairlearn's probabilities, so that they differ where these are not 0 or 1.
    chance = theirs._pmf_predict(encoded)[:, 1]
    predicted = ours.predict(X)
    sure = np.isin(chance, (0, 1))
    assert sure.sum() < len(sure)
    assert_array_equal(predicted[sure], chance[sure])
    assert abs(predicted.mean() - chance.mean()) < 0.03


@pytest.mark.parametrize("constraint", MEASURED)
def test_thresholds_are_fairlearn_s_own(constraint):
    from fairlearn.postprocessing import ThresholdOptimizer

    model = MitigatedClassifier(None, MODEL).fit(D.X, D.y)
    theirs = ThresholdOptimizer(
        estimator=model, constraints="true_positive_rate_parity" if "opp" in constraint else constraint,
        prefit=True, predict_method="predict_proba",
    )  # fmt: skip
    theirs.fit(D.X, D.y, sensitive_features=D.X["group"])
    ours = ThresholdClassifier(MODEL, **WHO_SEEDED, constraint=constraint, cv=None).fit(D.X, D.y)
    chance = theirs._pmf_predict(D.X, sensitive_features=D.X["group"])[:, 1]
    predicted = ours.predict(D.X)
    sure = np.isin(chance, (0, 1))
    assert_array_equal(predicted[sure], chance[sure])
    assert abs(predicted.mean() - chance.mean()) < 0.03
    assert ours.n_fits_ == 1
    assert_array_equal(ours.predict_proba(D.X), model.predict_proba(D.X))
    for thresholds in ours.thresholds_.values():
        assert sum(p for p, _ in thresholds) == pytest.approx(1)


def test_thresholds_come_from_scores_out_of_fold():
    # On its own training rows a nearest neighbor is always right, whatever the groups.
    near = KNeighborsClassifier(n_neighbors=1)
    own, folds = (ThresholdClassifier(near, **WHO_SEEDED, cv=cv).fit(D.X, D.y) for cv in (None, 4))
    assert folds.n_fits_ == 5
    assert own.thresholds_ != folds.thresholds_


def test_error_parity_relaxes_what_fairlearn_does_not():
    pytest.importorskip("error_parity", reason="it asks for a numpy below 2, so nothing installs it here")
    for constraint in MEASURED:
        gaps = []
        for tol in (0.0, 0.15):
            how = {"method": "error_parity", "constraint": constraint, "tol": tol}
            model = ThresholdClassifier(MODEL, **WHO_SEEDED, **how).fit(D.X, D.y)
            for thresholds in model.thresholds_.values():
                assert sum(p for p, _ in thresholds) == pytest.approx(1)
            gaps.append(gap_of(constraint, model))
        assert gaps[0] < 0.08 < gaps[1] < 0.22


def test_error_parity_is_told_how_to_be_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "error_parity", None)
    with pytest.raises(InputError, match=r"pip install --no-deps error-parity") as error:
        ThresholdClassifier(MODEL, **WHO, method="error_parity").fit(D.X, D.y)
    assert error.value.parameter == "method"


def test_reductions_never_see_the_attribute_and_thresholds_need_it():
    for peer in every_peer(QUICK):
        peer.fit(D.X, D.y)
        changed = np.mean(peer.predict(D.X) != peer.predict(SWITCHED))
        if peer.attribute_at_prediction:
            assert changed > 0.2
        else:
            assert changed == 0
            assert_array_equal(peer.predict_proba(D.X), peer.predict_proba(SWITCHED))
            assert_array_equal(peer.predict(D.X), peer.predict(D.X.drop(columns="group")))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_a_reduction_takes_the_attribute_beside_the_table(how):
    rest = D.X.drop(columns="group")
    beside = ReductionClassifier(QUICK, privileged="a", random_state=0, **how)
    beside.fit(rest, D.y, sensitive_features=D.X["group"])
    inside = ReductionClassifier(QUICK, **WHO_SEEDED, **how).fit(D.X, D.y)
    assert_array_equal(beside.predict_proba(rest), inside.predict_proba(D.X))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_a_reduction_after_a_repair_is_told_the_attribute_beside_the_table(how):
    rest, s = D.X.drop(columns="group"), D.X["group"]
    repair = FairSHAP(MODEL, privileged="a", threshold=0.01, random_state=0)
    reduction = ReductionClassifier(MODEL, privileged="a", random_state=0, **how)
    model = FairSHAPClassifier(repair, reduction, weights=None).fit(rest, D.y, sensitive_features=s)
    X_fair, _ = repair.fit_resample(rest, D.y, sensitive_features=s)
    expected = clone(reduction).fit(X_fair, D.y, sensitive_features=s)
    assert_array_equal(model.predict_proba(rest), expected.predict_proba(rest))


def test_every_library_gives_the_same_decisions(library):
    X, y = to_library(D.X, library), D.y.to_numpy()
    for peer in every_peer(QUICK):
        expected = clone(peer).fit(D.X, D.y).predict(D.X)
        assert_array_equal(peer.fit(X, y).predict(X), expected)


def test_a_row_is_decided_alike_in_every_batch_and_by_another_seed_otherwise():
    for peer in every_peer():
        peer.fit(D.X, D.y)
        rows = np.random.default_rng(0).permutation(len(D.X))[:300]
        assert_array_equal(peer.predict(D.X.iloc[rows]), peer.predict(D.X)[rows])
    model = ReductionClassifier(MODEL, **WHO_SEEDED).fit(D.X, D.y)
    assert len(model.estimators_) > 1
    other = clone(model).set_params(random_state=1).fit(D.X, D.y)
    assert (model.predict(D.X) != other.predict(D.X)).any()
    assert_array_equal(model.predict(D.X), clone(model).fit(D.X, D.y).predict(D.X))


def test_draws_are_uniform_and_do_not_depend_on_what_is_left_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"s": rng.choice(["a", "b"], 5000), "x": rng.normal(size=5000), "c": rng.choice(9, 5000)}
    )
    table = Table.read(X.astype({"c": "category"}))
    drawn = draw(table, (0,), 7)
    assert ((drawn >= 0) & (drawn < 1)).all()
    counts = np.histogram(drawn, 20, (0, 1))[0]
    # The greatest of twenty: a chi-square of 19 degrees of freedom stays below 45 but for one in a thousand.
    assert np.sum((counts - 250) ** 2 / 250) < 45
    assert_array_equal(drawn, draw(Table.read(X.assign(s="a").astype({"c": "category"})), (0,), 7))
    assert abs(np.corrcoef(drawn, draw(table, (0,), 8))[0, 1]) < 0.05


def test_labels_may_be_words_and_the_positive_one_may_be_the_first():
    words = np.where(D.y == 1, "hired", "no")
    for peer in every_peer(constraint="equal_opportunity"):
        numbers = clone(peer).fit(D.X, D.y)
        model = peer.set_params(positive="hired").fit(D.X, words)
        assert model.classes_.tolist() == ["hired", "no"]
        assert_array_equal(model.predict(D.X) == "hired", numbers.predict(D.X) == 1)
        assert_allclose(model.predict_proba(D.X)[:, 0], numbers.predict_proba(D.X)[:, 1])


def test_rows_of_no_group_and_of_small_ones_are_left_to_the_classifier():
    X = D.X.copy()
    X.loc[:19, "group"] = "c"
    X.loc[20:29, "group"] = None
    thresholds = ThresholdClassifier(MODEL, **WHO_SEEDED).fit(X, D.y)
    # The groups in the order of their first rows after the privileged one: c, which has too few, and b.
    assert sorted(thresholds.thresholds_) == [0, 2]
    own = thresholds.estimator_.predict(X)
    assert_array_equal(thresholds.predict(X)[:30], own[:30])
    unknown = X.assign(group="d")
    assert_array_equal(thresholds.predict(unknown), thresholds.estimator_.predict(unknown))
    reduction = ReductionClassifier(MODEL, **WHO_SEEDED).fit(X, D.y)
    alone = ReductionClassifier(MODEL, **WHO_SEEDED).fit(X[30:], D.y[30:])
    assert_array_equal(reduction.predict_proba(X), alone.predict_proba(X))


def test_several_groups_are_all_held_alike():
    rng = np.random.default_rng(0)
    X = D.X.assign(group=np.where(rng.random(800) < 0.3, "c", D.X["group"]))
    skill = X["skill"] + X["group"].map({"a": 1.5, "b": -1.5, "c": 0.0})
    y = (skill + rng.normal(size=800) > 0).astype(int)
    for peer in (ReductionClassifier(MODEL, **WHO_SEEDED), ThresholdClassifier(MODEL, **WHO_SEEDED)):
        predicted = peer.fit(X, y).predict(X)
        rates = [predicted[X["group"] == name].mean() for name in "abc"]
        assert max(rates) - min(rates) < 0.12


def test_a_quantity_is_split_at_prediction_as_in_training():
    who = {"sensitive": "age", "privileged": pd.Interval(0.0, np.inf), "random_state": 0}
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=400), "x": rng.normal(size=400)})
    y = (X["x"] + 2 * (X["age"] > 0) + rng.normal(size=400) > 1).astype(int)
    model = ThresholdClassifier(MODEL, **who).fit(X, y)
    predicted = model.predict(X)
    assert abs(predicted[X["age"] > 0].mean() - predicted[X["age"] <= 0].mean()) < 0.1
    assert_array_equal(model.predict(X[X["age"] > 0]), predicted[X["age"] > 0])


def test_peers_work_after_a_repair():
    repair = FairSHAP(HistGradientBoostingClassifier(max_iter=10), **WHO_SEEDED)
    X, y = repair.fit_resample(D.X, D.y)
    after = MitigatedClassifier(repair, ReductionClassifier(MODEL, **WHO_SEEDED)).fit(D.X, D.y)
    handed = ReductionClassifier(MODEL, **WHO_SEEDED).fit(X, y)
    assert len(after.method_.edits_) > 0
    assert_array_equal(after.predict(D.X), handed.predict(D.X))
    edited = FairSHAPClassifier(repair, MODEL, weights=None, drop_sensitive=False)
    thresholds = ThresholdClassifier(edited, **WHO_SEEDED, cv=2).fit(D.X, D.y)
    assert len(thresholds.estimator_.repair_.edits_) == len(repair.edits_)
    assert gap_of("demographic_parity", thresholds) < gap_of("demographic_parity", thresholds.estimator_) / 2


def test_a_pickle_holds_no_training_row():
    X = D.X.assign(skill=D.X["skill"].round(2) + 123456.0)
    for peer in every_peer():
        # A value that only a copy of the table, or of a column, would hold.
        found = pickle.dumps(peer.fit(X, D.y))
        assert len(found) < 20_000
        held = {X["skill"].iloc[k].tobytes() for k in range(len(X))}
        assert not any(value in found for value in held)


def test_a_model_without_probabilities_is_scored_by_its_margins_or_decisions():
    for peer in every_peer(LinearSVC()):
        peer.fit(D.X, D.y)
        assert gap_of("demographic_parity", peer) < 0.15
        if not peer.attribute_at_prediction:
            assert peer.predict_proba(D.X).shape == (800, 2)
            assert not hasattr(peer, "decision_function")


@pytest.mark.parametrize("wrong", [{"eps": -1}, {"eps": "x"}, {"max_iter": 0}, {"grid_size": 2.5}])
def test_numbers_of_a_reduction_are_checked(wrong):
    with pytest.raises(InputError) as error:
        ReductionClassifier(MODEL, **WHO_SEEDED, **wrong).fit(D.X, D.y)
    assert error.value.parameter in wrong


def test_what_cannot_be_done_is_refused():
    with pytest.raises(ModelError, match="KNeighborsClassifier takes no sample_weight, and a reduction"):
        ReductionClassifier(KNeighborsClassifier(), **WHO).fit(D.X, D.y)
    with pytest.raises(TargetError, match="two labels, and y has 3"):
        ReductionClassifier(MODEL, **WHO).fit(D.X, np.arange(800) % 3)
    for peer in every_peer(constraint="fairness"):
        with pytest.raises(InputError, match="constraint='fairness'"):
            peer.fit(D.X, D.y)
    for wrong in (
        {"method": "magic"},
        {"tol": -1},
        {"cv": 1},
        {"cv": 700},
        {"tol": 0.1, "constraint": "equalized_odds"},
    ):
        with pytest.raises(InputError) as error:
            ThresholdClassifier(MODEL, **WHO, **wrong).fit(D.X, D.y)
        assert error.value.parameter == next(iter(wrong))
    with pytest.raises(InputError, match="no two groups have rows of both labels"):
        ThresholdClassifier(MODEL, **WHO).fit(D.X, D.X["group"] == "a")


def test_without_fairlearn_the_extra_is_named(monkeypatch):
    for module, peer in (("reductions", every_peer()[0]), ("postprocessing", every_peer()[-1])):
        monkeypatch.setitem(sys.modules, f"fairlearn.{module}", None)
        with pytest.raises(MissingExtraError, match=r"Classifier needs fairlearn.*fairshap\[fairlearn\]"):
            peer.fit(D.X, D.y)


def test_nothing_that_was_given_is_changed():
    X, y = D.X.copy(), D.y.copy()
    for peer in every_peer():
        before = peer.get_params(deep=False)
        peer.fit(X, y).predict(X)
        assert peer.get_params(deep=False) == before
    pd.testing.assert_frame_equal(X, D.X)
    pd.testing.assert_series_equal(y, D.y)
    assert not hasattr(MODEL, "coef_")


def test_a_pipeline_that_names_the_column_is_trained_without_it():
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    words = ["group", "district", "colour"]
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), words), remainder="passthrough")
    model = ReductionClassifier(make_pipeline(encoder, QUICK), **WHO_SEEDED, **REDUCTIONS[1]).fit(D.X, D.y)
    assert model._remover.hold
    assert_array_equal(model.predict_proba(D.X), model.predict_proba(SWITCHED))
