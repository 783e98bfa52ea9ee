"""What was tried, what came of it, and which to take."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Bools, Floats
from fairshap.exceptions import InputError
from fairshap.metrics._rates import LEVEL
from fairshap.model_selection._measured import MEASURES, Measured
from fairshap.model_selection._trials import Trial, Tried

#: What is made small: the mean of DR, DP and EO relative to the baseline, one of them, a mean of those that
#: are given weights, or a function of the measures of a trial and of the baseline.
Objective: TypeAlias = (
    Literal["fairness", "dr", "dp", "eo", "pqp"]
    | Mapping[str, float]
    | Callable[[dict[str, float], dict[str, float]], float]
)
OBJECTIVES = ("fairness", "dr", "dp", "eo", "pqp")

_FAIRNESS = [MEASURES.index(name) for name in ("dr", "dp", "eo")]
_ACCURACY = MEASURES.index("accuracy")

# What can be given a weight.
_WEIGHED = ("dr", "dp", "eo", "pqp")

# A risk below which there is nothing to compare.
_NOTHING = 1e-6
# The share of the baseline's DR that is next to nothing.
_LITTLE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The measures of all trials, the baseline first.

    Parameters
    ----------
    trials : sequence of Trial
        What was tried.
    measured : Measured
        The measures of each.
    samples : ndarray, shape (trials, draws, measures)
        The same as they might have come out.
    n_edits, share : ndarray, shape (trials,)
        The mean number of edited cells, and their share of all cells.
    noise : ndarray of float, shape (folds,), or None
        The mean risk of each fold under a model that was trained with the attribute shuffled.
    """

    trials: Sequence[Trial]
    measured: Measured
    samples: Floats
    n_edits: Floats
    share: Floats
    noise: Floats | None = None

    @classmethod
    def of(cls, trials: Sequence[Trial], tried: Tried, n_draws: int, seed: int) -> "Table":
        """Return the table of what trials came to."""
        measured = tried.measure()
        return cls(
            trials,
            measured,
            measured.draws(n_draws, seed),
            np.array([np.mean(outcome.n_edits) for outcome in tried.outcomes]),
            np.array([np.mean(outcome.share) for outcome in tried.outcomes]),
            tried.noise,
        )

    @property
    def measures(self) -> Floats:
        """The measures of each trial, shape (trials, measures)."""
        return self.measured.values

    def objective(self, objective: Objective) -> tuple[Floats, Floats]:
        """Return what is made small, for each trial, and its draws, shape (trials, draws)."""
        return self._value(self.measures, objective), self._value(self.samples, objective)

    def _value(self, measures: Floats, objective: Objective) -> Floats:
        if callable(objective):
            # A gap that is drawn below 0 is one the other way round.
            measures = np.abs(measures)
            base = measures[:1]
            flat, of_base = measures.reshape(-1, len(MEASURES)), np.broadcast_to(base, measures.shape)
            values = [
                objective(dict(zip(MEASURES, row, strict=True)), dict(zip(MEASURES, of, strict=True)))
                for row, of in zip(flat.tolist(), of_base.reshape(-1, len(MEASURES)).tolist(), strict=True)
            ]
            return np.array(values, dtype=np.float64).reshape(measures.shape[:-1])
        # A measure that the baseline hardly has is compared as it is. All draws are compared with what the
        # baseline has on the rows as they are: some draws leave next to nothing to compare with.
        # A gap that cannot be taken, because a group has nothing to take the rate of, counts as unchanged.
        ratio = np.nan_to_num(measures / np.fmax(self.measures[0], _NOTHING), nan=1.0)
        weights = weights_of(objective)
        columns = [MEASURES.index(name) for name in weights]
        return np.asarray(np.average(ratio[..., columns], axis=-1, weights=list(weights.values())))

    def is_allowed(self, max_accuracy_drop: float, max_share: float) -> Bools:
        """Say which trials lose no more accuracy and edit no larger a share of cells than they may."""
        drop = self.measures[0, _ACCURACY] - self.measures[:, _ACCURACY]
        return np.asarray((drop <= max_accuracy_drop) & (self.share <= max_share))

    def front(self, objective: Objective) -> Bools:
        """Say which trials no other beats in both accuracy and the objective."""
        value, accuracy = self.objective(objective)[0], self.measures[:, _ACCURACY]
        better = (value[None] <= value[:, None]) & (accuracy[None] >= accuracy[:, None])
        better &= (value[None] < value[:, None]) | (accuracy[None] > accuracy[:, None])
        return np.asarray(~better.any(axis=1))

    def recommend(self, objective: Objective, allowed: Bools) -> tuple[int, str]:
        """Return which trial to take, and why in a sentence.

        It is the best one of those allowed, with three exceptions. If its 95 % interval does not tell it from
        the baseline, the baseline is kept: noise is not progress. (Of a mean with weights it is enough if the
        one without them tells: a measure of little weight may be the one that surely falls.) If it is a
        repair, the most accurate one of those within a standard error of it is taken. If a plain remedy is at
        least as good in accuracy, DR, DP and EO, that is taken: it needs no edit.
        """
        value, samples = self.objective(objective)
        best = self._first(allowed, value)
        is_better = _is_lower(samples)
        if isinstance(objective, Mapping):
            is_better |= _is_lower(self._value(self.samples, dict.fromkeys(objective, 1.0)))
        is_better &= value < value[0]
        if best == 0 or (allowed[0] and not is_better[best]):
            return 0, "The baseline is kept: nothing that was tried is measurably better within the limits."
        if self.trials[best].is_plain:
            return best, self._reason(best, "it is the best of all within the limits")
        is_plain = np.array([trial.is_plain for trial in self.trials])
        taken = self.steady(objective, allowed & ~is_plain & (is_better | (not allowed[0])))
        plain = [k for k in np.flatnonzero(allowed & is_plain).tolist() if k]
        for k in sorted(plain, key=lambda k: value[k]):
            if self._dominates(k, taken):
                why = f"{self.trials[taken].name} is no better in accuracy, DP or EO"
                return k, self._reason(k, why)
        why = "it is the best of all within the limits"
        if taken != best:
            why = "it is the most accurate repair within one standard error of the best within the limits"
        near = [k for k in plain if value[k] - value[taken] <= (samples[k] - samples[taken]).std()]
        if near:
            names = " and ".join(self.trials[k].name for k in near)
            why += f", though within one standard error of what needs no edits: {names}"
        return taken, self._reason(taken, why)

    def steady(self, objective: Objective, among: Bools) -> int:
        """Return the most accurate of the trials that are within one standard error of the best of some.

        Which of them comes out best on folds is chance. Taking it would fit the repair to that chance, and
        the more so the more trials there are.
        """
        value, samples = self.objective(objective)
        best = self._first(among, value)
        near = among & (value - value[best] <= (samples - samples[best]).std(axis=1))
        return self._first(near, -self.measures[:, _ACCURACY], value)

    def _first(self, among: Bools, *keys: Floats) -> int:
        """Return which of some trials has the smallest key, of equal ones the more accurate."""
        chosen = np.flatnonzero(among)
        order = np.lexsort([key[chosen] for key in (-self.measures[:, _ACCURACY], *reversed(keys))])
        return int(chosen[order[0]])

    def _dominates(self, one: int, other: int) -> bool:
        """Say whether one trial is at least as good as another in accuracy, DR, DP and EO.

        A DR that is next to nothing counts as none.
        """
        mine, its = self.measures[one], self.measures[other]
        gaps, risk = _FAIRNESS[1:], _FAIRNESS[0]
        is_as_low = mine[risk] <= max(its[risk], _LITTLE * self.measures[0, risk])
        return bool(mine[_ACCURACY] >= its[_ACCURACY] and is_as_low and (mine[gaps] <= its[gaps]).all())

    def _reason(self, taken: int, why: str) -> str:
        base, mine = self.measures[0], self.measures[taken]
        parts = ", ".join(
            f"{measure.upper()} {base[k]:.3f} -> {mine[k]:.3f}"
            for measure, k in zip(("dr", "dp", "eo"), _FAIRNESS, strict=True)
        )
        return (
            f"Recommended: {self.trials[taken].name}. {parts} at an accuracy of {mine[_ACCURACY]:.3f} "
            f"instead of {base[_ACCURACY]:.3f}; {why}."
        )

    def frame(self, objective: Objective, allowed: Bools, taken: int) -> pd.DataFrame:
        """Return one line for each trial: the baseline, the one that is taken, the best allowed ones."""
        low, high = self.measured.low, self.measured.high
        value = self.objective(objective)[0]
        data: dict[Hashable, Any] = {"name": [trial.name for trial in self.trials], "objective": value}
        for k, measure in enumerate(MEASURES):
            data[measure] = self.measures[:, k]
            data[f"{measure}_low"], data[f"{measure}_high"] = low[:, k], high[:, k]
        data |= {"edits": self.n_edits, "share": self.share, "allowed": allowed}
        places = np.arange(len(value))
        data |= {"on_front": self.front(objective), "recommended": places == taken}
        order = np.lexsort((value, ~allowed, places != taken, places > 0))
        return pd.DataFrame(data).iloc[order].reset_index(drop=True)


def _is_lower(samples: Floats) -> Bools:
    """Say which trials an interval tells from the first one."""
    return np.asarray(np.quantile(samples - samples[:1], 1 - (1 - LEVEL) / 2, axis=1) < 0)


def check_objective(objective: Any) -> None:
    """Raise an error unless the objective is known or a function."""
    if isinstance(objective, Mapping):
        for name, weight in objective.items():
            if name not in _WEIGHED:
                raise InputError(
                    f"objective gives a weight to {name!r}, which is not one of {listing(_WEIGHED)}."
                    f"{did_you_mean(name, _WEIGHED)}",
                    parameter="objective",
                )
            is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < np.inf:
                raise InputError(
                    f"objective gives {name!r} the weight {weight!r}; give a finite one above 0.",
                    parameter="objective",
                )
        if not objective:
            raise InputError(
                "objective has no weights; give some, for example {'dr': 1, 'dp': 2}.", parameter="objective"
            )
    elif not callable(objective) and objective not in OBJECTIVES:
        raise InputError(
            f"objective={objective!r} is not known; give one of {listing(OBJECTIVES)}, weights such as "
            "{'dr': 1, 'dp': 2}, or a function of the measures of a candidate and of the baseline."
            f"{did_you_mean(objective, OBJECTIVES)}",
            parameter="objective",
        )


def weights_of(objective: str | Mapping[str, float]) -> dict[str, float]:
    """Return the weights of the measures whose mean is made small."""
    if isinstance(objective, str):
        return dict.fromkeys(("dr", "dp", "eo") if objective == "fairness" else (objective,), 1.0)
    return {name: float(weight) for name, weight in objective.items()}


def describe_objective(objective: Objective) -> str:
    """Say what is made small."""
    if not isinstance(objective, (str, Mapping)):
        return "objective"
    weights = weights_of(objective)
    names = [
        name.upper() if weight == 1 else f"{weight:g} {name.upper()}" for name, weight in weights.items()
    ]
    if len(names) == 1:
        return f"{next(iter(weights)).upper()} relative to the baseline"
    return f"mean of {', '.join(names[:-1])} and {names[-1]} relative to the baseline"
