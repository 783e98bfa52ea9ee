"""Numpy arrays as tables: columns are positions, there is no index."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairshap._frames._stores import Cells, NewColumn, Store, exceeds_floats, factorize
from fairshap._typing import Codes, Floats, Ints, Native
from fairshap.exceptions import ColumnError, InputError


class ArrayStore(Store):
    """A two-dimensional numeric, boolean or object array."""

    is_array = True
    library = "pandas"

    def __init__(self, array: NDArray[Any]) -> None:
        if array.ndim != 2:
            raise InputError(
                f"X must have two dimensions, rows and columns; it has shape {array.shape}. "
                "Reshape your data: X.reshape(-1, 1) for one column, X.reshape(1, -1) for one row.",
                parameter="X",
            )
        if array.dtype.kind == "c":
            raise InputError("Complex data not supported: X holds complex numbers.", parameter="X")
        if array.dtype.kind not in "biufOUS":
            raise InputError(
                f"X is an array of type {array.dtype}; give numbers, booleans, strings or objects, "
                "or a data frame.",
                parameter="X",
            )
        self.native: NDArray[Any] = array
        self.names = tuple(range(array.shape[1]))
        self.n_rows = array.shape[0]

    def position(self, name: Any, parameter: str = "column") -> int:
        width = len(self.names)
        advice = "X is an array: give the column's position, or give X as a data frame with column names."
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            if -width <= name < width:
                return int(name) % width
            advice = f"X has {width} columns, 0 to {width - 1}."
        raise ColumnError(f"{parameter}={name!r} is not a column of X. {advice}", parameter=parameter)

    def read(self, column: int) -> Floats | Codes:
        cells, kind = self.native[:, column], self.native.dtype.kind
        if kind in "bf" or (kind in "iu" and not exceeds_floats(cells.min(), cells.max())):
            return cells.astype(np.float64)
        # Text that looks like a number is text: only real numbers make a numeric column.
        present = cells[~pd.isna(cells)]
        if kind == "O" and not any(isinstance(cell, (str, bytes, bool, np.bool_)) for cell in present):
            try:
                return np.asarray(pd.to_numeric(pd.Series(cells, dtype=object)), dtype=np.float64)
            except (TypeError, ValueError):
                pass
        return factorize(cells, column)

    def values(self, column: int, rows: Ints) -> list[Any]:
        return list(self.native[rows, column].tolist())

    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:  # noqa: ARG002
        mixed = np.empty((len(sources[0]), len(sources)), dtype=self.native.dtype, order="F")
        for column, rows in enumerate(sources):
            mixed[:, column] = self.native[rows, column]
        return np.ascontiguousarray(mixed)

    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        own = [column for column in columns if isinstance(column, int)]
        if len(own) == len(columns):
            return self.native[:, own]
        parts = [self.native[:, part] if isinstance(part, int) else part[1] for part in columns]
        return np.column_stack(parts)

    def assign(self, cells: Mapping[int, Cells]) -> Native:
        changed = self.native.copy()
        for column, (rows, values) in cells.items():
            changed[rows, column] = values
        return changed

    def stack(self, other: Store) -> "ArrayStore":
        return ArrayStore(np.concatenate([self.native, other.native]))
