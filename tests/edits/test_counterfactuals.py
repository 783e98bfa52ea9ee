import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fairshap._problem import Problem
from fairshap.edits._recipe import add_counterfactuals
from fairshap.exceptions import InputError
from tests.conftest import to_library, to_pandas

PEOPLE = pd.DataFrame(
    {"sex": ["m", "f", "m", None, "f"], "race": ["a", "b", "c", "a", "b"], "age": [30, 41, 52, 63, 74]}
)
ROWS = np.arange(5)


def test_a_twin_is_its_row_with_the_other_value_at_half_the_weight():
    setting = Problem.read(PEOPLE, sensitive="sex", privileged="m")
    longer, y, of, weight = add_counterfactuals(setting, np.array([0, 1, 3]), PEOPLE, [0, 1, 2, 3, 4])
    assert of.tolist() == [0, 1]
    assert weight.tolist() == [0.5, 0.5, 1, 1, 1, 0.5, 0.5]
    pd.testing.assert_frame_equal(longer.iloc[:5], PEOPLE)
    assert longer["sex"].tolist()[5:] == ["f", "m"]
    assert longer["age"].tolist()[5:] == [30, 41]
    assert longer.index.equals(pd.RangeIndex(7))
    assert y == [0, 1, 2, 3, 4, 0, 1]


def test_each_value_that_is_compared_makes_a_twin_and_a_drawn_one_makes_one():
    setting = Problem.read(PEOPLE, sensitive="race", privileged="a")
    longer, _, of, weight = add_counterfactuals(setting, ROWS, PEOPLE, ROWS, np.arange(1.0, 6.0))
    assert of.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    races = longer["race"].tolist()[5:]
    assert [set(races[2 * i : 2 * i + 2]) | {PEOPLE["race"][i]} for i in range(5)] == [set("abc")] * 5
    assert_allclose(weight[:5], np.arange(1.0, 6.0) / 3)
    assert_allclose(np.bincount(np.r_[ROWS, of], weight), np.arange(1.0, 6.0))
    setting = Problem.read(PEOPLE, sensitive="race", privileged="a", comparison="random", random_state=0)
    longer, _, of, _ = add_counterfactuals(setting, ROWS, PEOPLE, ROWS)
    assert of.tolist() == [0, 1, 2, 3, 4]
    assert {longer["race"].tolist()[5 + i] for i in (1, 2, 4)} == {"a"}


def test_the_twin_of_a_quantity_has_the_median_of_the_other_side():
    setting = Problem.read(PEOPLE, sensitive="age", privileged=pd.Interval(50, 80))
    longer = add_counterfactuals(setting, ROWS, PEOPLE, ROWS)[0]
    assert longer["age"].tolist()[5:] == [63, 63, 30, 30, 30]


def test_several_columns_are_switched_together():
    setting = Problem.read(PEOPLE, sensitive=["sex", "race"], privileged=("m", "a"), min_group_size=1)
    longer = add_counterfactuals(setting, np.array([0]), PEOPLE, ROWS)[0]
    pairs = set(zip(longer["sex"][5:], longer["race"][5:], strict=True))
    assert pairs == {("f", "b"), ("m", "c")}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_the_table_keeps_its_type(library):
    X = np.column_stack([[1.0, 0, 1, 0], [3, 4, 5, 6]])
    if library != "numpy":
        X = to_library(pd.DataFrame({"sex": ["m", "f", "m", "f"], "age": [3, 4, 5, 6]}), library)
    who = (0, 1) if library == "numpy" else ("sex", "m")
    setting = Problem.read(X, sensitive=who[0], privileged=who[1])
    longer = add_counterfactuals(setting, np.array([1]), X, np.arange(4))[0]
    assert type(longer) is type(X)
    if library == "numpy":
        assert_array_equal(longer[4], [1, 4])
    else:
        assert to_pandas(longer).iloc[4].tolist() == ["m", 4]


@pytest.mark.parametrize(
    "y", [np.arange(5), pd.Series(range(5), name="y"), pl.Series(range(5)), pa.array(range(5))]
)
def test_the_target_keeps_its_type(y):
    setting = Problem.read(PEOPLE, sensitive="sex", privileged="m")
    longer = add_counterfactuals(setting, np.array([1]), PEOPLE, y)[1]
    assert type(longer) is type(y)
    assert [int(value) for value in (longer.to_pylist() if isinstance(y, pa.Array) else longer)] == [
        0, 1, 2, 3, 4, 1,
    ]  # fmt: skip


def test_a_twin_has_its_rows_label():
    people = PEOPLE.set_index(pd.Index(list("vwxyz"), name="id"))
    setting = Problem.read(people, sensitive="sex", privileged="m")
    longer = add_counterfactuals(setting, np.array([1]), people, ROWS)[0]
    assert longer.index.tolist() == [*"vwxyz", "w"]
    assert longer.index.name == "id"


def test_an_attribute_beside_the_table_has_no_twins():
    setting = Problem.read(PEOPLE[["age"]], sensitive=None, privileged="m", sensitive_features=PEOPLE["sex"])
    with pytest.raises(InputError, match="sensitive_features"):
        add_counterfactuals(setting, ROWS, PEOPLE[["age"]], ROWS)
