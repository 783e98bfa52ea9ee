"""Strategies and limits, each against what it says."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import HistGradientBoostingClassifier

from fairshap import datasets
from fairshap._frames import Players
from fairshap._models import fit_model
from fairshap._problem import Labels, Setting
from fairshap.attribution import Options, risk_when_replaced
from fairshap.edits import Limits, Strategy, edits_at_least
from fairshap.exceptions import ColumnError, InputError
from fairshap.matching import match_rows
from fairshap.repair import Consultation

DATA = datasets.load("german")


@pytest.fixture(scope="module")
def asked():
    return consult(DATA.X, DATA.y)


def consult(X, y):
    setting = Setting.read(X, DATA.sensitive, DATA.privileged)
    labels = Labels.read(y, len(y))
    model = fit_model(HistGradientBoostingClassifier(random_state=0), X, labels.values, {})
    players = Players.read(setting.own)
    return Consultation.hold(model, setting, labels, match_rows(setting, labels), players, Options())


def cells(edits):
    return set(zip(edits.row.tolist(), edits.column, strict=True))


def test_the_threshold_is_that_of_the_paper(asked):
    expected = edits_at_least(
        asked.attributions, asked.risk.setting.own, asked.risk.setting.own, asked.best, 0.05
    )
    edits = asked.select(Strategy(threshold=0.05))
    assert cells(edits) == cells(expected)
    assert len(edits) > 100
    assert edits.new == expected.new


def test_a_column_may_have_a_threshold_of_its_own(asked):
    plain = asked.select(Strategy())
    edits = asked.select(Strategy(thresholds={"age": 0.2}))
    assert {c for c in cells(plain) if c[1] != "age"} == {c for c in cells(edits) if c[1] != "age"}
    assert all(phi >= 0.2 for phi, column in zip(edits.phi, edits.column, strict=True) if column == "age")
    assert len(edits) < len(plain)


@pytest.mark.parametrize("name", ["threshold", "optimal"])
def test_frozen_columns_are_never_edited(asked, name):
    strategy = Strategy(name, limits=Limits(frozen=["age", "job"]))
    assert not {"age", "job"} & set(asked.select(strategy).column)
    only = asked.select(Strategy(name, limits=Limits(editable=["age"])))
    assert set(only.column) == {"age"}


@pytest.mark.parametrize("name", ["threshold", "optimal"])
def test_a_row_has_no_more_edits_than_it_may(asked, name):
    plain = asked.select(Strategy(name))
    edits = asked.select(Strategy(name, limits=Limits(max_row_edits=1)))
    assert np.bincount(plain.row).max() > 1
    assert np.bincount(edits.row).max() == 1
    if name == "threshold":
        # The most important one of each row stays.
        largest = pd.Series(plain.phi).groupby(plain.row).max()
        assert_array_equal(edits.phi, largest[edits.row])


@pytest.mark.parametrize(("direction", "side"), [("unprivileged", 0), ("privileged", 1)])
def test_one_group_alone_can_be_edited(asked, direction, side):
    edits = asked.select(Strategy(limits=Limits(direction=direction)))
    assert set(asked.risk.setting.groups.side[edits.row]) == {side}
    both = asked.select(Strategy())
    assert len(edits) == np.sum(asked.risk.setting.groups.side[both.row] == side)


def test_a_budget_takes_the_largest_first_and_a_larger_one_keeps_them(asked):
    small, large = (asked.select(Strategy("budget", budget=n)) for n in (50, 120))
    assert (len(small), len(large)) == (50, 120)
    assert cells(small) < cells(large)
    assert small.phi.min() >= np.sort(large.phi)[-50]
    share = asked.select(Strategy("budget", budget=0.005))
    assert len(share) == int(0.005 * DATA.X.size)
    capped = asked.select(Strategy(threshold=0.05, budget=40))
    assert len(capped) == 40
    assert cells(capped) < cells(asked.select(Strategy()))


def test_plausible_edits_leave_categories_that_occur_together(asked):
    plain, edits = (asked.select(Strategy(limits=Limits(is_plausible=p))) for p in (False, True))
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


def test_the_guard_leaves_rows_whose_risk_would_rise(asked):
    rows, replaced = Strategy(threshold=0.02).choose(
        asked.attributions, asked.risk, asked.labels, asked.best, asked.options
    )
    guarded, still = Strategy(threshold=0.02, guard=True).choose(
        asked.attributions, asked.risk, asked.labels, asked.best, asked.options
    )
    rose = rise(asked, rows, replaced) > 1e-9
    assert rose.any()
    assert set(guarded) == set(rows[~rose])
    assert (rise(asked, guarded, still) <= 1e-9).all()


def test_the_guard_of_labels_leaves_rows_whose_own_label_would_be_less_likely(asked):
    plain, guarded = (asked.select(Strategy(threshold=0.02, guard=guard)) for guard in (False, "label"))
    own = (DATA.y == asked.model.classes_[1]).to_numpy()
    before, after = (asked.model.predict_proba(X)[:, 1] for X in (DATA.X, plain.apply(DATA.X)))
    fell = np.where(own, after < before - 1e-9, after > before + 1e-9)
    edited = set(plain.row.tolist())
    assert 0.1 < np.mean([fell[row] for row in edited]) < 0.9
    assert set(guarded.row.tolist()) == {row for row in edited if not fell[row]}
    assert cells(guarded) == {cell for cell in cells(plain) if not fell[cell[0]]}


@pytest.mark.parametrize("guard", ["risk", "label"])
def test_a_guard_has_nothing_to_do_where_nothing_is_replaced(asked, guard):
    assert len(asked.select(Strategy(threshold=10, guard=guard))) == 0


def rise(asked, rows, replaced):
    players = asked.attributions.features
    before, after = (
        risk_when_replaced(asked.risk, players, rows, asked.best[rows], who)
        for who in (np.zeros_like(replaced), replaced)
    )
    return after - before


def test_the_best_subsets_lower_the_risk_as_much_with_fewer_edits(asked):
    by_threshold = asked.select(Strategy(threshold=0.05))
    optimal = asked.select(Strategy("optimal", threshold=0.05))
    risks = [mean_risk(asked, edits) for edits in (by_threshold, optimal)]
    assert risks[1] <= risks[0]
    assert len(optimal) < len(by_threshold)


def mean_risk(asked, edits):
    setting = asked.risk.setting.with_cells(edits.apply(DATA.X))
    risk = type(asked.risk)(asked.risk.scorer, setting)
    return risk.of_rows(np.arange(len(DATA.X))).mean()


def test_asked_again_the_references_are_as_they_were(asked):
    edits = asked.select(Strategy(threshold=0.05))
    again = asked.again(asked.risk.scorer.model, edits.apply(DATA.X), DATA.X)
    assert again.mean_risk < asked.mean_risk
    more = again.select(Strategy(threshold=0.05))
    assert not cells(edits) & cells(more)
    for row, column, new, reference in zip(more.row, more.column, more.new, more.reference, strict=True):
        assert DATA.X[column].iloc[reference] == new
        assert reference == asked.best[row]
    both = type(edits).together(edits, more)
    after = more.apply(edits.apply(DATA.X))
    pd.testing.assert_frame_equal(both.apply(DATA.X), after)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Strategy("thresold"), InputError, "Did you mean 'threshold'"),
        (lambda: Strategy("budget"), InputError, "needs a budget"),
        (lambda: Strategy(budget=0), InputError, "budget=0"),
        (lambda: Strategy(budget=1.5), InputError, "budget=1.5"),
        (lambda: Strategy(budget=True), InputError, "budget=True"),
        (lambda: Strategy(budget=np.inf), InputError, "budget=inf"),
        (lambda: Strategy(thresholds={"age": -0.1}), InputError, "threshold=-0.1"),
        (lambda: Strategy(thresholds=0.1), InputError, "column_thresholds=0.1 must say which column"),
        (lambda: Strategy(threshold=0), InputError, "threshold=0"),
        (lambda: Limits(frozen=["age"], editable=["job"]), InputError, "one of the two"),
        (lambda: Limits(direction="men"), InputError, "'both', 'unprivileged', 'privileged'"),
        (lambda: Limits(max_row_edits=0), InputError, "max_row_edits=0"),
        (lambda: Limits(max_row_edits=1.0), InputError, "max_row_edits=1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("strategy", "error", "text"),
    [
        (Strategy(limits=Limits(frozen=["agee"])), ColumnError, "Did you mean 'age'"),
        (Strategy(limits=Limits(editable="age")), InputError, r"such as \['age'\]"),
        (Strategy(limits=Limits(editable=[])), InputError, "nothing could be edited"),
        (Strategy(thresholds={"agee": 0.1}), InputError, "Did you mean 'age'"),
    ],
)
def test_columns_that_are_not_there_are_refused(asked, strategy, error, text):
    with pytest.raises(error, match=text):
        asked.select(strategy)
