"""Cells: which columns carry the risk, what was replaced by what, the riskiest rows, and the ledger."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from fairshap._frames import show
from fairshap._problem.target import reaches, steps
from fairshap._typing import Sides
from fairshap.report._data import ReportData

# Columns of the table, flows, rows beside their reference and columns of each that are listed.
_COLUMNS, _FLOWS, _ROWS, _COLUMNS_OF_ROW = 30, 30, 10, 16

# Lines of the ledger in the page.
_LINES = 20_000


def column_lines(data: ReportData) -> tuple[list[dict[str, Any]], int]:
    """Return a line for each feature that has any weight, the heaviest first, and how many are not listed."""
    explanation = data.explanation
    values, features, side = explanation.values, explanation.features, data.problem.groups.side
    size = explanation.mean_sizes()
    means = [pd.DataFrame(values[side == group]).mean() for group in (0, 1)]
    n_rows = reaches(values, data.threshold, explanation.unit).sum(axis=0)
    feature_of = dict(zip(features.columns, features.of_column.tolist(), strict=True))
    n_edits = Counter(feature_of[column] for column in data.edits.column)
    order = [int(k) for k in np.argsort(-size, kind="stable")[:_COLUMNS] if size[k] > 0]
    lines = [
        {
            "name": show(explanation.feature_names[k], 60),
            "size": float(size[k]),
            "share": float(size[k] / size.max()),
            "means": [float(mean[k]) for mean in means],
            "rows": int(n_rows[k]),
            "edits": n_edits[k],
        }
        for k in order
    ]
    return lines, len(size) - len(lines)


def flows(data: ReportData, redact: bool) -> dict[str, Any]:
    """Return what was replaced by what, the largest flows first, and how many more there are."""
    edits, own = data.edits, data.problem.own
    at: dict[Hashable, list[int]] = {}
    for k, column in enumerate(edits.column):
        at.setdefault(column, []).append(k)
    lines: list[dict[str, Any]] = []
    for column, places in at.items():
        name = show(column, 60)
        old, new = ([values[k] for k in places] for values in (edits.old, edits.new))
        side = data.problem.groups.side[edits.row[places]]
        if redact:
            lines.append(_flow(name, side))
        elif own.is_numeric(own.position(column)) and len({show(value) for value in (*old, *new)}) > 2:
            lines += _number_flows(name, old, new, side)
        else:
            pairs = np.array([f"{show(a, 80)}\0{show(b, 80)}" for a, b in zip(old, new, strict=True)])
            lines += [_flow(name, side[pairs == pair], *pair.split("\0")) for pair in dict.fromkeys(pairs)]
    lines.sort(key=lambda line: -line["rows"])
    shown = lines if redact else lines[:_FLOWS]
    rest = lines[len(shown) :]
    return {"lines": shown, "more": len(rest), "more_rows": sum(line["rows"] for line in rest)}


def _flow(column: str, side: Sides, old: str = "", new: str = "", note: str = "") -> dict[str, Any]:
    """Return a flow with its rows, and how many of them are unprivileged and privileged."""
    sides = [int(np.sum(side == 0)), int(np.sum(side == 1))]
    return {"column": column, "old": old, "new": new, "rows": len(side), "sides": sides, "note": note}


def _number_flows(name: str, old: list[Any], new: list[Any], side: Sides) -> list[dict[str, Any]]:
    """Return how many numbers became larger or smaller, with the medians of either."""
    pairs = pd.DataFrame({"old": old, "new": new})
    present = pairs.notna().all(axis=1)
    lines = []
    for word, chosen in (("higher", pairs["new"] > pairs["old"]), ("lower", pairs["new"] < pairs["old"])):
        part = pairs[present & chosen]
        if len(part):
            # A lower median is a value that occurs, also of dates.
            a, b = (show(part[side].sort_values().iloc[(len(part) - 1) // 2]) for side in pairs)
            lines.append(_flow(name, side[present & chosen], a, b, f"{word}; the values are medians"))
    if not present.all():
        lines.append(_flow(name, side[~present], note="from or to a missing value"))
    return lines


def riskiest_rows(data: ReportData, redact: bool) -> list[dict[str, Any]]:
    """Return the rows with the largest risk, each beside its reference, with its edits."""
    best = data.explanation.best
    risk = np.where(best >= 0, data.certificate.before, -np.inf)
    order = np.argsort(-steps(risk, data.explanation.unit), kind="stable")[:_ROWS]
    return [_compare(data, int(row), redact) for row in order if np.isfinite(risk[row])]


def _compare(data: ReportData, row: int, redact: bool) -> dict[str, Any]:
    """Return a row beside its reference: the columns that differ, the largest Shapley values first."""
    explanation, certificate, edits, own = data.explanation, data.certificate, data.edits, data.problem.own
    reference = int(explanation.best[row])
    pair = np.array([row, reference])
    differ = own.differ(pair[:1], pair[1:])[0]
    changed = {edits.column[k]: edits.new[k] for k in np.flatnonzero(edits.row == row)}
    phi = np.nan_to_num(explanation.values[row, explanation.features.of_column])
    size = steps(np.abs(phi), explanation.unit)
    at = [int(j) for j in np.argsort(-size, kind="stable") if differ[j]]
    # The attribute comes first: it says who is compared with whom.
    at.sort(key=lambda j: j not in data.problem.columns)
    lines = []
    for j in at[:_COLUMNS_OF_ROW]:
        name, is_sensitive = own.names[j], j in data.problem.columns
        line = {"column": show(name, 60), "edited": name in changed}
        line["phi"] = None if is_sensitive else float(phi[j])
        if not redact:
            line["own"], line["reference"] = (show(value) for value in own.store.values(j, pair))
            line["new"] = show(changed[name]) if name in changed else ""
        lines.append(line)
    return {
        "row": row,
        "label": "" if redact else _label(own.store.labels(pair[:1])[0], row),
        "reference": reference,
        "before": float(certificate.before[row]),
        "after": float(certificate.after[row]),
        "distance": float(certificate.distance[row]),
        "lines": lines,
        "hidden": len(at) - len(lines),
        "equal": len(own.names) - len(at),
    }


def _label(label: Any, row: int) -> str:
    """Return the row's index label where it says more than its position."""
    return "" if label == row else show(label, 60)


def ledger(data: ReportData, redact: bool) -> dict[str, Any]:
    """Return the ledger as compact lists for the script: texts once, lines as their positions.

    A line is row, label, column, old, new, phi, reference, the largest Shapley values first.
    """
    edits = data.edits
    phi = np.nan_to_num(edits.phi)
    texts: dict[str, int] = {}
    lines = []
    for k in np.argsort(-steps(phi, data.explanation.unit), kind="stable")[:_LINES].tolist():
        row = int(edits.row[k])
        said = ["", show(edits.column[k], 60), "", ""]
        if not redact:
            said = [_label(edits.index[k], row), said[1], show(edits.old[k]), show(edits.new[k])]
        places = [texts.setdefault(text, len(texts)) for text in said]
        lines.append([row, *places, round(float(phi[k]), 5), int(edits.reference[k])])
    return {"texts": list(texts), "lines": lines, "total": len(edits)}
