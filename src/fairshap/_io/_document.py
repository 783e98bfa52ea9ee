"""What every kind of file must be able to do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from fairshap._frames import Kind
from fairshap._io._formats import Format
from fairshap._io._marks import Mark
from fairshap._messages import listing
from fairshap._typing import Ints
from fairshap.exceptions import ColumnError


@dataclass(frozen=True, slots=True)
class Inferred:
    """What a column of a file was taken for, and why.

    Parameters
    ----------
    kind : {"numeric", "category"}
        How its values are compared.
    why : str
        What in the file led to it, or "as asked".
    missing : int
        The number of missing cells.
    note : str
        What a person may want to look at; mostly empty.
    """

    kind: Kind
    why: str
    missing: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Which cells of a file are replaced, each cell once, and by what.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (changes,)
        The positions of the cells.
    origins : ndarray of int, shape (changes,)
        The row whose cell is copied, as the file has it; -1 where the value is written instead.
    values : list
        The new values.
    """

    rows: Ints
    columns: Ints
    origins: Ints
    values: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def of_column(self, column: int) -> "Changes":
        """Return the changes of one column."""
        chosen = np.flatnonzero(self.columns == column)
        values = [self.values[k] for k in chosen]
        return Changes(self.rows[chosen], self.columns[chosen], self.origins[chosen], values)

    @classmethod
    def none(cls) -> "Changes":
        """Return no changes."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, empty, [])


class Document(ABC):
    """A table as its file has it: read column by column, written whole with some cells changed."""

    format: Format
    names: tuple[str, ...]
    n_rows: int
    #: What the file says of a repair that it comes from.
    mark: Mark | None = None

    @abstractmethod
    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column's values and what it was taken for; ``asked`` overrides what would be inferred."""

    def release(self) -> None:  # noqa: B027
        """Let go of what only reading needed."""

    @abstractmethod
    def write(self, file: BinaryIO, changes: Changes) -> None:
        """Write the file with some cells changed and everything else as it was read."""


def unique_names(names: Sequence[str], source: str, hint: str = "") -> tuple[str, ...]:
    """Return the names of the columns, those without one numbered; raise an error if one is there twice."""
    named = tuple(name if name.strip() else f"Unnamed: {k}" for k, name in enumerate(names))
    seen: set[str] = set()
    repeated = dict.fromkeys(name for name in named if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    if repeated:
        raise ColumnError(
            f"{source!r} has several columns of the same name: {listing(repeated)}. Rename them, so that an "
            f"edit can name one column.{hint}"
        )
    return named
