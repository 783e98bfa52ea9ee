import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fairshap import FairSHAP, MatchPlan, datasets, match
from fairshap.exceptions import InputError, UnmatchedRowsWarning
from fairshap.matching import NearestMatcher, TransportMatcher

DATA = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


class Farthest:
    """A matcher of somebody else's: the farthest row of the other group, in number of cells."""

    def __init__(self):
        self.asked = []

    def match(self, X, y, *, sensitive, privileged, sensitive_features):
        self.asked.append((sensitive, privileged, sensitive_features))
        side = X[sensitive].to_numpy() == privileged
        rows = np.arange(len(X))
        cells = X.astype(str).to_numpy()
        references = np.array(
            [max(np.flatnonzero(side != side[i]), key=lambda j: (cells[i] != cells[j]).sum()) for i in rows]
        )
        return MatchPlan(len(X), rows, references, np.ones(len(X)), np.ones(len(X)))


class Fixed:
    def __init__(self, plan):
        self.plan = plan

    def match(self, X, y, **who):
        return self.plan


def test_any_object_with_match_matches():
    own = Farthest()
    fs = FairSHAP(**WHO, random_state=0, matcher=own).fit(DATA.X, DATA.y)
    assert own.asked == [(DATA.sensitive, DATA.privileged, None)]
    expected = own.match(DATA.X, DATA.y, sensitive_features=None, **WHO)
    assert_array_equal(fs.explanation_.match_plan.best, expected.best)
    assert_array_equal(match(DATA.X, DATA.y, **WHO, matcher=own).best, expected.best)


def test_a_matcher_is_shown_an_attribute_that_stands_beside_the_table():
    own = Farthest()
    X, beside = DATA.X.drop(columns=DATA.sensitive), DATA.X[DATA.sensitive]
    match(X, DATA.y, sensitive_features=beside, privileged=DATA.privileged, matcher=own)
    assert own.asked == [(DATA.sensitive, DATA.privileged, None)]


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        (MatchPlan(4, [0], [2], [1.0], [1.0]), "row 0 with row 2"),
        ([(0, 1)], "returned a list"),
        (MatchPlan(9, [0], [1], [1.0], [1.0]), "for 9 rows, X has 4"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(plan, text):
    X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    with pytest.raises(InputError, match=text):
        match(X, [0, 0, 1, 1], sensitive="sex", privileged="m", matcher=Fixed(plan))


def test_rows_that_a_matcher_leaves_out_are_counted():
    X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    plan = MatchPlan(4, [0], [1], [1.0], [1.0])
    with pytest.warns(UnmatchedRowsWarning, match="3 of 4 rows .* Fixed gave them none"):
        match(X, [0, 0, 1, 1], sensitive="sex", privileged="m", matcher=Fixed(plan))


@pytest.mark.parametrize("matching", ["nearst", None, 3, NearestMatcher, object()])
def test_an_unknown_matcher_is_refused_with_the_known_ones(matching):
    with pytest.raises(InputError, match="'nearest'"):
        match(DATA.X, DATA.y, **WHO, matcher=matching)


def test_a_matcher_and_its_name_are_the_same_and_its_parameters_can_be_searched():
    by_name, by_object = (
        FairSHAP(**WHO, random_state=0, matcher=m).fit(DATA.X, DATA.y) for m in ("nearest", NearestMatcher())
    )
    assert_array_equal(by_name.explanation_.match_plan.best, by_object.explanation_.match_plan.best)
    fs = (
        FairSHAP(**WHO, random_state=0, matcher=NearestMatcher())
        .set_params(matcher__n_neighbors=3)
        .fit(DATA.X, DATA.y)
    )
    assert len(fs.explanation_.match_plan) == 3 * len(DATA.X)
    plan = NearestMatcher(n_neighbors=3).match(DATA.X, DATA.y, **WHO)
    assert_array_equal(plan.reference, fs.explanation_.match_plan.reference)


def test_matchers_carry_pairing_and_bins_and_can_be_cloned():
    for matcher in (NearestMatcher(pairing="each", bins=3), TransportMatcher(pairing="each", bins=3)):
        params = clone(matcher).get_params()
        assert (params["pairing"], params["bins"]) == ("each", 3)
    X = pd.DataFrame({"race": list("wbc") * 8, "x": np.arange(24.0)})
    y = np.repeat([0.5, 1.5, 2.5, 3.5], 6)
    for make in (NearestMatcher, TransportMatcher):
        plan = make(pairing="each", bins=2).match(X, y, sensitive="race", privileged="w", min_group_size=1)
        race, low = X["race"].to_numpy(), y < 2
        for row in np.flatnonzero(race == "w"):
            references = plan.reference[plan.row == row]
            assert set(race[references]) == {"b", "c"}
            assert (low[references] == low[row]).all()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.NothingToRepairWarning")
def test_an_estimator_takes_the_pairing_of_its_matcher():
    X = pd.DataFrame({"race": list("wbc") * 20, "x": np.arange(60.0)})
    who = {"sensitive": "race", "privileged": "w", "random_state": 0}
    fs = FairSHAP(**who, matcher=NearestMatcher(pairing="each")).fit(X, np.arange(60) % 2)
    assert len(fs.explanation_.match_plan) == 80
