"""Rows through the trees of an ensemble, many at a time: the leaves that they reach."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshap._kernels.compiling import compiled, compiled_into_its_caller
from fairshap._kernels.trees import Trees
from fairshap._typing import Bools, Codes, Floats, Ints

#: Positions among the nodes.
Places: TypeAlias = NDArray[np.uint32]

# The rows that go down a tree together.
BLOCK = 64

# All bits but the sign.
_POSITIVE = 0x7FFFFFFF


class Descent(NamedTuple):
    """The nodes of an ensemble, laid out for steps without a branch.

    A row goes left at a node if ``(rank + bias) & _POSITIVE <= bound``: with a bias of 1 a missing value, -1,
    is below every bound, with a bias of 0 above. A leaf is its own child.

    Parameters
    ----------
    feature : ndarray of uint32, shape (nodes,)
        What each node splits on.
    bias, bound : ndarray of int32, shape (nodes,)
        How it splits.
    child : ndarray of uint32, shape (2 nodes,)
        Where a row goes that goes left, and where one that does not.
    table_start, table : ndarray
        Which categories go left, as in :class:`~fairshap._kernels.trees.Trees`.
    roots, depth : ndarray of int32, shape (trees,)
        Where each tree begins, and how many steps a row takes through it at most.
    n_switching : int
        How many trees, the first ones, split on the attribute.
    sensitive : ndarray of int, shape (the attribute's features,)
        Its features.
    """

    feature: Places
    bias: Codes
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
    asks = inner & is_sensitive[np.where(inner, trees.feature, 0)]
    switching = np.logical_or.reduceat(asks, trees.roots)
    order = np.argsort(~switching, kind="stable")
    return Descent(
        feature=np.where(inner, trees.feature, 0).astype(np.uint32),
        bias=trees.default_left.astype(np.int32),
        bound=trees.cut + trees.default_left.astype(np.int32),
        child=child.ravel().astype(np.uint32),
        table_start=trees.table_start,
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
    depth = np.zeros(len(roots), dtype=np.int32)
    while True:
        inner = child[nodes, 0] != nodes
        if not inner.any():
            return depth
        nodes, tree = child[nodes[inner]].ravel(), np.repeat(tree[inner], 2)
        depth[np.unique(tree)] += 1


@compiled
def n_lines(descent: Descent, n_alternatives: int) -> int:
    """Return how many leaves :func:`find_leaves` writes for a row."""
    return len(descent.roots) + descent.n_switching * (n_alternatives - 1)


@compiled
def find_leaves(
    descent: Descent, ranks: Codes, rows: Ints, switched: Codes, block: Codes, leaves: Codes
) -> None:
    """Write the leaf that each row reaches in each tree, with each value of the attribute that matters there.

    Parameters
    ----------
    descent : Descent
        The ensemble.
    ranks : ndarray of int32, shape (table rows, features)
        The table.
    rows : ndarray of int, shape (rows,)
        Positions in it, at most :data:`BLOCK`.
    switched : ndarray of int32, shape (rows or 1, alternatives, features)
        The attribute's values.
    block : ndarray of int32, shape (features, BLOCK)
        Room to work in.
    leaves : ndarray of int32, shape (lines, BLOCK)
        Written: for each tree that splits on the attribute a line for each value, then a line for each
        other tree.
    """
    n = len(rows)
    for j in range(n):
        for f in range(len(block)):
            block[f, j] = ranks[rows[j], f]
    n_alternatives = switched.shape[1]
    for a in range(n_alternatives):
        for f in descent.sensitive:
            for j in range(n):
                block[f, j] = switched[j if len(switched) > 1 else 0, a, f]
        for t in range(descent.n_switching):
            _descend(descent, t, block, n, leaves[t * n_alternatives + a])
    shift = descent.n_switching * (n_alternatives - 1)
    for t in range(descent.n_switching, len(descent.roots)):
        _descend(descent, t, block, n, leaves[t + shift])


@compiled
def _descend(descent: Descent, t: int, block: Codes, n: int, line: Codes) -> None:
    """Let rows go down a tree side by side: no step has to wait for the one before."""
    feature, bias, bound, child = descent.feature, descent.bias, descent.bound, descent.child
    starts, table = descent.table_start, descent.table
    # An array of its own, of which the compiler knows that no other shares its memory.
    here = np.empty(BLOCK, dtype=np.uint32)
    for j in range(n):
        here[j] = descent.roots[t]
    for _ in range(descent.depth[t]):
        _step(feature, bias, bound, child, starts, table, block, n, here)
    for j in range(n):
        line[j] = here[j]


@compiled_into_its_caller
def _step(
    feature: Places,
    bias: Codes,
    bound: Codes,
    child: Places,
    starts: Codes,
    table: Bools,
    block: Codes,
    n: int,
    here: Places,
) -> None:
    """Let rows go one step down; a row at a leaf stays there."""
    if len(table):
        for j in range(n):
            node = here[j]
            rank = block[feature[node], j]
            right = (rank + bias[node]) & _POSITIVE > bound[node]
            if rank >= 0 and starts[node] >= 0:
                right = not table[starts[node] + rank]
            here[j] = child[2 * node + int(right)]
    else:
        for j in range(n):
            node = here[j]
            # Unsigned, so that no index is looked at for being negative.
            rank = block[feature[node], np.uint64(j)]
            right = (rank + bias[node]) & _POSITIVE > bound[node]
            here[j] = child[np.uint64(2 * node) + np.uint64(right)]


@compiled
def leaf_sums(descent: Descent, value: Floats, ranks: Codes) -> Floats:
    """Return the sum of the leaves that each row reaches."""
    sums = np.zeros(len(ranks))
    block = np.empty((ranks.shape[1], BLOCK), dtype=np.int32)
    here = np.empty(BLOCK, dtype=np.uint32)
    feature, bias, bound, child = descent.feature, descent.bias, descent.bound, descent.child
    starts, table = descent.table_start, descent.table
    for start in range(0, len(ranks), BLOCK):
        n = min(BLOCK, len(ranks) - start)
        for j in range(n):
            for f in range(len(block)):
                block[f, j] = ranks[start + j, f]
        for t in range(len(descent.roots)):
            here[:] = descent.roots[t]
            for _ in range(descent.depth[t]):
                _step(feature, bias, bound, child, starts, table, block, n, here)
            for j in range(n):
                sums[start + j] += value[here[j]]
    return sums
