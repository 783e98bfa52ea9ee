import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fairshap.mitigation import Reweigher
from tests.conftest import examples, to_library
from tests.mitigation.conftest import WHO, D


@st.composite
def strata(draw):
    n_groups = draw(st.integers(2, 4))
    group = [*range(n_groups), *draw(st.lists(st.integers(0, n_groups - 1), max_size=20))]
    y = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=len(group) - 2, max_size=len(group) - 2))]
    given = draw(st.lists(st.integers(1, 4), min_size=len(group), max_size=len(group)))
    return np.array(group), np.array(y), np.array(given, dtype=float)


@given(strata())
@examples(50)
def test_the_weight_is_expected_over_observed(case):
    group, y, given = case
    reweigher = Reweigher(sensitive=0, privileged=0).fit(group[:, None], y, sample_weight=given)
    total = given.sum()
    for g, label, own, weight in zip(group, y, given, reweigher.sample_weight_, strict=True):
        p_group, p_label = given[group == g].sum() / total, given[y == label].sum() / total
        p_both = given[(group == g) & (y == label)].sum() / total
        assert weight == pytest.approx(own * p_group * p_label / p_both)


@given(strata())
@examples(50)
def test_after_weighing_group_and_label_are_independent_where_all_strata_have_rows(case):
    group, y, given = case
    weights = Reweigher(sensitive=0, privileged=0).fit(group[:, None], y, sample_weight=given).sample_weight_
    if all(((group == g) & (y == label)).any() for g in group for label in (0, 1)):
        rates = [np.average(y[group == g], weights=weights[group == g]) for g in np.unique(group)]
        assert_allclose(rates, np.average(y, weights=given))
        assert weights.sum() == pytest.approx(given.sum())


def test_every_library_gives_the_same_weights(library):
    X = to_library(D.X, library)
    reweigher = Reweigher(**WHO).fit(X, D.y.to_numpy())
    expected = Reweigher(**WHO).fit(D.X, D.y).sample_weight_
    assert_array_equal(reweigher.sample_weight_, expected)
    beside = Reweigher(privileged="a").fit(D.X[["skill"]], D.y, sensitive_features=D.X["group"])
    assert_array_equal(beside.sample_weight_, expected)


def test_labels_may_be_words():
    weights = Reweigher(**WHO).fit(D.X, np.where(D.y == 1, "yes", "no")).sample_weight_
    assert_array_equal(weights, Reweigher(**WHO).fit(D.X, D.y).sample_weight_)


def test_rows_of_no_group_weigh_one():
    X = D.X.copy()
    X.loc[:9, "group"] = None
    weights = Reweigher(**WHO).fit(X, D.y).sample_weight_
    assert (weights[:10] == 1).all()
    assert_array_equal(weights[10:], Reweigher(**WHO).fit(D.X[10:], D.y[10:]).sample_weight_)


def test_a_label_that_a_group_never_has_needs_no_weight():
    X = pd.DataFrame({"s": ["a", "a", "b"]})
    reweigher = Reweigher(sensitive="s", privileged="a").fit(X, [0, 1, 1])
    assert reweigher.factors_[1, 0] == 1
    assert np.isfinite(reweigher.sample_weight_).all()
