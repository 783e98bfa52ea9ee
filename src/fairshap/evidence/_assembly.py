"""Evidence from its parts: what a model does on held-out rows, its explanation, and what is said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairshap._crossval.folds import Folds
from fairshap._frames import Table, open_store, show
from fairshap._messages import listing
from fairshap._models.scorer import spread
from fairshap._problem import Problem
from fairshap.attribution import Explainer, Explanation
from fairshap.attribution._explain import explain_matched
from fairshap.evidence._evidence import Evidence, figures_of
from fairshap.evidence._figures import hide
from fairshap.evidence._gates import Condition
from fairshap.evidence._held import Held, Seen
from fairshap.evidence._provenance import Provenance, checksum_of
from fairshap.evidence._proxies import Proxies, find_proxies
from fairshap.evidence._sections import Mitigation, Setting, Treatment, column_risks, mitigate, treat
from fairshap.evidence._tables import LEAST_SHOWN, Split, group_rows, perform, splits_of
from fairshap.evidence._words import answers, limits
from fairshap.exceptions import InputError
from fairshap.matching import MatchPlan
from fairshap.matching._match import match_rows
from fairshap.report import ReportData

# The rows, at most, whose gap to similar people is explained.
_GAP_ROWS = 10_000

# What can be said about an audit: names, dates, who and why.
_ABOUT: dict[str, Any] = {
    "title": "Fairness audit",
    "by": "",
    "purpose": "",
    "sign_off": "",
    "date": None,
    "command": "",
    "data": "",
    "target": None,
    "favorable": None,
    "checksum": None,
    "model_checksum": None,
    "note": None,
    "ids": None,
    "redact": False,
}


def read_about(given: dict[str, Any]) -> dict[str, Any]:
    """Return what is said about an audit, and the defaults of the rest."""
    for name in given:
        if name not in _ABOUT:
            known = listing(_ABOUT, limit=20)
            raise InputError(f"audit takes no {name!r}; it takes {known}.", parameter=name)
    return {**_ABOUT, **given}


def evidence_of_rows(
    problem: Problem,
    held: Held,
    data: ReportData | None,
    provenance: Provenance,
    about: Mapping[str, Any],
    conditions: Sequence[Condition],
    gap: tuple[dict[Any, float], int],
    *,
    folds: Folds | None,
    note: str = "",
    messages: Sequence[str] = (),
    models: Sequence[Held] = (),
    added: int = 0,
) -> Evidence:
    """Return the evidence of a model that was asked about rows.

    ``gap`` has the shares of columns and how many rows they are from; ``note`` says how the privileged group
    was found. ``models`` are those before and after a repair, and ``added`` the rows that it added.
    """
    target = problem.y
    if about["favorable"] and held.labels and target.positive is not None:
        held = replace(held, labels=(about["favorable"], *held.labels[1:]))
    setting = Setting(
        target=str(about["target"] or target.name or "target"),
        positive=held.labels[0] if target.positive is not None else "",
        labels=() if target.classes is None else tuple(show(label, 60) for label in target.classes),
        rows=problem.own.n_rows,
        columns=tuple(show(name, 60) for name in problem.own.names),
        sensitive=tuple(show(problem.table.names[column], 60) for column in problem.columns),
        privileged=problem.side_names[1],
        privileged_note=note,
        # The measures before and after a repair count each row once, whatever its weight.
        is_weighted=problem.sample_weight is not None and bool(np.ptp(held.weight) > 0),
        # A repair explains a model that sees an attribute beside the table; those that are judged do not.
        # And a model may take the column and leave it out in a step of its own.
        sees_attribute=data is not None and bool(np.nansum(held.risk) > 0),
        how=held.how,
        folds=None if folds is None else folds.n_folds,
        repeats=None if folds is None else folds.n_repeats,
        messages=tuple(messages),
    )
    splits = splits_of(problem)
    unit = "probability" if held.is_probability else ("margin" if held.labels else "prediction")
    ids = np.arange(len(held.risk)) if about["ids"] is None else about["ids"]
    risk = {} if data is None else _shares(data.explanation)
    mitigation = None
    if data is not None and not data.is_audit:
        mitigation = mitigate(data, models, splits, provenance.ledger_sha256, added)
    return compose(
        setting,
        splits,
        held,
        treat(held, splits[-1], unit, column_risks(data), ids),
        mitigation,
        replace(provenance, data_sha256=about["checksum"] or checksum_of(problem.own)),
        about,
        conditions,
        find_proxies(problem, provenance.seed or 0, risk, *gap),
        data,
    )


def compose(
    setting: Setting,
    splits: Sequence[Split],
    held: Held,
    treatment: Treatment,
    mitigation: Mitigation | None,
    provenance: Provenance,
    about: Mapping[str, Any],
    conditions: Sequence[Condition],
    proxies: Proxies | None = None,
    data: ReportData | None = None,
    not_measured: Sequence[str] = (),
) -> Evidence:
    """Return the evidence of its sections; redacted, without the figures of groups of a few rows.

    ``not_measured`` says what sums cannot tell, among it the proxies.
    """
    least = LEAST_SHOWN if about["redact"] else 0
    groupings = tuple(group_rows(split, held, least) for split in splits)
    performance = perform(held)
    if least:
        small = {one.attribute: {g.name for g in one.groups if g.rows < least} for one in groupings}
        treatment = replace(treatment, groups=hide(treatment.groups, small[groupings[-1].attribute]))
        if mitigation is not None:
            lines = {name: hide(one, small[name]) for name, one in mitigation.groups.items()}
            mitigation = replace(mitigation, groups=lines)
    figures = figures_of(groupings, setting, performance, treatment, proxies)
    if not_measured:
        del figures["proxy_auc"]
    reason = "" if data is None or data.tuning is None else str(data.tuning.reason)
    return Evidence(
        about["title"],
        provenance.said(about),
        setting,
        answers(setting, groupings, treatment, proxies, mitigation, reason),
        groupings,
        performance,
        treatment,
        proxies,
        tuple(condition.check(figures) for condition in conditions),
        mitigation,
        (*limits(setting, groupings, treatment, provenance.is_stand_in, least), *not_measured),
        data,
        about["note"],
        about["redact"],
    )


def _shares(explanation: Explanation) -> dict[Any, float]:
    """Return each column's share of the Shapley values, by size."""
    size, features = explanation.mean_sizes(), explanation.features
    total = float(size.sum())
    of = zip(features.columns, features.of_column.tolist(), strict=True)
    return {name: float(size[k] / total) if total else 0.0 for name, k in of}


def explain_gap(
    model: Any, seen: Seen, plan: MatchPlan | None, run: dict[str, Any]
) -> tuple[dict[Any, float], int]:
    """Return each column's share of the gap in scores between matched people, and the rows it is taken from.

    A model that does not see the attribute has such a gap too. Of several labels there is no one score.
    """
    problem = seen.problem
    if problem.y.classes is not None and len(problem.y.classes) != 2:
        return {}, 0
    plan = match_rows(problem, "nearest", **run) if plan is None else plan
    # A share of all columns is as certain from some rows.
    some = np.unique(plan.row)
    some = some[spread(len(some), _GAP_ROWS)]
    plan = plan.of_rows(np.isin(plan.row, some))
    if not seen.sees:
        narrow = Table.of(open_store(problem.table.store.compose(list(seen.columns))))
        problem = replace(problem, own=narrow, table=narrow, columns=(), added=())
    explainer = Explainer(game="gap")
    options = explainer.options(None, run["random_state"], run["n_jobs"], run["verbose"])
    found = explain_matched(model, problem, plan, explainer.players(problem.own), options)
    return _shares(found), len(some)
