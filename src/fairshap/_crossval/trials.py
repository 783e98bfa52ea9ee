"""The cross-validation: many ways to a fairer model on the same folds, and what they share in a fold."""

import warnings
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from fairshap import exceptions
from fairshap._crossval.evaluation import Evaluation
from fairshap._crossval.folds import Folds, Predictions, judge, make_folds, shuffled_risk
from fairshap._crossval.ranking import Limits, Ranking
from fairshap._frames import open_store
from fairshap._messages import Progress, listing, warn
from fairshap._models import (
    Weighing,
    add_fits,
    copy_estimator,
    count_fits,
    fit_model,
    fit_weighted,
    is_frozen,
)
from fairshap._problem import Problem, warn_of_copies
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution import Explanation
from fairshap.attribution._explanation import make_explainer
from fairshap.edits._recipe import Recipe
from fairshap.exceptions import (
    GroupError,
    InputError,
    MissingExtraError,
    ModelError,
    SkippedWarning,
    TargetError,
)

if TYPE_CHECKING:
    from fairshap.estimators import FairSHAP

#: The thresholds that are tried by default, the largest first.
THRESHOLDS = (0.1, 0.05, 0.03, 0.02, 0.01)

# The accuracy that a threshold found by "auto" may cost.
_MAX_DROP = 0.01

# What is said of a whole table, and not again of each fold.
_SAID = (
    exceptions.CopiedAttributeWarning,
    exceptions.FewReferencesWarning,
    exceptions.NothingToRepairWarning,
    exceptions.PooledGroupsWarning,
    exceptions.UnmatchedRowsWarning,
    exceptions.WeightsWarning,
)

# What is wrong with the call, and not with a trial; but for rows of a fold that are too few for one.
_WRONG_CALL = (InputError, MissingExtraError, Warning)
_TOO_FEW, _DEALT = (GroupError, TargetError), (None, "n_folds", "cv")

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
        cls, problem: Problem, train: Ints, trials: Sequence[Trial], estimator: Any, weighing: Weighing | None
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
            trained = trial.train(rows)
            return trained if trial.sampler is None else trained._replace(n_edits=n_edits)
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


class Dropped(NamedTuple):
    """Trials that were not gone on with, and all that were measured on the folds before that."""

    evaluation: Evaluation
    names: Sequence[Any]
    n_folds: int


class Run(NamedTuple):
    """The trials that went through all folds; errors, fits by name, and what was dropped on the way."""

    evaluation: Evaluation
    failed: dict[Any, Exception]
    n_fits: dict[Any, int]
    dropped: Sequence[Dropped] = ()


#: Says which of the trials, by name, not to go on with.
Race: TypeAlias = Callable[[Evaluation], Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """A table with its folds; the template reads parts of it and has the estimator that is trained."""

    template: "FairSHAP"
    problem: Problem
    folds: Folds
    seed: int

    @classmethod
    def read(
        cls,
        what: str,
        template: "FairSHAP",
        X: Any,
        y: Any,
        positive: Any,
        n_folds: int | None,
        n_repeats: int | None,
        sensitive_features: Any = None,
    ) -> "CrossValidation":
        """Return the cross-validation of a table, or say why ``what`` cannot be done with it."""
        seed = template.random_state
        problem = template._problem(open_store(X).native, y, sensitive_features, positive=positive)
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
        n_jobs: int | None = None,
        verbose: int = 0,
        has_noise: bool = True,
        skip: bool = False,
        race: Race | None = None,
    ) -> Run:
        """Return the evaluation of the trials, and what became of those that it does not have.

        In each fold the baseline is fitted once, and explained once for all trials that explain it alike.
        ``n_jobs`` processes share the folds; None is this process. ``has_noise`` takes one more fit, with the
        attribute shuffled. With ``skip`` the others go on if a trial other than the baseline cannot be
        trained. ``race`` says, after 2, 4, 8, ... folds, which trials not to go on with.
        """
        how = self._how(trials, has_noise, skip)
        known = [_Judged() for _ in trials]
        alive = list(range(len(trials)))
        failed: dict[Any, Exception] = {}
        dropped: list[Dropped] = []
        noise: list[float] = []
        evaluate = partial(self._evaluate, trials, known, by=by)
        with said_once(), Progress(title, len(trials) * len(self.folds), verbose) as progress:
            for folds in _rungs(len(self.folds), race is not None):
                n_rows = len(self.folds.pairs[folds[0]][1])
                for k, outcome in self._outcomes(folds, trials, alive, failed, how, n_jobs):
                    if k < 0:
                        noise.append(outcome)
                        continue
                    if isinstance(outcome, Exception):
                        failed.setdefault(trials[k].name, outcome)
                    else:
                        known[k].add(*outcome)
                    progress.advance(n_rows, 1)
                alive = [k for k in alive if trials[k].name not in failed]
                if race is not None and alive and folds[-1] + 1 < len(self.folds):
                    found = evaluate(alive)
                    names = race(found)
                    dropped += [Dropped(found, names, folds[-1] + 1)] if names else []
                    alive = [k for k in alive if trials[k].name not in names]
        if not alive:
            raise next(iter(failed.values()))
        n_fits = {trials[k].name: one.n_fits for k, one in enumerate(known) if one.predictions}
        found = evaluate(alive, noise=np.array(noise) if noise else None)
        return Run(found, failed, n_fits, dropped)

    def _how(self, trials: Sequence[Trial], has_noise: bool, skip: bool) -> "_How":
        """Return how models are trained in each fold."""
        estimator, problem = self.template._estimator(), self.problem
        rows = [trial.sampler.counterfactuals for trial in trials if trial.sampler is not None]
        weighing = None
        if any(one is not None for one in rows):
            weighing = Weighing.of(estimator, problem.own.native, problem.y.values)
            if any(one not in (None, "all") for one in rows):
                # Where all rows have counterfactuals, all weigh the same.
                weighing.warn_of_repeats()
        # A model that never sees the attribute has no use for a shuffled one.
        has_noise = has_noise and not is_frozen(estimator) and not problem.added
        return _How(estimator, weighing, has_noise, skip)

    def _evaluate(
        self,
        trials: Sequence[Trial],
        known: Sequence["_Judged"],
        alive: Sequence[int],
        by: Literal["method", "name", "budget"],
        noise: Floats | None = None,
    ) -> Evaluation:
        """Return the evaluation of trials on the folds that they were judged on."""
        n = len(known[alive[0]].predictions)
        folds = replace(self.folds, pairs=self.folds.pairs[:n]) if n < len(self.folds) else self.folds
        n_edits = np.array([known[k].n_edits for k in alive], dtype=np.float64)
        n_cells = [len(train) * len(self.problem.own.names) for train, _ in folds]
        how = f"By cross-validation with {self.folds}: each model is judged on rows it was not trained on."
        if self.problem.added:
            how += " No model sees the sensitive attribute, so that it has no risk and no decision flips."
        return Evaluation.of(
            [trials[k].name for k in alive],
            [known[k].predictions for k in alive],
            self.problem.groups.names,
            how,
            edits=n_edits.mean(axis=1),
            share=(n_edits / n_cells).mean(axis=1),
            noise=noise,
            folds=folds,
            by=by,
        )

    def _outcomes(
        self,
        folds: Sequence[int],
        trials: Sequence[Trial],
        alive: Sequence[int],
        failed: Mapping[Any, Exception],
        how: "_How",
        n_jobs: int | None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the outcome of each trial in each fold, by its position; -1 is the noise, if measured."""
        n_processes = 1 if n_jobs is None else min(effective_n_jobs(n_jobs), len(folds))
        if n_processes == 1:
            for at in folds:
                # What failed in one fold is not tried in the next.
                yield from self._fold(at, trials, [k for k in alive if trials[k].name not in failed], how)
            return
        # Within a process one thread matches and explains. Arrays are copied: shared ones are read-only.
        alone = [
            trial if trial.sampler is None else replace(trial, sampler=with_params(trial.sampler, n_jobs=1))
            for trial in trials
        ]
        pool = Parallel(n_processes, backend="loky", max_nbytes=None, return_as="generator")
        said: dict[Any, Any] = {}
        for found, caught in pool(delayed(_run_fold)(self, at, alone, alive, how) for at in folds):
            for one in caught:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, registry=said)
            yield from found

    def _fold(
        self, at: int, trials: Sequence[Trial], alive: Sequence[int], how: "_How"
    ) -> Iterator[tuple[int, Any]]:
        """Yield the predictions, edits and fits of each trial in a fold, or its error, and the noise."""
        train, test = self.folds.pairs[at]
        problem = self.problem
        fold = Fold.of(problem, train, [trials[k] for k in alive], how.estimator, how.weighing)
        # With another number of threads, products of matrices are rounded otherwise.
        with threadpool_limits(1, user_api="blas"):
            for k in alive:
                try:
                    trained, n_fits = fold.train(trials[k])
                except Exception as error:
                    if not how.skip or trials[k].is_baseline or _is_wrong_call(error):
                        raise
                    yield k, error
                else:
                    yield k, (self._judge(trained, test, trials[k].is_blind), trained.n_edits, n_fits)
            if how.has_noise:
                yield -1, shuffled_risk(problem, train, fold.fit, problem, test, self.seed + at)

    def _judge(self, trained: Trained, test: Ints, is_blind: bool) -> Predictions:
        """Return what a model does on held-out rows; if it transforms them, what it does on those."""
        model, target = trained.model, self.problem.y
        raw = judge(model, self.problem, test, is_blind=is_blind or bool(self.problem.added))
        if not trained.is_transforming:
            return raw
        X = model.prepare_rows(_safe_indexing(self.problem.own.native, test))
        moved = self.template._problem(X, target.values[test], positive=target.positive_value)
        found = judge(model.estimator_, moved)
        return replace(found, rows=raw.rows, group=raw.group, raw_risk=raw.risk)


class _How(NamedTuple):
    """How models are trained in each fold."""

    estimator: Any
    weighing: Weighing | None
    has_noise: bool
    skip: bool


@dataclass(slots=True)
class _Judged:
    """What a trial did in the folds so far."""

    predictions: list[Predictions] = field(default_factory=list)
    n_edits: list[int] = field(default_factory=list)
    n_fits: int = 0

    def add(self, predictions: Predictions, n_edits: int, n_fits: int) -> None:
        self.predictions.append(predictions)
        self.n_edits.append(n_edits)
        self.n_fits = max(self.n_fits, n_fits)


def _is_wrong_call(error: Exception) -> bool:
    """Say whether an error is of the call. Groups and labels of the whole table have been checked by then."""
    is_dealt = isinstance(error, InputError) and error.parameter in _DEALT
    return isinstance(error, _WRONG_CALL) and not (is_dealt or isinstance(error, _TOO_FEW))


def _rungs(n_folds: int, is_race: bool) -> Iterator[range]:
    """Yield the folds between which a race is looked at: the first 2, 4, 8 and so on."""
    start, stop = 0, 2 if is_race else n_folds
    while start < n_folds:
        yield range(start, min(stop, n_folds))
        start, stop = stop, 2 * stop


def _run_fold(cv: CrossValidation, *how: Any) -> tuple[list[tuple[int, Any]], list[warnings.WarningMessage]]:
    """Return the outcomes of a fold and its warnings, which another process has to give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with said_once():
            return list(cv._fold(*how)), caught


@contextmanager
def said_once() -> Iterator[None]:
    """Keep quiet in folds what has been said of the whole table."""
    with warnings.catch_warnings():
        for category in _SAID:
            warnings.simplefilter("ignore", category)
        yield


def check_two_labels(problem: Problem, what: str) -> None:
    """Raise an error unless there are two labels."""
    classes = problem.y.classes
    if classes is None or len(classes) != 2:
        raise TargetError(f"{what} takes a target of two labels; accuracy, DP and EO are measures of those.")


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


def best_threshold(sampler: "FairSHAP", problem: Problem) -> float:
    """Return the threshold that makes DR, DP and EO lowest on folds, for at most a point of accuracy."""
    what = "threshold='auto'"
    check_two_labels(problem, what)
    check_unfitted(sampler._estimator(), what)
    seed = draw_seed(sampler.random_state)
    asking = with_params(sampler, privileged=problem.privileged_in_parts)
    trials = [Trial("baseline")]
    trials += [Trial(f"{t:g}", with_params(asking, threshold=t)) for t in THRESHOLDS]
    try:
        folds = make_folds(problem.y, problem.groups.side, None, None, seed)
    except InputError as error:
        raise InputError(f"{what} tries several on folds. {error} Give a threshold.") from error
    run = CrossValidation(asking, problem, folds, seed).run(trials, has_noise=False)
    ranking = Ranking(run.evaluation, "fairness", Limits(max_drop=_MAX_DROP))
    allowed = ranking.is_allowed()
    allowed[0] = False
    # If none is within the limits, the one that edits the least.
    return THRESHOLDS[ranking.simplest(allowed) - 1] if allowed.any() else THRESHOLDS[0]
