"""What a model does on rows that it was not trained on, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._typing import Bools, Floats, Sides
from fairshap.groups import Labels, Setting
from fairshap.models import Scorer
from fairshap.risk import Risk

#: The measures, in the order of the arrays.
MEASURES = ("accuracy", "dr", "dp", "eo", "pqp")

#: What intervals cover.
LEVEL = 0.95

# The columns of counts: everyone, the correct, the risk, then four for each side.
_ALL, _CORRECT, _RISK, _SIDES = 0, 1, 2, 3
_ROWS, _PREDICTED, _TRUE, _HITS = range(4)
_WIDTH = _SIDES + 8

# The resamples that are drawn at a time: 64 of 100,000 rows are 49 MiB.
_BATCH = 64


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """What a model does on the rows of one fold.

    Parameters
    ----------
    true, predicted : ndarray of bool, shape (rows,)
        Which rows are positive, and which are predicted to be.
    side : ndarray of int, shape (rows,)
        Which are privileged.
    risk : ndarray of float, shape (rows,)
        The discriminative risk of each.
    """

    true: Bools
    predicted: Bools
    side: Sides
    risk: Floats

    def columns(self) -> Floats:
        """Return what all measures are sums of, one column each."""
        columns = np.zeros((len(self.true), _WIDTH))
        columns[:, _ALL] = 1
        columns[:, _CORRECT] = self.true == self.predicted
        columns[:, _RISK] = self.risk
        for side in (0, 1):
            mine = self.side == side
            part = columns[:, _SIDES + 4 * side : _SIDES + 4 * side + 4]
            part[:, _ROWS] = mine
            part[:, _PREDICTED] = mine & self.predicted
            part[:, _TRUE] = mine & self.true
            part[:, _HITS] = mine & self.true & self.predicted
        return columns


def judge(model: Any, setting: Setting, labels: Labels, positive: Any) -> Judgement:
    """Return what a fitted model does on the rows of a table that it takes."""
    predicted = np.asarray(model.predict(setting.table.native))
    risk = Risk(Scorer(model), setting).of_rows(np.arange(setting.table.n_rows))
    return Judgement(labels.values == positive, predicted == positive, setting.groups.side, risk)


def measures_of(sums: Floats) -> Floats:
    """Return the measures from the sums of their columns, along the last axis."""

    def rate(part: Floats, of: Floats) -> Floats:
        # A group with nothing to take the rate of counts as 0.
        return np.divide(part, of, out=np.zeros_like(part), where=of > 0)

    unprivileged, privileged = sums[..., _SIDES : _SIDES + 4], sums[..., _SIDES + 4 :]

    def gap(part: int, of: int) -> Floats:
        return np.abs(
            rate(privileged[..., part], privileged[..., of])
            - rate(unprivileged[..., part], unprivileged[..., of])
        )

    everyone = sums[..., _ALL]
    return np.stack(
        [
            rate(sums[..., _CORRECT], everyone),
            rate(sums[..., _RISK], everyone),
            gap(_PREDICTED, _ROWS),
            gap(_HITS, _TRUE),
            gap(_HITS, _PREDICTED),
        ],
        axis=-1,
    )


def means_over_folds(folds: Sequence[Judgement]) -> Floats:
    """Return the mean of each measure over the folds."""
    return np.asarray(np.mean([measures_of(fold.columns().sum(axis=0)) for fold in folds], axis=0))


def resample(candidates: Sequence[Sequence[Judgement]], n_resamples: int, random_state: int) -> Floats:
    """Return the measures of several candidates on resamples of the rows, the same ones for all.

    Parameters
    ----------
    candidates : sequence of sequence of Judgement
        For each candidate its folds; the rows of a fold are the same for all candidates.
    n_resamples : int
        How many times the rows of each fold are drawn anew, with replacement.
    random_state : int
        The seed.

    Returns
    -------
    ndarray, shape (candidates, resamples, measures)
        Each is the mean over the folds.
    """
    rng = np.random.default_rng(random_state)
    n_folds = len(candidates[0])
    total = np.zeros((len(candidates), n_resamples, len(MEASURES)))
    for fold in range(n_folds):
        columns = np.hstack([judgements[fold].columns() for judgements in candidates])
        n = len(columns)
        for start in range(0, n_resamples, _BATCH):
            size = min(_BATCH, n_resamples - start)
            drawn = rng.integers(n, size=(size, n))
            counts = np.stack([np.bincount(rows, minlength=n) for rows in drawn]).astype(np.float64)
            sums = (counts @ columns).reshape(size, len(candidates), _WIDTH)
            total[:, start : start + size] += measures_of(sums).transpose(1, 0, 2)
    return total / n_folds


def intervals_of(measures: Floats, samples: Floats, least: float | None = None) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of the intervals of measures.

    They are quantiles of the resamples, moved so that their mean is the measure itself: a gap is never
    negative, so that drawing rows anew makes small ones larger, and their quantiles can leave them out.

    Parameters
    ----------
    measures : ndarray, shape (candidates, measures)
        The measures, or their changes.
    samples : ndarray, shape (candidates, resamples, measures)
        The same on resamples.
    least : float, optional
        What no measure falls below.

    Returns
    -------
    low, high : ndarray, shape (candidates, measures)
    """
    ends = (1 - LEVEL) / 2
    moved = samples - samples.mean(axis=1, keepdims=True) + measures[:, None]
    low, high = np.quantile(moved, [ends, 1 - ends], axis=1)
    return (low if least is None else np.maximum(low, least)), high
