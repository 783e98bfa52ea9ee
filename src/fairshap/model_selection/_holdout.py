"""Whether a repaired model is any good on rows that are held out."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state

from fairshap._messages import warn
from fairshap._models import Risk, Scorer, is_frozen
from fairshap._problem import Labels, Setting, check_weights
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import WorseModelWarning
from fairshap.metrics._rates import critical_value
from fairshap.metrics._risk import row_risks
from fairshap._crossval import quiet_about_references
from fairshap.repair import Augment

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP

# The rows that are held out at least, and the accuracy or R2 that a repair may cost without a word.
_FEWEST, _DROP = 100, 0.01


def warn_if_worse(
    sampler: "FairSHAP",
    X: Native,
    y: Any,
    setting: Setting,
    augment: Augment,
    share: float,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> None:
    """Warn if on rows that are held out the repaired model is measurably worse than the baseline.

    Both are trained on the other rows. Worse means that the interval of the change tells it: more risk, or
    more than a point less accuracy, or R2 for a quantity. An attribute beside the table is one that neither
    sees, so that there is no risk to compare. Nothing is measured where there are too few rows to tell, or
    where the model is fitted already, perhaps on the rows that would be held out.
    """
    asking = clone(sampler).set_params(
        holdout=None, verbose=0, threshold=sampler.threshold_, privileged=setting.privileged_in_parts
    )
    labels, n_rows = asking._labels(y, setting.table.n_rows), setting.table.n_rows
    if is_frozen(sampler._estimator()) or share * n_rows < _FEWEST:
        return
    strata = _strata(labels, setting, share)
    if strata is None:
        return
    seed = int(check_random_state(sampler.random_state).randint(np.iinfo(np.int32).max))
    train, test = (
        np.sort(part)
        for part in train_test_split(np.arange(n_rows), test_size=share, random_state=seed, stratify=strata)
    )

    def of_train(values: Any) -> Any:
        return None if values is None else _safe_indexing(values, train)

    X_train, y_train, weight = of_train(X), of_train(y), of_train(check_weights(sample_weight, n_rows))
    with quiet_about_references():
        asked = asking._ask(asking._setting(X_train, of_train(sensitive_features)), y_train, weight)
    recipe = asking._recipe(sampler.threshold_, augment)
    repaired = recipe.follow(asked, X_train, y_train, asking._refit, weight)
    before = asking._refit(X_train, y_train, weight) if setting.added else asked.model
    after = asking._refit(repaired.X, repaired.y, repaired.sample_weight)
    rows, known = _safe_indexing(X, test), labels.of_rows(test)
    scores = [_scores(model, rows, known) for model in (before, after)]
    found = []
    if not setting.added:
        risks = [row_risks(Risk(Scorer(model), setting), test) for model in (before, after)]
        if _interval(risks[1] - risks[0])[0] > 0:
            found.append(
                f"its discriminative risk is {np.nanmean(risks[1]):.3g} instead of {np.nanmean(risks[0]):.3g}"
            )
    if _interval(scores[1] - scores[0])[1] < -_DROP:
        name = "R2" if labels.classes is None else "accuracy"
        found.append(f"its {name} is {scores[1].mean():.3f} instead of {scores[0].mean():.3f}")
    if found:
        warn(
            f"On {len(test)} rows that were held out the repaired model is worse than the baseline: "
            f"{' and '.join(found)}. {_advice(labels, setting)} holdout=None leaves this check out.",
            WorseModelWarning,
        )


def _advice(labels: Labels, setting: Setting) -> str:
    """Say what to do about a repair that makes the model worse."""
    if labels.classes is None or len(labels.classes) != 2 or setting.added:
        return "A higher threshold edits fewer cells."
    return "fairshap.tune looks for a repair that does better."


def _strata(labels: Labels, setting: Setting, share: float) -> Ints | None:
    """Return what rows are split by, so that each group keeps its share of each label or bin.

    Bins that are too small for that are left out of it; None if a group, or a label of one, is.
    """
    known = setting.groups.side >= 0
    side = np.maximum(setting.groups.side, 0).astype(np.int64)
    both = np.unique(2 * labels.codes.astype(np.int64) + side, return_inverse=True)[1]
    for strata in (both, side) if labels.classes is None else (both,):
        sizes = np.bincount(strata[known])
        if sizes[sizes > 0].min() * share >= 2:
            return np.asarray(strata)
    return None


def _scores(model: Any, rows: Native, labels: Labels) -> Floats:
    """Return what the mean of is the accuracy, or for a quantity R2."""
    predicted = np.asarray(model.predict(rows))
    if labels.classes is not None:
        return np.asarray(predicted == labels.values, dtype=np.float64)
    values = np.asarray(labels.values, dtype=np.float64)
    variance = float(np.var(values))
    return 1 - (values - predicted) ** 2 / variance if variance > 0 else np.zeros(len(values))


def _interval(differences: Floats) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the mean of differences between two models, row by row."""
    known = differences[~np.isnan(differences)]
    half = critical_value() * float(np.std(known)) / np.sqrt(max(1, len(known)))
    return float(known.mean() - half), float(known.mean() + half)
