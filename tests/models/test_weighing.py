import re

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairshap._models import Weighing, fit_weighted, repeats_of
from fairshap.exceptions import ModelError, WeightsWarning
from tests.conftest import to_library
from tests.models.models import DATA, GRID, TARGET, UNWEIGHED, WEIGHED, piped

X, Y = DATA.X, DATA.y.to_numpy()
HEAVY = np.where(Y == 1, 1.0, 1e-6)
EITHER = pytest.mark.parametrize("routing", [False, True], ids=["plain", "routed"])


class FewIsNotEnough(LogisticRegression):
    """Refuses tables that are smaller than the whole one."""

    def fit(self, X, y, sample_weight=None):
        if len(y) < len(Y):
            raise ValueError("too few rows")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_reach_a_pipeline_wherever_it_stands(name):
    weighing = Weighing.of(WEIGHED[name], X, Y)
    assert weighing == Weighing(type(WEIGHED[name]).__name__)
    model = fit_weighted(WEIGHED[name], X, Y, HEAVY, weighing)
    assert (model.predict(X) == 1).all()
    assert (fit_weighted(WEIGHED[name], X, Y, None, None).predict(X) == 0).any()


def test_weights_reach_a_transformed_target():
    y = Y.astype(float)
    weighing = Weighing.of(TARGET, X, y)
    assert weighing.is_used
    assert_allclose(fit_weighted(TARGET, X, y, HEAVY, weighing).predict(X), 1, atol=1e-3)


@pytest.mark.parametrize("name", UNWEIGHED)
@EITHER
def test_it_is_found_out_that_weights_are_not_used(name, routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        weighing = Weighing.of(UNWEIGHED[name], X, Y)
    assert not weighing.is_used
    assert weighing.is_taken == (name == "calibration" and not routing)
    assert type(UNWEIGHED[name]).__name__ in weighing.trouble
    if routing and "neighbors" not in name:
        assert "set_fit_request(sample_weight=True)" in weighing.trouble


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("voting", r"takes no sample_weight \(Pipeline\.fit does not accept the sample_weight parameter\)"),
        ("a fixed threshold", "is only supported if enable_metadata_routing=True"),
        ("calibration", "does not pass sample_weight on .*sample weights will only be used for the calibrat"),
        ("neighbors", r"^KNeighborsClassifier takes no sample_weight$"),
    ],
)
def test_the_reason_is_the_estimator_s_own(name, reason):
    assert re.search(reason, Weighing.of(UNWEIGHED[name], X, Y).trouble)


@pytest.mark.parametrize("model", [piped(), make_pipeline("passthrough", piped()), LogisticRegression()])
def test_where_metadata_is_routed_the_model_is_the_same_as_where_it_is_not(model):
    weights = np.linspace(0.1, 2, len(Y))
    plain = fit_weighted(model, X, Y, weights, Weighing.of(model, X, Y))
    with sklearn.config_context(enable_metadata_routing=True):
        weighing = Weighing.of(model, X, Y)
        routed = fit_weighted(model, X, Y, weights, weighing)
    assert weighing.is_used
    assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))


def test_requests_of_the_user_s_are_kept():
    with sklearn.config_context(enable_metadata_routing=True):
        refusing = LogisticRegression().set_fit_request(sample_weight=False)
        for model in (refusing, piped(refusing)):
            assert not Weighing.of(model, X, Y).is_taken
        asking = piped(LogisticRegression().set_fit_request(sample_weight=True))
        asking[0].transformers[0][1].set_fit_request(sample_weight=False)
        threshold = FixedThresholdClassifier(asking)
        weighing = Weighing.of(threshold, X, Y)
        assert weighing.is_used
        assert (fit_weighted(threshold, X, Y, HEAVY, weighing).predict(X) == 1).all()
        # The search passes weights to its model, but has no score then.
        assert not Weighing.of(GridSearchCV(asking, GRID, cv=2), X, Y).is_used
        assert not Weighing.of(AdaBoostClassifier(), X, Y).is_taken
    assert Weighing.of(AdaBoostClassifier(), X, Y).is_used


def test_what_takes_weights_by_itself_is_not_fitted_for_the_question():
    class Unfit(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError

    assert Weighing.of(Unfit(), X, Y).is_used
    assert Weighing.of(FrozenEstimator(Unfit()), X, Y).is_used
    assert Weighing.of(make_pipeline(StandardScaler(), Unfit()), X, Y).is_used


def test_a_trial_that_a_few_rows_are_too_few_for_is_made_with_all():
    fussy = VotingClassifier([("a", piped(FewIsNotEnough())), ("b", piped())], voting="soft")
    assert "Pipeline.fit does not accept" in Weighing.of(fussy, X, Y).reason
    bagged = BaggingClassifier(FewIsNotEnough(), 2, bootstrap=False, random_state=0)
    assert Weighing.of(bagged, X, Y).is_used


def test_what_cannot_be_trained_at_all_is_left_to_the_fit():
    assert Weighing.of(GridSearchCV(piped(numbers=["skil"]), GRID, cv=2), X, Y).is_used


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1.0, 0.5, 0.5], [2, 1, 1]),
        ([1.0, 1 / 3, 1 / 2, 1 / 6], [6, 2, 3, 1]),
        ([0.5, 0.5], [1, 1]),
        ([3.0, 1.5, 1.0], [6, 3, 2]),
        ([1.0, 0.7], None),
        ([1.0, 0.0], None),
        ([1.0, 1 / 101], None),
        ([1.0, 1 / 97, 1 / 2], None),
    ],
)
def test_rows_are_repeated_as_they_weigh(weights, expected):
    found = repeats_of(np.array(weights))
    assert found is expected if expected is None else found.tolist() == expected


def test_a_model_without_weights_is_fitted_on_repeated_rows(library):
    model = KNeighborsClassifier(3)
    weighing = Weighing.of(model, X, Y)
    weights = np.where(np.arange(len(Y)) % 3, 1.0, 0.5)
    found = fit_weighted(model, to_library(X, library), Y, weights, weighing)
    rows = np.repeat(np.arange(len(Y)), np.where(np.arange(len(Y)) % 3, 2, 1))
    by_hand = fit_weighted(model, X.iloc[rows], Y[rows], None, None)
    assert_array_equal(found.predict_proba(to_library(X, library)), by_hand.predict_proba(X))
    with pytest.raises(ModelError, match=r"KNeighborsClassifier takes no sample_weight, and the rows cannot"):
        fit_weighted(model, X, Y, np.linspace(1, 2, len(Y)), weighing)


def test_repeated_rows_are_worth_a_warning_only_where_weights_are_not_used():
    with pytest.warns(WeightsWarning, match="KNeighborsClassifier takes no sample_weight, so rows are"):
        Weighing.of(KNeighborsClassifier(), X, Y).warn_of_repeats()
    Weighing.of(LogisticRegression(), X, Y).warn_of_repeats()
