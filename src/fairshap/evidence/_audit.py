"""The audit of a model, or of a table by models that are trained on it."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from fairshap._crossval.trials import draw_seed
from fairshap._frames import Table, open_store, read_column
from fairshap._models import default_estimator, is_frozen, takes_quantities
from fairshap._problem import Privileged, Problem, Target, read_attribute, warn_of_copies
from fairshap._problem.problem import find_columns
from fairshap._typing import Native
from fairshap.attribution._explain import explain_matched
from fairshap.attribution._explanation import default_threshold, make_explainer
from fairshap.edits import EditConstraints, Threshold
from fairshap.edits._certificate import certify
from fairshap.edits._recipe import Recipe
from fairshap.evidence._assembly import About, Parts, explain_gap
from fairshap.evidence._evidence import Evidence
from fairshap.evidence._gates import read_conditions
from fairshap.evidence._held import (
    Seen,
    ask_fitted,
    cross_validate,
    trainer,
)
from fairshap.evidence._words import group_name
from fairshap.exceptions import (
    FairshapWarning,
    FewReferencesWarning,
    ModelError,
    UnmatchedRowsWarning,
)
from fairshap.matching._match import match_rows
from fairshap.report import ReportData


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
    about = About.check(about)
    conditions = read_conditions(fail_if)
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
    parts = Parts(problem, held, data, made, is_given, random_state, folds, note, tuple(messages), about)
    return parts.evidence(conditions, [], gap)


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
