"""What the report is written from: plain results, whoever they come from."""

from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from fairshap._problem import Labels
from fairshap._typing import Floats
from fairshap.edits import Certificate, Edits
from fairshap._crossval import MEASURES, Measured, is_within_noise
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


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A model before the repair, and one after it, on rows that neither was trained on.

    Parameters
    ----------
    measured : Measured
        The measures of both; of one model alone, where nothing was repaired.
    how : str
        On which rows, in words.
    noise : ndarray of float, or None
        The risks of models of the same kind that were trained with the attribute shuffled.
    """

    measured: Measured
    how: str
    noise: Floats | None = None

    @property
    def is_audit(self) -> bool:
        """Whether there is one model alone."""
        return len(self.measured.values) == 1

    @property
    def noise_level(self) -> float | None:
        """The DR of a model whose attribute says nothing; None if it was not measured."""
        return None if self.noise is None else float(self.noise.mean())

    @property
    def is_noise(self) -> bool:
        """Whether the risk before is indistinguishable from that level."""
        return self.noise is not None and is_within_noise(self.measured, self.noise)

    def frame(self) -> pd.DataFrame:
        """Return one line for each measure: before, after and the change, with their intervals."""
        measured = self.measured
        ends = [(measured.values[k], measured.low[k], measured.high[k]) for k in range(len(measured.values))]
        if not self.is_audit:
            change, low, high = measured.changes()
            ends = [*ends[:2], (change[1], low[1], high[1])]
        data: dict[str, Any] = {"measure": list(MEASURES)}
        for name, (value, low, high) in zip(("before", "after", "change"), ends, strict=False):
            data |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return pd.DataFrame(data)
