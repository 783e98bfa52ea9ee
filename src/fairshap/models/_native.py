"""A model and a table in the form that the tree walker takes, found out by probing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from fairshap._typing import Codes, Floats, Ints, Native
from fairshap.models._errors import NotNativeError
from fairshap.models._relabelling import Relabelled
from fairshap.models._scorer import Scorer
from fairshap.models._trees import Ensemble, import_trees
from fairshap.table import Table

# The most that the walker may differ from the model's own probabilities.
_TOLERANCE = 1e-6
# How many rows and mixed rows are compared.
_N_CHECKED, _N_MIXED = 1000, 64
# How many values of a numeric column, and of a category, are tried to see which features they move.
_N_NUMBERS, _N_CATEGORIES = 64, 5000
# The encoded cells held at a time: 8 Mi numbers are 64 MiB.
_CELLS = 1 << 23


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
    encode, model = _split(scorer.model, table)
    ensemble = import_trees(model)
    column = _owners(encode, table)[ensemble.features]
    ranks = _rank(encode, ensemble, table)
    _check_constant(ranks, column)
    _check_mixes(encode, ensemble, table, ranks, column)
    rows = np.unique(np.linspace(0, table.n_rows - 1, _N_CHECKED).astype(np.int64))
    own = [rows] * len(table.names)
    gap = float(np.abs(ensemble.predict(ranks[rows]) - scorer(table.store.mix(own))).max())
    if not gap <= _TOLERANCE:
        raise NotNativeError(
            f"the trees of {type(model).__name__} give probabilities that differ from its own by {gap:.2g}"
        )
    return RankedTable(ensemble, ranks, column)


def _split(model: Any, table: Table) -> tuple[Callable[[Native], Floats], Any]:
    """Return what turns rows into features, and the classifier behind it."""
    while isinstance(model, (FrozenEstimator, Relabelled)):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.inner_
    if isinstance(model, Pipeline):
        return _encoder(model[:-1]), model.steps[-1][1]
    if not table.is_array and any(not _is_plain(table, j) for j in range(len(table.names))):
        raise NotNativeError("the model reads the categories of the frame by itself")
    return _plain, model


def _encoder(transformer: Any) -> Callable[[Native], Floats]:
    """Return a function from rows to the numbers that a transformer makes of them."""

    def encode(rows: Native) -> Floats:
        try:
            return _dense(transformer.transform(rows))
        except Exception as error:
            # It may make words of words, for a classifier that takes them: then that is called.
            raise NotNativeError(f"its preprocessing gives no numbers ({error})") from error

    return encode


def _is_plain(table: Table, column: int) -> bool:
    """Say whether a frame's column is numbers or booleans, which every library reads alike."""
    return table.is_numeric(column) or set(map(type, table.store.values(column, table.distinct(column)))) <= {
        bool,
        np.bool_,
    }


def _plain(rows: Native) -> Floats:
    if isinstance(rows, pd.DataFrame):
        return rows.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows, dtype=np.float64)


def _dense(encoded: Any) -> Floats:
    if hasattr(encoded, "toarray"):
        encoded = encoded.toarray()
    return _plain(encoded)


def _owners(encode: Callable[[Native], Floats], table: Table) -> Ints:
    """Return which column moves each feature, -1 where none does.

    One row is repeated, and one column after the other goes through its values.
    """
    tried = []
    for column in range(len(table.names)):
        most = _N_NUMBERS if table.is_numeric(column) else _N_CATEGORIES
        rows = _with_missing(table, column)
        tried.append(rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64))])
    varied = np.repeat(np.arange(len(tried)), [len(rows) for rows in tried])
    donors = np.concatenate(tried)
    sources = [np.where(varied == column, donors, 0) for column in range(len(tried))]
    encoded = encode(table.store.mix(sources))
    same = encode(table.store.mix([np.zeros(1, dtype=np.int64)] * len(tried)))
    moved = (encoded != same) & ~(np.isnan(encoded) & np.isnan(same))
    owner = np.full(encoded.shape[1], -1, dtype=np.int64)
    for column in range(len(tried)):
        features = np.flatnonzero(moved[varied == column].any(axis=0))
        shared = features[owner[features] >= 0]
        if len(shared):
            names = [table.names[int(owner[shared[0]])], table.names[column]]
            raise NotNativeError(f"a feature is made of the columns {names[0]!r} and {names[1]!r} together")
        owner[features] = column
    return owner


def _with_missing(table: Table, column: int) -> Ints:
    """Return rows that between them have every value of a column, a missing one too."""
    cells = table.column(column)
    missing = np.flatnonzero(np.isnan(cells) if table.is_numeric(column) else cells < 0)
    return np.concatenate([table.distinct(column), missing[:1]])


def _rank(encode: Callable[[Native], Floats], ensemble: Ensemble, table: Table) -> Codes:
    """Return the ranks of all rows, encoded a part at a time."""
    first = encode(table.store.mix([np.zeros(1, dtype=np.int64)] * len(table.names)))
    ranks = np.empty((table.n_rows, len(ensemble.features)), dtype=np.int32)
    size = max(1, _CELLS // first.shape[1])
    for start in range(0, table.n_rows, size):
        rows = np.arange(start, min(start + size, table.n_rows))
        ranks[rows] = ensemble.ranks(encode(table.store.mix([rows] * len(table.names))))
    return ranks


def _check_constant(ranks: Codes, column: Ints) -> None:
    """Raise an error if a feature varies that no column was seen to move."""
    if (ranks[:, column < 0] != ranks[:1, column < 0]).any():
        raise NotNativeError("a feature varies with no column by itself")


def _check_mixes(
    encode: Callable[[Native], Floats],
    ensemble: Ensemble,
    table: Table,
    ranks: Codes,
    column: Ints,
) -> None:
    """Raise an error unless mixed rows are encoded as the mix of their encodings."""
    # The same rows every time: what is checked must not depend on a seed.
    rng = np.random.default_rng(0)
    own, other = rng.integers(0, table.n_rows, size=(2, _N_MIXED))
    swapped = rng.random((_N_MIXED, len(table.names))) < 0.5
    sources = [np.where(swapped[:, j], other, own) for j in range(len(table.names))]
    mixed = ensemble.ranks(encode(table.store.mix(sources)))
    from_other: NDArray[np.bool_] = swapped[:, np.maximum(column, 0)]
    if (mixed != np.where(from_other, ranks[other], ranks[own])).any():
        raise NotNativeError("the preprocessing does not work column by column")
