"""A model and a table in the form that the tree walker takes, checked against the model itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from fairshap._typing import Bools, Codes, Ints
from fairshap.models._categories import category_numbers, first_rows, numberings, recode
from fairshap.models._ensemble import Ensemble
from fairshap.models._errors import NotNativeError
from fairshap.models._probing import probe
from fairshap.models._relabelling import Relabelled
from fairshap.models._scorer import Scorer
from fairshap.models._trees import import_trees
from fairshap.table import Table

# The most that the walker may differ from the model's own probabilities.
_TOLERANCE = 1e-6
# How many rows and mixed rows are compared, beside those with special values.
_N_CHECKED, _N_MIXED = 1000, 64
# How many categories of a column are compared.
_N_CATEGORIES = 5000
# The rows ranked at a time: their ranks stay in the processor's cache while features are written.
_ROWS = 1 << 13


@dataclass(frozen=True, slots=True, eq=False)
class RankedTable:
    """A table as its model's trees see it.

    Parameters
    ----------
    ensemble : Ensemble
        The trees.
    ranks : ndarray of int32, shape (rows, features)
        Where each value stands among its feature's thresholds.
    column : ndarray of int, shape (features,)
        The column of the table that each feature is made of; -1 where it is constant.
    """

    ensemble: Ensemble
    ranks: Codes
    column: Ints


def rank_table(scorer: Scorer, table: Table) -> RankedTable:
    """Return the table as ranks, checked against the model itself.

    Raises
    ------
    NotNativeError
        If the model is no tree ensemble, if its preprocessing mixes columns, or if the walker's
        probabilities differ from the model's by more than 1e-6.
    """
    transformer, model = _split(scorer.model)
    ensemble = import_trees(model)
    mixes = _some_mixes(table)
    if transformer is None:
        ranked = RankedTable(ensemble, _rank_columns(model, ensemble, table), ensemble.features)
    else:
        ranked = RankedTable(ensemble, *probe(transformer, model, ensemble, table, mixes))
    _check(scorer, table, ranked, mixes, type(model).__name__)
    return ranked


def _split(model: Any) -> tuple[Any, Any]:
    """Return the steps before the classifier, None if there are none, and the classifier."""
    while isinstance(model, (FrozenEstimator, Relabelled)):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.inner_
    return (model[:-1], model.steps[-1][1]) if isinstance(model, Pipeline) else (None, model)


def _rank_columns(model: Any, ensemble: Ensemble, table: Table) -> Codes:
    """Return the ranks of a table whose columns are the model's features."""
    if int(ensemble.features.max()) >= len(table.names):
        raise NotNativeError("the model has more features than the table columns")
    known = numberings(model, table.native)
    cells, ranks_of = [], {}
    for k, feature in enumerate(ensemble.features.tolist()):
        cells.append(table.column(feature))
        if not table.is_numeric(feature):
            # A missing category has the code -1, which is the last place.
            ranks_of[k] = ensemble.rank(k, category_numbers(table, feature, known.get(feature)))
    ranks = np.empty((table.n_rows, len(cells)), dtype=np.int32)
    for start in range(0, table.n_rows, _ROWS):
        rows = slice(start, start + _ROWS)
        for k, feature in enumerate(ensemble.features.tolist()):
            values = cells[k][rows]
            if k in ranks_of:
                ranks[rows, k] = ranks_of[k][values]
                continue
            ranks[rows, k] = ensemble.rank(k, recode(values, known[feature]) if feature in known else values)
    return ranks


def _some_mixes(table: Table) -> tuple[Ints, Ints, Bools]:
    """Return pairs of rows, and for each pair which columns are taken from the second row."""
    # The same rows every time: what is checked must not depend on a seed.
    rng = np.random.default_rng(0)
    own, other = rng.integers(0, table.n_rows, size=(2, _N_MIXED))
    return own, other, rng.random((_N_MIXED, len(table.names))) < 0.5


def _check(
    scorer: Scorer, table: Table, ranked: RankedTable, mixes: tuple[Ints, Ints, Bools], name: str
) -> None:
    """Raise an error unless rows, and mixes of rows, have the model's own probabilities."""
    own, other, swapped = mixes
    rows = _telling_rows(table, np.unique(ranked.column[ranked.column >= 0]))
    sources = [
        np.concatenate([rows, np.where(swapped[:, column], other, own)]) for column in range(len(table.names))
    ]
    from_other = swapped[:, np.maximum(ranked.column, 0)]
    mixed = np.where(from_other, ranked.ranks[other], ranked.ranks[own])
    walked = ranked.ensemble.predict(np.concatenate([ranked.ranks[rows], mixed]))
    gap = float(np.abs(walked - scorer(table.store.mix(sources))).max())
    if not gap <= _TOLERANCE:
        raise NotNativeError(f"the trees of {name} give probabilities that differ from its own by {gap:.2g}")


def _telling_rows(table: Table, columns: Ints) -> Ints:
    """Return rows from all over the table, and those with the values that libraries may read differently.

    These are, in each column, a missing value, a zero, the least and the greatest number, and every category.
    """
    rows = [np.linspace(0, table.n_rows - 1, _N_CHECKED).astype(np.int64)]
    for column in columns.tolist():
        # In an array a column's cells stand far apart: they are fetched once.
        cells = np.ascontiguousarray(table.column(column))
        if table.is_numeric(column):
            is_missing = np.isnan(cells)
            if is_missing.any():
                # numpy's least and greatest is NaN where there is one.
                low, high = np.where(is_missing, np.inf, cells), np.where(is_missing, -np.inf, cells)
            else:
                low = high = cells
            rows.append(np.array([is_missing.argmax(), (cells == 0).argmax(), low.argmin(), high.argmax()]))
        else:
            first = first_rows(cells)
            few = np.linspace(0, len(first) - 1, min(len(first), _N_CATEGORIES)).astype(np.int64)
            rows += [first[few], np.array([(cells < 0).argmax()])]
    return np.unique(np.concatenate(rows))
