"""The measures of models on held-out rows, each with an interval: the one place that knows them.

A new measure is a line of :data:`MEASURES`, and its name in ``_names``. What it has to tell is an
:class:`Estimate`: its level, the ends of its interval, and by how much each row moves it. Everything else
follows: the interval of a change between two models, the frames and plots of ``evaluate``, ``tune`` and
``budget_curve``, the command's JSON, and the report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, studentized_range

from fairshap._crossval.folds import Predictions
from fairshap._typing import Bools, Floats, Ints
from fairshap.metrics import RATES, count_by_group, parts_of, rates

#: The coverage of all intervals.
LEVEL = 0.95

#: If there are more than two groups, those of fewer rows are not compared: their rates are too uncertain.
MIN_COMPARED = 30


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """What several models do on the same held-out rows; with repeats, on average for each row."""

    #: Which rows are positive, and the group of each, -1 where it is missing.
    true: Floats
    group: Ints
    #: How often each row is predicted positive, its risk, and how often its decision flips; (models, rows).
    predicted: Floats
    risk: Floats
    flips: Floats
    #: What rates are made of, shape (models, groups + 1, 4); the last line is that of rows without a group.
    counts: Floats
    #: For each fold the positions of its rows, and their scores, shape (models, rows of the fold).
    folds: list[tuple[Ints, Floats]]
    #: Which models score by probabilities.
    is_probability: Bools

    @classmethod
    def of(cls, models: Sequence[Sequence[Predictions]], n_groups: int) -> "HeldOut":
        """Return the rows of all folds; the folds are the same for all models."""
        folds = models[0]
        _, first, place = np.unique(
            np.concatenate([fold.rows for fold in folds]), return_index=True, return_inverse=True
        )
        times = np.bincount(place)

        def mean(values: list[Any]) -> Floats:
            return np.bincount(place, np.concatenate(values)) / times

        true = np.concatenate([fold.true for fold in folds])[first].astype(np.float64)
        group = np.concatenate([fold.group for fold in folds])[first]
        predicted = np.array([mean([fold.predicted for fold in model]) for model in models])
        risk = np.array([mean([fold.risk for fold in model]) for model in models])
        flips = np.array([mean([_flips_of(fold) for fold in model]) for model in models])
        codes = np.where(group < 0, n_groups, group)
        counts = np.array([count_by_group(parts_of(true, one), codes, n_groups + 1) for one in predicted])
        scored = []
        if all(fold.score is not None for model in models for fold in model):
            places = np.split(place, np.cumsum([len(fold.rows) for fold in folds])[:-1])
            scored = [(at, np.array([model[k].score for model in models])) for k, at in enumerate(places)]
        known = np.array([all(fold.is_probability for fold in model) for model in models])
        return cls(true, group, predicted, risk, flips, counts, scored, known)

    def mean_by_row(self, parts: Sequence[Floats]) -> Floats:
        """Return for each row the mean of what each of its folds tells of it."""
        place, values = (np.concatenate(part) for part in ([at for at, _ in self.folds], parts))
        return np.bincount(place, values) / np.bincount(place)


def _flips_of(fold: Predictions) -> Floats:
    return np.full(len(fold.rows), np.nan) if fold.flips is None else fold.flips


class Estimate(NamedTuple):
    """A measure of one model.

    ``moves`` returns, for a slice of the rows, by how much each moves the level (its influence value), so
    that the sum of squares is the variance. ``floor`` is added to the variance of a change, so that few rows
    that differ do not pass for certainty. ``pair`` has the groups with the highest and the lowest rate.
    """

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    floor: float = 0.0
    moves: Callable[[slice], Floats] | None = None
    pair: tuple[int, int] = (-1, -1)


Estimator: TypeAlias = Callable[[HeldOut, int], Estimate]


def _rate(rows: HeldOut, model: int, name: str, group: int | None = None, z: float | None = None) -> Estimate:
    """Return a rate among all rows or those of one group, with Wilson's interval, by default of one rate."""
    counts = rows.counts[model].sum(axis=0) if group is None else rows.counts[model, group]
    counted, total = (float(counts @ part) for part in RATES[name])
    if not total > 0:
        return Estimate()
    value = counted / total

    def moves(part: slice) -> Floats:
        parts = parts_of(rows.true[part], rows.predicted[model, part])
        counted, among = (parts @ one for one in RATES[name])
        moved = (counted - value * among) / total
        return moved if group is None else np.where(rows.group[part] == group, moved, 0.0)

    return _proportion(value, total, total, moves, z)


def _proportion(
    value: float, size: float, n: float, moves: Callable[[slice], Floats], z: float | None = None
) -> Estimate:
    """Return the estimate of a proportion that is as certain as one among ``size`` rows; there are n in all.

    If rows are predicted several times, their means vary less: it is as certain as one among more rows.
    """
    if 0 < value < 1:
        variance = float(np.sum(moves(slice(None)) ** 2))
        size = value * (1 - value) / variance if variance > 0 else size
    ends = wilson(value, size, critical_value() if z is None else z)
    return Estimate(value, *ends, 1 / (n + 2) ** 2, moves)


def _difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two rates, with Newcombe's interval."""
    moves, less = one.moves, other.moves
    if moves is None or less is None:
        return Estimate()
    ends = newcombe(one, other)
    floor = one.floor + other.floor
    return Estimate(one.value - other.value, *ends, floor, lambda part: moves(part) - less(part))


def _balanced_accuracy(rows: HeldOut, model: int) -> Estimate:
    """Return ``(1 + TPR - FPR) / 2``, with the interval of that difference."""
    names = ("true_positive_rate", "false_positive_rate")
    value, low, high, floor, moves, _ = _difference(*(_rate(rows, model, name) for name in names))
    half = None if moves is None else lambda part: moves(part) / 2
    return Estimate((1 + value) / 2, (1 + low) / 2, (1 + high) / 2, floor / 4, half)


def _auc(rows: HeldOut, model: int) -> Estimate:
    """Return the ROC AUC within folds, whose models are not compared, with a score interval.

    The moves are those of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988).
    """
    folds = []
    for at, scores in rows.folds:
        positive = rows.true[at] > 0
        others = np.where(positive, np.sum(~positive), np.sum(positive))
        folds.append((at, positive, others, _placements(positive, scores[model])))
    pairs = sum(float(others[positive].sum()) for _, positive, others, _ in folds)
    if not pairs:
        return Estimate()
    value = sum(float(placed[positive].sum()) for _, positive, _, placed in folds) / pairs
    moved = np.zeros(len(rows.true))
    for at, _, others, placed in folds:
        moved[at] += (placed - value * others) / pairs
    fewer = min(rows.true.sum(), np.sum(1 - rows.true))
    return _proportion(value, fewer, len(moved), moved.__getitem__)


def _average_precision(rows: HeldOut, model: int) -> Estimate:
    """Return the average precision within folds, whose models are not compared, with a score interval.

    It is the mean, over the positive rows, of the precision r among the rows that score as high. A row moves
    that of its fold by its own r, if it is positive, and by what it does to the r of positive rows below it.
    """
    n_positive = sum(float(rows.true[at].sum()) for at, _ in rows.folds)
    if not n_positive:
        return Estimate()
    value, moved = 0.0, np.zeros(len(rows.true))
    for at, scores in rows.folds:
        true = rows.true[at]
        _, place = np.unique(-scores[model], return_inverse=True)
        own, all_rows = np.bincount(place, true), np.bincount(place).astype(np.float64)
        above = np.cumsum(all_rows)
        precision = np.cumsum(own) / above
        value += float(own @ precision) / n_positive
        # Sums over positive rows that score no higher, from the lowest score on.
        share, loss = (np.cumsum(part[::-1])[::-1] for part in (own / above, own * precision / above))
        level = float(own @ precision) / max(1.0, float(own.sum()))
        moved[at] += (true * (precision - level)[place] + true * share[place] - loss[place]) / n_positive
    return _proportion(value, n_positive, len(moved), moved.__getitem__)


def _loss(rows: HeldOut, model: int, of: Callable[[Floats, Floats], Floats]) -> Estimate:
    """Return the mean loss of the probabilities, with the interval of a mean."""
    if not rows.folds or not rows.is_probability[model]:
        return Estimate()
    loss = rows.mean_by_row([of(rows.true[at], scores[model]) for at, scores in rows.folds])
    value, moved = float(loss.mean()), (loss - loss.mean()) / len(loss)
    half = critical_value() * float(np.sqrt(np.sum(moved**2)))
    return Estimate(value, max(0.0, value - half), value + half, 1 / (len(loss) + 2) ** 2, moved.__getitem__)


def _log_loss(true: Floats, probability: Floats) -> Floats:
    """Return minus the logarithm of the true label's probability, which is never quite 0, as in sklearn."""
    least = np.finfo(np.float64).eps
    probability = np.clip(probability, least, 1 - least)
    return -np.log(np.where(true > 0, probability, 1 - probability))


def _squared(true: Floats, probability: Floats) -> Floats:
    return np.asarray((probability - true) ** 2)


def _flips(rows: HeldOut, model: int) -> Estimate:
    """Return the share of decisions that flip, with Wilson's interval."""
    flips = rows.flips[model]
    known = ~np.isnan(flips)
    if not known.any():
        return Estimate()
    n = int(known.sum())
    value = float(flips[known].mean())
    moved = np.where(known, flips - value, 0.0) / n
    return _proportion(value, n, n, moved.__getitem__)


def _placements(positive: Bools, scores: Floats) -> Floats:
    """Return how many rows of the other label each row's score is on the right side of; ties count half."""
    _, place = np.unique(scores, return_inverse=True)
    negative, own = (np.bincount(place, part) for part in (~positive, positive))
    below = np.cumsum(negative) - negative / 2
    above = own.sum() - np.cumsum(own) + own / 2
    return np.where(positive, below[place], above[place])


def _widest(*gaps: Estimator) -> Estimator:
    """Return the estimator of the widest of several gaps."""

    def estimate(rows: HeldOut, model: int) -> Estimate:
        found = [gap(rows, model) for gap in gaps]
        is_known = all(one.moves is not None for one in found)
        return max(found, key=lambda one: one.value) if is_known else Estimate()

    return estimate


def _gap(rate: str, n_gaps: int = 1) -> Estimator:
    """Return the estimator of the difference in a rate between the highest and the lowest group.

    The interval is Newcombe's; those of so many gaps hold at once.
    """

    def estimate(rows: HeldOut, model: int) -> Estimate:
        counts = rows.counts[model, :-1]
        counted, total = (counts @ part for part in RATES[rate])
        # By their rows, so that the same groups are compared in every measure of every model.
        compared = np.flatnonzero(is_compared(counts[:, 0]) & (total > 0))
        if len(compared) < 2:
            return Estimate()
        levels = rates(counted, total)[compared]
        pair = int(compared[levels.argmax()]), int(compared[levels.argmin()])
        if pair[0] == pair[1]:
            # All rates are equal, so any two groups will do.
            pair = int(compared[0]), int(compared[1])
        z = critical_value(len(compared), n_gaps)
        high, low = (_rate(rows, model, rate, group, z) for group in pair)
        return _difference(high, low)._replace(pair=pair)

    return estimate


def _risk(rows: HeldOut, model: int) -> Estimate:
    """Return the mean risk; its interval comes from the folds and not from the rows."""
    return Estimate(float(np.nanmean(rows.risk[model])))


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of a measure. Short tables show those that are ``is_main``."""

    label: str
    description: str
    estimate: Estimator
    kind: Literal["rate", "score", "loss", "risk", "gap"]
    is_main: bool = True

    @property
    def is_fairness(self) -> bool:
        """Whether it says how unfair a model is, and not how well it does."""
        return self.kind in ("risk", "gap")

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher level is better: not of unfairness, and not of a loss."""
        return self.kind in ("rate", "score")


#: All measures by name, in the order of arrays and frames.
MEASURES: dict[str, Measure] = {
    "accuracy": Measure("Accuracy", "share of correct predictions", partial(_rate, name="accuracy"), "rate"),
    "balanced_accuracy": Measure(
        "Balanced accuracy",
        "mean of the true positive and the true negative rate",
        _balanced_accuracy,
        "rate",
    ),
    "auc": Measure("AUC", "area under the ROC curve", _auc, "score"),
    "ap": Measure(
        "AP", "average precision: area under the precision-recall curve", _average_precision, "score", False
    ),
    "log_loss": Measure(
        "Log loss", "mean log loss of the probabilities", partial(_loss, of=_log_loss), "loss", False
    ),
    "brier": Measure(
        "Brier score", "mean squared error of the probabilities", partial(_loss, of=_squared), "loss", False
    ),
    "dr": Measure(
        "DR", "discriminative risk: change of the output when only the attribute changes", _risk, "risk"
    ),
    "flips": Measure("Flips", "share of decisions that flip when only the attribute changes", _flips, "risk"),
    "dp": Measure("DP", "demographic parity: difference in the positive rate", _gap("positive_rate"), "gap"),
    "eo": Measure(
        "EO", "equal opportunity: difference in the true positive rate", _gap("true_positive_rate"), "gap"
    ),
    "eodds": Measure(
        "EOdds",
        "equalized odds: larger difference in the true or the false positive rate",
        _widest(_gap("true_positive_rate", n_gaps=2), _gap("false_positive_rate", n_gaps=2)),
        "gap",
        is_main=False,
    ),
    "fprd": Measure(
        "FPRD", "difference in the false positive rate", _gap("false_positive_rate"), "gap", is_main=False
    ),
    "pqp": Measure(
        "PQP", "predictive parity: difference in precision", _gap("precision"), "gap", is_main=False
    ),
}

#: The measures that are differences between groups.
GAPS = tuple(name for name, measure in MEASURES.items() if measure.kind == "gap")


def is_compared(n_rows: NDArray[Any]) -> Bools:
    """Say which groups are compared: the two largest, and all that have enough rows."""
    largest = np.zeros(len(n_rows), dtype=np.bool_)
    largest[np.argsort(-n_rows, kind="stable")[:2]] = True
    return np.asarray((largest | (n_rows >= MIN_COMPARED)) & (n_rows > 0))


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a proportion among n."""
    middle = p + z * z / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # Rounding leads past the ends of what a proportion can be.
    low, high = np.maximum(middle - half, 0.0), middle + half
    return low / (1 + z * z / n), np.minimum(high / (1 + z * z / n), 1.0)


def newcombe(one: Estimate, other: Estimate) -> tuple[float, float]:
    """Return the ends of Newcombe's interval of the difference of two proportions with Wilson's intervals.

    It is a hybrid of the two (Statistics in Medicine 17, 1998, method 10). Intervals by the standard error or
    the bootstrap are too short in small groups.
    """
    difference = one.value - other.value
    below = np.hypot(one.value - one.low, other.high - other.value)
    above = np.hypot(one.high - one.value, other.value - other.low)
    return difference - below, difference + above


@cache
def critical_value(n_groups: int = 2, n_gaps: int = 1) -> float:
    """Return the half width of an interval in standard errors.

    The widest of all pairs of groups is wide by chance alone. With more than two groups the value is Tukey's,
    under which the intervals of all pairs hold at once; with several independent gaps, by Sidak's level,
    those of all gaps do.

    Examples
    --------
    >>> round(critical_value(2), 3), round(critical_value(5), 3), round(critical_value(2, 2), 3)
    (1.96, 2.728, 2.236)
    """
    level = LEVEL ** (1 / n_gaps)
    if n_groups <= 2:
        return float(norm.ppf((1 + level) / 2))
    return float(studentized_range.ppf(level, n_groups, np.inf) / np.sqrt(2))
