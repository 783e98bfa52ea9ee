"""Many recipes tried on the same folds: one consultation for all of them."""

import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.utils import _safe_indexing

from fairshap._messages import listing, warn
from fairshap._typing import Floats, Ints, Native
from fairshap.evaluation._judging import Judgement, judge
from fairshap.exceptions import (
    FewReferencesWarning,
    InputError,
    PooledGroupsWarning,
    SkippedWarning,
    UnmatchedRowsWarning,
)
from fairshap.groups import Hiding, Labels, Setting
from fairshap.models import needs_columns
from fairshap.repair import Consultation, Recipe
from fairshap.table import open_store


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


def folds_of(labels: Labels, n_folds: int, n_repeats: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Return folds in which every label has its share, as positions of training and test rows."""
    splitter = RepeatedStratifiedKFold(n_splits=n_folds, n_repeats=n_repeats, random_state=seed)
    return list(splitter.split(np.zeros(len(labels.codes)), labels.codes))


def run_trials(
    trials: Sequence[Trial],
    consultants: dict[Hashable, Consultant],
    X: Native,
    y: Any,
    folds: Iterable[tuple[Ints, Ints]],
    positive: Any,
    finished: Callable[[], None] = lambda: None,
    skip: bool = False,
) -> list[Outcome]:
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
    skip : bool, default=False
        Whether a trial that cannot be trained ends with its error, and the others go on; the model as it is
        has to be trained in any case.
    """
    with warnings.catch_warnings():
        for category in (PooledGroupsWarning, UnmatchedRowsWarning, FewReferencesWarning):
            warnings.simplefilter("ignore", category)
        return _run_trials(trials, consultants, X, y, folds, positive, finished, skip)


def _run_trials(
    trials: Sequence[Trial],
    consultants: dict[Hashable, Consultant],
    X: Native,
    y: Any,
    folds: Iterable[tuple[Ints, Ints]],
    positive: Any,
    finished: Callable[[], None],
    skip: bool,
) -> list[Outcome]:
    outcomes = [Outcome() for _ in trials]
    # A fold may lack a value of the attribute that the table has. Copies: to read a table may take a draw.
    whole = clone(next(iter(consultants.values())))._setting(X)
    consultants = {
        name: clone(consultant).set_params(privileged=whole.privileged_in_parts)
        for name, consultant in consultants.items()
    }
    first = next(iter(consultants.values()))
    for train, test in folds:
        X_train, y_train = take_rows(X, train), _safe_indexing(y, train)
        X_test, y_test = take_rows(X, test), _safe_indexing(y, test)
        setting, test_setting = first._setting(X_train), first._setting(X_test)
        test_labels = first._labels(y_test, len(test))
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
            outcome.folds.append(judge(model, test_setting, test_labels, positive))
            outcome.n_edits.append(n_edits)
            outcome.share.append(n_edits / (setting.own.n_rows * len(setting.own.names)))
            finished()
    return outcomes


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
