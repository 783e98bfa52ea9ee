"""The evidence of a repair."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from fairshap._crossval import Evaluation
from fairshap._crossval.trials import draw_seed
from fairshap._frames import show
from fairshap._models import is_frozen
from fairshap._problem import Problem, Target
from fairshap._typing import Native
from fairshap.evidence._assembly import About, Parts, explain_gap
from fairshap.evidence._evidence import Evidence
from fairshap.evidence._gates import read_conditions
from fairshap.evidence._held import (
    Held,
    Seen,
    ask_fitted,
    cross_validate,
    labels_of,
    mean_scores,
)
from fairshap.exceptions import (
    InputError,
)
from fairshap.report import ReportData, evaluate_repair


def audit_repair(
    fitted: Any,
    X_test: Native | None,
    y_test: Any,
    beside: Any,
    positive: Any,
    evaluation: Any,
    tuning: Any,
    fail_if: Iterable[str],
    about: dict[str, Any],
    **repaired: Any,
) -> Evidence:
    """Return the evidence of a fitted sampler; see :meth:`fairshap.FairSHAP.report`."""
    about, conditions = About.check(about), read_conditions(fail_if)
    problem = fitted.explanation_.problem
    target = problem.y
    if positive is not None:
        read = Target.read(target.values, len(target.values), positive, is_quantity=target.classes is None)
        target = replace(target, positive=read.positive)
    problem = replace(problem, target=target)
    # A threshold that was found by trying several is the one to report.
    recipe = fitted._recipe(fitted.threshold_ if fitted.selector is None else None)
    not_measured, judged = "", problem
    if evaluation is None:
        evaluation, not_measured, judged = evaluate_repair(fitted, problem, recipe, X_test, y_test, beside)
    elif X_test is not None:
        raise InputError("evaluation has the held-out measures already; leave X_test out.")
    elif len(evaluation.measures.values) < 2:
        raise InputError("evaluation has one model only; give one with two, before and after the repair.")
    made = (fitted.explanation_, recipe, fitted.edits_, fitted._evidence)
    data = ReportData(*made, target, evaluation, not_measured, tuning)
    models = [] if evaluation is None or evaluation.rows is None else held_of(evaluation, judged)
    seen = Seen(problem, tuple(range(len(problem.table.names))), sees=True)
    is_given = is_frozen(fitted.estimator)
    if models:
        held, folds = models[0], evaluation.folds
    elif evaluation is None or is_given:
        held, folds = ask_fitted(fitted.model_, seen), None
    else:
        # A search keeps no predictions of single rows.
        how = (evaluation.folds.n_folds, evaluation.folds.n_repeats, draw_seed(fitted.random_state))
        held, folds = cross_validate(fitted._estimator(), seen, *how)
    about["command"] = about["command"] or f"{fitted!r}.fit_resample(X, y)"
    parts = Parts(judged, held, data, fitted.model_, is_given, fitted.random_state, folds, "", (), about)
    ledger = repaired.get("ledger") or hashlib.sha256(fitted.edits_.to_bytes()).hexdigest()
    repaired = {**repaired, "ledger": ledger, "added": len(fitted.counterfactual_of_)}
    run = {"random_state": fitted.random_state, "n_jobs": fitted.n_jobs, "verbose": fitted.verbose}
    gap: tuple[dict[Any, float], int] = ({}, 0)
    if not problem.added:
        gap = explain_gap(fitted.model_, seen, fitted.explanation_.match_plan, run)
    return parts.evidence(conditions, models, gap, **repaired)


def held_of(evaluation: Evaluation, problem: Problem) -> list[Held]:
    """Return what the first two models of an evaluation do on the rows of a problem."""
    rows = evaluation.rows
    assert rows is not None  # noqa: S101
    if len(rows.true) != problem.own.n_rows:
        raise InputError(
            "evaluation does not hold the rows of this table; give what evaluate returned for it."
        )
    labels = tuple(show(label, 60) for label in labels_of(problem))
    found = []
    for k in range(2):
        folds = [(at, scores[k][:, None]) for at, scores in rows.folds]
        predicted = rows.predicted[k][:, None]
        found.append(
            Held(
                labels,
                rows.true[:, None],
                predicted,
                np.where(rows.true > 0, predicted[:, 0], 1 - predicted[:, 0]),
                folds,
                mean_scores(folds, predicted.shape),
                bool(rows.is_probability[k]),
                rows.risk[k],
                rows.flips[k],
                evaluation.measures.risk_by_fold[k],
                np.ones(len(rows.true)),
                sum(len(at) for at, _ in rows.folds) == len(rows.true),
                evaluation.how,
                evaluation.noise if k == 0 else None,
            )
        )
    return found
