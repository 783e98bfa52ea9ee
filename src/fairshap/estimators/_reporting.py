"""What a fitted sampler hands to the report."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._models import is_frozen
from fairshap._problem import Labels, Setting
from fairshap._typing import Floats, Native
from fairshap.exceptions import FairshapError, InputError
from fairshap.model_selection import (
    SHUFFLES,
    Measured,
    Trial,
    judge,
    make_folds,
    run_trials,
    shuffled_risk,
    warn_if_noise,
)
from fairshap.report import Comparison, Findings

if TYPE_CHECKING:
    from fairshap.estimators._sampler import FairSHAP


def findings_of(fitted: "FairSHAP", is_audit: bool = False) -> Findings:
    """Return what a fitted sampler found and changed, or for an audit would change."""
    asked = fitted._asked
    augment = None if fitted.augment == "auto" else fitted.augment
    return Findings(
        asked=asked,
        recipe=fitted._recipe(fitted.threshold_, augment),
        edits=fitted.edits_,
        certificate=fitted._evidence.certificate,
        labels=_labels(fitted),
        call=f"{fitted!r}.fit_resample(X, y)",
        random_state=fitted.random_state,
        is_audit=is_audit,
    )


def compare(
    fitted: "FairSHAP", X_test: Native | None, y_test: Any, retrained: Any, is_audit: bool = False
) -> tuple[Comparison | None, str]:
    """Return the models before and after on held-out rows, or None and why they are not compared.

    For an audit there is no model after.
    """
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test belong together; give both, or neither.", parameter="X_test")
    if retrained is not None and X_test is None:
        raise InputError("retrained is judged on X_test and y_test; give them too.", parameter="retrained")
    labels = _labels(fitted)
    if labels.classes is None or len(labels.classes) != 2:
        return None, "Accuracy and the gaps between groups are measures of a target of two labels."
    if fitted._asked.risk.setting.added:
        return (
            None,
            "The sensitive attribute is not a column of the table: the retrained model never sees it.",
        )
    seed = int(check_random_state(fitted.random_state).randint(np.iinfo(np.int32).max))
    try:
        if X_test is None:
            found = _cross_validate(fitted, labels, seed, is_audit)
        else:
            found = _on_test_rows(fitted, X_test, y_test, retrained, labels, seed, is_audit)
    except FairshapError as error:
        if X_test is not None:
            raise
        # A fold can lack a group that the table has; the rest of the report does not need it.
        return None, f"A fold of the table could not be repaired: {error}"
    warn_if_noise(found.measured, found.noise, fitted._asked.risk.setting.groups.name)
    return found, ""


def _on_test_rows(
    fitted: "FairSHAP", X_test: Native, y_test: Any, retrained: Any, labels: Labels, seed: int, is_audit: bool
) -> Comparison:
    """Compare on rows of a table of their own."""
    # The test rows are a part of what was fitted on, in that they may lack some of the privileged values.
    known = fitted._asked.risk.setting.privileged_in_parts
    setting = clone(fitted).set_params(privileged=known)._setting(X_test)
    n_rows = setting.table.n_rows
    test_labels = fitted._labels(y_test, n_rows)
    models = [fitted.model_]
    if not is_audit:
        models.append(_retrain(fitted) if retrained is None else retrained)
    judged = [[judge(model, setting, test_labels, labels.positive_value)] for model in models]
    measured = Measured.of(judged, setting.groups.names)
    how = f"On {n_rows:,} rows that were not trained on."
    return Comparison(measured, how, _noise_on_test_rows(fitted, setting, seed))


def _noise_on_test_rows(fitted: "FairSHAP", setting: Setting, seed: int) -> Floats | None:
    """Return the risks of test rows under models that were fitted with the attribute shuffled.

    None for a model that was given fitted: it is not trained again.
    """
    if is_frozen(fitted.estimator):
        return None
    own, rows = fitted._asked.risk.setting, np.arange(setting.table.n_rows)
    fit = partial(fitted._refit, y=fitted._target, sample_weight=None)
    train = np.arange(own.table.n_rows)
    return np.array([shuffled_risk(own, train, fit, setting, rows, seed + k) for k in range(SHUFFLES)])


def _cross_validate(fitted: "FairSHAP", labels: Labels, seed: int, is_audit: bool) -> Comparison:
    """Compare on folds of the table: each model is judged on the rows that it was not trained on."""
    setting = fitted._asked.risk.setting
    augment = None if fitted.augment == "auto" else fitted.augment
    recipe = fitted._recipe(fitted.threshold_, augment)
    trials = [Trial("before")] if is_audit else [Trial("before"), Trial("after", recipe, "repair")]
    folds = make_folds(labels, setting.groups.side, None, None, seed)
    # Each fold sets what is known of its target: on a copy.
    copy = clone(fitted).set_params(random_state=seed)
    if is_frozen(fitted.estimator):
        # The fitted model has seen the rows of every fold: one of its kind is trained on each instead.
        copy.set_params(estimator=clone(fitted.estimator.estimator))
    tried = run_trials(
        trials,
        {"repair": copy},
        setting.own.native,
        fitted._target,
        folds,
        labels.positive_value,
        noise_seed=seed,
    )
    how = f"By cross-validation with {folds}: each model is judged on rows it was not trained on."
    return Comparison(tried.measure(), how, tried.noise)


def _retrain(fitted: "FairSHAP") -> Any:
    """Return the estimator trained on the repaired table."""
    asked = fitted._asked
    own = asked.risk.setting.own.native
    repaired = findings_of(fitted).recipe.finish(asked, own, fitted._target, fitted.edits_, None)
    return fitted._refit(repaired.X, repaired.y, fitted.sample_weight_)


def _labels(fitted: "FairSHAP") -> Labels:
    return fitted._labels(fitted._target, fitted._asked.risk.setting.own.n_rows)
