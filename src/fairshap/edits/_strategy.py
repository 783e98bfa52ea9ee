"""Strategies: from attributions to the cells that are replaced."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from fairshap._frames import Players, Table
from fairshap._messages import did_you_mean, listing
from fairshap._models import Risk
from fairshap._problem import Labels
from fairshap._ties import exceeds, reaches, steps
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution import Attributions, Options, best_players, check_threshold
from fairshap.edits._choosing import keep_few, keep_within
from fairshap.edits._guards import Guard, check_guard, leave_harmed
from fairshap.edits._ledger import Edits
from fairshap.edits._limits import Limits
from fairshap.edits._plausible import keep_plausible
from fairshap.edits._select import edits_of_cells
from fairshap.exceptions import InputError

#: How the cells to replace are chosen.
StrategyName: TypeAlias = Literal["threshold", "budget", "optimal"]
STRATEGIES = ("threshold", "budget", "optimal")


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the cells to replace are chosen, and within what limits.

    Parameters
    ----------
    name : {"threshold", "budget", "optimal"}
        "threshold": every value whose attribution is at least the threshold. "budget": those of the largest
        attributions, as many cells as the budget has. "optimal": in each row the set of values that makes
        the risk plus the threshold times the number of edited cells lowest.
    threshold : float
        What an edit must be worth: the smallest attribution, or what a cell costs; no matter to "budget".
    thresholds : mapping, optional
        Columns, or players, with a threshold of their own.
    budget : int or float, optional
        How many cells are replaced at most: a number, or a share of all cells below 1. The largest
        attributions come first.
    guard : bool or {"risk", "label"}
        Whether a row is left as it is if its risk under the consulted model would rise (True is "risk"), or
        if its own label would become less likely.
    limits : Limits
        What may be edited.
    """

    name: StrategyName = "threshold"
    threshold: float = 0.05
    thresholds: Mapping[Any, float] | None = None
    budget: int | float | None = None
    guard: Guard = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.name not in STRATEGIES:
            raise InputError(
                f"strategy={self.name!r} is not known; the strategies are {listing(STRATEGIES)}."
                f"{did_you_mean(self.name, STRATEGIES)}",
                parameter="strategy",
            )
        check_threshold(self.threshold)
        check_guard(self.guard)
        if not isinstance(self.thresholds, (Mapping, type(None))):
            raise InputError(
                f"column_thresholds={self.thresholds!r} must say which column each threshold is for, such as "
                "{'age': 0.1}; threshold is the one of all columns.",
                parameter="column_thresholds",
            )
        for threshold in (self.thresholds or {}).values():
            check_threshold(threshold)
        budget = self.budget
        if budget is None:
            if self.name == "budget":
                raise InputError(
                    "strategy='budget' needs a budget: a number of cells, such as budget=500, or a share of "
                    "all cells, such as budget=0.005.",
                    parameter="strategy",
                )
        elif not _is_number(budget) or not (0 < budget < 1 or (budget >= 1 and float(budget).is_integer())):
            raise InputError(
                f"budget={budget!r} must be a number of cells, or a share of all cells between 0 and 1.",
                parameter="budget",
            )

    @property
    def reach(self) -> float | None:
        """The smallest attribution that can lead to an edit; None where that is no matter of a threshold."""
        return min([self.threshold, *(self.thresholds or {}).values()]) if self.name == "threshold" else None

    def check(self, table: Table, players: Players) -> None:
        """Raise an error if limits or thresholds name columns that a table does not have."""
        self.limits.players(table, players)
        self._least(players)

    def select(
        self, attributions: Attributions, risk: Risk, labels: Labels, best: Ints, options: Options
    ) -> Edits:
        """Return the edits of the user's table.

        Parameters
        ----------
        attributions : Attributions
            What each player adds to the risk of each row.
        risk : Risk
            The consulted model, the table and its groups.
        labels : Labels
            The target.
        best : ndarray of int, shape (rows,)
            The row of the table that each row's new values come from, -1 where there is none.
        options : Options
            How many threads work.
        """
        rows, replaced = self.choose(attributions, risk, labels, best, options)
        own, pool, of_column = risk.setting.own, risk.setting.table, attributions.switched.of_column
        cells = pool.differ(rows, best[rows])[:, : len(of_column)] & replaced[:, of_column]
        at, column = np.nonzero(cells)
        row = rows[at]
        phi = attributions.values[row, of_column[column]]
        return edits_of_cells(own, pool, row, column, best[row], phi)

    def choose(
        self, attributions: Attributions, risk: Risk, labels: Labels, best: Ints, options: Options
    ) -> tuple[Ints, Bools]:
        """Return the rows that are edited, and which players of each are replaced."""
        players, groups = attributions.switched, risk.setting.groups
        may = self.limits.players(risk.setting.own, players)
        may[players.of_column[[c for c in risk.setting.columns if c < len(players.of_column)]]] = False
        rows = np.flatnonzero(self.limits.rows(groups) & (best >= 0) & self._worth(attributions, may))
        cells = self._cells(risk, players.of_column, rows, best[rows], len(players.names))
        cells[:, ~may] = 0
        replaced = self._first_choice(attributions, risk, rows, best[rows], cells, options)
        replaced &= cells > 0
        kept = replaced.any(axis=1)
        rows, replaced, cells = rows[kept], replaced[kept], cells[kept]
        importance = steps(attributions.values[rows], attributions.unit)
        if self.limits.max_row_edits is not None:
            keep_few(replaced, importance, cells, self.limits.max_row_edits)
        if self.limits.is_plausible:
            table = risk.setting.table
            apart = ~np.isin(table.category_columns, risk.setting.columns)
            keep_plausible(
                replaced,
                importance,
                rows,
                best[rows],
                table.codes[:, apart],
                players.of_column[table.category_columns[apart]],
                groups.side,
            )
        if self.budget is not None:
            keep_within(replaced, importance, cells, self.n_cells(risk))
        if self.guard:
            leave_harmed(replaced, self.guard, risk, labels, players, rows, best[rows])
        kept = replaced.any(axis=1)
        return rows[kept], replaced[kept]

    def left_after(self, n_edits: int, risk: Risk) -> "Strategy":
        """Return the strategy with what is left of its budget after some edits."""
        return self if self.budget is None else replace(self, budget=self.n_cells(risk) - n_edits)

    def n_cells(self, risk: Risk) -> int:
        """Return the budget in cells."""
        own = risk.setting.own
        if self.budget is None:
            return own.n_rows * len(own.names)
        return int(self.budget * own.n_rows * len(own.names)) if self.budget < 1 else int(self.budget)

    def _worth(self, attributions: Attributions, may: Bools) -> Bools:
        """Say which rows can have an edit at all."""
        if self.name == "optimal":
            cheapest = self._least(attributions.switched)[may].min(initial=np.inf)
            return exceeds(attributions.risk, cheapest, attributions.unit)
        return np.asarray((self._is_enough(attributions) & may).any(axis=1))

    def _is_enough(self, attributions: Attributions) -> Bools:
        """Say which attributions are large enough for an edit, for strategies that go by them."""
        if self.name == "budget":
            return exceeds(attributions.values, 0.0, attributions.unit)
        return reaches(attributions.values, self._least(attributions.switched), attributions.unit)

    def _first_choice(
        self,
        attributions: Attributions,
        risk: Risk,
        rows: Ints,
        references: Ints,
        cells: AnyCodes,
        options: Options,
    ) -> Bools:
        if self.name != "optimal":
            return self._is_enough(attributions)[rows]
        most = self.limits.max_row_edits or int(cells.sum(axis=1).max(initial=0))
        return best_players(
            risk,
            attributions.switched,
            rows,
            references,
            np.nan_to_num(attributions.values[rows]),
            cells,
            self._least(attributions.switched),
            most,
            options,
        )

    def _least(self, players: Players) -> Floats:
        """Return the threshold of each player."""
        least = np.full(len(players.names), float(self.threshold))
        for name, threshold in (self.thresholds or {}).items():
            if name in players.names:
                least[players.names.index(name)] = threshold
            elif name in players.columns:
                least[players.of_column[players.columns.index(name)]] = threshold
            else:
                raise InputError(
                    f"column_thresholds names {name!r}, which is not a column of X, which has "
                    f"{listing(players.columns)}.{did_you_mean(name, players.columns)}",
                    parameter="column_thresholds",
                )
        return least

    @staticmethod
    def _cells(risk: Risk, of_column: Ints, rows: Ints, references: Ints, n_players: int) -> AnyCodes:
        """Return how many cells of each player differ from the reference's."""
        differ = risk.setting.table.differ(rows, references)[:, : len(of_column)]
        if n_players == len(of_column):
            return differ.astype(np.int16)
        cells = np.zeros((len(rows), n_players), dtype=np.int16)
        for column, player in enumerate(of_column):
            cells[:, player] += differ[:, column]
        return cells


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
