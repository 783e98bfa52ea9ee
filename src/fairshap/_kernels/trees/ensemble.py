"""An ensemble of trees as flat arrays, the ranks of numbers in it, and rows on their way to the leaves."""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshap._kernels.compiling import compiled, compiled_with_memory, inner
from fairshap._typing import Bools, Codes, Floats, Ints

#: Positions among the nodes.
Places: TypeAlias = NDArray[np.uint32]
# The rows that go down a tree together, and those whose leaves are summed at a time.
BLOCK, _ROWS = 64, 1024
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


class Descent(NamedTuple):
    """The nodes of an ensemble, laid out for steps without a branch.

    A row goes right at a node if its cell in the node's line is above the bound. Each feature has two
    lines: in the first a missing value is above every bound, in the second below.
    """

    #: What each node looks at: twice its feature, and one more where missing values go left
    line: Places
    bound: Codes
    #: shape (2 nodes,): where a row goes that goes left, and where one that does not; a leaf is its own child
    child: Places
    #: Which categories go left, as in ``Trees``; none for the attribute
    table_start: Codes
    table: Bools
    #: Where each tree begins, and how many steps a row takes through it at most
    roots: Codes
    depth: Codes
    #: How many trees, the first ones, split on the attribute
    n_switching: int
    #: The attribute's features
    sensitive: Ints


class Output(NamedTuple):
    """What is made of margins: ``base + scale * margin``, through the logistic function or as it is."""

    base: float
    scale: float
    is_logistic: bool
    #: shape (contrasts, 2): which values of the attribute are compared; none where the output itself matters
    contrasts: Ints
    #: Whether the risk is the mean of their gaps or the largest
    is_mean: bool


class Ways(NamedTuple):
    """The ways through an ensemble, and the rows that take them."""

    #: shape (nodes, 4): a node's line and bound, as in ``Descent``, and its children: they are read together;
    #: the complement of the line where its feature is the attribute's
    nodes: Codes
    #: Which categories go left, as in ``Trees``
    table_start: Codes
    table: Bools
    #: shape (nodes, 3): the leaves' values, ``exp(-scale * value)`` and its inverse
    leaf: Floats
    roots: Codes
    #: How many trees, the first ones, split on the attribute
    n_switching: int
    #: shape (rows, features): the table
    ranks: Codes
    #: shape (features,): whose each feature is; -1 nobody's
    player: Codes


class Walker(NamedTuple):
    """An ensemble, a table and an attribute as the kernels take them."""

    ways: Ways
    descent: Descent
    output: Output
    #: How many trees matter: for a gap without a link, those that split on the attribute
    n_trees: int
    depth: int
    n_leaves: int
    n_players: int


def make_descent(trees: Trees, is_sensitive: Bools) -> Descent:
    """Return the nodes of an ensemble, some of whose features are the attribute's."""
    inside = trees.left >= 0
    here = np.arange(len(trees.left), dtype=np.int32)
    child = np.where(inside[:, None], np.column_stack([trees.left, trees.right]), here[:, None])
    depth = _depths(child, trees.roots)
    feature = np.where(inside, trees.feature, 0)
    asks = inside & is_sensitive[feature]
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
        is_inside = child[nodes, 0] != nodes
        if not is_inside.any():
            return depth
        nodes, tree = child[nodes[is_inside]].ravel(), np.repeat(tree[is_inside], 2)
        depth[tree] = level


def make_walker(
    trees: Trees,
    is_sensitive: Bools,
    ranks: Codes,
    player: Codes,
    n_players: int,
    contrasts: Ints,
    is_mean: bool,
    base: float,
    scale: float,
    is_logistic: bool,
) -> Walker:
    """Return the walker of an ensemble, some of whose features are the attribute's."""
    inside = trees.left >= 0
    descent = make_descent(trees, is_sensitive)
    line = descent.line.astype(np.int32)
    line = np.where(inside & is_sensitive[trees.feature], ~line, line)
    children = descent.child.reshape(-1, 2).astype(np.int32)
    with np.errstate(over="ignore"):
        odds, inverse = np.exp(-scale * trees.value), np.exp(scale * trees.value)
    ways = Ways(
        nodes=np.column_stack([line, descent.bound, children]),
        table_start=trees.table_start,
        table=trees.table,
        leaf=np.column_stack([trees.value, odds, inverse]),
        roots=descent.roots,
        n_switching=descent.n_switching,
        ranks=ranks,
        player=player,
    )
    return Walker(
        ways,
        descent,
        Output(base, scale, is_logistic, contrasts, is_mean),
        n_trees=descent.n_switching if len(contrasts) and not is_logistic else len(descent.roots),
        depth=int(descent.depth.max()),
        n_leaves=int((~inside).sum()),
        n_players=n_players,
    )


def coalition_weights(most: int) -> Floats:
    """Return the weight of every coalition in a player's Shapley value, for games of 0 to ``most`` players.

    With w(s) = 1 / (q C(q - 1, s)) and 0 outside 0 to q - 1, ``phi_k`` is the sum over the S with k of
    ``(w(|S| - 1) + w(|S|)) v(S)`` minus the sum over all S of ``w(|S|) v(S)``. The first weights are
    returned, those of q players from position 2^q on. The second sum is the same for all players, and follows
    from their values' adding up to the gain.
    """
    sizes = np.bitwise_count(np.arange(1 << most)).astype(np.intp)
    weights = np.zeros(2 << most)
    for q in range(1, most + 1):
        single = np.array([0.0, *(1.0 / (q * math.comb(q - 1, size)) for size in range(q)), 0.0])
        # Sizes are never out of range, so that clipping, which is quicker than looking, changes none.
        np.take(single[:-1] + single[1:], sizes[: 1 << q], out=weights[1 << q : 2 << q], mode="clip")
    return weights


def active_counts(ranks: Codes, rows: Ints, references: Ints, player: Codes, n_players: int) -> Codes:
    """Return how many players have different ranks in the two rows of each pair; -1 is nobody's feature."""
    counts = np.zeros(len(rows), dtype=np.int32)
    _count_active(ranks, rows, references, player, np.full(n_players, -1), counts)
    return counts


@compiled
def _count_active(
    ranks: Codes, rows: Ints, references: Ints, player: Codes, seen: Ints, counts: Codes
) -> None:
    for i in range(len(rows)):
        x, r = rows[i], references[i]
        for f in range(len(player)):
            p = player[f]
            if ranks[x, f] != ranks[r, f] and p >= 0 and seen[p] != i:
                seen[p] = i
                counts[i] += 1


def rank_numbers(
    values: Floats, cuts: Floats, starts: Ints, strict: bool, single: bool, missing: float
) -> Codes:
    """Return how many thresholds of its column each value is above, -1 where it is missing.

    ``cuts`` holds the thresholds, sorted, one column's after the other's, and ``starts`` where each column's
    start. ``strict`` says whether a value at a threshold is above it, ``single`` whether values are compared
    in single precision; ``missing`` is the number that is a missing value, beside NaN.
    """
    ranks = np.empty(values.shape, dtype=np.int32)
    _rank(values, cuts, starts, strict, single, missing, ranks)
    return ranks


@compiled
def _rank(
    values: Floats, cuts: Floats, starts: Ints, strict: bool, single: bool, missing: float, ranks: Codes
) -> None:
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if single:
                value = np.float64(np.float32(value))
            if math.isnan(value) or value == missing:
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


@compiled
def note_special(values: Floats, start: int, special: Ints, least: Floats, greatest: Floats) -> None:
    """Note for each column the first row with a missing value, with a zero, the least and the greatest.

    ``values`` are the rows from ``start`` on; ``special``, of shape (4, columns), holds -1 while there is no
    such row, ``least`` and ``greatest`` the numbers up to now.
    """
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            value = values[i, j]
            if math.isnan(value):
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


def find_partings(descent: Descent, n_trees: int, ranks: Codes, rows: Ints, references: Ints) -> Codes:
    """Return where the two rows of each pair part in each of the first trees, or the leaf that both reach.

    At a split on the attribute they part in any case. The shape is (blocks, trees, BLOCK), with one place for
    each pair of a block.
    """
    partings = np.zeros((-(-len(rows) // BLOCK), n_trees, BLOCK), dtype=np.int32)
    both = np.empty((2, 2 * ranks.shape[1], BLOCK), dtype=np.int32)
    _find_partings(descent, ranks, rows, references, both, partings)
    return partings


@compiled_with_memory
def _find_partings(
    descent: Descent, ranks: Codes, rows: Ints, references: Ints, both: Codes, partings: Codes
) -> None:
    """Write the partings, one block of pairs after the other, in ``both`` lines of their features."""
    line, bound, child = descent.line, descent.bound, descent.child
    starts, table, sensitive = descent.table_start, descent.table, descent.sensitive
    own, other = both[0], both[1]
    # An array of its own, of which the compiler knows that no other shares its memory.
    here = np.empty(BLOCK, dtype=np.uint32)
    for block in range(len(partings)):
        first = block * BLOCK
        n = min(BLOCK, len(rows) - first)
        for j in range(n):
            x, r = rows[first + j], references[first + j]
            for f in range(ranks.shape[1]):
                own[2 * f, j], other[2 * f, j] = ranks[x, f] & POSITIVE, ranks[r, f] & POSITIVE
                own[2 * f + 1, j] = (ranks[x, f] + 1) & POSITIVE
                other[2 * f + 1, j] = (ranks[r, f] + 1) & POSITIVE
            for k in range(len(sensitive)):
                f = 2 * sensitive[k]
                own[f, j], own[f + 1, j], other[f, j], other[f + 1, j] = 0, 0, POSITIVE, POSITIVE
        for t in range(partings.shape[1]):
            for j in range(n):
                here[j] = descent.roots[t]
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
                partings[block, t, j] = here[j]


@inner
def _goes_right(
    line: Places, bound: Codes, starts: Codes, table: Bools, node: int, block: Codes, j: int
) -> bool:
    rank = block[line[node] & ~np.uint32(1), j]
    if rank != POSITIVE and starts[node] >= 0:
        return not table[starts[node] + rank]
    return block[line[node], j] > bound[node]  # type: ignore[no-any-return]


def leaf_sums(descent: Descent, value: Floats, ranks: Codes) -> Floats:
    """Return the sum of the leaves that each row reaches; no feature is the attribute's."""
    sums = np.empty(len(ranks))
    for start in range(0, len(ranks), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(ranks)))
        # A row never parts from itself.
        leaves = find_partings(descent, len(descent.roots), ranks, rows, rows)
        sums[rows] = value[leaves].sum(axis=1).ravel()[: len(rows)]
    return sums
