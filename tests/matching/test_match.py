import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from fairshap import MatchPlan, _messages, datasets, match
from fairshap._problem import Problem
from fairshap.exceptions import FewReferencesWarning, InputError, UnmatchedRowsWarning
from fairshap.matching import NearestMatcher
from tests.conftest import examples, to_library, to_pandas

SETTING = {"sensitive": "sex", "privileged": "m"}


@st.composite
def tables(draw, labels=2):
    n = draw(st.integers(8, 24))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n),
            "age": rng.choice([20.0, 30.0, 45.0, np.nan], n),
            "income": rng.normal(size=n).round(1) * 1000,
            "town": rng.choice(["x", "y", "z", None], n),
        }
    )
    X.loc[:3, "sex"] = ["m", "f", "m", "f"]
    y = rng.integers(0, labels, n)
    y[:4] = [0, 0, 1, 1]
    return X, y


def by_hand(X, y):
    """One pair at a time, from the definition."""
    scaled = {c: (X[c] - X[c].mean()) / (X[c].std(ddof=0) or 1.0) for c in ("age", "income")}
    best = []
    for i in range(len(X)):
        candidates = []
        for j in range(len(X)):
            if X["sex"][i] == X["sex"][j] or y[i] != y[j]:
                continue
            squared = 0.0
            for column in scaled.values():
                a, b = column[i], column[j]
                missing = int(np.isnan(a)) + int(np.isnan(b))
                squared += 2.0 if missing == 1 else 0.0 if missing else (a - b) ** 2
            a, b = X["town"][i], X["town"][j]
            squared += 0.0 if (pd.isna(a) and pd.isna(b)) or a == b else 2.0
            candidates.append((round(squared, 9), j))
        best.append(min(candidates, default=None))
    return best


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@examples(25)
@given(tables())
def test_every_row_gets_its_nearest_of_the_other_group_and_the_same_label(table):
    X, y = table
    plan = match(X, y, **SETTING)
    expected = by_hand(X, y)
    assert_allclose(plan.distance**2, [squared for squared, _ in expected], atol=1e-8)
    sexes = X["sex"].to_numpy()
    assert (sexes[plan.row] != sexes[plan.reference]).all()
    assert (y[plan.row] == y[plan.reference]).all()
    assert_array_equal(plan.row, np.arange(len(X)))
    assert_array_equal(plan.weight, 1.0)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
@pytest.mark.parametrize("as_text", [False, True], ids=["numbers", "text"])
@examples(25)
@given(table=tables(labels=5))
def test_rows_of_any_number_of_labels_are_matched_within_them(table, as_text):
    X, y = table
    plan = match(X, [f"label {v}" for v in y] if as_text else y, **SETTING)
    expected = by_hand(X, y)
    assert_array_equal(plan.row, [row for row, found in enumerate(expected) if found])
    assert_allclose(plan.distance**2, [found[0] for found in expected if found], atol=1e-8)
    assert (y[plan.row] == y[plan.reference]).all()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
@examples(25)
@given(table=tables(), bins=st.integers(2, 4))
def test_rows_of_one_bin_of_a_quantity_are_matched(table, bins):
    X, _ = table
    y = np.random.default_rng(len(X)).normal(size=len(X)).round(1)
    # Without equal numbers a bin is a share of the rows, in their order.
    y += np.arange(len(X)) / 1000
    codes = np.argsort(np.argsort(y)) * bins // len(X)
    plan = match(X, y, matcher=NearestMatcher(bins=bins), **SETTING)
    expected = by_hand(X, codes)
    assert_array_equal(plan.row, [row for row, found in enumerate(expected) if found])
    assert_allclose(plan.distance**2, [found[0] for found in expected if found], atol=1e-8)


def test_ties_of_standardised_numbers_go_to_the_lowest_row():
    ages = [30, 29, 31, 29, 31, 30]
    X = pd.DataFrame({"sex": ["m", "f", "f", "f", "f", "m"], "age": ages, "x": [0.1] * 5 + [5.3]})
    plan = match(X, [0, 0, 0, 1, 1, 1], **SETTING)
    assert plan.best[0] == 1
    X["age"] += 10**6
    assert match(X, [0, 0, 0, 1, 1, 1], **SETTING).best[0] == 1


def test_any_number_of_threads_gives_the_same_plan(monkeypatch):
    monkeypatch.setattr("fairshap._kernels.neighbors.distance._SMALL", 0)
    d = datasets.make_biased(500, random_state=0)
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    plans = [match(d.X, d.y, **who, n_jobs=n) for n in (1, 2, None)]
    for plan in plans[1:]:
        assert plan.reference.tobytes() == plans[0].reference.tobytes()
        assert plan.distance.tobytes() == plans[0].distance.tobytes()


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@examples(25)
@given(tables(), st.integers(1, 30))
def test_the_k_nearest_share_the_weight_and_the_nearest_stands_first(table, k):
    X, y = table
    plan, nearest = match(X, y, **SETTING, matcher=NearestMatcher(n_neighbors=k)), match(X, y, **SETTING)
    assert_array_equal(plan.best, nearest.best)
    sexes, rows = X["sex"].to_numpy(), np.arange(len(X))
    # A distance is the root of what is compared, and so may be the same for two that are not.
    space = NearestMatcher().space(Problem.read(X, sensitive="sex", privileged="m"))
    squared = space.squared(rows[:, None], rows)
    for i in rows:
        mine = plan.row == i
        qualified = int(((sexes != sexes[i]) & (y == y[i])).sum())
        assert mine.sum() == min(k, qualified)
        assert_array_equal(plan.weight[mine], 1 / min(k, qualified))
        assert len(set(plan.reference[mine])) == mine.sum()
        references = plan.reference[mine]
        assert_array_equal(references, sorted(references, key=lambda j, i=i: (squared[i, j], j)))
        assert_allclose(plan.distance[mine], np.sqrt(squared[i, references]), atol=1e-12)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", True, None])
def test_n_neighbors_must_be_a_number_of_references(people, k):
    with pytest.raises(InputError, match=r"n_neighbors=.* must be a whole number from 1 on"):
        match(people, [0, 0, 1, 1, 0, 0], **SETTING, matcher=NearestMatcher(n_neighbors=k))


def test_a_bar_counts_the_matched_rows(monkeypatch, capsys):
    monkeypatch.setattr(_messages, "_PATIENCE", 0.0)
    monkeypatch.setattr(_messages, "_is_interactive", lambda: True)
    X = pd.DataFrame({"sex": ["m", "f"] * 5, "x": range(10)})
    match(X, [0, 0, 1, 1, 0, 0, 1, 1, 0, 0], **SETTING, verbose=1)
    shown = capsys.readouterr().err
    assert "Matching" in shown
    assert "100%" in shown


def test_ties_go_to_the_lowest_row():
    X = pd.DataFrame({"sex": ["m", "f", "f", "m", "f"], "town": ["x", "x", "x", "x", "x"]})
    assert match(X, [0, 0, 0, 1, 1], **SETTING).best.tolist() == [1, 0, 0, 4, 3]


def test_every_library_gives_the_same_plan_in_its_own_frame(people, library):
    y = [0, 0, 1, 1, 0, 0]
    X = to_library(people, library)
    plan = match(X, y, **SETTING)
    assert_array_equal(plan.reference, match(people, y, **SETTING).reference)
    frame = plan.frame()
    assert type(frame) is type(X)
    assert list(to_pandas(frame).columns) == ["row", "reference", "weight", "distance"]


def test_arrays_are_taken_as_given_and_frames_standardised():
    numbers = np.array([[1, 0.0, 0.0], [0, 1.0, 700.0], [0, 9.0, 100.0]])
    y = [0, 0, 0]
    with pytest.raises(InputError):
        match(numbers, y, sensitive=0, privileged=1)
    numbers, y = np.vstack([numbers, numbers]), [0, 0, 0, 1, 1, 1]
    assert match(numbers, y, sensitive=0, privileged=1).best[0] == 2
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    scaled = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    nearest = 1 + np.argmin(((scaled[1:3, 1:] - scaled[0, 1:]) ** 2).sum(axis=1))
    assert match(frame, y, sensitive="a", privileged=1).best[0] == nearest


def test_the_sensitive_column_takes_no_part():
    X = pd.DataFrame({"age": [20, 30, 21, 60, 61, 29], "z": [0.0, 5.0, 5.0, 0.0, 9.0, 9.0]})
    plan = match(X, [0, 0, 1, 1, 0, 1], sensitive="age", privileged=lambda a: a > 25)
    scaled = X["z"] / X["z"].std(ddof=0)
    assert_allclose(plan.distance, np.abs(scaled[plan.row].to_numpy() - scaled[plan.reference].to_numpy()))


def test_constant_columns_count_nothing():
    X = pd.DataFrame({"sex": ["m", "f"] * 3, "c": [0.1 + 0.2] * 6, "d": [1, 1, 2, 2, 3, 3]})
    assert_allclose(match(X, [0, 0, 0, 0, 1, 1], **SETTING).distance, 0)


def test_bins_that_one_group_never_has_are_named(people):
    with pytest.warns(
        UnmatchedRowsWarning, match=r"3 privileged rows have a target of 1\.5 to 1\.7, which.* Fewer bins"
    ):
        match(people, [1.5, 2.5, 1.6, 2.6, 1.7, 2.7], **SETTING)


def test_rows_without_a_reference_are_counted_with_the_reason():
    X = pd.DataFrame({"sex": ["m", "f", "m", "f", None, "m"], "x": range(6)})
    with pytest.warns(UnmatchedRowsWarning) as caught:
        plan = match(X, [0, 0, 1, 0, 1, 1], **SETTING)
    text = str(caught[0].message)
    assert "3 of 6 rows have no reference" in text
    assert "1 rows have no value of 'sex'" in text
    assert "2 privileged rows have the label 1, which the other group never has" in text
    assert plan.unmatched.tolist() == [2, 4, 5]
    assert plan.best.tolist() == [1, 0, -1, 0, -1, -1]
    assert "3 of 6 rows unmatched" in repr(plan)
    assert caught[0].filename == __file__


def test_the_heaviest_reference_is_the_best():
    plan = MatchPlan(
        4, np.array([0, 0, 1]), np.array([2, 3, 3]), np.array([0.6, 0.4, 1.0]), np.array([0.1, 0.3, 0.2])
    )
    assert plan.best.tolist() == [2, 3, -1, -1]
    assert len(plan) == 3


def test_columns_of_any_scale_count_the_same():
    for scale in (1.0, 1e-13, 1e160):
        a = np.array([1, 5, 1.1, 9]) * scale
        X = pd.DataFrame({"sex": ["f", "m", "m", "f"], "a": a, "b": [0.0, 0.1, 0.2, 1.0]})
        with pytest.warns(UnmatchedRowsWarning):
            assert match(X, [0, 0, 0, 1], **SETTING).best.tolist() == [2, 0, 0, -1]


def test_numbers_whose_squares_overflow_are_refused():
    X = np.array([[0, 1e160], [1, 2e160], [0, 3e160], [1, 4e160]])
    with pytest.raises(InputError, match="too large to take distances of"):
        match(X, [0, 0, 1, 1], sensitive=0, privileged=1)


def test_a_plan_is_sorted_and_takes_lists():
    plan = MatchPlan(2, [1, 0, 0], [0, 0, 1], [1.0, 0.1, 0.9], [0.0, 0.0, 0.0])
    assert plan.row.tolist() == [0, 0, 1]
    assert plan.best.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("reference", "weight", "message"),
    [
        ([5], [1.0], "rows outside it"),
        ([1], [1.0, 2.0], "of one length"),
        ([1], [10.0], "sum to 1; they sum to 10"),
        ([0.5], [1.0], "must hold row positions, not float64"),
    ],
)
def test_impossible_plans_are_refused(reference, weight, message):
    with pytest.raises(InputError, match=message):
        MatchPlan(2, np.array([0]), np.array(reference), np.array(weight), np.array([0.0]))


@pytest.mark.parametrize("matching", ["nearest", "emd", "sinkhorn", "sliced"])
@pytest.mark.parametrize("lone", ["m", "f"])
def test_a_single_row_that_is_the_reference_of_many_is_pointed_at(matching, lone):
    other = {"m": "f", "f": "m"}[lone]
    X = pd.DataFrame({"sex": [lone] + [other] * 12 + ["m", "f"] * 3, "x": np.arange(19.0)})
    word = {"m": "privileged", "f": "unprivileged"}[lone]
    with pytest.warns(FewReferencesWarning, match=f"1 {word} for 12 rows with the label 0") as caught:
        plan = match(X, [0] * 13 + [1] * 6, **SETTING, matcher=matching)
    assert len(caught) == 1
    assert plan.best[1:13].tolist() == [0] * 12
