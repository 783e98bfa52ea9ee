"""Text cells as numbers, dates or categories: how people type them, and what is told of what was inferred."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairshap._frames import Kind
from fairshap._io.document import Inferred, Note
from fairshap._messages import check_choice, listing
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import FileFormatError, InputError

#: Texts that mean that a cell is missing, blanks around them aside.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"]
)

# Whole numbers from here on are identifiers: float64 takes different ones for equal.
_LARGEST = 2.0**53
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# Numbers that are only told apart from groups of thousands by knowing the file's decimal sign.
_GROUPED = r"^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})*$"

# A column is of numbers or dates if as many cells are, of more than so many values, and all others say that
# there is none. Other texts may be codes, which must not get lost: V57 among the numbers of diagnoses.
_MOSTLY, _FEW = 0.8, 20
_WORDS = (
    "unknown|notknown|unclear|missing|ismissing|none|no(t)?(data|answer|response|value|entry)|nil|nan?|null"
    "|not(available|applicable|given|stated|specified|reported|recorded|provided|disclosed|measured|set)"
    "|unspecified|undefined|undisclosed|unavailable|inapplicable|refused|declined|dontknow|prefernottosay"
    "|blank|empty|pending|tb[cd]|unbekannt|keineangabe|ka|fehlt|inconnu|desconocido|sconosciuto|onbekend"
)
# From so many values on a sample tells whether they are worth a closer look.
_MANY, _SAMPLE = 1000, 200

# ---- numbers and dates as people type them

#: What may separate thousands, for each decimal sign; blanks of all kinds count as one.
_SEPARATORS = {".": ", '", ",": ". '"}
_BLANKS, _MINUS, _APOSTROPHES = "[\u00a0\u2007\u2009\u202f]", "\u2212", "[\u2019\u02bc]"

# Letters need a blank between them and the number: FR1 is a code.
_CODES = "EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|JPY|CNY|INR|AUD|CAD|BRL|ZAR|SFr|Fr|kr|zł|Kč|Ft|Rs"
_SIGNS = r"[A-Z]{2}\$|\p{Sc}"

_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9}
_MONTHS |= {"oct": 10, "nov": 11, "dec": 12, "mär": 3, "mai": 5, "okt": 10, "dez": 12}
_CLOCK = r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6})\d*)?)?Z?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_CLOCK}")
# Without a century, 1.1.10 is a code; 1/13/10 is how Americans write a date.
_YEAR_LAST = re.compile(
    rf"(?=\d\d[-.]\d\d[-.]|\d+[-.]\d+[-.]\d{{4}}|\d+/)(\d{{1,2}})([-/.])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_CLOCK}"
)
_DAY_NAME = re.compile(rf"(\d{{1,2}})\.?[ -]([^\W\d]{{3,9}})\.?[ ,-] ?(\d{{4}}|\d{{2}}){_CLOCK}")
_NAME_DAY = re.compile(rf"([^\W\d]{{3,9}})\.? (\d{{1,2}}),? (\d{{4}}){_CLOCK}")
# The forms of dates, and which groups are year, month and day; what comes first may have to be found out.
_DATES = (
    (_YEAR_FIRST, "year, month, day", (1, 2, 3)),
    (_YEAR_LAST, "", (0, 0, 0)),
    (_DAY_NAME, "day, month, year", (3, 2, 1)),
    (_NAME_DAY, "month, day, year", (3, 1, 2)),
)
# As many texts are looked at before all are.
_TRIED = 20


@dataclass(frozen=True, slots=True)
class Style:
    """How a file writes numbers, as far as that is known: its decimal sign and its thousands separator."""

    decimal: str | None = None
    thousands: str | None = None

    @classmethod
    def check(cls, decimal: str | None, thousands: str | None) -> "Style":
        """Return the style that was asked for, or raise an error."""
        check_choice(decimal, "decimal", [None, ".", ","])
        check_choice(thousands, "thousands", [None, ".", ",", " ", "'"])
        if thousands is not None:
            decimal = decimal or ("," if thousands == "." else ".")
            if decimal == thousands:
                raise InputError(
                    f"thousands={thousands!r} is the decimal sign too; give two different ones.",
                    parameter="thousands",
                )
        return cls(decimal, thousands)


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts as numbers or dates: the values, NaN or NaT where a text is none, and how they were read."""

    values: NDArray[Any]
    #: What is told of it, such as a currency or the order of day and month.
    form: str = ""
    #: The decimal sign that the texts prove, if any, and whether the other one would do as well.
    decimal: str = ""
    is_ambiguous: bool = False
    #: Why the column cannot be used as it is.
    trouble: str = ""
    is_plain: bool = False

    @property
    def found(self) -> Bools:
        """Which texts were read."""
        return np.asarray(~np.isnan(self.values), dtype=bool)


def read_numbers(texts: Any, style: Style, expected: str = "") -> Reading:
    """Return texts as numbers; ``expected`` is the decimal sign to take where both would do."""
    cleaned = texts
    for pattern, new in ((_BLANKS, " "), (_MINUS, "-"), (_APOSTROPHES, "'"), (r"^\((.+)\)$", r"-\1")):
        cleaned = pc.replace_substring_regex(cleaned, pattern, new)
    money = pc.extract_regex(cleaned, rf"(?P<sign>{_SIGNS}|(?:{_CODES})\.?)").field("sign")
    before, after = rf"(?:(?:{_SIGNS}) ?|(?:{_CODES})\.? )", rf"(?: ?(?:{_SIGNS})| (?:{_CODES})\.?)"
    cleaned = pc.replace_substring_regex(cleaned, rf"^([+-]?) ?{before}([+-]?)", r"\1\2")
    cleaned = pc.replace_substring_regex(cleaned, rf"{after}$", "")
    percent = np.asarray(pc.match_substring_regex(cleaned, r"\d ?%$"))
    cleaned = pc.replace_substring_regex(cleaned, r" ?%$", "")
    styles = [style] if style.decimal else [Style("."), Style(",")]
    values = [_convert(cleaned, one) for one in styles]
    counts = [int((~np.isnan(one)).sum()) for one in values]
    best = int(np.argmax(counts))
    tied = len(set(counts)) == 1 and len(counts) > 1 and counts[0] > 0
    is_ambiguous = tied and not np.array_equal(values[0], values[1], equal_nan=True)
    if is_ambiguous and expected:
        best = [one.decimal for one in styles].index(expected)
    found = Reading(values[best])
    signs = {sign for sign, here in zip(money.to_pylist(), found.found, strict=True) if sign and here}
    trouble = ""
    if len(signs) > 1:
        trouble = f"amounts in several currencies ({', '.join(sorted(signs))})"
    elif percent.any() and not percent[found.found].all():
        trouble = "numbers with and without a percent sign"
    parts = [*sorted(signs)[:1], *["percent"] * bool(percent.any())]
    return Reading(
        found.values,
        ", ".join(parts),
        "" if tied and not (is_ambiguous and expected) else str(styles[best].decimal),
        bool(is_ambiguous and not expected),
        trouble,
    )


def _convert(texts: Any, style: Style) -> NDArray[Any]:
    """Return texts as numbers of one style, NaN where they are not."""
    decimal = str(style.decimal)
    separators = _SEPARATORS[decimal] if style.thousands is None else style.thousands
    groups = "".join(re.escape(one) for one in separators)
    whole = rf"0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:[{groups}][0-9]{{3}})+"
    if "," in separators:
        # Lakh and crore.
        whole += r"|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
    sign = re.escape(decimal)
    fits = np.asarray(
        pc.match_substring_regex(
            texts, rf"^[+-]?(?:(?:{whole})(?:{sign}[0-9]*)?|{sign}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
        )
    )
    plain = pc.replace_substring_regex(texts.filter(pa.array(fits)), f"[{groups}]", "")
    values = np.full(len(texts), np.nan)
    values[fits] = pc.cast(pc.replace_substring(plain, decimal, "."), pa.float64()).to_numpy()
    return values


def read_dates(texts: list[str]) -> Reading | None:
    """Return texts as dates, None if they are not; some may be no dates."""
    for pattern, form, order in _DATES:
        sample = texts[:: max(1, len(texts) // _TRIED)]
        if sum(pattern.fullmatch(text) is not None for text in sample) * 2 < len(sample):
            continue
        matches = [pattern.fullmatch(text) for text in texts]
        if not form:
            form, order = _order_of([match for match in matches if match])
        if not form:
            continue
        dates = [_date(match, order) if match else None for match in matches]
        # Nanoseconds end in 2262, before the 9999-12-31 that stands for "no end".
        values = np.array(dates, dtype="datetime64[us]")
        trouble = ""
        if form == "?":
            form, trouble = "", "dates whose day and month cannot be told apart"
        return Reading(values, form, trouble=trouble)
    return None


def _order_of(matches: list[re.Match[str]]) -> tuple[str, tuple[int, int, int]]:
    """Return the order of day and month, a question mark if either would do, nothing if neither does."""
    day_first, month_first = ("day, month, year", (4, 3, 1)), ("month, day, year", (4, 1, 3))
    if all(match[2] == "." for match in matches):
        return day_first
    first, second = (max((int(match[k]) for match in matches), default=0) for k in (1, 3))
    if first > 12 and second > 12:
        return "", (0, 0, 0)
    if first > 12 or second > 12:
        return day_first if first > 12 else month_first
    return "?", (4, 3, 1)


def _date(match: re.Match[str], order: tuple[int, int, int]) -> datetime | None:
    year, month, day = (match[k] for k in order)
    number = _MONTHS.get(month[:3].casefold()) if not month.isdigit() else int(month)
    century = 0 if len(year) == 4 else 2000 if int(year) < 69 else 1900
    hour, minute, second, fraction = match.groups()[-4:]
    clock = (int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "").ljust(6, "0")))
    try:
        return datetime(century + int(year), number or 0, int(day), *clock)
    except ValueError:
        return None


# ---- columns


def read_cells(
    cells: Any,
    name: str,
    asked: Kind | None,
    missing: frozenset[str],
    place: Callable[[int], str],
    style: Style | None = None,
    expected: str = "",
) -> tuple[pd.Series, Inferred]:
    """Return a column of text, without nulls, as numbers, dates or categories, and what it was taken for.

    Blanks around a cell are no part of it. Numbers are numeric, unless one has leading zeros (a code, such
    as ``007``) or is whole and beyond 2^53 (an identifier). Everything else is a category. ``place`` says
    where a row stands in the file; ``expected`` is the decimal sign that other columns have.
    """
    # Each different text is looked at once.
    encoded = cells.dictionary_encode().unify_dictionaries().combine_chunks()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    texts = encoded.dictionary
    trimmed = pc.utf8_trim_whitespace(texts)
    absent = np.asarray(pc.is_in(trimmed, value_set=pa.array(sorted(missing), pa.string())))
    if absent.all():
        return pd.Series(pd.Categorical([None] * len(codes)), name=name), Inferred(asked or "category")
    present = trimmed.filter(pa.array(~absent))
    counts = np.bincount(codes, minlength=len(texts))[~absent]
    reading = None if asked == "category" else _read(present, asked, style or Style(), expected)
    is_mostly = reading is not None and _is_enough(reading, counts, asked)
    others = present.filter(pa.array(~reading.found)) if reading is not None and is_mostly else present
    if reading is None or not is_mostly or not _mean_missing(others):
        if asked == "numeric":
            raise FileFormatError(_not_a_number(trimmed, absent, codes, name, place), parameter="missing")
        series, inferred = _categories(encoded, trimmed, absent, name)
        if is_mostly:
            shown = listing(others.to_pylist(), limit=3)
            said = f"all are text, as these are no numbers or dates: {shown}; if missing, give --missing"
            inferred = inferred._replace(notes=(*inferred.notes, Note("check", said)))
        return series, inferred
    if reading.trouble:
        raise FileFormatError(
            f"column {name!r} holds {reading.trouble}, such as {listing(_examples(present), limit=3)}. Write "
            f"them in one way, or leave the column out with drop={name!r}.",
            parameter="drop",
        )
    values = np.full(len(texts), np.nan).astype(reading.values.dtype)
    values[~absent] = reading.values
    column: NDArray[Any] = values[codes]
    if column.dtype.kind == "f" and not np.isnan(values).any():
        whole = (values == np.floor(values)).all() and (np.abs(values) < _LARGEST).all()
        column = column.astype(np.int64) if whole else column
    notes = () if reading.is_plain else _notes(present, counts, reading)
    return pd.Series(column, name=name), Inferred("numeric", notes, reading.decimal)


def _read(present: Any, asked: Kind | None, style: Style, expected: str) -> Reading | None:
    """Return texts as numbers or dates, None if they are to stay texts."""
    if style.decimal != ",":
        with suppress(pa.ArrowInvalid):
            numbers: Floats = pc.cast(present, pa.float64()).to_numpy()
            if not (asked or _are_quantities(present, numbers)):
                return None
            grouped = expected == "," and pc.all(pc.match_substring_regex(present, _GROUPED)).as_py()
            if not grouped or (numbers == np.floor(numbers)).all():
                return Reading(numbers, is_plain=True)
    if len(present) > _MANY:
        # Most texts of so many values are plainly no numbers.
        sample = present.take(pa.array(np.linspace(0, len(present) - 1, _SAMPLE).astype(np.int64)))
        if read_numbers(sample, style).found.mean() < 0.5 and (
            asked or read_dates(sample.to_pylist()) is None
        ):
            return None
    numbered = read_numbers(present, style, expected)
    dated = read_dates(present.to_pylist()) if asked is None and not numbered.found.all() else None
    if dated is not None and dated.found.sum() > numbered.found.sum():
        return dated
    return numbered if asked or _are_quantities(present, numbered.values) else None


def _is_enough(reading: Reading, counts: Ints, asked: Kind | None) -> bool:
    """Say whether as many cells are numbers or dates as a column of them must have."""
    found = reading.found
    if found.all():
        return True
    enough = counts[found].sum() >= _MOSTLY * counts.sum()
    return asked is None and bool(enough) and len(np.unique(reading.values[found])) > _FEW


def _are_quantities(texts: Any, numbers: Floats) -> bool:
    """Say whether texts that read as numbers are neither codes nor identifiers."""
    if pc.any(pc.match_substring_regex(texts, r"^[+-]?0[0-9]")).as_py():
        return False
    large = texts.filter(pa.array(np.abs(numbers) >= _LARGEST))
    return not len(large) or not pc.all(pc.match_substring_regex(large, r"^[+-]?[0-9]+$")).as_py()


def _mean_missing(texts: Any) -> bool:
    """Say whether each text says that there is no value: a word for it, or signs alone."""
    letters = pc.utf8_lower(pc.replace_substring_regex(texts, r"[^\pL\pN]", ""))
    return pc.all(pc.match_substring_regex(letters, f"^(?:{_WORDS})?$")).as_py() is not False


def _categories(encoded: Any, trimmed: Any, absent: Bools, name: str) -> tuple[pd.Series, Inferred]:
    """Return a column of text as categories, and what is told of blanks and capitals."""
    texts = encoded.dictionary
    padded = np.asarray(pc.not_equal(trimmed, texts)) & ~absent
    labels = sorted(set(trimmed.filter(pa.array(~absent)).to_pylist()))
    if padded.any():
        numbered = {label: k for k, label in enumerate(labels)}
        renamed = np.array([numbered.get(text, -1) for text in trimmed.to_pylist()], dtype=np.int64)
        renamed[absent] = -1
        codes = renamed[encoded.indices.to_numpy(zero_copy_only=False)]
        series = pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(labels)), name=name)
    else:
        series = pd.Series(encoded.to_pandas(), name=name).cat.set_categories(labels)
    return series, Inferred("category", tuple(_notes_on_text(encoded, trimmed, padded, labels)))


def _notes_on_text(encoded: Any, trimmed: Any, padded: Bools, labels: list[str]) -> Iterator[Note]:
    """Yield what is told of categories that differ in blanks or capitals only."""
    if padded.any():
        bare = set(trimmed.filter(pa.array(~padded)).to_pylist())
        merged = [k for k in np.flatnonzero(padded).tolist() if trimmed[k].as_py() in bare]
        if merged:
            cells = int(np.isin(encoded.indices.to_numpy(zero_copy_only=False), np.flatnonzero(padded)).sum())
            text, label = encoded.dictionary[merged[0]].as_py(), trimmed[merged[0]].as_py()
            yield Note("blanks", f"{text!r} counts as {label!r} ({cells:,} cells)")
    if len(labels) > _MANY:
        return
    folded: dict[str, list[str]] = {}
    for label in labels:
        folded.setdefault(" ".join(label.casefold().split()), []).append(label)
    alike = next((same for same in folded.values() if len(same) > 1), None)
    if alike:
        said = " and ".join(repr(label) for label in alike)
        yield Note("check", f"{said} are different categories here; write them alike if they are one")


def _not_a_number(trimmed: Any, absent: Bools, codes: Ints, name: str, place: Callable[[int], str]) -> str:
    cells = (~absent & ~np.asarray(pc.match_substring_regex(trimmed, _NUMBER)))[codes]
    first = int(cells.argmax())
    return (
        f"column {name!r} is to be numeric, but {int(cells.sum())} of its cells hold no number; the first is "
        f"{trimmed[int(codes[first])].as_py()!r} in {place(first)}. If such cells are missing, name "
        "their texts in missing."
    )


def _examples(present: Any) -> list[str]:
    """Return some texts, those first that are not plain numbers."""
    plain = pc.match_substring_regex(present, _NUMBER)
    return [*present.filter(pc.invert(plain)).to_pylist()[:3], *present.filter(plain).to_pylist()[:1]]


def _notes(present: Any, counts: Ints, reading: Reading) -> tuple[Note, ...]:
    """Return what is told of numbers that are not plain, of dates, and of the cells between them."""
    notes, found = [], reading.found
    is_date = reading.values.dtype.kind == "M"
    odd = found if is_date else found & ~np.asarray(pc.match_substring_regex(present, _NUMBER))
    # A plain number may still have been read as thousands.
    odd |= found & (reading.decimal == ",") & np.asarray(pc.match_substring(present, "."))
    if odd.any():
        first = int(np.flatnonzero(odd)[0])
        value = reading.values[first]
        shown = str(value.astype("datetime64[D]")) if is_date else f"{value:.15g}"
        text = f"{present[first].as_py()!r} is {shown}" + (f", {reading.form}" if reading.form else "")
        if reading.is_ambiguous:
            text += "; if the comma is a decimal sign, give --decimal ,"
        notes.append(Note("dates" if is_date else "numbers", text))
    if not found.all():
        others = listing(present.filter(pa.array(~found)).to_pylist(), limit=3)
        cells = int(counts[~found].sum())
        what = "dates" if is_date else "numbers"
        notes.append(Note("missing", f"{others} among {what} ({cells:,} cells) count as missing"))
    return tuple(notes)
