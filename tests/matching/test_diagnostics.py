import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ttest_ind

from fairshap import MatchPlan, datasets, match
from fairshap.exceptions import InputError, UnmatchedRowsWarning
from fairshap.matching import NearestMatcher
from fairshap.matching._diagnostics import of_categories, of_numbers, random_references, samples_of
from tests.conftest import examples, to_library, to_pandas

DATA = datasets.load("german")
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
GROUPS = ["unprivileged", "privileged", "all"]


def test_distances_are_the_plan_s_against_those_of_random_rows():
    plan = match(DATA.X, DATA.y, **WHO)
    found = plan.diagnostics()
    frame = found.frame().set_index("group")
    assert list(frame.index) == GROUPS
    is_male = (DATA.X["sex"] == "male").to_numpy()
    for group, rows in zip(GROUPS, (~is_male, is_male, np.full(len(is_male), True)), strict=True):
        line = frame.loc[group]
        assert line["rows"] == rows.sum()
        assert_allclose(line["matched_mean"], plan.distance[rows].mean())
        assert_allclose(line["matched_std"], plan.distance[rows].std(ddof=1))
        assert_allclose(line["random_mean"], found.random[rows].mean())
        # The sizes are equal, so that both tests say the same.
        for equal_var in (True, False):
            expected = ttest_ind(found.random[rows], found.matched[rows], equal_var=equal_var).statistic
            assert_allclose(line["t_statistic"], expected)
        assert_allclose(line["cohens_d"], line["t_statistic"] / np.sqrt(rows.sum() / 2))
    assert (found.matched <= found.random + 1e-12).all()


def test_several_references_count_by_their_weights():
    plan = NearestMatcher(n_neighbors=3).match(DATA.X, DATA.y, **WHO)
    found = plan.diagnostics()
    assert_allclose(found.matched, plan.distance.reshape(-1, 3).mean(axis=1))
    assert found.reuse.sum() == 3 * len(DATA.X)
    nearest = match(DATA.X, DATA.y, **WHO).diagnostics()
    assert found.matched.mean() > nearest.matched.mean()
    assert_array_equal(found.random, nearest.random)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_random_rows_are_drawn_from_all_that_could_have_been_references():
    data = datasets.load("compas", sensitive="race")
    X, y = data.X.head(900), data.y.head(900).to_numpy()
    plan = match(X, y, sensitive="race", privileged=data.privileged, matcher=NearestMatcher(pairing="each"))
    draws = np.array([random_references(plan.basis, len(X), seed) for seed in range(300)])
    side = plan.basis.problem.groups.side
    assert (draws >= 0).all()
    assert (side[draws] != side).all()
    assert (y[draws] == y).all()
    # A privileged row is in a stratum for each group; the larger a group, the more often it is drawn from.
    row = int(np.flatnonzero(side == 1)[0])
    pool = np.flatnonzero((side == 0) & (y == y[row]))
    race = X["race"].to_numpy()
    share = np.mean(race[pool] == "African-American")
    drawn = np.mean(race[draws[:, side == 1][:, y[side == 1] == y[row]]] == "African-American")
    assert 0.3 < share < 0.95
    assert_allclose(drawn, share, atol=0.01)


def test_the_same_seed_gives_the_same_random_rows():
    plan = match(DATA.X, DATA.y, **WHO)
    assert_array_equal(plan.diagnostics().random, plan.diagnostics(0).random)
    assert (plan.diagnostics(1).random != plan.diagnostics(0).random).any()


def sample_of(seed, n=60):
    """Return two groups of rows, and pairs in both directions with weights."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, n).astype(np.int8)
    side[:4] = [0, 0, 1, 1]
    row = np.repeat(np.arange(n), 2)
    reference = np.array([rng.choice(np.flatnonzero(side != side[i])) for i in row])
    first = rng.uniform(0.5, 1, n)
    return side, row, reference, np.column_stack([first, 1 - first]).ravel(), rng


@given(seed=st.integers(0, 10_000))
def test_numbers_differ_by_their_means_in_standard_deviations(seed):
    side, row, reference, weight, rng = sample_of(seed)
    values = rng.normal(size=len(side)) + side
    found = of_numbers(values, samples_of(side, row, reference, weight))
    scale = np.sqrt((values[side == 0].var() + values[side == 1].var()) / 2)
    expected = [values[side == 1].mean() - values[side == 0].mean()]
    for s in (0, 1):
        own = [i for i in range(len(side)) if side[i] == s]
        others = [sum(weight[k] * values[reference[k]] for k in np.flatnonzero(row == i)) for i in own]
        expected.append((np.mean(values[own]) - np.mean(others)) * (1 if s else -1))
    assert_allclose(found, np.array(expected) / scale)


@given(seed=st.integers(0, 10_000), n_categories=st.integers(2, 6))
def test_categories_differ_by_their_shares_over_the_pooled_covariance(seed, n_categories):
    side, row, reference, weight, rng = sample_of(seed)
    # -1 is a missing one.
    codes = rng.integers(-1, n_categories - 1, len(side)).astype(np.int32)
    found = of_categories(codes, samples_of(side, row, reference, weight))
    shares = [np.array([np.mean(codes[side == s] == c) for c in range(-1, n_categories - 1)]) for s in (0, 1)]
    covariance = sum(np.diag(share) - np.outer(share, share) for share in shares) / 2
    inverse = np.linalg.pinv(covariance, rcond=1e-10)
    gaps = [shares[1] - shares[0]]
    for s in (0, 1):
        pairs = side[row] == s
        of_pairs = [codes[row[pairs]], codes[reference[pairs]]]
        own, other = (
            np.array([weight[pairs][c == code].sum() for code in range(-1, n_categories - 1)]) * 2 / len(c)
            for c in of_pairs
        )
        gaps.append(own - other)
    assert_allclose(found, [np.sqrt(gap @ inverse @ gap) for gap in gaps], rtol=1e-6, atol=1e-7)


@given(seed=st.integers(0, 10_000))
def test_two_categories_differ_as_much_as_the_number_0_or_1(seed):
    side, row, reference, weight, rng = sample_of(seed)
    codes = rng.integers(0, 2, len(side)).astype(np.int32)
    sample = samples_of(side, row, reference, weight)
    assert_allclose(of_categories(codes, sample), np.abs(of_numbers(codes.astype(float), sample)), atol=1e-9)


def test_columns_without_a_scale_differ_infinitely_or_not_at_all():
    side = np.array([0, 0, 1, 1], dtype=np.int8)
    pairs = np.arange(4), np.array([2, 3, 0, 1]), np.ones(4)
    sample = samples_of(side, *pairs)
    assert_array_equal(of_numbers(np.array([1.0, 1, 2, 2]), sample), np.inf)
    assert_array_equal(of_numbers(np.ones(4), sample), 0.0)
    assert np.isnan(of_numbers(np.array([np.nan, np.nan, 2, 2]), sample)).all()
    assert_array_equal(of_categories(np.array([0, 0, 1, 1], dtype=np.int32), sample), np.inf)
    assert_array_equal(of_categories(np.zeros(4, dtype=np.int32), sample), 0.0)


@examples(20)
@given(seed=st.integers(0, 10_000))
def test_missing_numbers_are_left_out(seed):
    side, row, reference, weight, rng = sample_of(seed)
    values = rng.normal(size=len(side))
    values[4:] = np.where(rng.random(len(side) - 4) < 0.3, np.nan, values[4:])
    found = of_numbers(values, samples_of(side, row, reference, weight))
    present = ~np.isnan(values)
    expected = [values[present & (side == 1)].mean() - values[present & (side == 0)].mean()]
    for s in (0, 1):
        kept = (side[row] == s) & present[reference]
        other = np.average(values[reference[kept]], weights=weight[kept])
        expected.append((values[present & (side == s)].mean() - other) * (1 if s else -1))
    scale = np.sqrt((np.nanvar(values[side == 0]) + np.nanvar(values[side == 1])) / 2)
    assert_allclose(found, np.array(expected) / scale)


def test_twins_in_the_other_group_leave_no_difference(people, library):
    twins = pd.concat([people.assign(sex="m"), people.iloc[:4].assign(sex="f")], ignore_index=True)
    y = np.arange(10) % 2
    y[6:] = y[:4]
    found = match(to_library(twins, library), y, sensitive="sex", privileged="m").diagnostics()
    balance = to_pandas(found.balance)
    assert type(found.balance) is type(found.frame()) is type(to_library(people, library))
    assert list(balance.columns) == ["column", "before", "after_unprivileged", "after_privileged"]
    assert balance["column"].tolist() == ["age", "children", "town", "member", "joined"]
    assert_allclose(balance["after_unprivileged"], 0.0, atol=1e-12)
    assert (balance["before"].abs() > 0.01).all()


def test_reuse_and_unmatched_rows_are_counted():
    X = pd.DataFrame({"sex": ["m", "f", "f", "f", "m"], "age": [30, 31, 33, 50, 52]})
    with pytest.warns(UnmatchedRowsWarning):
        plan = match(X, [0, 0, 0, 0, 1], sensitive="sex", privileged="m")
    found = plan.diagnostics()
    assert found.reuse.tolist() == [3, 1, 0, 0, 0]
    assert found.unmatched.tolist() == [4]
    text = repr(found)
    assert "references: 2 rows, each used 2.0 times, 3 at most" in text
    assert "unmatched: 1 of 5 rows" in text


def test_what_the_matcher_says_is_passed_on():
    class Telling(NearestMatcher):
        def find(self, *args):
            found = super().find(*args)
            found.notes["recall"] = 0.987
            return found

    found = Telling().match(DATA.X, DATA.y, **WHO).diagnostics()
    assert found.notes == {"recall": 0.987}
    assert repr(found).endswith("recall: 0.987")


def test_a_plan_made_by_hand_cannot_be_judged():
    plan = MatchPlan(2, [0, 1], [1, 0], [1.0, 1.0], [0.5, 0.5])
    with pytest.raises(InputError, match=r"does not know the table .* fairshap\.match"):
        plan.diagnostics()


def test_the_figure_shows_both_distances_and_every_column():
    plan = match(DATA.X, DATA.y, **WHO)
    found = plan.diagnostics()
    distances, balance = found.plot()
    counts = sorted(sum(bar.get_height() for bar in bars) for bars in distances.containers)
    assert counts[-1] == len(found.matched)
    assert "mean 1.47" in " ".join(text.get_text() for text in distances.get_legend().get_texts())
    assert {text.get_text() for text in balance.get_yticklabels()} == set(found.columns)
    shown = [np.sort(line.get_xdata()) for line in balance.lines[:3]]
    assert_allclose(shown, np.sort(np.abs(found.differences.T), axis=1))


def test_a_figure_is_drawn_where_it_is_wanted():
    found = match(DATA.X, DATA.y, **WHO).diagnostics()
    axes = Figure().subplots(1, 2)
    assert found.plot(axes) is axes
    assert all(ax.has_data() for ax in axes)
    one = Figure().subplots()
    assert found.plot(one) is one
    assert len(one.containers) == 2


def test_a_wide_table_shows_its_largest_differences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 31))
    X[:, 0] = np.arange(200) % 2
    X[:, 7] = 3 * X[:, 0]
    X[:, 5] += X[:, 0]
    plan = match(X, np.arange(200) // 2 % 2, sensitive=0, privileged=1)
    _, balance = plan.diagnostics().plot()
    names = [text.get_text() for text in balance.get_yticklabels()]
    assert len(names) == 25
    assert names[-1] == "7 (infinite)"
    assert names[-2] == "5"
    assert "25 largest of 30" in balance.get_title()
