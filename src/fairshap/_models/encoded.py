"""A table that is transformed once: rows are mixed after the preprocessing, before a model that is called."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, csr_matrix, issparse, sparray
from sklearn.pipeline import make_pipeline

from fairshap._frames import Table
from fairshap._models.probing import (
    ENCODED_CELLS,
    UNOWNED,
    check_outputs,
    check_sources,
    find_owners,
    one_by_one,
    to_numbers,
    transform,
)
from fairshap._models.scorer import CALL_CELLS, NotNativeError, Risk, rows_of, split
from fairshap._typing import Floats, Ints

# The cells of a table that is held encoded: 128 Mi numbers are 1 GiB.
_MOST_CELLS = 1 << 27


class EncodedRisk(Risk):
    """The risk of a model behind preprocessing whose first steps, or all, work column by column.

    What comes after these steps, such as principal components, is called with the model. A NotNativeError
    says that the first step mixes columns, that there is none, or that the encoded table would be too large.
    """

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk.scorer, risk.problem)
        steps, model = split(risk.scorer.model)
        table = risk.problem.table
        n_steps, owner, example = _probe(steps, table)
        if table.n_rows * len(owner) > _MOST_CELLS:
            raise NotNativeError(f"the encoded table would have {table.n_rows} rows of {len(owner)} features")
        self.call_rows = min(
            self.call_rows, max(1, CALL_CELLS // (len(owner) * risk.problem.groups.donors.shape[1]))
        )
        self._column = np.maximum(owner, 0)
        self._encode(steps[:n_steps], table, owner)
        # The same scorer, warned of already, for what is left of the model.
        self._inner = copy.copy(risk.scorer)
        self._inner.model = make_pipeline(*steps[n_steps:], model) if steps[n_steps:] else model
        sources = check_sources(table, np.arange(len(table.names)))
        refusal: Exception | None = None
        # Most models take a dense table for a sparse one, which is quicker, but not for nearest neighbors.
        is_kept = not hasattr(example, "tocsr") or issparse(getattr(model, "_fit_X", None))
        dense = [] if is_kept else [self._cells.T]
        for container in (*dense, example):
            self._example = container
            try:
                check_outputs(risk.scorer, table, sources, self.score(sources), "mixed encoded rows")
                return
            except Exception as error:
                refusal = error
        raise NotNativeError(f"the model does not take rows that are encoded before ({refusal})") from refusal

    def _encode(self, steps: list[Any], table: Table, owner: Ints) -> None:
        """Transform the table, and keep it feature by feature."""
        self._cells = np.empty((len(owner), table.n_rows))
        size = max(1, ENCODED_CELLS // len(owner))
        for start in range(0, table.n_rows, size):
            rows = np.arange(start, min(start + size, table.n_rows))
            self._cells[:, rows] = to_numbers(transform(steps, rows_of(table, rows))).T
        rest = self._cells[owner < 0]
        if ((rest != rest[:, :1]) & ~(np.isnan(rest) & np.isnan(rest[:, :1]))).any():
            raise NotNativeError(UNOWNED)

    def score(self, sources: Sequence[Ints]) -> Floats:
        """Return the scores of rows whose column j is that of the rows ``sources[j]``."""
        mixed = np.empty((len(self._cells), len(sources[0])))
        for feature, values, column in zip(mixed, self._cells, self._column, strict=True):
            values.take(sources[column], out=feature, mode="clip")
        return self._inner(self._like_example(mixed.T))

    def _like_example(self, mixed: Floats) -> Any:
        """Return numbers in the container that the model was given."""
        example = self._example
        if isinstance(example, pd.DataFrame):
            return pd.DataFrame(mixed, columns=example.columns).astype(example.dtypes)
        if hasattr(example, "tocsr"):
            return (csr_array if isinstance(example, sparray) else csr_matrix)(mixed)
        return mixed.astype(example.dtype, copy=False)


def _probe(steps: list[Any], table: Table) -> tuple[int, Ints, Any]:
    """Return how many of the first steps work column by column, the column of each feature, and some rows."""
    found: tuple[int, Ints, Any] | None = None
    refusal = NotNativeError("it has no preprocessing")
    varied, changes = one_by_one(table)
    encoded = table.store.mix(changes)
    for k, step in enumerate(steps):
        encoded = transform([step], encoded)
        try:
            found = k + 1, find_owners(to_numbers(encoded), varied, table), encoded
        except NotNativeError as error:
            refusal = error
    if found is None:
        raise refusal
    return found
