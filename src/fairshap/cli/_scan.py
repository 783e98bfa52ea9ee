"""One pass over the columns of many files: what tells whether a model can use them, in bounded memory."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from fairshap._typing import Hashes, Ints
from fairshap.cli._columns import ColumnFacts

# The different values of a column that are told apart; of more, a part is counted that is chosen by hash.
_MOST = 1 << 18


class ColumnScan:
    """What is known of one column, chunk by chunk."""

    def __init__(self, name: str, kind: pa.DataType) -> None:
        self.name = name
        self.is_whole = pa.types.is_integer(kind)
        self.is_category = is_text(kind) or pa.types.is_dictionary(kind)
        self.n_rows = self.n_present = 0
        self.first: Any = None
        self.low: Any = None
        self.high: Any = None
        # The hashes of values that are told apart, how often each occurs, and how many bits of one must be 0.
        self.hashes: Hashes = np.empty(0, dtype=np.uint64)
        self.counts: Ints = np.empty(0, dtype=np.int64)
        self.bits = 0

    def add(self, cells: pa.ChunkedArray) -> None:
        """Add the cells of a chunk."""
        present = cells.drop_null()
        self.n_rows += len(cells)
        self.n_present += len(present)
        if not len(present):
            return
        if pa.types.is_dictionary(present.type):
            present = present.cast(present.type.value_type)
        self.first = present[0].as_py() if self.first is None else self.first
        ends = pc.min_max(present).as_py()
        self.low = ends["min"] if self.low is None else min(self.low, ends["min"])
        self.high = ends["max"] if self.high is None else max(self.high, ends["max"])
        if self.is_whole or self.is_category:
            found = pc.value_counts(present)
            values = found.field("values").to_numpy(zero_copy_only=False)
            self._count(pd.util.hash_array(values, categorize=False), found.field("counts").to_numpy())

    def _count(self, hashes: Hashes, counts: Ints) -> None:
        both, place = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        total = np.zeros(len(both), dtype=np.int64)
        np.add.at(total, place, np.concatenate([self.counts, counts]))
        self._keep(both, total)
        while len(self.hashes) > _MOST:
            self.bits += 1
            self._keep(self.hashes, self.counts)

    def _keep(self, hashes: Hashes, counts: Ints) -> None:
        kept = hashes & np.uint64((1 << self.bits) - 1) == 0
        self.hashes, self.counts = hashes[kept], counts[kept]

    @property
    def facts(self) -> ColumnFacts:
        """What was found."""
        is_counted = self.is_whole or self.is_category
        # Of other columns it is only asked whether they are constant.
        n_values = len(self.hashes) << self.bits if is_counted else 1 + int(self.low != self.high)
        is_each_once = is_counted and bool(len(self.counts)) and int(self.counts.max()) == 1
        span = self.high - self.low + 1 if self.is_whole and self.n_present else 0
        kinds = self.name, self.is_category, self.is_whole
        return ColumnFacts(*kinds, self.n_rows, self.n_present, n_values, is_each_once, self.first, span)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
