"""One fold whose model is asked once, and many repairs that follow from what it said."""

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from fairshap.estimators import FairSHAP, paper_settings
from fairshap.repair import Consultation, Recipe, Repaired
from fairshap.reproduction._measuring import Fold, fit_model, judge


@dataclass(frozen=True, slots=True, eq=False)
class Consulted:
    """A fold, the paper's FairSHAP or a variant of it, and what the fold's model said.

    Parameters
    ----------
    fold : Fold
        The rows.
    sampler : FairSHAP
        The one that asked.
    asked : Consultation
        The answers, from which all edits are chosen.
    """

    fold: Fold
    sampler: FairSHAP
    asked: Consultation

    @classmethod
    def ask(cls, fold: Fold, model: Any, known: "Consulted | None" = None, **changes: Any) -> "Consulted":
        """Ask a fitted model about the training rows, matched as they are in what is known."""
        params = {**paper_settings(), "random_state": fold.random_state, "n_jobs": 1, **changes}
        sampler = FairSHAP(FrozenEstimator(model), **fold.who, **params)
        asked = sampler._ask(sampler._setting(fold.X), fold.y, known=known.asked if known else None)
        return cls(fold, sampler, asked)

    def repair(self, **changes: Any) -> Repaired:
        """Return the training rows as the paper repairs them, or with other parameters of FairSHAP."""
        sampler = clone(self.sampler).set_params(**changes)
        recipe: Recipe = sampler._recipe(sampler.threshold, sampler.augment)
        return recipe.follow(self.asked, self.fold.X, self.fold.y, fit_model)


def judge_repaired(fold: Fold, repaired: Repaired) -> dict[str, float]:
    """Return what a model does that is trained on repaired rows, and how many cells were edited."""
    model = fit_model(repaired.X, repaired.y, repaired.sample_weight)
    return judge(model, fold, fold.X_test) | {"edits": len(repaired.edits)}
