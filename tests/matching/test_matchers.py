import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from fairshap import FairSHAP, MatchPlan, datasets, match
from fairshap.exceptions import InputError, UnmatchedRowsWarning
from fairshap.matching import Nearest

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
    fs = FairSHAP(**WHO, matching=own, random_state=0).fit(DATA.X, DATA.y)
    assert own.asked == [(DATA.sensitive, DATA.privileged, None)]
    expected = own.match(DATA.X, DATA.y, sensitive_features=None, **WHO)
    assert_array_equal(fs.matches_.best, expected.best)
    assert_array_equal(match(DATA.X, DATA.y, **WHO, matching=own).best, expected.best)


def test_a_matcher_is_shown_an_attribute_that_stands_beside_the_table():
    own = Farthest()
    X, beside = DATA.X.drop(columns=DATA.sensitive), DATA.X[DATA.sensitive]
    match(X, DATA.y, sensitive_features=beside, privileged=DATA.privileged, matching=own)
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
        match(X, [0, 0, 1, 1], sensitive="sex", privileged="m", matching=Fixed(plan))


def test_rows_that_a_matcher_leaves_out_are_counted():
    X = pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [30, 31, 50, 52]})
    plan = MatchPlan(4, [0], [1], [1.0], [1.0])
    with pytest.warns(UnmatchedRowsWarning, match="3 of 4 rows .* Fixed gave them none"):
        match(X, [0, 0, 1, 1], sensitive="sex", privileged="m", matching=Fixed(plan))


@pytest.mark.parametrize("matching", ["nearst", None, 3, Nearest, object()])
def test_an_unknown_matcher_is_refused_with_the_known_ones(matching):
    with pytest.raises(InputError, match="'nearest'"):
        match(DATA.X, DATA.y, **WHO, matching=matching)


def test_a_matcher_and_its_name_are_the_same_and_its_parameters_can_be_searched():
    by_name, by_object = (
        FairSHAP(**WHO, matching=m, random_state=0).fit(DATA.X, DATA.y) for m in ("nearest", Nearest())
    )
    assert_array_equal(by_name.matches_.best, by_object.matches_.best)
    fs = FairSHAP(**WHO, matching=Nearest(), random_state=0).set_params(matching__k=3).fit(DATA.X, DATA.y)
    assert len(fs.matches_) == 3 * len(DATA.X)
    plan = Nearest(k=3).match(DATA.X, DATA.y, **WHO)
    assert_array_equal(plan.reference, fs.matches_.reference)
