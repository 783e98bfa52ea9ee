"""What trials train on the rows of a fold, and what they share there."""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from fairshap._models import (
    Weighing,
    add_fits,
    copy_estimator,
    count_fits,
    fit_model,
    fit_weighted,
    is_frozen,
)
from fairshap._problem import Problem
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution import Explanation
from fairshap.attribution._explanation import make_explainer
from fairshap.edits._recipe import Recipe

if TYPE_CHECKING:
    from fairshap.estimators import FairSHAP

# The parameters of a sampler that do not change its explanation; the estimator is told by its identity.
_RUNNING = {"estimator", "n_jobs", "verbose", "keep_data"}
_CHOOSING = _RUNNING | {"selector", "threshold", "constraints", "counterfactuals"}

Value = TypeVar("Value")


class Trained(NamedTuple):
    """A model trained on a fold. If it transforms rows, its risk is that of its ``estimator_`` on them."""

    model: Any
    n_edits: int = 0
    is_transforming: bool = False


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that a trial is trained on: those of a fold, as they are or repaired."""

    X: Native
    y: NDArray[Any]
    #: The sensitive attribute of the rows, if it is not a column of the table.
    beside: Any = None
    sample_weight: Floats | None = None
    _shared: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)

    def share(self, what: Hashable, make: Callable[[], Value]) -> Value:
        """Return what several trials need of these rows, made once; its fits count for each of them."""
        if what not in self._shared:
            with count_fits() as counter:
                try:
                    made: Any = make()
                except Exception as error:
                    made = error
            self._shared[what] = made, counter[0]
        found, n_fits = self._shared[what]
        add_fits(n_fits)
        if isinstance(found, Exception):
            raise found
        value: Value = found
        return value

    @property
    def params(self) -> dict[str, Any]:
        """What a fit is given beside the rows and their labels."""
        given = {"sensitive_features": self.beside, "sample_weight": self.sample_weight}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(slots=True)
class Trial:
    """One way to a fairer model: a repair by ``sampler``, if there is one, and then ``train``.

    Without ``train`` the template's estimator is fitted; with neither it is the baseline. ``recipe`` is how
    the sampler repairs, unless it finds its threshold in each fold. A model that ``is_blind`` predicts
    without the attribute: it has no risk.
    """

    name: Any
    sampler: "FairSHAP | None" = None
    train: Callable[[TrainingRows], Trained] | None = None
    is_blind: bool = False
    recipe: Recipe | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.sampler is not None and self.sampler.threshold != "auto":
            self.recipe = self.sampler._recipe(self.sampler.threshold)

    @property
    def is_baseline(self) -> bool:
        """Whether it is the model as it is."""
        return self.sampler is None and self.train is None


@dataclass(eq=False)
class Fold:
    """The training rows of a fold, with whatever several trials share: models, explanations, repairs."""

    trials: Sequence[Trial]
    estimator: Any
    weighing: Weighing | None
    rows: TrainingRows

    @classmethod
    def of(
        cls,
        problem: Problem,
        train: Ints,
        trials: Sequence[Trial],
        estimator: Any,
        weighing: Weighing | None,
    ) -> "Fold":
        """Return the fold whose training rows have these positions in the table."""
        beside = None if problem.beside is None else _safe_indexing(problem.beside, train)
        rows = TrainingRows(_safe_indexing(problem.own.native, train), problem.y.values[train], beside)
        return cls(trials, estimator, weighing, rows)

    def fit(self, X: Native) -> Any:
        """Return the estimator fitted on other cells of the same rows."""
        return fit_model(self.estimator, X, self.rows.y)

    @property
    def baseline(self) -> Any:
        """The model as it is, which never sees an attribute beside the table."""
        if is_frozen(self.estimator):
            return self.estimator
        return self.rows.share("baseline", lambda: self.fit(self.rows.X))

    def train(self, trial: Trial) -> tuple[Trained, int]:
        """Return the model of a trial, and how many fits it takes by itself."""
        with count_fits() as counter:
            trained = self._train(trial)
        return trained, counter[0]

    def _train(self, trial: Trial) -> Trained:
        if trial.is_baseline:
            return Trained(self.baseline)
        rows, n_edits = self.rows, 0
        if trial.sampler is not None:
            key = ("repaired", *_key(trial.sampler, _RUNNING))
            rows, n_edits = self.rows.share(key, lambda: self._repair(trial))
        if trial.train is not None:
            return trial.train(rows)._replace(n_edits=n_edits)
        return Trained(
            fit_weighted(self.estimator, rows.X, rows.y, rows.sample_weight, self.weighing), n_edits
        )

    def _repair(self, trial: Trial) -> tuple[TrainingRows, int]:
        """Return the rows as a trial's sampler repairs them, and the number of edits."""
        assert trial.sampler is not None  # noqa: S101
        recipe, explanation = self._explain(trial)
        repaired = recipe.follow(explanation, self.rows.X, self.rows.y, trial.sampler._refit)
        made = TrainingRows(repaired.X, repaired.y, self.rows.beside, repaired.sample_weight)
        return made, len(repaired.edits)

    def _explain(self, trial: Trial) -> tuple[Recipe, Explanation]:
        """Return the explanation that a trial works from, and its recipe."""
        sampler, recipe, X, y = trial.sampler, trial.recipe, self.rows.X, self.rows.y
        assert sampler is not None  # noqa: S101

        def explain(*recipes: Recipe) -> Explanation:
            problem = sampler._problem(X, y, self.rows.beside)
            # The baseline is what a sampler without an estimator of its own would train; the risk of an
            # attribute beside the table is that of another model, which sees it.
            shares = sampler.estimator is None or sampler.estimator is self.estimator
            sees = not problem.added or make_explainer(sampler.explainer).game == "gap"
            return sampler._explain(problem, *recipes, model=self.baseline if shares and sees else None)

        if recipe is None:
            from fairshap._crossval.trials import best_threshold

            recipe = sampler._recipe(best_threshold(sampler, sampler._problem(X, y, self.rows.beside)))
            return recipe, explain(recipe)
        key = _key(sampler)
        alike = [one.recipe for one in self.trials if one.sampler and _key(one.sampler) == key]
        recipes = [one for one in alike if one is not None]
        return recipe, self.rows.share(("explained", key), lambda: explain(*recipes))


def _key(sampler: "FairSHAP", without: Collection[str] = _CHOOSING) -> tuple[Hashable, ...]:
    """Return what decides a sampler's explanation, or without less its edits too."""
    params = sorted(sampler.get_params().items())
    # The parameters of an object come by themselves.
    return id(sampler.estimator), *(
        (name, type(value).__name__ if isinstance(value, BaseEstimator) else repr(value))
        for name, value in params
        if name.partition("__")[0] not in without
    )


def with_params(sampler: Any, **params: Any) -> Any:
    """Return a copy of a sampler with other parameters, and the very same estimator unless one is given."""
    return copy_estimator(sampler).set_params(**{"estimator": sampler.estimator, **params})


def in_one_thread(trials: Sequence[Trial]) -> list[Trial]:
    """Return trials that match and explain in one thread."""
    return [
        trial if trial.sampler is None else replace(trial, sampler=with_params(trial.sampler, n_jobs=1))
        for trial in trials
    ]
