"""The parameters that the sampler and the predictors share."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import process_routing

from fairshap._frames import PlayersLike
from fairshap._messages import did_you_mean, listing
from fairshap._models import default_estimator, takes_quantities
from fairshap._problem import Comparison, Labels, Privileged
from fairshap.attribution import Method
from fairshap.edits import STRATEGIES, Direction, Guard, Limits, Strategy
from fairshap.exceptions import InputError
from fairshap.matching import Matching, Pairing
from fairshap.repair import Augment, Recipe

#: How the cells to replace are chosen.
RepairStrategy: TypeAlias = Literal["threshold", "budget", "optimal", "iterative"]

# The paper's threshold. A regressor's is this many standard deviations of the target.
_THRESHOLD = 0.05


class Repairer(BaseEstimator):
    """Holds the parameters and knows how to hand weights on."""

    #: Whether the default estimator is a regressor.
    _is_regression = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        threshold: float | Literal["auto"] | None = None,
        strategy: RepairStrategy = "threshold",
        budget: int | float | None = None,
        max_rounds: int = 5,
        augment: Augment | Literal["auto"] = "auto",
        guard: Guard = False,
        frozen: Sequence[Any] | None = None,
        editable: Sequence[Any] | None = None,
        column_thresholds: Mapping[Any, float] | None = None,
        max_row_edits: int | None = None,
        direction: Direction = "both",
        plausible: bool = False,
        holdout: float | Literal["auto"] | None = "auto",
        positive: Any = None,
        bins: int | None = None,
        comparison: Comparison = "max",
        matching: Matching = "nearest",
        pairing: Pairing = "pooled",
        min_group_size: int | None = None,
        players: PlayersLike = None,
        method: Method = "auto",
        max_exact: int | None = None,
        n_permutations: int = 128,
        screen: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.sensitive = sensitive
        self.privileged = privileged
        self.threshold = threshold
        self.strategy = strategy
        self.budget = budget
        self.max_rounds = max_rounds
        self.augment = augment
        self.guard = guard
        self.frozen = frozen
        self.editable = editable
        self.column_thresholds = column_thresholds
        self.max_row_edits = max_row_edits
        self.direction = direction
        self.plausible = plausible
        self.holdout = holdout
        self.positive = positive
        self.bins = bins
        self.comparison = comparison
        self.matching = matching
        self.pairing = pairing
        self.min_group_size = min_group_size
        self.players = players
        self.method = method
        self.max_exact = max_exact
        self.n_permutations = n_permutations
        self.screen = screen
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _estimator(self, is_quantity: bool | None = None) -> Any:
        """Return the estimator to consult: the given one, or the default for labels or for a quantity."""
        if self.estimator is not None:
            return self.estimator
        is_quantity = self._is_regression if is_quantity is None else is_quantity
        estimator = default_estimator(self.random_state, is_quantity)
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def _labels(self, y: Any, n_rows: int) -> Labels:
        """Return the target: what it is, the estimator says, and if none is given, the target itself."""
        is_quantity = None if self.estimator is None else takes_quantities(self.estimator)
        return Labels.read(y, n_rows, self.positive, self.bins, is_quantity)

    def _threshold(self, labels: Labels) -> float:
        """Return the threshold in units of the model's output."""
        if self.threshold is not None and not isinstance(self.threshold, str):
            return self.threshold
        return _THRESHOLD if labels.classes is not None else _THRESHOLD * float(np.std(labels.values))

    def _recipe(self, threshold: float, augment: Augment) -> Recipe:
        """Return how the table is to be repaired."""
        limits = Limits(self.frozen, self.editable, self.max_row_edits, self.direction, self.plausible)
        known = (*STRATEGIES, "iterative")
        if self.strategy not in known:
            raise InputError(
                f"strategy={self.strategy!r} is not known; the strategies are {listing(known)}."
                f"{did_you_mean(self.strategy, known)}",
                parameter="strategy",
            )
        strategy = Strategy(
            "threshold" if self.strategy == "iterative" else self.strategy,
            threshold,
            self.column_thresholds,
            self.budget,
            self.guard,
            limits,
        )
        return Recipe(strategy, self.max_rounds if self.strategy == "iterative" else 1, augment)

    def _fit_params(self, method: str, sample_weight: Any) -> dict[str, Any]:
        """Return what the fit of the inner estimator is given of the user's weights: all, unless routed."""
        if sample_weight is None:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, sample_weight=sample_weight)
            return dict(routed.estimator.fit)
        return {"sample_weight": sample_weight}
