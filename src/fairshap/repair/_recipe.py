"""Recipes: which cells are replaced, in how many rounds, and which rows get twins."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np

from fairshap._messages import did_you_mean, listing
from fairshap._problem import Twins
from fairshap._ties import reaches
from fairshap._typing import Floats, Ints, Native
from fairshap.edits import Edits, Strategy
from fairshap.exceptions import InputError
from fairshap.repair._consultation import Consultation

#: Which rows get counterfactual twins; a number means those whose risk is at least that.
Augment: TypeAlias = Literal["edited", "all"] | float | None
AUGMENTS = (None, "edited", "all")

#: Fits a model on a table, its target and its weights.
Fit: TypeAlias = Callable[[Native, Any, Floats | None], Any]


def is_risk(augment: Any) -> TypeGuard[float]:
    """Say whether the rows that get twins are told by a risk."""
    return isinstance(augment, (int, float, np.integer, np.floating)) and not isinstance(augment, bool)


def describe_twins(augment: Augment) -> str:
    """Say which rows get twins."""
    if augment is None:
        return "no twins"
    if isinstance(augment, str):
        return f"twins of {augment} rows"
    return f"twins of rows with a risk of {augment:g} or more"


@dataclass(frozen=True, slots=True)
class Round:
    """One round of edits: how many there are so far, and the mean risk that they started from."""

    n_edits: int
    mean_risk: float


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A repaired table.

    Parameters
    ----------
    X, y : data frame or array, array-like
        The rows with their edits, and below them the twins.
    sample_weight : ndarray of float, or None
        What they weigh; None if there are neither twins nor weights.
    edits : Edits
        The ledger.
    twin_of : ndarray of int, shape (twins,)
        The row that each twin is of.
    rounds : tuple of Round
        The rounds that the edits were chosen in.
    """

    X: Native
    y: Any
    sample_weight: Floats | None
    edits: Edits
    twin_of: Ints
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a table is repaired.

    Parameters
    ----------
    strategy : Strategy
        Which cells are replaced.
    max_rounds : int, default=1
        How many times a model is asked at most: from the second on, one that is trained on the table as it
        is by then, against the same references.
    augment : {None, "edited", "all"} or float, default=None
        Which rows also stand in the table with their attribute switched; a number means those whose risk
        under the model that is asked first is at least that.
    """

    strategy: Strategy = field(default_factory=Strategy)
    max_rounds: int = 1
    augment: Augment = None

    def __post_init__(self) -> None:
        if is_risk(self.augment):
            if not 0 < self.augment < np.inf:
                raise InputError(
                    f"augment={self.augment!r} is not a risk from which on rows get twins; give a number "
                    "above 0, for example 0.1.",
                    parameter="augment",
                )
        elif not isinstance(self.augment, (str, type(None))) or self.augment not in AUGMENTS:
            raise InputError(
                f"augment={self.augment!r} is not known; give one of {listing(AUGMENTS)}, or a number: the "
                f"risk from which on rows get twins.{did_you_mean(self.augment, ['edited', 'all'])}",
                parameter="augment",
            )
        most = self.max_rounds
        if isinstance(most, (bool, np.bool_)) or not isinstance(most, (int, np.integer)) or most < 1:
            raise InputError(
                f"max_rounds={most!r} is not a number of rounds; give a whole number from 1 on.",
                parameter="max_rounds",
            )

    def follow(
        self, asked: Consultation, X: Native, y: Any, fit: Fit, sample_weight: Floats | None = None
    ) -> Repaired:
        """Return the repaired table.

        Parameters
        ----------
        asked : Consultation
            What the model that was trained on the table says about it.
        X, y : data frame or array, array-like
            The user's table and target.
        fit : function
            Fits a model for a further round.
        sample_weight : ndarray of float, optional
            What the rows weigh.
        """
        first, setting = asked, asked.risk.setting
        edits = asked.select(self.strategy)
        rounds = [Round(len(edits), asked.mean_risk)]
        known = edits
        while len(rounds) < self.max_rounds and len(edits) < self.strategy.n_cells(asked.risk):
            repaired = self.finish(first, X, y, edits, sample_weight)
            seen = setting.with_cells(repaired.X).table.native if not self.augment else repaired.X
            asked = asked.again(fit(seen, repaired.y, repaired.sample_weight), edits.apply(X), X)
            if reaches(asked.mean_risk, rounds[-1].mean_risk, asked.risk.unit):
                # The last edits did no good: they and their round are taken back, but for the first.
                edits, rounds = known, rounds[: max(1, len(rounds) - 1)]
                break
            more = asked.select(self.strategy.left_after(len(edits), asked.risk))
            known, edits = edits, Edits.together(edits, more)
            rounds.append(Round(len(edits), asked.mean_risk))
            if not len(more):
                break
        return self.finish(first, X, y, edits, sample_weight, tuple(rounds))

    def finish(
        self,
        asked: Consultation,
        X: Native,
        y: Any,
        edits: Edits,
        sample_weight: Floats | None,
        rounds: tuple[Round, ...] = (),
    ) -> Repaired:
        """Return the table with edits that are known, and its twins, as the model asked first has it."""
        X_fair = edits.apply(X)
        if self.augment is None:
            return Repaired(X_fair, copy.copy(y), sample_weight, edits, np.empty(0, np.int64), rounds)
        setting = asked.risk.setting
        if self.augment == "edited":
            rows = np.unique(edits.row)
        else:
            rows = np.arange(setting.own.n_rows)
            if self.augment != "all":
                rows = rows[reaches(asked.risk.of_rows(rows), self.augment, asked.risk.unit)]
        twins = Twins.make(setting, rows, sample_weight)
        return Repaired(twins.add_to(X_fair), twins.add_to_target(y), twins.weight, edits, twins.of, rounds)
