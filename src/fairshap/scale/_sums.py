"""What batches add up to: counts and sums that can be merged in any order, and the audit figures in them."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fairshap._crossval.evaluation import groups_frame
from fairshap._crossval.measures import is_compared
from fairshap._typing import Bools, Floats, Ints
from fairshap.attribution import Explanation
from fairshap.edits import Edits
from fairshap.exceptions import InputError
from fairshap.metrics import RATES, parts_of, rates

#: Numbers are added up as whole multiples of this share of the unit, so that no order of adding them matters.
STEPS = 1 << 40
# The bins of Shapley values between minus one unit and one.
_BINS = 200
#: The cells of the table of a group: positive or not, predicted so before the repair and after it.
CELLS = np.array([[k >> 2, k >> 1 & 1, k & 1] for k in range(8)])
# The parts of these that rates before the repair are made of.
_PARTS = parts_of(CELLS[:, 0] > 0, CELLS[:, 1] > 0).astype(np.int64)


class Judged(NamedTuple):
    """What a model does on rows: its risk, its decisions, and whether these flip with the attribute alone."""

    risk: Floats
    predicted: Bools
    flips: Bools


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sums:
    """Counts and sums over rows, of one batch or of many: ``sums + others`` merges them.

    They hold no row. Sums are exact, so the figures do not depend on how rows were cut into batches.

    Attributes
    ----------
    n_rows, n_edited_rows, n_unmatched, n_estimated : int
        The rows, those that were edited, those without a reference, and those whose values are estimates.
    edits_by_column : dict
        The number of edited cells of each column.
    group_names, feature_names : tuple
        The groups and the features that the figures are about.
    unit : float
        The unit of the model's output: 1 for probabilities.

    Examples
    --------
    >>> from fairshap import FairSHAP, Repairer, datasets
    >>> from fairshap.scale import Sums
    >>> d = datasets.make_biased(200, random_state=0)
    >>> repair = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    >>> repairer = Repairer.fit(repair, d.X, d.y)
    >>> parts = [repairer.repair(d.X[k : k + 50], d.y[k : k + 50]).sums for k in range(0, 200, 50)]
    >>> Sums.total(parts) == repairer.repair(d.X, d.y).sums
    True
    """

    group_names: tuple[str, ...]
    feature_names: tuple[Hashable, ...]
    unit: float
    n_rows: int
    n_edited_rows: int
    n_unmatched: int
    n_estimated: int
    edits_by_column: dict[Hashable, int]
    #: For each group, that of rows without one last, how many rows are positive or not, predicted positive or
    #: not, and predicted positive or not once they are repaired; the last changes first.
    cells: Ints
    #: For each group the rows whose risk is known, and those whose decision flips, before and after.
    n_risks: Ints
    flips: Ints
    #: For each group, in steps, the sum of the risks, of their squares, and of the risks after the repair.
    risk_steps: tuple[int, ...]
    square_steps: tuple[int, ...]
    after_steps: tuple[int, ...]
    #: In steps the sum of the distances to the heaviest reference.
    distance_steps: int
    #: For each feature, in steps, the sums of its Shapley values and of their sizes; the greatest; and how
    #: many there are in each bin.
    phi_steps: tuple[int, ...]
    size_steps: tuple[int, ...]
    phi_greatest: Floats
    phi_counts: Ints

    @classmethod
    def of(
        cls, explanation: Explanation, edits: Edits, true: Bools, before: "Judged", after: "Judged"
    ) -> "Sums":
        """Return the sums of one explained batch, judged as it is and as it is repaired."""
        groups, unit, plan = explanation.problem.groups, explanation.unit, explanation.match_plan
        n, code = len(groups.names) + 1, np.where(groups.code < 0, len(groups.names), groups.code)
        cell = ((code * 2 + true) * 2 + before.predicted) * 2 + after.predicted
        risk = before.risk / unit
        known = ~np.isnan(risk)

        def by_group(values: Floats) -> tuple[int, ...]:
            return tuple(_total(values[known & (code == k)], 1.0) for k in range(n))

        values = explanation.values[explanation.status != "unmatched"]
        is_heaviest = np.append(True, np.diff(plan.row) > 0)[: len(plan)]
        at = np.clip((values / unit + 1) * (_BINS / 2), 0, _BINS - 1).astype(np.int64)
        phi_counts = [np.bincount(one, minlength=_BINS) for one in at.T]
        return cls(
            tuple(groups.names),
            tuple(explanation.feature_names),
            unit,
            n_rows=len(explanation),
            n_edited_rows=len(np.unique(edits.row)),
            n_unmatched=int(np.count_nonzero(explanation.status == "unmatched")),
            n_estimated=int(np.count_nonzero(explanation.status == "estimated")),
            edits_by_column=dict(Counter(edits.column)),
            cells=np.bincount(cell, minlength=8 * n).reshape(n, 8),
            n_risks=np.bincount(code[known], minlength=n),
            flips=np.column_stack([np.bincount(code[one.flips], minlength=n) for one in (before, after)]),
            risk_steps=by_group(risk),
            square_steps=by_group(risk**2),
            after_steps=by_group(after.risk / unit),
            distance_steps=_total(plan.distance[is_heaviest], 1.0),
            phi_steps=tuple(_total(one, unit) for one in values.T),
            size_steps=tuple(_total(np.abs(one), unit) for one in values.T),
            phi_greatest=values.max(axis=0, initial=-np.inf),
            phi_counts=np.array(phi_counts, dtype=np.int64).reshape(len(explanation.feature_names), _BINS),
        )

    def __repr__(self) -> str:
        return (
            f"Sums({self.n_rows} rows, {self.n_edits} cells edited in {self.n_edited_rows} rows, "
            f"mean risk {self.mean_risk:.3g})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sums):
            return NotImplemented
        return all(np.array_equal(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of the rows of both."""
        if (self.group_names, self.feature_names) != (other.group_names, other.feature_names):
            raise InputError("sums of different groups or features cannot be added.")
        merged: dict[str, Any] = {}
        for one in fields(self):
            a, b = getattr(self, one.name), getattr(other, one.name)
            if one.name == "edits_by_column":
                merged[one.name] = dict(Counter(a) + Counter(b))
            elif one.name == "phi_greatest":
                merged[one.name] = np.maximum(a, b)
            elif one.name.endswith("steps") and isinstance(a, tuple):
                merged[one.name] = tuple(x + y for x, y in zip(a, b, strict=True))
            elif one.name not in ("group_names", "feature_names", "unit"):
                merged[one.name] = a + b
        return replace(self, **merged)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain lists and numbers, for JSON."""
        plain = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in plain}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Sums":
        """Return what :meth:`to_dict` returned, also by way of JSON."""
        made: dict[str, Any] = {
            name: tuple(v) if isinstance(v, (list, tuple)) else v for name, v in plain.items()
        }
        for name in ("cells", "n_risks", "flips", "phi_counts"):
            made[name] = np.array(plain[name], dtype=np.int64)
        return cls(**made | {"phi_greatest": np.array(plain["phi_greatest"], dtype=np.float64)})

    @staticmethod
    def total(parts: "list[Sums]") -> "Sums":
        """Return the sums of all parts."""
        return reduce(Sums.__add__, parts)

    @property
    def counts(self) -> Ints:
        """For each group: all rows, those predicted positive, positive, both."""
        return np.asarray(self.cells @ _PARTS)

    @property
    def n_edits(self) -> int:
        """The number of edited cells."""
        return sum(self.edits_by_column.values())

    @property
    def mean_risk(self) -> float:
        """The discriminative risk: the mean over the rows."""
        n = int(self.n_risks.sum())
        return sum(self.risk_steps) * self.unit / STEPS / n if n else float("nan")

    @property
    def mean_distance(self) -> float:
        """The mean distance of rows to their heaviest reference."""
        n = self.n_rows - self.n_unmatched
        return self.distance_steps / STEPS / n if n else float("nan")

    def groups(self) -> pd.DataFrame:
        """Return the rates of each group, as ``Evaluation.groups`` does, the most frequent first."""
        risks = np.array([steps * self.unit / STEPS for steps in self.risk_steps])
        return groups_frame(np.column_stack([self.counts, risks]).astype(np.float64), self.group_names)

    def frame(self) -> pd.DataFrame:
        """Return one line with the measures of ``evaluate`` that counts tell: all but AUC and intervals."""
        everyone = self.counts.sum(axis=0)
        level = {name: float(rates(everyone @ a, everyone @ b)) for name, (a, b) in RATES.items()}
        true, false = self._gap("true_positive_rate"), self._gap("false_positive_rate")
        found = {
            "accuracy": level["accuracy"],
            "balanced_accuracy": (1 + level["true_positive_rate"] - level["false_positive_rate"]) / 2,
            "dr": self.mean_risk,
            "dp": self._gap("positive_rate"),
            "eo": true,
            "eodds": max(true, false),
            "fprd": false,
            "pqp": self._gap("precision"),
        }
        return pd.DataFrame([found])

    def columns(self) -> pd.DataFrame:
        """Return one line for each feature, the one that adds most to the risk first."""
        n = max(1, self.n_rows - self.n_unmatched)
        found = {
            "column": list(self.feature_names),
            "mean_attribution": [steps * self.unit / STEPS / n for steps in self.phi_steps],
            "mean_size": [steps * self.unit / STEPS / n for steps in self.size_steps],
            "largest_attribution": self.phi_greatest,
            "cells": [self.edits_by_column.get(name, 0) for name in self.feature_names],
        }
        return pd.DataFrame(found).sort_values("mean_attribution", ascending=False, ignore_index=True)

    def histogram(self) -> pd.DataFrame:
        """Return how many Shapley values of each feature are in bins between minus one unit and one."""
        edges = np.linspace(-1, 1, _BINS + 1) * self.unit
        bins = pd.IntervalIndex.from_breaks(edges, closed="left", name="phi")
        return pd.DataFrame(self.phi_counts.T, index=bins, columns=list(self.feature_names))

    def _gap(self, rate: str) -> float:
        """Return the difference in a rate between the highest and the lowest group that are compared."""
        counts = self.counts[:-1]
        counted, among = (counts @ part for part in RATES[rate])
        compared = is_compared(counts[:, 0]) & (among > 0)
        levels = rates(counted, among)[compared]
        return float(levels.max() - levels.min()) if len(levels) > 1 else float("nan")


def _total(values: Floats, unit: float) -> int:
    """Return the sum of numbers, each rounded to a step, in steps; whole units apart: none overflows."""
    values = values / unit
    whole = np.floor(values)
    rest = np.rint((values - whole) * STEPS)
    return int(whole.astype(np.int64).sum()) * STEPS + int(rest.astype(np.int64).sum())
