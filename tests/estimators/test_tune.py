"""Tuning, budget curves, the threshold that is found and the hold-out that warns."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap import (
    ColumnEncoder,
    FairSHAP,
    FairSHAPClassifier,
    FairSHAPRegressor,
    budget_curve,
    datasets,
    paper_settings,
    tune,
)
from fairshap.edits import Strategy
from fairshap.exceptions import (
    InputError,
    ModelError,
    TargetError,
    UnmatchedRowsWarning,
    WorseModelWarning,
)
from fairshap.matching import Nearest
from fairshap.model_selection import MEASURES, Judgement, Table, Trial, Tried
from fairshap.model_selection._trials import Outcome
from fairshap.repair import Recipe
from tests.conftest import to_library

# Two folds are too few to tell a risk from noise.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

DATA = datasets.load("german")
X, Y = DATA.X, DATA.y
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
TREE = DecisionTreeClassifier(max_depth=6, random_state=0)
QUICK = {"n_folds": 2, "n_repeats": 1, "random_state": 5}


@pytest.fixture(scope="module")
def tuning():
    return tune(X, Y, TREE, **WHO, thresholds=[0.05, 0.02], strategies=["threshold", "optimal"], **QUICK)


def test_everything_that_was_tried_is_told(tuning):
    frame = tuning.frame()
    assert frame["name"].is_unique
    assert frame["name"][0] == "the model as it is"
    # As it is, without the column, twins alone; two strategies, two thresholds, three kinds of twins.
    assert len(frame) == 3 + 2 * 2 * 3
    assert (frame["accuracy_low"] <= frame["accuracy_high"]).all()
    assert frame.loc[frame["name"] == "the model without the sensitive column", "dr"].item() == 0
    assert tuning.recommended in tuning.reason or "baseline is kept" in tuning.reason
    assert tuning.recommended in set(frame["name"])
    best = frame[frame["allowed"]]["objective"][1:]
    assert best.is_monotonic_increasing


def test_no_candidate_beats_one_on_the_front(tuning):
    frame = tuning.frame()
    for _, row in frame.iterrows():
        beaten = ((frame["accuracy"] >= row["accuracy"]) & (frame["objective"] < row["objective"])).any() or (
            (frame["accuracy"] > row["accuracy"]) & (frame["objective"] <= row["objective"])
        ).any()
        assert row["on_front"] == (not beaten)
    assert tuning.front()["objective"].is_monotonic_increasing


def test_the_repair_that_is_handed_over_is_ready(tuning):
    X_fair, y = tuning.repair.fit_resample(X, Y)
    assert len(X_fair) == len(y)
    assert isinstance(tuning.repair, FairSHAP)


def test_the_trade_off_is_drawn(tuning):
    ax = tuning.plot()
    assert ax.get_ylabel() == "accuracy"
    assert len(ax.collections) >= 3


def test_the_same_seed_gives_the_same_answer(tuning):
    again = tune(X, Y, TREE, **WHO, thresholds=[0.05, 0.02], strategies=["threshold", "optimal"], **QUICK)
    pd.testing.assert_frame_equal(again.frame(), tuning.frame())


def test_limits_on_accuracy_and_edits_hold():
    tuning = tune(X, Y, TREE, **WHO, thresholds=[0.02], strategies=["threshold"], max_edits=0.001, **QUICK)
    frame = tuning.frame()
    assert (frame.loc[frame["allowed"], "share"] <= 0.001).all()
    assert not frame["allowed"].all()
    strict = tune(X, Y, TREE, **WHO, thresholds=[0.02], max_accuracy_drop=0.0, **QUICK).frame()
    assert (strict.loc[strict["allowed"], "accuracy"] >= strict["accuracy"][0]).all()


def tuned_encoded(**more):
    d = datasets.load("german", encoded=True)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0)
    tuning = tune(
        d.X, d.y, model, sensitive=d.sensitive, privileged=d.privileged, players=d.players,
        thresholds=[0.02], strategies=["threshold"], augments=[None], **more, **QUICK,
    )  # fmt: skip
    return tuning, tuning.frame().set_index("name")["edits"]


def test_players_that_belong_together_are_tried_both_ways_unless_they_stay_together():
    _, both = tuned_encoded()
    # A category that differs is two cells.
    assert both["threshold 0.02, players"] > both["threshold 0.02, each column"] > 0
    tuning, together = tuned_encoded(each_column=False)
    assert [name for name in together.index if name.startswith("threshold")] == ["threshold 0.02"]
    assert together["threshold 0.02"] == both["threshold 0.02, players"]
    assert tuning.repair.players == datasets.load("german", encoded=True).players


def test_guards_are_tried_beside_each_other():
    d = datasets.make_biased(600, random_state=0)

    def tuned(**guards):
        return tune(
            d.X, d.y, GradientBoostingClassifier(n_estimators=20, random_state=0), sensitive=d.sensitive,
            privileged=d.privileged, thresholds=[0.02], strategies=["threshold"], augments=["edited"],
            objective="dp", max_accuracy_drop=0.2, **guards, **QUICK,
        )  # fmt: skip

    both = tuned(guards=[False, "label"])
    edits = both.frame().set_index("name")["edits"]
    free, guarded = (f"threshold 0.02{guard}, twins of edited rows" for guard in ("", ", guard of labels"))
    assert 0 < edits[guarded] < edits[free]
    # Here what does not contradict a label is too little.
    assert (both.recommended, both.repair.guard) == (free, False)
    # One guard is the same as that parameter, also where twins alone are handed over.
    one, same = tuned(guards=iter(["label", "label"])), tuned(guard="label")
    pd.testing.assert_frame_equal(one.frame(), same.frame())
    assert one.frame().set_index("name")["edits"][free] == edits[guarded]
    assert one.repair.guard == same.repair.guard == "label"
    # So many words for the guard of risk are one.
    risk = tuned(guards=[True, "risk", np.True_])
    assert (risk.recommended, risk.repair.guard) == (free, "risk")
    assert len(risk.frame()) == len(one.frame())


def test_guards_that_cannot_be_tried_are_refused():
    for guards, text in (
        ({"guards": "label"}, "must be a list of at least one"),
        ({"guards": []}, "must be a list of at least one"),
        ({"guards": ["labels"]}, "Did you mean 'label'"),
        ({"guards": ["label"], "guard": "risk"}, "both given"),
    ):
        with pytest.raises(InputError, match=text):
            tune(X, Y, TREE, **WHO, **guards)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_any_frame_can_be_tuned(library):
    tuning = tune(
        to_library(X, library), Y.to_numpy(), TREE, **WHO,
        thresholds=[0.05], strategies=["threshold"], augments=["edited"], **QUICK,
    )  # fmt: skip
    assert len(tuning.frame()) == 4


def judged(risk, correct, gap=0.0, step=1):
    """A fold of 400 rows: the share that is right, the risk of every row, and what one group is denied.

    With a step of -1 it is the last ones that are denied it, not the first.
    """
    true = np.arange(400) % 2 == 0
    predicted = np.where(np.arange(400) < correct * 400, true, ~true)
    side = (np.arange(400) // 2 % 2).astype(np.int8)
    denied = np.flatnonzero((side == 0) & predicted)
    predicted[denied[::step][: round(gap * len(denied))]] = False
    fold = Judgement(np.arange(400), true, predicted, side.astype(np.int64), np.full(400, risk))
    return Outcome([fold], [0], [0.0])


def table_of(trials, outcomes):
    return Table.of(trials, Tried(outcomes, ("a", "b"), None), 200, 0)


def test_the_best_is_taken_and_of_equally_good_ones_the_most_accurate():
    trials = [Trial("as it is"), *(Trial(name, Recipe()) for name in ("best", "as good", "far"))]
    outcomes = [judged(0.2, 0.8), judged(0.10, 0.7), judged(0.10, 0.79), judged(0.19, 0.8)]
    table = table_of(trials, outcomes)
    taken, reason = table.recommend("dr", np.ones(4, dtype=bool))
    assert trials[taken].name == "as good"
    assert "as good" in reason
    taken, _ = table.recommend("dr", np.array([True, False, False, True]))
    assert trials[taken].name == "far"


def test_of_repairs_that_chance_tells_apart_the_most_accurate_is_taken():
    names = ("as it is", "best", "near and accurate", "near", "accurate")
    trials = [Trial(name, Recipe() if name != "as it is" else None) for name in names]
    accuracies, gaps = (0.80, 0.74, 0.78, 0.76, 0.79), (0.9, 0.20, 0.23, 0.22, 0.60)
    outcomes = [judged(0.2, right, gap) for right, gap in zip(accuracies, gaps, strict=True)]
    table = table_of(trials, outcomes)
    value = table.objective("dp")[0]
    assert value[1] < min(value[2:])
    taken, reason = table.recommend("dp", np.ones(5, dtype=bool))
    assert trials[taken].name == "near and accurate"
    assert "most accurate repair within one standard error of the best" in reason
    taken, reason = table.recommend("dp", np.array([True, True, False, False, True]))
    assert trials[taken].name == "best"
    assert "the best of all" in reason


def test_noise_is_not_progress():
    trials = [Trial("as it is"), Trial("other", Recipe())]
    same = table_of(trials, [judged(0.2, 0.8, 0.50), judged(0.2, 0.8, 0.49)])
    assert same.objective("dp")[0][1] < 1
    taken, reason = same.recommend("dp", np.ones(2, dtype=bool))
    assert taken == 0
    assert "kept" in reason


def test_a_plain_remedy_is_taken_where_it_is_at_least_as_good():
    twins = Trial("twins", Recipe(Strategy(threshold=np.inf), augment="all"))
    trials = [Trial("as it is"), Trial("without the column", drops=True), twins, Trial("repair", Recipe())]
    base, repair = judged(0.2, 0.8, 0.5), judged(0.0, 0.78, 0.2)
    allowed = np.ones(4, dtype=bool)

    def taken(without, with_twins):
        table = table_of(trials, [base, without, with_twins, repair])
        position, reason = table.recommend("dr", allowed)
        assert trials[position].name in reason
        return trials[position].name

    # Equal in DR, but better in accuracy, DP and EO.
    assert taken(judged(0.01, 0.8, 0.3), judged(0.01, 0.8, 0.1)) == "twins"
    assert taken(judged(0.01, 0.8, 0.1), judged(0.01, 0.8, 0.3)) == "without the column"
    assert taken(judged(0.01, 0.7, 0.1), judged(0.01, 0.8, 0.3)) == "repair"


def test_a_plain_remedy_that_is_nearly_as_good_is_named():
    trials = [Trial("as it is"), Trial("without the column", drops=True), Trial("repair", Recipe())]
    base, repair = judged(0.2, 0.8, 0.9), judged(0.0, 0.78, 0.2)
    for gap, near in ((0.22, True), (0.7, False)):
        table = table_of(trials, [base, judged(0.0, 0.75, gap), repair])
        taken, reason = table.recommend("fairness", np.ones(3, dtype=bool))
        assert trials[taken].name == "repair"
        assert ("without the column" in reason) == near


def test_the_objective_may_be_a_function_or_one_measure():
    trials = [Trial(name) for name in ("as it is", "other")]
    table = table_of(trials, [judged(0.2, 0.8), judged(0.1, 0.7)])
    assert_allclose(table.objective("dr")[0], [1.0, 0.5])
    by_hand = table.objective(lambda own, base: own["dr"] / base["dr"])
    assert_allclose(by_hand[0], table.objective("dr")[0])
    assert_allclose(by_hand[1], table.objective("dr")[1])
    assert by_hand[1].shape == (2, 200)


def test_the_objective_may_have_weights():
    trials = [Trial(name) for name in ("as it is", "other")]
    table = table_of(trials, [judged(0.2, 0.8, 0.5), judged(0.1, 0.7, 0.3)])
    by_weight, dr, dp = (table.objective(what) for what in ({"dr": 1, "dp": 3}, "dr", "dp"))
    for k in range(2):
        assert_allclose(by_weight[k], (dr[k] + 3 * dp[k]) / 4)
    assert_allclose(table.objective({"dr": 2, "dp": 2, "eo": 2})[1], table.objective("fairness")[1])


def test_what_lowers_one_measure_surely_is_told_from_the_baseline_whatever_the_weights():
    trials = [Trial("as it is"), Trial("repair", Recipe())]
    weights = {"dr": 1, "dp": 20}
    # DR falls surely, DP by less than its noise.
    table = table_of(trials, [judged(0.2, 0.8, 0.52), judged(0.0, 0.8, 0.5, -1)])
    samples = table.objective(weights)[1]
    assert np.quantile(samples[1] - samples[0], 0.975) > 0
    assert table.recommend(weights, np.ones(2, dtype=bool))[0] == 1
    # Where DP rises, the weighted mean is no lower, whatever DR does.
    table = table_of(trials, [judged(0.2, 0.8, 0.5), judged(0.0, 0.8, 0.6)])
    assert table.recommend("fairness", np.ones(2, dtype=bool))[0] == 1
    assert table.recommend(weights, np.ones(2, dtype=bool))[0] == 0
    # Nor does a measure of next to no weight hide what the others do.
    table = table_of(trials, [judged(0.2, 0.8, 0.1), judged(0.12, 0.8, 0.1, -1)])
    assert table.recommend({"dr": 1, "eo": 1}, np.ones(2, dtype=bool))[0] == 0
    assert table.recommend({"dr": 20, "eo": 0.1}, np.ones(2, dtype=bool))[0] == 1


def test_a_plain_remedy_that_leaves_more_risk_does_not_stand_in_for_a_repair():
    some = Trial("some twins", Recipe(Strategy(threshold=np.inf), augment=0.1), "own")
    trials = [Trial("as it is"), some, Trial("repair", Recipe())]
    outcomes = [judged(0.2, 0.8, 0.9), judged(0.1, 0.79, 0.19), judged(0.0, 0.78, 0.2)]
    taken, _ = table_of(trials, outcomes).recommend("dr", np.ones(3, dtype=bool))
    assert trials[taken].name == "repair"


def test_twins_of_rows_at_risk_are_tried_with_edits_and_alone():
    tuning = tune(
        X, Y, TREE, **WHO, thresholds=[0.05], strategies=["threshold"], augments=[0.1],
        objective={"dr": 1, "dp": 6}, **QUICK,
    )  # fmt: skip
    names = tuning.frame()["name"].tolist()
    assert {f"{what}twins of rows with a risk of 0.1 or more{more}"
            for what, more in (("", ", no edits"), ("threshold 0.05, ", ""))} < set(names)  # fmt: skip
    assert tuning.repair.augment in ("all", 0.1)


def test_twins_alone_have_no_edits_whatever_a_column_asks_for():
    given = {"thresholds": [0.05], "strategies": ["threshold"], "column_thresholds": {"age": 0.001}}
    frame = tune(X, Y, TREE, **WHO, **given, augments=[None, 0.05, 0.05], **QUICK).frame()
    assert frame["name"].is_unique
    by_name = frame.set_index("name")["edits"]
    assert by_name["threshold 0.05"] > 0
    assert (by_name[by_name.index.str.endswith("no edits")] == 0).all()
    assert by_name.index.str.endswith("no edits").sum() == 2


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"objective": "fair"}, InputError, "Did you mean 'fairness'"),
        ({"objective": {"dpp": 1}}, InputError, "weight to 'dpp'.*Did you mean 'dp'"),
        ({"objective": {"accuracy": 1}}, InputError, "weight to 'accuracy'"),
        ({"objective": {"dp": 0}}, InputError, "the weight 0"),
        ({"objective": {"dp": "2"}}, InputError, "the weight '2'"),
        ({"objective": {}}, InputError, "no weights"),
        ({"max_accuracy_drop": 2}, InputError, "max_accuracy_drop=2"),
        ({"max_edits": -1}, InputError, "max_edits=-1"),
        ({"strategies": ["best"]}, InputError, "the strategies are"),
        ({"augments": ["some"]}, InputError, "augment='some'"),
        ({"augments": [-1]}, InputError, "augment=-1"),
        ({"augments": [[0.1]]}, InputError, r"augment=\[0.1\]"),
        ({"augments": 0.1}, InputError, "augments=0.1 must be a list"),
        ({"augments": "all"}, InputError, "augments='all' must be a list"),
        ({"thresholds": [0]}, InputError, "threshold=0"),
        ({"thresholds": []}, InputError, "thresholds"),
        ({"n_folds": 1}, InputError, "n_folds=1 must be a whole number from 2 on"),
        ({"n_repeats": 0}, InputError, "n_repeats=0 must be a whole number from 1 on"),
    ],
)
def test_what_makes_no_sense_is_refused(params, error, text):
    with pytest.raises(error, match=text):
        tune(X, Y, TREE, **WHO, **{"thresholds": [0.05], "strategies": ["threshold"], **QUICK, **params})


def test_folds_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="n_folds=1 must be a whole number from 2 on"):
        budget_curve(X, Y, TREE, **WHO, n_folds=1)
    rare = np.where(np.arange(len(Y)) < 3, 0, 1)
    with pytest.raises(InputError, match="n_folds=4 is too many: one label of one group has 1 row,"):
        tune(X, rare, TREE, **WHO, n_folds=4)
    with pytest.raises(InputError, match=r"cannot be split into folds: .* Give a threshold"):
        FairSHAP(TREE, **WHO, threshold="auto", random_state=0).fit_resample(X, rare)


def test_the_intervals_hold_the_measures_also_those_of_small_gaps(tuning):
    frame = tuning.frame()
    for name in MEASURES:
        assert (frame[f"{name}_low"] <= frame[name]).all()
        assert (frame[name] <= frame[f"{name}_high"]).all()
        assert name in ("dp", "eo", "pqp") or (frame[f"{name}_low"] >= 0).all()


def test_quantities_are_not_tuned():
    with pytest.raises(TargetError, match="two labels"):
        tune(X, X["credit_amount"].astype(float) + 0.5, **WHO)


def test_the_curve_starts_at_the_baseline_and_edits_more_and_more():
    model = GradientBoostingClassifier(n_estimators=30, random_state=0)
    curve = budget_curve(X, Y, model, **WHO, budgets=[0, 20, 60], n_folds=2, random_state=0)
    frame = curve.frame()
    assert frame["edits"].tolist() == [0, 20, 60]
    assert set(MEASURES) < set(frame.columns)
    axes = curve.plot()
    assert len(axes) == len(MEASURES)
    assert len(budget_curve(X, Y, model, **WHO, n_folds=2, random_state=0).frame()) == 25
    with pytest.raises(InputError, match="budgets"):
        budget_curve(X, Y, TREE, **WHO, budgets=[-1])


def test_a_threshold_can_be_found():
    fs = FairSHAP(TREE, **WHO, threshold="auto", random_state=0)
    fs.fit_resample(X, Y)
    assert fs.threshold_ in (0.1, 0.05, 0.03, 0.02, 0.01)
    assert fs.threshold == "auto"
    assert (fs.edits_.phi >= fs.threshold_ - 1e-9).all()
    with pytest.raises(InputError, match="threshold='automatic'"):
        FairSHAP(TREE, **WHO, threshold="automatic").fit_resample(X, Y)


def test_a_repaired_model_that_is_worse_is_told_of():
    # Labels that follow a column which tells the group: to edit it is to lose them.
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 4000)
    hint = np.where(rng.random(4000) < 0.9, group, 1 - group)
    table = pd.DataFrame({"group": group, "hint": hint, "noise": rng.normal(size=4000)})
    y = (rng.random(4000) < 0.1 + 0.4 * group * hint + 0.4 * hint).astype(int)
    params = {"sensitive": "group", "privileged": 1, "random_state": 0, "threshold": 0.001}
    params["matching"] = Nearest(column_weights={"hint": 0})
    with pytest.warns(WorseModelWarning, match="held out .* worse .* accuracy"):
        FairSHAPClassifier(TREE, **params).fit(table, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FairSHAPClassifier(TREE, **params, holdout=None).fit(table, y)


def telling(kind):
    """A table in which one column tells the target and the group, and the target: labels or a quantity."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 4000)
    hint = np.where(rng.random(4000) < 0.9, group, 1 - group)
    table = pd.DataFrame({"group": group, "hint": hint, "noise": rng.normal(size=4000)})
    level = 0.1 + 0.4 * group * hint + 0.4 * hint
    if kind == "quantity":
        return table, level + 0.5 * rng.normal(size=4000)
    y = (rng.random(4000) < level).astype(int)
    return table, y + (table["noise"] > 1).to_numpy() if kind == "classes" else y


@pytest.mark.parametrize("kind", ["labels", "classes", "quantity"])
@pytest.mark.parametrize("is_beside", [False, True])
def test_a_worse_model_is_told_of_for_every_target_and_attribute(kind, is_beside):
    table, y = telling(kind)
    make, model = FairSHAPClassifier, DecisionTreeClassifier(max_depth=4, random_state=0)
    if kind == "quantity":
        make = partial(FairSHAPRegressor, bins=2)
        model = DecisionTreeRegressor(max_depth=4, random_state=0)
    params = {"privileged": 1, "random_state": 0, "matching": Nearest(column_weights={"hint": 0})}
    fit = {"sensitive_features": table["group"]} if is_beside else {}
    if is_beside:
        table = table.drop(columns="group")
    else:
        params["sensitive"] = "group"
    name = "R2" if kind == "quantity" else "accuracy"
    for threshold, is_worse in ((0.001, True), (10.0, False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", WorseModelWarning)
            make(model, **params, threshold=threshold).fit(table, y, **fit)
        texts = [str(one.message) for one in said]
        words = rf"On 800 rows .* its {name} is -?0\.\d+ instead of 0\.\d+"
        assert [bool(re.match(words, text)) for text in texts] == [True] * is_worse


def test_a_row_without_the_attribute_does_not_keep_the_check_from_being_made():
    table, y = telling("labels")
    table = table.assign(group=table["group"].where(np.arange(4000) != 7))
    params = {"sensitive": "group", "privileged": 1, "random_state": 0, "threshold": 0.001}
    params["matching"] = Nearest(column_weights={"hint": 0})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", WorseModelWarning)
        warnings.simplefilter("ignore", UnmatchedRowsWarning)
        FairSHAPClassifier(TREE, **params).fit(table, y)
    assert [one.category for one in said] == [WorseModelWarning]


def test_few_rows_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FairSHAPClassifier(TREE, **WHO, random_state=0).fit(X[:200], Y[:200])


def test_the_papers_settings_are_those_of_the_paper():
    params = paper_settings()
    clf = FairSHAPClassifier(LogisticRegression(), **WHO, **params)
    assert clf.get_params()["threshold"] == 0.05
    assert clf.augment is None


def test_what_is_said_of_the_table_is_not_said_again_of_the_rows_that_are_held_out():
    table = X.assign(sex=X["sex"].where(np.arange(len(X)) % 7 > 0))
    with pytest.warns(UnmatchedRowsWarning) as caught:
        FairSHAPClassifier(TREE, **WHO, random_state=0).fit(table, Y)
    assert len(caught) == 1


def test_a_fitted_model_is_not_measured_on_rows_that_it_may_have_seen():
    # It knows every row by heart: held against it, any other model would lose.
    fitted = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    for call in (tune, budget_curve):
        with pytest.raises(ModelError, match=f"{call.__name__} trains models .* Give it unfitted"):
            call(X, Y, FrozenEstimator(fitted), **WHO)
    with pytest.raises(ModelError, match="threshold='auto' trains"):
        FairSHAP(FrozenEstimator(fitted), **WHO, threshold="auto", random_state=0).fit(X, Y)
    FairSHAPClassifier(FrozenEstimator(fitted), **WHO, random_state=0).fit(X, Y)
