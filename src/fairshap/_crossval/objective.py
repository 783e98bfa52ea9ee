"""What a search makes small, and which candidate to take."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from fairshap._crossval.evaluation import Evaluation
from fairshap._crossval.measures import MEASURES, critical_value
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Bools, Floats
from fairshap.exceptions import InputError

#: What is made small, relative to the baseline: the mean of DR, DP and EO, one measure, or a weighted mean.
Objective: TypeAlias = str | Mapping[str, float]

# The measures that can be made small, and those whose mean is called fairness.
_LOWER = tuple(name for name, measure in MEASURES.items() if measure.is_fairness)
_FAIRNESS = ("dr", "dp", "eo")
OBJECTIVES = ("fairness", *_LOWER)

_NAMES = list(MEASURES)
_ACCURACY = _NAMES.index("accuracy")

# A level below which there is nothing to compare with.
_NOTHING = 1e-6
# The share of the baseline's DR that counts as none.
_LITTLE = 0.05


class Ranking:
    """Candidates of a search by an objective. The first is the baseline; plain ones edit nothing."""

    def __init__(self, evaluation: Evaluation, objective: Objective, is_plain: Sequence[bool]) -> None:
        self.names = evaluation.names
        self.measures = evaluation.measures
        self.share = evaluation.share
        self.objective = objective
        self.is_plain = np.array(is_plain)
        self.accuracy = self.measures.values[:, _ACCURACY]
        # Of each candidate, and their covariance.
        self.value, self.covariance = self._relative(_weights(objective))

    def _relative(self, weights: Mapping[str, float]) -> tuple[Floats, Floats]:
        """Return the weighted mean of measures relative to the baseline's, and its covariance.

        A measure that the baseline hardly has is taken as it is. A gap that cannot be measured, because a
        group has no rate, counts as unchanged.
        """
        columns = [_NAMES.index(name) for name in weights]
        levels = self.measures.values[:, columns]
        unit = np.maximum(levels[0], _NOTHING)
        ratio = levels / unit
        share = np.array(list(weights.values())) / sum(weights.values())
        value = np.nan_to_num(ratio, nan=1.0) @ share
        slope = np.where(np.isnan(ratio), 0.0, share / unit)
        n, m = len(levels), len(MEASURES)
        covariance = self.measures.covariance.reshape(n, m, n, m)[:, columns][:, :, :, columns]
        return value, np.einsum("ia,iajb,jb->ij", slope, covariance, slope)

    def is_allowed(self, max_accuracy_drop: float, max_share: float) -> Bools:
        """Say which candidates lose no more accuracy and edit no larger a share of cells than allowed."""
        drop = self.accuracy[0] - self.accuracy
        return np.asarray((drop <= max_accuracy_drop) & (self.share <= max_share))

    def front(self) -> Bools:
        """Say which candidates are on the Pareto front of accuracy and objective."""
        value, accuracy = self.value, self.accuracy
        better = (value[None] <= value[:, None]) & (accuracy[None] >= accuracy[:, None])
        better &= (value[None] < value[:, None]) | (accuracy[None] > accuracy[:, None])
        return np.asarray(~better.any(axis=1))

    def steady(self, among: Bools) -> int:
        """Return the most accurate of the candidates within one standard error of the best of some.

        Which of them comes out best on folds is chance. Taking the best would fit the repair to that chance,
        and the more so the more candidates there are.
        """
        best = self._first(among, self.value)
        near = among & (self.value - self.value[best] <= _errors(self.covariance, best))
        return self._first(near, -self.accuracy, self.value)

    def recommend(self, allowed: Bools) -> tuple[int, str]:
        """Return which candidate to take, and why; :func:`fairshap.tune` says by which rules."""
        best = self._first(allowed, self.value)
        is_better = _is_lower(self.value, self.covariance)
        if isinstance(self.objective, Mapping):
            # A measure with little weight may be the one that certainly falls.
            is_better |= _is_lower(*self._relative(dict.fromkeys(self.objective, 1.0)))
        is_better &= self.value < self.value[0]
        if best == 0 or (allowed[0] and not is_better[best]):
            return 0, "The baseline is kept: no candidate within the limits is measurably better."
        if self.is_plain[best]:
            return best, self._reason(best, "it is the best within the limits")
        taken = self.steady(allowed & ~self.is_plain & (is_better | (not allowed[0])))
        plain = [k for k in np.flatnonzero(allowed & self.is_plain).tolist() if k]
        for k in sorted(plain, key=lambda k: self.value[k]):
            if self._dominates(k, taken):
                return k, self._reason(k, f"{self.names[taken]} is no better in accuracy, DP or EO")
        why = "it is the best within the limits"
        if taken != best:
            why = "it is the most accurate repair within one standard error of the best within the limits"
        errors = _errors(self.covariance, taken)
        near = [self.names[k] for k in plain if self.value[k] - self.value[taken] <= errors[k]]
        if near:
            why += f", though within one standard error of what needs no edits: {' and '.join(near)}"
        return taken, self._reason(taken, why)

    def _first(self, among: Bools, *keys: Floats) -> int:
        """Return which of some candidates has the smallest key; of equal ones, the more accurate."""
        chosen = np.flatnonzero(among)
        order = np.lexsort([key[chosen] for key in (-self.accuracy, *reversed(keys))])
        return int(chosen[order[0]])

    def _dominates(self, one: int, other: int) -> bool:
        """Say whether one candidate is at least as good as another in accuracy, DR, DP and EO."""
        risk, *gaps = (_NAMES.index(name) for name in _FAIRNESS)
        base, mine, its = (self.measures.values[k] for k in (0, one, other))
        is_as_low = mine[risk] <= max(its[risk], _LITTLE * base[risk])
        return bool(mine[_ACCURACY] >= its[_ACCURACY] and is_as_low and (mine[gaps] <= its[gaps]).all())

    def _reason(self, taken: int, why: str) -> str:
        base, mine = (dict(zip(_NAMES, self.measures.values[k], strict=True)) for k in (0, taken))
        parts = [f"{MEASURES[name].label} {base[name]:.3f} -> {mine[name]:.3f}" for name in _FAIRNESS]
        return (
            f"Recommended: {self.names[taken]}. {', '.join(parts)} at an accuracy of {mine['accuracy']:.3f} "
            f"instead of {base['accuracy']:.3f}; {why}."
        )


def _errors(covariance: Floats, one: int) -> Floats:
    """Return the standard error of the difference of each candidate from one of them."""
    variance = np.diag(covariance) + covariance[one, one] - 2 * covariance[one]
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _is_lower(value: Floats, covariance: Floats) -> Bools:
    """Say which candidates the 95 % interval tells from the first."""
    return np.asarray(value - value[0] + critical_value() * _errors(covariance, 0) < 0)


def check_objective(objective: Any) -> None:
    """Raise an error unless the objective is known."""
    if isinstance(objective, Mapping):
        for name, weight in objective.items():
            if name not in _LOWER:
                hint = did_you_mean(name, _LOWER)
                known = listing(_LOWER)
                raise InputError(f"objective gives a weight to {name!r}, which is not one of {known}.{hint}")
            is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < np.inf:
                message = f"objective gives {name!r} the weight {weight!r}; give a finite one above 0."
                raise InputError(message)
        if not objective:
            raise InputError("objective has no weights; give some, for example {'dr': 1, 'dp': 2}.")
    elif objective not in OBJECTIVES:
        raise InputError(
            f"objective={objective!r} is not known; give one of {listing(OBJECTIVES)}, or weights such as "
            f"{{'dr': 1, 'dp': 2}}.{did_you_mean(objective, OBJECTIVES)}",
            parameter="objective",
        )


def _weights(objective: str | Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the measures whose mean is made small."""
    if isinstance(objective, str):
        return dict.fromkeys(_FAIRNESS if objective == "fairness" else (objective,), 1.0)
    return {name: float(weight) for name, weight in objective.items()}


def describe_objective(objective: Objective) -> str:
    """Say what is made small."""
    weights = {MEASURES[name].label: weight for name, weight in _weights(objective).items()}
    if len(weights) == 1:
        return f"{next(iter(weights))} relative to the baseline"
    *most, last = (label if weight == 1 else f"{weight:g} {label}" for label, weight in weights.items())
    return f"mean of {', '.join(most)} and {last} relative to the baseline"
