"""What is tried on folds of a table: many repairs, or a sampler's own threshold."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._frames import open_store
from fairshap._models import Weighing, is_frozen
from fairshap._problem import Labels, Setting, warn_of_copies
from fairshap._progress import Progress
from fairshap._typing import Native
from fairshap.exceptions import InputError, ModelError, TargetError
from fairshap.model_selection import Consultant, Folds, Table, Trial, Tried, make_folds, run_trials
from fairshap.repair import Augment

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP

#: The thresholds that are tried, the largest first.
THRESHOLDS = (0.1, 0.05, 0.03, 0.02, 0.01)

# The accuracy that a threshold may cost, and how often measures are drawn to tell how sure they are.
_DROP, _DRAWS = 0.01, 500


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
    folds : Folds
        Positions of training and test rows.
    """

    X: Native
    y: Any
    setting: Setting
    labels: Labels
    folds: Folds

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
        folds = make_folds(labels, setting.groups.side, n_folds, n_repeats, seed)
        return cls(X, y, setting, labels, folds)

    def run(
        self,
        trials: Sequence[Trial],
        consultants: dict[Hashable, Consultant],
        title: str,
        verbose: int,
        noise_seed: int | None = None,
        skip: bool = False,
    ) -> Tried:
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
                noise_seed,
                skip,
            )


def check_two_labels(setting: Setting, labels: Labels, what: str) -> None:
    """Raise an error unless there are two labels, and the attribute is a column of the table."""
    if labels.classes is None or len(labels.classes) != 2:
        raise TargetError(
            f"{what} takes a target of two labels; accuracy, DP and EO are measures of those.", parameter="y"
        )
    if setting.added:
        raise InputError(
            f"{what} takes a table that holds the sensitive attribute, not sensitive_features beside it.",
            parameter="sensitive_features",
        )


def check_unfitted(sampler: "FairSHAP", what: str) -> None:
    """Raise an error if the estimator is fitted: it may have been trained on the rows that are held out."""
    if is_frozen(sampler._estimator()):
        raise ModelError(
            f"{what} trains models on some rows and measures them on others; the estimator is a "
            "FrozenEstimator, which may have seen all of them. Give it unfitted.",
            parameter="estimator",
        )


def best_threshold(sampler: "FairSHAP", X: Native, y: Any, setting: Setting, augment: Augment) -> float:
    """Return the threshold that makes DR, DP and EO lowest on folds, for at most a point of accuracy."""
    asking = clone(sampler).set_params(threshold=min(THRESHOLDS))
    labels = asking._labels(y, setting.table.n_rows)
    check_two_labels(setting, labels, "threshold='auto'")
    check_unfitted(sampler, "threshold='auto'")
    seed = int(check_random_state(sampler.random_state).randint(np.iinfo(np.int32).max))
    trials = [Trial("the model as it is")]
    trials += [Trial(f"threshold {t:g}", asking._recipe(t, augment), "own") for t in THRESHOLDS]
    try:
        folds = make_folds(labels, setting.groups.side, None, None, seed)
    except InputError as error:
        raise InputError(
            f"threshold='auto' tries several on folds. {error} Give a threshold.", parameter="threshold"
        ) from error
    tried = run_trials(trials, {"own": asking}, X, y, folds, labels.positive_value)
    table = Table.of(trials, tried, _DRAWS, seed)
    allowed = table.is_allowed(_DROP, 1.0)
    allowed[0] = False
    # Nothing within the limits: the one that edits the least.
    return THRESHOLDS[table.steady("fairness", allowed) - 1] if allowed.any() else THRESHOLDS[0]
