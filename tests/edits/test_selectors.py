"""Selectors and constraints, each against what it says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairshap import (
    Budget,
    ColumnEncoder,
    EditConstraints,
    FairSHAP,
    Iterative,
    OptimalSubset,
    Threshold,
    datasets,
    explain,
    match,
    select_edits,
)
from fairshap._models import fit_model
from fairshap._problem import Problem
from fairshap.attribution._explain import explain_again
from fairshap.attribution._subsets import risk_when_replaced
from fairshap.edits._limits import Narrowing
from fairshap.exceptions import ColumnError, InputError, NothingToRepairWarning, TargetError

DATA = datasets.load("german")
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


@pytest.fixture(scope="module")
def explained():
    model = fit_model(HistGradientBoostingClassifier(random_state=0), DATA.X, DATA.y.to_numpy(), {})
    return explain(model, DATA.X, match(DATA.X, DATA.y, **WHO), y=DATA.y, **WHO)


def cells(edits):
    return set(zip(edits.row.tolist(), edits.column, strict=True))


def test_the_threshold_is_that_of_the_paper(explained):
    edits = select_edits(explained)
    references = DATA.X.iloc[explained.best].reset_index(drop=True)
    enough = {
        (row, name)
        for j, name in enumerate(explained.feature_names)
        for row in np.flatnonzero(explained.values[:, j] >= 0.05 - 1e-9).tolist()
        if DATA.X[name].iloc[row] != references[name].iloc[row]
    }
    assert cells(edits) == enough
    assert len(edits) > 100
    assert edits.new == [references[c].iloc[r] for r, c in zip(edits.row, edits.column, strict=True)]
    assert cells(select_edits(explained, threshold=0.05)) == cells(edits)


@pytest.mark.parametrize("selector", [Threshold(), OptimalSubset()])
def test_frozen_columns_are_never_edited(explained, selector):
    some = selector.select(explained, EditConstraints(frozen=["age", "job"]))
    assert not {"age", "job"} & set(some.column)
    only = selector.select(explained, EditConstraints(editable=["age"]))
    assert set(only.column) == {"age"}


@pytest.mark.parametrize("selector", [Threshold(), OptimalSubset()])
def test_a_row_has_no_more_edits_than_it_may(explained, selector):
    plain = selector.select(explained)
    edits = selector.select(explained, EditConstraints(max_per_row=1))
    assert np.bincount(plain.row).max() > 1
    assert np.bincount(edits.row).max() == 1
    if isinstance(selector, Threshold):
        # The most important one of each row stays.
        largest = pd.Series(plain.phi).groupby(plain.row).max()
        assert_array_equal(edits.phi, largest[edits.row])


def test_a_relative_threshold_is_in_units_of_the_risk_that_is_explained(explained):
    mean = np.abs(explained.values.sum(axis=1)).mean()
    assert explained.mean_difference == pytest.approx(mean)
    for share, selector in ((1.5, Threshold(relative=True)), (0.7, Threshold(0.7, relative=True))):
        assert selector.threshold_of(explained) == pytest.approx(share * mean)
        assert cells(selector.select(explained)) == cells(select_edits(explained, threshold=share * mean))
    short = select_edits(explained, threshold="relative")
    assert cells(short) == cells(Threshold(relative=True).select(explained))
    assert len(short) > 50


def test_a_relative_threshold_does_not_depend_on_the_scale_of_the_output():
    X, y = DATA.X.drop(columns="credit_amount"), DATA.X["credit_amount"].to_numpy(dtype=float)
    model = GradientBoostingRegressor(n_estimators=30, max_depth=5, random_state=0)
    one, other = (FairSHAP(model, threshold="relative", **WHO).fit(X, scale * y) for scale in (1.0, 64.0))
    assert one.threshold_ == pytest.approx(1.5 * one.explanation_.mean_difference)
    assert other.threshold_ == pytest.approx(64 * one.threshold_)
    assert cells(one.edits_) == cells(other.edits_)
    assert len(one.edits_) > 50


def test_a_linear_model_has_edits_by_a_relative_threshold():
    model = make_pipeline(ColumnEncoder(), StandardScaler(), LogisticRegression(C=0.1))
    paper, relative = (FairSHAP(model, threshold=t, **WHO).fit(DATA.X, DATA.y) for t in (0.05, "relative"))
    assert len(paper.edits_) < 20
    assert 100 < len(relative.edits_) < 500


def test_where_nothing_is_explained_nothing_is_relative_to_it():
    X = pd.DataFrame({"sex": [0, 1] * 50, "x": np.arange(100.0)})
    fs = FairSHAP(LinearRegression(), sensitive="sex", privileged=1, threshold="relative")
    with pytest.warns(NothingToRepairWarning):
        fs.fit(X, X["x"] / 3 + X["sex"])
    assert not len(fs.edits_)
    assert fs.threshold_ == np.inf


def directed(explanation, **params):
    constraints = EditConstraints(direction="parity")
    return select_edits(explanation, threshold=0.02, constraints=constraints, **params)


def swaps(positive, group, one, other):
    """Return how many rows of either label two groups swap so that their rates are equal, found by trying."""
    (n, k), (m, j) = (((group == g).sum(), positive[group == g].sum()) for g in (one, other))
    tried = np.arange(0, min(n, m), 0.001)
    return tried[
        np.abs(
            (k / n - np.sign(k / n - j / m) * tried / n) - (j + np.sign(k / n - j / m) * tried) / m
        ).argmin()
    ]


def largest(edits, rows, most):
    """Return the cells of the rows of the largest sums of Shapley values."""
    frame = edits.frame()
    sums = frame[frame["row"].isin(rows)].groupby("row")["phi"].sum()
    kept = sums.sort_values(ascending=False, kind="stable").index[:most]
    return {cell for cell in cells(edits) if cell[0] in set(kept)}


@pytest.mark.parametrize("privileged", ["male", "female"])
def test_edits_towards_parity_are_of_favored_positives_and_other_negatives(privileged):
    who = {"sensitive": "sex", "privileged": privileged}
    model = fit_model(HistGradientBoostingClassifier(random_state=0), DATA.X, DATA.y.to_numpy(), {})
    explained = explain(model, DATA.X, match(DATA.X, DATA.y, **who), y=DATA.y, **who)
    sex, positive = DATA.X["sex"].to_numpy(), (DATA.y == 1).to_numpy()
    favored = DATA.y.groupby(sex).mean().idxmax()
    every, most = select_edits(explained, threshold=0.02), int(4 * swaps(positive, sex, "male", "female"))
    wanted = set()
    for label in (True, False):
        rows = np.flatnonzero((positive == label) & ((sex == favored) == label))
        assert len(np.intersect1d(rows, every.row)) > most > 10
        wanted |= largest(every, rows, most)
    assert cells(directed(explained)) == wanted


def test_each_unprivileged_group_is_compared_with_the_privileged_one():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"race": rng.choice(["a", "b", "c"], 600), "x": rng.normal(size=600)})
    # b is behind a, c ahead of it.
    y = pd.Series((rng.random(600) < X["race"].map({"a": 0.5, "b": 0.3, "c": 0.6})).astype(int))
    who = {"sensitive": "race", "privileged": "a"}
    model = fit_model(HistGradientBoostingClassifier(random_state=0), X, y.to_numpy(), {})
    explained = explain(model, X, match(X, y, **who), y=y, **who)
    race, label = X["race"].to_numpy(), y.to_numpy()
    of = np.where(race == "a", race[explained.best], race)
    every, wanted = select_edits(explained, threshold=0.02), set()
    for group, its in (("b", 0), ("c", 1)):
        most = int(4 * swaps(label == 1, race, "a", group))
        for mine, own in ((group, its), ("a", 1 - its)):
            rows = np.flatnonzero((race == mine) & (of == group) & (label == own))
            wanted |= largest(every, rows, most)
    assert cells(directed(explained)) == wanted
    assert {*race[directed(explained).row]} == {"a", "b", "c"}


def test_groups_of_equal_rates_have_no_direction():
    X = pd.DataFrame({"sex": [0, 1] * 100, "x": np.arange(200) % 7})
    y = np.repeat([0, 1], 100)
    who = {"sensitive": "sex", "privileged": 1}
    model = fit_model(HistGradientBoostingClassifier(random_state=0), X, y, {})
    explained = explain(model, X, match(X, y, **who), y=y, **who)
    assert not len(directed(explained))


def test_a_direction_takes_the_weights_of_rows_into_account():
    X = pd.DataFrame({"sex": [0, 1] * 40, "x": np.arange(80)})
    # Positive are half of the rows of sex 0, and a quarter of those of sex 1.
    y = ((np.arange(80) % 4 == 0) | (np.arange(80) % 8 == 1)).astype(int)
    found = []
    for weight in (None, np.where((y == 1) & (X["sex"] == 1), 9.0, 1.0)):
        problem = Problem.read(X, y, sensitive="sex", privileged=0, sample_weight=weight)
        found.append(Narrowing.of(problem, np.arange(80) ^ 1))
    assert_array_equal(found[0].rows, (X["sex"] == 0) == (y == 1))
    assert_array_equal(found[1].rows, ~found[0].rows)
    # Of rates of 20 in 40 and 10 in 40, and of 20 in 40 and 90 in 120.
    assert_allclose(found[0].room, 4 * 5)
    assert_allclose(found[1].room, 4 * 7.5)


@given(st.data())
def test_four_times_the_rows_are_edited_whose_swap_makes_the_rates_equal(data):
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=12, max_size=60)))
    weight = np.array(data.draw(st.lists(st.floats(0.5, 4), min_size=len(y), max_size=len(y))))
    # Each group has rows of either label.
    X = pd.DataFrame({"sex": np.arange(len(y)) % 2, "x": 0.0})
    y[:4] = [0, 0, 1, 1]
    problem = Problem.read(X, y, sensitive="sex", privileged=1, sample_weight=weight)
    narrowing = Narrowing.of(problem, np.arange(len(y)) - 2 * X["sex"].to_numpy() + 1)
    side, room = problem.groups.side, narrowing.room[0]
    assert_allclose(narrowing.room, room)
    total, positive = (np.bincount(side, weights=weight * part) for part in (np.ones(len(y)), y))
    moved = np.sign(positive[1] / total[1] - positive[0] / total[0]) * room / 4
    assert_allclose((positive[1] - moved) / total[1], (positive[0] + moved) / total[0], atol=1e-12)


@pytest.mark.parametrize(("before", "kept"), [([], [1, 2, 3]), ([4], [1, 2, 4]), ([4, 9], [1, 4])])
def test_rows_take_room_by_their_weight_and_what_does_not_fit_is_passed_over(before, kept):
    weight = np.array([5.0, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    narrowing = Narrowing(np.full(10, True), np.zeros(10, np.int64), np.full(10, 3.0), weight)
    rows, replaced = np.arange(5), np.ones((5, 2), dtype=np.bool_)
    importance = np.arange(10, 0, -1.0).reshape(5, 2)
    narrowing.keep(rows, replaced, importance, np.array(before, dtype=np.int64))
    assert_array_equal(np.flatnonzero(replaced.any(axis=1)), kept)
    assert_array_equal(replaced.all(axis=1), replaced.any(axis=1))


def test_rows_that_weigh_nothing_have_no_direction():
    weight = np.where(np.arange(len(DATA.X)) < 500, 1.0, 0.0)
    fs = FairSHAP(**WHO, threshold=0.02, constraints=EditConstraints(direction="parity"), random_state=0)
    fs.fit(DATA.X, DATA.y, sample_weight=weight)
    assert len(fs.edits_)
    assert fs.edits_.row.max() < 500


def test_rows_that_are_left_unedited_take_no_room(explained):
    free = select_edits(explained, threshold=0.02, constraints=EditConstraints(reject_if="label_less_likely"))
    limits = EditConstraints(direction="parity", reject_if="label_less_likely")
    both = select_edits(explained, threshold=0.02, constraints=limits)
    narrowing, label = Narrowing.of(explained.problem, explained.best), DATA.y.to_numpy()
    for value in (0, 1):
        could, did = (
            np.unique(one.row[narrowing.rows[one.row] & (label[one.row] == value)]) for one in (free, both)
        )
        assert len(did) == min(len(could), int(narrowing.room[could[0]])) > 0


@pytest.mark.parametrize("reject_if", ["risk_rises", "label_less_likely"])
def test_there_may_be_no_row_to_direct_or_to_take_back(explained, reject_if):
    limits = EditConstraints(direction="parity", reject_if=reject_if)
    assert len(select_edits(explained, threshold=100.0, constraints=limits)) == 0


def test_rounds_keep_to_the_cells_of_a_row():
    selector, limits = Iterative(Threshold(0.02), max_rounds=5), EditConstraints(max_per_row=1)
    fs = FairSHAP(**WHO, selector=selector, constraints=limits, random_state=0).fit(DATA.X, DATA.y)
    assert pd.Series(fs.edits_.row).value_counts().max() == 1


def test_the_reason_says_that_groups_of_equal_rates_have_no_direction():
    X = pd.DataFrame({"sex": [0, 1] * 70, "x": np.arange(140) // 2 % 7})
    y = np.where(X["sex"] == 1, X["x"] > 3, X["x"] < 3).astype(int)
    who = {"sensitive": "sex", "privileged": 1, "random_state": 0}
    assert len(FairSHAP(DecisionTreeClassifier(), **who).fit(X, y).edits_)
    fs = FairSHAP(DecisionTreeClassifier(), **who, constraints=EditConstraints(direction="parity"))
    with pytest.warns(NothingToRepairWarning, match="hardly differ in their rates of positive labels"):
        fs.fit(X, y)


def test_rounds_share_the_room_that_a_direction_leaves():
    limits = EditConstraints(direction="parity")
    params = {**WHO, "random_state": 0, "constraints": limits}
    once = FairSHAP(threshold=0.02, **params).fit(DATA.X, DATA.y)
    selector = Iterative(Threshold(0.02), max_rounds=3)
    rounds = FairSHAP(selector=selector, **params).fit(DATA.X, DATA.y)
    assert len(rounds.rounds_) > 1
    sides = [len(np.unique(fs.edits_.row[DATA.y.iloc[fs.edits_.row] == 1])) for fs in (once, rounds)]
    assert sides[0] == sides[1] > 0
    assert set(once.edits_.row) == set(rounds.edits_.row)
    assert cells(once.edits_) < cells(rounds.edits_)


@pytest.mark.parametrize("y", [np.arange(90) % 3, np.linspace(0, 1, 90)])
def test_a_direction_needs_two_labels(y):
    X = pd.DataFrame({"sex": [0, 1] * 45, "x": np.arange(90)})
    problem = Problem.read(X, y, sensitive="sex", privileged=0)
    with pytest.raises(TargetError, match="needs a target of two labels") as caught:
        Narrowing.of(problem, np.arange(90))
    assert caught.value.parameter == "direction"


@pytest.mark.parametrize(("group", "side"), [("unprivileged", 0), ("privileged", 1)])
def test_one_group_alone_can_be_edited(explained, group, side):
    edits = select_edits(explained, constraints=EditConstraints(group=group))
    assert set(explained.problem.groups.side[edits.row]) == {side}
    both = select_edits(explained)
    assert len(edits) == np.sum(explained.problem.groups.side[both.row] == side)


def test_a_budget_takes_the_largest_first_and_a_larger_one_keeps_them(explained):
    small, large = (select_edits(explained, selector=Budget(n)) for n in (50, 120))
    assert (len(small), len(large)) == (50, 120)
    assert cells(small) < cells(large)
    assert small.phi.min() >= np.sort(large.phi)[-50]
    share = select_edits(explained, selector=Budget(0.005))
    assert len(share) == int(0.005 * DATA.X.size)
    capped = select_edits(explained, selector=Budget(40, threshold=0.05))
    assert len(capped) == 40
    assert cells(capped) < cells(select_edits(explained))


def test_plausible_edits_leave_categories_that_occur_together(explained):
    plain, edits = (select_edits(explained, constraints=EditConstraints(plausible=p)) for p in (False, True))
    assert 0 < len(edits) < len(plain)
    assert broken_pairs(plain) > 0
    assert broken_pairs(edits) == 0


def broken_pairs(edits):
    X, after = DATA.X, edits.apply(DATA.X)
    categories = [c for c in X.columns if c != DATA.sensitive and not pd.api.types.is_numeric_dtype(X[c])]
    broken = 0
    for row, column in cells(edits):
        if column not in categories:
            continue
        others = X[X[DATA.sensitive] != X[DATA.sensitive].iloc[row]]
        for second in categories:
            if second != column:
                together = (others[column] == after[column].iloc[row]) & (
                    others[second] == after[second].iloc[row]
                )
                broken += not together.any()
    return broken


def test_rows_whose_edits_are_rejected_are_those_whose_risk_would_rise(explained):
    selector = Threshold(0.02)
    rows, replaced = selector.choose(explained, EditConstraints())
    guarded, still = selector.choose(explained, EditConstraints(reject_if="risk_rises"))
    rose = rise(explained, rows, replaced) > 1e-9
    assert rose.any()
    assert set(guarded) == set(rows[~rose])
    assert (rise(explained, guarded, still) <= 1e-9).all()


def test_rejecting_by_label_leaves_rows_whose_own_label_would_be_less_likely(explained):
    plain, guarded = (
        select_edits(explained, threshold=0.02, constraints=EditConstraints(reject_if=reject_if))
        for reject_if in (None, "label_less_likely")
    )
    own = (DATA.y == explained.model.classes_[1]).to_numpy()
    before, after = (explained.model.predict_proba(X)[:, 1] for X in (DATA.X, plain.apply(DATA.X)))
    fell = np.where(own, after < before - 1e-9, after > before + 1e-9)
    edited = set(plain.row.tolist())
    assert 0.1 < np.mean([fell[row] for row in edited]) < 0.9
    assert set(guarded.row.tolist()) == {row for row in edited if not fell[row]}
    assert cells(guarded) == {cell for cell in cells(plain) if not fell[cell[0]]}


@pytest.mark.parametrize("reject_if", ["risk_rises", "label_less_likely"])
def test_rejecting_has_nothing_to_do_where_nothing_is_replaced(explained, reject_if):
    assert len(select_edits(explained, threshold=10, constraints=EditConstraints(reject_if=reject_if))) == 0


def rise(explained, rows, replaced):
    before, after = (risk_when_replaced(explained, rows, who) for who in (np.zeros_like(replaced), replaced))
    return after - before


def test_the_best_subsets_lower_the_risk_as_much_with_fewer_edits(explained):
    by_threshold = select_edits(explained, threshold=0.05)
    optimal = select_edits(explained, selector=OptimalSubset(0.05))
    risks = [mean_risk(explained, edits) for edits in (by_threshold, optimal)]
    assert risks[1] <= risks[0]
    assert len(optimal) < len(by_threshold)


def mean_risk(explained, edits):
    setting = explained.problem.with_cells(edits.apply(DATA.X))
    risk = type(explained.risk_function)(explained.risk_function.scorer, setting)
    return risk.of_rows(np.arange(len(DATA.X))).mean()


def test_explained_again_the_references_are_as_they_were(explained):
    edits = select_edits(explained, threshold=0.05)
    again = explain_again(explained, explained.model, edits.apply(DATA.X), DATA.X)
    assert again.mean_risk < explained.mean_risk
    more = select_edits(again, threshold=0.05)
    assert not cells(edits) & cells(more)
    for row, column, new, reference in zip(more.row, more.column, more.new, more.reference, strict=True):
        assert DATA.X[column].iloc[reference] == new
        assert reference == explained.best[row]
    both = type(edits).together(edits, more)
    after = more.apply(edits.apply(DATA.X))
    pd.testing.assert_frame_equal(both.apply(DATA.X), after)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (Budget(0), "n_cells=0"),
        (Budget(1.5), "n_cells=1.5"),
        (Budget(True), "n_cells=True"),
        (Budget(np.inf), "n_cells=inf"),
        (Budget(10, threshold=0), "threshold=0"),
        (Threshold(0), "threshold=0"),
        (OptimalSubset(cost=-1), "cost=-1"),
        (Iterative(max_rounds=0), "max_rounds=0"),
        (Iterative(Iterative()), "one that selects once"),
        (Iterative(Threshold(0)), "threshold=0"),
        ("threshold", "selector='threshold' is not known"),
    ],
)
def test_selectors_that_make_no_sense_are_refused(explained, selector, text):
    with pytest.raises(InputError, match=text):
        select_edits(explained, selector=selector)


@pytest.mark.parametrize(
    ("constraints", "error", "text"),
    [
        (EditConstraints(frozen=["age"], editable=["job"]), InputError, "one of the two"),
        (EditConstraints(group="men"), InputError, "'both', 'unprivileged', 'privileged'"),
        (EditConstraints(max_per_row=0), InputError, "max_per_row=0"),
        (EditConstraints(max_per_row=1.0), InputError, "max_per_row=1.0"),
        (EditConstraints(reject_if="risk"), InputError, "'risk_rises', 'label_less_likely'"),
        (EditConstraints(frozen=["agee"]), ColumnError, "Did you mean 'age'"),
        (EditConstraints(editable="age"), InputError, r"such as \['age'\]"),
        (EditConstraints(editable=[]), InputError, "nothing could be edited"),
        ({"frozen": ["age"]}, InputError, "EditConstraints"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(explained, constraints, error, text):
    with pytest.raises(error, match=text):
        select_edits(explained, constraints=constraints)


def test_what_is_no_explanation_is_refused(explained):
    with pytest.raises(InputError, match="give what fairshap\\.explain returned"):
        select_edits(explained.values)
    with pytest.raises(InputError, match="give one of the two"):
        select_edits(explained, threshold=0.1, selector=Budget(5))
