"""Exact nearest neighbours of mixed rows, block by block."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fairshap._typing import Bools, Codes, Floats, Ints

# Two one-hot vectors of different categories are sqrt(2) apart.
MISMATCH = 2.0

# The distances held at a time: 4 Mi of them are 32 MiB.
_BLOCK_CELLS = 1 << 22

# Comparisons of cells up to which numpy is done before compiled code is even loaded.
_SMALL = 50_000_000


def is_large(sizes: list[tuple[int, int]], n_columns: int) -> bool:
    """Say whether searches among so many rows on either side are worth compiled code."""
    return sum(n * m for n, m in sizes) * n_columns > _SMALL


def squared_distances(
    numbers: Floats,
    weights: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
) -> Floats:
    """Return the squared distance of every row of the first block to every row of the second.

    ``sum(weight (a - b)^2)`` over the numbers, plus ``MISMATCH`` for each category that differs and
    for each number that is present on one side and missing (NaN) on the other; ``holes`` says which
    columns of numbers may have missing ones. The columns without holes come first, then those with, then
    the categories: always in this order, because ties follow the last bit.
    """
    squared = np.zeros((len(numbers), len(other_numbers)))
    for column in _in_order(holes):
        a, b = numbers[:, column, None], other_numbers[None, :, column]
        gap = b - a
        with np.errstate(over="ignore"):
            term = weights[column] * (gap * gap)
        if holes[column]:
            term = np.where(np.isnan(a) != np.isnan(b), MISMATCH, np.nan_to_num(term))
        squared += term
    mismatches = np.zeros(squared.shape, dtype=np.int32)
    for a, b in zip(codes.T, other_codes.T, strict=True):
        mismatches += a[:, None] != b[None, :]
    return squared + MISMATCH * mismatches


def nearest_both_ways(
    numbers: Floats,
    weights: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    *,
    compiled: bool = False,
    n_threads: int = 1,
) -> tuple[Ints, Floats, Ints, Floats]:
    """Return each row's nearest row on the other side, in both directions, in one pass.

    The result is the same, to the last bit, whether or not the code is ``compiled``.

    Returns
    -------
    nearest, squared : ndarray, shape (rows of the first block,)
        The nearest row of the second block and its squared distance; ties go to the lowest row.
    other_nearest, other_squared : ndarray, shape (rows of the second block,)
        The same, the other way round.
    """
    holes: Bools = np.asarray(np.isnan(numbers).any(axis=0) | np.isnan(other_numbers).any(axis=0))
    if compiled:
        return _search_compiled(numbers, weights, codes, other_numbers, other_codes, holes, n_threads)
    return _search_blocks(numbers, weights, codes, other_numbers, other_codes, holes)


def _search_blocks(
    numbers: Floats,
    weights: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
) -> tuple[Ints, Floats, Ints, Floats]:
    """Search with numpy, a block of distances at a time."""
    n, m = len(numbers), len(other_numbers)
    nearest = np.empty(n, dtype=np.int64)
    squared = np.empty(n)
    other_nearest = np.zeros(m, dtype=np.int64)
    other_squared = np.full(m, np.inf)
    for block in _blocks(n, m):
        distances = squared_distances(
            numbers[block], weights, codes[block], other_numbers, other_codes, holes
        )
        nearest[block] = distances.argmin(axis=1)
        squared[block] = distances[np.arange(len(distances)), nearest[block]]
        row = distances.argmin(axis=0)
        best = distances[row, np.arange(m)]
        # Strictly nearer: of equally near rows the first block's, so the lowest, stays.
        nearer = best < other_squared
        other_squared[nearer] = best[nearer]
        other_nearest[nearer] = row[nearer] + block.start
    return nearest, squared, other_nearest, other_squared


def _search_compiled(
    numbers: Floats,
    weights: Floats,
    codes: Codes,
    other_numbers: Floats,
    other_codes: Codes,
    holes: Bools,
    n_threads: int,
) -> tuple[Ints, Floats, Ints, Floats]:
    """Search with compiled code, a share of the rows in each thread."""
    from fairshap._kernels.nearest import nearest_rows

    order = _in_order(holes)
    columns, other_columns = (
        np.nan_to_num(np.ascontiguousarray(block[:, order].T), copy=False)
        for block in (numbers, other_numbers)
    )
    missing, other_missing = (
        np.ascontiguousarray(np.isnan(block[:, holes]).T.astype(np.uint8))
        for block in (numbers, other_numbers)
    )
    narrow = np.uint8 if max(codes.max(initial=0), other_codes.max(initial=0)) < 255 else np.int32
    # A missing category, -1, becomes 255 as a byte: still a value of its own.
    bytes_, other_bytes = (np.ascontiguousarray(block.T.astype(narrow)) for block in (codes, other_codes))
    n, m = len(numbers), len(other_numbers)
    nearest, squared = np.empty(n, dtype=np.int64), np.empty(n)
    bounds = np.linspace(0, n, min(n_threads, n) + 1).astype(np.int64)

    def search(start: int, stop: int) -> tuple[Ints, Floats]:
        other_nearest, other_squared = np.zeros(m, dtype=np.int64), np.full(m, np.inf)
        nearest_rows(
            columns,
            weights[order],
            missing,
            bytes_,
            other_columns,
            other_missing,
            other_bytes,
            MISMATCH,
            start,
            stop,
            nearest,
            squared,
            other_nearest,
            other_squared,
        )
        return other_nearest, other_squared

    with ThreadPoolExecutor(len(bounds) - 1) as pool:
        parts = list(pool.map(search, bounds[:-1].tolist(), bounds[1:].tolist()))
    other_nearest, other_squared = parts[0]
    for rows, distances in parts[1:]:
        # The threads' rows ascend, so that of equally near ones the lowest stays.
        nearer = distances < other_squared
        other_squared[nearer] = distances[nearer]
        other_nearest[nearer] = rows[nearer]
    return nearest, squared, other_nearest, other_squared


def _in_order(holes: Bools) -> Ints:
    """Return the columns of numbers in the order in which their terms are summed."""
    return np.argsort(holes, kind="stable")


def _blocks(n: int, m: int) -> Iterator[slice]:
    size = max(1, _BLOCK_CELLS // max(m, 1))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
