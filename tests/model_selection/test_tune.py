"""Tuning: the candidates, the ranking, and the threshold that is found."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from fairshap import Budget, ColumnEncoder, EditConstraints, FairSHAP, OptimalSubset, datasets
from fairshap._crossval import GAPS, MEASURES, Evaluation
from fairshap._crossval.evaluation import Measures
from fairshap._crossval.folds import Predictions
from fairshap._crossval.objective import Ranking
from fairshap.exceptions import InputError, ModelError, SkippedWarning, TargetError, WeightsWarning
from fairshap.model_selection import budget_curve, tune
from tests.conftest import to_library
from tests.models import models

# Two folds are too few to tell a risk from noise.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

DATA = datasets.load("german")
X, Y = DATA.X, DATA.y
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
TREE = DecisionTreeClassifier(max_depth=6, random_state=0)
QUICK = {"n_folds": 2, "n_repeats": 1, "random_state": 5}


@pytest.fixture(scope="module")
def tuning():
    return tune(X, Y, TREE, **WHO, thresholds=[0.05, 0.02], selectors=["threshold", "optimal"], **QUICK)


def test_everything_that_was_tried_is_told(tuning):
    frame = tuning.frame()
    assert frame["name"].is_unique
    assert frame["name"][0] == "baseline"
    # Baseline, column dropped, counterfactuals alone; two selectors, two thresholds, three kinds of rows.
    assert len(frame) == 3 + 2 * 2 * 3
    assert (frame["accuracy_low"] <= frame["accuracy_high"]).all()
    assert frame.loc[frame["name"] == "without the sensitive column", "dr"].item() == 0
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
    again = tune(X, Y, TREE, **WHO, thresholds=[0.05, 0.02], selectors=["threshold", "optimal"], **QUICK)
    pd.testing.assert_frame_equal(again.frame(), tuning.frame())


def test_processes_that_share_the_folds_find_the_same_and_warn_as_one_does():
    def found(n_jobs):
        with pytest.warns() as caught:
            tuning = tune(SMALL.X, SMALL.y, Shy(), **FEW, n_jobs=n_jobs)
        said = {(one.category, str(one.message)) for one in caught}
        return tuning.evaluation.frame(), said

    (one, said), (two, again) = found(1), found(2)
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert said == again
    assert SkippedWarning in {category for category, _ in said}
    with pytest.raises(RuntimeError, match="cannot be trained"):
        tune(SMALL.X, SMALL.y, Hopeless(), **FEW, n_jobs=2)


def test_limits_on_accuracy_and_edits_hold():
    tuning = tune(X, Y, TREE, **WHO, thresholds=[0.02], selectors=["threshold"], max_edits=0.001, **QUICK)
    frame = tuning.frame()
    assert (frame.loc[frame["allowed"], "share"] <= 0.001).all()
    assert not frame["allowed"].all()
    strict = tune(X, Y, TREE, **WHO, thresholds=[0.02], max_accuracy_drop=0.0, **QUICK).frame()
    assert (strict.loc[strict["allowed"], "accuracy"] >= strict["accuracy"][0]).all()


def tuned_encoded(**more):
    d = datasets.load("german", encoded=True)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0)
    tuning = tune(
        d.X, d.y, model, sensitive=d.sensitive, privileged=d.privileged, feature_groups=d.feature_groups,
        thresholds=[0.02], selectors=["threshold"], counterfactuals=[None], **more, **QUICK,
    )  # fmt: skip
    return tuning, tuning.frame().set_index("name")["edits"]


def test_columns_that_belong_together_are_tried_both_ways_unless_they_stay_together():
    _, both = tuned_encoded()
    # A category that differs is two cells.
    assert both["threshold 0.02, feature groups"] > both["threshold 0.02, each column"] > 0
    tuning, together = tuned_encoded(each_column=False)
    assert [name for name in together.index if name.startswith("threshold")] == ["threshold 0.02"]
    assert together["threshold 0.02"] == both["threshold 0.02, feature groups"]
    assert tuning.repair.explainer.feature_groups == datasets.load("german", encoded=True).feature_groups


def test_rejections_are_tried_beside_each_other():
    d = datasets.make_biased(600, random_state=0)

    def tuned(**params):
        return tune(
            d.X, d.y, GradientBoostingClassifier(n_estimators=20, random_state=0), sensitive=d.sensitive,
            privileged=d.privileged, thresholds=[0.02], selectors=["threshold"], counterfactuals=["edited"],
            objective="dp", max_accuracy_drop=0.2, **params, **QUICK,
        )  # fmt: skip

    both = tuned(reject_if=[None, "label_less_likely"])
    edits = both.frame().set_index("name")["edits"]
    rows = "counterfactuals of edited rows"
    free, rejecting = f"threshold 0.02, {rows}", f"threshold 0.02, reject_if label_less_likely, {rows}"
    assert 0 < edits[rejecting] < edits[free]
    # Here what does not contradict a label is too little.
    assert (both.recommended, both.repair.constraints.reject_if) == (free, None)
    # A single one is the same as that of the constraints, also if counterfactuals alone are handed over.
    one = tuned(reject_if=iter(["label_less_likely", "label_less_likely"]))
    same = tuned(constraints=EditConstraints(reject_if="label_less_likely"))
    pd.testing.assert_frame_equal(one.frame(), same.frame())
    assert one.frame().set_index("name")["edits"][free] == edits[rejecting]
    assert one.repair.constraints.reject_if == same.repair.constraints.reject_if == "label_less_likely"


def test_rejections_that_cannot_be_tried_are_refused():
    for params, text in (
        ({"reject_if": "label_less_likely"}, "must be a list of at least one"),
        ({"reject_if": []}, "must be a list of at least one"),
        ({"reject_if": ["label_less_likly"]}, "Did you mean 'label_less_likely'"),
        (
            {"reject_if": ["risk_rises"], "constraints": EditConstraints(reject_if="risk_rises")},
            "given twice",
        ),
    ):
        with pytest.raises(InputError, match=text):
            tune(X, Y, TREE, **WHO, **params)


def test_a_selector_of_the_user_s_is_tried_as_it_is():
    selectors = [Budget(10), OptimalSubset(0.001)]
    frame = tune(X, Y, TREE, **WHO, selectors=selectors, counterfactuals=[None], **QUICK).frame()
    edits = frame.set_index("name")["edits"]
    assert edits["Budget(n_cells=10)"] == 10
    assert edits["OptimalSubset(cost=0.001)"] > 0
    with pytest.raises(InputError, match="tune tries selectors with thresholds"):
        tune(X, Y, TREE, **WHO, selector=Budget(10))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_any_frame_can_be_tuned(library):
    tuning = tune(
        to_library(X, library), Y.to_numpy(), TREE, **WHO,
        thresholds=[0.05], selectors=["threshold"], counterfactuals=["edited"], **QUICK,
    )  # fmt: skip
    assert len(tuning.frame()) == 4


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


def ranked(objective, folds, plain=("baseline",)):
    """The ranking of candidates by name."""
    zeros = np.zeros(len(folds))
    measures = Measures.of([[fold] for fold in folds.values()], ("a", "b"))
    evaluation = Evaluation(tuple(folds), measures, zeros, zeros, zeros, by="name")
    return Ranking(evaluation, objective, [name in plain for name in folds])


def taken(ranking, *allowed):
    """The name and the reason of what is recommended among some candidates, by default all."""
    position, reason = ranking.recommend(np.isin(ranking.names, allowed or ranking.names))
    return ranking.names[position], reason


def test_the_best_is_taken_and_of_equally_good_ones_the_most_accurate():
    folds = {"baseline": judged(0.2, 0.8), "best": judged(0.10, 0.7)}
    ranking = ranked("dr", folds | {"as good": judged(0.10, 0.79), "far": judged(0.19, 0.8)})
    name, reason = taken(ranking)
    assert name == "as good"
    assert "as good" in reason
    assert taken(ranking, "baseline", "far")[0] == "far"


def test_of_repairs_that_chance_tells_apart_the_most_accurate_is_taken():
    names = ("baseline", "best", "near and accurate", "near", "accurate")
    accuracies, gaps = (0.80, 0.74, 0.78, 0.76, 0.79), (0.9, 0.20, 0.23, 0.22, 0.60)
    parts = zip(names, accuracies, gaps, strict=True)
    ranking = ranked("dp", {name: judged(0.2, right, gap) for name, right, gap in parts})
    assert ranking.value[1] < min(ranking.value[2:])
    name, reason = taken(ranking)
    assert name == "near and accurate"
    assert "most accurate repair within one standard error of the best" in reason
    name, reason = taken(ranking, "baseline", "best", "accurate")
    assert name == "best"
    assert "it is the best within the limits" in reason


def test_noise_is_not_progress():
    same = ranked("dp", {"baseline": judged(0.2, 0.8, 0.50), "other": judged(0.2, 0.8, 0.49)})
    assert same.value[1] < 1
    name, reason = taken(same)
    assert name == "baseline"
    assert "kept" in reason


def test_a_plain_remedy_is_taken_where_it_is_at_least_as_good():
    base, repair = judged(0.2, 0.8, 0.5), judged(0.0, 0.78, 0.2)

    def best(without, counterfactuals):
        folds = {"baseline": base, "without": without, "alone": counterfactuals, "repair": repair}
        name, reason = taken(ranked("dr", folds, plain=("baseline", "without", "alone")))
        assert name in reason
        return name

    # Equal in DR, but better in accuracy, DP and EO.
    assert best(judged(0.01, 0.8, 0.3), judged(0.01, 0.8, 0.1)) == "alone"
    assert best(judged(0.01, 0.8, 0.1), judged(0.01, 0.8, 0.3)) == "without"
    assert best(judged(0.01, 0.7, 0.1), judged(0.01, 0.8, 0.3)) == "repair"


def test_a_plain_remedy_that_is_nearly_as_good_is_named():
    base, repair = judged(0.2, 0.8, 0.9), judged(0.0, 0.78, 0.2)
    for gap, near in ((0.22, True), (0.7, False)):
        folds = {"baseline": base, "without the column": judged(0.0, 0.75, gap), "repair": repair}
        name, reason = taken(ranked("fairness", folds, plain=("baseline", "without the column")))
        assert name == "repair"
        assert ("without the column" in reason) == near


def test_the_objective_may_be_one_measure_or_have_weights():
    folds = {"baseline": judged(0.2, 0.8, 0.5), "other": judged(0.1, 0.7, 0.3)}
    assert_allclose(ranked("dr", folds).value, [1.0, 0.5])
    by_weight, dr, dp = (ranked(what, folds) for what in ({"dr": 1, "dp": 3}, "dr", "dp"))
    assert_allclose(by_weight.value, (dr.value + 3 * dp.value) / 4)
    # DR and DP are independent on one set of rows.
    assert_allclose(by_weight.covariance, (dr.covariance + 9 * dp.covariance) / 16)
    same = ranked({"dr": 2, "dp": 2, "eo": 2}, folds), ranked("fairness", folds)
    assert_allclose(same[0].covariance, same[1].covariance)


def test_what_lowers_one_measure_surely_is_told_from_the_baseline_whatever_the_weights():
    weights = {"dr": 1, "dp": 20}
    # DR falls surely, DP by less than its noise.
    folds = {"baseline": judged(0.2, 0.8, 0.52), "repair": judged(0.0, 0.8, 0.5, -1)}
    ranking = ranked(weights, folds)
    error = np.sqrt(np.array([1, -1]) @ ranking.covariance @ np.array([1, -1]))
    assert ranking.value[1] - ranking.value[0] + 1.96 * error > 0
    assert taken(ranking)[0] == "repair"
    # If DP rises, the weighted mean is no lower, whatever DR does.
    folds = {"baseline": judged(0.2, 0.8, 0.5), "repair": judged(0.0, 0.8, 0.6)}
    assert taken(ranked("fairness", folds))[0] == "repair"
    assert taken(ranked(weights, folds))[0] == "baseline"
    # Nor does a measure of next to no weight hide what the others do.
    folds = {"baseline": judged(0.2, 0.8, 0.1), "repair": judged(0.12, 0.8, 0.1, -1)}
    assert taken(ranked({"dr": 1, "eo": 1}, folds))[0] == "baseline"
    assert taken(ranked({"dr": 20, "eo": 0.1}, folds))[0] == "repair"


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


def test_a_plain_remedy_that_leaves_more_risk_does_not_stand_in_for_a_repair():
    folds = {"baseline": judged(0.2, 0.8, 0.9), "some": judged(0.1, 0.79, 0.19)}
    ranking = ranked("dr", folds | {"repair": judged(0.0, 0.78, 0.2)}, plain=("baseline", "some"))
    assert taken(ranking)[0] == "repair"


def test_counterfactuals_of_rows_at_risk_are_tried_with_edits_and_alone():
    tuning = tune(
        X, Y, TREE, **WHO, thresholds=[0.05], selectors=["threshold"], counterfactuals=[None, 0.1, 0.1],
        objective={"dr": 1, "dp": 6}, **QUICK,
    )  # fmt: skip
    frame = tuning.frame()
    assert frame["name"].is_unique
    rows = "counterfactuals of rows with a risk of 0.1 or more"
    assert {f"{rows}, no edits", f"threshold 0.05, {rows}"} < set(frame["name"])
    alone = frame[frame["name"].str.endswith("no edits")]
    assert len(alone) == 2
    assert (alone["edits"] == 0).all()
    assert tuning.repair.counterfactuals in ("all", 0.1)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"objective": "fair"}, InputError, "Did you mean 'fairness'"),
        ({"objective": lambda own, base: own["dp"]}, InputError, "is not known; give one of 'fairness'"),
        ({"objective": {"dpp": 1}}, InputError, "weight to 'dpp'.*Did you mean 'dp'"),
        ({"objective": {"accuracy": 1}}, InputError, "weight to 'accuracy'"),
        ({"objective": {"dp": 0}}, InputError, "the weight 0"),
        ({"objective": {"dp": "2"}}, InputError, "the weight '2'"),
        ({"objective": {}}, InputError, "no weights"),
        ({"max_accuracy_drop": 2}, InputError, "max_accuracy_drop=2"),
        ({"max_edits": -1}, InputError, "max_edits=-1"),
        ({"selectors": ["treshold"]}, InputError, "Did you mean 'threshold'"),
        ({"counterfactuals": ["some"]}, InputError, "counterfactuals='some'"),
        ({"counterfactuals": [-1]}, InputError, "counterfactuals=-1"),
        ({"counterfactuals": [[0.1]]}, InputError, r"counterfactuals=\[0.1\]"),
        ({"counterfactuals": 0.1}, InputError, "counterfactuals=0.1 must be a list"),
        ({"counterfactuals": "all"}, InputError, "counterfactuals='all' must be a list"),
        ({"thresholds": [0]}, InputError, "threshold=0"),
        ({"thresholds": []}, InputError, "thresholds"),
        ({"n_folds": 1}, InputError, "n_folds=1 must be a whole number from 2 on"),
        ({"n_repeats": 0}, InputError, "n_repeats=0 must be a whole number from 1 on"),
    ],
)
def test_what_makes_no_sense_is_refused(params, error, text):
    with pytest.raises(error, match=text):
        tune(X, Y, TREE, **WHO, **{"thresholds": [0.05], "selectors": ["threshold"], **QUICK, **params})


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
        assert name in GAPS or (frame[f"{name}_low"] >= 0).all()


def test_quantities_are_not_tuned():
    with pytest.raises(TargetError, match="two labels"):
        tune(X, X["credit_amount"].astype(float) + 0.5, **WHO)


def test_a_threshold_can_be_found():
    fs = FairSHAP(TREE, **WHO, threshold="auto", random_state=0)
    fs.fit_resample(X, Y)
    assert fs.threshold_ in (0.1, 0.05, 0.03, 0.02, 0.01)
    assert fs.threshold == "auto"
    assert (fs.edits_.phi >= fs.threshold_ - 1e-9).all()
    with pytest.raises(InputError, match="threshold='automatic'"):
        FairSHAP(TREE, **WHO, threshold="automatic").fit_resample(X, Y)


def test_a_fitted_model_is_not_measured_on_rows_that_it_may_have_seen():
    # It knows every row by heart: held against it, any other model would lose.
    fitted = make_pipeline(ColumnEncoder(), DecisionTreeClassifier(random_state=0)).fit(X, Y)
    for call in (tune, budget_curve):
        with pytest.raises(ModelError, match=f"{call.__name__} trains models .* Give it unfitted"):
            call(X, Y, FrozenEstimator(fitted), **WHO)
    with pytest.raises(ModelError, match="threshold='auto' trains"):
        FairSHAP(FrozenEstimator(fitted), **WHO, threshold="auto", random_state=0).fit(X, Y)


SMALL = models.DATA
FEW = {**models.WHO, "thresholds": [0.05], "selectors": ["threshold"], **QUICK, "random_state": 0}


@pytest.mark.parametrize("routing", [False, True], ids=["plain", "routed"])
def test_tune_repeats_rows_where_it_cannot_weigh_them(routing):
    with sklearn.config_context(enable_metadata_routing=routing):
        with pytest.warns(WeightsWarning) as caught:
            tuning = tune(SMALL.X, SMALL.y, KNeighborsClassifier(), **FEW)
        assert sum(issubclass(one.category, WeightsWarning) for one in caught) == 1
        assert len(tuning.evaluation.names) == 6
        assert len(tune(SMALL.X, SMALL.y, models.piped(), **FEW).evaluation.names) == 6
    with pytest.warns(WeightsWarning, match="rows are repeated"):
        budget_curve(
            SMALL.X,
            SMALL.y,
            KNeighborsClassifier(),
            **models.WHO,
            budgets=[0, 20],
            counterfactuals="edited",
            n_folds=2,
        )


class Shy(LogisticRegression):
    """Cannot be trained on more rows than a fold has."""

    def fit(self, X, y, sample_weight=None):
        if len(y) > len(SMALL.y) // 2:
            raise RuntimeError("too many rows")
        return super().fit(X, y, sample_weight)


class Hopeless(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise RuntimeError("cannot be trained")


def test_tune_leaves_out_what_cannot_be_trained():
    with pytest.warns(
        SkippedWarning, match=r"'counterfactuals of all rows, no edits', .*RuntimeError: too many rows"
    ):
        tuning = tune(SMALL.X, SMALL.y, Shy(), **FEW)
    names = tuning.frame()["name"].tolist()
    assert sorted(names) == ["baseline", "threshold 0.05", "without the sensitive column"]
    assert tuning.repair.counterfactuals is None
    with pytest.raises(RuntimeError, match="too many rows"):
        tune(SMALL.X, SMALL.y, Shy(), **FEW, counterfactuals=["all"])
    with pytest.raises(RuntimeError, match="cannot be trained"):
        tune(SMALL.X, SMALL.y, Hopeless(), **FEW)
    with pytest.raises(InputError, match="frozen"):
        tune(SMALL.X, SMALL.y, **FEW, constraints=EditConstraints(frozen=["skil"]))
