"""Single cells and single columns, whatever table they stand in."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from fairshap._typing import Codes
from fairshap.exceptions import CellTypeError

# A longer cell is cut: it would bury the table that it stands in.
_LONGEST = 160


def is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN, NaT or NA."""
    return cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell)


def factorize(values: Any, name: Hashable) -> Codes:
    """Return the distinct values numbered in the order of their appearance, -1 where one is missing."""
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise CellTypeError(
            f"column {name!r} holds a cell that cannot be compared ({error}). A cell must be a string or a "
            "number, a boolean, a date or missing; leave the column out, or make one of these of it.",
            parameter="X",
        ) from error
    return np.asarray(codes, dtype=np.int32)


def exceeds_floats(least: Any, most: Any) -> bool:
    """Say whether whole numbers go beyond 2^53, where float64 takes different ones for equal.

    Such numbers are identifiers, not quantities; they are compared as categories.
    """
    return any(not is_missing(value) and abs(int(value)) > 2**53 for value in (least, most))


def show(value: Any, longest: int = _LONGEST) -> str:
    """Return any cell or name as text, cut if it is very long.

    Examples
    --------
    >>> show(None), show(3.0), show(0.1234567), show("a" * 9, longest=5)
    ('missing', '3', '0.123457', 'aaaa…')
    """
    if is_missing(value):
        return "missing"
    if isinstance(value, (float, np.floating)):
        text = f"{value:.6g}"
    elif isinstance(value, tuple):
        text = ", ".join(show(item) for item in value)
    else:
        text = str(value)
    # Half a character, which a file in UTF-8 cannot hold, becomes a question mark.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"
