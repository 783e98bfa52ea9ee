"""Disparate impact removal: the numbers of all groups aligned, quantile by quantile (DIR in the paper)."""

import numpy as np


def remove_impact(X: np.ndarray, sensitive: int) -> np.ndarray:
    """Return the rows with each column moved to the medians of the groups' quantiles.

    After Feldman et al., *Certifying and removing disparate impact*, KDD 2015, at full repair; the result
    equals that of AIF360's ``DisparateImpactRemover``. Each value of the sensitive column is a group, and
    that column stays. Numbers keep their order within a group and move to other values of their column.
    """
    groups, group = np.unique(X[:, sensitive], return_inverse=True)
    repaired = X.copy()
    for column in np.delete(np.arange(X.shape[1]), sensitive):
        values, codes = np.unique(X[:, column], return_inverse=True)
        moves = find_moves(codes, group, len(groups), len(values))
        repaired[:, column] = values[moves[group, codes]]
    return repaired


def find_moves(codes: np.ndarray, group: np.ndarray, n_groups: int, n_values: int) -> np.ndarray:
    """Return where each value of each group moves: a position among the values, or -1.

    ``codes`` and ``group`` are each cell's position among the column's sorted values and its row's group. The
    distinct values of a group are cut into as many quantiles as the smallest group has values. Each quantile
    moves to the median, over the groups, of its medians; of two middle ones the lower, a value of the column.
    """
    has = np.zeros((n_groups, n_values), dtype=np.bool_)
    has[group, codes] = True
    places = [np.flatnonzero(line) for line in has]
    n_quantiles = min(map(len, places))
    # Summed one by one, as the reference implementation does: its rounding decides where quantiles end.
    ends = np.append(0.0, np.cumsum(np.full(n_quantiles, 1.0 / n_quantiles)))
    cuts = [np.rint(ends * len(place)).astype(np.int64) for place in places]
    medians = [place[(cut[:-1] + cut[1:] - 1) // 2] for place, cut in zip(places, cuts, strict=True)]
    middle = np.sort(medians, axis=0)[(len(medians) - 1) // 2]
    moves = np.full((n_groups, n_values), -1)
    for g, (place, cut) in enumerate(zip(places, cuts, strict=True)):
        moves[g, place] = np.repeat(middle, np.diff(cut))
    return moves
