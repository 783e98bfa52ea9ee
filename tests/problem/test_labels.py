from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairshap._problem import Target
from fairshap.exceptions import InputError, TargetError


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
    labels = Target.read(y, 3)
    assert labels.codes.tolist() == [0, 1, 0]
    assert labels.positive == 1


def test_the_positive_label_can_be_named():
    assert Target.read(["bad", "good"], 2, positive="bad").positive == 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y to be passed"),
        ([0, 1], "X has 3 rows, y has 2"),
        ([1, 1, 1], "one class only, 1"),
        ([0, 1, None], r"missing values \(NaN\) in 1 of 3 rows, first in row 2"),
        ([0, np.nan, 1], "first in row 1"),
        (["a", np.nan, "b"], "first in row 1"),
        (["a", None, "b"], "first in row 1"),
        ([0.0, np.inf, 1.0], "infinite"),
        ([0, "a", 1.5], "mixes types"),
        (np.array(["2020-01-01"] * 3, dtype="datetime64[D]"), "is of type datetime64"),
        ([[0, 1], [1, 0], [1, 1]], r"1d array.*shape \(3, 2\).* one target at a time"),
    ],
)
def test_targets_that_are_not_known_values_are_refused(y, message):
    if isinstance(y, list) and "a" in y:
        y = pd.Series(y, dtype=object)
    with pytest.raises(TargetError, match=message):
        Target.read(y, 3)


def test_a_positive_label_that_does_not_occur_is_refused():
    with pytest.raises(TargetError, match=r"positive='Good' does not occur in y, .* Did you mean 'good'\?"):
        Target.read(["bad", "good"], 2, positive="Good")


def test_any_number_of_labels_is_taken_and_none_is_positive_unless_named():
    labels = Target.read(["b", "c", "a", "b"], 4)
    assert labels.codes.tolist() == [1, 2, 0, 1]
    assert labels.classes.tolist() == ["a", "b", "c"]
    assert labels.names[2] == "the label 'c'"
    assert labels.positive is None
    assert labels.positive_value is None
    assert Target.read(["b", "c", "a", "b"], 4, positive="c").positive_value == "c"


def test_a_quantity_has_bins_and_no_classes():
    y = np.array([0.5, 3.5, 2.5, 9.0])
    labels = Target.read(y, 4)
    assert labels.classes is None
    assert labels.positive is None
    assert labels.codes.tolist() == [0, 1, 0, 1]
    assert labels.values.tolist() == y.tolist()


@pytest.mark.parametrize("y", [[3, 1, 2, 1], [True, False, True, True], [Decimal("1.5"), Decimal(2), 3, 4]])
def test_a_regressor_s_target_may_be_any_numbers(y):
    labels = Target.read(y, 4, is_quantity=True)
    assert labels.classes is None
    assert labels.values.dtype.kind in "bif"
    assert len(set(labels.codes.tolist())) == 2


def test_labels_that_are_numbers_can_be_cut_too():
    labels = Target.read([1, 2, 3, 4], 4, bins=2, is_quantity=False)
    assert labels.codes.tolist() == [0, 0, 1, 1]
    assert labels.classes.tolist() == [1, 2, 3, 4]


def test_many_whole_numbers_may_be_labels_or_a_quantity():
    y = np.arange(40)
    with pytest.raises(TargetError, match=r"40 different numbers, 0, 1, 2 and 37 more: labels or a quantity"):
        Target.read(y, 40)
    assert Target.read(y, 40, is_quantity=True).classes is None
    assert Target.read(y, 40, bins=4).classes is None
    assert len(Target.read(y, 40, is_quantity=False).classes) == 40
    assert len(Target.read(y.astype(str), 40).classes) == 40


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0.1, 0.2, 0.3], {"is_quantity": False}, "Unknown label type: continuous.*3 different numbers"),
        (["a", "b", "c"], {"is_quantity": True}, r"y holds text, such as 'a', 'b'.* Give numbers"),
        (["a", "b", "c"], {"bins": 2}, "y holds text"),
        ([2.5, 2.5, 2.5], {"is_quantity": True}, r"one value only, 2\.5"),
        ([0.1, 0.2, 0.3], {"positive": 0.1}, r"positive=0\.1 names a label, but y is a quantity"),
        ([0.1, np.inf, 0.3], {}, "infinite"),
        ([0.1, np.nan, 0.3], {}, "first in row 1"),
    ],
)
def test_quantities_that_cannot_be_cut_are_refused(y, options, message):
    with pytest.raises(TargetError, match=message):
        Target.read(y, 3, **options)


@pytest.mark.parametrize("bins", [1, 0, -3, "a", 2.5, True, np.nan])
def test_bins_must_be_a_number_from_two_on(bins):
    with pytest.raises(InputError, match=r"bins=.* must be a whole number from 2 on: the number of quantile"):
        Target.read([0.1, 0.2, 0.3], 3, bins=bins)


def test_more_bins_than_rows_are_refused():
    with pytest.raises(InputError, match="bins=4 are more than the 3 rows"):
        Target.read([0.1, 0.2, 0.3], 3, bins=4)


def bins_by_hand(y, bins):
    """Put each number into the first bin whose share of the rows it does not exceed."""
    n, ordered = len(y), sorted(y)
    below = [v for v in y if v < ordered[-1]]
    ends = []
    for k in range(1, bins):
        share = Fraction(k, bins)
        end = next(v for v in ordered if Fraction(sum(w <= v for w in y), n) >= share)
        ends.append(min(end, max(below)))
    ends = sorted(set(ends))
    return [sum(v > end for end in ends) for v in y]


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6)), min_size=2, max_size=40), st.integers(2, 12)
)
def test_bins_are_the_quantiles_and_every_one_has_rows(y, bins):
    y = [float(v) for v in y]
    assume(len(set(y)) > 1)
    bins = min(bins, len(y))
    labels = Target.read(y, len(y), bins=bins)
    assert labels.codes.tolist() == bins_by_hand(y, bins)
    assert 2 <= len(labels.names) <= bins
    assert set(labels.codes.tolist()) == set(range(len(labels.names)))


@pytest.mark.parametrize(("n", "bins"), [(1000, 10), (200, 10), (199, 9), (60, 3), (25, 2), (3, 2)])
def test_by_default_a_bin_has_twenty_rows(n, bins):
    assert len(Target.read(np.random.default_rng(0).normal(size=n), n).names) == bins
