"""Lists, values and options as they are typed."""

import csv
import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from fairshap._messages import did_you_mean, listing

#: The option that sets a parameter of the Python functions, if it is not ``--`` and the parameter's name.
_OPTIONS = {
    "augment": "--augments",
    "estimator": "--model",
    "guards": "--guard",
    "n_folds": "--folds",
    "n_jobs": "--jobs",
    "n_repeats": "--repeats",
    "random_state": "--seed",
    "y": "--target",
}
_SAME = (
    "augments budget categorical delimiter direction drop editable encoding folds force format frozen guard "
    "matching max_accuracy_drop max_edits max_row_edits methods missing numeric objective positive "
    "privileged seeds sensitive settings strategy target threshold"
)
_OPTIONS |= {name: f"--{name.replace('_', '-')}" for name in _SAME.split()}

# What turns the direction of the text after it.
_TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def quote(text: str) -> str:
    r"""Return a text as it is typed in a shell.

    Examples
    --------
    >>> quote("sex"), quote("two words"), quote(r"\t")
    ('sex', "'two words'", "$'\\t'")
    """
    return f"$'{text}'" if text == r"\t" else shlex.quote(text)


def name_option(text: str, parameter: str | None) -> str:
    """Return a text about a parameter with the option that sets it, if there is one.

    Where the text gives the parameter a value, ``name=`` becomes ``--option``. Otherwise the option stands
    in brackets at the end.

    Examples
    --------
    >>> name_option("max_accuracy_drop=2 must be between 0 and 1.", "max_accuracy_drop")
    '--max-accuracy-drop 2 must be between 0 and 1.'
    >>> name_option("y holds one label.", "y")
    'y holds one label (--target).'
    """
    option = _OPTIONS.get(parameter or "")
    if option is None:
        return text
    named, count = re.subn(rf"\b{parameter}=", f"{option} ", text)
    if count:
        return named
    return f"{text[:-1]} ({option})." if text.endswith(".") else f"{text} ({option})"


def split(texts: Iterable[str] | None) -> list[str]:
    """Return the items of comma-separated lists; one that holds a comma stands in double quotes.

    Examples
    --------
    >>> split(["age,zip", '"a,b"'])
    ['age', 'zip', 'a,b']
    """
    items = (item.strip() for text in texts or () for item in next(csv.reader([text]), []))
    return [item for item in items if item]


def plain(value: Any) -> Any:
    """Return a value as JSON takes it: numbers as Python's own, what is missing as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if not pd.api.types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def visible(text: str) -> str:
    r"""Return a text with what would control a terminal written out: cells are data.

    Examples
    --------
    >>> visible("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(
        ascii(char)[1:-1] if char != "\n" and (unicodedata.category(char) == "Cc" or char in _TURNS) else char
        for char in text
    )


def find_value(text: str, values: Sequence[Any]) -> Any:
    """Return the value that a text stands for, None if there is none.

    Examples
    --------
    >>> find_value("1", [0, 1]), find_value("True", [False, True]), find_value("male", ["Male"])
    (1, True, None)
    """
    for value in values:
        if str(value) == text:
            return value
    try:
        number = float(text)
    except ValueError:
        return None
    for value in values:
        if not isinstance(value, str) and isinstance(plain(value), (int, float)) and value == number:
            return value
    return None


def unknown_value(option: str, text: str, column: str, values: Sequence[Any]) -> str:
    """Return the sentence for a value that a column does not hold."""
    return (
        f"{option} {quote(text)} does not occur in column {column!r}, which holds "
        f"{listing(map(plain, values))}.{did_you_mean(text, [plain(value) for value in values])}"
    )
