"""What a loaded table comes with."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table with its target and its sensitive attribute.

    Parameters
    ----------
    name : str
        The name that :func:`load` takes.
    X : pandas.DataFrame
        The raw columns; categories are not encoded.
    y : pandas.Series
        The target, 0 or 1.
    sensitive : str
        The sensitive column of X.
    privileged : object
        Its privileged value.
    target : str
        What y = 1 means.
    description, source, licence : str
        What the table is, where it comes from, and how it may be used.
    players : dict, optional
        For an encoded table: the columns of X that belong to one raw column.
    """

    name: str
    X: pd.DataFrame
    y: "pd.Series[int]"
    sensitive: str
    privileged: Any
    target: str
    description: str
    source: str
    licence: str
    players: dict[Hashable, list[Hashable]] | None = None

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return (
            f"Dataset({self.name!r}: {rows} rows, {columns} columns, y = 1 is {self.target}, "
            f"sensitive {self.sensitive!r}, privileged {self.privileged!r})"
        )
