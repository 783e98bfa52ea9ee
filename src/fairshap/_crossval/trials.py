"""The cross-validation: many ways to a fairer model on the same folds."""

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state

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
from fairshap.attribution._explanation import make_explainer
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
    exceptions.PooledGroupsWarning,
    exceptions.UnmatchedRowsWarning,
    exceptions.WeightsWarning,
)

# What is wrong with the call, and not with a trial.
_WRONG_CALL = (InputError, MissingExtraError, Warning)

# The parameters of a sampler that do not change its explanation (the estimator is told by its identity), and
# those that do not change its matches.
_CHOOSING = {"estimator", "selector", "threshold", "constraints", "counterfactuals"}
_CHOOSING |= {"n_jobs", "verbose", "keep_data"}
_EXPLAINING = {f"explainer__{name}" for name in ("method", "max_exact", "n_permutations", "feature_groups")}
_Key: TypeAlias = tuple[Hashable, ...]


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
        verbose: int = 0,
        has_noise: bool = True,
        skip: bool = False,
    ) -> tuple[Evaluation, dict[Any, Exception]]:
        """Return the evaluation of the trials, and the errors of those that could not be trained.

        In each fold the baseline is fitted once, and matched and explained once for all trials that explain
        it alike. ``has_noise`` takes one more fit, with the attribute shuffled. With ``skip`` the others go
        on if a trial other than the baseline cannot be trained.
        """
        estimator, problem = self.template._estimator(), self.problem
        X, y = problem.own.native, problem.y.values
        rows = [trial.sampler.counterfactuals for trial in trials if trial.sampler is not None]
        weighing = Weighing.of(estimator, X, y) if any(one is not None for one in rows) else None
        if weighing is not None and any(one not in (None, "all") for one in rows):
            # Where all rows have counterfactuals, all weigh the same.
            weighing.warn_of_repeats()
        judged: list[list[Predictions]] = [[] for _ in trials]
        n_edits = np.zeros((len(trials), len(self.folds)))
        failed: dict[Any, Exception] = {}
        noise: list[float] = []
        with said_once(), Progress(title, n_edits.size, verbose) as progress:
            for at, (train, test) in enumerate(self.folds):
                fold = _Fold(trials, estimator, weighing, _safe_indexing(X, train), y[train])
                for k, trial in enumerate(trials):
                    if trial.name not in failed:
                        try:
                            trained = fold.train(trial)
                        except Exception as error:
                            is_baseline = trial.sampler is None and trial.train is None
                            if not skip or is_baseline or isinstance(error, _WRONG_CALL):
                                raise
                            failed[trial.name] = error
                        else:
                            judged[k].append(self._judge(trained, test))
                            n_edits[k, at] = trained.n_edits
                    progress.advance(len(test), 1)
                if has_noise and not is_frozen(estimator):
                    noise.append(shuffled_risk(problem, train, fold.fit, problem, test, self.seed + at))
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
    explained: dict[_Key, Explanation | Exception] = field(default_factory=dict)

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
            try:
                self.explained[key] = self._explain_alike(sampler, key, model)
            except Exception as error:
                self.explained[key] = error
        found = self.explained[key]
        if isinstance(found, Exception):
            raise found
        return recipe, found

    def _explain_alike(self, sampler: "FairSHAP", key: _Key, model: Any) -> Explanation:
        """Return an explanation for all trials of a key, with the matches of another if they are known."""
        samplers = [(trial.sampler, trial.recipe) for trial in self.trials]
        recipes = [recipe for one, recipe in samplers if one and recipe and _key(one) == key]
        matched = (one for other, one in self.explained.items() if other[:-1] == key[:-1])
        known = next((one for one in matched if isinstance(one, Explanation)), None)
        problem = sampler._problem(self.X, self.y) if known is None else known.problem
        return sampler._explain(problem, *recipes, model=model, known=known)


def _key(sampler: "FairSHAP") -> _Key:
    """Return what decides a sampler's explanation; all but the last part decides its model and matches."""
    params = sampler.get_params()
    explainer = make_explainer(params.pop("explainer"))
    params |= {f"explainer__{name}": value for name, value in explainer.get_params().items()}
    matching: list[Hashable] = []
    explaining: list[Hashable] = []
    for name, value in sorted(params.items()):
        if name.partition("__")[0] in _CHOOSING:
            continue
        # The parameters of an object come by themselves.
        said = (name, type(value).__name__ if isinstance(value, BaseEstimator) else repr(value))
        (explaining if name in _EXPLAINING else matching).append(said)
    return (id(sampler.estimator), tuple(matching), tuple(explaining))


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
