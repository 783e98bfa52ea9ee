"""What a page is written from: a repair with its evidence, and what other thresholds would do."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._crossval import Evaluation
from fairshap._frames import show
from fairshap._problem import Problem, Target
from fairshap._typing import Floats
from fairshap.attribution import Explanation
from fairshap.attribution._subsets import risk_when_replaced
from fairshap.edits import Edits, Iterative, OptimalSubset, Selector, Threshold
from fairshap.edits._certificate import Certificate
from fairshap.edits._recipe import Recipe
from fairshap.report._evaluation import measure_lines

# The thresholds that are tried, as multiples of the chosen one.
_MULTIPLES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """A repair, or the one that an audit would make.

    ``target`` knows the positive label. ``evaluation`` has the models before and after on held-out rows, for
    an audit the first of them; if it is None, ``not_measured`` says why.
    """

    explanation: Explanation
    recipe: Recipe
    edits: Edits
    certificate: Certificate
    target: Target
    evaluation: Evaluation | None = None
    not_measured: str = ""
    tuning: Any = None
    is_audit: bool = False

    @property
    def problem(self) -> Problem:
        """The table with its groups."""
        return self.explanation.problem

    @property
    def attribute(self) -> str:
        """What the sensitive attribute is called."""
        return show(self.problem.groups.name, 60)

    @property
    def n_models(self) -> int:
        """How many models of the evaluation are shown."""
        return 1 if self.is_audit else 2

    def measure_lines(self) -> dict[str, dict[str, Any]] | None:
        """Return a line for each measure, before and after; None if nothing was measured."""
        return None if self.evaluation is None else measure_lines(self.evaluation, self.n_models)

    @property
    def n_cells(self) -> int:
        """The number of cells of the table."""
        return self.problem.own.n_rows * len(self.problem.own.names)

    @property
    def selector(self) -> Selector:
        """What selects the edits of one round."""
        selector = self.recipe.selector
        return selector.selector or Threshold() if isinstance(selector, Iterative) else selector

    @property
    def threshold(self) -> float:
        """The smallest Shapley value that leads to an edit; for an optimal subset, the cost of a cell."""
        selector = self.selector
        if isinstance(selector, (Threshold, OptimalSubset)):
            given = selector.threshold if isinstance(selector, Threshold) else selector.cost
            return float(self.explanation.default_threshold if given is None else given)
        # A budget has no threshold of its own: it ends where it is spent.
        values = self.edits.phi if len(self.edits) else [np.nan_to_num(self.explanation.values).max()]
        return float(np.min(values))

    def mean_risks(self, edited: bool = False) -> tuple[float, float] | None:
        """Return the explained model's mean risk before and after, over all rows or the edited ones."""
        known = ~np.isnan(self.certificate.dr_before)
        if edited:
            known &= self.certificate.edited
        parts = (self.certificate.dr_before[known], self.certificate.dr_after[known])
        return (float(parts[0].mean()), float(parts[1].mean())) if known.any() else None


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """The cells and rows that each threshold would edit, and the explained model's mean risk after that.

    ``chosen`` is the position of the repair's own threshold, -1 if it is not among them.
    """

    thresholds: Floats
    cells: Any
    rows: Any
    risk: Floats
    chosen: int

    @classmethod
    def of(cls, data: ReportData) -> "Sweep":
        """Return what each threshold would do in one round, within the constraints but without a budget."""
        taken = data.threshold
        is_usable = bool(0 < taken < np.inf)
        if not is_usable:
            taken = float(np.nan_to_num(data.explanation.values).max(initial=1e-3))
        thresholds = taken * np.array(_MULTIPLES)
        cells, rows, risk = zip(*(_try(data, threshold) for threshold in thresholds.tolist()), strict=True)
        chosen = _MULTIPLES.index(1.0) if is_usable else -1
        return cls(thresholds, np.array(cells), np.array(rows), np.array(risk), chosen)

    def to_dict(self) -> dict[str, Any]:
        """Return what the slider needs."""
        return {
            "thresholds": [float(f"{value:.4g}") for value in self.thresholds],
            "cells": self.cells.tolist(),
            "rows": self.rows.tolist(),
            "risk": [round(value, 6) for value in self.risk.tolist()],
            "chosen": self.chosen,
        }


def _try(data: ReportData, threshold: float) -> tuple[int, int, float]:
    """Return the cells, the rows and the mean risk after the edits of one threshold."""
    explanation, by_column = data.explanation, getattr(data.selector, "by_column", None)
    kind = OptimalSubset if isinstance(data.selector, OptimalSubset) else Threshold
    rows, replaced = kind(threshold, by_column=by_column).choose(explanation, data.recipe.constraints)
    risk = data.certificate.dr_before.copy()
    if not len(rows):
        return 0, 0, float(np.nanmean(risk))
    references, features = explanation.best[rows], explanation.features
    differ = data.problem.table.differ(rows, references)[:, : len(features.of_column)]
    cells = int((differ & replaced[:, features.of_column]).sum())
    risk[rows] = risk_when_replaced(explanation.risk_function, features, rows, references, replaced)
    return cells, len(rows), float(np.nanmean(risk))
