"""Text cells as numbers or categories: what is safe to infer, and why."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fairshap._frames import Kind
from fairshap._io._document import Inferred
from fairshap._messages import listing
from fairshap._typing import Bools, Ints
from fairshap.exceptions import FileFormatError

#: Texts that mean that a cell is missing, blanks around them aside.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"]
)

# Whole numbers beyond it are identifiers: float64 takes different ones for equal, and the first for this one.
_LARGEST = 2.0**53
_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WITH_SEPARATORS = r"^[+-]?[0-9]{1,3}([., '][0-9]{3})*([.,][0-9]+)?$"

# As many different numbers, or fewer, may be codes; as many rows, or fewer, may all differ by chance.
_FEW_VALUES, _FEW_ROWS = 10, 20
_SAMPLE = 1000
# The share of numbers above which other texts are worth a note.
_MOSTLY = 0.8


def read_cells(
    cells: Any, name: str, asked: Kind | None, missing: frozenset[str], place: Callable[[int], str]
) -> tuple[pd.Series, Inferred]:
    """Return a column of text as numbers or categories, and why.

    Numbers are numeric, unless one is written with leading zeros (a code, such as ``007``) or is whole
    and beyond 2^53 (an identifier). Everything else is a category.

    Parameters
    ----------
    cells : pyarrow.ChunkedArray of string
        The cells as they stand in the file, without nulls.
    name : str
        The name of the column.
    asked : {"numeric", "category"}, optional
        What the column is said to be.
    missing : frozenset of str
        The texts that mean that a cell is missing.
    place : callable
        Says where a row stands in the file, for errors.

    Examples
    --------
    >>> column = pa.chunked_array([["007", "12", ""]])
    >>> _, inferred = read_cells(column, "code", None, MISSING, str)
    >>> inferred
    Inferred(kind='category', why="numbers with leading zeros, such as '007'", missing=1, note='')
    """
    if asked != "category":
        numbers = _parse(cells)
        # "nan" is a number to the parser and a missing cell to us.
        if numbers is not None and not np.isnan(numbers).any():
            why = None if asked else _why_not_numbers(cells, numbers)
            if why is None:
                return _numeric(numbers, name, asked)
    return _read_distinct(cells, name, asked, missing, place)


def _read_distinct(
    cells: Any, name: str, asked: Kind | None, missing: frozenset[str], place: Callable[[int], str]
) -> tuple[pd.Series, Inferred]:
    """Do the same for any cells, looking at each different text once."""
    encoded = cells.dictionary_encode().unify_dictionaries().combine_chunks()
    codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
    texts = encoded.dictionary
    trimmed = pc.utf8_trim_whitespace(texts)
    absent = np.asarray(pc.is_in(trimmed, value_set=pa.array(sorted(missing), pa.string())))
    n_missing = int(absent[codes].sum())
    if n_missing == len(codes):
        raise FileFormatError(f"column {name!r} holds no value in any row; leave it out with drop.")
    present = trimmed.filter(pa.array(~absent))
    numbers = None if asked == "category" else _parse(present)
    if numbers is None and asked == "numeric":
        raise FileFormatError(_not_a_number(trimmed, absent, codes, name, place))
    why = None if numbers is None or asked else _why_not_numbers(present, numbers)
    if numbers is not None and why is None:
        values = np.full(len(texts), np.nan)
        values[~absent] = numbers
        whole = bool((numbers == np.floor(numbers)).all())
        kind = "as asked" if asked else "whole numbers" if whole else "numbers"
        column = values[codes]
        note = "" if asked else _note_on_numbers(column[~np.isnan(column)], whole)
        return pd.Series(column, name=name), Inferred("numeric", kind, n_missing, note)
    note = "" if asked or why else _note_on_text(present, texts, absent, codes)
    inferred = Inferred("category", "as asked" if asked else why or "text", n_missing, note)
    return pd.Series(_categories(texts, absent, codes), name=name), inferred


def _parse(cells: Any) -> NDArray[np.float64] | None:
    """Return text as numbers, or None if it holds something else."""
    try:
        numbers = pc.cast(cells, pa.float64())
    except pa.ArrowInvalid:
        return None
    return np.asarray(numbers.to_numpy(), dtype=np.float64)


def _numeric(numbers: NDArray[np.float64], name: str, asked: Kind | None) -> tuple[pd.Series, Inferred]:
    """Return a column without missing cells, whole numbers as such."""
    whole = bool((numbers == np.floor(numbers)).all()) and bool((np.abs(numbers) < _LARGEST).all())
    values: NDArray[Any] = numbers.astype(np.int64) if whole else numbers
    kind = "as asked" if asked else "whole numbers" if whole else "numbers"
    note = "" if asked else _note_on_numbers(numbers, whole)
    return pd.Series(values, name=name), Inferred("numeric", kind, 0, note)


def _why_not_numbers(cells: Any, numbers: NDArray[np.float64]) -> str | None:
    """Return why cells that read as numbers are not to be compared as numbers, if so."""
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    for chunk in chunks:
        zeros = _leading_zeros(chunk)
        if zeros.any():
            return f"numbers with leading zeros, such as {chunk[int(zeros.argmax())].as_py()!r}"
    large = np.flatnonzero(np.abs(numbers) >= _LARGEST)
    if len(large) and pc.all(pc.match_substring_regex(cells.take(pa.array(large)), _WHOLE)).as_py():
        return "whole numbers beyond 2^53, which are identifiers"
    return None


def _leading_zeros(cells: Any) -> Bools:
    """Say which texts begin with a zero and another digit, after a sign if there is one."""
    _, offsets, data = cells.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[cells.offset : cells.offset + len(cells) + 1].astype(
        np.int64
    )
    found = np.zeros(len(cells), dtype=np.bool_)
    filled = np.flatnonzero(np.diff(bounds) > 1)
    if not len(filled):
        return found
    raw = np.frombuffer(data, dtype=np.uint8)
    begins, ends = bounds[filled], bounds[filled + 1]
    begins = begins + np.isin(raw[begins], (ord("+"), ord("-")))
    long = ends - begins > 1
    begins = begins[long]
    digit = (raw[begins + 1] >= ord("0")) & (raw[begins + 1] <= ord("9"))
    found[filled[long]] = (raw[begins] == ord("0")) & digit
    return found


def _categories(texts: Any, absent: Bools, codes: Ints) -> pd.Categorical:
    """Return the cells as categories in the order of the alphabet."""
    kept = np.flatnonzero(~absent)
    values = np.array(texts.to_pylist(), dtype=object)[kept]
    order = np.argsort(values, kind="stable")
    number = np.full(len(texts), -1, dtype=np.int64)
    number[kept[order]] = np.arange(len(kept))
    return pd.Categorical.from_codes(number[codes], categories=pd.Index(values[order].tolist()))


def _not_a_number(trimmed: Any, absent: Bools, codes: Ints, name: str, place: Callable[[int], str]) -> str:
    strange = ~absent & ~np.asarray(pc.match_substring_regex(trimmed, _NUMBER))
    cells = strange[codes]
    first = int(cells.argmax())
    return (
        f"column {name!r} is to be numeric, but {int(cells.sum())} of its cells hold no number; the first is "
        f"{trimmed[int(codes[first])].as_py()!r} in {place(first)}. If such cells are missing, name "
        "their texts in missing."
    )


def _note_on_numbers(numbers: NDArray[np.float64], whole: bool) -> str:
    # Most columns show in their first numbers that they are neither; the others are looked at whole.
    first = numbers[:_SAMPLE]
    in_sample = len(np.unique(first))
    if not whole or _FEW_VALUES < in_sample < len(first):
        return ""
    distinct = len(np.unique(numbers))
    if 2 < distinct <= _FEW_VALUES < len(numbers):
        return f"{distinct} different values; if they are codes, name the column in categorical"
    if distinct == len(numbers) > _FEW_ROWS:
        return "every value occurs once; if it numbers the rows, name it in drop"
    return ""


def _note_on_text(present: Any, texts: Any, absent: Bools, codes: Ints) -> str:
    n_present = int((~absent[codes]).sum())
    if len(present) == n_present > _FEW_ROWS:
        return "every value occurs once; if it names the rows, name it in drop"
    if pc.all(pc.match_substring_regex(present, _WITH_SEPARATORS)).as_py():
        return "numbers with a comma or separators are text here; write them with a point and without"
    counts = np.bincount(codes, minlength=len(texts))[~absent]
    like_numbers = np.asarray(pc.match_substring_regex(present, _NUMBER))
    if counts[like_numbers].sum() >= _MOSTLY * n_present:
        others = listing(present.filter(pa.array(~like_numbers)).to_pylist(), limit=3)
        return f"mostly numbers; if {others} mean that a value is missing, name them in missing"
    return ""
