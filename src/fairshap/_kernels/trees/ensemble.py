"""An ensemble of trees as flat arrays, the ranks of numbers in it, and rows on their way to the leaves."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshap._kernels.compiling import compiled
from fairshap._typing import Bools, Codes, Floats, Ints

#: Positions among the nodes.
Places: TypeAlias = NDArray[np.uint32]
# The rows that go down a tree together.
BLOCK = 64
# All bits but the sign.
POSITIVE = 0x7FFFFFFF


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


@compiled
def rank_numbers(
    values: Floats, cuts: Floats, starts: Ints, strict: bool, single: bool, missing: float
) -> Codes:
    """Return how many thresholds of its column each value is above, -1 where it is missing.

    Parameters
    ----------
    values : ndarray, shape (rows, columns)
        The numbers.
    cuts, starts : ndarray, shape (thresholds,), (columns + 1,)
        The thresholds, sorted, one column's after the other's, and where each column's start.
    strict : bool
        Whether a value at a threshold is above it.
    single : bool
        Whether values are compared in single precision.
    missing : float
        The number that is a missing value, beside NaN.
    """
    ranks = np.empty(values.shape, dtype=np.int32)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if single:
                value = np.float64(np.float32(value))
            if np.isnan(value) or value == missing:
                ranks[i, j] = -1
                continue
            low, high = starts[j], starts[j + 1]
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] < value or (strict and cuts[middle] == value):
                    low = middle + 1
                else:
                    high = middle
            ranks[i, j] = low - starts[j]
    return ranks


@compiled
def note_special(values: Floats, start: int, special: Ints, least: Floats, greatest: Floats) -> None:
    """Note for each column the first row with a missing value, with a zero, the least and the greatest.

    Parameters
    ----------
    values : ndarray, shape (rows, columns)
        Some rows of a table.
    start : int
        The number of the first of them.
    special : ndarray of int, shape (4, columns)
        Those rows, written; -1 while there is none.
    least, greatest : ndarray, shape (columns,)
        The least and the greatest number up to now, written.
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if np.isnan(value):
                if special[0, j] < 0:
                    special[0, j] = start + i
                continue
            if value == 0.0 and special[1, j] < 0:
                special[1, j] = start + i
            if value < least[j]:
                least[j] = value
                special[2, j] = start + i
            if value > greatest[j]:
                greatest[j] = value
                special[3, j] = start + i


class Descent(NamedTuple):
    """The nodes of an ensemble, laid out for steps without a branch.

    A row goes right at a node if its cell in the node's line is above the bound. Each feature has two
    lines: in the first a missing value is above every bound, in the second below. A leaf is its own child.

    Parameters
    ----------
    line : ndarray of uint32, shape (nodes,)
        What each node looks at: twice its feature, and one more where missing values go left.
    bound : ndarray of int32, shape (nodes,)
        How it splits.
    child : ndarray of uint32, shape (2 nodes,)
        Where a row goes that goes left, and where one that does not.
    table_start, table : ndarray
        Which categories go left, as in :class:`Trees`; none for the attribute.
    roots, depth : ndarray of int32, shape (trees,)
        Where each tree begins, and how many steps a row takes through it at most.
    n_switching : int
        How many trees, the first ones, split on the attribute.
    sensitive : ndarray of int, shape (the attribute's features,)
        Its features.
    """

    line: Places
    bound: Codes
    child: Places
    table_start: Codes
    table: Bools
    roots: Codes
    depth: Codes
    n_switching: int
    sensitive: Ints


def make_descent(trees: Trees, is_sensitive: Bools) -> Descent:
    """Return the nodes of an ensemble, some of whose features are the attribute's."""
    inner = trees.left >= 0
    here = np.arange(len(trees.left), dtype=np.int32)
    child = np.where(inner[:, None], np.column_stack([trees.left, trees.right]), here[:, None])
    depth = _depths(child, trees.roots)
    feature = np.where(inner, trees.feature, 0)
    asks = inner & is_sensitive[feature]
    switching = np.logical_or.reduceat(asks, trees.roots)
    order = np.argsort(~switching, kind="stable")
    return Descent(
        line=(2 * feature + trees.default_left).astype(np.uint32),
        bound=trees.cut + trees.default_left.astype(np.int32),
        child=child.ravel().astype(np.uint32),
        table_start=np.where(asks, np.int32(-1), trees.table_start),
        table=trees.table,
        roots=trees.roots[order],
        depth=depth[order],
        n_switching=int(switching.sum()),
        sensitive=np.flatnonzero(is_sensitive),
    )


def _depths(child: NDArray[Any], roots: Codes) -> Codes:
    """Return the greatest depth of each tree, level by level."""
    tree = np.arange(len(roots))
    nodes = roots.astype(np.int64)
    depth, level = np.zeros(len(roots), dtype=np.int32), 0
    while True:
        level += 1
        inner = child[nodes, 0] != nodes
        if not inner.any():
            return depth
        nodes, tree = child[nodes[inner]].ravel(), np.repeat(tree[inner], 2)
        depth[tree] = level


@compiled
def _fill_block(ranks: Codes, rows: Ints, block: Codes) -> None:
    """Write both lines of all features of at most :data:`BLOCK` rows."""
    for j in range(len(rows)):
        for f in range(ranks.shape[1]):
            rank = ranks[rows[j], f]
            block[2 * f, j] = rank & POSITIVE
            block[2 * f + 1, j] = (rank + 1) & POSITIVE


@compiled
def find_partings(
    descent: Descent,
    n_trees: int,
    ranks: Codes,
    rows: Ints,
    references: Ints,
    blocks: Codes,
    partings: Codes,
) -> None:
    """Write where the two rows of each pair part in each of the first trees, or the leaf that both reach.

    At a split on the attribute they part in any case.

    Parameters
    ----------
    descent : Descent
        The ensemble.
    n_trees : int
        How many of its trees.
    ranks : ndarray of int32, shape (table rows, features)
        The table.
    rows, references : ndarray of int, shape (pairs,)
        Positions in it, at most :data:`BLOCK` of each.
    blocks : ndarray of int32, shape (2, 2 features, BLOCK)
        Room to work in.
    partings : ndarray of int32, shape (trees, BLOCK)
        Written: for each tree the node of each pair.
    """
    own, other = blocks[0], blocks[1]
    _fill_block(ranks, rows, own)
    _fill_block(ranks, references, other)
    for f in descent.sensitive:
        for j in range(len(rows)):
            own[2 * f, j], own[2 * f + 1, j] = 0, 0
            other[2 * f, j], other[2 * f + 1, j] = POSITIVE, POSITIVE
    line, bound, child = descent.line, descent.bound, descent.child
    starts, table = descent.table_start, descent.table
    # An array of its own, of which the compiler knows that no other shares its memory.
    here = np.empty(BLOCK, dtype=np.uint32)
    n = len(rows)
    for t in range(n_trees):
        here[:] = descent.roots[t]
        for _ in range(descent.depth[t]):
            if len(table):
                for j in range(n):
                    node = here[j]
                    one = _goes_right(line, bound, starts, table, node, own, j)
                    if one == _goes_right(line, bound, starts, table, node, other, j):
                        here[j] = child[2 * node + int(one)]
            else:
                for j in range(n):
                    node = here[j]
                    one = own[line[node], np.uint64(j)] > bound[node]
                    parts = one != (other[line[node], np.uint64(j)] > bound[node])
                    # Unsigned, so that no index is looked at for being negative.
                    next_one = child[np.uint64(2 * node) + np.uint64(one)]
                    here[j] = node if parts else next_one
        for j in range(n):
            partings[t, j] = here[j]


@compiled
def _goes_right(
    line: Places, bound: Codes, starts: Codes, table: Bools, node: int, block: Codes, j: int
) -> bool:
    rank = block[line[node] & ~np.uint32(1), j]
    if rank != POSITIVE and starts[node] >= 0:
        return not table[starts[node] + rank]
    return block[line[node], j] > bound[node]  # type: ignore[no-any-return]


@compiled
def leaf_sums(descent: Descent, value: Floats, ranks: Codes) -> Floats:
    """Return the sum of the leaves that each row reaches."""
    sums = np.zeros(len(ranks))
    block = np.empty((2 * ranks.shape[1], BLOCK), dtype=np.int32)
    here = np.empty(BLOCK, dtype=np.uint32)
    line, bound, child = descent.line, descent.bound, descent.child
    starts, table = descent.table_start, descent.table
    for start in range(0, len(ranks), BLOCK):
        n = min(BLOCK, len(ranks) - start)
        _fill_block(ranks, np.arange(start, start + n), block)
        for t in range(len(descent.roots)):
            here[:] = descent.roots[t]
            for _ in range(descent.depth[t]):
                if len(table):
                    for j in range(n):
                        right = _goes_right(line, bound, starts, table, here[j], block, j)
                        here[j] = child[2 * here[j] + int(right)]
                else:
                    for j in range(n):
                        node = here[j]
                        right = block[line[node], np.uint64(j)] > bound[node]
                        here[j] = child[np.uint64(2 * node) + np.uint64(right)]
            for j in range(n):
                sums[start + j] += value[here[j]]
    return sums
