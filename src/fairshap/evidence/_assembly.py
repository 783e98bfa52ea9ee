"""Evidence from its parts: what a model does on held-out rows, its explanation, and what is said of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fairshap._frames import Table, open_store, show
from fairshap._messages import listing
from fairshap._models.scorer import spread
from fairshap._problem import Problem
from fairshap._typing import Floats
from fairshap.attribution import Explainer, Explanation
from fairshap.attribution._explain import explain_matched
from fairshap.evidence._evidence import Evidence, figures_of
from fairshap.evidence._figures import Figure, Level, auc, average, hide, share
from fairshap.evidence._held import (
    Held,
    Seen,
    name_of,
)
from fairshap.evidence._provenance import Provenance, checksum_of, checksum_of_model, today, versions
from fairshap.evidence._proxies import find_proxies
from fairshap.evidence._sections import Setting, column_risks, mitigate, treat
from fairshap.evidence._tables import LEAST_SHOWN, group_rows, splits_of
from fairshap.evidence._words import answers, limits
from fairshap.exceptions import (
    InputError,
)
from fairshap.matching import MatchPlan
from fairshap.matching._match import match_rows
from fairshap.report import ReportData

# The rows, at most, whose gap to similar people is explained.
_GAP_ROWS = 10_000


class About(dict[str, Any]):
    """What is said about an audit: names, dates, who and why."""

    KNOWN: ClassVar[dict[str, Any]] = {
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

    @classmethod
    def check(cls, given: dict[str, Any]) -> "About":
        """Return what is said, and the defaults of the rest."""
        for name in given:
            if name not in cls.KNOWN:
                raise InputError(
                    f"audit takes no {name!r}; it takes {listing(cls.KNOWN, limit=20)}.", parameter=name
                )
        return cls({**cls.KNOWN, **given})


class Parts:
    """All that evidence is made of."""

    def __init__(
        self,
        problem: Problem,
        held: Held,
        data: ReportData | None,
        model: Any,
        is_given: bool,
        seed: Any,
        folds: Any,
        note: str,
        messages: tuple[str, ...],
        about: dict[str, Any],
    ) -> None:
        if about["favorable"] and held.labels and problem.y.positive is not None:
            held = replace(held, labels=(about["favorable"], *held.labels[1:]))
        self.problem, self.held, self.data, self.model = problem, held, data, model
        self.is_given, self.about = is_given, about
        self.seed = int(seed) if isinstance(seed, (int, np.integer)) else None
        self.splits = splits_of(problem)
        names = [show(problem.table.names[column], 60) for column in problem.columns]
        target = problem.y
        self.setting = Setting(
            target=str(about["target"] or target.name or "target"),
            positive=held.labels[0] if target.positive is not None else "",
            labels=() if target.classes is None else tuple(show(label, 60) for label in target.classes),
            rows=problem.own.n_rows,
            columns=tuple(show(name, 60) for name in problem.own.names),
            sensitive=tuple(names),
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
            messages=messages,
        )

    def evidence(
        self,
        conditions: Sequence[Any],
        models: Sequence[Held],
        gap: tuple[dict[Any, float], int],
        **repaired: Any,
    ) -> Evidence:
        """Return the evidence.

        ``models`` are those before and after a repair, ``gap`` the shares of columns and how many rows they
        are from.
        """
        held, data, setting, about = self.held, self.data, self.setting, self.about
        least = LEAST_SHOWN if about["redact"] else 0
        groupings = tuple(group_rows(split, held, least) for split in self.splits)
        columns = column_risks(data)
        ids = np.arange(len(held.risk)) if about["ids"] is None else about["ids"]
        unit = "probability" if held.is_probability else ("margin" if held.labels else "prediction")
        treatment = treat(held, self.splits[-1], unit, columns, ids)
        risk = {} if data is None else _shares(data.explanation)
        proxies = find_proxies(self.problem, self.seed or 0, risk, *gap)
        performance = perform(held)
        ledger = repaired.get("ledger", "")
        mitigation = None
        if data is not None and not data.is_audit:
            mitigation = mitigate(data, models, self.splits, ledger, repaired.get("added", 0))
        reason = "" if data is None or data.tuning is None else str(data.tuning.reason)
        if least:
            small = {one.attribute: {g.name for g in one.groups if g.rows < least} for one in groupings}
            treatment = replace(treatment, groups=hide(treatment.groups, small[groupings[-1].attribute]))
            if mitigation is not None:
                lines = {name: hide(one, small[name]) for name, one in mitigation.groups.items()}
                mitigation = replace(mitigation, groups=lines)
        figures = figures_of(groupings, setting, performance, treatment, proxies)
        return Evidence(
            about["title"],
            self._provenance(ledger, repaired.get("repaired", "")),
            setting,
            answers(setting, groupings, treatment, proxies, mitigation, reason),
            groupings,
            performance,
            treatment,
            proxies,
            tuple(condition.check(figures) for condition in conditions),
            mitigation,
            limits(setting, groupings, treatment, not self.is_given, least),
            data,
            about["note"],
            about["redact"],
        )

    def _provenance(self, ledger: str, repaired: str) -> Provenance:
        about, model = self.about, self.model
        checksum = about["model_checksum"]
        if checksum is None:
            checksum = checksum_of_model(model) if self.is_given else ""
        return Provenance(
            data=about["data"],
            data_sha256=about["checksum"] or checksum_of(self.problem.own),
            model=name_of(model),
            model_sha256=checksum,
            is_stand_in=not self.is_given,
            ledger_sha256=ledger,
            repaired_sha256=repaired,
            versions=versions(model),
            seed=self.seed,
            command=about["command"],
            date=about["date"] or today(),
            by=about["by"],
            purpose=about["purpose"],
            sign_off=about["sign_off"],
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


def perform(held: Held) -> dict[str, Figure]:
    """Return how good the model is on all rows together."""
    n, weight = len(held.weight), held.weight
    every = np.ones(n)
    if not held.labels:
        target, errors = held.true[:, 0], held.predicted[:, 0] - held.true[:, 0]
        return {
            "mean_absolute_error": average(np.abs(errors), every, weight).figure(),
            "r2": _r2(target, errors, weight),
        }
    found = {"accuracy": share(held.right, every, weight, held.times).figure()}
    if len(held.labels) == 1 and held.times is None:
        folds = [(at, scores[:, 0]) for at, scores in held.folds]
        found["auc"] = auc(held.true[:, 0], folds, every > 0, weight).figure()
    return found


def _r2(target: Floats, errors: Floats, weight: Floats) -> Figure:
    every = np.ones(len(target))
    mean = average(target, every, weight).value
    squared, total = average(errors**2, every, weight), average((target - mean) ** 2, every, weight)
    value = 1 - squared.value / total.value
    moves = -(squared.moves - (1 - value) * total.moves) / total.value
    return Level(value, squared.size, moves, is_share=False).figure()
