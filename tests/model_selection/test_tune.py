"""Tuning: the candidates, the ranking, the recommendation, and the threshold that is found."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fairshap import (
    Budget,
    ColumnEncoder,
    EditConstraints,
    Explainer,
    FairSHAP,
    FairSHAPClassifier,
    datasets,
)
from fairshap._crossval import GAPS, MEASURES, CrossValidation, Evaluation
from fairshap._crossval.evaluation import Measures
from fairshap._crossval.folds import Predictions, make_folds
from fairshap._crossval.ranking import Limits, Ranking, on_front
from fairshap._crossval.trials import Fold
from fairshap.exceptions import InputError, ModelError, SkippedWarning, TargetError
from fairshap.mitigation import MitigatedClassifier, Reweigher, SoftLabeler
from fairshap.model_selection import budget_curve, tune
from fairshap.model_selection._candidates import FAMILIES, Maker
from fairshap.model_selection._trials import KINDS, trial_of
from tests.conftest import to_library
from tests.models import models

# Two folds are too few to tell a risk from noise.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

DATA = datasets.make_biased(500, random_state=0)
X, Y = DATA.X, DATA.y
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
# The sensitive attribute beside the table.
BARE, ASIDE = X.drop(columns=DATA.sensitive), X[DATA.sensitive]
LINEAR = LogisticRegression()
QUICK = {"n_folds": 2, "n_repeats": 1, "random_state": 5}
PLAIN = ["drop the column", "drop the column, reweighing", "drop the column, reweighing squared"]


@pytest.fixture(scope="module")
def tuning():
    return tune(X, Y, LINEAR, **WHO, minimize="demographic_parity", max_accuracy_drop=0.05, **QUICK)


def maker(minimize="demographic_parity", beside=None):
    """A cross-validation of the table, and what makes the candidates for it."""
    table, who = (X, WHO) if beside is None else (BARE, {"privileged": DATA.privileged})
    template = FairSHAP(LINEAR, **who, random_state=0)
    problem = template._problem(table, Y, beside)
    folds = make_folds(problem.y, problem.groups.side, 2, 1, 0)
    return CrossValidation(template, problem, folds, 0), Maker(template, problem, minimize)


def test_candidates_keep_the_direction_and_the_game_that_were_asked_for():
    limits = EditConstraints(direction="parity")
    template = FairSHAP(LINEAR, **WHO, constraints=limits, explainer=Explainer(game="gap"), random_state=0)
    made = Maker(template, template._problem(X, Y), "demographic_parity").make(["cells"], is_blind=False)
    repairs = [one.model.repair for one in made if isinstance(one.model, FairSHAPClassifier)]
    assert len(repairs) > 6
    assert {one.constraints.direction for one in repairs} == {"parity"}
    assert {one.explainer.game for one in repairs} == {"gap"}
    assert len({one.name for one in made}) == len(made)


def test_edits_are_counted_also_where_weights_are_searched():
    limits = EditConstraints(direction="parity")
    repair = FairSHAP(**WHO, threshold=0.02, constraints=limits, random_state=0)
    mine = {"auto": FairSHAPClassifier(repair), "none": FairSHAPClassifier(repair, weights=None)}
    lines = tune(X, Y, LINEAR, **WHO, candidates=mine, **QUICK).frame().set_index("name")
    assert lines.loc["auto", "edits"] == lines.loc["none", "edits"] > 0


def test_what_the_default_classifier_does_is_a_candidate():
    _, made = maker()
    known = {one.name: one for one in made.make(["cells"], is_blind=True)}
    one = known["cells 1.5, towards parity, soft labels, column dropped"]
    assert isinstance(one.model.weights, SoftLabeler)
    assert one.kind == "soft labels"
    assert not one.needs_attribute


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"at": 0.05}, "at=0.05 must be levels"),
        ({"at": ["x"]}, "must be levels"),
        ({"axes": "dp"}, "must be a list"),
    ],
)
def test_a_curve_says_what_is_wrong_with_its_levels_and_axes(tuning, wrong, said):
    with pytest.raises(InputError, match=said):
        tuning.curve(X, Y, X, Y, **wrong)


@pytest.mark.filterwarnings("ignore:There is nothing to repair")
@pytest.mark.parametrize("beside", [None, ASIDE], ids=["column", "beside"])
def test_what_candidates_share_in_a_fold_changes_nothing(beside):
    cv, made = maker(beside=beside)
    train, test = cv.folds.pairs[0]
    table = X if beside is None else BARE
    candidates = made.make(None, is_blind=False)
    trials = [trial_of(one.name, one.model if k else None, cv) for k, one in enumerate(candidates)]
    fold = Fold.of(cv.problem, train, trials, LINEAR, cv._how(trials, False, False).weighing)
    more = {} if beside is None else {"sensitive_features": beside.iloc[train]}
    for one, trial in zip(candidates, trials, strict=True):
        if one.is_slow and one.name != "grid search":
            continue
        trained, n_fits = fold.train(trial)
        alone = clone(one.model).fit(table.iloc[train], Y.iloc[train], **more)
        expected = alone.predict_proba(table.iloc[test])
        assert_allclose(trained.model.predict_proba(table.iloc[test]), expected, atol=1e-9, err_msg=one.name)
        assert n_fits >= 1
        if not one.needs_attribute and beside is None:
            # A model that needs no attribute does not use it.
            other = table.iloc[test].assign(**{DATA.sensitive: "a"})
            assert_allclose(trained.model.predict_proba(other), expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore:There is nothing to repair")
def test_the_fits_of_a_candidate_are_those_that_it_takes_alone():
    cv, made = maker()
    candidates = {one.name: one for one in made.make(["plain", "weights", "corrections", "cells"], False)}
    trials = [
        trial_of(name, one.model if k else None, cv) for k, (name, one) in enumerate(candidates.items())
    ]
    fold = Fold.of(cv.problem, cv.folds.pairs[0][0], trials, LINEAR, None)
    fits = {trial.name: fold.train(trial)[1] for trial in trials}
    again = {trial.name: fold.train(trial)[1] for trial in trials}
    assert fits == again
    expected = {"baseline": 1, "drop the column": 1, "reweighing": 1, "cells 1.5": 2}
    assert {name: fits[name] for name in expected} == expected
    assert fits["correction, demographic parity 0.4"] == 12


def test_every_candidate_is_told_with_its_cost_and_whether_it_needs_the_attribute(tuning):
    frame = tuning.frame()
    assert frame["name"].is_unique
    assert frame["name"][0] == "baseline"
    assert set(PLAIN) < set(frame["name"])
    assert set(frame["kind"]) <= set(KINDS)
    lines = frame.set_index("name")
    assert lines.loc["drop the column", ["dr", "flips"]].tolist() == [0, 0]
    assert not lines.loc["drop the column", "needs_attribute"]
    assert lines.loc["thresholds by group 0.02", "needs_attribute"]
    assert (frame.loc[~frame["needs_attribute"], "flips"] == 0).all()
    assert (frame["n_fits"] >= 1).all()
    assert frame["recommended"].sum() == 1
    assert frame.loc[frame["recommended"], "name"].item() == tuning.recommended
    best = frame[frame["allowed"]]["minimized"][2:]
    assert best.is_monotonic_increasing
    for name in MEASURES:
        known = frame[name].notna()
        assert (frame.loc[known, f"{name}_low"] <= frame.loc[known, name] + 1e-12).all()
        assert (frame.loc[known, f"{name}_high"] >= frame.loc[known, name] - 1e-12).all()


def test_the_recommended_estimator_is_ready_to_fit(tuning):
    model = tuning.estimator
    assert model.fit(X, Y).predict(X).shape == (len(X),)
    assert tuning.frame().set_index("name").loc[tuning.recommended, "allowed"]


def test_the_reason_names_the_remedy_its_effect_and_the_plain_ones(tuning):
    first, *rest = tuning.reason.split(". ")
    assert "DP 0." in first
    assert "accuracy" in first
    for name in PLAIN:
        assert name in tuning.reason or name == tuning.recommended
    assert rest


def test_no_plain_remedy_dominates_what_is_recommended(tuning):
    lines = tuning.frame().set_index("name")
    taken = lines.loc[tuning.recommended]
    for name in PLAIN:
        if name != tuning.recommended:
            plain = lines.loc[name]
            assert plain["dp"] > taken["dp"] or plain["accuracy"] < taken["accuracy"]


def test_the_trade_off_is_drawn(tuning):
    ax = tuning.plot()
    assert ax.get_ylabel() == "accuracy"
    assert len(ax.collections) >= 3
    assert tuning.front()["minimized"].is_monotonic_increasing


def test_the_same_seed_gives_the_same_answer_on_any_number_of_processes():
    how = {**WHO, "candidates": ["plain", "cells"], "n_folds": 4, "random_state": 0}
    one = tune(X, Y, LINEAR, **how)
    for n_jobs in (1, 2):
        pd.testing.assert_frame_equal(tune(X, Y, LINEAR, **how, n_jobs=n_jobs).frame(), one.frame())


def test_a_curve_is_chosen_on_folds_and_measured_on_held_out_rows(tuning):
    test = datasets.make_biased(400, random_state=1)
    curve = tuning.curve(X, Y, test.X, test.y, at=[0.05, 0.3], axes=["dp", "flips"])
    frame = curve.frame()
    assert frame["axis"].tolist() == ["dp", "dp", "flips", "flips"]
    folds = tuning.frame().set_index("name")
    for _, line in frame.iterrows():
        assert line["expected"] == folds.loc[line["name"], line["axis"]]
        within = folds[folds[line["axis"]] <= line["at"]]
        if len(within):
            assert folds.loc[line["name"], "accuracy"] == within["accuracy"].max()
        model = clone(tuning._search.known[line["name"]].model).fit(X, Y)
        assert line["accuracy"] == pytest.approx((model.predict(test.X) == test.y).mean())
        assert line["met"] == (line["level"] <= line["at"])
    axes = curve.plot()
    assert [ax.get_title() for ax in axes] == ["DP", "Flips"]
    for wrong, text in (({"at": []}, "levels from 0 on"), ({"axes": ["auc"]}, "axes='auc' is not known")):
        with pytest.raises(InputError, match=text):
            tuning.curve(X, Y, test.X, test.y, **wrong)


def test_only_what_predicts_without_the_attribute_is_tried_where_it_is_not_at_hand():
    quick = {**QUICK, "candidates": ["plain", "peers"]}
    frame = tune(X, Y, LINEAR, **WHO, attribute_at_prediction=False, **quick)
    lines = frame.frame()
    assert lines["needs_attribute"].tolist() == [True] + [False] * (len(lines) - 1)
    assert frame.recommended != "baseline"
    # Even if nothing is within the limits.
    none = {"scoring": "auc", "max_accuracy_drop": 0}
    strict = tune(X, Y, LINEAR, **WHO, attribute_at_prediction=False, **none, **quick)
    assert strict.recommended != "baseline"
    assert "loses the least" in strict.reason


def test_an_attribute_beside_the_table_is_seen_by_no_model():
    found = tune(BARE, Y, LINEAR, sensitive_features=ASIDE, privileged=DATA.privileged, **QUICK)
    frame = found.frame()
    assert not frame["needs_attribute"].any()
    assert (frame[["dr", "flips"]] == 0).all(axis=None)
    assert not {"drop the column", "counterfactual rows"} & set(frame["name"])
    assert found.evaluation.noise_level is None
    assert "No model sees the sensitive attribute" in found.evaluation.how
    fitted = found.estimator.fit(BARE, Y, sensitive_features=ASIDE)
    assert fitted.predict(BARE).shape == (len(BARE),)
    # The baseline is the model without the column.
    column = tune(X, Y, LINEAR, **WHO, candidates=["plain"], **QUICK).frame().set_index("name")
    assert frame["dp"][0] == column.loc["drop the column", "dp"]


def test_limits_hold_for_any_measure_of_performance():
    frame = tune(X, Y, LINEAR, **WHO, scoring="auc", max_accuracy_drop=0.02, **QUICK).frame()
    allowed = frame[frame["allowed"]]
    assert (allowed["auc"] >= frame["auc"][0] - 0.02).all()
    frame = tune(X, Y, LINEAR, **WHO, max_auc_drop=0.01, candidates=["plain"], **QUICK).frame()
    assert (frame.loc[frame["allowed"], "auc"] >= frame["auc"][0] - 0.01).all()
    few = tune(X, Y, LINEAR, **WHO, candidates=["cells"], max_edits=0.001, **QUICK).frame()
    assert (few.loc[few["allowed"], "share"] <= 0.001).all()


def test_classifiers_and_methods_of_the_user_s_can_be_tried():
    limits = EditConstraints(direction="parity")
    mine = {
        "edits": FairSHAP(**WHO, selector=Budget(20), constraints=limits),
        "weights": Reweigher(**WHO),
        "blind": FairSHAPClassifier(FairSHAP(**WHO, threshold=0.05), LINEAR, drop_sensitive=True),
        "other": MitigatedClassifier(Reweigher(**WHO), DecisionTreeClassifier(max_depth=3, random_state=0)),
    }
    lines = tune(X, Y, LINEAR, **WHO, candidates=mine, **QUICK).frame().set_index("name")
    assert set(lines.index) == {"baseline", "drop the column", *mine}
    assert lines.loc["edits", "edits"] == 20
    assert lines["kind"].to_dict() == {
        "baseline": "baseline", "drop the column": "column dropped", "edits": "cells",
        "weights": "reweighing", "blind": "soft labels", "other": "reweighing",
    }  # fmt: skip
    assert not lines.loc["blind", "needs_attribute"]


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_any_frame_can_be_tuned(library):
    table = to_library(X, library)
    found = tune(table, Y.to_numpy(), LINEAR, **WHO, candidates=["plain", "corrections"], **QUICK)
    same = tune(X, Y, LINEAR, **WHO, candidates=["plain", "corrections"], **QUICK)
    assert found.recommended == same.recommended
    assert_allclose(found.frame()["dp"], same.frame()["dp"])


def judged(risk, correct, gap=0.0, step=1):
    """A fold of 400 rows: the share that is right, the risk of every row, and what one group is denied.

    With a step of -1 it is the last ones that are denied it, not the first.
    """
    true = np.arange(400) % 2 == 0
    predicted = np.where(np.arange(400) < correct * 400, true, ~true)
    group = np.arange(400) // 2 % 2
    denied = np.flatnonzero((group == 0) & predicted)
    predicted[denied[::step][: round(gap * len(denied))]] = False
    return Predictions(np.arange(400), true, predicted, group, np.full(400, risk))


def ranked(minimize, folds, complexity=None, **limits):
    """The ranking of candidates by name."""
    zeros = np.zeros(len(folds))
    measures = Measures.of([[fold] for fold in folds.values()], ("a", "b"))
    evaluation = Evaluation(tuple(folds), measures, zeros, zeros, zeros, by="name")
    return Ranking(evaluation, minimize, Limits(**{"max_drop": 1.0, **limits}), complexity)


def simplest(ranking, *among):
    """The name of what is recommended among some candidates, by default all."""
    return ranking.names[ranking.simplest(np.isin(ranking.names, among or ranking.names))]


def test_of_candidates_that_chance_tells_apart_the_simplest_is_taken_and_then_the_best_performing():
    names = ("baseline", "best", "near", "near and accurate", "simple", "simple but far")
    accuracies, gaps = (0.80, 0.74, 0.76, 0.78, 0.73, 0.79), (0.9, 0.20, 0.22, 0.23, 0.22, 0.60)
    folds = {name: judged(0.2, right, gap) for name, right, gap in zip(names, accuracies, gaps, strict=True)}
    ranking = ranked("dp", folds, [0, 3, 3, 3, 2, 1])
    assert ranking.names[ranking.best(np.ones(6, dtype=bool))] == "best"
    assert simplest(ranking) == "simple"
    assert simplest(ranking, *names[:4], names[5]) == "near and accurate"
    assert simplest(ranking, "baseline", "best", "simple but far") == "best"


def test_noise_is_not_progress():
    folds = {"baseline": judged(0.2, 0.8, 0.50), "other": judged(0.2, 0.8, 0.49)}
    ranking = ranked("demographic_parity", folds, [0, 1])
    assert ranking.value[1] < 1
    assert simplest(ranking) == "baseline"


def test_limits_are_on_what_is_scored():
    folds = {"baseline": judged(0.2, 0.8), "one": judged(0.1, 0.79), "two": judged(0.1, 0.7)}
    assert ranked("dr", folds, max_drop=0.05).is_allowed().tolist() == [True, True, False]
    # AUC cannot be taken without scores, and so limits nothing.
    assert ranked("dr", folds, max_drop=0.05, max_auc_drop=0.0).is_allowed().tolist() == [True, True, False]
    assert ranked("dr", folds, scoring="log_loss", max_drop=0.0).is_allowed().all()


def test_only_what_is_surely_worse_is_dropped_early():
    folds = {
        "baseline": judged(0.2, 0.8, 0.9),
        "best": judged(0.2, 0.8, 0.2),
        "perhaps": judged(0.2, 0.8, 0.25),
        "worse": judged(0.2, 0.8, 0.6, -1),
        "beyond": judged(0.2, 0.35, 0.1),
        "at the limit": judged(0.2, 0.77, 0.3),
    }
    ranking = ranked("dp", folds, max_drop=0.02)
    everything, none = np.ones(6, dtype=bool), np.zeros(6, dtype=bool)
    assert ranking.beaten(everything, none).tolist() == [True, False, False, True, True, False]
    # The best at the edge of the limits may be beyond them in the end, and beats nothing.
    edge = ranked("dp", {**folds, "best": judged(0.2, 0.66, 0.2)}, max_drop=0.02)
    assert edge.is_allowed()[1]
    assert not edge.beaten(everything, none)[5]
    # What is slow has to be the best so far.
    slow = np.isin(ranking.names, ["at the limit"])
    assert ranking.beaten(everything, slow).tolist() == [True, False, False, True, True, True]


def test_what_is_minimized_may_be_one_measure_or_have_weights():
    folds = {"baseline": judged(0.2, 0.8, 0.5), "other": judged(0.1, 0.7, 0.3)}
    assert_allclose(ranked("dr", folds).value, [1.0, 0.5])
    assert_allclose(ranked("discriminative_risk", folds).value, [1.0, 0.5])
    weighted, dr, dp = (ranked(what, folds) for what in ({"dr": 1, "demographic_parity": 3}, "dr", "dp"))
    assert_allclose(weighted.value, (dr.value + 3 * dp.value) / 4)
    # DR and DP are independent on one set of rows.
    assert_allclose(weighted.covariance, (dr.covariance + 9 * dp.covariance) / 16)
    same = ranked({"dr": 2, "dp": 2, "eo": 2}, folds), ranked("fairness", folds)
    assert_allclose(same[0].covariance, same[1].covariance)


def test_a_gap_that_cannot_be_measured_counts_as_unchanged():
    true, group = np.repeat([True, False], 50), np.tile([0, 1], 50)
    rows, none = np.arange(100), np.zeros(100)
    # Nobody of the second group is predicted positive: there is no precision to compare.
    known, unknown = (
        Predictions(rows, true, predicted, group, none) for predicted in (rows % 3 == 0, (group == 0) & true)
    )
    for folds in ({"baseline": known, "other": unknown}, {"baseline": unknown, "other": known}):
        ranking = ranked("pqp", folds)
        assert_allclose(ranking.value, 1)
        assert ranking.covariance[1, 1] == 0 or folds["baseline"] is known


def test_no_candidate_beats_one_on_the_front():
    rng = np.random.default_rng(0)
    value, level = rng.integers(0, 5, 30).astype(float), rng.integers(0, 5, 30).astype(float)
    for k, one in enumerate(on_front(value, level)):
        beaten = ((level >= level[k]) & (value < value[k])) | ((level > level[k]) & (value <= value[k]))
        assert one == (not beaten.any())


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"minimize": "fair"}, InputError, "Did you mean 'fairness'"),
        ({"minimize": lambda own, base: own["dp"]}, InputError, "is not known; give one of 'fairness'"),
        ({"minimize": {"dpp": 1}}, InputError, "weight to 'dpp'.*Did you mean 'dp'"),
        ({"minimize": {"accuracy": 1}}, InputError, "weight to 'accuracy'"),
        ({"minimize": {"dp": 0}}, InputError, "the weight 0"),
        ({"minimize": {"dp": "2"}}, InputError, "the weight '2'"),
        ({"minimize": {}}, InputError, "no weights"),
        ({"max_accuracy_drop": 2}, InputError, "max_accuracy_drop=2 must be between 0 and 1"),
        ({"max_auc_drop": -1}, InputError, "max_auc_drop=-1 must be between 0 and 1"),
        ({"scoring": "roc"}, InputError, "scoring='roc' is not known"),
        ({"attribute_at_prediction": "no"}, InputError, "must be False, True or None"),
        ({"max_edits": -1}, InputError, "max_edits=-1"),
        ({"max_edits": "5"}, InputError, "max_edits='5'"),
        ({"candidates": []}, InputError, "must be a list of some of 'plain'"),
        ({"candidates": ["plane"]}, InputError, "Did you mean 'plain'"),
        ({"candidates": {"baseline": None}}, InputError, "which are always tried"),
        ({"selector": Budget(10)}, InputError, "one of candidates"),
        ({"n_folds": 1}, InputError, "n_folds=1 must be a whole number from 2 on"),
    ],
)
def test_what_cannot_be_searched_is_refused(params, error, text):
    with pytest.raises(error, match=text) as caught:
        tune(X, Y, LINEAR, **WHO, **{**QUICK, **params})
    if "selector" not in params:
        assert caught.value.parameter in params


def test_several_labels_are_refused():
    with pytest.raises(TargetError, match="tune takes a target of two labels"):
        tune(X, np.arange(len(X)) % 3, LINEAR, **WHO)


def test_a_threshold_can_be_found():
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    fs = FairSHAP(tree, **WHO, threshold="auto", random_state=0)
    fs.fit_resample(X, Y)
    assert fs.threshold_ in (0.1, 0.05, 0.03, 0.02, 0.01)
    assert fs.threshold == "auto"
    assert (fs.edits_.phi >= fs.threshold_ - 1e-9).all()
    with pytest.raises(InputError, match="threshold='automatic'"):
        FairSHAP(tree, **WHO, threshold="automatic").fit_resample(X, Y)


def test_a_fitted_model_is_not_measured_on_rows_that_it_may_have_seen():
    # It knows every row by heart: held against it, any other model would lose.
    fitted = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    for call in (tune, budget_curve):
        with pytest.raises(ModelError, match=f"{call.__name__} trains models .* Give it unfitted"):
            call(X, Y, FrozenEstimator(fitted), **WHO)
    with pytest.raises(ModelError, match="threshold='auto' trains"):
        FairSHAP(FrozenEstimator(fitted), **WHO, threshold="auto", random_state=0).fit(X, Y)


SMALL = models.DATA
FEW = {**models.WHO, **QUICK, "random_state": 0}


class Shy(LogisticRegression):
    """Cannot be trained on more rows than a fold has; counts how often it was asked to."""

    refused = 0

    def fit(self, X, y, sample_weight=None):
        if len(y) > len(SMALL.y) * 3 // 4:
            Shy.refused += 1
            raise RuntimeError("too many rows")
        return super().fit(X, y, sample_weight)


class Hopeless(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("cannot be trained")


def test_what_cannot_be_trained_is_left_out_and_not_tried_again():
    Shy.refused = 0
    with pytest.warns(SkippedWarning, match=r"'counterfactual rows' .*RuntimeError: too many rows"):
        found = tune(SMALL.X, SMALL.y, Shy(), **{**FEW, "n_folds": 4}, candidates=["plain"])
    assert "counterfactual rows" not in set(found.frame()["name"])
    # Once raw and once encoded, in the first fold only.
    assert 1 <= Shy.refused <= 2
    with pytest.raises(RuntimeError, match="cannot be trained"):
        tune(SMALL.X, SMALL.y, Hopeless(), **FEW)
    with pytest.raises(InputError, match="frozen"):
        tune(SMALL.X, SMALL.y, **FEW, candidates=["cells"], constraints=EditConstraints(frozen=["skil"]))


def test_an_estimator_that_takes_no_weights_is_tuned_without_them():
    # The searches say so in other words.
    refusals = (pytest.warns(SkippedWarning, match=text) for text in ("takes no sample_weight", "TypeError"))
    with next(refusals), next(refusals):
        frame = tune(SMALL.X, SMALL.y, KNeighborsClassifier(), **FEW, candidates=["plain", "weights"]).frame()
    assert set(frame["name"]) == {"baseline", "drop the column", "counterfactual rows"}


def test_the_families_are_all_there(tuning):
    assert set(FAMILIES) == {"plain", "weights", "cells", "labels", "corrections", "peers"}
    assert set(GAPS) <= set(MEASURES)
    assert len(tuning.frame()) > 30


def test_a_measure_that_the_baseline_hardly_has_is_taken_as_it_is():
    folds = {"baseline": judged(0.0, 0.8, 0.5), "other": judged(0.1, 0.8, 0.4)}
    assert_allclose(ranked("dr", folds).value, [0.0, 0.1])


def test_equalized_odds_can_be_minimized():
    _, made = maker("equalized_odds")
    thresholds = [one.model for one in made._peers() if one.kind == "thresholds by group"]
    assert [one.tol for one in thresholds] == [0.0]
    for one in thresholds:
        one.fit(X, Y)
