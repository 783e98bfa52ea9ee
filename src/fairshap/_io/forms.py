"""Numbers and dates as people type them: currency, percent, separators, and the order of day and month."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairshap._messages import check_choice
from fairshap._typing import Bools
from fairshap.exceptions import InputError

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
# As many texts are looked at before all are.
_SAMPLE = 20


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
    for pattern, read in (
        (_YEAR_FIRST, _year_first),
        (_YEAR_LAST, _year_last),
        (_DAY_NAME, _day_name),
        (_NAME_DAY, _name_day),
    ):
        sample = texts[:: max(1, len(texts) // _SAMPLE)]
        if sum(pattern.fullmatch(text) is not None for text in sample) * 2 < len(sample):
            continue
        matches = [pattern.fullmatch(text) for text in texts]
        form, order = read([match for match in matches if match])
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


def _year_first(_: Iterable[re.Match[str]]) -> tuple[str, tuple[int, int, int]]:
    return "year, month, day", (1, 2, 3)


def _year_last(matches: list[re.Match[str]]) -> tuple[str, tuple[int, int, int]]:
    """Return the order of day and month, a question mark if either would do."""
    day_first, month_first = ("day, month, year", (4, 3, 1)), ("month, day, year", (4, 1, 3))
    if all(match[2] == "." for match in matches):
        return day_first
    first, second = (max((int(match[k]) for match in matches), default=0) for k in (1, 3))
    if first > 12 and second > 12:
        return "", (0, 0, 0)
    if first > 12 or second > 12:
        return day_first if first > 12 else month_first
    return "?", (4, 3, 1)


def _day_name(_: Iterable[re.Match[str]]) -> tuple[str, tuple[int, int, int]]:
    return "day, month, year", (3, 2, 1)


def _name_day(_: Iterable[re.Match[str]]) -> tuple[str, tuple[int, int, int]]:
    return "month, day, year", (3, 1, 2)


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
