"""Nearest rows in both directions with compiled code, in threads, bit by bit what numpy finds."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.neighbors.blocks import Blocks, Rows, blocks_of, buckets_of
from fairshap._kernels.neighbors.distance import Costs, Found, Terms, terms_of
from fairshap._kernels.neighbors.pruning import nearest_in_blocks
from fairshap._messages import in_threads
from fairshap._typing import Advance, Bools, Codes, Floats, Ints

# The comparisons of cells in a piece of work: some hundredths of a second if nothing can be left out.
_CELLS = 400_000_000
# The queries in a piece of work at least, and the pieces for each thread.
_FEWEST, _PIECES = 16, 16


class Side(NamedTuple):
    """The rows of one side, as they are and in blocks."""

    rows: Rows
    blocks: Blocks


def search(
    numbers: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
    costs: Costs,
    *,
    k: int,
    n_threads: int,
    advance: Advance = None,
) -> Found:
    """Return what ``nearest_both_ways`` does, of two sides with rows."""
    by_number, by_category, terms = terms_of(costs, holes)
    if len(terms.mismatch) > 1:
        codes, other_codes = codes[:, by_category], other_codes[:, by_category]
    blocks = [(numbers, codes), (other_numbers, other_codes)]
    sizes = np.maximum(codes.max(axis=0), other_codes.max(axis=0)).astype(np.int64) + 2
    buckets = buckets_of(sizes, max(len(numbers), len(other_numbers)))
    narrow = np.uint8 if sizes.max(initial=0) <= 256 else np.int32
    found: dict[int, Side] = {}

    def build(i: int) -> Side:
        cells, categories = blocks[i]
        # A missing category, -1, becomes 0.
        rows = Rows(
            _filled(cells, by_number),
            np.isnan(cells[:, holes]).astype(np.uint8),
            np.add(categories, 1, dtype=np.int32).astype(narrow, order="C"),
        )
        return Side(rows, blocks_of(rows, terms, buckets))

    in_threads(build, [(0,), (1,)], n_threads, lambda item, side: found.update({item[0]: side}))
    side, other = found[0], found[1]
    return (
        *_search_blocks(side, other, terms, k, n_threads, advance),
        *_search_blocks(other, side, terms, k, n_threads, advance),
    )


def _filled(numbers: Floats, order: Ints) -> Floats:
    """Return the columns in another order, each row in one piece, with 0 where a number is missing."""
    filled: Floats = np.ascontiguousarray(numbers[:, order])
    filled[np.isnan(filled)] = 0.0
    return filled


def _search_blocks(
    side: Side, other: Side, terms: Terms, k: int, n_threads: int, advance: Advance
) -> tuple[Ints, Floats]:
    """Return the k nearest rows of the other side for each row of one, and their squared distances."""
    n, m = len(side.rows.numbers), len(other.rows.numbers)
    nearest, squared = np.empty((n, min(k, m)), dtype=np.int64), np.empty((n, min(k, m)))
    most = _CELLS // (m * (side.rows.numbers.shape[1] + side.rows.codes.shape[1] + 1))
    # Several pieces a thread, so that none waits long for another at the end.
    size = max(_FEWEST, min(most, n // (_PIECES * n_threads)))

    def work(start: int) -> int:
        order = side.blocks.order[start : start + size]
        nearest_in_blocks(side.rows, order, other.blocks, terms, nearest, squared)
        return len(order)

    in_threads(
        work,
        [(start,) for start in range(0, n, size)],
        n_threads,
        lambda _, n_rows: advance(n_rows) if advance else None,
    )
    return nearest, squared
