"""Counterfactuals and weights with ordinary models, whether or not these take weights."""

from functools import partial

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier

from fairshap import FairSHAP, Iterative, NearestMatcher, predictors
from fairshap._models import fit_model, repeats_of
from fairshap.exceptions import ModelError, WeightsWarning
from tests.models.models import DATA, TARGET, UNWEIGHED, WEIGHED, WHO

X, Y = DATA.X, DATA.y
# Without weights by group and label, so that counterfactuals alone weigh; a model that never sees the
# attribute would have no use for them.
FairSHAPClassifier = partial(predictors.FairSHAPClassifier, weights=None, drop_sensitive=False)
FairSHAPRegressor = partial(predictors.FairSHAPRegressor, drop_sensitive=False)
LOW = {**WHO, "threshold": 0.02, "random_state": 0}
ADDED = {**LOW, "counterfactuals": "edited"}
EITHER = pytest.mark.parametrize("routing", [False, True], ids=["plain", "routed"])


@pytest.mark.parametrize("name", WEIGHED)
def test_counterfactuals_are_weighed_by_whatever_takes_weights(name):
    clf = FairSHAPClassifier(FairSHAP(WEIGHED[name], **ADDED)).fit(X, Y)
    fs = FairSHAP(WEIGHED[name], **ADDED)
    X_fair, y = fs.fit_resample(X, Y)
    assert len(clf.repair_.counterfactual_of_) == len(fs.counterfactual_of_) > 0
    by_hand = fit_model(WEIGHED[name], X_fair, y.to_numpy(), {"sample_weight": fs.sample_weight_})
    assert_array_equal(clf.predict_proba(X), by_hand.predict_proba(X))
    unweighed = fit_model(WEIGHED[name], X_fair, y.to_numpy())
    assert (clf.predict_proba(X) != unweighed.predict_proba(X)).any()


@pytest.mark.parametrize("name", ["a pipeline", "a pipeline in a pipeline"])
def test_metadata_routing_changes_nothing_for_a_pipeline(name):
    plain = FairSHAPClassifier(FairSHAP(WEIGHED[name], **ADDED)).fit(X, Y)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = FairSHAPClassifier(FairSHAP(WEIGHED[name], **ADDED)).fit(X, Y)
    assert len(routed.repair_.counterfactual_of_) > 0
    assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("name", ["a search", "a search by another score"])
def test_for_a_search_that_requests_no_weights_rows_are_repeated_where_metadata_is_routed(name):
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.warns(WeightsWarning, match=r"GridSearchCV takes no .*set_fit_request\(sample_weight=Tr"):
            clf = FairSHAPClassifier(FairSHAP(WEIGHED[name], **ADDED)).fit(X, Y)
        assert len(clf.repair_.counterfactual_of_) > 0


@pytest.mark.parametrize("name", UNWEIGHED)
@EITHER
def test_without_weights_rows_are_repeated(name, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        plain = FairSHAPClassifier(FairSHAP(UNWEIGHED[name], **LOW)).fit(X, Y)
        assert len(plain.repair_.edits_) > len(plain.repair_.counterfactual_of_) == 0
        said = type(UNWEIGHED[name]).__name__
        with pytest.warns(WeightsWarning, match=rf"{said} .*so rows are repeated instead"):
            clf = FairSHAPClassifier(FairSHAP(UNWEIGHED[name], **ADDED)).fit(X, Y)
        repair = clf.repair_
        assert len(repair.counterfactual_of_) > 0
        rows = np.repeat(np.arange(len(repair.sample_weight_)), repeats_of(repair.sample_weight_))
        X_fair, y = clone(repair).fit_resample(X, Y)
        by_hand = fit_model(UNWEIGHED[name], X_fair.iloc[rows], y.to_numpy()[rows])
        assert_array_equal(clf.predict_proba(X), by_hand.predict_proba(X))
        # Each row counts as much as before, alone or with its counterfactual.
        origin = np.concatenate([np.arange(len(X)), repair.counterfactual_of_])[rows]
        assert len(set(np.bincount(origin))) == 1


def test_several_counterfactuals_of_a_row_count_together_as_a_row_without():
    few = X.assign(group=np.where(np.arange(len(X)) % 5 == 0, "c", X["group"]))
    with pytest.warns(WeightsWarning, match="rows are repeated"):
        clf = FairSHAPClassifier(FairSHAP(KNeighborsClassifier(), **ADDED)).fit(few, Y)
    repeats, of = repeats_of(clf.repair_.sample_weight_), clf.repair_.counterfactual_of_
    counts = np.bincount(np.concatenate([np.arange(len(X)), of]))
    assert {1, 3} <= set(counts)
    shares = np.bincount(np.concatenate([np.arange(len(X)), of]), weights=repeats)
    assert len(set(shares)) == 1


def test_where_all_rows_have_counterfactuals_nothing_is_repeated_and_nothing_said():
    clf = FairSHAPClassifier(FairSHAP(KNeighborsClassifier(), **LOW, counterfactuals="all")).fit(X, Y)
    assert len(clf.repair_.counterfactual_of_) == len(X)


@EITHER
def test_a_transformed_target_has_counterfactuals(routing):
    y = np.exp(0.3 * np.arange(len(X)) / len(X) + 0.5 * Y)
    target = clone(TARGET).set_params(func=np.log, inverse_func=np.exp)
    reg = FairSHAPRegressor(FairSHAP(target, **ADDED, matcher=NearestMatcher(bins=2)))
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            with pytest.warns(WeightsWarning, match="TransformedTargetRegressor takes no sample_weight"):
                reg.fit(X, y)
        else:
            reg.fit(X, y)
    assert len(reg.repair_.counterfactual_of_) > 0


def never(*_, **__):
    raise AssertionError("the repair has begun")


@pytest.mark.parametrize("name", sorted(set(UNWEIGHED) - {"calibration"}))
def test_weights_of_the_user_s_that_cannot_be_passed_are_refused_before_the_repair(name, monkeypatch):
    monkeypatch.setattr(FairSHAP, "fit_resample", never)
    for model in (UNWEIGHED[name], FrozenEstimator(UNWEIGHED[name])):
        said = f"sample_weight is given, but {type(UNWEIGHED[name]).__name__} takes no sample_weight"
        with pytest.raises(ModelError, match=said):
            FairSHAPClassifier(FairSHAP(model, **WHO)).fit(X, Y, sample_weight=np.ones(len(X)))
    monkeypatch.undo()
    monkeypatch.setattr("fairshap.estimators.fit_model", never)
    with pytest.raises(ModelError, match=said):
        FairSHAP(UNWEIGHED[name], **WHO).fit(X, Y, sample_weight=np.ones(len(X)))


def test_a_calibration_that_keeps_the_weights_to_itself_is_told():
    weights = np.linspace(0.5, 2, len(X))
    with pytest.warns(UserWarning, match="sample weights will only be used for the calibration"):
        FairSHAPClassifier(FairSHAP(UNWEIGHED["calibration"], **LOW)).fit(X, Y, sample_weight=weights)
    with pytest.raises(ModelError, match=r"does not pass sample_weight on .*Leave out sample_weight or"):
        FairSHAPClassifier(FairSHAP(UNWEIGHED["calibration"], **LOW, counterfactuals="all")).fit(
            X, Y, sample_weight=weights
        )


def test_weights_of_the_user_s_reach_a_search_of_a_pipeline():
    weights = np.where(Y, 1.0, 1e-6)
    clf = FairSHAPClassifier(FairSHAP(WEIGHED["a search"], **LOW))
    with pytest.warns(UserWarning, match="nothing to repair"):
        assert (clf.fit(X, Y, sample_weight=weights).predict(X) == 1).all()


def test_further_rounds_repeat_rows_too():
    selector = Iterative(max_rounds=2)
    fs = FairSHAP(KNeighborsClassifier(), **WHO, counterfactuals="edited", selector=selector)
    fs.fit(X, Y)
    assert len(fs.edits_) > 0
    assert_array_equal(fs.counterfactual_of_, np.unique(fs.edits_.row))
