"""The cross-validation: many ways to a fairer model on the same folds."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
from fairshap._crossval.objective import Ranking
from fairshap._frames import open_store
from fairshap._messages import Progress, listing, warn
from fairshap._models import Weighing, copy_estimator, fit_model, fit_weighted, is_frozen
from fairshap._problem import Problem, warn_of_copies
from fairshap._typing import Ints, Native
from fairshap.attribution import Explanation
from fairshap.edits._recipe import Recipe
from fairshap.exceptions import InputError, MissingExtraError, ModelError, SkippedWarning, TargetError

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

# What is wrong with the call, and not with a trial.
_WRONG_CALL = (InputError, MissingExtraError, Warning)

# The parameters of a sampler that do not change its explanation; the estimator is told by its identity.
_CHOOSING = {"estimator", "selector", "threshold", "constraints", "counterfactuals"}
_CHOOSING |= {"n_jobs", "verbose", "keep_data"}


class Trained(NamedTuple):
    """A model trained on a fold. If it transforms rows, its risk is that of its ``estimator_`` on them."""

    model: Any
    n_edits: int = 0
    is_transforming: bool = False


@dataclass(slots=True)
class Trial:
    """One way to a fairer model: a repair, another method that ``train`` trains, or else the baseline.

    ``recipe`` is how the sampler repairs, unless it finds its threshold in each fold.
    """

    name: Any
    sampler: "FairSHAP | None" = None
    train: Callable[[Native, Any], Trained] | None = None
    recipe: Recipe | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if self.sampler is not None and self.sampler.threshold != "auto":
            self.recipe = self.sampler._recipe(self.sampler.threshold)

    @property
    def is_plain(self) -> bool:
        """Whether it edits no cells: the baseline, another method, or counterfactuals alone."""
        if self.sampler is None:
            return True
        return self.recipe is not None and self.recipe.selector.once.reach(0.0) == np.inf


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
    ) -> "CrossValidation":
        """Return the cross-validation of a table, or say why ``what`` cannot be done with it."""
        seed = template.random_state
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
        n_jobs: int | None = None,
        verbose: int = 0,
        has_noise: bool = True,
        skip: bool = False,
    ) -> tuple[Evaluation, dict[Any, Exception]]:
        """Return the evaluation of the trials, and the errors of those that could not be trained.

        In each fold the baseline is fitted once, and explained once for all trials that explain it alike.
        ``n_jobs`` processes share the folds; None is this process. ``has_noise`` takes one more fit, with the
        attribute shuffled. With ``skip`` the others go on if a trial other than the baseline cannot be
        trained.
        """
        estimator, problem = self.template._estimator(), self.problem
        rows = [trial.sampler.counterfactuals for trial in trials if trial.sampler is not None]
        weighing = None
        if any(one is not None for one in rows):
            weighing = Weighing.of(estimator, problem.own.native, problem.y.values)
            if any(one not in (None, "all") for one in rows):
                # Where all rows have counterfactuals, all weigh the same.
                weighing.warn_of_repeats()
        judged: list[list[Predictions]] = [[] for _ in trials]
        n_edits = np.zeros((len(trials), len(self.folds)))
        failed: dict[Any, Exception] = {}
        noise: list[float] = []
        how = (estimator, weighing, has_noise and not is_frozen(estimator), skip)
        with said_once(), Progress(title, n_edits.size, verbose) as progress:
            for at, outcomes in enumerate(self._outcomes(trials, how, n_jobs)):
                for k, trial in enumerate(trials):
                    outcome = next(outcomes)
                    if isinstance(outcome, Exception):
                        failed.setdefault(trial.name, outcome)
                    else:
                        predictions, n_edits[k, at] = outcome
                        judged[k].append(predictions)
                    progress.advance(len(self.folds.pairs[at][1]), 1)
                noise += outcomes
        done = [k for k, trial in enumerate(trials) if trial.name not in failed]
        if not done:
            raise next(iter(failed.values()))
        n_cells = [len(train) * len(problem.own.names) for train, _ in self.folds]
        evaluation = Evaluation.of(
            [trials[k].name for k in done],
            [judged[k] for k in done],
            problem.groups.names,
            f"By cross-validation with {self.folds}: each model is judged on rows it was not trained on.",
            edits=n_edits[done].mean(axis=1),
            share=(n_edits / n_cells)[done].mean(axis=1),
            noise=np.array(noise) if noise else None,
            folds=self.folds,
            by=by,
        )
        return evaluation, failed

    def _outcomes(
        self, trials: Sequence[Trial], how: tuple[Any, ...], n_jobs: int | None
    ) -> Iterator[Iterator[Any]]:
        """Return for each fold the outcome of each trial, and the noise if it is measured."""
        n_processes = 1 if n_jobs is None else min(effective_n_jobs(n_jobs), len(self.folds))
        if n_processes == 1:
            yield from (self._fold(at, trials, *how) for at in range(len(self.folds)))
            return
        # Within a process one thread matches and explains.
        alone = [
            trial if trial.sampler is None else replace(trial, sampler=with_params(trial.sampler, n_jobs=1))
            for trial in trials
        ]
        # Arrays are copied, because those that are shared could not be written to.
        pool = Parallel(n_processes, backend="loky", max_nbytes=None, return_as="generator")
        said: dict[Any, Any] = {}
        for found, caught in pool(delayed(_run_fold)(self, k, alone, *how) for k in range(len(self.folds))):
            for one in caught:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, registry=said)
            yield iter(found)

    def _fold(
        self,
        at: int,
        trials: Sequence[Trial],
        estimator: Any,
        weighing: Weighing | None,
        has_noise: bool,
        skip: bool,
    ) -> Iterator[Any]:
        """Yield the predictions and edits of each trial in a fold, or its error, and last the noise."""
        train, test = self.folds.pairs[at]
        problem = self.problem
        X, y = _safe_indexing(problem.own.native, train), problem.y.values[train]
        fold = _Fold(trials, estimator, weighing, X, y)
        # With another number of threads, products of matrices are rounded otherwise.
        with threadpool_limits(1, user_api="blas"):
            for trial in trials:
                try:
                    trained = fold.train(trial)
                except Exception as error:
                    is_baseline = trial.sampler is None and trial.train is None
                    if not skip or is_baseline or isinstance(error, _WRONG_CALL):
                        raise
                    yield error
                else:
                    yield self._judge(trained, test), trained.n_edits
            if has_noise:
                yield shuffled_risk(problem, train, fold.fit, problem, test, self.seed + at)

    def _judge(self, trained: Trained, test: Ints) -> Predictions:
        """Return what a model does on held-out rows; if it transforms them, what it does on those."""
        model, target = trained.model, self.problem.y
        raw = judge(model, self.problem, test)
        if not trained.is_transforming:
            return raw
        X = model.prepare_rows(_safe_indexing(self.problem.own.native, test))
        moved = self.template._problem(X, target.values[test], positive=target.positive_value)
        found = judge(model.estimator_, moved)
        return replace(found, rows=raw.rows, group=raw.group, raw_risk=raw.risk)


@dataclass(eq=False)
class _Fold:
    """The training rows of a fold, with whatever several trials share: the baseline and its explanations."""

    trials: Sequence[Trial]
    estimator: Any
    weighing: Weighing | None
    X: Native
    y: NDArray[Any]
    explained: dict[Any, Explanation | Exception] = field(default_factory=dict)

    def fit(self, X: Native) -> Any:
        """Return the estimator fitted on other cells of the same rows."""
        return fit_model(self.estimator, X, self.y)

    @cached_property
    def baseline(self) -> Any:
        return self.estimator if is_frozen(self.estimator) else self.fit(self.X)

    def train(self, trial: Trial) -> Trained:
        if trial.train is not None:
            return trial.train(self.X, self.y)
        if trial.sampler is None:
            return Trained(self.baseline)
        recipe, explanation = self.explain(trial)
        repaired = recipe.follow(explanation, self.X, self.y, trial.sampler._refit)
        weights = repaired.sample_weight, self.weighing
        model = fit_weighted(self.estimator, repaired.X, repaired.y, *weights)
        return Trained(model, len(repaired.edits))

    def explain(self, trial: Trial) -> tuple[Recipe, Explanation]:
        """Return the explanation that a trial works from, and its recipe."""
        sampler, recipe = trial.sampler, trial.recipe
        assert sampler is not None  # noqa: S101
        # The baseline is what a sampler without an estimator of its own would train.
        shares = sampler.estimator is None or sampler.estimator is self.estimator
        model = self.baseline if shares else None
        if recipe is None:
            problem = sampler._problem(self.X, self.y)
            recipe = sampler._recipe(best_threshold(sampler, problem))
            return recipe, sampler._explain(problem, recipe, model=model)
        key = _key(sampler)
        if key not in self.explained:
            alike = [one.recipe for one in self.trials if one.sampler and _key(one.sampler) == key]
            recipes = [one for one in alike if one is not None]
            try:
                problem = sampler._problem(self.X, self.y)
                self.explained[key] = sampler._explain(problem, *recipes, model=model)
            except Exception as error:
                self.explained[key] = error
        found = self.explained[key]
        if isinstance(found, Exception):
            raise found
        return recipe, found


def _run_fold(cv: CrossValidation, *how: Any) -> tuple[list[Any], list[warnings.WarningMessage]]:
    """Return the outcomes of a fold and its warnings, which another process has to give."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with said_once():
            return list(cv._fold(*how)), caught


def _key(sampler: "FairSHAP") -> tuple[Hashable, ...]:
    """Return what decides a sampler's explanation."""
    params = sorted(sampler.get_params().items())
    # The parameters of an object come by themselves.
    return id(sampler.estimator), *(
        (name, type(value).__name__ if isinstance(value, BaseEstimator) else repr(value))
        for name, value in params
        if name.partition("__")[0] not in _CHOOSING
    )


def with_params(sampler: Any, **params: Any) -> Any:
    """Return a copy of a sampler with other parameters, and the very same estimator unless one is given."""
    return copy_estimator(sampler).set_params(**{"estimator": sampler.estimator, **params})


@contextmanager
def said_once() -> Iterator[None]:
    """Keep quiet in folds what has been said of the whole table."""
    with warnings.catch_warnings():
        for category in _SAID:
            warnings.simplefilter("ignore", category)
        yield


def check_two_labels(problem: Problem, what: str) -> None:
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
    evaluation, _ = CrossValidation(asking, problem, folds, seed).run(trials, has_noise=False)
    ranking = Ranking(evaluation, "fairness", [trial.is_plain for trial in trials])
    allowed = ranking.is_allowed(_MAX_DROP, 1.0)
    allowed[0] = False
    # If none is within the limits, the one that edits the least.
    return THRESHOLDS[ranking.steady(allowed) - 1] if allowed.any() else THRESHOLDS[0]
