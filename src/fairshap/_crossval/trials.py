"""The cross-validation: many ways to a fairer model on the same folds."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state

from fairshap._crossval.evaluation import Evaluation, Measures
from fairshap._crossval.folds import Folds, Predictions, judge, make_folds, shuffled_risk
from fairshap._crossval.objective import Ranking
from fairshap._frames import open_store
from fairshap._messages import listing, warn
from fairshap._models import Weighing, fit_weighted, is_frozen
from fairshap._problem import Setting, warn_of_copies
from fairshap._progress import Progress
from fairshap._typing import Native
from fairshap.attribution import Explanation
from fairshap.edits import Recipe
from fairshap.exceptions import (
    CopiedAttributeWarning,
    FewReferencesWarning,
    InputError,
    MissingExtraError,
    ModelError,
    PooledGroupsWarning,
    SkippedWarning,
    TargetError,
    UnmatchedRowsWarning,
    WeightsWarning,
)

#: The thresholds that are tried by default, the largest first.
THRESHOLDS = (0.1, 0.05, 0.03, 0.02, 0.01)

# The accuracy that a threshold found by "auto" may cost.
_MAX_DROP = 0.01

# What is said of a whole table, and not again of each fold.
_SAID = (
    CopiedAttributeWarning,
    FewReferencesWarning,
    PooledGroupsWarning,
    UnmatchedRowsWarning,
    WeightsWarning,
)

# The parameters of a sampler that do not change its explanation, and those that do not change its matches.
_CHOOSING = ("selector", "threshold", "constraints", "counterfactuals", "n_jobs", "verbose", "keep_data")
_EXPLAINING = ("method", "max_exact", "n_permutations", "feature_groups")


class Sampler(Protocol):
    """A :class:`fairshap.FairSHAP`, as far as the folds know it."""

    estimator: Any
    sensitive: Any
    privileged: Any
    threshold: Any
    random_state: Any

    def _problem(
        self,
        X: Native,
        y: Any,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        positive: Any = None,
    ) -> Setting: ...

    def _estimator(self) -> Any: ...

    def _recipe(self, threshold: float | None = None) -> Recipe: ...

    def _explain(
        self, problem: Setting, *recipes: Recipe, model: Any = None, known: Explanation | None = None
    ) -> Explanation: ...

    def _refit(self, X: Native, y: Any, sample_weight: Any) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Self: ...


@dataclass(frozen=True, slots=True)
class Trained:
    """A model that was trained on a fold.

    If it transforms the rows to predict and then predicts them by their own attribute, ``inner`` takes rows
    that ``transform`` returned, and the risk is measured on these.
    """

    model: Any
    n_edits: int = 0
    inner: Any = None
    transform: Callable[[Native], Native] | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to a fairer model; the baseline, if only its name is given.

    Parameters
    ----------
    name : str
        In words.
    sampler : FairSHAP, optional
        Explains the baseline and repairs the training rows.
    recipe : Recipe, optional
        How it repairs them; by default as its parameters say.
    train : function, optional
        Trains another method on the rows and labels of a fold.
    """

    name: Any
    sampler: Sampler | None = None
    recipe: Recipe | None = None
    train: Callable[[Native, Any], Trained] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it edits no cells: the baseline, another method, or counterfactuals alone."""
        if self.sampler is None:
            return True
        return self.recipe is not None and self.recipe.selector.reach(0.0) == np.inf


@dataclass(slots=True)
class _Outcome:
    """What became of a trial, for each fold."""

    folds: list[Predictions] = field(default_factory=list)
    raw_risk: list[Any] = field(default_factory=list)
    n_edits: list[int] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """A table with its folds, on which ways to a fairer model are tried.

    Parameters
    ----------
    template : FairSHAP
        Reads tables, and has the estimator that is trained.
    problem : Setting
        The whole table, with its target.
    folds : Folds
        Positions of training and test rows.
    seed : int
        The seed of the shuffles of the attribute.
    """

    template: Sampler
    problem: Setting
    folds: Folds
    seed: int

    @classmethod
    def read(
        cls,
        what: str,
        template: Sampler,
        X: Any,
        y: Any,
        positive: Any,
        n_folds: int | None,
        n_repeats: int | None,
        seed: int,
    ) -> "CrossValidation":
        """Return the cross-validation of a table, or say why ``what`` cannot be done with it."""
        problem = template._problem(open_store(X).native, y, positive=positive)
        warn_of_copies(problem)
        check_two_labels(problem, what)
        folds = make_folds(problem.y, problem.groups.side, n_folds, n_repeats, seed)
        # A fold may lack a privileged value that the table has.
        template = with_params(template, privileged=problem.privileged_in_parts)
        return cls(template, problem, folds, seed)

    def run(
        self,
        trials: Sequence[Trial],
        *,
        title: str = "Evaluating",
        by: Literal["method", "name", "budget"] = "method",
        verbose: int = 0,
        has_noise: bool = True,
        skip: bool = False,
    ) -> tuple[Evaluation, dict[Any, Exception]]:
        """Return the evaluation of the trials, and the errors of those that could not be trained.

        In each fold the baseline is fitted once, its rows are matched once and it is explained once for all
        trials that explain it alike.

        Parameters
        ----------
        trials : sequence of Trial
            What is tried.
        title, verbose
            Those of the progress bar.
        by : str
            What the names of the trials are.
        has_noise : bool, default=True
            Whether the risk under a shuffled attribute is measured, which takes one more fit for each fold.
        skip : bool, default=False
            Whether the others go on if a trial other than the baseline cannot be trained.
        """
        estimator, problem = self.template._estimator(), self.problem
        X, y = problem.own.native, problem.y.values
        if any(trial.recipe and trial.recipe.counterfactuals not in (None, "all") for trial in trials):
            # Where all rows have counterfactuals, all weigh the same.
            Weighing.of(estimator, X, y).warn_of_repeats()
        outcomes = [_Outcome() for _ in trials]
        noise: list[float] = []
        with said_once(), Progress(title, len(self.folds) * len(trials), verbose) as progress:
            for train, test in self.folds:
                X_test: Native = None
                fold = _Fold(self, trials, estimator, _safe_indexing(X, train), y[train])
                for trial, outcome in zip(trials, outcomes, strict=True):
                    trained = fold.try_to_train(trial, outcome, skip)
                    if trained is not None:
                        found = judge(trained.model, problem, test)
                        outcome.raw_risk.append(found.risk)
                        if trained.transform is not None:
                            X_test = _safe_indexing(X, test) if X_test is None else X_test
                            found = self._judge_transformed(trained, found, X_test)
                        outcome.folds.append(found)
                        outcome.n_edits.append(trained.n_edits)
                        outcome.share.append(trained.n_edits / (len(train) * len(problem.own.names)))
                    progress.advance(len(test), 1)
                if has_noise and not is_frozen(estimator):
                    seed = self.seed + len(noise)
                    noise.append(shuffled_risk(problem, train, fold.fit, problem, test, seed))
        failed = {t.name: o.error for t, o in zip(trials, outcomes, strict=True) if o.error is not None}
        kept = [(t.name, o) for t, o in zip(trials, outcomes, strict=True) if o.error is None]
        if not kept:
            raise next(iter(failed.values()))
        names, done = zip(*kept, strict=True)
        evaluation = Evaluation(
            names,
            Measures.of([outcome.folds for outcome in done], problem.groups.names),
            np.array([np.mean(outcome.n_edits) for outcome in done]),
            np.array([np.mean(outcome.share) for outcome in done]),
            np.array([np.nanmean(np.concatenate(outcome.raw_risk)) for outcome in done]),
            np.array(noise) if noise else None,
            self.folds,
            f"By cross-validation with {self.folds}: each model is judged on rows it was not trained on.",
            by,
        )
        return evaluation, failed

    def _judge_transformed(self, trained: Trained, raw: Predictions, X: Native) -> Predictions:
        """Return what a model does on rows that are transformed before it sees them."""
        assert trained.transform is not None  # noqa: S101
        y, positive = self.problem.y.values[raw.rows], self.problem.y.positive_value
        problem = self.template._problem(trained.transform(X), y, positive=positive)
        return replace(judge(trained.inner, problem), rows=raw.rows, group=raw.group)


class _Fold:
    """The training rows of a fold, with whatever several trials share: the baseline and its explanations."""

    def __init__(
        self,
        owner: CrossValidation,
        trials: Sequence[Trial],
        estimator: Any,
        X: Native,
        y: NDArray[Any],
    ) -> None:
        self.owner = owner
        self.estimator = estimator
        self.X = X
        self.y = y
        # The recipes that follow the same explanation.
        self.recipes: dict[Hashable, list[Recipe]] = {}
        for trial in trials:
            if trial.sampler is not None and trial.recipe is not None:
                self.recipes.setdefault(_key(trial.sampler), []).append(trial.recipe)
        self.explained: dict[Hashable, Explanation | Exception] = {}
        self.weighing: Weighing | None = None

    def fit(self, X: Native) -> Any:
        """Return the estimator fitted on other cells of the same rows."""
        return fit_weighted(self.estimator, X, self.y, None, None)

    @cached_property
    def baseline(self) -> Any:
        return self.estimator if is_frozen(self.estimator) else self.fit(self.X)

    def try_to_train(self, trial: Trial, outcome: _Outcome, skip: bool) -> Trained | None:
        """Return the model of a trial; None, with the reason in the outcome, if it cannot be trained."""
        if outcome.error is not None:
            return None
        try:
            return self.train(trial)
        except Exception as error:
            is_baseline = trial.sampler is None and trial.train is None
            # What is wrong in a call is wrong for all trials.
            if not skip or is_baseline or isinstance(error, (InputError, MissingExtraError, Warning)):
                raise
            outcome.error = error
            return None

    def train(self, trial: Trial) -> Trained:
        if trial.train is not None:
            return trial.train(self.X, self.y)
        if trial.sampler is None:
            return Trained(self.baseline)
        recipe, explanation = self.explain(trial)
        repaired = recipe.follow(explanation, self.X, self.y, trial.sampler._refit)
        if repaired.sample_weight is not None and self.weighing is None:
            self.weighing = Weighing.of(self.estimator, repaired.X, repaired.y)
        parts = repaired.X, repaired.y, repaired.sample_weight, self.weighing
        return Trained(fit_weighted(self.estimator, *parts), len(repaired.edits))

    def explain(self, trial: Trial) -> tuple[Recipe, Explanation]:
        """Return the explanation that a trial works from, and its recipe."""
        sampler, recipe = trial.sampler, trial.recipe
        assert sampler is not None  # noqa: S101
        # The baseline is what a sampler without an estimator of its own would train.
        shares = sampler.estimator is None or sampler.estimator is self.estimator
        model = self.baseline if shares else None
        if recipe is None:
            problem = sampler._problem(self.X, self.y)
            is_auto = isinstance(sampler.threshold, str) and sampler.threshold == "auto"
            recipe = sampler._recipe(best_threshold(sampler, problem) if is_auto else sampler.threshold)
            return recipe, sampler._explain(problem, recipe, model=model)
        key = _key(sampler)
        if key not in self.explained:
            try:
                matched = (other for other in self.explained if other[:-1] == key[:-1])  # type: ignore[index]
                known = self.explained.get(next(matched, None))
                known = known if isinstance(known, Explanation) else None
                problem = sampler._problem(self.X, self.y) if known is None else known.problem
                self.explained[key] = sampler._explain(problem, *self.recipes[key], model=model, known=known)
            except Exception as error:
                self.explained[key] = error
        found = self.explained[key]
        if isinstance(found, Exception):
            raise found
        return recipe, found


def _key(sampler: Sampler) -> tuple[Hashable, ...]:
    """Return what decides a sampler's explanation; all but the last part decides its model and matches."""
    matching: list[Hashable] = []
    explaining: list[Hashable] = []
    for name, value in sorted(sampler.get_params().items()):
        first, _, last = name.partition("__")
        if first in _CHOOSING or first == "estimator":
            continue
        # The parameters of an object come by themselves.
        said = (name, type(value).__name__ if isinstance(value, BaseEstimator) else repr(value))
        (explaining if first == "explainer" and last in _EXPLAINING else matching).append(said)
    return (id(sampler.estimator), tuple(matching), tuple(explaining))


def with_params(sampler: Any, **params: Any) -> Any:
    """Return a copy of a sampler with other parameters, and the very same estimator."""
    fresh = clone(sampler).set_params(**params)
    fresh.estimator = sampler.estimator
    return fresh


@contextmanager
def said_once() -> Iterator[None]:
    """Keep quiet in folds what has been said of the whole table."""
    with warnings.catch_warnings():
        for category in _SAID:
            warnings.simplefilter("ignore", category)
        yield


def check_two_labels(problem: Setting, what: str) -> None:
    """Raise an error unless there are two labels, and the attribute is a column of the table."""
    classes = problem.y.classes
    if classes is None or len(classes) != 2:
        raise TargetError(f"{what} takes a target of two labels; accuracy, DP and EO are measures of those.")
    if problem.added:
        raise InputError(
            f"{what} takes a table that holds the sensitive attribute, not sensitive_features beside it."
        )


def check_unfitted(estimator: Any, what: str) -> None:
    """Raise an error if the estimator is fitted: it may have been trained on rows that are held out."""
    if is_frozen(estimator):
        raise ModelError(
            f"{what} trains models on some rows and measures them on others; the estimator is a "
            "FrozenEstimator, which may have seen all of them. Give it unfitted."
        )


def warn_of_skipped(failed: Mapping[Any, Exception]) -> None:
    """Warn of what could not be trained, with the reason, if there is any."""
    by_reason: dict[str, list[Any]] = {}
    for name, error in failed.items():
        by_reason.setdefault(f"{type(error).__name__}: {error}", []).append(name)
    for reason, names in by_reason.items():
        warn(f"Left out, because it could not be trained: {listing(names)} ({reason})", SkippedWarning)


def draw_seed(random_state: Any) -> int:
    """Return a seed for folds and shuffles."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def best_threshold(sampler: Sampler, problem: Setting) -> float:
    """Return the threshold that makes DR, DP and EO lowest on folds, for at most a point of accuracy."""
    what = "threshold='auto'"
    check_two_labels(problem, what)
    check_unfitted(sampler._estimator(), what)
    seed = draw_seed(sampler.random_state)
    asking = with_params(sampler, privileged=problem.privileged_in_parts)
    trials = [Trial("baseline"), *(Trial(f"{t:g}", asking, asking._recipe(t)) for t in THRESHOLDS)]
    try:
        folds = make_folds(problem.y, problem.groups.side, None, None, seed)
    except InputError as error:
        raise InputError(f"{what} tries several on folds. {error} Give a threshold.") from error
    evaluation, _ = CrossValidation(asking, problem, folds, seed).run(trials, has_noise=False)
    ranking = Ranking(evaluation, "fairness", [trial.is_plain for trial in trials])
    allowed = ranking.is_allowed(_MAX_DROP, 1.0)
    allowed[0] = False
    # If none is within the limits, the one that edits the least.
    return THRESHOLDS[ranking.steady(allowed) - 1] if allowed.any() else THRESHOLDS[0]
