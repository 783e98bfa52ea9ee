"""What is known of each row while its pairs are being solved."""

import numpy as np

from fairshap._frames import Library, Players
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution._result import Attributions
from fairshap.matching import MatchPlan


class Rows:
    """The weighted means over each row's references.

    Parameters
    ----------
    plan : MatchPlan
        The pairs.
    players : Players
        Whose values they are.
    n_rows : int
        How many rows there are, matched or not.
    unit : float
        What differences of the model's outputs are measured in.
    """

    def __init__(self, plan: MatchPlan, players: Players, n_rows: int, unit: float) -> None:
        self.plan = plan
        self.players = players
        self.unit = unit
        self.values = np.zeros((n_rows, len(players.names)))
        self.errors: Floats | None = None
        self.full, self.empty = np.zeros(n_rows), np.zeros(n_rows)
        self.status = np.full(n_rows, "unmatched", dtype="<U9")
        self.status[plan.row] = "exact"
        #: Whether each pair is its row's only one.
        self.is_lone: Bools = np.bincount(plan.row, minlength=n_rows)[plan.row] == 1

    def add(
        self,
        pairs: Ints,
        counts: AnyCodes,
        active: AnyCodes,
        phi: Floats,
        full: Floats,
        empty: Floats,
        error: Floats | None = None,
    ) -> None:
        """Add the values of pairs, each with its weight, to their rows.

        ``active``, ``phi`` and ``error`` hold the players of one pair after those of the other,
        so many of each.
        """
        row, weight = self.plan.row[pairs], self.plan.weight[pairs]
        at = (np.repeat(row, counts), active.ravel())
        share = np.repeat(weight, counts)
        np.add.at(self.values, at, share * phi.ravel())
        np.add.at(self.full, row, weight * full)
        np.add.at(self.empty, row, weight * empty)
        if error is not None:
            if self.errors is None:
                # Not zeros_like, which would take memory for the many rows that have none.
                self.errors = np.zeros(self.values.shape)
            # References of one row share their permutations, so that their errors add up.
            np.add.at(self.errors, at, share * error.ravel())
            self.status[row] = "estimated"

    def attributions(self, route: str, library: Library) -> Attributions:
        """Return the result; rows without a reference have no values."""
        unmatched = self.status == "unmatched"
        for array in (self.values, self.errors):
            if array is not None:
                array[unmatched] = np.nan
        self.full[unmatched], self.empty[unmatched] = np.nan, np.nan
        return Attributions(
            values=self.values,
            errors=self.errors,
            status=self.status,
            switched=self.players,
            risk=self.full,
            reference_risk=self.empty,
            route=route,
            library=library,
            unit=self.unit,
        )
