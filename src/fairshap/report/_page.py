"""From findings to the page."""

import base64
import hashlib
from importlib import resources
from typing import Any

from fairshap._ties import exceeds
from fairshap.exceptions import MissingExtraError
from fairshap.report import _columns, _reproduce, _rows, _setting
from fairshap.report._findings import Comparison, Findings, Tuned
from fairshap.report._report import Report, draw_comparison, draw_risk_change
from fairshap.report._svg import figure
from fairshap.report._text import count, decimal, percent, show
from fairshap.report._thresholds import Sweep

# Candidates of a search that are listed.
_CANDIDATES = 15


def make_report(
    findings: Findings,
    comparison: Comparison | None = None,
    *,
    not_compared: str = "",
    tuning: Tuned | None = None,
    title: str = "Fairness report",
    command: str | None = None,
    checksum: str | None = None,
    note: str | None = None,
    redact: bool = False,
) -> Report:
    """Return the report of a repair.

    Parameters
    ----------
    findings : Findings
        What was found and changed.
    comparison : Comparison, optional
        The models before and after on held-out rows.
    not_compared : str
        Why there is no comparison.
    tuning : Tuned, optional
        The search that the repair came from.
    title : str
        The page's title.
    command : str, optional
        What reproduces the result; by default the Python call.
    checksum : str, optional
        The checksum of the data's file; by default one of the table's cells.
    note : str, optional
        What to say at the top of the page.
    redact : bool, default=False
        Whether the values and labels of single rows are left out.
    """
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("the report", "jinja2", "report") from error
    sweep = Sweep.of(findings)
    style, script = _read("report.css"), _read("report.js")
    ledger = _rows.ledger_data(findings, redact)
    context = {
        "title": show(title),
        "style": style,
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "note": note,
        "redact": redact,
        "audit": findings.is_audit,
        "verdict": _setting.verdict(findings, comparison),
        "cards": _setting.cards(findings, comparison),
        "attribute": _setting.attribute_name(findings.asked.risk.setting),
        "sides": _setting.side_names(findings.asked.risk.setting),
        "facts": _setting.setting_facts(findings),
        "sizes": _setting.group_sizes(findings),
        "not_compared": not_compared,
        "threshold": f"{findings.threshold:.4g}",
        "sweep": sweep,
        "sweep_data": sweep.data(),
        "cards_of_rows": _rows.riskiest_rows(findings, redact),
        "ledger": ledger,
        "plain_ledger": _rows.plain_ledger(ledger),
        "decimal": decimal,
        "percent": percent,
        "count": count,
        **_fairness(comparison),
        **_columns_of(findings, redact),
        **_matching(findings),
        **_risks(findings),
        **_thresholds(sweep),
        **_tuning(tuning),
        **_reproducing(findings, command, checksum),
    }
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    html = environment.from_string(_read("report.html")).render(context)
    return Report(html, findings, comparison, sweep, tuning)


def _read(name: str) -> str:
    return resources.files("fairshap.report").joinpath("page", name).read_text(encoding="utf-8")


def _fairness(comparison: Comparison | None) -> dict[str, Any]:
    if comparison is None:
        return {"fairness": None}
    drawn = figure(
        "fairness",
        "DR, DP, EO and PQP with 95 % intervals; the numbers are in the table.",
        lambda drawn: draw_comparison(comparison, drawn),
    )
    lines = _setting.fairness_lines(comparison)
    return {
        "fairness": lines,
        "fairness_how": comparison.how,
        "fairness_figure": drawn,
        "noise": _setting.noise_text(comparison),
        "rates": _setting.group_rates(comparison),
    }


def _columns_of(findings: Findings, redact: bool) -> dict[str, Any]:
    lines, hidden = _columns.column_lines(findings)
    drawn = None
    if lines:
        drawn = figure(
            "columns",
            "Attributions of the heaviest columns, one dot a row, by group; the means are in the table.",
            lambda drawn: _columns.plot_columns(findings, drawn),
        )
    context: dict[str, Any] = {"columns": lines, "columns_hidden": hidden, "columns_figure": drawn}
    if redact:
        return context | {"flows": _columns.edits_by_column(findings), "more_flows": 0, "more_rows": 0}
    shown, more, rows = _columns.shown_flows(_columns.flows(findings))
    return context | {"flows": shown, "more_flows": more, "more_rows": rows}


def _matching(findings: Findings) -> dict[str, Any]:
    plan = findings.asked.matches
    if plan.basis is None or not len(plan):
        return {"matching": None}
    found = plan.diagnostics()
    drawn = figure(
        "matching",
        "Distances of matched and of random pairs, and differences between the groups by column before and "
        "after matching; the means are in the table.",
        found.plot,
    )
    data = found.summary()
    lines = [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]
    used = found.reuse[found.reuse > 0]
    reuse = {"rows": len(used), "mean": float(used.mean()), "most": int(used.max())}
    return {"matching": found, "matching_lines": lines, "matching_figure": drawn, "reuse": reuse}


def _risks(findings: Findings) -> dict[str, Any]:
    certificate = findings.certificate
    drawn = figure(
        "risks",
        "How many rows have which risk; the figures are in the text.",
        lambda drawn: draw_risk_change(findings, drawn),
    )
    edited = certificate.edited
    risen = int(exceeds(certificate.dr_after, certificate.dr_before, findings.asked.risk.unit)[edited].sum())
    parts = {
        name: (float(before.mean()), float(after.mean())) if len(before) else None
        for name, before, after in (
            ("all", certificate.dr_before, certificate.dr_after),
            ("edited", certificate.dr_before[edited], certificate.dr_after[edited]),
        )
    }
    return {"risks_figure": drawn, "risks": parts, "risen": risen, "n_edited": int(edited.sum())}


def _thresholds(sweep: Sweep) -> dict[str, Any]:
    drawn = figure(
        "thresholds",
        "Mean risk against the number of cells that would change; the numbers are in the table.",
        sweep.plot,
    )
    lines = [
        {"threshold": f"{t:.4g}", "cells": f"{c:,}", "rows": f"{r:,}", "risk": decimal(v)}
        for t, c, r, v in zip(
            sweep.thresholds.tolist(),
            sweep.cells.tolist(),
            sweep.rows.tolist(),
            sweep.risk.tolist(),
            strict=True,
        )
    ]
    return {"threshold_lines": lines, "thresholds_figure": drawn}


def _tuning(tuning: Tuned | None) -> dict[str, Any]:
    if tuning is None:
        return {"tuning": None}
    drawn = figure(
        "trade-off",
        "Accuracy against fairness of all that was tried, with the front; the numbers are in the table.",
        tuning.plot,
    )
    frame = tuning.frame()
    lines = frame.head(_CANDIDATES).to_dict("records")
    hidden = len(frame) - len(lines)
    return {"tuning": tuning, "tuning_figure": drawn, "candidates": lines, "candidates_hidden": hidden}


def _reproducing(findings: Findings, command: str | None, checksum: str | None) -> dict[str, Any]:
    own = findings.asked.risk.setting.own
    return {
        "command": command or findings.call,
        "versions": _reproduce.versions(findings.asked.model),
        "seed": "none was given" if findings.random_state is None else show(findings.random_state),
        "checksum": checksum or f"{_reproduce.table_checksum(own)} (SHA-256 of the table's names and cells)",
    }
