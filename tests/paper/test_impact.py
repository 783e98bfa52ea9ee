"""The repair against BlackBoxAuditing, which is all that AIF360's remover does, and against a plain twin."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fairshap import datasets
from paper.impact import find_moves, remove_impact
from tests.conftest import examples


def by_black_box_auditing(X, sensitive):
    """Return what AIF360 0.6.1 returns: it hands the rows on and puts the attribute back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from BlackBoxAuditing.repairers.GeneralRepairer import Repairer

        rows = X.tolist()
        repaired = np.array(Repairer(rows, sensitive, 1.0, False).repair(rows), dtype=float)
    repaired[:, sensitive] = X[:, sensitive]
    return repaired


def by_hand(values, groups):
    """Repair one column cell by cell: slow and obvious."""
    own = {g: sorted({v for v, h in zip(values, groups, strict=True) if h == g}) for g in set(groups)}
    n = min(len(part) for part in own.values())
    ends = [0.0]
    for _ in range(n):
        ends.append(ends[-1] + 1 / n)
    quantile, median = {}, {}
    for k in range(n):
        middles = []
        for g, part in own.items():
            inside = part[round(ends[k] * len(part)) : round(ends[k + 1] * len(part))]
            quantile.update({(g, value): k for value in inside})
            middles.append(inside[(len(inside) - 1) // 2])
        median[k] = sorted(middles)[(len(middles) - 1) // 2]
    return [median[quantile[g, value]] for value, g in zip(values, groups, strict=True)]


@st.composite
def columns(draw):
    n_groups = draw(st.integers(2, 4))
    rest = draw(st.lists(st.integers(0, n_groups - 1), max_size=30))
    groups = [*range(n_groups), *rest]
    values = draw(
        st.lists(st.integers(-20, 20).map(lambda k: k / 2), min_size=len(groups), max_size=len(groups))
    )
    return values, groups


@given(columns())
@examples(50)
def test_a_column_is_repaired_as_by_hand(column):
    values, groups = column
    X = np.column_stack([groups, values])
    before = X.copy()
    repaired = remove_impact(X, 0)
    assert_array_equal(X, before)
    assert_array_equal(repaired[:, 0], groups)
    assert repaired[:, 1].tolist() == by_hand(values, groups)


@given(columns())
@examples(50)
def test_the_order_within_a_group_stays_and_quantiles_are_shared(column):
    values, groups = column
    known, codes = np.unique(values, return_inverse=True)
    moves = find_moves(codes, np.array(groups), max(groups) + 1, len(known))
    for row in moves:
        assert (np.diff(row[row >= 0]) >= 0).all()
    assert len({frozenset(row[row >= 0].tolist()) for row in moves}) == 1


@given(st.integers(0, 2**32 - 1))
@examples(30)
def test_two_groups_are_repaired_as_by_aif360(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 60))
    X = np.column_stack([np.arange(n) % 2, *(rng.integers(0, 15, n) / 4 for _ in range(3))])
    assert_array_equal(remove_impact(X, 0), by_black_box_auditing(X, 0))


@pytest.mark.parametrize("sensitive", ["sex", "race"])
def test_an_encoded_table_is_repaired_as_by_aif360(sensitive):
    data = datasets.load("compas", encoded=True, sensitive=sensitive)
    X = data.X.to_numpy(dtype=float)[:1500]
    position = data.X.columns.get_loc(sensitive)
    repaired = remove_impact(X, position)
    assert_array_equal(repaired, by_black_box_auditing(X, position))
    assert (repaired != X).any()
