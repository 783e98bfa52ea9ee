"""The repair against BlackBoxAuditing, which is all that AIF360's remover does, and against a plain twin."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fairshap import datasets
from fairshap.exceptions import ColumnError, InputError, UnseenGroupsWarning
from fairshap.mitigation import DisparateImpactRemover
from fairshap.mitigation._impact import full_repair
from tests.conftest import examples, to_library, to_pandas
from tests.mitigation.conftest import SHIFTED, WHO, D

LEVELS = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 0.77, 1.0])


def by_black_box_auditing(X, sensitive, level):
    """Return what AIF360 0.6.1 returns: it hands the rows on and puts the attribute back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from BlackBoxAuditing.repairers.GeneralRepairer import Repairer

        rows = X.tolist()
        repaired = np.array(Repairer(rows, sensitive, level, False).repair(rows), dtype=float)
    repaired[:, sensitive] = X[:, sensitive]
    return repaired


def by_hand(values, groups, level):
    """Repair one column cell by cell: slow and obvious."""
    known = sorted(set(values))
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
    out = []
    for value, g in zip(values, groups, strict=True):
        here, there = known.index(value), known.index(median[quantile[g, value]])
        out.append(known[here + round((there - here) * level)])
    return out


@st.composite
def columns(draw):
    n_groups = draw(st.integers(2, 4))
    rest = draw(st.lists(st.integers(0, n_groups - 1), max_size=30))
    groups = [*range(n_groups), *rest]
    values = draw(
        st.lists(st.integers(-20, 20).map(lambda k: k / 2), min_size=len(groups), max_size=len(groups))
    )
    return values, groups


@given(columns(), LEVELS)
@examples(50)
def test_a_column_is_repaired_as_by_hand(column, level):
    values, groups = column
    X = np.column_stack([groups, values])
    repaired = DisparateImpactRemover(sensitive=0, privileged=0, repair_level=level).fit_transform(X)
    assert_array_equal(repaired[:, 0], groups)
    assert repaired[:, 1].tolist() == by_hand(values, groups, level)


@given(columns())
@examples(50)
def test_at_full_repair_the_order_within_a_group_stays_and_quantiles_are_shared(column):
    values, groups = column
    known, codes = np.unique(values, return_inverse=True)
    targets = full_repair(codes, np.array(groups), max(groups) + 1, len(known))
    for row in targets:
        assert (np.diff(row[row >= 0]) >= 0).all()
    assert len({frozenset(row[row >= 0].tolist()) for row in targets}) == 1


@given(st.integers(0, 2**32 - 1), LEVELS)
@examples(30)
def test_two_groups_are_repaired_as_by_aif360(seed, level):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 60))
    X = np.column_stack([np.arange(n) % 2, *(rng.integers(0, 15, n) / 4 for _ in range(3))])
    ours = DisparateImpactRemover(sensitive=0, privileged=1, repair_level=level).fit_transform(X)
    assert_array_equal(ours, by_black_box_auditing(X, 0, level))


@pytest.mark.parametrize(("sensitive", "privileged"), [("sex", 1), ("race", 1)])
@pytest.mark.parametrize("level", [0.5, 1.0])
def test_an_encoded_table_is_repaired_as_by_aif360(sensitive, privileged, level):
    data = datasets.load("compas", encoded=True, sensitive=sensitive)
    X = data.X.to_numpy(dtype=float)[:1500]
    position = data.X.columns.get_loc(sensitive)
    remover = DisparateImpactRemover(sensitive=position, privileged=privileged, repair_level=level)
    repaired = remover.fit_transform(X)
    assert_array_equal(repaired, by_black_box_auditing(X, position, level))
    assert (repaired != X).any()


def test_every_library_keeps_its_types(library, people):
    X = to_library(people, library)
    out = DisparateImpactRemover(sensitive="sex", privileged="m").fit_transform(X)
    assert type(out) is type(X)
    if library != "pandas":
        assert out.schema == X.schema
    out = to_pandas(out)
    # m: 30, 41; f: 31, 52.
    assert out["age"].tolist()[:2] == [30.0, 30.0]
    assert out["age"].tolist()[3:5] == [41.0, 41.0]
    assert out["age"].isna().tolist() == people["age"].isna().tolist()
    # m: 2020-01-01, 2021-06-01; f: 2020-02-01, 2021-01-01, 2022-01-01.
    assert out["joined"].dropna().nunique() == 2
    assert out["town"].astype(object).equals(to_pandas(X)["town"].astype(object))
    assert out["member"].tolist() == people["member"].tolist()


def test_index_and_columns_stay(people):
    X = people.set_index(pd.Index(list("abcabc")))
    out = DisparateImpactRemover(sensitive="sex", privileged="m").fit_transform(X)
    assert out.index.equals(X.index)
    assert out.dtypes.equals(X.dtypes)
    assert out.columns.equals(X.columns)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_array_keeps_its_type(dtype):
    X = np.array([[0, 5], [0, 7], [1, 1], [1, 2]], dtype=dtype)
    out = DisparateImpactRemover(sensitive=0, privileged=1).fit_transform(X)
    assert out.dtype == dtype
    assert out[:, 1].tolist() == [1, 2, 1, 2]


def test_test_rows_are_repaired_by_what_was_learnt():
    train = pd.DataFrame({"sex": list("mmmfff"), "score": [50.0, 70.0, 90.0, 10.0, 20.0, 30.0]})
    remover = DisparateImpactRemover(sensitive="sex", privileged="m").fit(train)
    rows = pd.DataFrame(
        {"sex": ["m", "m", "m", "m", "f", "x", None, "m"], "score": [50.0, 69, 1, 99, 25, 50, 50, np.nan]}
    )
    with pytest.warns(UnseenGroupsWarning, match="'sex' holds 'x', which it did not when fitting: 'm', 'f'"):
        out = remover.transform(rows)
    # As the next lower value of the group, or its lowest; other groups and missing values stay.
    assert out["score"].tolist()[:-1] == [10, 10, 10, 30, 25, 50, 50]
    assert np.isnan(out["score"].iloc[-1])
    for k in (0, 1, 2, 3, 4, 6, 7):
        pd.testing.assert_frame_equal(remover.transform(rows[k : k + 1]), out[k : k + 1])
    pd.testing.assert_frame_equal(remover.transform(train), remover.fit_transform(train))


def test_level_zero_changes_nothing_seen_or_not():
    remover = DisparateImpactRemover(**WHO, repair_level=0).fit(SHIFTED)
    rows = SHIFTED.assign(skill=SHIFTED["skill"] + 0.25)
    pd.testing.assert_frame_equal(remover.transform(rows), rows)


def test_an_attribute_beside_the_table_gives_the_same_repair(library):
    X = to_library(SHIFTED.drop(columns="group"), library)
    s = D.X["group"].tolist()
    beside = DisparateImpactRemover(privileged="a").fit(X, sensitive_features=s)
    out = beside.transform(X, sensitive_features=s)
    inside = DisparateImpactRemover(**WHO).fit_transform(SHIFTED)
    assert (inside["skill"] != SHIFTED["skill"]).any()
    assert to_pandas(out).equals(to_pandas(to_library(inside.drop(columns="group"), library)))
    with pytest.raises(InputError, match="give sensitive_features, one value for each row"):
        beside.transform(X)
    with pytest.raises(InputError, match=r"sensitive_features has shape \(3, 1\); 300 rows"):
        beside.transform(X, sensitive_features=["a", "b", "a"])


@pytest.mark.parametrize("privileged", [pd.Interval(40, 100), lambda age: age > np.median(age)])
def test_a_quantity_makes_two_groups_also_of_a_single_test_row(privileged):
    X = pd.DataFrame({"age": [20, 30, 50, 60], "debt": [1.0, 2.0, 8.0, 9.0]})
    remover = DisparateImpactRemover(sensitive="age", privileged=privileged)
    assert remover.fit_transform(X)["debt"].tolist() == [1, 2, 1, 2]
    one = pd.DataFrame({"age": [51], "debt": [9.0]})
    assert remover.transform(one)["debt"].tolist() == [2]
    assert remover.transform(one.assign(age=29))["debt"].tolist() == [9.0]


def test_several_columns_make_a_group_of_each_combination():
    X = SHIFTED.assign(both=SHIFTED["group"] + SHIFTED["district"])
    several = DisparateImpactRemover(sensitive=["group", "district"], privileged=("a", "north")).fit(SHIFTED)
    one = DisparateImpactRemover(sensitive="both", privileged="anorth").fit(X)
    repaired = several.transform(SHIFTED)
    assert repaired["skill"].tolist() == one.transform(X)["skill"].tolist()
    assert (repaired["skill"] != SHIFTED["skill"]).any()
    pd.testing.assert_frame_equal(several.transform(SHIFTED[:1]), repaired[:1])


def test_small_groups_are_taken_as_one():
    X = pd.DataFrame({"race": list("aaaabbbbcd"), "score": [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10]})
    few = DisparateImpactRemover(sensitive="race", privileged="a").fit_transform(X)
    assert few["score"].nunique() == 1
    with pytest.warns(UserWarning, match="taken as one group"):
        pooled = DisparateImpactRemover(sensitive="race", privileged="a", min_group_size=3).fit_transform(X)
    assert pooled["score"].nunique() == 2


def test_nothing_that_was_given_is_changed():
    X = SHIFTED.copy()
    out = DisparateImpactRemover(**WHO).fit_transform(X)
    pd.testing.assert_frame_equal(X, SHIFTED)
    assert not out.equals(X)
    array = np.array([[0.0, 5], [0, 7], [1, 1], [1, 2]])
    before = array.copy()
    DisparateImpactRemover(sensitive=0, privileged=1).fit_transform(array)
    assert_array_equal(array, before)


@pytest.mark.parametrize("level", [-0.1, 1.1, "1", None, True, float("nan")])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(InputError, match=r"repair_level=.* must be a number from 0 to 1"):
        DisparateImpactRemover(**WHO, repair_level=level).fit(D.X)


def test_what_cannot_be_repaired_is_said():
    with pytest.raises(
        InputError, match=r"none of X's 2 feature\(s\), 'group', 'colour', is a column of numbers"
    ):
        DisparateImpactRemover(**WHO).fit(D.X[["group", "colour"]])
    with pytest.raises(ColumnError, match=r"Did you mean 'group'\?"):
        DisparateImpactRemover(sensitive="gruop", privileged="a").fit(D.X)
    remover = DisparateImpactRemover(**WHO).fit(D.X)
    with pytest.raises(InputError, match="column 'skill' held numbers when fitting"):
        remover.transform(D.X.assign(skill="good"))
    with pytest.raises(ValueError, match="feature names"):
        remover.transform(D.X.rename(columns={"skill": "skills"}))
    halves = DisparateImpactRemover(sensitive=0, privileged=1).fit(np.array([[0, 5.0], [1, 0.5]]))
    with pytest.raises(InputError, match="cannot hold the repaired number"):
        halves.transform(np.array([[0, 5], [1, 1]]))
    halves = DisparateImpactRemover(sensitive="s", privileged=1).fit(
        pd.DataFrame({"s": [0, 1], "x": [5.0, 0.5]})
    )
    with pytest.raises(InputError, match="do not fit into a column of X"):
        halves.transform(pd.DataFrame({"s": [0, 1], "x": [5, 1]}))
