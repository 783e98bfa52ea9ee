"""Files as people have them: currency, commas, dates, blanks, titles, sheets and encodings."""

import io
from dataclasses import replace
from datetime import datetime
from zipfile import ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshap import _io
from fairshap._io.cells import Style, read_dates, read_numbers
from fairshap._io.document import count_footers, find_header
from fairshap._io.frames import frame_to_bytes
from fairshap.exceptions import FileFormatError, InputError
from tests.conftest import examples
from tests.io.conftest import edits_of
from tests.io.test_kinds import infer


def numbers(*texts: str, style=None, expected=""):
    return read_numbers(pa.array(texts), style or Style(), expected)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["€37,200", "€1,250,000", "€950"], [37200, 1250000, 950]),
        (["37.200 €", "1.250,50 €"], [37200, 1250.5]),
        (["52.9%", "7 %"], [52.9, 7]),
        (["1,5", "2"], [1.5, 2]),
        (["1 234,5", "999"], [1234.5, 999]),
        (["1\u202f234", "5"], [1234, 5]),
        (["1'234.50", "2'000"], [1234.5, 2000]),
        (["(1,234.50)", "10.00"], [-1234.5, 10]),
        (["-$5.25", "$ 3", "US$1,000"], None),
        (["\u22125", "-£3.5"], [-5, -3.5]),
        (["CHF 1'200", "CHF 80"], [1200, 80]),
        (["12 zł", "3,50 zł"], [12, 3.5]),
        (["12,34,567", "1,000"], [1234567, 1000]),
        (["EUR 1,000", "-EUR 5", "7 EUR"], [1000, -5, 7]),
        (["€1,000", "1e-05", "2.5E+3"], [1000, 1e-5, 2500]),
    ],
)
def test_numbers_are_read_in_whatever_form_they_are_typed(cells, values):
    if values is None:
        with pytest.raises(FileFormatError, match=r"several currencies .*, such as .* leave the column out"):
            infer(*cells)
        return
    series, inferred = infer(*cells)
    assert inferred.kind == "numeric"
    assert series.tolist() == values
    assert inferred.notes[0].topic == "numbers"


FORMS = st.sampled_from([(".", ","), (".", " "), (".", "'"), (",", "."), (",", " ")])


@examples(60)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8), st.integers(0, 4), FORMS, st.data())
def test_what_a_style_writes_it_reads(units, places, form, data):
    decimal, thousands = form
    values = [unit / 10**places for unit in units]
    texts = []
    for value in values:
        written = f"{value:,.{places}f}" if data.draw(st.booleans()) else f"{value:.{places}f}"
        texts.append(written.translate(str.maketrans({",": thousands, ".": decimal})))
    assert numbers(*texts, style=Style(decimal, thousands)).values.tolist() == [
        float(f"{value:.{places}f}") for value in values
    ]


def test_thousands_and_decimals_that_look_alike_are_told_apart_by_other_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("pay;bonus;rate\n37.200;1,5;1,250\n41.000;2,25;3,500\n")
    frame = _io.read(path).frame
    assert frame.to_dict("list") == {"pay": [37200, 41000], "bonus": [1.5, 2.25], "rate": [1.25, 3.5]}
    # Without such a column a point is a decimal sign, and a comma before three digits separates thousands.
    path.write_text("pay;rate\n37.200;1,250\n41.000;3,500\n")
    source = _io.read(path)
    assert source.frame.to_dict("list") == {"pay": [37.2, 41], "rate": [1250, 3500]}
    assert "if the comma is a decimal sign, give --decimal ," in source.inferred["rate"].notes[0].text
    frame = _io.read(path, decimal=",").frame
    assert frame.to_dict("list") == {"pay": [37200, 41000], "rate": [1.25, 3.5]}
    with pytest.raises(InputError, match="decimal sign too"):
        _io.read(path, decimal=",", thousands=",")
    with pytest.raises(InputError, match="decimal='x' is not known"):
        _io.read(path, decimal="x")


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2022-11-09", "2021-1-2"], "2022-11-09"),
        (["09.11.2022", "31.12.21"], "2022-11-09"),
        (["13/11/2022", "09/11/2022"], "2022-11-13"),
        (["11/13/2022", "11/09/2022"], "2022-11-13"),
        (["9 Nov 2022", "31-Dec-21"], "2022-11-09"),
        (["November 9, 2022", "Dec 31, 2021"], "2022-11-09"),
        (["2022-11-09 14:30", "2022-11-09T08:00:05Z"], "2022-11-09 14:30"),
        (["09.11.2022 14:30", "10.11.2022 09:00"], "2022-11-09 14:30"),
    ],
)
def test_dates_are_read_in_the_order_that_they_prove(cells, first):
    series, inferred = infer(*cells, "")
    assert series.dtype.kind == "M"
    assert series[0] == pd.Timestamp(first)
    assert series.isna().tolist() == [False, False, True]
    assert (inferred.kind, inferred.notes[0].topic) == ("numeric", "dates")


def test_dates_that_prove_no_order_are_refused_and_others_stay_text():
    with pytest.raises(FileFormatError, match=r"day and month cannot be told apart, such as '03/04/2022'"):
        infer("03/04/2022", "05/06/2022")
    assert infer("03/04/2022", "05/06/2022", asked="category")[0].tolist() == ["03/04/2022", "05/06/2022"]
    assert read_dates(["13/13/2022", "14/15/2022"]) is None
    assert infer("1.2.3", "4.5.6")[1].kind == "category"


@pytest.mark.parametrize("form", ["FR{}", "Fr{}", "kr{}", "{}Rs", "eur {}", "1.1.{}0", "{}.10.12"])
def test_codes_are_neither_money_nor_dates(form):
    cells = [form.format(k) for k in range(1, 10)]
    series, inferred = infer(*cells)
    assert (inferred.kind, series.tolist()) == ("category", cells)


@pytest.mark.parametrize("last", ["9999-12-31", "0001-01-01"])
def test_dates_beyond_nanoseconds_stay_what_they_are(last):
    series, _ = infer("2022-11-09", last)
    assert [day.date().isoformat() for day in series] == ["2022-11-09", last]


def test_numbers_with_an_exponent_are_numbers_among_texts():
    series, _ = infer(*[str(k) for k in range(30)], "1e-05", "unknown")
    assert series.tolist()[-2] == 1e-05


@examples(40)
@given(st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2068, 12, 31)), min_size=1, max_size=6))
def test_dates_of_each_form_come_back(dates):
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%B %d, %Y", "%Y/%m/%d %H:%M:%S"):
        texts = [date.strftime(form) for date in dates]
        expected = np.array([datetime.strptime(text, form) for text in texts], dtype="datetime64[ns]")
        assert (read_dates(texts).values == expected).all()


def test_blanks_are_no_part_of_a_category_and_that_is_told():
    series, inferred = infer("Male ", "Male", " Female", "\u00a0Male")
    assert series.tolist() == ["Male", "Male", "Female", "Male"]
    assert inferred.notes == (("blanks", "'Male ' counts as 'Male' (3 cells)"),)
    alike = infer("male", "Male")[1].notes[0]
    assert alike.topic == "check"
    assert "'Male' and 'male' are different categories" in alike.text
    assert infer("a", "b")[1].notes == ()


def test_a_few_texts_among_many_numbers_or_dates_are_missing_and_told():
    series, inferred = infer(*[str(k) for k in range(30)], "unknown", "n.a.")
    assert series.tolist()[:3] == [0, 1, 2]
    assert series.isna().sum() == 2
    assert inferred.notes == (("missing", "'unknown', 'n.a.' among numbers (2 cells) count as missing"),)
    series, inferred = infer(*[f"{k % 28 + 1:02d}.0{k % 9 + 1}.2022" for k in range(60)], "unknown")
    assert series.dtype.kind == "M"
    assert [note.topic for note in inferred.notes] == ["dates", "missing"]
    # Few numbers among few texts are codes.
    assert infer(*"123" * 10, "x")[1].kind == "category"
    assert infer(*[str(k) for k in range(30)], "x", asked="category")[0].tolist()[-1] == "x"
    with pytest.raises(FileFormatError, match="the first is 'x'"):
        infer(*[str(k) for k in range(30)], "x", asked="numeric")


def test_an_edit_puts_in_the_text_of_the_reference_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('sex,pay,start\nM ,"€37,200",09.11.2022\nF,"€41,000",13.12.2022\n', encoding="utf-8")
    source = _io.read(path)
    edits = edits_of(source, [(0, "pay", 1), (1, "start", 0), (1, "sex", 0)])
    assert source.to_bytes(path, edits).decode() == (
        'sex,pay,start\nM ,"€41,000",09.11.2022\nM ,"€41,000",09.11.2022\n'
    )


def test_a_value_of_no_reference_row_is_copied_from_a_cell_that_holds_it_or_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("pay;rate;start;n\n3,25;45%;09.11.2022;1\n1,5;50%;13.12.2022;2\n1,5;50%;13.12.2022;\n")
    source = _io.read(path)
    edits = edits_of(source, [(1, "pay", 0), (1, "rate", 0), (1, "start", 0), (1, "n", 0)])
    # As of a ledger that was made of another table.
    edits = replace(edits, reference=np.full(4, 99))
    assert source.to_bytes(path, edits).decode().splitlines()[2] == "3,25;45%;09.11.2022;1"
    for k, new in enumerate([7.5, 46, pd.Timestamp("2022-11-10"), 3.125]):
        name = str(edits.column[k])
        one = replace(edits_of(source, [(1, name, 0)]), new=[new])
        with pytest.raises(FileFormatError, match=f"column '{name}' .* which no cell of it holds"):
            source.to_bytes(path, one)
        assert len(source.to_bytes("t.parquet", one)) > 0
    assert (
        source.to_bytes(path, replace(edits_of(source, [(1, "n", 0)]), new=[7])).decode().splitlines()[2]
        == "1,5;50%;13.12.2022;7"
    )


@pytest.mark.parametrize("ending", ["parquet", "xlsx"])
def test_words_that_count_as_missing_are_written_in_every_format(tmp_path, ending):
    path, out = tmp_path / "t.csv", tmp_path / f"out.{ending}"
    cells = [*map(str, range(30)), "unknown", "NA", "n.a."]
    path.write_text("\n".join(["sex,pay", *(f"f,{cell}" for cell in cells)]))
    source = _io.read(path)
    assert source.inferred["pay"].kind == "numeric"
    out.write_bytes(source.to_bytes(out, edits_of(source, [(0, "pay", 29), (1, "pay", 30), (31, "pay", 5)])))
    written = (
        pd.read_parquet(out) if ending == "parquet" else pd.read_excel(out, keep_default_na=False, dtype=str)
    )
    expected = ["29", "unknown", *cells[2:31], "5", "n.a."]
    assert written["pay"].tolist() == expected


@pytest.mark.parametrize(
    ("encoding", "mark", "told"),
    [
        ("utf-8", b"", False),
        ("utf-8", b"\xef\xbb\xbf", False),
        ("cp1252", b"", True),
        ("utf-16-le", b"\xff\xfe", True),
        ("utf-16-be", b"\xfe\xff", True),
    ],
)
def test_encodings_are_found_told_and_kept(tmp_path, encoding, mark, told):
    path = tmp_path / "t.csv"
    data = mark + "name,pay\r\nJosé,€5\r\nZoë,€6\r\n".encode(encoding)
    path.write_bytes(data)
    source = _io.read(path)
    assert source.frame.to_dict("list") == {"name": ["José", "Zoë"], "pay": [5, 6]}
    assert any("encoding" in note for note in source.document.notes) is told
    assert source.to_bytes(path) == data
    assert source.to_bytes(path, edits_of(source, [(0, "pay", 1)])) == (
        data.replace("€5".encode(encoding), "€6".encode(encoding))
    )


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_found_and_told(tmp_path, delimiter):
    path = tmp_path / "t.csv"
    text = "a;n;m\n1,5;2;x\n3,5;4;y\n".replace(";", delimiter)
    path.write_text(text)
    source = _io.read(path)
    assert source.document.names == ("a", "n", "m")
    assert source.document.notes == (f"fields are separated by {delimiter!r}",)
    assert source.to_bytes("-").decode() == text
    with pytest.raises(FileFormatError, match=r"line 2 .* has 2 fields, the first line has 1"):
        _io.read(path, delimiter=",")


@pytest.mark.parametrize(
    "title", ["Hires of 2022\n\n", "Hires of 2022,,\n", '"Hires, all"\nMay\n', "\nHires\nof 2022\n"]
)
def test_a_title_above_the_names_is_found_and_kept(tmp_path, title):
    path = tmp_path / "t.csv"
    body = "".join(f"p{k},{k},{'fm'[k % 2]}\n" for k in range(9))
    text = f"{title}name,age,sex\n{body},,\n"
    path.write_text(text)
    source = _io.read(path)
    line = title.count("\n") + 1
    assert source.document.names == ("name", "age", "sex")
    assert source.frame["age"].tolist() == list(range(9))
    assert source.document.row_number(0) == line + 1
    assert f"the names of the columns are in line {line} (--header-row)" in source.document.notes
    assert "1 empty row is left alone" in source.document.notes
    edited = source.to_bytes("-", edits_of(source, [(0, "age", 8)])).decode()
    assert edited == text.replace("p0,0,", "p0,8,")
    assert _io.read(path, header_row=line).frame.equals(source.frame)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_sums_and_remarks_below_the_table_are_no_part_of_it(tmp_path, ending):
    rows = [["id", "sex", "pay", "hired"], *[[k, "fm"[k % 2], 10 * k, "yn"[k % 2]] for k in range(1, 9)]]
    below = [["Total", "", 360, ""], ["", "", "", ""], ["Source: HR", "", "", ""]]
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in rows + below))
    else:
        book = openpyxl.Workbook()
        for row in rows + below:
            book.active.append([cell or None for cell in row])
        book.save(path)
    source = _io.read(path)
    assert source.frame["pay"].tolist() == [10 * k for k in range(1, 9)]
    assert "the last 2 rows are no part of the table" in source.document.notes
    out = source.to_bytes(path, edits_of(source, [(0, "pay", 7)]))
    if ending == "csv":
        assert out.decode() == path.read_text().replace("1,m,10,", "1,m,80,")
    # A row with a few cells is one of the table, unless it says that it is none.
    assert count_footers([["Bo", "f", "", ""]], width=4) == 0
    assert count_footers([["7", "", ""]], width=3) == 0


def test_the_delimiter_is_that_of_the_names_where_decimal_commas_would_do_as_well(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{k};f;{k},5;{k},0 %" for k in range(9)]
    path.write_text("\n".join(["Report;;;", "nr;sex;pay;rate", *rows]))
    assert _io.read(path).document.names == ("nr", "sex", "pay", "rate")


def test_the_row_of_the_names_can_be_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n2020,2021\na,b\n1,2\n")
    assert _io.read(path).document.names == ("x", "y")
    assert _io.read(path, header_row=3).frame.to_dict("list") == {"a": [1], "b": [2]}
    with pytest.raises(InputError, match="header_row=9 is no line"):
        _io.read(path, header_row=9)


def test_the_first_row_holds_the_names_unless_another_is_clear():
    assert find_header([["a", "b"], ["1", "2"]]) == 0
    assert find_header([["", "", "c"], ["1", "2", "3"], ["4", "5", "6"]]) == 0
    assert find_header([["t", ""], ["a", "a"], ["1", "2"]]) == 0
    assert find_header([]) == 0


@pytest.fixture
def workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "Cover"
    book.active["A1"] = "Confidential"
    sheet = book.create_sheet("Data 2022")
    sheet["B2"] = "All applicants"
    sheet.append([])
    sheet.append([None, "Sex ", "Pay", "Bonus\n(percent)", "Start", "Left", None])
    for k in range(30):
        start = datetime(2022, 1 + k % 12, 1 + k % 28) if k % 10 else "unknown"
        sheet.append([None, "MF"[k % 2] + " " * (k % 3), f"€{30 + k},500", f"{k}.5%", start, None, None])
    sheet["C5"].number_format = "@"
    book.create_sheet("Notes").append(["made", "by", "hand"])
    path = tmp_path / "t.xlsx"
    book.save(path)
    return path


def test_the_sheet_with_the_table_is_found_and_told(workbook, tmp_path):
    source = _io.read(workbook)
    assert source.document.names == ("Sex", "Pay", "Bonus (percent)", "Start", "Left")
    assert source.document.notes == (
        "sheet 'Data 2022', not 'Cover', 'Notes' (--sheet)",
        "the names of the columns are in row 4 (--header-row)",
    )
    frame = source.frame
    assert frame["Sex"].unique().tolist() == ["M", "F"]
    assert frame["Pay"].tolist()[:2] == [30500, 31500]
    assert frame["Start"].dtype.kind == "M"
    assert frame["Start"].isna().sum() == 3
    assert frame["Left"].isna().all()
    assert source.document.row_number(0) == 5
    out = tmp_path / "out.xlsx"
    out.write_bytes(source.to_bytes(out, edits_of(source, [(0, "Pay", 1), (0, "Start", 1)])))
    sheets = openpyxl.load_workbook(out)
    assert sheets.sheetnames == ["Cover", "Data 2022", "Notes"]
    cells = sheets["Data 2022"]
    assert [cells["C5"].value, cells["C6"].value] == ["€31,500", "€31,500"]
    assert cells["E5"].value == datetime(2022, 2, 2)
    assert cells["B2"].value == "All applicants"


def test_numbers_of_a_sheet_are_not_guessed_at(tmp_path):
    book, path = openpyxl.Workbook(), tmp_path / "t.xlsx"
    rows = [
        [1.125, "a", "1,5"],
        [-0.00001, 1.125, "2"],
        [1234567.5, 3, "3,25"],
        ["2,5", 4, 1.125],
        ["7", 5, 2],
    ]
    for row in [["pay", "code", "rate"], *rows]:
        book.active.append(row)
    book.save(path)
    for decimal in (None, ","):
        frame = _io.read(path, decimal=decimal).frame
        assert frame["pay"].tolist() == [1.125, -0.00001, 1234567.5, 2.5, 7]
        assert frame["rate"].tolist() == [1.5, 2, 3.25, 1.125, 2]
        assert frame["code"].tolist() == ["a", "1.125", "3", "4", "5"]


def test_a_workbook_does_not_tell_when_it_was_written(workbook):
    source = _io.read(workbook)
    for content in (source.to_bytes("t.xlsx"), frame_to_bytes(source.frame, "excel")):
        with ZipFile(io.BytesIO(content)) as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        properties = openpyxl.load_workbook(io.BytesIO(content)).properties
        assert properties.created == properties.modified == datetime(1980, 1, 1)


def test_a_sheet_can_be_asked_for(workbook):
    assert _io.read(workbook, sheet="2").document.notes == (
        "the names of the columns are in row 4 (--header-row)",
    )
    with pytest.raises(InputError, match=r"sheet='Data' is not in .*'Notes'\. Did you mean 'Data 2022'\?"):
        _io.read(workbook, sheet="Data")
    with pytest.raises(FileFormatError, match="has the names of columns and no rows"):
        _io.read(workbook, sheet="Notes")
    with pytest.raises(InputError, match="header_row=3 is no row of the sheet"):
        _io.read(workbook, header_row=3)


def test_blanks_in_a_parquet_file_are_no_part_of_a_category_either(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"sex": ["M ", "M", None], "n": [1, 2, 3], "none": [None] * 3}).to_parquet(path)
    source = _io.read(path)
    assert source.frame["sex"].tolist()[:2] == ["M", "M"]
    assert source.frame["sex"].isna().tolist() == [False, False, True]
    assert source.frame["none"].isna().all()
    assert pd.read_parquet(path).equals(
        pd.read_parquet(pa.BufferReader(source.to_bytes(tmp_path / "o.parquet")))
    )
