import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from fairshap.exceptions import InputError
from fairshap.mitigation import CounterfactualAugmenter
from tests.conftest import to_library, to_pandas
from tests.mitigation.conftest import WHO, D


def test_every_row_has_a_counterfactual_of_the_other_group(library):
    X = to_library(D.X, library)
    augmenter = CounterfactualAugmenter(**WHO)
    both, y = augmenter.fit_resample(X, D.y.to_numpy())
    assert type(both) is type(X)
    if library != "pandas":
        assert both.schema == X.schema
    both = to_pandas(both).reset_index(drop=True)
    assert both[:300].equals(to_pandas(X))
    twins = both[300:].reset_index(drop=True)
    assert twins["group"].tolist() == D.X["group"].map({"a": "b", "b": "a"}).tolist()
    assert twins.drop(columns="group").equals(to_pandas(X).drop(columns="group"))
    assert_array_equal(y, np.tile(D.y, 2))
    assert_array_equal(augmenter.sample_weight_, np.full(600, 0.5))
    assert_array_equal(augmenter.counterfactual_of_, range(300))


def test_types_stay_and_twins_have_their_rows_labels(people):
    X = people.set_index(pd.Index(list("abcdef"), name="who"))
    y = pd.Series([0, 1, 0, 1, 0, 1], index=X.index, name="y")
    both, labels = CounterfactualAugmenter(sensitive="sex", privileged="m").fit_resample(X, y)
    assert both.dtypes.equals(X.dtypes)
    assert both.index.tolist() == list("abcdefabcdef")
    assert labels.index.equals(both.index)
    assert labels.name == "y"
    pd.testing.assert_frame_equal(both[6:].drop(columns="sex"), X.drop(columns="sex"))


def test_one_of_several_values_is_drawn_for_each_row():
    augmenter = CounterfactualAugmenter(
        sensitive="colour", privileged="red", comparison="random", random_state=0
    )
    both, _ = augmenter.fit_resample(D.X, D.y)
    drawn = both["colour"].to_numpy()[300:]
    red = (D.X["colour"] == "red").to_numpy()
    assert (drawn[~red] == "red").all()
    assert set(drawn[red]) == {"green", "blue"}
    assert 0.3 < (drawn[red] == "green").mean() < 0.7
    again, _ = CounterfactualAugmenter(
        sensitive="colour", privileged="red", comparison="random", random_state=0
    ).fit_resample(D.X, D.y)
    pd.testing.assert_frame_equal(again, both)
    other, _ = CounterfactualAugmenter(
        sensitive="colour", privileged="red", comparison="random", random_state=1
    ).fit_resample(D.X, D.y)
    assert not other.equals(both)


def test_several_columns_are_switched_to_a_combination_that_occurs():
    augmenter = CounterfactualAugmenter(
        sensitive=["group", "district"], privileged=("a", "north"), comparison="random", random_state=0
    )
    both, _ = augmenter.fit_resample(D.X, D.y)
    pairs = set(zip(both["group"][300:], both["district"][300:], strict=True))
    assert pairs == {("a", "north"), ("a", "south"), ("b", "north"), ("b", "south")}
    was_north_a = ((D.X["group"] == "a") & (D.X["district"] == "north")).to_numpy()
    is_north_a = ((both["group"] == "a") & (both["district"] == "north")).to_numpy()[300:]
    assert_array_equal(is_north_a, ~was_north_a)


def test_a_quantity_becomes_the_median_of_the_other_side():
    X = np.array([[20, 1], [30, 2], [40, 3], [50, 4], [60, 5]])
    both, _ = CounterfactualAugmenter(sensitive=0, privileged=lambda age: age > 35).fit_resample(
        X, [0, 1, 0, 1, 0]
    )
    assert both.dtype == X.dtype
    assert both[5:, 0].tolist() == [50, 50, 20, 20, 20]


def test_a_row_whose_attribute_is_missing_has_no_twin():
    X = D.X.copy()
    X.loc[:9, "group"] = None
    augmenter = CounterfactualAugmenter(**WHO)
    both, _ = augmenter.fit_resample(X, D.y, sample_weight=np.arange(300))
    assert len(both) == 590
    assert augmenter.counterfactual_of_.tolist() == list(range(10, 300))
    assert augmenter.sample_weight_[:10].tolist() == list(range(10))
    assert_array_equal(augmenter.sample_weight_[10:300], np.arange(10, 300) / 2)
    assert augmenter.sample_weight_.sum() == np.arange(300).sum()


@pytest.mark.parametrize(
    "y", [[0, 1], (0, 1), np.array([0, 1]), pd.Series([0, 1]), pl.Series([0, 1]), pa.array([0, 1])]
)
def test_labels_come_back_in_their_own_type(y):
    X = pd.DataFrame({"s": ["a", "b"], "x": [1, 2]})
    _, labels = CounterfactualAugmenter(sensitive="s", privileged="a").fit_resample(X, y)
    assert type(labels) is type(y)
    assert np.asarray(labels).tolist() == [0, 1, 0, 1]


def test_an_attribute_beside_the_table_is_refused():
    with pytest.raises(InputError, match="would be an equal copy"):
        CounterfactualAugmenter(privileged="a").fit(D.X[["skill"]], D.y, sensitive_features=D.X["group"])


def test_nothing_that_was_given_is_changed():
    X, y, weights = D.X.copy(), D.y.copy(), np.ones(300)
    both, labels = CounterfactualAugmenter(**WHO).fit_resample(X, y, sample_weight=weights)
    both["skill"] = 0
    labels[:] = 7
    pd.testing.assert_frame_equal(X, D.X)
    pd.testing.assert_series_equal(y, D.y)
    assert (weights == 1).all()
