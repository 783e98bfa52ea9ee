"""The models before and after a repair on held-out rows: how they are measured, and what the page shows."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from fairshap._crossval import (
    MEASURES,
    CrossValidation,
    Evaluation,
    Trial,
    judge,
    make_folds,
    shuffled_risk,
)
from fairshap._frames import show
from fairshap._models import is_frozen
from fairshap._problem import Target
from fairshap._typing import Native
from fairshap.edits._recipe import Recipe
from fairshap.exceptions import FairshapError, InputError

# Models with the attribute shuffled that the noise on a held-out set comes from; of folds, each has one.
_SHUFFLES = 5


def evaluate_repair(
    fitted: Any,
    target: Target,
    recipe: Recipe,
    X_test: Native | None,
    y_test: Any,
    retrained: Any,
    is_audit: bool,
) -> tuple[Evaluation | None, str]:
    """Return the models before and after on held-out rows, or None and why they are not measured.

    For an audit there is the baseline alone.
    """
    if (X_test is None) != (y_test is None):
        raise InputError("X_test and y_test belong together; give both, or neither.")
    if retrained is not None and X_test is None:
        raise InputError("retrained is measured on X_test and y_test; give them too.")
    problem = fitted.explanation_.problem
    if target.classes is None or len(target.classes) != 2:
        return None, "Accuracy and the gaps between groups are measures of a target with two labels."
    if problem.added:
        return None, "The sensitive attribute is not a column of the table, so no retrained model sees it."
    seed = int(check_random_state(fitted.random_state).randint(np.iinfo(np.int32).max))
    if X_test is not None:
        found = _on_test_rows(fitted, target, recipe, X_test, y_test, retrained, seed, is_audit)
    else:
        try:
            found = _cross_validate(fitted, target, recipe, seed, is_audit)
        except FairshapError as error:
            # A fold can lack a group that the table has; the rest of the report does not need it.
            return None, f"A fold of the table could not be repaired: {error}"
    found.warn_if_noise(problem.groups.name)
    return found, ""


def _on_test_rows(
    fitted: Any,
    target: Target,
    recipe: Recipe,
    X_test: Native,
    y_test: Any,
    retrained: Any,
    seed: int,
    is_audit: bool,
) -> Evaluation:
    """Measure on a held-out set; the noise comes from several models with the attribute shuffled."""
    explanation, problem = fitted.explanation_, fitted.explanation_.problem
    # The test rows may lack some of the privileged values that the table has.
    reader = clone(fitted).set_params(privileged=problem.privileged_in_parts)
    test = reader._problem(X_test, y_test, positive=target.positive_value)
    models = {"before": explanation.model}
    if not is_audit:
        if retrained is None:
            repaired = recipe.finish(explanation, problem.own.native, target.values, fitted.edits_)
            retrained = fitted._refit(repaired.X, repaired.y, repaired.sample_weight)
        models["after"] = retrained
    how = f"Measured on a held-out set of {test.table.n_rows:,} rows."
    judged = [judge(model, test) for model in models.values()]
    found = Evaluation.on_rows(list(models), judged, test.groups.names, how)
    if is_frozen(fitted.estimator):
        # A model that was given fitted is not trained again.
        return found
    fit = partial(fitted._refit, y=target.values, sample_weight=None)
    train, rows = np.arange(problem.table.n_rows), np.arange(test.table.n_rows)
    noise = [shuffled_risk(problem, train, fit, test, rows, seed + k) for k in range(_SHUFFLES)]
    return replace(found, noise=np.array(noise))


def _cross_validate(fitted: Any, target: Target, recipe: Recipe, seed: int, is_audit: bool) -> Evaluation:
    """Measure on folds of the table; the explanation of a fold is of its baseline."""
    problem = replace(fitted.explanation_.problem, target=target)
    # A fold may lack a privileged value that the table has.
    sampler = clone(fitted).set_params(random_state=seed, privileged=problem.privileged_in_parts)
    if is_frozen(fitted.estimator):
        # The fitted model has seen the rows of every fold: one of its kind is trained on each instead.
        sampler.set_params(estimator=clone(fitted.estimator.estimator))
    folds = make_folds(target, problem.groups.side, None, None, seed)
    trials = [Trial("before")] if is_audit else [Trial("before"), Trial("after", sampler, recipe)]
    return CrossValidation(sampler, problem, folds, seed).run(trials)[0]


def measure_lines(evaluation: Evaluation, n_models: int) -> dict[str, dict[str, Any]]:
    """Return a line for each measure: before, after and change, each with the ends of its interval.

    Of one model there is no after and no change.
    """
    measures, lines = evaluation.measures, {}
    levels = np.stack([measures.values, measures.low, measures.high], axis=-1)[:n_models]
    changes = np.stack(measures.changes(), axis=-1)[1] if n_models > 1 else None
    for k, (name, measure) in enumerate(MEASURES.items()):
        groups = _groups_of_gap(evaluation, name, n_models)
        line: dict[str, Any] = {"label": measure.label, "description": measure.description + groups}
        line |= dict(zip(("before", "after"), levels[:, k].tolist(), strict=False))
        if changes is not None:
            change, low, high = line["change"] = changes[k].tolist()
            line["verdict"] = "not measurable"
            # A gap that cannot be taken is NaN, and not measurable either.
            if low > 0 or high < 0:
                line["verdict"] = "better" if (change > 0) == measure.higher_is_better else "worse"
        lines[name] = line
    return lines


def _groups_of_gap(evaluation: Evaluation, measure: str, n_models: int) -> str:
    """Return which groups a gap is between, as the end of a sentence; nothing if it is no gap."""
    pairs = [evaluation.measures.pair(model, measure) for model in range(n_models)]
    said = [f"{show(pair[0], 40)} over {show(pair[1], 40)}" for pair in pairs if pair]
    if not said:
        return ""
    return f"; {said[0]}" + (f" before, {said[1]} after" if len(set(said)) > 1 else "")


def group_rates(evaluation: Evaluation, n_models: int) -> list[list[dict[Any, Any]]]:
    """Return the rates of each group that the gaps come from, for each model."""
    frames = [evaluation.measures.groups(model) for model in range(n_models)]
    return [
        frame.assign(group=[show(name, 40) for name in frame["group"]]).to_dict("records") for frame in frames
    ]
