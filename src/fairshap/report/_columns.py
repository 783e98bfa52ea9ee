"""Which columns carry the risk, and what was replaced by what."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from fairshap._plotting import draw_columns
from fairshap._ties import exceeds, reaches
from fairshap.report._findings import Findings
from fairshap.report._setting import side_names
from fairshap.report._text import decimal, show

# Columns of the figure and of the table, and the flows that are listed.
_DRAWN, _LISTED, _FLOWS = 12, 30, 30


def column_lines(findings: Findings) -> tuple[list[dict[str, Any]], int]:
    """Return a line for each player that has any attribution, the heaviest first, and how many have none."""
    asked = findings.asked
    phi, side = asked.attributions.values, asked.risk.setting.groups.side
    enough = reaches(phi, findings.threshold, asked.attributions.unit)
    size = _mean_size(findings)
    of_player = dict(
        zip(asked.attributions.switched.columns, asked.attributions.switched.of_column.tolist(), strict=True)
    )
    edits = Counter(of_player[column] for column in findings.edits.column)
    order = np.argsort(-size, kind="stable")
    lines = [
        {
            "name": show(asked.attributions.players[k], 60),
            "size": decimal(size[k]),
            "share": size[k] / size.max(),
            "means": [_mean(phi[side == group, k]) for group in (0, 1)],
            "rows": f"{np.count_nonzero(enough[:, k]):,}",
            "edits": f"{edits[int(k)]:,}",
        }
        for k in order
        if size[k] > 0
    ]
    return lines[:_LISTED], len(size) - len(lines[:_LISTED])


def plot_columns(findings: Findings, ax: Any = None) -> Any:
    """Draw the attributions of the heaviest columns, split by group."""
    asked, size = findings.asked, _mean_size(findings)
    order = [k for k in np.argsort(-size, kind="stable")[:_DRAWN] if size[k] > 0]
    names = [str(asked.attributions.players[k]) for k in order]
    setting = asked.risk.setting
    phi = asked.attributions.values[:, order]
    return draw_columns(names, phi, setting.groups.side, side_names(setting), findings.threshold, ax)


def flows(findings: Findings) -> list[dict[str, Any]]:
    """Return what was replaced by what: the pairs of categories, and numbers by their direction."""
    edits, own = findings.edits, findings.asked.risk.setting.own
    lines: list[dict[str, Any]] = []
    columns = pd.Series(edits.column, dtype=object)
    for name in dict.fromkeys(edits.column):
        at = np.flatnonzero([column == name for column in columns])
        old, new = ([values[k] for k in at] for values in (edits.old, edits.new))
        if own.is_numeric(own.position(name)) and len({show(value) for value in (*old, *new)}) > 2:
            lines += _number_flows(show(name, 60), old, new)
            continue
        pairs = Counter((show(a, 80), show(b, 80)) for a, b in zip(old, new, strict=True))
        lines += [
            {"column": show(name, 60), "old": a, "new": b, "rows": n, "note": ""}
            for (a, b), n in pairs.items()
        ]
    lines.sort(key=lambda line: -line["rows"])
    most = max((line["rows"] for line in lines), default=1)
    for line in lines:
        line["share"] = line["rows"] / most
    return lines


def edits_by_column(findings: Findings) -> list[dict[str, Any]]:
    """Return how many cells of each column were replaced, without their values."""
    counts = Counter(show(column, 60) for column in findings.edits.column).most_common()
    most = counts[0][1] if counts else 1
    return [{"column": name, "rows": n, "share": n / most} for name, n in counts]


def shown_flows(lines: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int, int]:
    """Return the largest flows, how many more there are, and in how many rows."""
    rest = lines[_FLOWS:]
    return lines[:_FLOWS], len(rest), sum(line["rows"] for line in rest)


def _number_flows(name: str, old: list[Any], new: list[Any]) -> list[dict[str, Any]]:
    """Return how many numbers became larger or smaller, with the medians of either."""
    pairs = pd.DataFrame({"old": old, "new": new})
    present = pairs.notna().all(axis=1)
    lines = []
    for word, chosen in (("higher", pairs["new"] > pairs["old"]), ("lower", pairs["new"] < pairs["old"])):
        part = pairs[present & chosen]
        if len(part):
            # A lower median is a value that occurs, also of dates.
            old_median, new_median = (part[side].sort_values().iloc[(len(part) - 1) // 2] for side in pairs)
            lines.append(
                {
                    "column": name,
                    "old": show(old_median),
                    "new": show(new_median),
                    "rows": len(part),
                    "note": f"{word}; the values are medians",
                }
            )
    if (~present).any():
        n = int((~present).sum())
        note = "from or to a missing value"
        lines.append({"column": name, "old": "", "new": "", "rows": n, "note": note})
    return lines


def _mean_size(findings: Findings) -> Any:
    """Return the mean absolute attribution of each player; one that is mere rounding is 0."""
    phi, unit = findings.asked.attributions.values, findings.asked.attributions.unit
    known = ~np.isnan(phi)
    size = np.where(known, np.abs(phi), 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(exceeds(size, 0.0, unit), size, 0.0)


def _mean(values: Any) -> str:
    known = values[~np.isnan(values)]
    return decimal(float(known.mean())) if len(known) else "\u2013"
