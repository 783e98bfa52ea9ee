import dataclasses
import datetime as dt
import decimal
import os

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fairshap import Edits, Explainer, MatchPlan, explain, select_edits
from fairshap._frames import Table
from fairshap.edits._ledger import Checksums, from_text, to_text
from fairshap.exceptions import FileError, InputError, LedgerError
from tests.conftest import to_library, to_pandas

SWAP = np.array([1, 0, 3, 2, 5, 4])


class Constant:
    """A model that says the same of everyone."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def edits_of(X, phi, R, feature_groups=None, **options):
    """Return the edits of made-up Shapley values."""
    side = 7 + np.arange(len(phi)) % 2
    explainer = Explainer(feature_groups=feature_groups)
    explained = explain(Constant(), X, R, sensitive_features=side, privileged=8, explainer=explainer)
    return select_edits(dataclasses.replace(explained, values=np.asarray(phi, dtype=float)), **options)


def plan_of(best):
    rows = np.arange(len(best))
    return MatchPlan(len(best), rows, np.asarray(best), np.ones(len(best)), np.zeros(len(best)))


@pytest.fixture
def phi(people):
    values = np.zeros(people.shape)
    values[0, 1] = values[2, 3] = values[2, 5] = values[4, 2] = values[4, 1] = values[5, 4] = 0.05
    values[1, 1] = 0.0499
    values[3, 1] = np.nan
    return values


def test_values_of_at_least_the_threshold_are_replaced_by_the_reference_s(people, phi, library):
    X = to_library(people, library)
    edits = edits_of(X, phi, plan_of(SWAP))
    repaired = to_pandas(edits.apply(X))
    expected = to_pandas(X).copy()
    expected.loc[0, "age"] = 31.0
    expected.loc[2, "town"], expected.loc[2, "joined"] = "x", pd.Timestamp("2021-01-01")
    expected.loc[4, "children"], expected.loc[4, "age"] = 3, np.nan
    pd.testing.assert_frame_equal(repaired.astype(object), expected.astype(object))
    assert edits.row.tolist() == [0, 2, 2, 4, 4]  # row 5: member is False in both, so no edit
    assert edits.reference.tolist() == [1, 3, 3, 5, 5]
    frame = edits.frame()
    assert type(frame) is type(X)
    frame = to_pandas(frame)
    assert list(frame.columns) == ["row", "index", "column", "old", "new", "phi", "reference"]
    assert frame["column"].tolist() == ["age", "town", "joined", "age", "children"]
    if library == "pandas":
        assert frame["new"].tolist()[:3] == [31.0, "x", pd.Timestamp("2021-01-01")]
        assert type(frame["new"][4]) is int
    else:
        assert frame["new"].tolist()[:3] == ["31.0", "x", "2021-01-01 00:00:00"]
        assert frame["new"][4] == "3"
    assert frame["new"].isna().tolist() == [False, False, False, True, False]


def test_references_as_rows_give_the_edits_of_the_plan(people, phi, library):
    X = to_library(people, library)
    R = to_library(people.iloc[SWAP].reset_index(drop=True), library)
    by_rows = edits_of(X, phi, R)
    by_plan = edits_of(X, phi, plan_of(SWAP))
    assert to_pandas(by_rows.apply(X)).equals(to_pandas(by_plan.apply(X)))
    assert by_rows.reference.tolist() == by_rows.row.tolist()  # the row of R


def test_a_player_of_several_columns_is_edited_whole_where_it_differs():
    X = np.array([[0, 1.0, 0.0, 0.0], [1, 0.0, 1.0, 0.0]])
    edits = edits_of(X, [[0, 0.3], [0, 0.0]], plan_of([1, 0]), feature_groups={"town": [1, 2, 3]})
    assert edits.column == [1, 2]
    assert edits.phi.tolist() == [0.3, 0.3]
    assert edits.apply(X).tolist() == [[0, 0, 1, 0], [1, 0, 1, 0]]


def test_a_repeated_index_is_no_trouble(people, phi):
    people.index = ["a"] * 6
    edits = edits_of(people, phi, plan_of(SWAP))
    assert edits.index == ["a"] * 5
    repaired = edits.apply(people)
    assert repaired.index.tolist() == ["a"] * 6
    assert repaired["age"].tolist()[:2] == [31.0, 31.0]
    assert (repaired["children"].to_numpy() == [0, 1, 2, 0, 3, 3]).all()


def test_the_table_is_not_changed(people, phi, library):
    X = to_library(people, library)
    before = to_pandas(X).copy(deep=True)
    edits = edits_of(X, phi, plan_of(SWAP))
    edits.apply(X)
    pd.testing.assert_frame_equal(to_pandas(X), before)


def test_a_written_ledger_is_read_back_and_applied_with_the_same_result(people, phi, library, tmp_path):
    X = to_library(people, library)
    edits = edits_of(X, phi, plan_of(SWAP))
    edits.write(tmp_path / "edits.csv")
    again = Edits.read(tmp_path / "edits.csv")
    for name in ("row", "phi", "reference"):
        assert_array_equal(getattr(again, name), getattr(edits, name))
    assert again.column == edits.column
    assert again.index == edits.index
    for read, written in zip(again.new, edits.new, strict=True):
        assert read == written or (pd.isna(read) and pd.isna(written))
    assert to_pandas(again.apply(X)).equals(to_pandas(edits.apply(X)))


def test_an_empty_ledger_is_a_ledger(people, tmp_path):
    edits = edits_of(people, np.zeros(people.shape), plan_of(SWAP))
    assert len(edits) == 0
    assert len(edits.frame()) == 0
    edits.write(tmp_path / "edits.csv")
    again = Edits.read(tmp_path / "edits.csv")
    assert len(again) == 0
    pd.testing.assert_frame_equal(again.apply(people), people)
    assert again.apply(people) is not people


CELLS = st.one_of(
    st.text(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.times(),
    st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)).map(pd.Timestamp),
    st.timedeltas(dt.timedelta(-1000), dt.timedelta(1000)).map(pd.Timedelta),
    st.none(),
    st.tuples(st.integers(), st.integers(1, 9)).map(lambda ends: pd.Interval(ends[0], sum(ends), "left")),
)


@given(st.one_of(CELLS, st.tuples(CELLS, CELLS)))
def test_a_cell_written_as_text_comes_back_as_it_was(cell):
    back = from_text(*to_text(cell))
    assert back == cell
    assert type(back) is type(cell)


@pytest.mark.parametrize(
    ("cell", "back"),
    [
        (np.int64(3), 3),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.str_("x"), "x"),
        (pd.NaT, None),
        (np.datetime64(1, "ns"), pd.Timestamp(1)),
        (np.timedelta64(1, "ns"), pd.Timedelta(1)),
    ],
)
def test_numpy_and_missing_cells_become_plain_ones(cell, back):
    assert from_text(*to_text(cell)) == back


def test_what_a_ledger_cannot_hold_is_refused():
    with pytest.raises(LedgerError, match="a cell of type list"):
        to_text([1])
    with pytest.raises(LedgerError, match="'x' is not a value of type 'int'"):
        from_text("int", "x")
    with pytest.raises(LedgerError, match="of type 'colour'"):
        from_text("colour", "red")


def test_odd_text_survives_the_file(tmp_path):
    texts = ['comma, "quote"', "new\nline", "007", "", " space ", "ünïcode", "None", "nan"]
    X = pd.DataFrame({"t": texts})
    n = len(texts)
    edits = edits_of(X, np.ones((n, 1)), plan_of((np.arange(n) + 1) % n))
    edits.write(tmp_path / "edits.csv")
    assert Edits.read(tmp_path / "edits.csv").apply(X)["t"].tolist() == [*texts[1:], texts[0]]


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float32", "category", "boolean", "bool", "string"])
def test_types_survive_the_file(dtype, tmp_path):
    X = pd.DataFrame({"c": pd.Series([0, 1, 0, 1], dtype="int64").astype(dtype)})
    edits = edits_of(X, np.ones((4, 1)), plan_of([1, 0, 3, 2]))
    edits.write(tmp_path / "edits.csv")
    repaired = Edits.read(tmp_path / "edits.csv").apply(X)
    pd.testing.assert_frame_equal(repaired, X.iloc[[1, 0, 3, 2]].reset_index(drop=True))


def test_decimal_and_date_columns_survive_the_file(tmp_path):
    X = pl.DataFrame(
        {
            "m": [decimal.Decimal("1.50"), decimal.Decimal("2.25")],
            "d": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
        }
    )
    edits = edits_of(X, np.ones((2, 2)), plan_of([1, 0]))
    edits.write(tmp_path / "edits.csv")
    assert Edits.read(tmp_path / "edits.csv").apply(X).equals(X[::-1])


def test_a_ledger_is_not_applied_to_another_table(people, phi):
    edits = edits_of(people, phi, plan_of(SWAP))
    other = people.copy()
    other.loc[2, "town"] = "y"
    with pytest.raises(LedgerError, match=r"row 2, column 'town' holds 'y'; the ledger expects"):
        edits.apply(other)
    with pytest.raises(LedgerError, match="edits row 4, X has 3 rows"):
        edits.apply(people.head(3))
    with pytest.raises(LedgerError, match="edits row -1, X has 6 rows"):
        dataclasses.replace(edits, row=edits.row * 0 - 1).apply(people)
    with pytest.raises(LedgerError, match="column that is not there: column='age'"):
        edits.apply(people.drop(columns="age"))
    with pytest.raises(LedgerError, match=r"holds 31\.0; the ledger expects 30\.0"):
        edits.apply(edits.apply(people))


def test_a_ledger_knows_its_rows_by_their_labels(people, phi):
    named = people.set_index(pd.Index(list("abcdef")))
    edits = edits_of(named, phi, plan_of(SWAP))
    with pytest.raises(LedgerError, match="row 0 has the index label 'b'; in the ledger it has 'a'"):
        edits.apply(named.iloc[[1, 0, 2, 3, 4, 5]])
    assert edits.apply(people).equals(edits.apply(named).reset_index(drop=True))


def test_a_ledger_made_in_pandas_fits_the_same_table_elsewhere(library):
    X = pd.DataFrame({"t": ["x", None, "y", "x"], "n": [1.0, 2.0, np.nan, 4.0]})
    edits = edits_of(X, np.ones((4, 2)), plan_of([1, 0, 3, 2]))
    elsewhere = to_pandas(edits.apply(to_library(X, library)))
    assert elsewhere["t"].isna().tolist() == [True, False, False, False]
    assert elsewhere["t"].tolist()[1:] == ["x", "x", "y"]
    assert elsewhere["n"].isna().tolist() == [False, False, False, True]


def test_a_folder_that_is_not_there_is_named(people, phi, tmp_path):
    edits = edits_of(people, phi, plan_of(SWAP))
    with pytest.raises(FileError, match=r"there is no folder .*nowhere"):
        edits.write(tmp_path / "nowhere" / "edits.csv")


def test_what_is_no_ledger_is_refused(tmp_path):
    path = tmp_path / "edits.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(LedgerError, match="is not a ledger of fairshap"):
        Edits.read(path)
    path.write_text(
        "row,index,column,old,new,phi,reference,index_type,column_type,old_type,new_type\nx,0,c,1,2,0.1,1,int,str,int,int\n"
    )
    with pytest.raises(LedgerError, match="is damaged"):
        Edits.read(path)


def test_a_file_is_written_whole_or_not_at_all(people, phi, tmp_path):
    edits = edits_of(people, phi, plan_of(SWAP))
    edits.new[-1] = object()
    path = tmp_path / "edits.csv"
    path.write_text("the old file")

    with pytest.raises(LedgerError, match="a cell of type object"):
        edits.write(path)
    assert path.read_text() == "the old file"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("threshold", [0, -0.1, "0.05", True, float("nan")])
def test_a_threshold_must_be_a_positive_number(people, phi, threshold):
    with pytest.raises(InputError, match=r"threshold=.* must be a number above 0"):
        edits_of(people, phi, plan_of(SWAP), threshold=threshold)


def test_references_of_another_table_are_refused(people, phi):
    with pytest.raises(InputError, match="X has 6 rows, R has 3"):
        edits_of(people, phi, people.head(3))
    with pytest.raises(InputError, match="columns of X in the same order"):
        edits_of(people, phi, people.drop(columns="age"))
    with pytest.raises(InputError, match="is one for 3 rows, X has 6"):
        edits_of(people, phi, plan_of([1, 0, 2]))


def test_a_ledger_is_written_through_a_link_and_with_the_user_s_permissions(people, phi, tmp_path):
    edits = edits_of(people, phi, plan_of(SWAP))
    (tmp_path / "link.csv").symlink_to(tmp_path / "edits.csv")
    old = os.umask(0o027)
    try:
        edits.write(tmp_path / "link.csv")
    finally:
        os.umask(old)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "edits.csv").stat().st_mode & 0o777 == 0o640


def test_a_missing_number_comes_back_as_one(tmp_path):
    X = np.array([[1.5], [np.nan]])
    edits = edits_of(X, [[1.0], [1.0]], plan_of([1, 0]))
    edits.write(tmp_path / "edits.csv")
    assert_array_equal(Edits.read(tmp_path / "edits.csv").apply(X), X[::-1])


@pytest.mark.parametrize(
    ("X", "new"),
    [
        (pd.DataFrame({"a": pd.Categorical(["x", "z"])}), "y"),
        (pd.DataFrame({"a": [1, 2]}), 2.5),
        (np.array([["x"], ["z"]]), "yyyy"),
        (np.array([[1], [2]]), 2.5),
        (pl.DataFrame({"a": [1, 2]}), "y"),
    ],
)
def test_a_value_that_the_table_cannot_hold_is_refused(X, new):
    old = Table.read(X).store.values(0, np.array([0]))
    name = Table.read(X).names[0]
    edits = Edits(np.array([0]), [0], [name], old, [new], np.array([0.1]), np.array([1]))
    with pytest.raises(LedgerError, match="cannot hold"):
        edits.apply(X)


@pytest.mark.parametrize("dtype", [pl.Datetime("ns"), pl.Duration("ns"), pl.Datetime("us", "Europe/Paris")])
def test_nanoseconds_are_not_lost(dtype, tmp_path):
    X = pl.DataFrame({"t": pl.Series([1_600_000_000_123_456, 900_000_000_987_654]).cast(dtype)})
    edits = edits_of(X, [[1.0], [1.0]], plan_of([1, 0]))
    assert edits.apply(X).equals(X[::-1])
    edits.write(tmp_path / "edits.csv")
    assert Edits.read(tmp_path / "edits.csv").apply(X).equals(X[::-1])


def test_long_and_odd_text_and_foreign_files(tmp_path):
    texts = ["x" * 200_000, "lone \ud800 surrogate"]
    X = pd.DataFrame({"t": pd.Series(texts, dtype=object)})
    edits = edits_of(X, [[1.0], [1.0]], plan_of([1, 0]))
    path = tmp_path / "edits.csv"
    edits.write(path)
    assert Edits.read(path).new == texts[::-1]
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert Edits.read(path).new == texts[::-1]
    path.write_bytes("row,ü".encode("latin-1"))
    with pytest.raises(LedgerError, match="is not a ledger of fairshap"):
        Edits.read(path)


def test_a_ledger_says_how_much_it_holds(people, phi):
    edits = edits_of(people, phi, plan_of(SWAP))
    assert repr(edits) == "Edits(5 cells in 3 rows and 4 columns)"


CHECKSUMS = {"original": "a" * 64, "repaired": "b" * 64}


def test_a_ledger_knows_the_files_that_it_belongs_to(people, phi, tmp_path):
    edits = edits_of(people, phi, plan_of(SWAP))
    path = tmp_path / "edits.csv"
    edits.write(path, **CHECKSUMS)
    assert Checksums.read(path) == Checksums(**CHECKSUMS, n_edits=5)
    pd.testing.assert_frame_equal(Edits.read(path).apply(people), edits.apply(people))
    # The checksums are two more columns, on one line; all else is as without.
    frame = pd.read_csv(path)
    assert frame.iloc[0, -2:].tolist() == list(CHECKSUMS.values())
    assert frame.iloc[1:, -2:].isna().all(axis=None)
    edits.write(tmp_path / "plain.csv")
    assert Checksums.read(tmp_path / "plain.csv") == Checksums("", "", 5)
    pd.testing.assert_frame_equal(frame.iloc[:, :-2], pd.read_csv(tmp_path / "plain.csv"))
    # Sorted by somebody, and with the mark that spreadsheets put before text.
    frame[::-1].to_csv(path, index=False, encoding="utf-8-sig")
    assert Checksums.read(path) == Checksums(**CHECKSUMS, n_edits=5)
    # One of them may be unknown.
    edits.write(path, original=CHECKSUMS["original"])
    assert Checksums.read(path) == Checksums(CHECKSUMS["original"], "", 5)


def test_a_checksum_is_one(people, phi, tmp_path):
    edits = edits_of(people, phi, plan_of(SWAP))
    with pytest.raises(InputError, match=r"repaired='fair\.csv' is not a SHA-256"):
        edits.write(tmp_path / "edits.csv", repaired="fair.csv")
    assert list(tmp_path.iterdir()) == []
