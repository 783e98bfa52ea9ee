"""Proxies: how well each column, and all together, tell the sensitive attribute."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

from fairshap._frames import Table, show
from fairshap._models.scorer import few_threads, spread
from fairshap._problem import Problem
from fairshap._typing import Floats, Ints
from fairshap.evidence._figures import Figure, auc

# The rows that are looked at, at most, the folds, the bins of a number, and the rows that a bin is pulled by
# to the mean of all.
_ROWS, _FOLDS, _BINS, _PULL = 20_000, 3, 64, 10.0


@dataclass(frozen=True, slots=True)
class Proxy:
    """How well a column tells privileged from other rows (ROC AUC), and its shares of what is unfair."""

    column: str
    auc: Figure
    #: The column's share of all Shapley values of the risk, by size; NaN if the risk is not explained.
    share_of_risk: float
    #: Its share of the gap in scores between matched people; NaN if the gap is not explained.
    share_of_gap: float


@dataclass(frozen=True, slots=True)
class Proxies:
    """How well the columns tell the attribute, each by itself, the best first, and all together."""

    all_together: Figure
    columns: tuple[Proxy, ...]
    #: The attribute's own share of the gap: its direct effect. NaN if the gap is not explained.
    attribute_share_of_gap: float
    #: The rows that were looked at, and those whose gap was explained.
    rows: int
    gap_rows: int


def find_proxies(
    problem: Problem, seed: int, risk: dict[Any, float], gap: dict[Any, float], gap_rows: int
) -> Proxies | None:
    """Return how well the columns beside the attribute tell it, on rows of other folds.

    A single column tells it by the share of privileged rows among those of the same value, or of the same
    quantile bin. All together are read by gradient boosting. ``risk`` and ``gap`` are shares by
    column, the gap's from ``gap_rows`` rows.
    """
    table, side = problem.table, problem.groups.side
    known = np.flatnonzero(side >= 0)
    rows = known[spread(len(known), _ROWS)]
    target = side[rows].astype(np.float64)
    columns = [k for k in range(len(problem.own.names)) if k not in problem.columns]
    if min(np.bincount(side[rows], minlength=2)) < _FOLDS or not columns:
        return None
    splitter = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    folds = list(splitter.split(target, target))
    weight = np.ones(len(rows)) if problem.sample_weight is None else problem.sample_weight[rows]

    def score(values: list[Floats]) -> Figure:
        told = [(test, one) for (_, test), one in zip(folds, values, strict=True)]
        return auc(target, told, np.ones(len(rows), dtype=np.bool_), weight).figure()

    coded = {k: _codes(table, k, rows) for k in columns}
    found = []
    for k in columns:
        name = table.names[k]
        figure = score([_told(coded[k], target, *fold) for fold in folds])
        shares = (one.get(name, float("nan")) for one in (risk, gap))
        found.append(Proxy(show(name, 60), figure, *shares))
    found.sort(key=lambda one: -one.auc.value)
    own = sum(gap.get(table.names[k], 0.0) for k in problem.columns) if gap else float("nan")
    together = score(_together(table, columns, coded, rows, target, folds, seed))
    return Proxies(together, tuple(found), own, len(rows), gap_rows)


def _codes(table: Table, column: int, rows: Ints) -> Ints:
    """Return the number of each row's value, or of its quantile bin; a missing one is a value too."""
    cells = table.column(column)[rows]
    if table.is_numeric(column) and len(np.unique(cells)) > _BINS:
        edges = np.unique(np.nanquantile(cells, np.arange(1, _BINS) / _BINS))
        cells = np.where(np.isnan(cells), -1, np.searchsorted(edges, cells))
    return pd.factorize(cells, use_na_sentinel=False)[0]


def _told(codes: Ints, target: Floats, train: Ints, test: Ints) -> Floats:
    """Return for test rows the share of privileged ones among training rows of the same value."""
    n = int(codes.max()) + 1
    counts = np.bincount(codes[train], minlength=n)
    sums = np.bincount(codes[train], target[train], n)
    shares = (sums + _PULL * target[train].mean()) / (counts + _PULL)
    return np.asarray(shares[codes[test]])


def _together(
    table: Table,
    columns: list[int],
    coded: dict[int, Ints],
    rows: Ints,
    target: Floats,
    folds: list[tuple[Ints, Ints]],
    seed: int,
) -> list[Floats]:
    """Return for the test rows of each fold the probability of being privileged, by all columns."""
    few = {k: not table.is_numeric(k) and coded[k].max() < 255 for k in columns}

    def told(k: int, train: Ints) -> Floats:
        if table.is_numeric(k):
            return table.column(k)[rows]
        # Categories of more values than the model takes stand for the share of privileged rows of each.
        every = np.arange(len(rows))
        return coded[k].astype(np.float64) if few[k] else _told(coded[k], target, train, every)

    found = []
    for train, test in folds:
        X = np.column_stack([told(k, train) for k in columns])
        model = HistGradientBoostingClassifier(
            categorical_features=[few[k] for k in columns],
            max_iter=60,
            early_stopping=False,
            random_state=seed,
        )
        with few_threads(model, X.size):
            found.append(model.fit(X[train], target[train]).predict_proba(X[test])[:, 1])
    return found
