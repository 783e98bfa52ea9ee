"""Text cells as numbers or categories: what is safe to infer, and why."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairshap._frames import Kind
from fairshap._io.document import Inferred
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
_WITH_SEPARATORS = r"^[+-]?[0-9]{1,3}([., '][0-9]{3})*([.,][0-9]+)?$"

# As many different numbers, or fewer, may be codes; as many rows, or fewer, may all differ by chance.
_FEW_VALUES, _FEW_ROWS = 10, 20


def read_cells(
    cells: Any, name: str, asked: Kind | None, missing: frozenset[str], place: Callable[[int], str]
) -> tuple[pd.Series, Inferred]:
    """Return a column of text, without nulls, as numbers or categories, and what it was taken for.

    Numbers are numeric, unless one has leading zeros (a code, such as ``007``) or is whole and beyond 2^53
    (an identifier). Everything else is a category. ``place`` says where a row stands in the file.
    """
    # Each different text is looked at once.
    encoded = cells.dictionary_encode().unify_dictionaries().combine_chunks()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    texts = encoded.dictionary
    trimmed = pc.utf8_trim_whitespace(texts)
    absent = np.asarray(pc.is_in(trimmed, value_set=pa.array(sorted(missing), pa.string())))
    if absent.all():
        raise no_value(name)
    present = trimmed.filter(pa.array(~absent))
    counts = np.bincount(codes, minlength=len(texts))[~absent]
    numbers: Floats | None = None
    if asked != "category":
        with suppress(pa.ArrowInvalid):
            numbers = pc.cast(present, pa.float64()).to_numpy()
    if numbers is None and asked == "numeric":
        raise FileFormatError(_not_a_number(trimmed, absent, codes, name, place), parameter="missing")
    if numbers is None or not (asked or _are_quantities(present, numbers)):
        note = ("", None) if asked or numbers is not None else _note_on_text(present, counts)
        categories = sorted(texts.filter(pa.array(~absent)).to_pylist())
        series = pd.Series(encoded.to_pandas(), name=name).cat.set_categories(categories)
        return series, Inferred("category", *note)
    whole = bool((numbers == np.floor(numbers)).all())
    note = ("", None) if asked or not whole else _note_on_numbers(numbers, int(counts.sum()))
    values = np.full(len(texts), np.nan)
    values[~absent] = numbers
    column: NDArray[Any] = values[codes]
    if whole and not absent.any() and (np.abs(numbers) < _LARGEST).all():
        column = column.astype(np.int64)
    return pd.Series(column, name=name), Inferred("numeric", *note)


def no_value(name: str) -> FileFormatError:
    """Return the error for a column without any value."""
    text = f"column {name!r} holds no value in any row; leave it out with drop."
    return FileFormatError(text, parameter="drop")


def _are_quantities(texts: Any, numbers: Floats) -> bool:
    """Say whether texts that read as numbers are neither codes nor identifiers."""
    if pc.any(pc.match_substring_regex(texts, r"^[+-]?0[0-9]")).as_py():
        return False
    large = texts.filter(pa.array(np.abs(numbers) >= _LARGEST))
    return not len(large) or not pc.all(pc.match_substring_regex(large, r"^[+-]?[0-9]+$")).as_py()


def _not_a_number(trimmed: Any, absent: Bools, codes: Ints, name: str, place: Callable[[int], str]) -> str:
    cells = (~absent & ~np.asarray(pc.match_substring_regex(trimmed, _NUMBER)))[codes]
    first = int(cells.argmax())
    return (
        f"column {name!r} is to be numeric, but {int(cells.sum())} of its cells hold no number; the first is "
        f"{trimmed[int(codes[first])].as_py()!r} in {place(first)}. If such cells are missing, name "
        "their texts in missing."
    )


def _note_on_numbers(numbers: Floats, n_present: int) -> tuple[str, str | None]:
    distinct = len(np.unique(numbers))
    if 2 < distinct <= _FEW_VALUES < n_present:
        note = f"{distinct} different values; if they are codes, name the column in categorical"
        return note, "categorical"
    if distinct == n_present > _FEW_ROWS:
        return "every value occurs once; if it numbers the rows, name it in drop", "drop"
    return "", None


def _note_on_text(present: Any, counts: Ints) -> tuple[str, str | None]:
    n_present = int(counts.sum())
    if len(present) == n_present > _FEW_ROWS:
        return "every value occurs once; if it names the rows, name it in drop", "drop"
    if pc.all(pc.match_substring_regex(present, _WITH_SEPARATORS)).as_py():
        return "numbers with a comma or separators are text here; write them with a point and without", None
    like_numbers = np.asarray(pc.match_substring_regex(present, _NUMBER))
    if counts[like_numbers].sum() >= 0.8 * n_present:
        others = listing(present.filter(pa.array(~like_numbers)).to_pylist(), limit=3)
        return f"mostly numbers; if {others} mean that a value is missing, name them in missing", "missing"
    return "", None
