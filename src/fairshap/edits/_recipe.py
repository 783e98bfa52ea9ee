"""Recipes: how a table is repaired once a model is explained on it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from fairshap._frames import Players
from fairshap._problem import Problem
from fairshap._ties import reaches
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution import Explanation
from fairshap.attribution._explain import explain_again
from fairshap.edits._constraints import EditConstraints, make_constraints
from fairshap.edits._counterfactuals import CounterfactualRows, Counterfactuals, check_counterfactuals
from fairshap.edits._ledger import Edits
from fairshap.edits._selectors import Selector, Threshold, check_columns, make_selector

#: Fits a model on a table, its target and its weights.
Fit: TypeAlias = Callable[[Native, Any, Floats | None], Any]


@dataclass(frozen=True, slots=True)
class Round:
    """One round of edits: how many there are so far, and the mean risk that they started from."""

    n_edits: int
    mean_risk: float


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A repaired table: the edited rows, and below them their counterfactuals.

    ``sample_weight`` is None if there are neither counterfactuals nor weights; ``counterfactual_of`` is the
    row that each counterfactual is of.
    """

    X: Native
    y: Any
    sample_weight: Floats | None
    edits: Edits
    counterfactual_of: Ints
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which cells are edited, within which constraints, and which rows get counterfactuals."""

    selector: Selector = field(default_factory=Threshold)
    constraints: EditConstraints = field(default_factory=EditConstraints)
    counterfactuals: CounterfactualRows = None

    def __post_init__(self) -> None:
        make_selector(self.selector)
        make_constraints(self.constraints)
        check_counterfactuals(self.counterfactuals)

    def check(self, problem: Problem, players: Players) -> None:
        """Raise an error if constraints or thresholds name columns that the table does not have."""
        self.constraints.features(problem.own, players)
        check_columns(self.selector, players)

    def follow(self, explanation: Explanation, X: Native, y: Any, fit: Fit) -> Repaired:
        """Return the repaired table.

        Parameters
        ----------
        explanation : Explanation
            The model that was trained on the table, explained on it.
        X, y : data frame or array, array-like
            The user's table and target.
        fit : function
            Fits a model for a further round.
        """
        first, problem, selector = explanation, explanation.problem, self.selector
        edits = selector.select(explanation, self.constraints)
        rounds = [Round(len(edits), explanation.mean_risk)]
        known, most = edits, selector.max_cells(problem)
        while len(rounds) < selector.max_rounds and len(edits) < most:
            repaired = self.finish(first, X, y, edits)
            seen = repaired.X if self.counterfactuals else problem.with_cells(repaired.X).table.native
            model = fit(seen, repaired.y, repaired.sample_weight)
            explanation = explain_again(explanation, model, edits.apply(X), X)
            if reaches(explanation.mean_risk, rounds[-1].mean_risk, explanation.unit):
                # The last edits did no good: they and their round are taken back, but for the first.
                edits, rounds = known, rounds[: max(1, len(rounds) - 1)]
                break
            more = selector.after(len(edits), problem).select(explanation, self.constraints)
            known, edits = edits, Edits.together(edits, more)
            rounds.append(Round(len(edits), explanation.mean_risk))
            if not len(more):
                break
        return self.finish(first, X, y, edits, tuple(rounds))

    def finish(
        self, explanation: Explanation, X: Native, y: Any, edits: Edits, rounds: tuple[Round, ...] = ()
    ) -> Repaired:
        """Return the table with edits that are known, and the counterfactuals of its rows."""
        problem, X_fair = explanation.problem, edits.apply(X)
        weight = problem.sample_weight
        if self.counterfactuals is None:
            return Repaired(X_fair, copy.copy(y), weight, edits, np.empty(0, np.int64), rounds)
        if self.counterfactuals == "edited":
            rows = np.unique(edits.row)
        else:
            rows = np.arange(problem.own.n_rows)
            if self.counterfactuals != "all":
                risks = explanation.risk_function.of_rows(rows)
                rows = rows[reaches(risks, self.counterfactuals, explanation.unit)]
        added = Counterfactuals.make(problem, rows, weight)
        return Repaired(added.add_to(X_fair), added.add_to_target(y), added.weight, edits, added.of, rounds)
