"""What other thresholds would do: how many cells, and the mean risk of the consulted model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshap._plotting import draw_thresholds
from fairshap._typing import Floats
from fairshap.attribution import risk_when_replaced
from fairshap.report._findings import Findings

# The thresholds that are tried, as multiples of the one that was taken.
_MULTIPLES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """What each threshold would do.

    Parameters
    ----------
    thresholds : ndarray of float
        From the smallest to the largest.
    cells, rows : ndarray of int
        How many would be edited.
    risk : ndarray of float
        The mean risk of the consulted model on the table after that.
    chosen : int
        The position of the threshold that was taken.
    """

    thresholds: Floats
    cells: Any
    rows: Any
    risk: Floats
    chosen: int

    @classmethod
    def of(cls, findings: Findings) -> "Sweep":
        """Return what each threshold would do in one round, within the limits of the repair.

        A budget is set aside, and "budget" itself counts as "threshold".
        """
        asked, strategy = findings.asked, findings.recipe.strategy
        taken = findings.threshold
        if not np.isfinite(taken) or taken <= 0:
            taken = float(np.nan_to_num(asked.attributions.values).max(initial=1e-3))
        thresholds = np.array([taken * k for k in _MULTIPLES])
        name = "threshold" if strategy.name == "budget" else strategy.name
        lines = []
        for threshold in thresholds.tolist():
            tried = replace(strategy, name=name, threshold=threshold, budget=None)
            lines.append(_try(findings, tried))
        cells, rows, risk = zip(*lines, strict=True)
        chosen = int(np.flatnonzero(thresholds == taken)[0])
        return cls(thresholds, np.array(cells), np.array(rows), np.array(risk), chosen)

    def data(self) -> dict[str, Any]:
        """Return what the slider needs."""
        return {
            "thresholds": [float(f"{value:.4g}") for value in self.thresholds],
            "cells": self.cells.tolist(),
            "rows": self.rows.tolist(),
            "risk": [round(value, 6) for value in self.risk.tolist()],
            "chosen": self.chosen,
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean risk against the number of cells."""
        return draw_thresholds(
            self.thresholds, self.cells, self.risk, float(self.thresholds[self.chosen]), ax
        )


def _try(findings: Findings, strategy: Any) -> tuple[int, int, float]:
    """Return the cells, the rows and the mean risk after the edits of a strategy."""
    asked = findings.asked
    rows, replaced = strategy.choose(asked.attributions, asked.risk, asked.labels, asked.best, asked.options)
    risk = findings.certificate.dr_before.copy()
    if not len(rows):
        return 0, 0, float(risk.mean())
    references, players = asked.best[rows], asked.attributions.switched
    differ = asked.risk.setting.table.differ(rows, references)[:, : len(players.of_column)]
    cells = int((differ & replaced[:, players.of_column]).sum())
    risk[rows] = risk_when_replaced(asked.risk, players, rows, references, replaced)
    return cells, len(rows), float(risk.mean())
