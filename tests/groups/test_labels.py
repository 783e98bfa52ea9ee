import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairshap.exceptions import TargetError
from fairshap.groups import Labels


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 0],
        [0, 1.0, 0],
        [0.5, 1.5, 0.5],
        ["bad", "good", "bad"],
        [False, True, False],
        [-1, 1, -1],
        np.array([0.0, 1.0, 0.0]),
        pd.Series(["bad", "good", "bad"], dtype="category"),
        pd.Series([0, 1, 0], dtype="Int64"),
        pl.Series(["bad", "good", "bad"]),
        pa.array([0, 1, 0]),
        pa.array(["bad", "good", "bad"]),
        pa.chunked_array([[0, 1], [0]]),
    ],
    ids=lambda y: type(y).__module__ + str(getattr(y, "dtype", "")),
)
def test_any_two_values_are_labels(y):
    labels = Labels.read(y, 3)
    assert labels.codes.tolist() == [0, 1, 0]
    assert labels.positive == 1


def test_the_positive_label_can_be_named():
    assert Labels.read(["bad", "good"], 2, positive="bad").positive == 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y to be passed"),
        ([0, 1], "X has 3 rows, y has 2"),
        ([0, 1, 2], "Only binary classification is supported.*3 values, 0, 1, 2"),
        ([1, 1, 1], "one class only, 1"),
        ([0, 1, None], r"missing values \(NaN\) in 1 of 3 rows, first in row 2"),
        ([0, np.nan, 1], "first in row 1"),
        (["a", np.nan, "b"], "first in row 1"),
        (["a", None, "b"], "first in row 1"),
        ([0.0, np.inf, 1.0], "infinite"),
        ([0, "a", 1.5], "mixes types"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "is of type datetime64"),
    ],
)
def test_targets_that_are_not_two_known_values_are_refused(y, message):
    if isinstance(y, list) and "a" in y:
        y = pd.Series(y, dtype=object)
    with pytest.raises(TargetError, match=message):
        Labels.read(y, 3)


def test_a_positive_label_that_does_not_occur_is_refused():
    with pytest.raises(TargetError, match=r"positive='Good' does not occur in y, .* Did you mean 'good'\?"):
        Labels.read(["bad", "good"], 2, positive="Good")
