"""Distances of mixed rows, one-hot blocks as the categories that they are, and the plain search.

Compiled searches are held against the plain one.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from fairshap._typing import Advance, Bools, Codes, Floats, Ints


def mean_and_scale(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the population standard deviation of each column, missing values left out.

    The scale of a constant column is 1, so that its rounding error is not blown up.
    """
    present = ~np.isnan(numbers)
    count = np.maximum(present.sum(axis=0), 1)
    # In units of the largest value, so that no square of a tiny or huge number is lost.
    size = np.where(present, np.abs(numbers), 0.0).max(axis=0, initial=0.0)
    size[size == 0] = 1.0
    units = np.where(present, numbers, 0.0) / size
    mean = units.sum(axis=0) / count
    scale = np.sqrt((np.where(present, units - mean, 0.0) ** 2).sum(axis=0) / count)
    return mean * size, np.where(scale > 1e-12, scale * size, 1.0)


# Two one-hot vectors of different categories are sqrt(2) apart.
MISMATCH = 2.0

# The categories of a run at most, so that a byte can count them.
_COUNTABLE = 255
# The distances held at a time: 128 Ki of them are 1 MiB, which stays in the processor's cache.
_BLOCK_CELLS = 1 << 17
# The cells in which one-hot blocks are looked for at a time: a wide table is never copied whole.
_COPIED_CELLS = 1 << 20

#: The nearest rows and their squared distances, there and back.
Found: TypeAlias = tuple[Ints, Floats, Ints, Floats]

# Comparisons of cells up to which numpy is done before compiled code is even loaded.
_SMALL = 50_000_000


class Costs(NamedTuple):
    """What a difference adds to the squared distance of two rows."""

    #: shape (columns of numbers,): a squared difference of one
    weights: Floats
    #: shape (columns of numbers,): a number that one of the rows lacks
    lacking: Floats
    #: shape (columns of categories,): a category that differs
    mismatch: Floats


class Terms(NamedTuple):
    """Costs in the order in which they are summed.

    First the columns of numbers that every row has, then those with missing ones, then the categories, in
    runs of columns that cost the same: mismatches are counted within a run, and the costs of the runs summed
    by themselves. It is always the same order, because ties follow the last bit.
    """

    #: shape (columns of numbers,)
    weights: Floats
    lacking: Floats
    #: shape (runs + 1,): where the runs of categories begin
    starts: Ints
    #: shape (runs,)
    mismatch: Floats


def terms_of(costs: Costs, holes: Bools) -> tuple[Ints, Ints, Terms]:
    """Return the order of the columns of numbers, that of the categories, and the costs in these orders.

    ``holes`` says which columns of numbers may have missing ones.
    """
    numbers = np.argsort(holes, kind="stable")
    categories = np.argsort(costs.mismatch, kind="stable")
    mismatch = costs.mismatch[categories]
    starts: list[int] = []
    for k in range(len(mismatch)):
        if not starts or mismatch[k] != mismatch[starts[-1]] or k - starts[-1] == _COUNTABLE:
            starts.append(k)
    terms = Terms(
        costs.weights[numbers],
        costs.lacking[numbers],
        np.array([*starts, len(mismatch)], dtype=np.int64),
        mismatch[starts],
    )
    return numbers, categories, terms


def is_large(sizes: list[tuple[int, int]], n_columns: int) -> bool:
    """Say whether searches among so many rows on either side are worth compiled code."""
    return sum(n * m for n, m in sizes) * n_columns > _SMALL


def squared_distances(
    numbers: Floats, codes: Codes, other_numbers: Floats, other_codes: Codes, holes: Bools, costs: Costs
) -> Floats:
    """Return the squared distances of rows to others, as many as their shapes make without the last axis.

    Rows of shape (n, 1, columns) and (m, columns) make n x m distances, two blocks of the same shape one for
    each pair. ``sum(weight (a - b)^2)`` over the numbers, plus what it costs for each number that is present
    on one side and missing (NaN) on the other and for each category that differs; ``holes`` says which
    columns of numbers may have missing ones.
    """
    by_number, by_category, terms = terms_of(costs, holes)
    squared = np.zeros(np.broadcast_shapes(numbers.shape[:-1], other_numbers.shape[:-1]))
    for column, weight, lacking in zip(by_number, terms.weights, terms.lacking, strict=True):
        a, b = numbers[..., column], other_numbers[..., column]
        term = b - a
        with np.errstate(over="ignore"):
            term *= term
            term *= weight
        if holes[column]:
            term = np.where(np.isnan(a) != np.isnan(b), lacking, np.where(np.isnan(term), 0.0, term))
        squared += term
    differing = np.zeros(squared.shape)
    for start, stop, mismatch in zip(terms.starts[:-1], terms.starts[1:], terms.mismatch, strict=True):
        mismatches = np.zeros(squared.shape, dtype=np.uint8)
        for column in by_category[start:stop]:
            mismatches += (codes[..., column] != other_codes[..., column]).view(np.uint8)
        differing += mismatch * mismatches
    return squared + differing


def nearest_both_ways(
    numbers: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    costs: Costs,
    *,
    holes: Bools | None = None,
    k: int = 1,
    compiled: bool = False,
    n_threads: int = 1,
    advance: Advance = None,
) -> Found:
    """Return each row's k nearest rows on the other side and their squared distances, in both directions.

    The nearest stands first; ties go to the lowest row. There are fewer columns than k if the other side has
    fewer rows. ``holes`` says which columns of numbers may have missing ones, by default those that have
    some. The result is the same, to the last bit, whether or not the code is ``compiled``, for any number of
    threads. ``advance`` is called with the number of rows, of both sides, that were finished since
    the last call; an error that it raises ends the search.
    """
    n, m = len(numbers), len(other_numbers)
    if not n or not m:
        return *_none_found(n, m, k), *_none_found(m, n, k)
    if holes is None:
        holes = np.asarray(np.isnan(numbers).any(axis=0) | np.isnan(other_numbers).any(axis=0))
    sides = numbers, codes, other_numbers, other_codes, holes, costs
    if compiled:
        from fairshap._kernels.neighbors.search import search

        return search(*sides, k=k, n_threads=n_threads, advance=advance)
    return search_plainly(*sides, k=k, advance=advance)


def search_plainly(
    numbers: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
    costs: Costs,
    *,
    k: int = 1,
    advance: Advance = None,
) -> Found:
    """Search with numpy, a block of distances at a time: what compiled searches are held against."""
    n, m = len(numbers), len(other_numbers)
    # Column by column, which is how they are read.
    other_numbers, other_codes = np.asfortranarray(other_numbers), np.asfortranarray(other_codes)
    nearest, squared = _none_found(n, m, k)
    other_nearest, other_squared = np.empty((m, 0), dtype=np.int64), np.empty((m, 0))
    size = max(1, _BLOCK_CELLS // max(m, 1))
    for block in (slice(start, min(start + size, n)) for start in range(0, n, size)):
        distances = squared_distances(
            numbers[block, None], codes[block, None], other_numbers, other_codes, holes, costs
        )
        nearest[block], squared[block] = _lowest(distances, k)
        rows, nearer = _lowest(distances.T, k)
        # The rows of the blocks ascend, so that of equally near ones the lowest stands first.
        candidates = np.hstack([other_nearest, rows + block.start])
        place, other_squared = _lowest(np.hstack([other_squared, nearer]), k)
        other_nearest = np.take_along_axis(candidates, place, axis=1)
        if advance:
            advance(block.stop - block.start)
    if advance:
        advance(m)
    return nearest, squared, other_nearest, other_squared


def nearest_plainly(
    numbers: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
    costs: Costs,
    k: int,
) -> tuple[Ints, Floats]:
    """Return the k nearest others of each row and their squared distances: the twin of a search in blocks."""
    nearest, squared = _none_found(len(numbers), len(other_numbers), k)
    size = max(1, _BLOCK_CELLS // max(len(other_numbers), 1))
    for start in range(0, len(numbers), size):
        block = slice(start, start + size)
        distances = squared_distances(
            numbers[block, None], codes[block, None], other_numbers, other_codes, holes, costs
        )
        nearest[block], squared[block] = _lowest(distances, k)
    return nearest, squared


def _none_found(n: int, m: int, k: int) -> tuple[Ints, Floats]:
    """Return room for the k nearest of m rows, for each of n."""
    return np.empty((n, min(k, m)), dtype=np.int64), np.empty((n, min(k, m)))


def _lowest(distances: Floats, k: int) -> tuple[Ints, Floats]:
    """Return where the k lowest numbers of each row stand, of equal ones the first, and the numbers."""
    ordered = distances.argmin(axis=1)[:, None] if k == 1 else distances.argsort(axis=1, kind="stable")
    place = ordered[:, :k]
    return place, np.take_along_axis(distances, place, axis=1)


def one_hot_blocks(numbers: Floats, columns: Ints) -> list[tuple[Ints, Codes]]:
    """Return the runs of the given columns in which every row has one 1 and otherwise 0.

    Each comes with the place of the 1 in every row.
    """
    n_ones, is_binary = _count_ones(numbers)
    blocks = []
    start = 0
    while start < len(columns):
        stop = start
        # A block has as many ones as there are rows: whatever else has, is looked at more closely.
        total = 0.0
        while stop < len(columns) and is_binary[columns[stop]] and total < len(numbers):
            total += n_ones[columns[stop]]
            stop += 1
        codes = _places(numbers, columns[start:stop]) if total == len(numbers) else None
        if codes is None:
            start += 1
        else:
            blocks.append((columns[start:stop], codes))
            start = stop
    return blocks


def without_one_hot(numbers: Floats, columns: Ints, weights: Floats) -> tuple[Ints, Codes, Floats]:
    """Return which of the columns stand for themselves, and the codes and the weight of each one-hot block.

    Two rows that differ in a block differ in two of its columns by one, which costs what a category that
    differs does: distances are the same, for fewer columns. ``weights`` says what a squared difference of one
    counts in each column; only a block in which that is the same becomes a category.
    """
    blocks = [block for block in one_hot_blocks(numbers, columns) if len(np.unique(weights[block[0]])) == 1]
    codes = np.empty((len(numbers), len(blocks)), dtype=np.int32)
    for k, (_, places) in enumerate(blocks):
        codes[:, k] = places
    alone = np.setdiff1d(columns, np.concatenate([columns[:0], *(run for run, _ in blocks)]))
    return alone, codes, np.array([weights[run[0]] for run, _ in blocks])


def _count_ones(numbers: Floats) -> tuple[Floats, Bools]:
    """Return how often each column is 1, if it is 0 otherwise, and whether it is."""
    n_ones = np.zeros(numbers.shape[1])
    is_binary = np.ones(numbers.shape[1], dtype=np.bool_)
    size = max(1, _COPIED_CELLS // max(1, numbers.shape[1]))
    for start in range(0, len(numbers), size):
        cells = numbers[start : start + size]
        is_binary &= ((cells == 0) | (cells == 1)).all(axis=0)
        # The sums of other columns mean nothing, even if they overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            n_ones += np.ones(len(cells)) @ cells
    return n_ones, is_binary


def _places(numbers: Floats, columns: Ints) -> Codes | None:
    """Return the place of the 1 in every row of binary columns, None unless each row has one."""
    if len(columns) < 2:
        return None
    first, width = columns[0], len(columns)
    is_run = columns[-1] - first + 1 == width
    block = numbers[:, first : first + width] if is_run else numbers[:, columns]
    # Two products: the number of ones, and the sum of their places.
    ones, places = (block @ np.column_stack([np.ones(width), np.arange(width)])).T
    return places.astype(np.int32) if (ones == 1).all() else None
