"""What the edits did to each row, measured, beside what the theory says."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._frames import Library, make_frame
from fairshap._models import Risk
from fairshap._problem import Problem
from fairshap._typing import Bools, Floats, Native
from fairshap.attribution import Explanation
from fairshap.attribution._subsets import replay
from fairshap.edits._ledger import Edits
from fairshap.metrics import row_risks


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """The two sides of ``DR_after = DR_before - sum(phi) + I`` for each row; of the gap in the gap game.

    The risks are those of the model itself, in the table as it was read and as it was written. ``sum_phi`` is
    of the features that were edited, the ``residual`` I from the game and not from the tables, ``distance``
    how far the row's heaviest reference is, from which the new values come.
    """

    before: Floats
    sum_phi: Floats
    residual: Floats
    after: Floats
    distance: Floats
    edited: Bools
    game: str = "risk"
    library: Library = "pandas"

    def frame(self) -> Native:
        """Return one line for each row: row, dr_before, sum_phi, residual, dr_after, distance.

        In the gap game ``gap_before`` and ``gap_after`` take the place of the risks.
        """
        measure = "dr" if self.game == "risk" else "gap"
        data: dict[str, Any] = {
            "row": np.arange(len(self.before)),
            f"{measure}_before": self.before,
            "sum_phi": self.sum_phi,
            "residual": self.residual,
            f"{measure}_after": self.after,
            "distance": self.distance,
        }
        return make_frame(self.library, data)


def certify(explanation: Explanation, edits: Edits, repaired: Native) -> Certificate:
    """Return what the edits did to each row.

    With v the game of a row x against its heaviest reference, E the edited features and N all of them, the
    residual is ``I = v(N - E) - v(N) + sum(phi_k for k in E)``, of which the paper's definition is the
    special case of one reference. There, with m(S) the Harsanyi dividends of v, it is the sum over the
    coalitions that mix edited and kept features of ``-m(S) |S - E| / |S|``: nothing but interactions. With
    several references phi is the mean over them while the new values come from the heaviest, and I also
    holds by how much that one's Shapley values differ from the mean. Rows without edits have I = 0; rows
    without a reference have none.
    """
    plan, features = explanation.match_plan, explanation.features
    rows, at = np.unique(edits.row, return_inverse=True)
    taken = np.zeros((len(rows), len(features.names)), dtype=np.bool_)
    feature = dict(zip(features.columns, features.of_column.tolist(), strict=True))
    taken[at, [feature[name] for name in edits.column]] = True
    sum_phi, residual = np.zeros(len(explanation)), np.zeros(len(explanation))
    if len(rows):
        sum_phi[rows] = np.where(taken, explanation.values[rows], 0.0).sum(axis=1)
        full, without = replay(explanation, rows, taken)
        sign = 1.0 if explanation.game == "risk" else explanation.problem.gap_sign[rows]
        residual[rows] = sign * (without - full) + sum_phi[rows]
    distance = np.full(plan.n_rows, np.nan)
    # The first pair of a row is its heaviest: written last, it stays.
    distance[plan.row[::-1]] = plan.distance[::-1]
    unmatched = explanation.status == "unmatched"
    for values in (sum_phi, residual, distance):
        values[unmatched] = np.nan
    return Certificate(
        before=_measure(explanation, explanation.problem),
        sum_phi=sum_phi,
        residual=residual,
        after=_measure(explanation, explanation.problem.with_cells(repaired)),
        distance=distance,
        edited=np.isin(np.arange(len(explanation)), rows),
        game=explanation.game,
        library=explanation.problem.table.store.library,
    )


def _measure(explanation: Explanation, problem: Problem) -> Floats:
    """Return the risk of each row with a table's cells, or its gap to its references as they were read."""
    scorer, n = explanation.risk_function.scorer, len(explanation)
    if explanation.game == "risk":
        return row_risks(Risk(scorer, problem), np.arange(n))
    of_all = row_risks(explanation.risk_function.of_scores())
    plan = explanation.match_plan
    of_references = np.bincount(plan.row, plan.weight * of_all[plan.reference], n)
    scores = row_risks(Risk(scorer, problem).of_scores(), np.arange(n))
    gap = problem.gap_sign * (scores - of_references)
    return np.where(explanation.status == "unmatched", np.nan, gap)
