"""What is tried on folds of a table: many repairs, a sampler's own threshold, whether it does any good."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from fairshap._messages import warn
from fairshap._progress import Progress
from fairshap._typing import Ints, Native
from fairshap.evaluation import MEASURES, Consultant, Outcome, Table, Trial, folds_of, run_trials
from fairshap.exceptions import InputError, ModelError, TargetError, WorseModelWarning
from fairshap.groups import Labels, Setting, warn_of_copies
from fairshap.models import Weighing, is_frozen
from fairshap.repair import Augment
from fairshap.table import open_store

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP

#: The thresholds that are tried, the largest first.
THRESHOLDS = (0.1, 0.05, 0.03, 0.02, 0.01)

# Rows from which on a fold has enough of them, so that there are fewer folds, and no repeats.
_MANY, _ENOUGH = 10_000, 8_000

# The rows that a hold-out has at least, and the accuracy that a repair may cost without a word.
_FEWEST, _DROP = 100, 0.01
_RESAMPLES = 500


@dataclass(frozen=True, slots=True, eq=False)
class FoldedTable:
    """A table with its folds, on which repairs can be tried.

    Parameters
    ----------
    X, y : data frame or array, array-like
        The table and its target.
    setting : Setting
        Its groups.
    labels : Labels
        Its labels.
    folds : list of pairs of ndarray
        Positions of training and test rows.
    """

    X: Native
    y: Any
    setting: Setting
    labels: Labels
    folds: list[tuple[Ints, Ints]]

    @classmethod
    def read(
        cls,
        what: str,
        sampler: "FairSHAP",
        X: Any,
        y: Any,
        n_folds: int | None,
        n_repeats: int | None,
        seed: int,
    ) -> "FoldedTable":
        """Return a table as a sampler reads it, or say what keeps a function from trying repairs on it."""
        X = open_store(X).native
        setting = sampler._setting(X)
        warn_of_copies(setting)
        labels = sampler._labels(y, setting.table.n_rows)
        check_two_labels(setting, labels, what)
        check_unfitted(sampler, what)
        return cls(X, y, setting, labels, folds_for(labels, n_folds, n_repeats, seed))

    def run(
        self,
        trials: Sequence[Trial],
        consultants: dict[Hashable, Consultant],
        title: str,
        verbose: int,
        skip: bool = False,
    ) -> list[Outcome]:
        """Return what each trial came to on each fold, showing how far it is; see :func:`run_trials`."""
        # Where all rows have twins, they weigh the same.
        if any(trial.recipe is not None and trial.recipe.augment not in (None, "all") for trial in trials):
            estimator = next(iter(consultants.values()))._estimator()
            Weighing.of(estimator, self.X, self.labels.values).warn_of_repeats()
        with Progress(title, len(self.folds) * len(trials), verbose) as progress:
            return run_trials(
                trials,
                consultants,
                self.X,
                self.y,
                self.folds,
                self.labels.positive_value,
                lambda: progress.advance(1, 1),
                skip,
            )


def check_two_labels(setting: Setting, labels: Labels, what: str) -> None:
    """Raise an error unless there are two labels, and the attribute is a column of the table."""
    if labels.classes is None or len(labels.classes) != 2:
        raise TargetError(f"{what} takes a target of two labels; accuracy, DP and EO are measures of those.")
    if setting.added:
        raise InputError(
            f"{what} takes a table that holds the sensitive attribute, not sensitive_features beside it."
        )


def check_unfitted(sampler: "FairSHAP", what: str) -> None:
    """Raise an error if the estimator is fitted: it may have been trained on the rows that are held out."""
    if is_frozen(sampler._estimator()):
        raise ModelError(
            f"{what} trains models on some rows and measures them on others; the estimator is a "
            "FrozenEstimator, which may have seen all of them. Give it unfitted."
        )


def folds_for(
    labels: Labels, n_folds: int | None, n_repeats: int | None, seed: int
) -> list[tuple[Ints, Ints]]:
    """Return folds: more of them, and several times, where there are few rows."""
    for name, number, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        if number is not None and (not isinstance(number, (int, np.integer)) or number < least):
            raise InputError(f"{name}={number!r} must be a whole number from {least} on, or None.")
    n_rows = len(labels.codes)
    n_folds = n_folds or (5 if n_rows < _MANY else 3)
    fewest = int(np.bincount(labels.codes).min())
    if fewest < n_folds:
        raise InputError(
            f"The table cannot be split into {n_folds} folds: one label has {fewest} rows, and each fold "
            "needs one of them. Ask for fewer folds, or give a threshold where they are for finding one."
        )
    return folds_of(labels, n_folds, n_repeats or int(np.clip(_ENOUGH // n_rows, 1, 4)), seed)


def best_threshold(sampler: "FairSHAP", X: Native, y: Any, setting: Setting, augment: Augment) -> float:
    """Return the threshold that makes DR, DP and EO lowest on folds, for at most a point of accuracy."""
    asking = clone(sampler).set_params(threshold=min(THRESHOLDS))
    labels = asking._labels(y, setting.table.n_rows)
    check_two_labels(setting, labels, "threshold='auto'")
    check_unfitted(sampler, "threshold='auto'")
    seed = int(check_random_state(sampler.random_state).randint(np.iinfo(np.int32).max))
    trials = [Trial("the model as it is")]
    trials += [Trial(f"threshold {t:g}", asking._recipe(t, augment), "own") for t in THRESHOLDS]
    folds = folds_for(labels, None, None, seed)
    outcomes = run_trials(trials, {"own": asking}, X, y, folds, labels.positive_value)
    table = Table.of(trials, outcomes, _RESAMPLES, seed)
    allowed = table.is_allowed(_DROP, 1.0)
    allowed[0] = False
    # Nothing within the limits: the one that edits the least.
    return THRESHOLDS[table.steady("fairness", allowed) - 1] if allowed.any() else THRESHOLDS[0]


def warn_if_worse(
    sampler: "FairSHAP", X: Native, y: Any, setting: Setting, augment: Augment, share: float
) -> None:
    """Warn if on rows that are held out the repaired model is measurably worse than the model as it is.

    Nothing is measured where there are too few rows, or no two labels, to tell, or where the model is fitted
    already, perhaps on the rows that would be held out.
    """
    if is_frozen(sampler._estimator()):
        return
    asking = clone(sampler).set_params(holdout=None, verbose=0, threshold=sampler.threshold_)
    labels = asking._labels(y, setting.table.n_rows)
    n_rows = setting.table.n_rows
    if labels.classes is None or len(labels.classes) != 2 or setting.added or share * n_rows < _FEWEST:
        return
    seed = int(check_random_state(sampler.random_state).randint(np.iinfo(np.int32).max))
    # Each group keeps its share of each label, unless one is too small to be split.
    strata = 2 * labels.codes.astype(np.int64) + np.maximum(setting.groups.side, 0)
    if np.bincount(strata, minlength=4).min() * share < 2:
        return
    train, test = train_test_split(np.arange(n_rows), test_size=share, random_state=seed, stratify=strata)
    trials = [Trial("before"), Trial("after", asking._recipe(sampler.threshold_, augment), "own")]
    outcomes = run_trials(
        trials, {"own": asking}, X, y, [(np.sort(train), np.sort(test))], labels.positive_value
    )
    table = Table.of(trials, outcomes, _RESAMPLES, seed)
    change = table.samples[1] - table.samples[0]
    (before, after), n_test = table.measures, len(test)
    accuracy, risk = MEASURES.index("accuracy"), MEASURES.index("dr")
    found = []
    if np.quantile(change[:, risk], 0.025) > 0:
        found.append(f"its discriminative risk is {after[risk]:.3g} instead of {before[risk]:.3g}")
    if np.quantile(change[:, accuracy], 0.975) < -_DROP:
        found.append(f"its accuracy is {after[accuracy]:.3f} instead of {before[accuracy]:.3f}")
    if found:
        warn(
            f"On {n_test} rows that were held out the repaired model is worse than the model as it is: "
            f"{' and '.join(found)}. fairshap.tune looks for a repair that does better; holdout=None leaves "
            "this check out.",
            WorseModelWarning,
        )
