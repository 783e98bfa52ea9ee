import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fairshap import Edits, FairSHAP, match
from fairshap._frames import Table
from fairshap.exceptions import InputError
from fairshap.mitigation import RandomEditor, ReferenceEditor
from fairshap.mitigation._editors import _rows_with_another
from tests.conftest import examples, to_library, to_pandas
from tests.mitigation.conftest import EDITORS, WHO, D, make


@pytest.mark.parametrize("kind", EDITORS)
@pytest.mark.parametrize("n_edits", [0, 1, 57])
def test_so_many_cells_change_and_the_ledger_says_which(kind, n_edits):
    editor = make(kind, n_edits=n_edits)
    X, y = editor.fit_resample(D.X, D.y)
    changed = np.argwhere((X != D.X).to_numpy())
    assert len(changed) == len(editor.edits_) == n_edits
    assert_array_equal(changed[:, 0], editor.edits_.row)
    assert [D.X.columns[j] for j in changed[:, 1]] == editor.edits_.column
    assert (X["group"] == D.X["group"]).all()
    pd.testing.assert_series_equal(y, D.y)
    assert y is not D.y
    for row, column, reference in zip(
        editor.edits_.row, editor.edits_.column, editor.edits_.reference, strict=True
    ):
        assert X[column].iloc[row] == D.X[column].iloc[reference]


def test_the_second_ablation_takes_the_values_of_the_references():
    editor = make(ReferenceEditor, n_edits=40).fit(D.X, D.y)
    plan = match(D.X, D.y, **WHO)
    assert_array_equal(editor.matches_.best, plan.best)
    assert_array_equal(editor.edits_.reference, plan.best[editor.edits_.row])


def test_fairshap_s_number_of_edits_always_fits():
    fairshap = FairSHAP(**WHO, threshold=1e-6, random_state=0).fit(D.X, D.y)
    for kind in EDITORS:
        editor = make(kind, n_edits=len(fairshap.edits_)).fit(D.X, D.y)
        assert len(editor.edits_) == len(fairshap.edits_)


def test_all_cells_that_differ_from_the_reference_can_be_drawn():
    plan = match(D.X, D.y, **WHO)
    matched = D.X.iloc[plan.best].reset_index(drop=True)
    differ = (matched != D.X).drop(columns="group").to_numpy()
    X, _ = make(ReferenceEditor, n_edits=int(differ.sum())).fit_resample(D.X, D.y)
    pd.testing.assert_frame_equal(X, matched.assign(group=D.X["group"]))
    with pytest.raises(
        InputError, match=rf"n_edits={differ.sum() + 1} is more than the {differ.sum()} cells"
    ):
        make(ReferenceEditor, n_edits=int(differ.sum()) + 1).fit(D.X, D.y)


def test_all_cells_of_columns_with_several_values_can_be_drawn():
    X = D.X.assign(same=1)
    edited, _ = make(RandomEditor, n_edits=1200).fit_resample(X, D.y)
    changed = edited != X
    assert changed.drop(columns=["group", "same"]).all(axis=None)
    assert not changed[["group", "same"]].any(axis=None)
    with pytest.raises(InputError, match="n_edits=1201 is more than the 1200 cells"):
        make(RandomEditor, n_edits=1201).fit(X, D.y)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12).filter(lambda cells: len(set(cells)) > 1))
@examples(50)
def test_the_rows_with_another_value_are_equally_likely(cells):
    table = Table.read(pd.DataFrame({"x": cells}))
    for row, cell in enumerate(cells):
        others = [k for k, other in enumerate(cells) if other != cell]
        chance = (np.arange(len(others)) + 0.5) / len(others)
        rows = np.full(len(others), row)
        assert sorted(_rows_with_another(table, 0, rows, chance).tolist()) == others
        assert _rows_with_another(table, 0, rows[:1], np.array([np.nextafter(1, 0)]))[0] in others


@pytest.mark.parametrize("kind", EDITORS)
def test_every_library_and_any_threads_give_the_same_edits(kind, library):
    X = to_library(D.X, library)
    edited, _ = make(kind).fit_resample(X, D.y.to_numpy())
    expected, _ = make(kind).fit_resample(D.X, D.y)
    assert type(edited) is type(X)
    if library != "pandas":
        assert edited.schema == X.schema
    assert to_pandas(edited).equals(to_pandas(to_library(expected, library)))


@pytest.mark.parametrize("kind", EDITORS)
def test_seeds_decide(kind):
    rows = [make(kind, random_state=seed).fit(D.X, D.y).edits_.row.tolist() for seed in (0, 0, 1)]
    assert rows[0] == rows[1] != rows[2]
    generator = np.random.RandomState(0)
    editor = make(kind, random_state=generator)
    assert editor.fit(D.X, D.y).edits_.row.tolist() != editor.fit(D.X, D.y).edits_.row.tolist()


@pytest.mark.parametrize("kind", EDITORS)
def test_types_index_and_missing_values_stay(kind, people):
    X = pd.concat([people] * 4).set_index(pd.Index(range(100, 124)))
    y = np.arange(24) % 4 // 2
    before = X.copy()
    edited, _ = kind(sensitive="sex", privileged="m", n_edits=30, random_state=0).fit_resample(X, y)
    assert edited.dtypes.equals(X.dtypes)
    assert edited.index.equals(X.index)
    pd.testing.assert_frame_equal(X, before)
    assert ((edited != X) & ~(edited.isna() & X.isna())).sum().sum() == 30


@pytest.mark.parametrize("kind", EDITORS)
def test_an_attribute_beside_the_table(kind):
    X = D.X.drop(columns="group")
    edited, _ = kind(privileged="a", n_edits=20, random_state=0).fit_resample(
        X, D.y, sensitive_features=D.X["group"]
    )
    assert (edited != X).sum().sum() == 20


def test_the_ledger_can_be_written_and_read(tmp_path):
    editor = make(RandomEditor)
    X, _ = editor.fit_resample(D.X, D.y)
    editor.edits_.write(tmp_path / "edits.csv")
    read = Edits.read(tmp_path / "edits.csv")
    assert np.isnan(read.phi).all()
    pd.testing.assert_frame_equal(read.apply(D.X), X)


@pytest.mark.parametrize("kind", EDITORS)
@pytest.mark.parametrize("n_edits", [None, -1, 2.0, True])
def test_another_number_of_edits_is_refused(kind, n_edits):
    with pytest.raises(InputError, match="is not a number of edits; give a whole number, for example"):
        make(kind, n_edits=n_edits).fit(D.X, D.y)
