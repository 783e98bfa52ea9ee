"""Which cells are replaced."""

from typing import Any

import numpy as np

from fairshap._frames import Table
from fairshap._messages import listing
from fairshap._ties import reaches
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution import Attributions, check_threshold
from fairshap.edits._ledger import Edits
from fairshap.exceptions import InputError
from fairshap.matching import MatchPlan


def select_edits(
    attributions: Attributions,
    X: Native,
    R: Native | MatchPlan,
    *,
    threshold: float = 0.05,
) -> Edits:
    """Return the edits that replace every value whose attribution is at least the threshold.

    Parameters
    ----------
    attributions : Attributions
        What :func:`fairshap.attribute` returned for X and R.
    X : data frame or array
        The table.
    R : data frame, array or MatchPlan
        One reference row for each row of X; or a plan, whose heaviest references are used.
    threshold : float, default=0.05
        The smallest attribution that leads to an edit; one that is below it by mere rounding leads to one
        too. For a regressor it is in units of its prediction: 5 % of the target's standard deviation is a
        start.

    Returns
    -------
    Edits
        The ledger. A cell whose two values are equal is no edit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import fairshap
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> R = X[[1, 0, 3, 2]]
    >>> attributions = fairshap.attribute(model, X, R, sensitive=0, privileged=1)
    >>> select_edits(attributions, X, R, threshold=0.001)
    Edits(2 cells in 2 rows and 1 columns)
    """
    table = Table.read(X)
    if isinstance(R, MatchPlan):
        R.check_fits(table.n_rows)
        return edits_at_least(attributions, table, table, R.best, threshold)
    pool = table.above(R)
    references = np.arange(table.n_rows) + table.n_rows
    return edits_at_least(attributions, table, pool, references, threshold)


def edits_at_least(
    attributions: Attributions, table: Table, pool: Table, references: Ints, threshold: float
) -> Edits:
    """Return the edits of a table whose rows, and their references, are rows of a pool."""
    check_threshold(threshold)
    phi, of_column = attributions.values, attributions.switched.of_column
    columns = attributions.switched.columns
    if phi.shape[0] != table.n_rows or columns != table.names:
        raise InputError(
            f"the attributions are for {phi.shape[0]} rows and the columns {listing(columns)}; X has "
            f"{table.n_rows} rows and {listing(table.names)}. Give X and R as they were given to attribute.",
            parameter="X",
        )
    chosen = reaches(phi, threshold, attributions.unit)
    rows = np.flatnonzero(chosen.any(axis=1))
    cells = pool.differ(rows, references[rows])[:, : len(of_column)]
    cells &= chosen[rows][:, of_column]
    at, column = np.nonzero(cells)
    row = rows[at]
    return edits_of_cells(table, pool, row, column, references[row], phi[row, of_column[column]])


def edits_of_cells(table: Table, pool: Table, row: Ints, column: Ints, reference: Ints, phi: Floats) -> Edits:
    """Return the edits that replace single cells of a table by those of references in a pool.

    The pool is the table itself, or the table with the references below it.
    """
    old, new = (_read_cells(pool, column, positions) for positions in (row, reference))
    return Edits(
        row=row,
        index=table.store.labels(row),
        column=[table.names[j] for j in column],
        old=old,
        new=new,
        phi=phi,
        reference=reference % table.n_rows,
        library=table.store.library,
    )


def _read_cells(pool: Table, columns: Ints, rows: Ints) -> list[Any]:
    """Return single cells as Python objects, read column by column."""
    cells: list[Any] = [None] * len(rows)
    for column in np.unique(columns).tolist():
        chosen = np.flatnonzero(columns == column)
        for k, cell in zip(chosen, pool.store.values(column, rows[chosen]), strict=True):
            cells[k] = cell
    return cells
