"""What is known once a model was asked: everything that edits are chosen from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._frames import Players
from fairshap._models import Risk, Scorer
from fairshap._problem import Labels, Setting
from fairshap._typing import Ints, Native
from fairshap.attribution import Attributions, Options, attribute_pairs
from fairshap.edits import Edits, Strategy
from fairshap.matching import MatchPlan


@dataclass(frozen=True, slots=True, eq=False)
class Consultation:
    """A model's answers about a table.

    Parameters
    ----------
    risk : Risk
        The model, the table and its groups.
    labels : Labels
        The target.
    matches : MatchPlan
        The references, as rows of the risk's table.
    attributions : Attributions
        What each player adds to the risk of each row.
    options : Options
        How they were computed.
    """

    risk: Risk
    labels: Labels
    matches: MatchPlan
    attributions: Attributions
    options: Options

    @classmethod
    def hold(
        cls,
        model: Any,
        setting: Setting,
        labels: Labels,
        matches: MatchPlan,
        players: Players,
        options: Options,
    ) -> "Consultation":
        """Ask a fitted model about a table whose rows are matched."""
        risk = Risk(Scorer(model), setting)
        n_rows = len(setting.groups.side)
        attributions = attribute_pairs(risk, matches, players=players, n_rows=n_rows, options=options)
        return cls(risk, labels, matches, attributions, options)

    def again(self, model: Any, X: Native, original: Native) -> "Consultation":
        """Ask another model about the rows with other cells, against the references as they were."""
        setting = self.risk.setting.with_cells(X).with_references(original)
        plan = self.matches
        if plan.n_rows == len(setting.groups.side):
            plan = plan.to_rows_below()
        players = self.attributions.switched
        return Consultation.hold(model, setting, self.labels, plan, players, self.options)

    @property
    def model(self) -> Any:
        """The model that was asked."""
        return self.risk.scorer.model

    @property
    def best(self) -> Ints:
        """The row of the table that each row's new values come from, -1 where there is none."""
        return self.matches.best[: len(self.risk.setting.groups.side)]

    @property
    def mean_risk(self) -> float:
        """The mean risk of the rows that have a reference; NaN if none has."""
        known = self.attributions.risk[~np.isnan(self.attributions.risk)]
        return float(known.mean()) if len(known) else float("nan")

    def select(self, strategy: Strategy) -> Edits:
        """Return the edits that a strategy chooses."""
        return strategy.select(self.attributions, self.risk, self.labels, self.best, self.options)
