import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from paper.ablation import edit_by_match, edit_randomly, rows_with_another
from paper.methods import fit_model, match_rows, repair
from paper.settings import Fold
from tests.conftest import examples


@pytest.fixture(scope="module")
def fold():
    return Fold.load("german:sex", "whole", 1, 0, 2, 0)


def edit(study, fold, n_edits, seed=0):
    if study == 1:
        return edit_randomly(fold.X, fold.sensitive, n_edits, seed)
    return edit_by_match(fold.X, match_rows(fold).best, fold.sensitive, n_edits, seed)


@pytest.mark.parametrize("study", [1, 2])
@pytest.mark.parametrize("n_edits", [0, 1, 57])
def test_so_many_cells_change_and_none_is_sensitive(study, n_edits, fold):
    before = fold.X.copy()
    edited = edit(study, fold, n_edits)
    assert (edited != fold.X).sum() == n_edits
    assert_array_equal(edited[:, fold.sensitive], fold.X[:, fold.sensitive])
    assert_array_equal(fold.X, before)


@pytest.mark.parametrize("study", [1, 2])
def test_seeds_decide(study, fold):
    one, same, other = (edit(study, fold, 20, seed) for seed in (0, 0, 1))
    assert_array_equal(one, same)
    assert (one != other).any()


def test_the_second_study_takes_the_values_of_the_references(fold):
    best = match_rows(fold).best
    edited = edit(2, fold, 40)
    row, column = np.nonzero(edited != fold.X)
    assert_array_equal(edited[row, column], fold.X[best[row], column])
    differ = fold.X[best] != fold.X
    differ[:, fold.sensitive] = False
    everything = edit(2, fold, int(differ.sum()))
    assert_array_equal(everything[differ], fold.X[best][differ])


def test_fairshap_s_number_of_edits_always_fits(fold):
    repaired = repair(fold, fit_model(fold.X, fold.y), threshold=1e-6)
    for study in (1, 2):
        assert (edit(study, fold, len(repaired.edits)) != fold.X).sum() == len(repaired.edits)


def test_all_cells_of_columns_with_several_values_can_be_drawn():
    X = np.column_stack([np.arange(20) % 2, np.arange(20), np.ones(20), np.arange(20) % 3]).astype(float)
    edited = edit_randomly(X, 0, 40, 0)
    assert (edited != X).all(axis=0).tolist() == [False, True, False, True]
    assert_array_equal(edited[:, [0, 2]], X[:, [0, 2]])


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12).filter(lambda cells: len(set(cells)) > 1))
@examples(50)
def test_the_rows_with_another_value_are_equally_likely(cells):
    values = np.array(cells)
    for row, cell in enumerate(cells):
        others = [k for k, other in enumerate(cells) if other != cell]
        chance = (np.arange(len(others)) + 0.5) / len(others)
        rows = np.full(len(others), row)
        assert sorted(rows_with_another(values, rows, chance).tolist()) == others
        assert rows_with_another(values, rows[:1], np.array([np.nextafter(1, 0)]))[0] in others
