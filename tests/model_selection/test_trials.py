"""Classifiers as trials: each does in a fold what it does by itself."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fairshap import FairSHAP, FairSHAPClassifier
from fairshap._crossval import CrossValidation
from fairshap._crossval.trials import Fold
from fairshap.exceptions import GroupError, InputError, SkippedWarning
from fairshap.mitigation import (
    MitigatedClassifier,
    ParityWeigher,
    ProxyCorrection,
    ReductionClassifier,
    Reweigher,
    SensitiveRemover,
    ThresholdClassifier,
)
from fairshap.model_selection import evaluate, tune
from fairshap.model_selection._trials import trial_of

pytestmark = pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "sex": RNG.choice(["m", "f"], 300),
        "race": RNG.choice(["w", "b"], 300),
        "skill": RNG.normal(size=300),
        "town": RNG.choice(["x", "y"], 300),
    }
)
Y = (X["skill"] + (X["sex"] == "m") + (X["race"] == "w") / 2 + RNG.normal(size=300) / 2 > 0.6).astype(int)
MODEL = LogisticRegression()
SEX = {"sensitive": "sex", "privileged": "m"}
RACE = {"sensitive": "race", "privileged": "w"}


def trained(*models, estimator=MODEL):
    """The models of trials in the first fold, one after the other, and its training and test rows."""
    template = FairSHAP(estimator, **SEX, random_state=0)
    cv = CrossValidation.read("evaluate", template, X, Y, None, 2, 1)
    trials = [trial_of(k, model, cv) for k, model in enumerate(models)]
    train, test = cv.folds.pairs[0]
    fold = Fold.of(cv.problem, train, trials, estimator, cv._how(trials, False, False).weighing)
    return SimpleNamespace(models=[fold.train(one)[0].model for one in trials], train=train, test=test)


def assert_as_alone(*models, estimator=MODEL):
    found = trained(*models, estimator=estimator)
    for given, model in zip(models, found.models, strict=True):
        alone = given.fit(X.iloc[found.train], Y.iloc[found.train])
        rows = X.iloc[found.test]
        assert_array_equal(model.predict_proba(rows), alone.predict_proba(rows))


@pytest.mark.parametrize(
    "method",
    [
        SensitiveRemover(**RACE),
        MitigatedClassifier(Reweigher(**RACE), MODEL, drop_sensitive=True),
        ProxyCorrection(MODEL, **RACE, strengths={"demographic_parity": 0.2}),
        FairSHAPClassifier(FairSHAP(MODEL, **RACE), MODEL, weights=None),
        SensitiveRemover(**SEX),
        SensitiveRemover(sensitive=["race", "sex"], privileged=("w", "m")),
    ],
    ids=["removed", "reweighed", "corrected", "repaired", "own", "both"],
)
def test_a_model_is_blind_only_to_the_column_that_it_drops(method):
    methods = {"baseline": None, "one": method}
    found = evaluate(X, Y, MODEL, **SEX, methods=methods, n_folds=2, random_state=0).frame()
    drops_sex = getattr(method, "sensitive", None) in ("sex", ["race", "sex"])
    for measure in ("dr", "raw_dr", "flips"):
        assert (found[measure].iloc[1] == 0) == drops_sex


def test_what_drops_another_column_needs_the_attribute():
    own = {"other": SensitiveRemover(**RACE), "blind": MitigatedClassifier(SensitiveRemover(**SEX), MODEL)}
    quick = {"n_folds": 2, "n_repeats": 1, "random_state": 0}
    found = tune(X, Y, MODEL, **SEX, candidates=own, **quick).frame().set_index("name")
    assert found.loc[["other", "blind"], "needs_attribute"].tolist() == [True, False]


def test_searches_share_only_what_is_alike():
    trees = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (2, 4)]
    params = {"n_folds": 2, "random_state": 0}
    strengths = {"strengths": {"demographic_parity": 0.4}}
    assert_as_alone(
        *(ProxyCorrection(tree, **who, **params, **strengths) for tree in trees for who in (SEX, RACE)),
        ProxyCorrection(trees[0], sensitive="sex", privileged="f", **params, **strengths),
        *(
            MitigatedClassifier(ParityWeigher(trees[0], **who, **params), MODEL, drop_sensitive=True)
            for who in (SEX, RACE)
        ),
    )


class Long(LogisticRegression):
    """A model whose repr says nothing of its parameters."""

    def __repr__(self, N_CHAR_MAX=700):
        return "Long(...)"


def test_estimators_are_told_apart_by_more_than_their_repr():
    params = {**SEX, "n_folds": 2, "random_state": 0, "strengths": {"demographic_parity": 0.4}}
    assert_as_alone(*(ProxyCorrection(Long(C=c), **params) for c in (0.001, 10.0)))


def test_weights_are_confirmed_on_the_folds_of_their_posteriors(monkeypatch):
    from fairshap.mitigation import _posteriors

    seeds, make = [], _posteriors.make_folds
    monkeypatch.setattr(_posteriors, "make_folds", lambda *how: seeds.append(how[-1]) or make(*how))
    weigher = ParityWeigher(MODEL, **SEX, n_folds=2, random_state=np.random.RandomState(0))
    trained(MitigatedClassifier(weigher, MODEL, drop_sensitive=True))
    assert len(seeds) > 1 == len(set(seeds))


@pytest.mark.parametrize("own", [None, DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_a_repair_without_an_estimator_is_tried_with_the_one_that_it_trains(own):
    repair = FairSHAP(own, **SEX, random_state=0)
    assert_as_alone(FairSHAPClassifier(repair, weights=None, drop_sensitive=False))


def test_after_counterfactuals_a_classifier_is_trained_as_it_trains_itself():
    neighbors = KNeighborsClassifier(3)
    repair = FairSHAP(MODEL, **SEX, counterfactuals="edited", random_state=0)
    assert_as_alone(FairSHAPClassifier(repair, neighbors, weights=None), estimator=neighbors)
    pytest.importorskip("fairlearn")
    for inner in (
        ReductionClassifier(MODEL, **SEX, method="grid_search", grid_size=3, random_state=0),
        ThresholdClassifier(MODEL, **SEX, random_state=0),
    ):
        model = FairSHAPClassifier(repair, inner, weights=None, drop_sensitive=False)
        found = trained(model)
        alone = model.fit(X.iloc[found.train], Y.iloc[found.train])
        rows = X.iloc[found.test]
        assert_array_equal(found.models[0].predict(rows), alone.predict(rows))


def test_rows_too_few_for_a_method_leave_it_out_and_a_wrong_call_is_told():
    # Four rows of a label in a group: a fold trains on two of them, and five parts cannot be made.
    few = pd.concat([X[(X["sex"] == "m") | (Y == 0)], X[(X["sex"] == "f") & (Y == 1)].iloc[:4]])
    labels, quick = Y[few.index], {**SEX, "n_folds": 2, "random_state": 0}
    weigher = ParityWeigher(MODEL, **SEX, n_folds=5, random_state=0)
    with pytest.warns(SkippedWarning, match=r"Left out.*'searched' \(InputError: n_folds=5 is too many"):
        found = evaluate(few, labels, MODEL, methods={"baseline": None, "searched": weigher}, **quick)
    assert found.names == ("baseline",)
    typo, wrong = (
        {"baseline": None, "other": SensitiveRemover(sensitive="race", privileged="white")},
        {"baseline": None, "other": ParityWeigher(MODEL, **SEX, minimize="everything")},
    )
    with pytest.raises(GroupError, match="'white' does not occur in 'race'"):
        evaluate(X, Y, MODEL, methods=typo, **quick)
    with pytest.raises(InputError, match="minimize"):
        evaluate(X, Y, MODEL, methods=wrong, **quick)


def test_methods_know_which_label_is_positive():
    names = [
        "baseline",
        "rsa-weights",
        "rsa-soft-labels",
        "correction",
        "thresholds",
        "fairshap-parity",
        "fairshap-reweighing",
    ]
    quick = {**SEX, "methods": names, "n_folds": 2, "random_state": 0}
    denied, granted = (
        evaluate(X, labels, MODEL, positive=positive, **quick).frame()
        for labels, positive in ((1 - Y, 0), (Y, None))
    )
    # The same table with its labels renamed.
    assert_allclose(denied[["accuracy", "dp", "eo"]], granted[["accuracy", "dp", "eo"]], atol=1e-9)
