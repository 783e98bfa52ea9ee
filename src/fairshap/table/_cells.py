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


def factorize(values: Any, name: Hashable) -> Codes:
    """Return the distinct values numbered in the order of their appearance, -1 where one is missing."""
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise CellTypeError(
            f"column {name!r} holds a cell that cannot be compared ({error}). "
            "A cell argument must be a string or a number, a boolean, a date or missing."
        ) from error
    return np.asarray(codes, dtype=np.int32)


def read_column(values: Any, name: Hashable) -> pd.DataFrame:
    """Return one column that stands by itself (a series, an array, a list) as a frame of one column.

    Missing values stay missing: a list is not read as an array first, which would make text of them.
    """
    if isinstance(values, pd.DataFrame):
        frame = values
    elif isinstance(values, pd.Series):
        frame = values.to_frame()
    elif hasattr(values, "to_pylist"):
        frame = pd.DataFrame({name: values.to_pylist()})
    elif hasattr(values, "to_dict"):
        frame = pd.DataFrame(values.to_dict(as_series=False))
    elif hasattr(values, "to_list"):
        frame = pd.DataFrame({name: values.to_list()})
    elif isinstance(values, np.ndarray):
        frame = pd.DataFrame(values)
    else:
        frame = pd.DataFrame({name: list(values)})
    return frame.reset_index(drop=True).set_axis([name] * frame.shape[1], axis=1)
