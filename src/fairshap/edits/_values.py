"""Cells as text with the name of their type, and back: what keeps types in a written ledger."""

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import is_missing
from fairshap.exceptions import LedgerError


def to_text(value: Any) -> tuple[str, str]:
    """Return the name of a cell's type and its text.

    Examples
    --------
    >>> to_text(7), to_text("007"), to_text(None)
    (('int', '7'), ('str', '007'), ('missing', ''))
    """
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)
    elif isinstance(value, np.timedelta64):
        value = pd.Timedelta(value)
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return "tuple", json.dumps([to_text(item) for item in value])
    if isinstance(value, pd.Interval):
        ends = [to_text(value.left), to_text(value.right), to_text(value.closed)]
        return "Interval", json.dumps(ends)
    for kind in (str, bool, int, float, Decimal):
        if type(value) is kind:
            return kind.__name__, repr(value) if kind is float else str(value)
    if is_missing(value):
        return "missing", ""
    if isinstance(value, (pd.Timestamp, datetime)):
        return "datetime", value.isoformat()
    if isinstance(value, (pd.Timedelta, timedelta)):
        return "timedelta", pd.Timedelta(value).isoformat()
    if isinstance(value, (date, time)):
        return type(value).__name__, value.isoformat()
    raise LedgerError(
        f"a cell of type {type(value).__name__} ({value!r}) cannot be written to a ledger; "
        "it takes text, numbers, booleans, dates and missing values."
    )


_READERS: dict[str, Any] = {
    "str": str,
    "bool": lambda text: {"True": True, "False": False}[text],
    "int": int,
    "float": float,
    "Decimal": Decimal,
    "datetime": pd.Timestamp,
    "timedelta": pd.Timedelta,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "missing": lambda _: None,
    "tuple": lambda text: tuple(from_text(*item) for item in json.loads(text)),
    "Interval": lambda text: pd.Interval(*(from_text(*item) for item in json.loads(text))),
}


def from_text(kind: str, text: str) -> Any:
    """Return the cell that :func:`to_text` wrote.

    Examples
    --------
    >>> from_text("int", "7"), from_text("str", "007")
    (7, '007')
    """
    try:
        return _READERS[kind](text)
    except (KeyError, ValueError, TypeError, ArithmeticError) as error:
        raise LedgerError(f"{text!r} is not a value of type {kind!r}.") from error
