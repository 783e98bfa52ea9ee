"""A model and a table in the form that the tree walker takes, checked against the model itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from fairshap._frames import Table
from fairshap._kernels.trees.ensemble import note_special
from fairshap._models.categories import category_numbers, first_rows, numberings, recode
from fairshap._models.encoding import Relabelled
from fairshap._models.libraries import import_trees
from fairshap._models.probing import Mixes, probe
from fairshap._models.scorer import NotNativeError, Scorer
from fairshap._models.trees import Ensemble
from fairshap._typing import Codes, Floats, Ints
from fairshap.exceptions import FairshapError

# The most that a reading of a model may differ from the model's own output, in the scorer's units.
TOLERANCE = 1e-6
# How many rows and mixed rows are compared, beside those with special values.
N_CHECKED, _N_MIXED = 1000, 64
# How many categories of a column are compared, and in how many rows beside their own.
_N_CATEGORIES, _N_HOSTS = 1000, 4
# The cells copied at a time: 256 Ki numbers are 2 MiB, which stay in the processor's cache.
_CELLS = 1 << 18


class RankedTable(NamedTuple):
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
        output differs from the model's by more than 1e-6 of its unit.
    """
    transformer, model = split(scorer.model)
    ensemble = import_trees(model)
    mixes = some_mixes(table)
    try:
        if transformer is None:
            ranked = RankedTable(ensemble, _rank_columns(model, ensemble, table), ensemble.features)
        else:
            ranked = RankedTable(ensemble, *probe(transformer, model, ensemble, table, mixes))
    except FairshapError:
        raise
    except Exception as error:
        # What is read of a model may change with its library.
        raise NotNativeError(f"the table cannot be read as its trees do ({error})") from error
    sources = check_sources(table, np.unique(ranked.column[ranked.column >= 0]), mixes)
    ranks = np.empty((len(sources[0]), len(ranked.column)), dtype=np.int32)
    for feature, column in enumerate(ranked.column):
        ranks[:, feature] = ranked.ranks[sources[max(int(column), 0)], feature]
    expected = scorer(table.store.mix(sources))
    gap = np.abs(ensemble.predict(ranks) - expected)
    if not (gap <= TOLERANCE * scorer.unit(expected)).all():
        name = type(model).__name__
        raise NotNativeError(
            f"the trees of {name} give an output that differs from its own by {gap.max():.2g}"
        )
    return ranked


def split(model: Any) -> tuple[Any, Any]:
    """Return the steps before the estimator, None if there are none, and the estimator itself."""
    while isinstance(model, (FrozenEstimator, Relabelled)):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.inner_
    if not isinstance(model, Pipeline):
        return None, model
    return (model[:-1] if len(model.steps) > 1 else None), model.steps[-1][1]


def _rank_columns(model: Any, ensemble: Ensemble, table: Table) -> Codes:
    """Return the ranks of a table whose columns are the model's features."""
    if int(ensemble.features.max()) >= len(table.names):
        raise NotNativeError("the model has more features than the table columns")
    known = numberings(model, table.native)
    ranks = np.empty((table.n_rows, len(ensemble.features)), dtype=np.int32)
    is_number = np.isin(ensemble.features, table.numeric_columns)
    for place in np.flatnonzero(~is_number):
        feature = int(ensemble.features[place])
        numbers = category_numbers(table, feature, known.get(feature))
        # A missing category has the code -1, which is the last place.
        ranks[:, place] = ensemble.rank(np.array([place]), numbers[:, None])[table.column(feature), 0]
    places = np.flatnonzero(is_number)
    columns = np.searchsorted(table.numeric_columns, ensemble.features[places])
    # Without a list of places, a block is written as it is.
    written = slice(None) if is_number.all() else places
    for start, values in _blocks(table.numbers, columns):
        for column, place in enumerate(places):
            feature = int(ensemble.features[place])
            if feature in known:
                values[:, column] = recode(values[:, column], known[feature])
        ranks[start : start + len(values), written] = ensemble.rank(places, values)
    return ranks


def some_mixes(table: Table) -> Mixes:
    """Return pairs of rows, and for each pair which columns are taken from the second row."""
    # The same rows every time: what is checked must not depend on a seed.
    rng = np.random.default_rng(0)
    own, other = rng.integers(0, table.n_rows, size=(2, _N_MIXED))
    return own, other, rng.random((_N_MIXED, len(table.names))) < 0.5


def check_sources(table: Table, columns: Ints, mixes: Mixes) -> list[Ints]:
    """Return rows, and mixes of rows, that a reading of the model is held against.

    Each is given by the rows that its columns are taken from: rows from all over the table; pairs of rows,
    mixed; and the cells that libraries may read differently, each in its own row and in several others.
    """
    own, other, swapped = mixes
    rows = np.linspace(0, table.n_rows - 1, N_CHECKED).astype(np.int64)
    column, donor = _telling_cells(table, columns)
    # The same hosts every time: what is checked must not depend on a seed.
    hosts = np.random.default_rng(1).integers(0, table.n_rows, size=(_N_HOSTS, len(donor)))
    rows = np.unique(np.concatenate([rows, donor]))
    return [
        np.concatenate(
            [rows, np.where(swapped[:, j], other, own), np.where(column == j, donor, hosts).ravel()]
        )
        for j in range(len(table.names))
    ]


def _telling_cells(table: Table, columns: Ints) -> tuple[Ints, Ints]:
    """Return the columns and rows of cells that libraries may read differently.

    These are, in each column, a missing value, a zero, the least and the greatest number, and every category.
    """
    numeric = np.flatnonzero(np.isin(table.numeric_columns, columns))
    special = np.full((4, len(numeric)), -1, dtype=np.int64)
    least, greatest = np.full(len(numeric), np.inf), np.full(len(numeric), -np.inf)
    for start, values in _blocks(table.numbers, numeric):
        note_special(values, start, special, least, greatest)
    of_special = np.broadcast_to(table.numeric_columns[numeric], special.shape)
    cells = [(of_special[special >= 0], special[special >= 0])]
    for column in np.setdiff1d(columns, table.numeric_columns).tolist():
        codes = table.column(column)
        first = first_rows(codes)
        few = np.linspace(0, len(first) - 1, min(len(first), _N_CATEGORIES)).astype(np.int64)
        rows = np.concatenate([first[few], np.flatnonzero(codes < 0)[:1]])
        cells.append((np.full(len(rows), column), rows))
    return np.concatenate([c for c, _ in cells]), np.concatenate([r for _, r in cells])


def _blocks(numbers: Floats, columns: Ints) -> Iterator[tuple[int, Floats]]:
    """Give some columns of a table a part at a time: where it starts, and a copy of its rows."""
    size = max(1, _CELLS // max(len(columns), 1))
    for start in range(0, len(numbers), size):
        yield start, numbers[start : start + size].take(columns, axis=1)
