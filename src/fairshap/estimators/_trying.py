"""What a sampler tries on folds of its own table: its threshold, and whether it does any good."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state

from fairshap._messages import warn
from fairshap._typing import Native
from fairshap.evaluation import MEASURES, Table, Trial, folds_of, run_trials
from fairshap.exceptions import InputError, ModelError, TargetError, WorseModelWarning
from fairshap.groups import Labels, Setting
from fairshap.models import is_frozen
from fairshap.repair import Augment

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP

#: The thresholds that are tried, the largest first.
THRESHOLDS = (0.1, 0.05, 0.03, 0.02, 0.01)

# Rows from which on a fold has enough of them, so that there are fewer folds, and no repeats.
_MANY, _ENOUGH = 10_000, 8_000

# The rows that a hold-out has at least, and the accuracy that a repair may cost without a word.
_FEWEST, _DROP = 100, 0.01
_RESAMPLES = 500


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


def folds_for(labels: Labels, n_folds: int | None, n_repeats: int | None, seed: int) -> Any:
    """Return folds: more of them, and several times, where there are few rows."""
    n_rows = len(labels.codes)
    return folds_of(
        labels,
        n_folds or (5 if n_rows < _MANY else 3),
        n_repeats or int(np.clip(_ENOUGH // n_rows, 1, 4)),
        seed,
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
    folds = folds_for(labels, None, None, seed)
    outcomes = run_trials(trials, {"own": asking}, X, y, folds, labels.positive_value)
    table = Table.of(trials, outcomes, _RESAMPLES, seed)
    allowed = table.is_allowed(_DROP, 1.0)
    allowed[0] = False
    # Nothing within the limits: the one that edits the least.
    return THRESHOLDS[table.recommend("fairness", allowed)[0] - 1] if allowed.any() else THRESHOLDS[0]


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
