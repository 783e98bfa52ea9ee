"""The check of a repair on a held-out set."""

import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap import FairSHAP, FairSHAPClassifier, FairSHAPRegressor, NearestMatcher, datasets
from fairshap.exceptions import InputError, ModelError, UnmatchedRowsWarning, WorseModelWarning
from fairshap.mitigation import Reweigher
from fairshap.model_selection import MEASURES, holdout_check

TREE = DecisionTreeClassifier(max_depth=6, random_state=0)

#: Without weights by group and label.
Retrained = partial(FairSHAPClassifier, weights=None)


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
    # To edit the column that tells the labels is to lose them.
    table, y = telling(kind)
    make, model = Retrained, DecisionTreeClassifier(max_depth=4, random_state=0)
    params = {"privileged": 1, "random_state": 0, "matcher": NearestMatcher(column_weights={"hint": 0})}
    if kind == "quantity":
        make, model = FairSHAPRegressor, DecisionTreeRegressor(max_depth=4, random_state=0)
    given = {"sensitive_features": table["group"]} if is_beside else {}
    if is_beside:
        table = table.drop(columns="group")
    else:
        params["sensitive"] = "group"
    name = "R2" if kind == "quantity" else "accuracy"
    for threshold, is_worse in ((0.001, True), (10.0, False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", WorseModelWarning)
            predictor = make(FairSHAP(model, **params, threshold=threshold), drop_sensitive=False)
            found = holdout_check(predictor, table, y, **given, test_size=0.3)
        texts = [str(one.message) for one in said]
        words = rf"On 1200 held-out rows .* its {name} is -?0\.\d+ instead of 0\.\d+"
        assert [bool(re.match(words, text)) for text in texts] == [True] * is_worse
        assert found.is_worse == is_worse
        frame = found.frame().set_index("measure")
        measured = list(MEASURES) if kind == "labels" else [name.lower()] + ["dr"] * (not is_beside)
        assert list(frame.index) == [one for one in measured if one in frame.index]
        assert {measured[0], *measured[1:][-1:]} <= {*frame.index, "pqp"}
        assert (frame["change_low"] <= frame["change"]).all()
        np.testing.assert_allclose(frame["change"], frame["after"] - frame["before"], atol=1e-12)
        if not is_worse:
            assert (frame["change"] == 0).all()


def test_a_row_without_the_attribute_does_not_keep_the_check_from_being_made():
    table, y = telling("labels")
    table = table.assign(group=table["group"].where(np.arange(4000) != 7))
    params = {"sensitive": "group", "privileged": 1, "random_state": 0, "threshold": 0.001}
    repair = FairSHAP(TREE, **params, matcher=NearestMatcher(column_weights={"hint": 0}))
    with pytest.warns(WorseModelWarning) as caught:
        holdout_check(repair, table, y)
    assert [one.category for one in caught] == [WorseModelWarning]


def test_what_is_trained_after_the_repair_is_what_is_checked():
    table, y = telling("labels")
    repair = FairSHAP(TREE, sensitive="group", privileged=1, threshold=10.0, random_state=0)
    plain, other = (
        holdout_check(Retrained(repair, estimator, drop_sensitive=False), table, y)
        for estimator in (None, LogisticRegression())
    )
    assert plain.frame().equals(holdout_check(repair, table, y).frame())
    before = [found.frame().set_index("measure").loc["dr", "before"] for found in (plain, other)]
    assert before[0] != before[1]


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.WorseModelWarning")
def test_weights_and_a_dropped_column_are_part_of_what_is_checked():
    table, y = telling("labels")
    repair = FairSHAP(TREE, sensitive="group", privileged=1, threshold=10.0, random_state=0)
    blind = FairSHAPClassifier(repair, weights=Reweigher(), drop_sensitive=True)
    frame = holdout_check(blind, table, y).frame().set_index("measure")
    assert (frame.loc[["dr", "flips"], "after"] == 0).all()
    assert frame.loc["dp", "after"] < frame.loc["dp", "before"]


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.WorseModelWarning")
def test_a_threshold_is_found_on_the_training_part(monkeypatch):
    d, seen = datasets.make_biased(400, random_state=0), []
    found = lambda _, problem: seen.append(problem.own.n_rows) or 0.05  # noqa: E731
    monkeypatch.setattr("fairshap._crossval.best_threshold", found)
    who = {"sensitive": d.sensitive, "privileged": d.privileged, "random_state": 0}
    fitted = FairSHAP(LogisticRegression(), **who, threshold="auto").fit(d.X, d.y)
    assert holdout_check(fitted, d.X, d.y, test_size=0.3).n_rows == 120
    assert seen == [400, 280]


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.WorseModelWarning")
def test_weights_are_those_of_training():
    d = datasets.make_biased(600, random_state=0)
    repair = FairSHAP(LogisticRegression(), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    plain = holdout_check(repair, d.X, d.y).frame()
    same = holdout_check(repair, d.X, d.y, sample_weight=np.ones(600)).frame()
    weighed = holdout_check(repair, d.X, d.y, sample_weight=np.where(d.y, 5.0, 1.0)).frame()
    pd.testing.assert_frame_equal(plain, same)
    assert not plain.equals(weighed)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"test_size": 2.0}, InputError, "test_size=2.0 must be a share"),
        ({"test_size": 0.1}, InputError, "test_size=0.1 of 600 rows are 60; at least 100 held-out rows"),
        ({"repair": TREE}, InputError, "give a FairSHAP, a FairSHAPClassifier"),
        ({"y": np.arange(600) == 0}, InputError, "a label of one group has too few rows"),
        ({"repair": FairSHAP(FrozenEstimator(TREE))}, ModelError, "holdout_check trains models"),
    ],
)
def test_what_cannot_be_checked_is_refused(change, error, text):
    d = datasets.make_biased(600, random_state=0)
    repair = FairSHAP(TREE, sensitive=d.sensitive, privileged=d.privileged)
    given = {"repair": repair, "X": d.X, "y": d.y, **change}
    with pytest.raises(error, match=text):
        holdout_check(**given)


def test_what_is_said_of_the_table_is_not_said_again_of_its_parts():
    d = datasets.load("german")
    table = d.X.assign(sex=d.X["sex"].where(np.arange(len(d.X)) % 7 > 0))
    repair = FairSHAP(TREE, sensitive="sex", privileged=d.privileged, random_state=0)
    with pytest.warns(UnmatchedRowsWarning):
        repair.fit(table, d.y)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        holdout_check(repair, table, d.y)
    assert [one.message for one in said if issubclass(one.category, UnmatchedRowsWarning)] == []
