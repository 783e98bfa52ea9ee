"""What the report is written from: plain results, whoever they come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from fairshap._typing import Floats
from fairshap.edits import Certificate, Edits
from fairshap.evaluation import MEASURES, Judgement, intervals_of, means_over_folds, resample
from fairshap.groups import Labels
from fairshap.repair import Consultation, Recipe


class Tuned(Protocol):
    """A search among repairs: what :func:`fairshap.tune` returns."""

    reason: str
    recommended: str

    def frame(self) -> pd.DataFrame:
        """Return all candidates."""

    def plot(self, ax: Any = None) -> Any:
        """Draw the trade-off."""


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """A repair, with all that was found on the way.

    Parameters
    ----------
    asked : Consultation
        The model, the table, its groups, the match plan and the attributions.
    recipe : Recipe
        How the cells were chosen.
    edits : Edits
        The ledger.
    certificate : Certificate
        What the edits did to the risk of each row under the consulted model.
    labels : Labels
        The target.
    call : str
        The repair as Python would make it again.
    random_state : object
        The seed.
    is_audit : bool, default=False
        Whether nothing was changed: the edits are those that a repair would make.
    """

    asked: Consultation
    recipe: Recipe
    edits: Edits
    certificate: Certificate
    labels: Labels
    call: str
    random_state: Any = None
    is_audit: bool = False

    @property
    def threshold(self) -> float:
        """The smallest attribution that led to an edit."""
        return self.recipe.strategy.threshold


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two models on rows that neither was trained on: before the repair, and after it.

    Parameters
    ----------
    before, after : sequence of Judgement
        One for each fold; the rows of a fold are the same for both. Without a repair ``after`` is None.
    how : str
        On which rows, in words.
    seed : int
        The seed of the resamples that the intervals come from.
    n_resamples : int, default=500
        How often the rows are drawn anew for them.
    """

    before: Sequence[Judgement]
    after: Sequence[Judgement] | None
    how: str
    seed: int = 0
    n_resamples: int = 500

    @property
    def sides(self) -> list[Sequence[Judgement]]:
        """Before, and after if there was a repair."""
        return [self.before] if self.after is None else [self.before, self.after]

    @cached_property
    def measures(self) -> Floats:
        """The measures before and after, shape (2, measures); only before, if there was no repair."""
        return np.array([means_over_folds(folds) for folds in self.sides])

    @cached_property
    def intervals(self) -> Floats:
        """The ends of their intervals and of that of the change, shape (2 ends, 3, measures)."""
        samples = resample(self.sides, self.n_resamples, self.seed)
        own = intervals_of(self.measures, samples, least=0.0)
        change = intervals_of(self.measures[1:] - self.measures[:1], samples[1:] - samples[:1])
        return np.concatenate([own, change], axis=1)

    def frame(self) -> pd.DataFrame:
        """Return one line for each measure: before, after and the change, with their intervals."""
        low, high = self.intervals
        values = np.vstack([self.measures, self.measures[1:] - self.measures[:1]])
        data: dict[str, Any] = {"measure": list(MEASURES)}
        for k, name in enumerate(("before", "after", "change")[: len(values)]):
            data |= {name: values[k], f"{name}_low": low[k], f"{name}_high": high[k]}
        return pd.DataFrame(data)
