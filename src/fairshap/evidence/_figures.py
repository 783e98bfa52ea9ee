"""Figures of groups with 95 % intervals, from plain arrays: the one place that computes them.

Every row has a weight, 1 unless there are sample weights. A figure knows by how much each row moves it (its
influence value), so that weights, repeated predictions and changes between two models have intervals too.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.stats import false_discovery_control, fisher_exact, norm
from scipy.stats import t as student

from fairshap._crossval.measures import LEVEL, Estimate, critical_value, newcombe, wilson
from fairshap._typing import Bools, Floats, Ints

# A line of a table, of one group.
Line = TypeVar("Line", bound=Any)

# The smallest expected count of a table of two by two from which on the z test is used.
_EXPECTED = 5.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with the ends of its 95 % interval; NaN where it cannot be measured."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")

    def never_negative(self) -> "Figure":
        """Return the figure of what is not under 0, nor is the end of its interval."""
        return Figure(self.value, max(0.0, self.low), self.high)


class Level(NamedTuple):
    """A figure of some rows, the number of independent rows it is as certain as, and each row's influence."""

    value: float
    size: float
    moves: Floats
    #: Whether it is a share, whose interval is Wilson's.
    is_share: bool = True

    @property
    def error(self) -> float:
        """The standard error."""
        return float(np.sqrt(np.sum(self.moves**2)))

    def figure(self, z: float | None = None) -> Figure:
        """Return the figure with an interval of so many standard errors, by default for 95 %."""
        z = critical_value() if z is None else z
        if not np.isfinite(self.value):
            return Figure()
        if self.is_share:
            return Figure(self.value, *map(float, wilson(self.value, self.size, z)))
        half = _widen(z, self.size) * self.error
        return Figure(self.value, self.value - half, self.value + half)


def _widen(z: float, size: float) -> float:
    """Return a half width in standard errors for so many rows, from which the error is estimated too."""
    if not size > 1:
        return np.inf
    return float(student.ppf(norm.cdf(z), size - 1) * np.sqrt(size / (size - 1)))


def share(counted: Floats, among: Floats | Bools, weight: Floats, times: Floats | None = None) -> Level:
    """Return the weighted share of what is counted, with what each row does to it.

    A row may stand for many rows alike, so many ``times``; what it does is then that of all of them, as far
    as errors go: the root of the sum of squares.
    """
    among = among.astype(np.float64)
    times = np.ones(len(counted)) if times is None else times
    total = float((among * times) @ weight)
    if not total > 0:
        return Level(np.nan, 0.0, np.zeros(len(counted)))
    value = min(1.0, max(0.0, float((counted * times) @ weight) / total))
    moves = np.sqrt(times) * weight * (counted - value * among) / total
    size = _effective(value, moves, total**2 / float(times @ (among * weight) ** 2))
    used = weight[among > 0]
    if used.min() < used.max():
        # Of unequal weights the variance is estimated too (Korn and Graubard, Survey Methodology 24, 1998).
        size *= (critical_value() / _widen(critical_value(), len(used))) ** 2
    return Level(value, size, moves)


def average(values: Floats, among: Floats | Bools, weight: Floats) -> Level:
    """Return the weighted mean of some rows, with what each row does to it."""
    weight = among.astype(np.float64) * weight
    total = float(weight.sum())
    if not total > 0:
        return Level(np.nan, 0.0, np.zeros(len(values)), is_share=False)
    value = float(values @ weight) / total
    return Level(value, _kish(weight), weight * (values - value) / total, is_share=False)


def _kish(weight: Floats) -> float:
    """Return the number of rows of equal weight that are as certain (Kish, Survey Sampling, 1965)."""
    return float(weight.sum() ** 2 / np.sum(weight**2))


def _effective(value: float, moves: Floats, size: float) -> float:
    """Return the number of independent rows with which a share would be as certain."""
    variance = float(np.sum(moves**2))
    return value * (1 - value) / variance if 0 < value < 1 and variance > 0 else size


def auc(true: Floats, folds: Sequence[tuple[Ints, Floats]], among: Bools, weight: Floats) -> Level:
    """Return the ROC AUC of some rows within folds, whose models are not compared.

    The influence values are those of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988), with weights.
    """
    pairs, right, parts = 0.0, 0.0, []
    for at, scores in folds:
        kept = among[at]
        rows, positive, own = at[kept], true[at][kept] > 0, weight[at][kept]
        _, place = np.unique(scores[kept], return_inverse=True)
        less, more = (
            np.bincount(place, own * part, place.max(initial=-1) + 1) for part in (~positive, positive)
        )
        below, above = np.cumsum(less) - less / 2, more.sum() - np.cumsum(more) + more / 2
        placed = np.where(positive, below[place], above[place])
        others = np.where(positive, less.sum(), more.sum())
        pairs += float(own[positive] @ others[positive])
        right += float(own[positive] @ placed[positive])
        parts.append((rows, own, placed, others))
    moves = np.zeros(len(true))
    if not pairs > 0:
        return Level(np.nan, 0.0, moves)
    value = right / pairs
    for rows, own, placed, others in parts:
        moves[rows] += own * (placed - value * others) / pairs
    sizes = (np.sum(among & (true > 0)), np.sum(among & ~(true > 0)))
    return Level(value, _effective(value, moves, float(min(sizes))), moves)


def difference(one: Level, other: Level, z: float | None = None) -> Figure:
    """Return the difference of two figures of different rows: Newcombe's interval for shares."""
    if not np.isfinite(one.value - other.value):
        return Figure()
    value = one.value - other.value
    if one.is_share:
        ends = newcombe(*(Estimate(f.value, f.low, f.high) for f in (one.figure(z), other.figure(z))))
        return Figure(value, *map(float, ends))
    half = (critical_value() if z is None else z) * float(np.hypot(one.error, other.error))
    return Figure(value, value - half, value + half)


def change(before: Level, after: Level) -> Figure:
    """Return the change of a figure between two models on the same rows."""
    value = after.value - before.value
    if not np.isfinite(value):
        return Figure()
    # Few rows that differ do not pass for certainty.
    least = 1 / (max(before.size, after.size) + 2) ** 2 if before.is_share else 0.0
    half = critical_value() * float(np.sqrt(np.sum((after.moves - before.moves) ** 2) + least))
    return Figure(value, value - half, value + half)


def ratio(one: Level, other: Level, z: float | None = None) -> Figure:
    """Return the ratio of two shares of different rows.

    The interval is made of the two Wilson intervals (MOVER; Donner and Zou, Statistical Methods in Medical
    Research 21, 2012). It holds in small groups too, and for a share of 0.
    """
    if not (np.isfinite(one.value) and other.value > 0):
        return Figure()
    a, b = one.figure(z), other.figure(z)
    product = a.value * b.value

    def end(first: float, second: float, sign: float) -> float:
        # The root of a quadratic equation, in the form that loses no digits.
        top, scale = first * (2 * a.value - first), second * (2 * b.value - second)
        root = float(np.sqrt(max(0.0, product**2 - top * scale)))
        return (product + root) / scale if sign > 0 else top / (product + root) if top > 0 else 0.0

    return Figure(a.value / b.value, end(a.low, b.high, -1.0), end(a.high, b.low, 1.0))


class Test(NamedTuple):
    """A test of equal figures of two groups: its name and its p value."""

    name: str
    p_value: float


def compare(one: Level, other: Level, *, is_counted: bool) -> Test:
    """Test whether two groups have the same figure.

    Of shares it is Fisher's exact test if rows are counted and few are expected in a cell of the table of two
    by two, otherwise the z test with a pooled share. Means have the z test of Welch's error.
    """
    if not np.isfinite(one.value - other.value):
        return Test("", np.nan)
    if not one.is_share:
        error = float(np.hypot(one.error, other.error))
        gap = one.value - other.value
        # Without any spread, values that differ differ for certain.
        z = gap / error if error > 0 else np.inf * np.sign(gap) if gap else 0.0
        return Test("z test", float(2 * norm.sf(abs(z))))
    sizes = np.array([one.size, other.size])
    values = np.array([one.value, other.value])
    pooled = float(sizes @ values / sizes.sum())
    if is_counted and sizes.min() * min(pooled, 1 - pooled) < _EXPECTED:
        counts = np.rint(sizes * values).astype(np.int64)
        table = np.column_stack([counts, np.rint(sizes).astype(np.int64) - counts])
        return Test("Fisher's exact test", float(fisher_exact(table).pvalue))
    error = np.sqrt(pooled * (1 - pooled) * np.sum(1 / sizes))
    z = (values[0] - values[1]) / error if error > 0 else 0.0
    return Test("z test", float(2 * norm.sf(abs(z))))


def adjust(p_values: Sequence[float]) -> list[float]:
    """Return p values that are corrected for being several (Benjamini and Hochberg, 1995); NaN stays."""
    p = np.asarray(p_values, dtype=np.float64)
    known = np.isfinite(p)
    if known.any():
        p[known] = false_discovery_control(p[known])
    return [float(one) for one in p]


def mean_between_folds(values: Floats, by_fold: Floats, held_out: float, weight: Floats) -> Figure:
    """Return the mean of rows with the interval of what varies between folds, which training does too.

    The models of different folds share most of their training rows, so the variance of a mean is more than
    that between folds over their number (Nadeau and Bengio, Machine Learning 52, 2003). With one fold the
    interval is that of the rows.
    """
    known = ~np.isnan(values)
    level = average(np.where(known, values, 0.0), known, weight)
    if not np.isfinite(level.value):
        return Figure()
    half, n = critical_value() * level.error, len(by_fold)
    if n > 1:
        factor = 1 / n + held_out / max(1.0, len(values) - held_out)
        half = float(student.ppf((1 + LEVEL) / 2, n - 1) * by_fold.std(ddof=1) * np.sqrt(factor))
    return Figure(level.value, level.value - half, level.value + half).never_negative()


def above_median(scores: Floats, weight: Floats) -> Floats:
    """Return 1 for rows whose score is above the weighted median of all rows, 0 for the others."""
    order = np.argsort(scores, kind="stable")
    total = np.cumsum(weight[order])
    half = total[-1] / 2
    k = int(np.searchsorted(total, half))
    median = scores[order[k]]
    # As in numpy, between two middle values stands their mean.
    if total[k] == half and k + 1 < len(order):
        median = (median + scores[order[k + 1]]) / 2
    return np.asarray(scores > median, dtype=np.float64)


def hide(lines: Iterable[Line], names: Collection[str]) -> tuple[Line, ...]:
    """Return lines, each of a ``group``, without the figures of the groups of some names."""
    return tuple(_without_figures(line) if line.group in names else line for line in lines)


def _without_figures(line: Line) -> Line:
    empty: dict[type, Any] = {Figure: Figure(), float: float("nan"), tuple: ()}
    changed = {}
    for field in fields(line):
        value = getattr(line, field.name)
        if isinstance(value, dict):
            changed[field.name] = dict.fromkeys(value, Figure())
        elif type(value) in empty:
            changed[field.name] = empty[type(value)]
    return replace(line, **changed)
