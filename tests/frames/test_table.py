import decimal
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from fairshap._frames import Table, make_frame, open_store
from fairshap.exceptions import CellTypeError, ColumnError, InputError
from tests.conftest import to_library, to_pandas


def dtypes(frame):
    return frame.dtypes.tolist() if isinstance(frame, pd.DataFrame) else frame.schema


def assert_same(frame, expected):
    """Compare cells: polars orders categories as it likes when it becomes pandas."""
    frame = to_pandas(frame).reset_index(drop=True)
    pd.testing.assert_frame_equal(frame.astype(object), expected.astype(object))


def everything(table):
    return np.arange(table.n_rows)


def test_every_library_reads_the_same_numbers_and_codes(people, library):
    expected, table = Table.read(people), Table.read(to_library(people, library))
    assert_array_equal(table.numeric_columns, [1, 2, 5])
    assert_array_equal(table.category_columns, [0, 3, 4])
    assert_array_equal(table.numbers, expected.numbers)
    assert_array_equal(table.codes, expected.codes)
    assert table.codes[:, 1].tolist() == [0, 1, -1, 0, 1, 2]
    assert table.names == tuple(people.columns)


def test_missing_values_are_equal_to_each_other_and_to_nothing_else(people, library):
    table = Table.read(to_library(people, library))
    differ = table.differ(np.array([2, 2, 0]), np.array([5, 0, 0]))
    assert differ[:, 1].tolist() == [False, True, False]
    assert differ[:, 3].tolist() == [True, True, False]
    assert not differ[2].any()


def test_fingerprints_agree_with_equality(people, library):
    table = Table.read(to_library(people, library))
    for salt in (0, 1):
        hashes = table.hashes(everything(table), salt)
        for i in range(table.n_rows):
            others = table.differ(np.full(table.n_rows, i), everything(table))
            assert_array_equal(hashes[i] != hashes, others)
    assert (table.hashes(everything(table), 0) != table.hashes(everything(table), 1)).all()


def test_mixing_keeps_types(people, library):
    frame = to_library(people, library)
    store = open_store(frame)
    rows = np.array([5, 0, 0, 3])
    mixed = store.mix([rows] * len(people.columns))
    assert type(mixed) is type(frame)
    assert_same(mixed, to_pandas(frame).iloc[rows].reset_index(drop=True))
    assert dtypes(mixed) == dtypes(frame)
    one = store.mix([rows[::-1], *([rows] * (len(people.columns) - 1))])
    assert to_pandas(one)["sex"].tolist() == ["f", "m", "m", "f"]


def test_assigning_changes_these_cells_and_no_type(people, library):
    frame = to_library(people, library)
    before = to_pandas(frame).copy()
    store = open_store(frame)
    cells = {
        1: (np.array([5, 0]), [31.0, None]),
        2: (np.array([1]), [7]),
        3: (np.array([2, 0]), ["z", None]),
        4: (np.array([0]), [False]),
        5: (np.array([2]), [pd.Timestamp("2020-01-01")]),
        0: (np.array([0]), ["f"]),
    }
    changed = store.assign(cells)
    assert type(changed) is type(frame)
    expected = before.copy()
    expected.loc[5, "age"], expected.loc[0, "age"] = 31.0, np.nan
    expected.loc[1, "children"] = 7
    expected.loc[2, "town"], expected.loc[0, "town"] = "z", None
    expected.loc[0, "member"] = False
    expected.loc[2, "joined"] = pd.Timestamp("2020-01-01")
    expected.loc[0, "sex"] = "f"
    assert_same(changed, expected)
    assert_same(frame, before)
    assert dtypes(changed) == dtypes(frame)


@pytest.mark.parametrize(
    "cells", [["x", "y", "z"], [date(2020, 1, day) for day in (1, 2, 3)], [1.5, 2.5, 3.5]]
)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_new_category_can_be_assigned_in_arrow(cells, ordered):
    kind = pa.dictionary(pa.int8(), pa.array(cells).type, ordered)
    first, second, third = cells
    # Two chunks, each with a dictionary of its own.
    chunks = [pa.array(part).dictionary_encode().cast(kind) for part in ([first, None], [second, first])]
    frame = pa.table({"town": pa.chunked_array(chunks)})
    changed = open_store(frame).assign({0: (np.array([3, 1, 0]), [second, third, None])})
    assert changed["town"].to_pylist() == [None, third, second, second]
    assert changed.schema == frame.schema


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, None, 3], dtype="Int64"),
        pd.array([1.5, None, 3], dtype="Float64"),
        pd.Categorical([1, None, 2]),
        pd.Categorical(["a", None, "b"], ordered=True),
        pd.array([True, None, False], dtype="boolean"),
        pd.array(["a", None, "b"], dtype="string"),
        pd.Series([1, None, "b"], dtype=object),
        pd.to_datetime(["2020-01-01", None, "2020-01-03"], utc=True),
        pd.to_timedelta([1, None, 3], unit="h"),
        pd.Series([decimal.Decimal("1.5"), None, decimal.Decimal(2)], dtype=object),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1.5, np.nan, 3], dtype=np.float32),
        pd.array([1, None, 3], dtype=pd.ArrowDtype(pa.int32())),
    ],
    ids=str,
)
def test_a_pandas_column_of_any_type_can_be_swapped(column):
    frame = pd.DataFrame({"c": column})
    table = Table.read(frame)
    assert table.differ(np.array([0, 1]), np.array([2, 1])).tolist() == [[True], [False]]
    values = table.store.values(0, np.array([2, 1]))
    changed = table.store.assign({0: (np.array([0, 2]), values)})
    pd.testing.assert_frame_equal(changed, frame.iloc[[2, 1, 1]].reset_index(drop=True))
    pd.testing.assert_frame_equal(
        table.store.mix([np.array([2, 0])]), frame.iloc[[2, 0]].reset_index(drop=True)
    )


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series(["a", None, "b"]),
        pl.Series([1, None, 3], dtype=pl.Int8),
        pl.Series([True, None, False]),
        pl.Series([decimal.Decimal("1.5"), None, decimal.Decimal(2)]),
    ],
    ids=lambda series: str(series.dtype),
)
@pytest.mark.parametrize("as_arrow", [False, True])
def test_a_polars_or_arrow_column_of_any_type_can_be_swapped(column, as_arrow):
    frame = pl.DataFrame({"c": column})
    native = frame.to_arrow() if as_arrow else frame
    table = Table.read(native)
    assert table.differ(np.array([0, 1]), np.array([2, 1])).tolist() == [[True], [False]]
    values = table.store.values(0, np.array([2, 1]))
    changed = table.store.assign({0: (np.array([0, 2]), values)})
    cells = changed["c"].to_pylist() if as_arrow else changed["c"].to_list()
    assert cells == [values[0], None, values[1]]
    assert changed.schema == native.schema


def test_columns_that_are_all_missing_are_no_trouble(library):
    frame = to_library(pd.DataFrame({"a": [1.0, 2.0], "b": [None, None]}), library)
    table = Table.read(frame)
    assert not table.differ(np.array([0]), np.array([1]))[0, 1]


def test_arrays_stay_arrays_of_their_type():
    array = np.array([[1, 2], [3, 4]], dtype=np.int16)
    store = open_store(array)
    changed = store.assign({1: (np.array([0]), [9])})
    assert changed.dtype == np.int16
    assert changed.tolist() == [[1, 9], [3, 4]]
    assert array.tolist() == [[1, 2], [3, 4]]
    assert store.mix([np.array([1, 1]), np.array([0, 1])]).tolist() == [[3, 2], [3, 4]]


def test_a_float_array_is_not_copied():
    array = np.zeros((3, 2))
    assert Table.read(array).numbers is array


def test_object_arrays_hold_numbers_and_categories():
    array = np.array([[1, "a", True, "1"], [2.5, None, False, "2"], [None, "b", True, "3"]], dtype=object)
    table = Table.read(array)
    assert_array_equal(table.numeric_columns, [0])
    assert_array_equal(table.category_columns, [1, 2, 3])
    assert_array_equal(table.numbers[:, 0], [1, 2.5, np.nan])
    assert table.codes[:, 0].tolist() == [0, -1, 1]


def test_lists_of_numbers_and_words_keep_both():
    table = Table.read([[1, "a"], [2, "b"]])
    assert table.native.tolist() == [[1, "a"], [2, "b"]]
    assert table.is_numeric(0)


@pytest.mark.parametrize(
    "make", [np.array, pd.DataFrame, lambda cells: pl.DataFrame({"a": [c[0] for c in cells]})]
)
def test_whole_numbers_beyond_floats_are_compared_as_they_are(make):
    table = Table.read(make([[2**53], [2**53 + 1], [2**53]]))
    assert table.differ(np.array([0, 0]), np.array([1, 2])).tolist() == [[True], [False]]


def test_a_frame_that_forbids_repeated_labels_is_no_trouble():
    frame = pd.DataFrame({"a": [1, 2]}).set_flags(allows_duplicate_labels=False)
    assert Table.read(frame).store.values(0, np.array([0, 0])) == [1, 1]


def test_long_stays_in_arrow_can_be_read():
    table = Table.read(pa.table({"d": pa.array([10**17, 1, None], type=pa.duration("ns"))}))
    assert_array_equal(table.numbers[:, 0], [1e17, 1, np.nan])


def test_positions_of_array_columns_may_count_from_the_end():
    table = Table.read(np.zeros((2, 3)))
    assert table.position(-1) == 2
    with pytest.raises(ColumnError, match="X has 3 columns, 0 to 2"):
        table.position(3)
    with pytest.raises(ColumnError, match="X is an array"):
        table.position("sex")


def test_a_column_that_is_not_there_is_named_with_a_hint(people):
    table = Table.read(people)
    with pytest.raises(ColumnError, match=r"'gender' is not a column of X\. X has 'sex', .* mean 'sex'\?"):
        table.position("gender", "sensitive")
    with pytest.raises(ColumnError, match="Did you mean 'children'"):
        table.position("childern")


def test_names_need_not_be_text():
    frame = pd.DataFrame({0: [1, 2], ("a", 1): ["x", "y"]})
    table = Table.read(frame)
    assert table.position(("a", 1)) == 1
    assert list(table.store.mix([np.array([0]), np.array([1])]).columns) == list(frame.columns)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ColumnError, "same name: 'a'"),
        (pd.DataFrame({"a": [1.0, np.inf]}), InputError, "infinite values .* column 'a', first in row 1"),
        (np.array([[-np.inf]]), InputError, "infinite"),
        (pd.DataFrame({"a": []}), InputError, r"0 sample\(s\)"),
        (pd.DataFrame(index=[0, 1]), InputError, r"0 feature\(s\)"),
        (np.zeros(3), InputError, "Reshape your data"),
        (np.zeros((2, 2), dtype=complex), InputError, "Complex data not supported"),
        (np.zeros((2, 2), dtype="datetime64[D]"), InputError, "type datetime64"),
        (scipy.sparse.eye(3, format="csr"), CellTypeError, "sparse"),
        (pl.LazyFrame({"a": [1]}), InputError, "collect"),
        (pd.Series([1, 2]), InputError, "to_frame"),
        (pd.DataFrame({"a": [{"b": 1}, {"b": 2}]}), CellTypeError, "must be a string or a number"),
        (pl.DataFrame({"a": [[1], [2]]}), InputError, r"type List\(Int64\)"),
        (pa.record_batch({"a": [1]}), InputError, "record batch"),
        (np.ma.masked_array([[1.0]], mask=[[True]]), InputError, "masked array"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(X, error, message):
    with pytest.raises(error, match=message):
        Table.read(X)


def test_result_frames_keep_cell_types_where_they_can(library):
    frame = make_frame(library, {"n": [1, 2], "v": [1, "x"]}, objects=["v"])
    values = to_pandas(frame)["v"].tolist()
    assert values == ([1, "x"] if library == "pandas" else ["1", "x"])


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (np.array([[1], [2]]), np.array([[1.9], [2.9]])),
        (np.array([["a"], ["b"]]), np.array([["longer"], ["words"]])),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1.9, 2.9]})),
        (pd.DataFrame({"a": [True, False]}), pd.DataFrame({"a": ["x", "y"]})),
        (pa.table({"a": [1, 2]}), pa.table({"a": [1.9, 2.9]})),
    ],
)
def test_no_cell_changes_when_rows_of_another_type_are_put_below(above, below):
    both = Table.read(above).above(below)
    read = both.store.values(0, np.array([0, 2, 3]))
    first = Table.read(above).store.values(0, np.array([0]))
    assert read == first + Table.read(below).store.values(0, np.arange(2))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (pd.DataFrame({"a": pd.Categorical(["x", "y"])}), pd.DataFrame({"a": ["z", "x"]})),
        (pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1.9, 2.9]})),
        (
            pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Enum(["x", "y"]))}),
            pl.DataFrame({"a": ["z", "x"]}),
        ),
    ],
)
def test_cells_that_would_be_lost_are_refused(above, below):
    with pytest.raises(InputError, match="column 'a' holds"):
        Table.read(above).above(below)


def test_categories_in_another_order_are_the_same_categories():
    above = pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["x", "y"])})
    below = pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["y", "x"])})
    both = Table.read(above).above(below)
    assert both.native["a"].dtype == above["a"].dtype
    assert both.column(0).tolist() == [0, 1, 0, 1]


def test_columns_are_chosen_and_new_ones_put_between(library, people):
    X = to_library(people, library)
    new = np.arange(6) / 2
    out = open_store(X).compose([3, ("half", new), 0])
    assert type(out) is type(X)
    assert list(to_pandas(out).columns) == ["town", "half", "sex"]
    assert to_pandas(out)["half"].tolist() == new.tolist()
    assert to_pandas(out)["town"].dtype == to_pandas(X)["town"].dtype
    assert to_pandas(open_store(X).compose([5, 2])).equals(to_pandas(X)[["joined", "children"]])


def test_an_array_is_composed_too():
    X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)
    chosen = open_store(X).compose([2, 0])
    assert chosen.dtype == np.float32
    assert chosen.tolist() == [[3, 1], [6, 4]]
    assert open_store(X).compose([1, ("new", np.array([0.5, 0.25]))]).tolist() == [[2, 0.5], [5, 0.25]]


def test_composing_keeps_the_index_and_names_of_any_kind():
    X = pd.DataFrame([[1, "x"], [2, "y"]], columns=[7, ("a", "b")], index=["same", "same"])
    out = open_store(X).compose([1, ("new", np.array([0.5, 0.25]))])
    assert list(out.columns) == [("a", "b"), "new"]
    assert out.index.tolist() == ["same", "same"]
    assert out["new"].tolist() == [0.5, 0.25]


def test_mixed_rows_can_have_the_index_labels_of_rows():
    X = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=["p", "q"])
    rows = np.array([1, 0, 1])
    mixed = open_store(X).mix([rows, 1 - rows], rows)
    assert mixed.index.tolist() == ["q", "p", "q"]
    assert mixed["a"].tolist() == [2, 1, 2]
    assert mixed["b"].tolist() == ["x", "y", "x"]
    assert open_store(X).mix([rows, rows]).index.tolist() == [0, 1, 2]
