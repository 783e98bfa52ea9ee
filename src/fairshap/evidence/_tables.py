"""Tables of groups: how many there are, what they get, and how the model errs about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairshap._crossval import MIN_COMPARED
from fairshap._crossval.measures import critical_value, is_compared
from fairshap._frames import show
from fairshap._problem import Problem, read_attribute
from fairshap._typing import Bools, Floats, Ints
from fairshap.evidence._figures import (
    Figure,
    Level,
    Line,
    above_median,
    adjust,
    auc,
    average,
    change,
    compare,
    difference,
    hide,
    ratio,
    share,
)
from fairshap.evidence._held import Held

#: The share of rows under which a group is marked: New York's rules let an auditor leave it out.
SMALL = 0.02

#: The rows under which redacted evidence has no figures of a group: they would tell of single people.
LEAST_SHOWN = 10

# The bins by score that calibration is shown in.
_BINS = 10

# All rows, those predicted a label, those that have it, those that are both.
_ALL, _PREDICTED, _POSITIVE, _BOTH = np.eye(4)
_MISSED, _FALSE = _POSITIVE - _BOTH, _PREDICTED - _BOTH
_NEGATIVE, _LEFT = _ALL - _POSITIVE, _ALL - _PREDICTED
_RIGHT = _ALL - _MISSED - _FALSE

#: The rates of a confusion table: what is counted, and among what.
ERRORS = {
    "accuracy": (_RIGHT, _ALL),
    "error_rate": (_MISSED + _FALSE, _ALL),
    "true_positive_rate": (_BOTH, _POSITIVE),
    "false_negative_rate": (_MISSED, _POSITIVE),
    "false_positive_rate": (_FALSE, _NEGATIVE),
    "true_negative_rate": (_NEGATIVE - _FALSE, _NEGATIVE),
    "precision": (_BOTH, _PREDICTED),
    "false_discovery_rate": (_FALSE, _PREDICTED),
    "negative_predictive_value": (_LEFT - _MISSED, _LEFT),
    "false_omission_rate": (_MISSED, _LEFT),
}

#: The rates whose widest difference between two groups is a gap.
GAPS = ("selection_rate", "true_positive_rate", "false_positive_rate", "precision")


@dataclass(frozen=True, slots=True)
class Group:
    """A group: how many rows it has, their share, and whether they are few."""

    name: str
    rows: int
    #: The share of the rows whose group is known, weighted.
    share: float
    #: Under 2 % of the rows.
    is_small: bool
    #: Under 30 rows: its figures are uncertain.
    is_few: bool
    #: Whether it is compared: it has 30 rows, or is one of the two largest groups.
    is_compared: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often a group has a label, is predicted it, and is scored above the median."""

    group: str
    base_rate: Figure
    selection_rate: Figure
    scoring_rate: Figure
    #: The selection rate and the scoring rate as a share of those of the most favored group.
    impact_ratio: Figure
    scoring_impact_ratio: Figure
    #: The selection rate less that of the most favored group.
    difference: Figure
    test: str
    p_value: float
    #: Corrected for the number of groups (Benjamini and Hochberg).
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows of a group whose scores are in one range: the mean score, and how often they have the label."""

    rows: int
    mean_score: float
    observed: Figure


@dataclass(frozen=True, slots=True)
class Errors:
    """How the model errs about a group: the rates of a confusion table, ROC AUC and calibration."""

    group: str
    rates: dict[str, Figure]
    auc: Figure
    #: How often the label occurs less the mean probability.
    calibration_gap: Figure
    calibration: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """The widest difference in a rate between two groups, the highest and the lowest."""

    figure: Figure
    highest: str
    lowest: str


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The outcomes and errors of all groups with respect to one label."""

    label: str
    #: The groups with the highest selection rate and the highest scoring rate, of those that are compared.
    most_favored: str
    highest_scoring: str
    outcomes: tuple[Outcome, ...]
    errors: tuple[Errors, ...]
    gaps: dict[str, Gap]


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a group gets of a quantity: means, errors, and how often it is predicted above the median."""

    group: str
    mean_target: Figure
    mean_prediction: Figure
    #: The prediction less the target.
    mean_error: Figure
    mean_absolute_error: Figure
    root_mean_squared_error: Figure
    r2: Figure
    scoring_rate: Figure
    scoring_impact_ratio: Figure
    #: The mean prediction less that of the most favored group.
    difference: Figure
    test: str
    p_value: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class QuantityTable:
    """The outcomes and errors of all groups if the target is a quantity."""

    most_favored: str
    highest_scoring: str
    lines: tuple[Quantity, ...]
    gap: Gap


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups by one attribute, or by several together, and everything that is measured of them."""

    attribute: str
    is_intersection: bool
    groups: tuple[Group, ...]
    #: Rows whose group is not known; they are in no group, and in all figures of the model as a whole.
    unknown_rows: int
    unknown_share: float
    labels: tuple[LabelTable, ...]
    quantity: QuantityTable | None


# ---- which groups there are


@dataclass(frozen=True, slots=True)
class Split:
    """A way to group the rows: the number of each row's group, -1 where it is not known, and the names."""

    attribute: str
    codes: Ints
    names: tuple[str, ...]
    is_intersection: bool = False

    @classmethod
    def by_size(
        cls, attribute: str, codes: Ints, names: Sequence[str], counts: Any, is_intersection: bool
    ) -> "Split":
        """Return a split whose groups are in the order of how many rows they have, the largest first."""
        order = np.argsort(-counts, kind="stable")
        place = np.append(np.argsort(order), -1)
        return cls(attribute, place[codes], tuple(names[k] for k in order), is_intersection)


def splits_of(problem: Problem) -> list[Split]:
    """Return the groups by each attribute, and of several attributes by all of them together."""
    groups, table = problem.groups, problem.table
    if groups.by_row and len(problem.columns) == 1 and table.is_numeric(problem.columns[0]):
        # A quantity such as age is split in two.
        lower, upper = problem.side_names
        return [Split(str(groups.name), groups.side.astype(np.int64), (lower, upper))]
    sets: list[tuple[int, ...]] = [(column,) for column in problem.columns]
    if len(sets) > 1:
        sets.append(tuple(problem.columns))
    found = []
    for columns in sets:
        cells, values, _ = read_attribute(table, columns, most_numbers=table.n_rows)
        names = [show(" / ".join(map(str, value)) if len(columns) > 1 else value, 60) for value in values]
        attribute = " / ".join(str(table.names[column]) for column in columns)
        counts = np.bincount(cells[cells >= 0], minlength=len(names))
        found.append(Split.by_size(attribute, cells, names, counts, len(columns) > 1))
    return found


def group_rows(split: Split, held: Held, least: int = 0) -> Grouping:
    """Return everything that is measured of the groups of one attribute; of those under ``least`` nothing."""
    known, counts = split.codes >= 0, _count(split, held)
    weight = held.weight if held.times is None else held.times
    weights = np.bincount(split.codes[known], weight[known], minlength=len(split.names))
    shares = weights / weights.sum()
    compared = is_compared(counts) & (counts >= least)
    groups = tuple(
        Group(name, int(n), float(part), bool(part < SMALL), bool(n < MIN_COMPARED), bool(ok))
        for name, n, part, ok in zip(split.names, counts, shares, compared, strict=True)
    )
    measured = _Measured(held, split, compared, least)
    labels = tuple(measured.label(k) for k in range(len(held.labels)))
    return Grouping(
        split.attribute,
        split.is_intersection,
        groups,
        int((~known).sum() if held.times is None else held.times[~known].sum()),
        float(weight[~known].sum() / weight.sum()),
        labels,
        None if held.labels else measured.quantity(),
    )


def group_levels(held: Held, split: Split, label: int = 0) -> dict[str, list[Level]]:
    """Return the rates of each group, as the changes between two models are taken from them."""
    true, predicted = held.true[:, label], held.predicted[:, label]
    parts = np.column_stack([np.ones(len(true)), predicted, true, true * predicted])
    rates = {"base_rate": (_POSITIVE, _ALL), "selection_rate": (_PREDICTED, _ALL), **ERRORS}
    groups = [split.codes == k for k in range(len(split.names))]
    found = {}
    for name, rate in rates.items():
        counted, among = (parts @ part for part in rate)
        found[name] = [
            share(np.where(rows, counted, 0.0), np.where(rows, among, 0.0), held.weight, held.times)
            for rows in groups
        ]
    return found


def _count(split: Split, held: Held) -> Ints:
    """Return how many rows each group has."""
    known = split.codes >= 0
    times = None if held.times is None else held.times[known]
    return np.bincount(split.codes[known], times, len(split.names)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """What a model does to the groups of one attribute; ``compared`` are those that are large enough."""

    held: Held
    split: Split
    compared: Bools
    least: int

    @property
    def z(self) -> float:
        """The half width of intervals of comparisons, which hold for all pairs of groups at once."""
        return critical_value(max(2, int(self.compared.sum())))

    @property
    def rows(self) -> list[Bools]:
        """Which rows are in each group."""
        return [np.asarray(self.split.codes == k) for k in range(len(self.split.names))]

    def _highest(self, levels: Sequence[Level]) -> int:
        values = [one.value if ok else -np.inf for one, ok in zip(levels, self.compared, strict=True)]
        return int(np.nanargmax(values)) if np.isfinite(values).any() else 0

    def _against(self, levels: Sequence[Level], of: Callable[..., Figure], best: int) -> list[Figure]:
        """Return each group's figure against that of one of them, whose own is left out."""
        return [Figure() if k == best else of(one, levels[best], self.z) for k, one in enumerate(levels)]

    def _tests(self, levels: Sequence[Level], best: int) -> list[tuple[str, float, float]]:
        """Return the test of each group against one of them: its name, p value and adjusted p value."""
        is_counted = self.held.is_counted
        found = [
            ("", np.nan)
            if k == best or not self.compared[k]
            else compare(one, levels[best], is_counted=is_counted)
            for k, one in enumerate(levels)
        ]
        adjusted = adjust([p for _, p in found])
        return [(name, p, q) for (name, p), q in zip(found, adjusted, strict=True)]

    def _gap(self, levels: Sequence[Level]) -> Gap:
        """Return the widest difference between groups that are compared."""
        known = [k for k, one in enumerate(levels) if self.compared[k] and np.isfinite(one.value)]
        if len(known) < 2:
            return Gap(Figure(), "", "")
        high = max(known, key=lambda k: levels[k].value)
        low = min((k for k in known if k != high), key=lambda k: levels[k].value)
        names = self.split.names
        return Gap(difference(levels[high], levels[low], self.z), names[high], names[low])

    def _scoring(self, label: int) -> list[Level]:
        if self.held.times is not None:
            return [Level(np.nan, 0.0, np.zeros(1)) for _ in self.split.names]
        above = above_median(self.held.score[:, label], self.held.weight)
        return [share(np.where(rows, above, 0), rows, self.held.weight) for rows in self.rows]

    def label(self, label: int) -> LabelTable:
        """Return the outcomes and errors with respect to one label."""
        held, names = self.held, self.split.names
        levels = group_levels(held, self.split, label)
        selected, scoring = levels["selection_rate"], self._scoring(label)
        best, top = self._highest(selected), self._highest(scoring)
        columns = zip(
            names,
            levels["base_rate"],
            selected,
            scoring,
            self._against(selected, ratio, best),
            self._against(scoring, ratio, top),
            self._against(selected, difference, best),
            self._tests(selected, best),
            strict=True,
        )
        outcomes = [
            Outcome(
                name, base.figure(), chosen.figure(), scored.figure(), impact, scoring_impact, less, *test
            )
            for name, base, chosen, scored, impact, scoring_impact, less, test in columns
        ]
        errors = [self._errors(label, k, rows, levels) for k, rows in enumerate(self.rows)]
        gaps = {name: self._gap(levels[name]) for name in GAPS}
        shown = self._shown(outcomes), self._shown(errors)
        return LabelTable(held.labels[label], names[best], names[top], *shown, gaps)

    def _errors(self, label: int, group: int, rows: Bools, levels: dict[str, list[Level]]) -> Errors:
        held, true = self.held, self.held.true[:, label]
        folds = [(at, scores[:, label]) for at, scores in held.folds]
        rates = {name: levels[name][group].figure() for name in ERRORS}
        found = auc(true, folds, rows, held.weight).figure()
        if not held.is_probability:
            return Errors(self.split.names[group], rates, found, Figure(), ())
        score = held.score[:, label]
        gap = average(true - score, rows, held.weight).figure()
        bins = tuple(
            one if one.rows >= self.least else Bin(one.rows, float("nan"), Figure())
            for one in calibrate(true, score, rows, held.weight)
        )
        return Errors(self.split.names[group], rates, found, gap, bins)

    def _shown(self, lines: Sequence[Line]) -> tuple[Line, ...]:
        """Return the lines of the groups, without the figures of those that are too small to show."""
        counts = _count(self.split, self.held)
        return hide(lines, {name for name, n in zip(self.split.names, counts, strict=True) if n < self.least})

    def quantity(self) -> QuantityTable:
        """Return the outcomes and errors if the target is a quantity."""
        held, names = self.held, self.split.names
        target, predicted = held.true[:, 0], held.predicted[:, 0]
        scoring = self._scoring(0)
        means = [average(predicted, rows, held.weight) for rows in self.rows]
        best, top = self._highest(means), self._highest(scoring)
        tests, less = self._tests(means, best), self._against(means, difference, best)
        impact = self._against(scoring, ratio, top)
        lines = []
        for k, rows in enumerate(self.rows):
            mean = partial(average, among=rows, weight=held.weight)
            errors = predicted - target
            line: list[Any] = [mean(target).figure(), means[k].figure(), mean(errors).figure()]
            line += [mean(np.abs(errors)).figure(), *_spread(target, errors, rows, held.weight)]
            line += [scoring[k].figure(), impact[k], less[k], *tests[k]]
            lines.append(Quantity(names[k], *line))
        return QuantityTable(names[best], names[top], self._shown(lines), self._gap(means))


def perform(held: Held) -> dict[str, Figure]:
    """Return how good the model is on all rows together."""
    n, weight = len(held.weight), held.weight
    every = np.ones(n)
    if not held.labels:
        target, errors = held.true[:, 0], held.predicted[:, 0] - held.true[:, 0]
        return {
            "mean_absolute_error": average(np.abs(errors), every, weight).figure(),
            "r2": _r2(*_squares(target, errors, every, weight)),
        }
    found = {"accuracy": share(held.right, every, weight, held.times).figure()}
    if len(held.labels) == 1 and held.times is None:
        folds = [(at, scores[:, 0]) for at, scores in held.folds]
        found["auc"] = auc(held.true[:, 0], folds, every > 0, weight).figure()
    return found


def _spread(target: Floats, errors: Floats, rows: Bools, weight: Floats) -> tuple[Figure, Figure]:
    """Return the root mean squared error and R2 of some rows, with intervals by the delta method."""
    squared, total = _squares(target, errors, rows, weight)
    if not squared.value > 0 or not total.value > 0:
        return Figure(float(np.sqrt(max(squared.value, 0.0)))) if squared.size else Figure(), Figure()
    root = float(np.sqrt(squared.value))
    error = Level(root, squared.size, squared.moves / (2 * root), is_share=False)
    return error.figure(), _r2(squared, total)


def _squares(target: Floats, errors: Floats, rows: Floats | Bools, weight: Floats) -> tuple[Level, Level]:
    """Return the mean squared error of some rows, and the variance of their target."""
    mean = average(target, rows, weight).value
    return average(errors**2, rows, weight), average((target - mean) ** 2, rows, weight)


def _r2(squared: Level, total: Level) -> Figure:
    value = 1 - squared.value / total.value
    moves = -(squared.moves - (1 - value) * total.moves) / total.value
    return Level(value, squared.size, moves, is_share=False).figure()


def calibrate(true: Floats, score: Floats, rows: Bools, weight: Floats) -> tuple[Bin, ...]:
    """Return the rows in bins by the quantiles of all scores: mean score and how often the label occurs."""
    edges = np.unique(np.quantile(score, np.arange(1, _BINS) / _BINS))
    at = np.searchsorted(edges, score, side="left")
    found = []
    for k in range(len(edges) + 1):
        inside = (rows & (at == k)) * 1.0
        if n := int(inside.sum()):
            observed = share(inside * true, inside, weight).figure()
            found.append(Bin(n, average(score, inside, weight).value, observed))
    return tuple(found)


# ---- two models


@dataclass(frozen=True, slots=True)
class Before:
    """A rate of a group before and after a mitigation, on the same rows, and its change."""

    group: str
    rate: str
    before: Figure
    after: Figure
    change: Figure


def compare_models(before: Held, after: Held, split: Split) -> tuple[Before, ...]:
    """Return the rates of each group under two models on the same rows."""
    rates = ("selection_rate", "true_positive_rate", "false_positive_rate", "precision", "accuracy")
    levels = [group_levels(held, split) for held in (before, after)]
    return tuple(
        Before(name, rate, one.figure(), other.figure(), change(one, other))
        for rate in rates
        for name, one, other in zip(split.names, levels[0][rate], levels[1][rate], strict=True)
    )
