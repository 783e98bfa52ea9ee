"""The parameters that the sampler and the classifier share."""

from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import process_routing

from fairshap.attribution import Method
from fairshap.groups import Comparison, Privileged
from fairshap.matching import Matching, Pairing
from fairshap.models import check_takes_weights, default_estimator
from fairshap.table import PlayersLike


class Repairer(BaseEstimator):
    """Holds the parameters and knows how to hand weights on."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive: Any = None,
        privileged: Privileged = None,
        threshold: float = 0.05,
        positive: Any = None,
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
        self.positive = positive
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

    def _estimator(self) -> Any:
        """Return the estimator to consult: the given one, or the default."""
        if self.estimator is not None:
            return self.estimator
        estimator = default_estimator(self.random_state)
        if get_config()["enable_metadata_routing"]:
            estimator.set_fit_request(sample_weight=True)
        return estimator

    def _fit_params(self, method: str, sample_weight: Any) -> dict[str, Any]:
        """Return what the fit of the inner estimator is to be given."""
        if sample_weight is None:
            return {}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, method, sample_weight=sample_weight)
            return dict(routed.estimator.fit)
        check_takes_weights(self._estimator())
        return {"sample_weight": sample_weight}
