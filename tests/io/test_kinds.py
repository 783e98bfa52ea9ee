import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshap import _io
from fairshap._io.cells import MISSING, Style, _are_quantities, read_cells
from fairshap.exceptions import ColumnError, FileFormatError, InputError


def infer(*cells: str, asked=None, missing=MISSING):
    column = pa.chunked_array([[cell] for cell in cells], pa.string())
    return read_cells(column, "c", asked, missing, lambda row: f"row {row}")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1", "2", "-3"], [1, 2, -3]),
        (["1", " 2 ", "+3"], [1, 2, 3]),
        (["0", "0.5", "-0.25", "1e3"], [0, 0.5, -0.25, 1000]),
        ([".5", "5."], [0.5, 5]),
        (["0", "1"], [0, 1]),
    ],
)
def test_numbers_are_numeric(cells, values):
    series, inferred = infer(*cells)
    assert inferred.kind == "numeric"
    assert series.tolist() == values


@pytest.mark.parametrize("cells", [["007", "12"], ["1", "00"], ["-01", "2"], ["0.5", "00.5"], ["", "02139"]])
def test_numbers_with_leading_zeros_are_codes(cells):
    series, inferred = infer(*cells)
    assert inferred.kind == "category"
    assert [cell for cell in series if isinstance(cell, str)] == [cell for cell in cells if cell]


@pytest.mark.parametrize(
    "cells", [["9007199254740993", "1"], ["92233720368547758070", "1"], ["-9999999999999999"]]
)
def test_whole_numbers_that_floats_cannot_tell_apart_are_identifiers(cells):
    series, inferred = infer(*cells)
    assert inferred.kind == "category"
    assert series.tolist() == cells


def test_large_numbers_with_an_exponent_or_a_point_are_quantities():
    assert infer("1e20", "3.5")[0].tolist() == [1e20, 3.5]


@pytest.mark.parametrize("cells", [["1", "x"], ["True", "False"], ["0x1A", "1"], ["1_000", "2"]])
def test_everything_else_is_a_category_with_its_text(cells):
    series, inferred = infer(*cells)
    assert inferred.kind == "category"
    assert series.tolist() == cells
    assert series.cat.categories.tolist() == sorted(cells)


@pytest.mark.parametrize("text", sorted(MISSING))
@pytest.mark.parametrize("others", [["1.5", "2.5"], ["a", "b"], ["01"]])
def test_the_usual_texts_and_nothing_are_missing(text, others):
    series, _ = infer(text, f" {text} ", *others)
    assert series.isna().tolist() == [True, True, *[False] * len(others)]
    assert [str(value) for value in series.dropna()] == others


def test_a_text_that_is_said_to_be_missing_is():
    series, inferred = infer("?", "4", missing=MISSING | {"?"})
    assert inferred.kind == "numeric"
    assert np.isnan(series[0])


def test_what_is_asked_for_overrides_what_is_inferred():
    assert infer("1", "2", asked="category")[0].tolist() == ["1", "2"]
    series, inferred = infer("007", "", "12", asked="numeric")
    assert (inferred.kind, series.dropna().tolist()) == ("numeric", [7, 12])
    assert infer("007", "12", asked="numeric")[0].tolist() == [7, 12]
    with pytest.raises(FileFormatError, match=r"'c' is to be numeric, but 2 of .* the first is 'x' in row 1"):
        infer("1", "x", "2", "x", asked="numeric")


@given(st.lists(st.text(st.sampled_from("+-01.9e"), max_size=4), min_size=1))
def test_leading_zeros_are_found_in_any_text(texts):
    def has_one(text: str) -> bool:
        unsigned = text[1:] if text[:1] in ("+", "-") else text
        return len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()

    for text in texts:
        assert _are_quantities(pa.array([text]), np.ones(1)) is not has_one(text)


def test_the_source_says_what_it_inferred(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,zip,sex,id\n31,02139,f,1\n,94110,m,2\n")
    source = _io.read(path, categorical=["id"], drop=["sex"])
    assert source.document.names == ("age", "zip", "sex", "id")
    assert source.frame.columns.tolist() == ["age", "zip", "id"]
    assert source.frame["age"].dtype == np.float64
    assert isinstance(source.frame["id"].dtype, pd.CategoricalDtype)
    kinds = {name: inferred.kind for name, inferred in source.inferred.items()}
    assert kinds == {"age": "numeric", "zip": "category", "id": "category"}
    assert source.find("zip") == "zip"
    with pytest.raises(ColumnError, match=r"label='sex' .* left out by drop"):
        source.find("sex", "label")
    with pytest.raises(ColumnError, match=r"label='Age' is not a column .* Did you mean 'age'\?"):
        source.find("Age", "label")


def test_a_column_cannot_be_asked_to_be_both_or_be_another(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n1,f\n2,m\n")
    with pytest.raises(InputError, match="'age' cannot be both"):
        _io.read(path, categorical=["age"], numeric=["age"])
    for what in ("categorical", "numeric", "drop"):
        with pytest.raises(ColumnError, match=rf"{what}='gender' is not a column .* Did you mean 'sex'\?"):
            _io.read(path, **{what: ["gender"]})
    with pytest.raises(InputError, match="leaves no column"):
        _io.read(path, drop=["age", "sex"])


@pytest.mark.parametrize("word", ["unknown", "V57"])
@pytest.mark.parametrize("style", [None, Style(",")])
@pytest.mark.parametrize(
    "codes",
    [
        [*(f"9{k:04d}" for k in range(90)), *(f"02{k:03d}" for k in range(9))],
        [str(10**16 + k) for k in range(90)],
    ],
)
def test_codes_and_identifiers_stay_texts_beside_a_word_and_with_a_decimal_comma(codes, style, word):
    for cells in (codes, [*codes, word]):
        column = pa.chunked_array([cells], pa.string())
        series, inferred = read_cells(column, "c", None, MISSING, str, style)
        assert inferred.kind == "category"
        assert series.tolist() == cells


def test_texts_that_may_be_codes_are_not_missing_numbers():
    cells = [*(str(k) for k in range(250, 340)), "V57", "E909", "V58"]
    series, inferred = infer(*cells)
    assert series.tolist() == cells
    (note,) = inferred.notes
    assert note == (
        "check",
        "all are text, as these are no numbers or dates: 'V57', 'E909', 'V58'; if missing, give --missing",
    )
    series, inferred = infer(*cells, missing=MISSING | {"V57", "E909", "V58"})
    assert (inferred.kind, series.isna().sum()) == ("numeric", 3)
    # Words for a missing value and signs are none.
    series, inferred = infer(*cells[:90], "Unknown", "n.a.", "?", "--", "not applicable", "k. A.", "N.A.")
    assert (inferred.kind, series.isna().sum()) == ("numeric", 7)
