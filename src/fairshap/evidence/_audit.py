"""The audit of a model, of a table by models that are trained on it, and of a repair."""

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fairshap._crossval import Evaluation
from fairshap._crossval.trials import draw_seed
from fairshap._frames import Table, open_store, read_column, show
from fairshap._models import default_estimator, is_frozen, takes_quantities
from fairshap._problem import Privileged, Problem, Target, read_attribute, warn_of_copies
from fairshap._problem.problem import find_columns
from fairshap._typing import Native
from fairshap.attribution._explain import explain_matched
from fairshap.attribution._explanation import default_threshold, make_explainer
from fairshap.edits import EditConstraints, Threshold
from fairshap.edits._certificate import certify
from fairshap.edits._recipe import Recipe
from fairshap.evidence._assembly import evidence_of_rows, explain_gap, read_about
from fairshap.evidence._evidence import Evidence
from fairshap.evidence._gates import read_conditions
from fairshap.evidence._held import Held, Seen, ask_fitted, cross_validate, labels_of, mean_scores, trainer
from fairshap.evidence._provenance import Provenance
from fairshap.evidence._words import group_name
from fairshap.exceptions import (
    FairshapWarning,
    FewReferencesWarning,
    GroupError,
    InputError,
    ModelError,
    UnmatchedRowsWarning,
)
from fairshap.matching._match import match_rows
from fairshap.report import ReportData, evaluate_repair


def audit(
    model: Any,
    X: Native,
    y: Any,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    positive: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    threshold: float | None = None,
    fail_if: Iterable[str] = (),
    tuning: Any = None,
    n_folds: int | None = None,
    n_repeats: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    **about: Any,
) -> Evidence:
    """Return evidence of how a model treats groups of people; nothing is changed.

    Who is selected how often, how the model errs about each group, what changes when only the sensitive
    attribute does, and which columns stand for it: all with 95 % intervals.

    Parameters
    ----------
    model : estimator or None
        A fitted model is judged as it is, on all rows: give rows that it was not trained on. An unfitted
        estimator, or None for scikit-learn's histogram gradient boosting, is trained on folds of the table as
        a stand-in, and each row is judged by a model that did not see it. A model that does not take the
        sensitive column is audited too.
    X, y : data frame or array, array-like
        The table and its target: two labels, several, or a quantity.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute. Several have tables of their own and one of their combinations.
    privileged : value, list of values, pandas.Interval or function, optional
        The privileged values, which treatment and proxies are about. By default the group that has the
        favorable label most often. A quantity such as age needs it. Rates are always compared with those of
        the most favored group.
    positive : label, optional
        The favorable label; by default the larger of two.
    sensitive_features : array-like, optional
        The attribute, if it is not a column of X. The model does not see it then.
    sample_weight : array-like, optional
        Survey or sample weights, for all figures of groups, outcomes and errors.
    threshold : float, optional
        The smallest Shapley value of a cell that is counted; by default 0.05.
    fail_if : sequence of str, optional
        Tests such as ``"impact_ratio < 0.8"``; see ``Evidence.figures`` for the names.
    tuning : Tuning, optional
        What :func:`fairshap.tune` returned, to show which alternatives were tried.
    n_folds, n_repeats, random_state, n_jobs, verbose
        As of :func:`fairshap.evaluate`.
    **about
        What the evidence says about itself: ``title``, ``by``, ``purpose``, ``sign_off``, ``date``,
        ``command``, ``note``; ``data``, ``target`` and ``favorable``, the names of the table, the target and
        its favorable label; ``checksum`` and ``model_checksum``, the SHA-256 of files; ``ids``, the names of
        rows; and ``redact``, which leaves out what tells of single rows.

    Examples
    --------
    >>> from fairshap import audit, datasets
    >>> d = datasets.make_biased(400, random_state=0)
    >>> evidence = audit(None, d.X, d.y, sensitive=d.sensitive, n_folds=2, random_state=0)
    >>> evidence.groupings[0].labels[0].most_favored
    'a'
    """
    about, conditions = read_about(about), read_conditions(fail_if)
    seed = draw_seed(random_state)
    is_given = model is not None and is_fitted(model)
    X = open_store(X).native
    X = _columns_of(model, X, sensitive) if is_given and sensitive_features is None else X
    note = ""
    is_quantity = None if model is None else takes_quantities(model)
    if privileged is None:
        privileged, note = favored(X, y, sensitive, sensitive_features, positive, is_quantity)
    problem = Problem.read(
        X,
        y,
        sensitive=sensitive,
        privileged=privileged,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        positive=positive,
        is_quantity=is_quantity,
        is_fitted=False,
        min_group_size=1,
    )
    with _noting() as messages:
        warn_of_copies(problem)
        if is_given:
            seen, folds, made = Seen.by(model, problem), None, model
            held = ask_fitted(model, seen)
        else:
            own = tuple(range(len(problem.own.names)))
            seen = Seen(problem, own, sees=not problem.added)
            estimator = default_estimator(seed, problem.y.classes is None) if model is None else model
            held, folds = cross_validate(estimator, seen, n_folds, n_repeats, seed, verbose)
            if model is None:
                estimator = default_estimator(random_state, problem.y.classes is None)
            rows = np.arange(problem.table.n_rows)
            made = trainer(estimator, seen)(rows, seen.rows(rows))
        run = {"random_state": random_state, "n_jobs": n_jobs, "verbose": verbose}
        data = None
        # A model may take the column and leave it out in a step of its own.
        if seen.sees and np.nansum(held.risk) > 0:
            data = replace(_explain(made, problem, threshold, run), tuning=tuning)
        gap = explain_gap(made, seen, None if data is None else data.explanation.match_plan, run)
    known = about["model_checksum"]
    provenance = Provenance.of(made, random_state, is_given=is_given, checksum=known)
    return evidence_of_rows(
        problem, held, data, provenance, about, conditions, gap, folds=folds, note=note, messages=messages
    )


@contextmanager
def _noting() -> Iterator[list[str]]:
    """Yield a list of the warnings that are given meanwhile; what only a repair has to know is left out."""
    said: list[str] = []
    with warnings.catch_warnings():
        for category in (UnmatchedRowsWarning, FewReferencesWarning):
            warnings.simplefilter("ignore", category)
        show_warning: Any = warnings.showwarning

        def note(message: Any, *args: Any, **more: Any) -> None:
            if isinstance(message, FairshapWarning) and str(message) not in said:
                said.append(str(message))
            show_warning(message, *args, **more)

        warnings.showwarning = note
        yield said


def is_fitted(model: Any) -> bool:
    """Say whether a model is fitted already."""
    if is_frozen(model):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError as error:
        raise ModelError(
            f"{type(model).__name__} is no estimator: it has no fit. Give a scikit-learn style model, or "
            "None.",
            parameter="estimator",
        ) from error
    return True


def _columns_of(model: Any, X: Native, sensitive: Any) -> Native:
    """Return the table with the columns that a fitted model takes, and the sensitive ones."""
    names = getattr(model, "feature_names_in_", None)
    store = open_store(X)
    known = {str(name): k for k, name in enumerate(store.names)}
    if names is None or Table.read(X).is_array or not all(str(name) in known for name in names):
        return X
    columns = [known[str(name)] for name in names]
    asked = [store.position(name) for name in (sensitive if isinstance(sensitive, list) else [sensitive])]
    columns += [column for column in asked if column not in columns]
    return X if columns == list(range(len(store.names))) else store.compose(columns)


def favored(
    X: Native, y: Any, sensitive: Any, sensitive_features: Any, positive: Any, is_quantity: bool | None
) -> tuple[Any, str]:
    """Return the group that has the favorable label most often, and a sentence that says so.

    Of a quantity it is the group of the highest mean, of several labels without a favorable one the largest.
    """
    if sensitive_features is None:
        table = Table.read(X)
        columns: Sequence[int] = find_columns(sensitive, table)
    else:
        table = Table.read(read_column(sensitive_features, "sensitive"))
        columns = range(len(table.names))
    code, values, _ = read_attribute(table, columns)
    target = Target.read(y, table.n_rows, positive, None, is_quantity)
    known = code >= 0
    if not known.any():
        raise GroupError("the sensitive attribute is missing in every row; there are no groups to compare.")
    counts = np.bincount(code[known], minlength=len(values))
    if target.classes is None:
        level, how = np.asarray(target.values, dtype=np.float64), "the highest mean target"
    elif target.positive is not None:
        level, how = (target.values == target.positive_value) * 1.0, "the favorable label most often"
    else:
        level, how = np.ones(table.n_rows), "the most rows"
    sums = np.bincount(code[known], level[known], len(values))
    enough = counts >= min(30, counts.max())
    rates = sums if how == "the most rows" else sums / counts
    best = int(np.argmax(np.where(enough, rates, -np.inf)))
    name = values[best]
    attribute = " / ".join(str(table.names[k]) for k in columns)
    shown = group_name(attribute, " / ".join(map(str, name)) if isinstance(name, tuple) else str(name))
    return name, f"No privileged group was given; {shown} has {how} and is taken for it."


def _explain(model: Any, problem: Problem, threshold: float | None, run: dict[str, Any]) -> ReportData:
    """Return the model explained on the table, and the edits that a repair would make."""
    explainer = make_explainer(None)
    reach = default_threshold(problem.target) if threshold is None else threshold
    options = explainer.options(reach, run["random_state"], run["n_jobs"], run["verbose"])
    plan = match_rows(problem, "nearest", **run)
    explanation = explain_matched(model, problem, plan, explainer.players(problem.own), options)
    recipe = Recipe(Threshold(threshold), EditConstraints())
    edits = recipe.selector.select(explanation, recipe.constraints)
    certificate = certify(explanation, edits, edits.apply(problem.own.native))
    return ReportData(explanation, recipe, edits, certificate, problem.y, is_audit=True)


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
    ledger: str = "",
    repaired: str = "",
) -> Evidence:
    """Return the evidence of a fitted sampler; see :meth:`fairshap.FairSHAP.report`."""
    about, conditions = read_about(about), read_conditions(fail_if)
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
    run = {"random_state": fitted.random_state, "n_jobs": fitted.n_jobs, "verbose": fitted.verbose}
    gap: tuple[dict[Any, float], int] = ({}, 0)
    if not problem.added:
        gap = explain_gap(fitted.model_, seen, fitted.explanation_.match_plan, run)
    provenance = Provenance.of(
        fitted.model_,
        fitted.random_state,
        is_given=is_given,
        checksum=about["model_checksum"],
        ledger_sha256=ledger or hashlib.sha256(fitted.edits_.to_bytes()).hexdigest(),
        repaired_sha256=repaired,
    )
    added = len(fitted.counterfactual_of_)
    return evidence_of_rows(
        judged, held, data, provenance, about, conditions, gap, folds=folds, models=models, added=added
    )


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
