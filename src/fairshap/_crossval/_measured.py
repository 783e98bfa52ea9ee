"""The measures of models on held-out rows, with intervals: one implementation for all that compares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairshap._typing import Bools, Floats, Ints
from fairshap.metrics._rates import GAPS, LEVEL, critical_value, newcombe, rates, widest_pair, wilson
from fairshap._crossval._judging import Judgement

#: The measures, in the order of the arrays.
MEASURES = ("accuracy", "dr", "dp", "eo", "pqp")
_ACCURACY, _RISK, *_GAPS = range(len(MEASURES))

#: Rows from which on a group of several is compared with the others: of fewer a rate says little.
FEW = 30

# Rows at a time whose part in the covariances is summed.
_BLOCK = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What several models do on the same held-out rows; of repeats the mean of each row.

    Parameters
    ----------
    true, group : ndarray, shape (rows,)
        Which rows are positive, and the group of each, -1 where it is missing.
    predicted, correct, risk : ndarray of float, shape (models, rows)
        How often they are predicted to be positive, and rightly, and their risk.
    """

    true: Floats
    group: Ints
    predicted: Floats
    correct: Floats
    risk: Floats

    @classmethod
    def of(cls, models: Sequence[Sequence[Judgement]]) -> "Rows":
        """Return the rows of all folds; the folds are the same for all models."""
        folds = models[0]
        _, first, place = np.unique(
            np.concatenate([fold.rows for fold in folds]), return_index=True, return_inverse=True
        )
        times = np.bincount(place)
        true = np.concatenate([fold.true for fold in folds])

        def mean(values: list[Any]) -> Floats:
            return np.bincount(place, np.concatenate(values)) / times

        return cls(
            true[first].astype(np.float64),
            np.concatenate([fold.group for fold in folds])[first],
            np.array([mean([fold.predicted for fold in model]) for model in models]),
            np.array([mean([fold.predicted == fold.true for fold in model]) for model in models]),
            np.array([mean([fold.risk for fold in model]) for model in models]),
        )

    def parts(self, measure: str, model: int, rows: slice = slice(None)) -> tuple[Floats, Floats]:
        """Return what a gap's rate is the ratio of the sums of, for each row: what is counted, among what."""
        predicted, true = self.predicted[model, rows], self.true[rows]
        columns = (np.ones(len(true)), predicted, true, true * predicted)
        part, of = GAPS[measure]
        return columns[part], columns[of]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Measures:
    """Accuracy, DR, DP, EO and PQP of models on the same held-out rows.

    Every level is one of all held-out rows together. A gap is that between the group of the highest and the
    group of the lowest rate: signed, with that pair of groups kept, in whatever is done with it. So its
    interval may reach below 0, and then it does not tell the two groups apart.

    The intervals of accuracy and gaps are those of the models that were trained, on other rows of the same
    kind: Wilson's and Newcombe's. The interval of DR comes from how much it differs between folds, by Nadeau
    and Bengio's correction, and so reflects training on other parts of the same table; on one set of rows
    alone it is that of the rows. None of them covers another table: what links the attribute and the target
    by chance is in every fold.

    Parameters
    ----------
    values, low, high : ndarray, shape (models, measures)
        The levels and the ends of their 95 % intervals; NaN for a gap of which fewer than two groups have
        anything to take the rate of.
    pairs : ndarray of int, shape (models, 3, 2)
        For DP, EO and PQP the groups of the highest and of the lowest rate.
    counts : ndarray, shape (models, groups + 1, 6)
        Rows, rows predicted positive, positive rows, rows that are both, rows predicted rightly, and the sum
        of the risks, for each group; the last line is that of the rows whose attribute is missing.
    covariance : ndarray, shape (models x measures, models x measures)
        That of all levels.
    floor : ndarray, shape (models, measures)
        What the variance of a change is raised by, so that few rows which differ do not pass for certainty.
    risk_by_fold : ndarray, shape (models, folds)
        The mean risk in each fold.
    names : tuple of str
        The groups.
    """

    values: Floats
    low: Floats
    high: Floats
    pairs: Ints
    counts: Floats
    covariance: Floats
    floor: Floats
    risk_by_fold: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, models: Sequence[Sequence[Judgement]], names: Sequence[str]) -> "Measures":
        """Return the measures of models whose folds are the same."""
        rows = Rows.of(models)
        counts = np.array([_counts(rows, model, len(names)) for model in range(len(models))])
        risk_by_fold = np.array([[np.nanmean(fold.risk) for fold in model] for model in models])
        shape = (len(models), len(MEASURES))
        values, low, high, floor = (np.full(shape, np.nan) for _ in range(4))
        pairs = np.zeros((len(models), len(GAPS), 2), dtype=np.int64)
        for model in range(len(models)):
            right = rows.correct[model]
            p = right.mean()
            size = _effective(p, len(right), float(np.sum((right - p) ** 2)))
            values[model, _ACCURACY] = p
            low[model, _ACCURACY], high[model, _ACCURACY] = wilson(p, size, critical_value())
            floor[model, _ACCURACY] = 1 / (len(right) + 2) ** 2
            values[model, _RISK] = np.nanmean(rows.risk[model])
            floor[model, _RISK] = 0.0
            for place, (k, measure) in enumerate(zip(_GAPS, GAPS, strict=True)):
                found = _gap(rows, model, measure, len(names))
                values[model, k], low[model, k], high[model, k], floor[model, k], pairs[model, place] = found
        covariance = _covariance(rows, values, pairs, counts)
        factor = _fold_factor([len(fold.rows) for fold in models[0]], len(rows.true))
        spread = _risk_covariance(rows, risk_by_fold, factor)
        at = np.arange(len(models)) * len(MEASURES) + _RISK
        covariance[np.ix_(at, at)] = spread
        half = _critical(risk_by_fold.shape[1]) * np.sqrt(np.diag(spread))
        low[:, _RISK] = np.maximum(values[:, _RISK] - half, 0)
        high[:, _RISK] = values[:, _RISK] + half
        return cls(values, low, high, pairs, counts, covariance, floor, risk_by_fold, tuple(names))

    @property
    def risk(self) -> float:
        """The discriminative risk of the first model."""
        return float(self.values[0, _RISK])

    def changes(self) -> tuple[Floats, Floats, Floats]:
        """Return how far each model is from the first, and the ends of the 95 % intervals of that.

        Both are measured on the same rows, so that an interval without 0 says that they differ.
        """
        n_models, n_measures = self.values.shape
        by_model = self.covariance.reshape(n_models, n_measures, n_models, n_measures)
        k = np.arange(n_measures)
        own = by_model[:, k, :, k]  # measures, models, models
        variance = np.array([np.diag(block) + block[0, 0] - 2 * block[0] for block in own]).T
        variance = np.maximum(variance, 0) + np.maximum(self.floor, self.floor[:1])
        critical = np.full(n_measures, critical_value())
        critical[_RISK] = _critical(self.risk_by_fold.shape[1])
        change, half = self.values - self.values[:1], critical * np.sqrt(variance)
        half[0] = 0
        return change, change - half, change + half

    def draws(self, n: int, seed: int) -> Floats:
        """Return levels as they might have come out, shape (models, draws, measures): normal ones."""
        values, vectors = np.linalg.eigh(np.nan_to_num(self.covariance))
        drawn = np.random.default_rng(seed).standard_normal((n, len(values)))
        around = (drawn * np.sqrt(np.maximum(values, 0))) @ vectors.T
        return np.asarray(self.values[:, None] + around.reshape(n, *self.values.shape).transpose(1, 0, 2))

    def pair(self, model: int, measure: str) -> tuple[str, str] | None:
        """Return the groups of the highest and of the lowest rate; None for what is no gap, or has none."""
        if measure not in GAPS or np.isnan(self.values[model, MEASURES.index(measure)]):
            return None
        high, low = self.pairs[model, list(GAPS).index(measure)].tolist()
        return self.names[high], self.names[low]

    def groups(self, model: int) -> pd.DataFrame:
        """Return one line for each group, the most frequent first: the rates that the gaps come from.

        ``few`` marks groups of several that have too few rows to be compared.
        """
        counts = self.counts[model]
        n, predicted, positive, hits, right, risk = counts.T
        frame = pd.DataFrame(
            {
                "group": [*self.names, "missing"],
                "rows": n.round().astype(np.int64),
                "base_rate": rates(positive, n),
                "positive_rate": rates(predicted, n),
                "true_positive_rate": rates(hits, positive),
                "false_positive_rate": rates(predicted - hits, n - positive),
                "precision": rates(hits, predicted),
                "accuracy": rates(right, n),
                "dr": rates(risk, n),
                "few": [*~_compared(n[:-1]), False],
            }
        )
        order = np.argsort(-n, kind="stable")
        found: pd.DataFrame = frame.iloc[order[n[order] > 0]].reset_index(drop=True)
        return found


def _counts(rows: Rows, model: int, n_groups: int) -> Floats:
    """Return the sums of each group, the rows without one last."""
    place = np.where(rows.group < 0, n_groups, rows.group)
    predicted = rows.predicted[model]
    columns = (
        np.ones(len(place)),
        predicted,
        rows.true,
        rows.true * predicted,
        rows.correct[model],
        rows.risk[model],
    )
    return np.column_stack([np.bincount(place, column, n_groups + 1) for column in columns])


def _compared(of: NDArray[Any]) -> Bools:
    """Say which groups are compared: the two largest, and all that have rows enough."""
    largest = np.zeros(len(of), dtype=np.bool_)
    largest[np.argsort(-of, kind="stable")[:2]] = True
    return np.asarray((largest | (of >= FEW)) & (of > 0))


def _effective(p: float, n: float, squares: float) -> float:
    """Return the number of rows that a rate of p is as certain as.

    It is n itself, unless rows are predicted several times: the mean of a row then varies less than one
    prediction does.
    """
    return n if squares <= 0 or p <= 0 or p >= 1 else p * (1 - p) * n * n / squares


def _gap(
    rows: Rows, model: int, measure: str, n_groups: int
) -> tuple[float, float, float, float, tuple[int, int]]:
    """Return a gap, its interval, the floor of its changes, and its pair of groups."""
    known = rows.group >= 0
    group = rows.group[known]
    part, of = (column[known] for column in rows.parts(measure, model))
    total = np.bincount(group, of, n_groups)
    rate = rates(np.bincount(group, part, n_groups), total)
    # By their rows, so that the same groups are compared in every measure of every model.
    compared = _compared(np.bincount(group, minlength=n_groups)) & (total > 0)
    if compared.sum() < 2:
        return np.nan, np.nan, np.nan, 0.0, (0, 0)
    a, b = (int(place) for place in widest_pair(rate, compared))
    if a == b:
        # All rates are equal: any two groups are the pair.
        a, b = np.flatnonzero(compared)[:2].tolist()
    squares = np.bincount(group, (part - np.nan_to_num(rate)[group] * of) ** 2, n_groups)
    sizes = [_effective(rate[g], total[g], squares[g]) for g in (a, b)]
    ends = newcombe(rate[a], sizes[0], rate[b], sizes[1], critical_value(int(compared.sum())))
    floor = float(sum(1 / (total[g] + 2) ** 2 for g in (a, b)))
    return float(rate[a] - rate[b]), float(ends[0]), float(ends[1]), floor, (a, b)


def _covariance(rows: Rows, values: Floats, pairs: Ints, counts: Floats) -> Floats:
    """Return the covariance of accuracies and gaps: the sum over rows of what each moves them by."""
    n_rows, n_models = len(rows.true), len(values)
    total = np.zeros((values.size, values.size))
    for start in range(0, n_rows, _BLOCK):
        block = slice(start, start + _BLOCK)
        moves = np.zeros((len(rows.true[block]), n_models, len(MEASURES)))
        for model in range(n_models):
            moves[:, model, _ACCURACY] = (rows.correct[model, block] - values[model, _ACCURACY]) / n_rows
            for place, (k, measure) in enumerate(zip(_GAPS, GAPS, strict=True)):
                if np.isnan(values[model, k]):
                    continue
                part, of = rows.parts(measure, model, block)
                for group, sign in zip(pairs[model, place], (1.0, -1.0), strict=True):
                    mine = rows.group[block] == group
                    counted, among = (counts[model, group, column] for column in GAPS[measure])
                    moved = (part[mine] - counted / among * of[mine]) / among
                    moves[mine, model, k] += sign * moved
        flat = moves.reshape(len(moves), -1)
        total += flat.T @ flat
    return total


def _fold_factor(sizes: Sequence[int], n_rows: int) -> float:
    """Return the variance of a mean over folds as a share of that between folds.

    The models of folds have most of their training rows in common, so that it is more than one in the number
    of folds (Nadeau and Bengio, Machine Learning 52, 2003).
    """
    held_out = float(np.mean(sizes))
    return 1 / len(sizes) + held_out / max(1.0, n_rows - held_out)


def _risk_covariance(rows: Rows, by_fold: Floats, factor: float) -> Floats:
    """Return the covariance of the mean risks of models: between folds, or of one fold between its rows."""
    n_folds = by_fold.shape[1]
    if n_folds == 1:
        known = ~np.isnan(rows.risk[0])
        moves = rows.risk[:, known] - rows.risk[:, known].mean(axis=1, keepdims=True)
        return np.asarray(moves @ moves.T / max(1, known.sum()) ** 2)
    moves = by_fold - by_fold.mean(axis=1, keepdims=True)
    return np.asarray(moves @ moves.T / (n_folds - 1) * factor)


def _critical(n_folds: int) -> float:
    """Return how many standard errors the interval of a mean risk is wide on either side."""
    return float(student.ppf((1 + LEVEL) / 2, n_folds - 1)) if n_folds > 1 else critical_value()
