"""Single rows: those with the largest risk, and the ledger."""

from typing import Any

import numpy as np

from fairshap._ties import steps
from fairshap._typing import Ints
from fairshap.report._findings import Findings
from fairshap.report._text import decimal, show

# Rows that are shown side by side with their reference, and columns of each.
_ROWS, _COLUMNS = 10, 16

# Lines of the ledger in the page, and those that are there without a script.
_LINES, _PLAIN = 20_000, 100


def riskiest_rows(findings: Findings, redact: bool) -> list[dict[str, Any]]:
    """Return the rows with the largest risk, each beside its reference, with its edits.

    Only the columns that differ are listed, the largest attributions first. Redacted, no cell is.
    """
    certificate, best = findings.certificate, findings.asked.best
    risk = np.where(best >= 0, certificate.dr_before, -np.inf)
    order = np.argsort(-steps(risk, findings.asked.risk.unit), kind="stable")[:_ROWS]
    rows = order[np.isfinite(risk[order])]
    return [_card(findings, int(row), redact) for row in rows]


def _card(findings: Findings, row: int, redact: bool) -> dict[str, Any]:
    asked, certificate, edits = findings.asked, findings.certificate, findings.edits
    own, players = asked.risk.setting.own, asked.attributions.switched
    reference = int(asked.best[row])
    pair = np.array([row, reference])
    differ = own.differ(pair[:1], pair[1:])[0]
    changed = {edits.column[k]: edits.new[k] for k in np.flatnonzero(edits.row == row)}
    sensitive = {column for column in asked.risk.setting.columns if column < len(own.names)}
    phi = np.nan_to_num(asked.attributions.values[row, players.of_column])
    size = steps(np.abs(phi), asked.attributions.unit)
    at = [int(j) for j in np.argsort(-size, kind="stable") if differ[j]]
    # The attribute comes first: it says who is compared with whom.
    at.sort(key=lambda j: j not in sensitive)
    lines = []
    for j in at[:_COLUMNS]:
        mine, other = ("", "") if redact else (show(value) for value in own.store.values(j, pair))
        is_edited = own.names[j] in changed
        lines.append(
            {
                "column": show(own.names[j], 60),
                "mine": mine,
                "other": other,
                "after": "" if redact else (show(changed[own.names[j]]) if is_edited else mine),
                "phi": "sensitive" if j in sensitive else decimal(float(phi[j])),
                "edited": is_edited,
            }
        )
    return {
        "row": row,
        "label": "" if redact else _label(own.store.labels(pair[:1])[0], row),
        "reference": reference,
        "before": decimal(float(certificate.dr_before[row])),
        "after": decimal(float(certificate.dr_after[row])),
        "distance": f"{certificate.distance[row]:.2f}",
        "lines": lines,
        "hidden": len(at) - len(lines),
        "equal": len(own.names) - len(at),
    }


def _label(label: Any, row: int) -> str:
    """Return the row's index label where it says more than its position."""
    return "" if label == row else show(label, 60)


def ledger_data(findings: Findings, redact: bool) -> dict[str, Any]:
    """Return the ledger as compact lists for the script: names and values once, lines as their positions.

    A line is row, label, column, old, new, phi, reference. Of a very long ledger the largest
    attributions are taken. Redacted, there are no labels and no values.
    """
    edits = findings.edits
    chosen = _largest(findings)
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    lines = []
    for k in chosen.tolist():
        row = int(edits.row[k])
        label, old, new = (
            ("", "", "") if redact else (_label(edits.index[k], row), show(edits.old[k]), show(edits.new[k]))
        )
        lines.append(
            [
                row,
                number(label),
                number(show(edits.column[k], 60)),
                number(old),
                number(new),
                round(float(np.nan_to_num(edits.phi[k])), 5),
                int(edits.reference[k]),
            ]
        )
    return {"texts": list(texts), "lines": lines, "total": len(edits), "redacted": redact}


def plain_ledger(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the first lines of the ledger for readers without a script."""
    names = ("row", "label", "column", "old", "new", "phi", "reference")
    texts = data["texts"]
    return [
        {
            name: texts[value] if name in ("label", "column", "old", "new") else value
            for name, value in zip(names, line, strict=True)
        }
        for line in data["lines"][:_PLAIN]
    ]


def _largest(findings: Findings) -> Ints:
    """Return the edits from the largest attribution on, as many as have room."""
    phi = np.nan_to_num(findings.edits.phi)
    return np.argsort(-steps(phi, findings.asked.attributions.unit), kind="stable")[:_LINES]
