"""Single cells and single columns, whatever table they stand in."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from fairshap._typing import Codes
from fairshap.exceptions import CellTypeError


def is_missing(cell: Any) -> bool:
    """Say whether a cell is None, NaN, NaT or NA."""
    return cell is None or cell is pd.NaT or cell is pd.NA or (isinstance(cell, float) and cell != cell)


def factorize(values: Any, name: Hashable) -> tuple[Codes, int]:
    """Return the distinct values numbered by appearance (-1: missing), and how many there are."""
    try:
        codes, distinct = pd.factorize(values)
    except TypeError as error:
        raise CellTypeError(
            f"column {name!r} holds a cell that cannot be compared ({error}). "
            "A cell argument must be a string or a number, a boolean, a date or missing."
        ) from error
    return codes.astype(np.int32), len(distinct)
