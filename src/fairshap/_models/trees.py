"""Tree ensembles as flat arrays, whatever library they come from."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairshap._kernels.trees.ensemble import Trees, leaf_sums, make_descent, rank_numbers
from fairshap._models.scorer import NotNativeError
from fairshap._typing import Bools, Codes, Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """A tree ensemble that takes rows as ranks.

    Parameters
    ----------
    trees : Trees
        The nodes.
    features : ndarray of int
        The model's features that some tree splits on, in the order of the ranks' columns; a model without any
        split has its first one here.
    thresholds : list of ndarray
        For each of them the thresholds that it is compared with; None for a category.
    dtype, strict : type, bool
        The type in which the library compares, and whether a row goes left only below the threshold.
    base, scale, is_logistic : float, float, bool
        The output is ``base + scale * margin``, through the logistic function or as it is.
    missing : float
        The number that the model takes for a missing value, beside NaN.
    """

    trees: Trees
    features: Ints
    thresholds: list[Floats | None]
    dtype: Any
    strict: bool = False
    base: float = 0.0
    scale: float = 1.0
    is_logistic: bool = True
    missing: float = np.nan

    def ranks(self, encoded: Floats) -> Codes:
        """Return where each value stands among the thresholds of its feature; see :meth:`rank`."""
        return self.rank(np.arange(len(self.features)), encoded[:, self.features])

    def rank(self, places: Ints, values: Floats) -> Codes:
        """Return the ranks of some features, by their places in ``features``, one column for each.

        A category is its own rank; the rank of a missing value is -1.
        """
        cuts = [np.empty(0) if self.thresholds[k] is None else self.thresholds[k] for k in places]
        starts = np.cumsum([0, *(len(part) for part in cuts)])
        ranks: Codes = rank_numbers(
            # In one layout, for which there is one compiled kernel.
            np.require(values, np.float64, ["C", "W"]),
            np.concatenate([*cuts, np.empty(0)]).astype(np.float64),
            starts,
            self.strict,
            self.dtype is np.float32,
            float(self.dtype(self.missing)),
        )
        # The last place of a node's table is for categories that no split names, or that cannot be.
        n_tables = int((self.trees.table_start >= 0).sum())
        last = len(self.trees.table) // max(n_tables, 1) - 1
        for column, k in enumerate(places):
            if self.thresholds[k] is None:
                codes = values[:, column]
                known = np.where((codes >= 0) & (codes < last), codes, last)
                ranks[:, column] = np.where(ranks[:, column] < 0, -1, known)
        return ranks

    def predict(self, ranks: Codes) -> Floats:
        """Return the probability of the second class, or the prediction, for each row."""
        descent = make_descent(self.trees, np.zeros(len(self.features), dtype=np.bool_))
        output = self.base + self.scale * leaf_sums(descent, self.trees.value, ranks)
        return 1.0 / (1.0 + np.exp(-output)) if self.is_logistic else output


class Nodes(NamedTuple):
    """The nodes of all trees, one after the other, as a library has them.

    ``left`` and ``right`` are -1 at a leaf and count all nodes, not those of a tree. ``category`` names the
    nodes that split on a category, and each row of ``goes_left`` says of one of them which categories go
    left; its last place is for categories that no split names.
    """

    roots: Ints
    left: Ints
    right: Ints
    feature: Ints
    threshold: NDArray[np.floating]
    default_left: Bools
    value: NDArray[np.floating]
    category: Ints
    goes_left: Bools


def join_trees(
    counts: list[int], left: list[NDArray[Any]], right: list[NDArray[Any]]
) -> tuple[Ints, Ints, Ints]:
    """Return the roots and the children of trees whose children count the nodes of their own tree."""
    roots = np.concatenate([[0], np.cumsum(counts)])[:-1].astype(np.int64)
    shift = np.repeat(roots, counts)
    here, there = (np.concatenate(side).astype(np.int64) for side in (left, right))
    return roots, np.where(here >= 0, here + shift, -1), np.where(here >= 0, there + shift, -1)


def assemble(nodes: Nodes, dtype: Any, **options: Any) -> Ensemble:
    """Return the ensemble of nodes, whose thresholds are numbered; the rest is as in :class:`Ensemble`."""
    if not len(nodes.roots):
        raise NotNativeError("the model has no trees")
    inner = np.flatnonzero(nodes.left >= 0)
    # A walk through anything but trees might never end.
    parents = np.bincount(np.concatenate([nodes.left[inner], nodes.right[inner], nodes.roots]))
    if len(parents) > len(nodes.left) or parents.max() > 1:
        raise NotNativeError("its nodes are no trees")
    features = np.unique(nodes.feature[inner]).astype(np.int64)
    if not len(features):
        features = np.zeros(1, dtype=np.int64)
    column = np.zeros(len(nodes.left), dtype=np.int32)
    column[inner] = np.searchsorted(features, nodes.feature[inner])
    start = np.full(len(nodes.left), -1, dtype=np.int32)
    start[nodes.category] = np.arange(len(nodes.category)) * nodes.goes_left.shape[1]
    by_category = np.zeros(len(features), dtype=np.bool_)
    by_category[column[nodes.category]] = True
    numbers = inner[start[inner] < 0]
    if by_category[column[numbers]].any():
        raise NotNativeError("a feature is split as a number and as a category")
    cut = np.zeros_like(column)
    cut[numbers], cuts = _number_thresholds(column[numbers], nodes.threshold[numbers], len(features))
    trees = Trees(
        roots=nodes.roots.astype(np.int32),
        feature=column,
        cut=cut,
        left=nodes.left.astype(np.int32),
        right=nodes.right.astype(np.int32),
        default_left=nodes.default_left.astype(np.bool_),
        table_start=start,
        table=np.ascontiguousarray(nodes.goes_left).ravel(),
        value=nodes.value.astype(np.float64),
    )
    thresholds = [None if is_one else part for is_one, part in zip(by_category, cuts, strict=True)]
    return Ensemble(trees, features, thresholds, dtype, **options)


def _number_thresholds(column: Codes, threshold: NDArray[Any], n_columns: int) -> tuple[Codes, list[Floats]]:
    """Return where each node's threshold stands among its column's, and these, sorted, for each column."""
    order = np.lexsort((threshold, column))
    column, sorted_ = column[order], threshold[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (column[1:] != column[:-1]) | (sorted_[1:] != sorted_[:-1])
    starts = np.searchsorted(column[is_new], np.arange(n_columns))
    cut = np.empty(len(order), dtype=np.int32)
    cut[order] = np.cumsum(is_new) - 1 - starts[column]
    return cut, np.split(sorted_[is_new], starts[1:])
