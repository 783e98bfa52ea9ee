"""Text cells as numbers, dates or categories: what is safe to infer, and what is told of it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairshap._frames import Kind
from fairshap._io.document import Inferred, Note
from fairshap._io.forms import Reading, Style, read_dates, read_numbers
from fairshap._messages import listing
from fairshap._typing import Bools, Floats, Ints
from fairshap.exceptions import FileFormatError

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
)
_WORDS += (
    "|not(available|applicable|given|stated|specified|reported|recorded|provided|disclosed|measured|set)"
)
_WORDS += (
    "|unspecified|undefined|undisclosed|unavailable|inapplicable|refused|declined|dontknow|prefernottosay"
)
_WORDS += (
    "|blank|empty|pending|tb[cd]|unbekannt|keineangabe|ka|fehlt|inconnu|desconocido|sconosciuto|onbekend"
)
# From so many values on a sample tells whether they are worth a closer look.
_MANY, _SAMPLE = 1000, 200


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
        return series, inferred._replace(notes=inferred.notes + (_tell_mixed(others) if is_mostly else ()))
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


def _tell_mixed(others: Any) -> tuple[Note, ...]:
    """Return what is told of a column that stays categories because of a few texts."""
    texts = listing(others.to_pylist(), limit=3)
    return (
        Note(
            "check",
            f"all are text, as these are no numbers or dates: {texts}; if missing, give --missing",
        ),
    )


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
