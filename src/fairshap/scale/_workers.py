"""What workers of other systems run: a batch in, the repaired batch with each row's edits beside it out."""

import pickle
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fairshap.edits._ledger import to_text
from fairshap.scale._repairer import RepairedBatch, Repairer

#: The column that holds a row's edits until they are taken apart.
EDITS = "__fairshap_edits"
#: An edit: the column, the old and the new value as text with their types, the Shapley value, the reference.
FIELDS = {
    "column": pa.string(),
    "old": pa.string(),
    "new": pa.string(),
    "phi": pa.float64(),
    "reference": pa.int64(),
    "old_type": pa.string(),
    "new_type": pa.string(),
}


@lru_cache(maxsize=1)
def load(content: bytes) -> Repairer:
    """Return a repairer that was pickled: one for all tasks of a process, which make its index once."""
    repairer = pickle.loads(content)  # noqa: S301 - the session's own function
    assert isinstance(repairer, Repairer)  # noqa: S101
    return repairer


def edits_by_row(found: RepairedBatch, n_rows: int) -> list[list[dict[str, Any]]]:
    """Return the edits of each row of a batch."""
    rows: list[list[dict[str, Any]]] = [[] for _ in range(n_rows)]
    edits = found.edits
    for k, row in enumerate(edits.row.tolist()):
        (old_type, old), (new_type, new) = to_text(edits.old[k]), to_text(edits.new[k])
        values = str(edits.column[k]), old, new, float(edits.phi[k]), int(edits.reference[k])
        rows[row].append(dict(zip(FIELDS, (*values, old_type, new_type), strict=True)))
    return rows


def with_edits(repairer: Repairer, batch: Any) -> Any:
    """Return a repaired batch, a frame or an Arrow table, with the edits of each row as a last column."""
    n = len(batch)
    found = repairer.repair(batch, n_jobs=1) if n else None
    rows = edits_by_row(found, n) if found else []
    X = found.X if found else batch
    if isinstance(batch, pd.DataFrame):
        cells = np.empty(n, dtype=object)
        cells[:] = rows
        return X.assign(**{EDITS: cells})
    kind = pa.list_(pa.struct(list(FIELDS.items())))
    return X.append_column(EDITS, pa.array(rows, type=kind))


def rebatched(batches: Iterator[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Yield tables of at least so many rows, the last one aside: small ones cost as much as large ones."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)
