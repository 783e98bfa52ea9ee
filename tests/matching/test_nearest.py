"""NearestMatcher rows against the definition, pair by pair."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from fairshap import FairSHAP, FairSHAPClassifier, datasets, match
from fairshap._problem import Problem
from fairshap.exceptions import ColumnError, FewReferencesWarning, InputError, UnmatchedRowsWarning
from fairshap.matching import NearestMatcher
from tests.conftest import examples, to_library

SETTING = {"sensitive": "sex", "privileged": "m"}
NUMBERS, CATEGORIES = ("age", "income"), ("town", "job")
DATA = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


@st.composite
def tables(draw):
    n = draw(st.integers(8, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n),
            "age": rng.choice([20.0, 30.0, 45.0, np.nan], n),
            "income": rng.normal(size=n).round(1) * 1000,
            "town": rng.choice(["x", "y", "z", None], n),
            "job": rng.choice(["a", "b"], n),
        }
    )
    X.loc[:3, "sex"] = ["m", "f", "m", "f"]
    y = rng.integers(0, 2, n)
    y[:4] = [0, 0, 1, 1]
    return X, y


weight_of_columns = st.dictionaries(
    st.sampled_from(["age", "income", "town", "job"]), st.sampled_from([0.0, 0.3, 1.0, 2.5, 7.0]), max_size=3
)


def squared_by_hand(X, i, j, column_weights):
    """One cell at a time."""
    squared = 0.0
    for column in NUMBERS:
        spread = X[column].std(ddof=0)
        # A constant column, or one without any number.
        spread = spread if spread > 0 else 1.0
        a, b = X[column][i] / spread, X[column][j] / spread
        n_missing = int(np.isnan(a)) + int(np.isnan(b))
        cost = {0: (a - b) ** 2, 1: 2.0, 2: 0.0}[n_missing]
        squared += column_weights.get(column, 1.0) * cost
    for column in CATEGORIES:
        a, b = X[column][i], X[column][j]
        same = (pd.isna(a) and pd.isna(b)) or a == b
        squared += column_weights.get(column, 1.0) * (0.0 if same else 2.0)
    return squared


def plan_by_hand(X, y, k, weights, caliper, column_weights):
    """For each row, its references' distances and weights, the nearest first."""
    plan = {}
    for i in range(len(X)):
        distances = sorted(
            np.sqrt(squared_by_hand(X, i, j, column_weights))
            for j in range(len(X))
            if X["sex"][i] != X["sex"][j] and y[i] == y[j]
        )[:k]
        near = [d for d in distances if d <= caliper]
        if weights == "distance":
            exact = [d for d in near if d < 1e-9]
            near, raw = (exact, [1.0] * len(exact)) if exact else (near, [1 / d for d in near])
        else:
            raw = [1.0] * len(near)
        if near:
            plan[i] = near, [w / sum(raw) for w in raw]
    return plan


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
@examples(60)
@given(
    tables(),
    st.integers(1, 6),
    st.sampled_from(["uniform", "distance"]),
    st.sampled_from([np.inf, 2.03, 1.01, 0.31]),
    weight_of_columns,
)
def test_plans_are_those_of_the_definition(table, k, weights, caliper, column_weights):
    X, y = table
    expected = plan_by_hand(X, y, k, weights, caliper, column_weights)
    matcher = NearestMatcher(
        k,
        weights=weights,
        caliper=None if caliper == np.inf else caliper,
        column_weights=column_weights,
    )
    if not expected:
        with pytest.raises(InputError, match="the smallest distance is"):
            match(X, y, **SETTING, matcher=matcher)
        return
    plan = match(X, y, **SETTING, matcher=matcher)
    assert_array_equal(np.unique(plan.row), list(expected))
    for i, (distances, shares) in expected.items():
        mine = plan.row == i
        assert_allclose(plan.distance[mine], distances, atol=1e-7)
        assert_allclose(plan.weight[mine], shares, atol=1e-7)
    for row, reference, distance in zip(plan.row, plan.reference, plan.distance, strict=True):
        squared = squared_by_hand(X, row, reference, column_weights)
        assert_allclose(distance, np.sqrt(squared), atol=1e-7)
    assert (X["sex"].to_numpy()[plan.row] != X["sex"].to_numpy()[plan.reference]).all()
    assert (y[plan.row] == y[plan.reference]).all()


@examples(25)
@given(tables(), weight_of_columns)
def test_all_distances_and_those_of_pairs_are_those_of_the_definition(table, column_weights):
    X, _ = table
    setting = Problem.read(X, sensitive="sex", privileged="m", sensitive_features=None, is_fitted=False)
    space = NearestMatcher(column_weights=column_weights).space(setting)
    rows = np.arange(len(X))
    squared = space.squared(rows[:, None], rows[3:])
    expected = [[squared_by_hand(X, i, j, column_weights) for j in rows[3:]] for i in rows]
    assert_allclose(squared, expected, atol=1e-7)
    i, j = np.divmod(np.arange(squared.size), len(X) - 3)
    assert space.squared(i, j + 3).tobytes() == squared.tobytes()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"column_weights": {"x1": 3.0, "zip": 0.5, "job": 0.0}},
        {"n_neighbors": 4, "weights": "distance", "caliper": 1.5},
    ],
)
def test_compiled_searches_in_any_number_of_threads_give_the_same_plan(options, monkeypatch):
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n),
            "x1": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "x2": rng.integers(0, 5, n),
            "zip": rng.integers(0, 40, n).astype(str),
            "job": rng.choice(list("abc"), n),
        }
    )
    y = rng.integers(0, 2, n)
    plans = []
    for small, n_jobs in ((10**12, 1), (0, 1), (0, 2)):
        monkeypatch.setattr("fairshap._kernels.neighbors.distance._SMALL", small)
        plans.append(match(X, y, **SETTING, matcher=NearestMatcher(**options), n_jobs=n_jobs))
    for plan in plans[1:]:
        for name in ("row", "reference", "weight", "distance"):
            assert getattr(plan, name).tobytes() == getattr(plans[0], name).tobytes()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_an_exact_match_takes_all_the_weight_and_tiny_distances_stay_finite():
    X = pd.DataFrame({"sex": ["m", "f", "f", "f", "f", "m"], "x": [0.0, 0.0, 0.0, 1.0, 5.0, 5.0]})
    plan = match(X, [0, 0, 0, 0, 1, 1], **SETTING, matcher=NearestMatcher(3, weights="distance"))
    assert plan.reference[plan.row == 0].tolist() == [1, 2]
    assert plan.weight[plan.row == 0].tolist() == [0.5, 0.5]
    numbers = np.array([[1, 0.0], [0, 1e-155], [0, 3e-155], [1, 0.0], [0, 1.0]])
    plan = match(
        numbers, [0, 0, 0, 1, 1], sensitive=0, privileged=1, matcher=NearestMatcher(2, weights="distance")
    )
    assert_allclose(plan.weight[plan.row == 0], [0.75, 0.25])


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_rows_beyond_the_caliper_stay_unmatched_and_are_counted():
    X = pd.DataFrame({"sex": ["m", "f", "m", "f", "m", "f"], "x": [0.0, 0.1, 5.0, 9.0, 20.0, 20.1]})
    y = [0, 0, 0, 0, 1, 1]
    limit = 0.2 / X["x"].std(ddof=0)
    with pytest.warns(UnmatchedRowsWarning) as caught:
        plan = match(X, y, **SETTING, matcher=NearestMatcher(3, caliper=limit))
    text = "2 of 6 rows have no reference and stay as they are: 2 rows have no row of the other group within "
    assert f"{text}caliper={limit}." in str(caught[0].message)
    assert plan.best.tolist() == [1, 0, -1, -1, 5, 4]
    assert_array_equal(plan.weight, 1.0)


def test_a_caliper_is_the_largest_distance_itself():
    numbers = np.array([[1, 0.0], [0, 3.0], [1, 0.0], [0, 3.0]])
    who = {"sensitive": 0, "privileged": 1}
    assert len(match(numbers, [0, 0, 1, 1], **who, matcher=NearestMatcher(caliper=3))) == 4
    with pytest.raises(InputError, match=r"within caliper=2\.9; the smallest distance is 3\. Give a larger"):
        match(numbers, [0, 0, 1, 1], **who, matcher=NearestMatcher(caliper=2.9))


def test_of_several_groups_those_within_the_caliper_share_the_weight():
    X = pd.DataFrame({"race": ["w", "b", "c", "w", "b", "c"], "x": [0.0, 1.0, 9.0, 0.0, 1.0, 2.0]})
    limit = 2.5 / X["x"].std(ddof=0)
    with pytest.warns(UnmatchedRowsWarning, match="1 rows have no row of the other group"):
        plan = match(
            X,
            [0, 0, 0, 1, 1, 1],
            sensitive="race",
            privileged="w",
            min_group_size=1,
            matcher=NearestMatcher(caliper=limit, pairing="each"),
        )
    assert plan.reference[plan.row == 0].tolist() == [1]
    assert plan.reference[plan.row == 3].tolist() == [4, 5]
    assert plan.weight[plan.row == 3].tolist() == [0.5, 0.5]
    assert plan.unmatched.tolist() == [2]


def test_fewer_references_than_n_neighbors_are_all_taken():
    X = pd.DataFrame({"sex": ["m", "f", "f", "f", "m", "f"], "x": [0.0, 1.0, 2.0, 3.0, 9.0, 9.0]})
    with pytest.warns(
        FewReferencesWarning, match="fewer than 3 references.*1 privileged for 3 rows with the label 0"
    ):
        plan = match(X, [0, 0, 0, 0, 1, 1], **SETTING, matcher=NearestMatcher(3))
    assert np.bincount(plan.row).tolist() == [3, 1, 1, 1, 1, 1]


def test_a_weight_of_zero_leaves_a_column_out():
    X = pd.DataFrame(
        {"sex": ["m", "f"] * 4, "a": range(8), "b": list("xyzxyzxy"), "c": [3, 1, 4, 1, 5, 9, 2, 6]}
    )
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    for column in "abc":
        weighed = match(X, y, **SETTING, matcher=NearestMatcher(2, column_weights={column: 0}))
        without = match(X.drop(columns=column), y, **SETTING, matcher=NearestMatcher(2))
        assert_array_equal(weighed.reference, without.reference)
        assert_array_equal(weighed.distance, without.distance)


def test_columns_of_an_array_weigh_by_position_and_one_hot_blocks_stay_what_they_are():
    rng = np.random.default_rng(0)
    n = 60
    table = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n), np.eye(3)[rng.integers(0, 3, n)]])
    table[:4, 0] = [0, 1, 0, 1]
    y = np.tile([0, 0, 1, 1], n // 4)
    for weights in ({1: 2.0}, {2: 5.0, -1: 0.3}, {2: 0.4, 3: 0.4, 4: 0.4}, {3: 0.0}):
        matcher = NearestMatcher(2, column_weights=weights)
        plan = match(table, y, sensitive=0, privileged=1, matcher=matcher)
        scale = np.ones(5)
        for position, weight in weights.items():
            scale[position] = weight
        gaps = table[plan.row] - table[plan.reference]
        assert_allclose(plan.distance**2, (scale[1:] * gaps[:, 1:] ** 2).sum(axis=1), atol=1e-12)
        scaled = table[:, 1:] * np.sqrt(scale[1:])
        whole = ((scaled[:, None] - scaled[None]) ** 2).sum(axis=2)
        whole[(table[:, :1] == table[:, 0]) | (y[:, None] != y)] = np.inf
        assert_allclose(plan.distance**2, np.sort(whole, axis=1)[:, :2].ravel(), atol=1e-12)


def test_objects_in_an_array_are_categories():
    table = np.array(
        [["m", "x", 1.0], ["f", "y", 1.0], ["f", "x", 2.5], ["m", "x", 0.0], ["f", "x", 0.0]], object
    )
    y = [0, 0, 0, 1, 1]
    assert match(table, y, sensitive=0, privileged="m").best[0] == 1
    assert (
        match(table, y, sensitive=0, privileged="m", matcher=NearestMatcher(column_weights={1: 1.5})).best[0]
        == 2
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"weights": "distence"}, "'uniform', 'distance'. Did you mean 'distance'"),
        ({"weights": len}, "is not known; give one of 'uniform', 'distance'"),
        ({"weights": None}, "weights=None is not known"),
        ({"pairing": "all"}, "pairing='all' is not known; give one of 'pooled', 'each'"),
        ({"caliper": -1}, "caliper=-1 is not a distance"),
        ({"caliper": np.nan}, "caliper=nan is not a distance"),
        ({"caliper": np.inf}, "or None for no limit"),
        ({"caliper": True}, "caliper=True is not a distance"),
        ({"caliper": "1"}, "caliper='1' is not a distance"),
        ({"column_weights": {"agee": 1}}, "column_weights='agee' is not a column of X.*Did you mean 'age'"),
        ({"column_weights": {"sex": 0}}, "names 'sex', the sensitive attribute"),
        ({"column_weights": {"age": -1}}, r"column_weights\['age'\]=-1 is not a weight"),
        ({"column_weights": {"age": np.nan}}, r"column_weights\['age'\]=nan"),
        ({"column_weights": {"age": "2"}}, r"column_weights\['age'\]='2'"),
        ({"column_weights": {"age": True}}, r"column_weights\['age'\]=True"),
        ({"column_weights": [1.0, 2.0]}, "is not a mapping; give the weights by column, such as"),
        (
            {"column_weights": dict.fromkeys(["age", "children", "town", "member", "joined"], 0)},
            "leaves no column that counts",
        ),
    ],
)
def test_parameters_without_meaning_are_refused(people, options, text):
    with pytest.raises(InputError, match=text):
        match(people, [0, 0, 1, 1, 0, 0], **SETTING, matcher=NearestMatcher(**options))


def test_one_column_of_an_array_named_twice_is_refused():
    table = np.arange(12.0).reshape(4, 3)
    table[:, 0] = [0, 1, 0, 1]
    with pytest.raises(ColumnError, match="names one column twice, as 2 and -1"):
        match(
            table,
            [0, 0, 1, 1],
            sensitive=0,
            privileged=1,
            matcher=NearestMatcher(column_weights={2: 1, -1: 1}),
        )


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_every_library_gives_the_same_plan(people, library):
    y = [0, 0, 1, 1, 0, 0]
    matcher = NearestMatcher(2, weights="distance", column_weights={"town": 0.5, "age": 2.0, "joined": 0.1})
    plan = match(to_library(people, library), y, **SETTING, matcher=matcher)
    expected = match(people, y, **SETTING, matcher=matcher)
    for name in ("row", "reference", "weight", "distance"):
        assert_array_equal(getattr(plan, name), getattr(expected, name))


def test_the_user_s_mapping_and_table_are_not_touched(people):
    weights, before = {"age": 2.0}, people.copy(deep=True)
    match(people, [0, 0, 1, 1, 0, 0], **SETTING, matcher=NearestMatcher(column_weights=weights))
    assert weights == {"age": 2.0}
    pd.testing.assert_frame_equal(people, before)


def test_repairs_take_matchers_through_clones_parameters_and_pickles():
    column = next(name for name in DATA.X.columns if name != DATA.sensitive)
    matcher = NearestMatcher(3, weights="distance", caliper=2.5, column_weights={column: 0.5})
    fs = FairSHAP(**WHO, random_state=0, matcher=matcher)
    copied = pickle.loads(pickle.dumps(clone(fs)))  # noqa: S301
    assert copied.get_params()["matcher__column_weights"] == {column: 0.5}
    first, second = fs.fit_resample(DATA.X, DATA.y)[0], copied.fit_resample(DATA.X, DATA.y)[0]
    pd.testing.assert_frame_equal(first, second)
    assert_array_equal(fs.explanation_.match_plan.distance, matcher.match(DATA.X, DATA.y, **WHO).distance)
    copied.set_params(matcher__n_neighbors=1, matcher__caliper=None).fit(DATA.X, DATA.y)
    assert len(copied.explanation_.match_plan) == len(DATA.X)


def test_parameters_of_a_matcher_can_be_searched():
    search = GridSearchCV(
        FairSHAPClassifier(FairSHAP(**WHO, random_state=0, matcher=NearestMatcher()), weights=None),
        {"repair__matcher__n_neighbors": [1, 2], "repair__matcher__weights": ["distance"]},
        cv=2,
        error_score="raise",
    ).fit(DATA.X, DATA.y)
    assert search.best_params_["repair__matcher__n_neighbors"] in (1, 2)
    assert search.best_estimator_.repair.matcher.weights == "distance"


def test_rows_without_a_reference_are_not_edited():
    X, y = DATA.X, DATA.y
    fs = FairSHAP(**WHO, random_state=0, threshold=0.01, matcher=NearestMatcher(caliper=1.45))
    with pytest.warns(UnmatchedRowsWarning, match=r"within caliper=1\.45"):
        repaired, _ = fs.fit_resample(X, y)
    alone = fs.explanation_.match_plan.unmatched
    assert len(alone)
    assert len(fs.edits_)
    pd.testing.assert_frame_equal(repaired.iloc[alone], X.iloc[alone])
