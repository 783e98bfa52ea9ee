"""A table behind preprocessing: which column each feature is made of, found out by trying."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import Table
from fairshap._models.categories import first_rows, numberings, recode
from fairshap._models.scorer import NotNativeError
from fairshap._models.trees import Ensemble
from fairshap._typing import Bools, Codes, Floats, Ints, Native

# How many values of a numeric column, and of a category, are tried to see which features they move.
_N_NUMBERS, _N_CATEGORIES = 64, 5000
# The encoded cells held at a time: 8 Mi numbers are 64 MiB.
ENCODED_CELLS = 1 << 23

#: Pairs of rows, and for each pair which columns are taken from the second row.
Mixes = tuple[Ints, Ints, Bools]


def probe(transformer: Any, model: Any, ensemble: Ensemble, table: Table, mixes: Mixes) -> tuple[Codes, Ints]:
    """Return the ranks of a table behind preprocessing, and the column that each feature is made of.

    Raises
    ------
    NotNativeError
        If a feature is made of several columns, or mixed rows are not encoded as their cells are.
    """
    encode = make_encoder([transformer], model)
    own, other, swapped = mixes
    varied, changes = one_by_one(table)
    probes = [
        np.concatenate([rows, np.where(swapped[:, column], other, own)])
        for column, rows in enumerate(changes)
    ]
    n_probes = len(changes[0])
    ranks = np.empty((table.n_rows, len(ensemble.features)), dtype=np.int32)
    size = max(1, ENCODED_CELLS // int(model.n_features_in_))
    for start in range(0, table.n_rows, size):
        rows = np.arange(start, min(start + size, table.n_rows))
        # The first rows go with the probes: for a small table a transformer's calls are what takes time.
        before = probes if start == 0 else [rows[:0]] * len(changes)
        encoded = encode(table.store.mix([np.concatenate([part, rows]) for part in before]))
        if start == 0:
            owner = find_owners(encoded[:n_probes], varied, table)[ensemble.features]
            mixed = ensemble.ranks(encoded[n_probes : len(probes[0])])
        ranks[rows] = ensemble.ranks(encoded[len(before[0]) :])
    if (ranks[:, owner < 0] != ranks[:1, owner < 0]).any():
        raise NotNativeError("a feature varies with no column by itself")
    from_other = swapped[:, np.maximum(owner, 0)]
    if (mixed != np.where(from_other, ranks[other], ranks[own])).any():
        raise NotNativeError("the preprocessing does not work column by column")
    return ranks, owner


def make_encoder(transformers: Sequence[Any], model: Any) -> Callable[[Native], Floats]:
    """Return a function from rows to the numbers that a model's own features are."""

    def encode(rows: Any) -> Floats:
        try:
            for transformer in transformers:
                rows = transformer.transform(rows)
            numbers = _numbers(rows)
        except Exception as error:
            # It may make words of words, for a model that takes them: then that is called.
            raise NotNativeError(f"its preprocessing gives no numbers ({error})") from error
        known = numberings(model, numbers)
        if known:
            numbers = numbers.copy()
        for feature, numbering in known.items():
            numbers[:, feature] = recode(numbers[:, feature], numbering)
        return numbers

    return encode


def _numbers(encoded: Any) -> Floats:
    if hasattr(encoded, "toarray"):
        encoded = encoded.toarray()
    if isinstance(encoded, pd.DataFrame):
        return encoded.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(encoded.to_numpy() if hasattr(encoded, "to_numpy") else encoded, dtype=np.float64)


def one_by_one(table: Table) -> tuple[Ints, list[Ints]]:
    """Return the first row, and the first row with one cell after the other changed.

    They come as the rows that each column is taken from; which column is changed comes before.
    """
    tried = [_some_values(table, column) for column in range(len(table.names))]
    varied = np.repeat(np.arange(len(tried)), [len(rows) for rows in tried])
    donors = np.concatenate(tried)
    return varied, [
        np.concatenate([[0], np.where(varied == column, donors, 0)]) for column in range(len(tried))
    ]


def _some_values(table: Table, column: int) -> Ints:
    """Return rows that between them have every value of a column, or many, and a missing one too."""
    cells = table.column(column)
    if table.is_numeric(column):
        rows, missing, most = table.distinct(column), np.isnan(cells), _N_NUMBERS
    else:
        rows, missing, most = first_rows(cells), cells < 0, _N_CATEGORIES
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64))]
    return np.append(some, missing.argmax())


def find_owners(encoded: Floats, varied: Ints, table: Table) -> Ints:
    """Return which column moves each feature, -1 where none does, from rows of :func:`one_by_one`."""
    same, encoded = encoded[0], encoded[1:]
    moved = (encoded != same) & ~(np.isnan(encoded) & np.isnan(same))
    owner = np.full(encoded.shape[1], -1, dtype=np.int64)
    for column in range(len(table.names)):
        features = np.flatnonzero(moved[varied == column].any(axis=0))
        shared = features[owner[features] >= 0]
        if len(shared):
            names = [table.names[int(owner[shared[0]])], table.names[column]]
            raise NotNativeError(f"a feature is made of the columns {names[0]!r} and {names[1]!r} together")
        owner[features] = column
    return owner
