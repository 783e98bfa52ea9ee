import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fairshap._problem import Problem
from fairshap.edits._recipe import Counterfactuals
from fairshap.exceptions import InputError
from tests.conftest import to_library, to_pandas

PEOPLE = pd.DataFrame(
    {"sex": ["m", "f", "m", None, "f"], "race": ["a", "b", "c", "a", "b"], "age": [30, 41, 52, 63, 74]}
)
ROWS = np.arange(5)


def test_a_twin_is_its_row_with_the_other_value_at_half_the_weight():
    setting = Problem.read(PEOPLE, sensitive="sex", privileged="m")
    twins = Counterfactuals.make(setting, np.array([0, 1, 3]))
    assert twins.of.tolist() == [0, 1]
    assert twins.weight.tolist() == [0.5, 0.5, 1, 1, 1, 0.5, 0.5]
    longer = twins.add_to(PEOPLE)
    pd.testing.assert_frame_equal(longer.iloc[:5], PEOPLE)
    assert longer["sex"].tolist()[5:] == ["f", "m"]
    assert longer["age"].tolist()[5:] == [30, 41]
    assert longer.index.equals(pd.RangeIndex(7))
    assert twins.add_to_target([0, 1, 2, 3, 4]) == [0, 1, 2, 3, 4, 0, 1]


def test_each_value_that_is_compared_makes_a_twin_and_a_drawn_one_makes_one():
    of_race = Counterfactuals.make(
        Problem.read(PEOPLE, sensitive="race", privileged="a"), ROWS, np.arange(1.0, 6.0)
    )
    assert of_race.of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    races = of_race.add_to(PEOPLE)["race"].tolist()[5:]
    assert [set(races[2 * i : 2 * i + 2]) | {PEOPLE["race"][i]} for i in range(5)] == [set("abc")] * 5
    assert_allclose(of_race.weight[:5], np.arange(1.0, 6.0) / 3)
    total = np.bincount(np.r_[ROWS, of_race.of], of_race.weight)
    assert_allclose(total, np.arange(1.0, 6.0))
    drawn = Counterfactuals.make(
        Problem.read(PEOPLE, sensitive="race", privileged="a", comparison="random", random_state=0), ROWS
    )
    assert drawn.of.tolist() == [0, 1, 2, 3, 4]
    assert {drawn.add_to(PEOPLE)["race"].tolist()[5 + i] for i in (1, 2, 4)} == {"a"}


def test_the_twin_of_a_quantity_has_the_median_of_the_other_side():
    setting = Problem.read(PEOPLE, sensitive="age", privileged=pd.Interval(50, 80))
    longer = Counterfactuals.make(setting, ROWS).add_to(PEOPLE)
    assert longer["age"].tolist()[5:] == [63, 63, 30, 30, 30]


def test_several_columns_are_switched_together():
    setting = Problem.read(PEOPLE, sensitive=["sex", "race"], privileged=("m", "a"), min_group_size=1)
    twins = Counterfactuals.make(setting, np.array([0]))
    longer = twins.add_to(PEOPLE)
    pairs = set(zip(longer["sex"][5:], longer["race"][5:], strict=True))
    assert pairs == {("f", "b"), ("m", "c")}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_the_table_keeps_its_type(library):
    X = np.column_stack([[1.0, 0, 1, 0], [3, 4, 5, 6]])
    if library != "numpy":
        X = to_library(pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [3, 4, 5, 6]}), library)
    who = (0, 1) if library == "numpy" else ("sex", "m")
    twins = Counterfactuals.make(Problem.read(X, sensitive=who[0], privileged=who[1]), np.array([1]))
    longer = twins.add_to(X)
    assert type(longer) is type(X)
    if library == "numpy":
        assert_array_equal(longer[4], [1, 4])
    else:
        assert to_pandas(longer).iloc[4].tolist() == ["m", 4]


@pytest.mark.parametrize(
    "y", [np.arange(5), pd.Series(range(5), name="y"), pl.Series(range(5)), pa.array(range(5))]
)
def test_the_target_keeps_its_type(y):
    longer = Counterfactuals.make(
        Problem.read(PEOPLE, sensitive="sex", privileged="m"), np.array([1])
    ).add_to_target(y)
    assert type(longer) is type(y)
    assert [int(value) for value in (longer.to_pylist() if isinstance(y, pa.Array) else longer)] == [
        0, 1, 2, 3, 4, 1,
    ]  # fmt: skip


def test_a_twin_has_its_rows_label():
    people = PEOPLE.set_index(pd.Index(list("vwxyz"), name="id"))
    twins = Counterfactuals.make(Problem.read(people, sensitive="sex", privileged="m"), np.array([1]))
    assert twins.add_to(people).index.tolist() == [*"vwxyz", "w"]
    assert twins.add_to(people).index.name == "id"


def test_an_attribute_beside_the_table_has_no_twins():
    setting = Problem.read(PEOPLE[["age"]], sensitive=None, privileged="m", sensitive_features=PEOPLE["sex"])
    with pytest.raises(InputError, match="sensitive_features"):
        Counterfactuals.make(setting, ROWS)
