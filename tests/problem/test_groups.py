import numpy as np
import pandas as pd
import pytest

from fairshap._frames import Table
from fairshap._problem import Groups, Problem
from fairshap.exceptions import ColumnError, GroupError, InputError, OrderWarning
from tests.conftest import to_library


def groups_of(values, privileged):
    return Groups.read(Table.read(pd.DataFrame({"a": values})), (0,), privileged)


@pytest.mark.parametrize(
    ("values", "privileged"),
    [
        (["m", "f", "m"], "m"),
        ([1, 0, 1], 1),
        ([1.0, 0.0, 1.0], 1),
        ([True, False, True], True),
        (pd.Categorical(["m", "f", "m"]), "m"),
        (["m", "f", "m"], ["m"]),
        (["m", "f", "m"], lambda values: values == "m"),
        ([30, 20, 40], pd.Interval(25, 60)),
        ([30, 20, 40], lambda ages: ages > 25),
    ],
)
def test_the_privileged_side_is_found(values, privileged):
    assert groups_of(values, privileged).side.tolist() == [1, 0, 1]


def test_one_column_whose_name_is_a_tuple_is_one_attribute():
    X = pd.DataFrame({("person", "sex"): ["m", "f", "m"], ("person", "age"): [1, 2, 3]})
    groups = Problem.read(X, sensitive=("person", "sex"), privileged="m").groups
    assert groups.name == ("person", "sex")
    assert groups.side.tolist() == [1, 0, 1]


def test_every_privileged_value_is_compared_with_every_other():
    groups = groups_of(["w", "b", "h", "a", "b"], ["w", "a"])
    assert groups.values == (("b", "h"), ("w", "a"))
    values = ["w", "b", "h", "a"]
    assert groups.donors[0].tolist() == [0, 1, 2, 3]
    pairs = {(values[a], values[b]) for a, b in groups.contrasts}
    assert pairs == {("b", "w"), ("b", "a"), ("h", "w"), ("h", "a")}


def test_a_quantity_is_switched_to_the_median_of_the_other_side():
    ages = [20, 22, 24, 30, 50, 40, 60]
    groups = groups_of(ages, lambda a: a > 25)
    assert groups.by_row
    assert groups.values == ((22,), (40,))  # of 30, 40, 50, 60 the lower middle: a real age
    compared = np.array(ages)[groups.donors]
    assert compared.tolist() == [[a, 40] for a in ages[:3]] + [[a, 22] for a in ages[3:]]


@pytest.mark.parametrize(
    ("closed", "expected"),
    [("right", [0, 1, 1]), ("left", [1, 1, 0]), ("both", [1, 1, 1]), ("neither", [0, 1, 0])],
)
def test_intervals_are_open_or_closed_as_they_say(closed, expected):
    groups = groups_of([25, 40, 60, 10], pd.Interval(25, 60, closed=closed))
    assert groups.side.tolist() == [*expected, 0]


def test_rows_without_a_value_stand_on_no_side():
    groups = groups_of(["m", None, "f"], "m")
    assert groups.side.tolist() == [1, -1, 0]
    assert groups.n_missing == 1
    assert groups_of([30, None, 20], pd.Interval(25, 60)).side.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("values", "privileged", "message"),
    [
        (["m", "f"], "M", r"privileged='M' does not occur in 'a', which holds 'm', 'f'. Did you mean 'm'\?"),
        ([0, 1], "1", r"which holds 0, 1. Did you mean 1\?"),
        (["m", "f"], ["m", "x"], "privileged='x' does not occur"),
        (["m", "m"], "m", "two groups: privileged='m' picks all of them"),
        ([30, 40], pd.Interval(0, 10), "picks none of them"),
        (
            [30, 40],
            pd.Interval(pd.Timestamp(0), pd.Timestamp(1)),
            "is an interval of Timestamp, but 'a' holds float64",
        ),
        (["m", "f"], pd.NA, "privileged is not given"),
        (["m", "f"], pd.Interval(0, 1), "holds categories: 'm', 'f'"),
        (["m", "f"], None, "privileged is not given. 'a' holds 'm', 'f'"),
        ([30, 40], lambda ages: ages, "must return one boolean"),
        (["m", "f"], lambda values: [True], "must return one boolean"),
        (list(range(50)), 30, "a quantity with 50 distinct values"),
    ],
)
def test_groups_that_cannot_be_are_refused_with_what_there_is(values, privileged, message):
    with pytest.raises(GroupError, match=message):
        groups_of(values, privileged)


def test_an_attribute_beside_the_table_becomes_a_last_column(people, library):
    X = to_library(people.drop(columns="sex"), library)
    setting = Problem.read(
        X, sensitive=None, privileged="m", sensitive_features=pd.Series(people["sex"].tolist(), name="sex")
    )
    assert setting.table.names == ("age", "children", "town", "member", "joined", "sex")
    assert setting.columns == (5,)
    assert setting.own.names == ("age", "children", "town", "member", "joined")
    assert setting.groups.side.tolist() == [1, 0, 1, 0, 1, 0]
    assert type(setting.table.native) is type(X)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda s: pd.DataFrame({"sex": s})])
def test_an_attribute_may_come_in_any_form(people, make):
    setting = Problem.read(
        people.drop(columns="sex"),
        sensitive="gender",
        privileged="m",
        sensitive_features=make(people["sex"].tolist()),
    )
    assert setting.table.names[-1] == "gender"
    assert setting.groups.side.tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_attribute_beside_the_table_is_missing(people, missing):
    setting = Problem.read(
        people.drop(columns="sex"),
        sensitive=None,
        privileged="m",
        sensitive_features=["m", "f", missing, "m", "f", "m"],
    )
    assert setting.groups.side.tolist() == [1, 0, -1, 1, 0, 1]
    assert setting.groups.values == (("f",), ("m",))


def test_an_attribute_of_words_beside_an_array_becomes_numbers():
    setting = Problem.read(
        np.zeros((3, 2)), sensitive=None, privileged="m", sensitive_features=["m", None, "f"], is_fitted=False
    )
    np.testing.assert_array_equal(setting.table.native[:, 2], [0, np.nan, 1])
    assert setting.groups.values == (("f",), ("m",))
    with pytest.raises(InputError, match="holds words and X is an array of numbers"):
        Problem.read(np.zeros((3, 2)), sensitive=None, privileged="m", sensitive_features=["m", None, "f"])


@pytest.mark.parametrize(
    "make", [lambda s: pd.Series(s, dtype="category"), lambda s: pd.Series(s, dtype=object)]
)
def test_an_attribute_of_numbers_beside_an_array_keeps_them(make):
    setting = Problem.read(np.zeros((3, 2)), sensitive=None, privileged=2, sensitive_features=make([2, 1, 2]))
    np.testing.assert_array_equal(setting.table.native[:, 2], [2, 1, 2])


def test_an_attribute_beside_a_frame_whose_names_are_numbers_is_named_so():
    assert Problem.read(
        pd.DataFrame(np.eye(2)), sensitive=None, privileged="m", sensitive_features=["m", "f"]
    ).table.names == (0, 1, 2)


def test_an_attribute_may_be_a_table_of_one_column(people, library):
    beside = to_library(people[["sex"]], library)
    setting = Problem.read(
        people.drop(columns="sex"), sensitive=None, privileged="m", sensitive_features=beside
    )
    assert setting.table.names[-1] == "sex"
    assert setting.groups.side.tolist() == [1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("make", [list, np.array, pd.Series, lambda s: s.rename("gender"), pd.Categorical])
def test_an_attribute_that_the_table_holds_cannot_be_given_beside_it(people, make):
    with pytest.raises(InputError, match=r"is the column 'sex' of X\. Give sensitive='sex'"):
        Problem.read(people, sensitive=None, privileged="m", sensitive_features=make(people["sex"]))


def test_a_column_of_the_same_name_is_taken_for_the_attribute(people):
    other = pd.Series(["m", "f", "f", "f", "m", "m"], name="town")
    with pytest.raises(InputError, match="is the column 'town' of X"):
        Problem.read(people, sensitive=None, privileged="m", sensitive_features=other)


def test_an_attribute_in_another_order_is_pointed_at(people):
    s = people["sex"].rename("gender").iloc[[1, 0, 2, 3, 5, 4]]
    with pytest.warns(OrderWarning, match="index labels of X in another order"):
        Problem.read(people.drop(columns="sex"), sensitive=None, privileged="m", sensitive_features=s)
    Problem.read(
        people.drop(columns="sex"),
        sensitive=None,
        privileged="m",
        sensitive_features=s.reset_index(drop=True),
    )


@pytest.mark.parametrize(
    "privileged",
    [
        pd.Interval(pd.Timestamp("2021-01-01"), pd.Timestamp("2023-01-01"), closed="both"),
        lambda days: days >= np.datetime64("2021-01-01"),
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_can_be_split(people, library, privileged, zone):
    if zone is not None and isinstance(privileged, pd.Interval):
        privileged = pd.Interval(
            *(end.tz_localize(zone) for end in (privileged.left, privileged.right)), "both"
        )
    X = to_library(people.assign(joined=people["joined"].dt.tz_localize(zone)), library)
    assert Problem.read(X, sensitive="joined", privileged=privileged).groups.side.tolist() == [
        0,
        0,
        -1,
        1,
        1,
        1,
    ]


def test_times_can_be_split():
    X = pd.DataFrame({"stay": pd.to_timedelta([1, 5, 9], unit="D"), "x": [1, 2, 3]})
    stay = pd.Interval(pd.Timedelta(days=4), pd.Timedelta(days=30))
    assert Problem.read(X, sensitive="stay", privileged=stay).groups.side.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("sensitive", "beside", "error", "message"),
    [
        (None, None, InputError, "sensitive is not given. Name the sensitive column of X, which has 'sex'"),
        ("sexe", None, ColumnError, "Did you mean 'sex'"),
        ("sex", ["m"] * 6, InputError, "give one of the two"),
        (None, ["m", "f"], InputError, "has 2 values, X has 6 rows"),
        ("a", np.zeros((6, 2)), InputError, "has 2 columns, sensitive='a' names 1"),
        (None, np.zeros((6, 0)), InputError, "has no columns"),
        (["sex", "sex"], None, InputError, "each of them once"),
        ([], None, InputError, "each of them once"),
    ],
)
def test_an_attribute_that_is_not_there_is_asked_for(people, sensitive, beside, error, message):
    with pytest.raises(error, match=message):
        Problem.read(people, sensitive=sensitive, privileged="m", sensitive_features=beside)


@pytest.mark.parametrize(
    ("R", "message"),
    [
        (
            pd.DataFrame({"sex": ["m"], "x": [1]}),
            "one reference row for each row of X: X has 2 rows, R has 1",
        ),
        (pd.DataFrame({"x": [1, 2], "sex": ["m", "f"]}), "columns of X in the same order"),
        (np.zeros((2, 2)), "X is a DataFrame and R a ndarray"),
    ],
)
def test_references_must_look_like_the_table(R, message):
    setting = Problem.read(pd.DataFrame({"sex": ["m", "f"], "x": [1, 2]}), sensitive="sex", privileged="m")
    with pytest.raises(InputError, match=message):
        setting.with_references(R)
