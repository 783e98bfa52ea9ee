"""What options say of a table's columns: which they are, their privileged values and favorable labels."""

import re
import shlex
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import typer

from fairshap import _io
from fairshap._io.document import cell_text
from fairshap._messages import did_you_mean, listing
from fairshap.cli._options import split
from fairshap.cli._output import plain
from fairshap.exceptions import FairshapError, GroupError, TargetError

# Pairs of labels whose positive one goes without saying, the positive one second.
_KNOWN = "0 1, -1 1, false true, no yes, n y, f t, negative positive, neg pos"

# Different numbers from which on a sensitive column is a quantity, whose privileged values are a range.
_QUANTITY = 32
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^\s*({_NUMBER})?\s*\.\.\s*({_NUMBER})?\s*$")


def find_names(source: _io.Source, texts: Iterable[str] | None, option: str) -> list[str]:
    """Return the columns that an option names, one by one or with commas between them."""
    names: list[str] = []
    for text in texts or ():
        names += [text] if text in source.frame.columns else split([text])
    return [source.find(name, option) for name in dict.fromkeys(names)]


def values_of(column: pd.Series) -> list[Any]:
    """Return the different values of a column, sorted where they can be."""
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return values


def read_privileged(frame: pd.DataFrame, names: list[str], texts: list[str]) -> Any:
    """Return the privileged values of the sensitive columns as the table has them."""
    values = {name: values_of(frame[name]) for name in names}

    def find(text: str, name: str) -> Any:
        return find_value("privileged", text, name, values[name], GroupError)

    texts = _split_values(texts, [value for name in names for value in values[name]])
    if len(names) > 1:
        if len(texts) != len(names):
            raise typer.BadParameter(
                f"--privileged is given {len(texts)} times for {len(names)} sensitive columns; give one "
                "value for each, in their order"
            )
        return tuple(find(text, name) for text, name in zip(texts, names, strict=True))
    name = names[0]
    numeric = pd.api.types.is_numeric_dtype(frame[name].dtype)
    bounds = _RANGE.match(texts[0]) if numeric and len(texts) == 1 else None
    if bounds and any(bounds.groups()):
        return _read_range(*bounds.groups())
    if numeric and len(values[name]) > _QUANTITY:
        middle = plain(frame[name].median())
        raise GroupError(
            f"column {name!r} is a quantity with {len(values[name])} different values; give a range for "
            f"--privileged, such as {middle:g}.. or ..{middle:g}."
        )
    found = [find(text, name) for text in texts]
    return found[0] if len(found) == 1 else found


def _read_range(first: str | None, last: str | None) -> pd.Interval:
    """Return the range of values between two ends, both included; without an end, all on that side."""
    low, high = float(first or "-inf"), float(last or "inf")
    if low > high:
        hint = f"the smaller end comes first; give {last}..{first}"
        raise typer.BadParameter(f"--privileged {first}..{last} is upside down: {hint}")
    return pd.Interval(low, high, closed="both")


def find_value(option: str, text: str, column: str, values: list[Any], error: type[FairshapError]) -> Any:
    """Return the value of a column that the text of an option stands for."""
    number = pd.to_numeric(text, errors="coerce")
    for value in values:
        if str(value) == text or (not isinstance(value, str) and value == number):
            return value
    known = [plain(value) for value in values]
    raise error(
        f"--{option} {shlex.quote(text)} does not occur in column {column!r}, which holds {listing(known)}."
        f"{did_you_mean(text, known)}"
    )


def _split_values(texts: list[str], known: list[Any]) -> list[str]:
    """Return values that are given one by one or with commas between them; some have commas themselves."""
    held = {str(value) for value in known}
    return [part for text in texts for part in ([text] if text in held else split([text]))]


def read_target(
    source: _io.Source, name: str, asked: list[str] | None, notes: list[str]
) -> tuple[pd.Series, Any, list[Any]]:
    """Return the target as two labels, the positive one, and the favorable labels of the file."""
    column = source.frame[name]
    absent = np.flatnonzero(column.isna())
    if len(absent):
        rows = listing((source.document.row_number(int(row)) for row in absent), 4, str)
        word = "row" if len(absent) == 1 else "rows"
        raise TargetError(
            f"column {name!r}, the target, is missing in {len(absent)} of {len(column)} rows ({word} {rows} "
            "of the file); leave them out of the file, or fill them in."
        )
    values = values_of(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if len(values) < 2:
        raise TargetError(f"column {name!r}, the target, holds {plain(values[0])!r} in every row.")
    texts = _split_values(list(asked or ()), values)
    found = list(dict.fromkeys(find_value("positive", text, name, values, TargetError) for text in texts))
    if len(found) == len(values):
        raise TargetError(f"--positive names every label of {name!r}; name the favorable ones only.")
    if len(values) > 2:
        if not found:
            shown = listing(map(plain, values), limit=5)
            raise TargetError(
                f"column {name!r}, the target, has {len(values)} different values, {shown}; name the "
                "favorable one with --positive, or several with commas, and all others count as one."
            )
        others = listing((plain(value) for value in values if value not in found), limit=5)
        shown = " or ".join(str(plain(value)) for value in found)
        notes.append(f"treating {name} = {shown} as the FAVORABLE outcome, and {others} as unfavorable")
        return column.isin(found).astype(int).rename(name), 1, found
    if not found:
        known = known_positive(values)
        if known is None:
            first, second = (shlex.quote(str(value)) for value in values)
            hint = f"Give --positive {first} or --positive {second}."
            raise TargetError(f"which label of {name!r} is the favorable one? {hint}")
        found = [known]
        other = next(value for value in values if value != known)
        notes.append(
            f"treating {name} = {plain(known)} as the FAVORABLE outcome; if not, --positive "
            f"{shlex.quote(str(plain(other)))}"
        )
    return column, found[0], found


def known_positive(values: list[Any]) -> Any:
    """Return the positive one of two labels, if that is known."""
    texts = {cell_text(plain(value)).casefold(): value for value in values}
    pairs = (pair.split() for pair in _KNOWN.split(", "))
    return next((texts[good] for bad, good in pairs if set(texts) == {bad, good}), None)
