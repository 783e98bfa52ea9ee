"""Columns that tell the sensitive attribute: where they stay as they are, nothing is really switched."""

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

import numpy as np
from scipy.special import gammaln

from fairshap._frames import Table, factorize
from fairshap._messages import warn
from fairshap._problem.problem import Problem
from fairshap._typing import Bools, Ints
from fairshap.exceptions import CopiedAttributeWarning

# Values that a column, or two together, have at most, and rows that each of them has in the mean: any column
# of values that hardly occur twice, such as a number for each person, tells everything.
_MOST_VALUES, _ROWS_A_VALUE = 100, 10

# How unlikely it must be that the attribute, dealt out to the rows at random, is told as well as it is.
_CHANCE = np.log(1e-9)

# Rows that are looked at first, which nearly all columns fail at, and columns up to which pairs are tried.
_FIRST_ROWS, _MOST_COLUMNS = 2000, 100

# Findings that are named.
_NAMED = 5


def warn_of_copies(problem: Problem) -> None:
    """Warn of columns that tell the attribute exactly, alone or two together.

    The model can take the attribute from them: switched, it changes little, and the risk looks small. It is
    a matter of the whole table, so that it is not looked for in each fold.
    """
    found = [
        (" with ".join(repr(problem.table.names[column]) for column in columns), name)
        for name, values in _attributes(problem)
        for columns in find_copies(problem, values)
    ]
    if not found:
        return
    said = "; ".join(f"{columns} tells {name!r} exactly" for columns, name in found[:_NAMED])
    if len(found) > _NAMED:
        said += f"; and {len(found) - _NAMED} more do"
    # To an attribute beside the table no column of it can be added.
    too = "" if problem.added else ", or name it in sensitive too, so that they are switched together"
    warn(
        f"{said}. A model can read the attribute from there: it then reacts too little to a switch of the "
        f"attribute alone, and its discriminative risk is too small. Leave such a column out of X{too}.",
        CopiedAttributeWarning,
        parameter="sensitive",
    )


def find_copies(problem: Problem, values: Ints) -> list[tuple[int, ...]]:
    """Return the columns, one or two together, each value of which goes with one value of the attribute.

    Of two together, each has a value that tells the attribute by itself, as the dummies of an attribute of
    three values have. Where it takes both in every row, they are columns of their own, not a copy.

    Parameters
    ----------
    problem : Problem
        The table.
    values : ndarray of int, shape (rows,)
        The attribute of each row as a number, -1 where it is missing.
    """
    rows = np.flatnonzero(values >= 0)
    whole = _Columns(problem.table, rows, values[rows])
    first = _Columns(problem.table, some := rows[_some_of_each(values[rows])], values[some])
    others = [
        column
        for column in range(len(problem.table.names))
        if column not in problem.columns and 1 < first.n_values([column]) <= _MOST_VALUES
    ]
    alone = [(j,) for j in others if first.tell([j]) and whole.tell_for_sure([j])]
    parts = [j for j in others if (j,) not in alone and first.tell_partly(j, 1)]
    if len(parts) > _MOST_COLUMNS:
        return list(alone)
    pairs = [pair for pair in combinations(parts, 2) if first.tell(pair) and whole.tell_for_sure(pair)]
    return [*alone, *pairs]


def _attributes(problem: Problem) -> Iterator[tuple[Hashable, Ints]]:
    """Yield what must not be told: which group a row is in, and of several attributes each one too."""
    side = problem.groups.side.astype(np.int64)
    yield problem.groups.name, side
    if len(problem.columns) > 1:
        for column in problem.columns:
            name = problem.table.names[column]
            # Where it is missing, the row is on no side.
            yield name, np.where(side < 0, -1, factorize(problem.table.column(column), name))


def _some_of_each(values: Ints) -> Ints:
    """Return positions of some rows of each value, far apart from each other."""
    order, counts = np.argsort(values, kind="stable"), np.bincount(values)
    most = max(2, _FIRST_ROWS // len(counts))
    ends = np.cumsum(counts)
    picked = [
        order[np.linspace(end - n, end - 1, min(n, most)).astype(np.int64)]
        for end, n in zip(ends, counts, strict=True)
        if n
    ]
    return np.concatenate(picked)


class _Columns:
    """Some rows of a table, its columns as numbers of their values, and the attribute of the rows."""

    def __init__(self, table: Table, rows: Ints, values: Ints) -> None:
        self.table, self.rows, self.values = table, rows, values
        self.known: dict[int, Ints] = {}

    def codes(self, columns: Sequence[int]) -> Ints:
        """Return for each row the number of its value in a column, or of its values in two."""
        for column in columns:
            if column not in self.known:
                cells = self.table.column(column)[self.rows]
                # A missing number is -1; it is a value too.
                self.known[column] = factorize(cells, self.table.names[column]).astype(np.int64) + 1
        code = self.known[columns[0]]
        for column in columns[1:]:
            code = code * (self.known[column].max() + 1) + self.known[column]
        return code

    def n_values(self, columns: Sequence[int]) -> int:
        return int(np.count_nonzero(np.bincount(self.codes(columns))))

    def tell(self, columns: Sequence[int]) -> bool:
        """Say whether rows with the same values have the same attribute."""
        return not self._contrary(self.codes(columns)).any()

    def tell_partly(self, column: int, least: int) -> bool:
        """Say whether some value of a column, of so many rows at least, goes with one of the attribute."""
        code = self.codes([column])
        counts = np.bincount(code)
        counts[code[self._contrary(code)]] = 0
        return bool((counts >= least).any())

    def _contrary(self, code: Ints) -> Bools:
        """Say which rows have another attribute than one with the same value: none, if that tells it."""
        attribute = np.empty(code.max() + 1, dtype=np.int64)
        attribute[code] = self.values
        return np.asarray(attribute[code] != self.values)

    def tell_for_sure(self, columns: Sequence[int]) -> bool:
        """Say whether they tell it by few values that are frequent enough for that to be no chance."""
        most = min(_MOST_VALUES, len(self.rows) // _ROWS_A_VALUE)
        # Each by itself first: two columns of many values have too many together to be counted.
        if not all(
            self.n_values([column]) <= most and self.tell_partly(column, _ROWS_A_VALUE) for column in columns
        ):
            return False
        n_values = self.n_values(columns)
        if n_values > most or not self.tell(columns):
            return False
        # So many ways to deal the attribute out to the rows; and at most so many that are told by the column.
        counts = np.bincount(self.values)
        ways = gammaln(len(self.rows) + 1) - gammaln(counts + 1).sum()
        told = n_values * np.log(np.count_nonzero(counts))
        return bool(told - ways < _CHANCE)
