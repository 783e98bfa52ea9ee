import pickle

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


def test_each_other_value_of_several_has_a_counterfactual():
    augmenter = CounterfactualAugmenter(sensitive="colour", privileged="red")
    both, _ = augmenter.fit_resample(D.X, D.y)
    own = D.X["colour"].to_numpy()
    made = list(zip(augmenter.counterfactual_of_, both["colour"][300:], strict=True))
    expected = [(k, value) for k in range(300) for value in ("red", "green", "blue") if value != own[k]]
    assert sorted(made) == sorted(expected)
    assert_array_equal(augmenter.sample_weight_, np.full(900, 1 / 3))


def test_several_columns_are_switched_to_a_combination_that_occurs():
    augmenter = CounterfactualAugmenter(sensitive=["group", "district"], privileged=("a", "north"))
    both, _ = augmenter.fit_resample(D.X, D.y)
    pairs = list(zip(both["group"], both["district"], strict=True))
    assert len(both) == 300 * 4
    for k, pair in zip(augmenter.counterfactual_of_, pairs[300:], strict=True):
        assert pair != pairs[k]
    assert set(pairs[300:]) == {("a", "north"), ("a", "south"), ("b", "north"), ("b", "south")}


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


def test_a_saved_augmenter_tells_nothing_of_single_rows():
    augmenter = CounterfactualAugmenter(**WHO).fit(D.X, D.y)
    loaded = pickle.loads(pickle.dumps(augmenter))  # noqa: S301 - written here
    assert len(augmenter.sample_weight_) == 2 * len(augmenter.counterfactual_of_)
    assert not {"sample_weight_", "counterfactual_of_"} & set(vars(loaded))
    assert loaded.get_params() == augmenter.get_params()
