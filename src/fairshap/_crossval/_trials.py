"""Many recipes tried on the same folds: one consultation for all of them."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from fairshap._frames import open_store
from fairshap._messages import listing, warn
from fairshap._models import needs_columns
from fairshap._problem import Hiding, Labels, Setting
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import (
    FewReferencesWarning,
    InputError,
    PooledGroupsWarning,
    SkippedWarning,
    UnmatchedRowsWarning,
)
from fairshap._crossval._judging import Judgement, judge
from fairshap._crossval._measured import Measures
from fairshap._crossval._noise import shuffled_risk
from fairshap.repair import Consultation, Recipe


class Consultant(Protocol):
    """Knows how models are fitted and asked: an estimator of fairshap."""

    def _setting(self, X: Native, sensitive_features: Any = None) -> Setting: ...

    def _labels(self, y: Any, n_rows: int) -> Labels: ...

    def _estimator(self) -> Any: ...

    def _ask(
        self,
        setting: Setting,
        y: Any,
        sample_weight: Any = None,
        *,
        known: Consultation | None = None,
        threshold: float | None = None,
    ) -> Consultation: ...

    def _refit(self, X: Native, y: Any, sample_weight: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to a fairer model, to be tried.

    Parameters
    ----------
    name : str
        In words.
    recipe : Recipe, optional
        How the table is repaired; None for what needs no edits.
    consultant : hashable
        Which of the consultants is asked: they differ in their players.
    drops : bool, default=False
        Whether the model is trained without the sensitive attribute instead.
    """

    name: str
    recipe: Recipe | None = None
    consultant: Hashable = None
    drops: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it leaves all cells as they are: the model as it is, a column dropped, twins alone."""
        return self.recipe is None or self.recipe.strategy.threshold == np.inf


@dataclass(slots=True)
class Outcome:
    """What a trial came to: a judgement and a number of edits for each fold."""

    folds: list[Judgement] = field(default_factory=list)
    n_edits: list[int] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    #: Why there are no more folds, if a model could not be trained.
    error: Exception | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tried:
    """What trials came to on the same folds.

    Parameters
    ----------
    outcomes : list of Outcome
        One for each trial.
    groups : tuple of str
        The groups that were compared.
    noise : ndarray of float, shape (folds,), or None
        The mean risk of each fold under a model that was trained with the attribute shuffled.
    """

    outcomes: list[Outcome]
    groups: tuple[str, ...]
    noise: Floats | None

    def measure(self) -> Measures:
        """Return the measures of all trials."""
        return Measures.of([outcome.folds for outcome in self.outcomes], self.groups)


class Blind:
    """A model from which the sensitive attribute is hidden."""

    def __init__(self, model: Any, hiding: Hiding) -> None:
        self.model = model
        self.hiding = hiding
        self.classes_ = getattr(model, "classes_", None)

    def predict(self, X: Native) -> Any:
        """Return what the model predicts without it."""
        return self.model.predict(self.hiding.apply(open_store(X)))

    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities that the model gives without it."""
        return np.asarray(self.model.predict_proba(self.hiding.apply(open_store(X))))


@contextmanager
def quiet_about_references() -> Iterator[None]:
    """Keep quiet what is said of the groups and references of the whole table, where it is split."""
    with warnings.catch_warnings():
        for category in (PooledGroupsWarning, UnmatchedRowsWarning, FewReferencesWarning):
            warnings.simplefilter("ignore", category)
        yield


def run_trials(
    trials: Sequence[Trial],
    consultants: dict[Hashable, Consultant],
    X: Native,
    y: Any,
    folds: Iterable[tuple[Ints, Ints]],
    positive: Any,
    finished: Callable[[], None] = lambda: None,
    noise_seed: int | None = None,
    skip: bool = False,
) -> Tried:
    """Return what each trial came to on each fold.

    What is to be said of the groups and references of a whole table is not said again of each fold.

    In a fold the baseline is fitted and the rows are matched once, and the model is asked once for each
    consultant; the recipes are followed on what it says.

    Parameters
    ----------
    trials : sequence of Trial
        What is tried.
    consultants : dict
        Who is asked, by the names that trials use. The first one says how rows are compared when judging.
    X, y : data frame or array, array-like
        The table and its target.
    folds : iterable of pairs of ndarray
        Positions of training and test rows.
    positive : label
        The positive label.
    finished : function
        Called after each trial of each fold.
    noise_seed : int, optional
        The seed of shuffled attributes, whose risk is measured as well if it is given.
    skip : bool, default=False
        Whether a trial that cannot be trained ends with its error, and the others go on; the baseline has to
        be trained in any case.
    """
    with quiet_about_references():
        return _run_trials(trials, consultants, X, y, folds, positive, finished, noise_seed, skip)


def _run_trials(
    trials: Sequence[Trial],
    consultants: dict[Hashable, Consultant],
    X: Native,
    y: Any,
    folds: Iterable[tuple[Ints, Ints]],
    positive: Any,
    finished: Callable[[], None],
    noise_seed: int | None,
    skip: bool,
) -> Tried:
    outcomes = [Outcome() for _ in trials]
    # A fold may lack a value of the attribute that the table has. Copies: to read a table may take a draw.
    whole = clone(next(iter(consultants.values())))._setting(X)
    consultants = {
        name: clone(consultant).set_params(privileged=whole.privileged_in_parts)
        for name, consultant in consultants.items()
    }
    first = next(iter(consultants.values()))
    labels = first._labels(y, whole.table.n_rows)
    noise: list[float] = []
    for train, test in folds:
        X_train, y_train = take_rows(X, train), _safe_indexing(y, train)
        setting = first._setting(X_train)
        asked: dict[Hashable, Consultation] = {}
        for name, consultant in consultants.items():
            known = next(iter(asked.values()), None)
            asked[name] = consultant._ask(consultant._setting(X_train), y_train, known=known)
        for trial, outcome in zip(trials, outcomes, strict=True):
            if outcome.error is not None:
                finished()
                continue
            try:
                consultant = consultants.get(trial.consultant, first)
                model, n_edits = _train(trial, consultant, asked, setting, X_train, y_train)
            except Exception as error:
                if not skip or isinstance(error, (InputError, Warning)):
                    raise
                outcome.error = error
                finished()
                continue
            outcome.folds.append(judge(model, whole, labels, positive, test))
            outcome.n_edits.append(n_edits)
            outcome.share.append(n_edits / (setting.own.n_rows * len(setting.own.names)))
            finished()
        if noise_seed is not None:
            fit = partial(first._refit, y=y_train, sample_weight=None)
            noise.append(shuffled_risk(whole, train, fit, whole, test, noise_seed + len(noise)))
    return Tried(outcomes, whole.groups.names, np.array(noise) if noise else None)


def _train(
    trial: Trial,
    consultant: Consultant,
    asked: dict[Hashable, Consultation],
    setting: Setting,
    X: Native,
    y: Any,
) -> tuple[Any, int]:
    """Return the model of a trial, trained on the rows of a fold, and the number of its edits."""
    if trial.drops:
        hiding = Hiding.of(setting, needs_columns(consultant._estimator(), setting.own, setting.columns))
        rest = hiding.apply(open_store(X))
        return Blind(consultant._refit(rest, y, None), hiding), 0
    if trial.recipe is None:
        return next(iter(asked.values())).model, 0
    repaired = trial.recipe.follow(asked[trial.consultant], X, y, consultant._refit)
    return consultant._refit(repaired.X, repaired.y, repaired.sample_weight), len(repaired.edits)


def warn_of_skipped(failed: Mapping[str, Exception]) -> None:
    """Warn of what could not be trained, with the reason, if there is any."""
    by_reason: dict[str, list[str]] = {}
    for name, error in failed.items():
        by_reason.setdefault(f"{type(error).__name__}: {error}", []).append(name)
    for reason, names in by_reason.items():
        warn(f"Left out, because it could not be trained: {listing(names)} ({reason})", SkippedWarning)


def take_rows(X: Native, rows: Ints) -> Native:
    """Return some rows of a table, in its own type."""
    return _safe_indexing(X, rows)
