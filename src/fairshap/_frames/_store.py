"""What a table must be able to do, whatever library it comes from."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Codes, Floats, Ints, Native
from fairshap.exceptions import ColumnError

Kind: TypeAlias = Literal["numeric", "category"]

#: The library whose frames results come in; arrays get pandas.
Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]

#: For one column: the positions of the rows to change and the values they get.
Cells: TypeAlias = tuple[Ints, Sequence[Any]]

#: A column that is not in the table yet: its name and a number for each row.
NewColumn: TypeAlias = tuple[Hashable, Floats]


class Store(ABC):
    """Rows and columns in the user's own type; every method returns new objects.

    Columns are named by their position, so that names need not be strings.
    """

    native: Native
    library: Library
    names: tuple[Hashable, ...]
    n_rows: int
    #: Whether the user gave an array, whose columns have no names.
    is_array: bool = False

    def position(self, name: Any, parameter: str = "column") -> int:
        """Return where the named column stands; an error names the parameter that asked for it."""
        if self.is_array:
            if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
                width = len(self.names)
                if -width <= name < width:
                    return int(name) % width
                raise ColumnError(
                    f"{parameter}={name!r} is not a column of X, which has {width} columns, 0 to "
                    f"{width - 1}.",
                    parameter=parameter,
                )
            raise ColumnError(
                f"{parameter}={name!r} is not a column of X. X is an array: give the column's position, "
                "a whole number, or give X as a data frame with column names.",
                parameter=parameter,
            )
        if name in self.names:
            return self.names.index(name)
        raise ColumnError(
            f"{parameter}={name!r} is not a column of X. X has {listing(self.names)}."
            f"{did_you_mean(name, self.names)}",
            parameter=parameter,
        )

    @abstractmethod
    def kind(self, column: int) -> Kind:
        """Say whether the column holds numbers (or times) or categories."""

    @abstractmethod
    def numbers(self, column: int) -> Floats:
        """Return a numeric column as float64, missing values as NaN."""

    @abstractmethod
    def codes(self, column: int) -> Codes:
        """Return the categories numbered 0, 1, ... in the order of appearance, -1 where missing."""

    @abstractmethod
    def values(self, column: int, rows: Ints) -> list[Any]:
        """Return the cells as Python objects."""

    @abstractmethod
    def labels(self, rows: Ints) -> list[Any]:
        """Return the index labels of the rows; their positions where there is no index."""

    @abstractmethod
    def mix(self, sources: Sequence[Ints], labels: Ints | None = None) -> Native:
        """Return a table whose column j holds the cells of the rows ``sources[j]``.

        It has a fresh index, or the index labels of the rows ``labels``, where there are any.
        """

    @abstractmethod
    def compose(self, columns: Sequence[int | NewColumn]) -> Native:
        """Return the same rows with these columns: own ones by position, new ones by name and numbers."""

    @abstractmethod
    def assign(self, cells: Mapping[int, Cells]) -> Native:
        """Return the whole table with these cells changed; index and types as they were."""

    @abstractmethod
    def append(self, name: Hashable, values: Any) -> "Store":
        """Return the table with one more column at its end."""

    @abstractmethod
    def stack(self, other: "Store") -> "Store":
        """Return the rows of this table and below them the other's, whose columns are the same.

        No cell changes: types are widened where the two differ, and a column whose type cannot hold
        the other's cells is an error.
        """
