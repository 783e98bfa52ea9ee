"""Nearest rows in both directions with compiled code, in threads, bit by bit what numpy finds."""

from typing import NamedTuple

import numpy as np

from fairshap._kernels.blocks import Blocks, blocks_of, buckets_of
from fairshap._kernels.costs import Costs, Terms, terms_of
from fairshap._kernels.distance import Found
from fairshap._kernels.nearest import nearest_rows
from fairshap._kernels.ordering import ROWS, Rows
from fairshap._kernels.pruning import nearest_in_blocks
from fairshap._threads import in_threads
from fairshap._typing import Advance, Bools, Codes, Floats, Ints

# The comparisons of cells in a piece of work: some hundredths of a second if nothing can be left out.
_CELLS = 400_000_000
# The queries in a piece of work at least, and the pieces for each thread.
_FEWEST, _PIECES = 16, 16

# The queries that are tried, in runs of similar ones, to see how many blocks can be left out.
_TRIED, _RUN = 128, 16
# How much longer a row takes in a block that is looked into than in a long run of rows.
_PRICE = 2.0


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
    """Return what :func:`fairshap._kernels.distance.nearest_both_ways` does, of two sides with rows."""
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
    if k == 1 and _is_hard(side, other, terms):
        return _search_everything(side.rows, other.rows, terms, n_threads, advance)
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
    most = _CELLS // (m * (_n_columns(side.rows) + 1))
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


def _is_hard(side: Side, other: Side, terms: Terms) -> bool:
    """Say whether looking into blocks, there and back, would take longer than taking every distance once."""
    n_pairs = 0.0
    for queries, references in ((side, other), (other, side)):
        n = len(queries.rows.numbers)
        step = max(_RUN, n // (_TRIED // _RUN))
        nearest, squared = np.empty((n, 1), dtype=np.int64), np.empty((n, 1))
        tried = np.concatenate([queries.blocks.order[start : start + _RUN] for start in range(0, n, step)])
        n_visited = nearest_in_blocks(queries.rows, tried, references.blocks, terms, nearest, squared)
        n_pairs += n_visited * ROWS * n / len(tried)
    return _PRICE * n_pairs > len(side.rows.numbers) * len(other.rows.numbers)


def _search_everything(rows: Rows, others: Rows, terms: Terms, n_threads: int, advance: Advance) -> Found:
    """Return the nearest rows both ways in one pass over all distances, a square of them at a time."""
    n, m = len(rows.numbers), len(others.numbers)
    columns, other_columns = _by_column(rows), _by_column(others)
    ours = np.full(n, m), np.full(n, np.inf)
    theirs = np.full(m, n), np.full(m, np.inf)
    width = int(np.sqrt(_CELLS / (_n_columns(rows) + 1)))

    def work(start: int, other_start: int) -> Found:
        stop, other_stop = min(start + width, n), min(other_start + width, m)
        found = (
            np.full(stop - start, other_start),
            np.full(stop - start, np.inf),
            np.full(other_stop - other_start, start),
            np.full(other_stop - other_start, np.inf),
        )
        nearest_rows(columns, other_columns, terms, start, stop, other_start, other_stop, *found)
        return found

    n_pairs, n_told = 0, 0

    def keep(item: tuple[int, ...], found: Found) -> None:
        nonlocal n_pairs, n_told
        _keep_nearer(*ours, item[0], *found[:2])
        _keep_nearer(*theirs, item[1], *found[2:])
        n_pairs += len(found[0]) * len(found[2])
        if advance:
            # A row is finished only with the last square: the share of the distances stands for it.
            n_done = n_pairs * (n + m) // (n * m)
            advance(n_done - n_told)
            n_told = n_done

    squares = [(start, other) for start in range(0, n, width) for other in range(0, m, width)]
    in_threads(work, squares, n_threads, keep)
    return ours[0][:, None], ours[1][:, None], theirs[0][:, None], theirs[1][:, None]


def _keep_nearer(nearest: Ints, squared: Floats, start: int, rows: Ints, distances: Floats) -> None:
    """Lower the nearest rows from ``start`` on; of equally near ones the lowest stays."""
    part = slice(start, start + len(rows))
    nearer = (distances < squared[part]) | ((distances == squared[part]) & (rows < nearest[part]))
    nearest[part][nearer] = rows[nearer]
    squared[part][nearer] = distances[nearer]


def _by_column(rows: Rows) -> Rows:
    """Return the rows turned round: each column in one piece."""
    numbers, missing, codes = rows
    return Rows(
        np.ascontiguousarray(numbers.T), np.ascontiguousarray(missing.T), np.ascontiguousarray(codes.T)
    )


def _n_columns(rows: Rows) -> int:
    return int(rows.numbers.shape[1] + rows.codes.shape[1])
