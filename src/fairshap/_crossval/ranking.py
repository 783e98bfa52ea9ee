"""What a search makes small, within which limits, and which candidate to take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fairshap._crossval.evaluation import Evaluation, errors_from
from fairshap._crossval.measures import MEASURES
from fairshap._messages import check_choice, did_you_mean, is_number, listing
from fairshap._names import MINIMIZE, SCORING
from fairshap._typing import Bools, Floats
from fairshap.exceptions import InputError

#: What is made small, relative to the baseline: the mean of DR, DP and EO, one measure, or a weighted mean.
Minimize: TypeAlias = str | Mapping[str, float]

_NAMES = list(MEASURES)
# The measures that can be made small, also by their long names, and those whose mean is called fairness.
_LONG = {
    "demographic_parity": "dp",
    "equal_opportunity": "eo",
    "equalized_odds": "eodds",
    "discriminative_risk": "dr",
}
_LOWER = {name: name for name, measure in MEASURES.items() if measure.is_fairness} | _LONG
_FAIRNESS = ("dr", "dp", "eo")

# A level below which there is nothing to compare with.
_NOTHING = 1e-6
# The standard errors by which a candidate is surely worse: it is held against the best of many.
_SURE = 2.5


@dataclass(frozen=True, slots=True)
class Limits:
    """What candidates may lose against the baseline, of ``scoring`` and of ROC AUC, and edit of all cells."""

    scoring: str = "accuracy"
    max_drop: float = 0.01
    max_auc_drop: float | None = None
    max_share: float = 1.0

    def __post_init__(self) -> None:
        check_choice(self.scoring, "scoring", SCORING)
        for name, value in (("max_accuracy_drop", self.max_drop), ("max_auc_drop", self.max_auc_drop)):
            if value is not None and (not is_number(value) or not 0 <= value <= 1):
                raise InputError(f"{name}={value!r} must be between 0 and 1.", parameter=name)

    @property
    def drops(self) -> list[tuple[str, float]]:
        """The measures that may fall, and by how much."""
        found = [(self.scoring, self.max_drop)]
        return found if self.max_auc_drop is None else [*found, ("auc", self.max_auc_drop)]


class Ranking:
    """Candidates of a search by what is made small; the first is the baseline.

    ``complexity`` orders them: of two that chance tells apart the simpler is taken.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        minimize: Minimize,
        limits: Limits | None = None,
        complexity: Sequence[int] | None = None,
    ) -> None:
        self.names = evaluation.names
        self.measures = evaluation.measures
        self.share = evaluation.share
        self.minimize = minimize
        self.limits = Limits() if limits is None else limits
        self.complexity = np.zeros(len(self.names)) if complexity is None else np.asarray(complexity)
        #: The measure that the limit is on, signed so that more is better.
        self.performance = self._signed(self.limits.scoring)
        # Of each candidate, their covariance, and the least variance of a difference.
        self.value, self.covariance, self.floor = self._relative(weights_of(minimize))

    def _signed(self, name: str) -> Floats:
        level = self.measures.values[:, _NAMES.index(name)]
        return np.asarray(level if MEASURES[name].higher_is_better else -level)

    def _relative(self, weights: Mapping[str, float]) -> tuple[Floats, Floats, Floats]:
        """Return the weighted mean of measures relative to the baseline's, its covariance and its floor.

        A measure that the baseline hardly has is taken as it is. A gap that cannot be measured, because a
        group has no rate, counts as unchanged.
        """
        columns = [_NAMES.index(name) for name in weights]
        levels = self.measures.values[:, columns]
        unit = np.where(levels[0] > _NOTHING, levels[0], np.where(np.isnan(levels[0]), np.nan, 1.0))
        ratio = levels / unit
        share = np.array(list(weights.values())) / sum(weights.values())
        value = np.nan_to_num(ratio, nan=1.0) @ share
        slope = np.where(np.isnan(ratio), 0.0, share / unit)
        own = self.measures.by_model[:, columns][:, :, :, columns]
        covariance = np.einsum("ia,iajb,jb->ij", slope, own, slope)
        return value, covariance, np.sum(slope**2 * self.measures.floor[:, columns], axis=1)

    def errors(self, one: int) -> Floats:
        """Return the standard error of the difference of each candidate from one of them."""
        found = errors_from(one, self.covariance, self.floor)
        found[one] = 0
        return found

    def is_allowed(self) -> Bools:
        """Say which candidates are within the limits; the baseline, which loses nothing, always is."""
        allowed = np.asarray(self.share <= self.limits.max_share)
        for name, most in self.limits.drops:
            level = self._signed(name)
            # A measure that cannot be taken, as AUC without scores, limits nothing.
            allowed &= ~(level[0] - level > most)
        allowed[0] = True
        return allowed

    def beaten(self, eligible: Bools, is_slow: Bools) -> Bools:
        """Say which candidates are surely beyond the limits, or surely worse than one surely within them.

        What is slow has to be the best so far to be gone on with: only if it beat all that is simpler by more
        than chance would it be recommended.
        """
        beaten = np.zeros(len(self.names), dtype=np.bool_)
        # What is best at the edge of the limits may be beyond them in the end.
        among = eligible & self.is_allowed()
        for name, most in self.limits.drops:
            level, k = self._signed(name), _NAMES.index(name)
            errors = errors_from(0, self.measures.by_model[:, k, :, k], self.measures.floor[:, k])
            excess = level[0] - level - most
            beaten |= excess > _SURE * errors
            among &= ~(excess > -_SURE * errors)
        if among.any():
            best = self._first(among, self.value)
            sure = np.where(is_slow, 0.0, _SURE)
            beaten |= self.value - self.value[best] > sure * self.errors(best)
        return beaten

    def best(self, among: Bools) -> int:
        """Return which of some candidates is lowest in what is made small."""
        return self._first(among, self.value)

    def simplest(self, among: Bools) -> int:
        """Return the simplest of the candidates within one standard error of the best of some.

        Which of them comes out best on folds is chance. Taking the best would fit the choice to that chance,
        and the more so the more candidates there are. Of equally simple ones the best performing is taken.
        """
        best = self._first(among, self.value)
        near = among & (self.value - self.value[best] <= self.errors(best))
        return self._first(near, self.complexity, -self.performance, self.value)

    def _first(self, among: Bools, *keys: Floats) -> int:
        """Return which of some candidates has the smallest key; of equal ones, the better performing."""
        chosen = np.flatnonzero(among)
        order = np.lexsort([key[chosen] for key in (-self.performance, *reversed(keys))])
        return int(chosen[order[0]])


def on_front(value: Floats, performance: Floats) -> Bools:
    """Say which candidates are on the Pareto front of performance and what is made small."""
    better = (value[None] <= value[:, None]) & (performance[None] >= performance[:, None])
    better &= (value[None] < value[:, None]) | (performance[None] > performance[:, None])
    return np.asarray(~better.any(axis=1))


def check_minimize(minimize: Any) -> None:
    """Raise an error unless it is known what to make small."""
    if isinstance(minimize, Mapping):
        for name, weight in minimize.items():
            if name not in _LOWER:
                hint = did_you_mean(name, list(_LOWER))
                known = listing(_LOWER)
                message = f"minimize gives a weight to {name!r}, which is not one of {known}.{hint}"
                raise InputError(message, parameter="minimize")
            if not is_number(weight) or not 0 < weight < np.inf:
                message = f"minimize gives {name!r} the weight {weight!r}; give a finite one above 0."
                raise InputError(message, parameter="minimize")
        if not minimize:
            message = "minimize has no weights; give some, for example {'dr': 1, 'dp': 2}."
            raise InputError(message, parameter="minimize")
    elif not isinstance(minimize, str) or minimize not in ("fairness", *_LOWER):
        raise InputError(
            f"minimize={minimize!r} is not known; give one of {listing(MINIMIZE)}, or weights such as "
            f"{{'dr': 1, 'dp': 2}}.{did_you_mean(minimize, MINIMIZE)}",
            parameter="minimize",
        )


def weights_of(minimize: Minimize) -> dict[str, float]:
    """Return the weights of the measures whose mean is made small, by their short names."""
    if isinstance(minimize, str):
        return dict.fromkeys(_FAIRNESS if minimize == "fairness" else (_LOWER[minimize],), 1.0)
    return {_LOWER[name]: float(weight) for name, weight in minimize.items()}


def describe_minimized(minimize: Minimize) -> str:
    """Say what is made small."""
    weights = {MEASURES[name].label: weight for name, weight in weights_of(minimize).items()}
    if len(weights) == 1:
        return f"{next(iter(weights))} relative to the baseline"
    *most, last = (label if weight == 1 else f"{weight:g} {label}" for label, weight in weights.items())
    return f"mean of {', '.join(most)} and {last} relative to the baseline"
