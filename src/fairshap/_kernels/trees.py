"""A tree ensemble as flat arrays."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.compiling import compiled
from fairshap._typing import Bools, Codes, Floats, Ints


class Trees(NamedTuple):
    """An ensemble as flat arrays, one entry for each node; rows come as ranks.

    A row goes left if its rank is at most the node's ``cut``, or if the node's ``table`` says so for a
    category; a rank below 0 is a missing value.
    """

    roots: Codes
    feature: Codes
    cut: Codes
    left: Codes
    right: Codes
    default_left: Bools
    table_start: Codes
    table: Bools
    value: Floats


@compiled
def active_counts(ranks: Codes, rows: Ints, references: Ints, player: Codes, n_players: int) -> Codes:
    """Return how many players have different ranks in the two rows of each pair; -1 is nobody's feature."""
    counts = np.zeros(len(rows), dtype=np.int32)
    seen = np.full(n_players, -1, dtype=np.int64)
    for i in range(len(rows)):
        x, r = ranks[rows[i]], ranks[references[i]]
        for f in range(len(player)):
            p = player[f]
            if x[f] != r[f] and p >= 0 and seen[p] != i:
                seen[p] = i
                counts[i] += 1
    return counts
