"""Forms of evidence beside the page: a model card in Markdown, a PDF, and the tables of Local Law 144."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairshap.evidence._tables import Grouping, QuantityTable
from fairshap.evidence._words import FOUR_FIFTHS, percent
from fairshap.exceptions import FileError
from fairshap.report._page import amount

# Browsers that print a page, the first that is found.
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_SECONDS = 120


def find_browser() -> str | None:
    """Return a browser that prints pages, None if there is none."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def print_pdf(html: str) -> bytes:
    """Return a page as PDF, printed by a browser without a window."""
    browser = find_browser()
    if browser is None:
        raise FileError(
            "a PDF is printed by Chromium, Chrome or Edge, and none was found on the PATH; write .html "
            "and print it from any browser.",
            parameter="report",
        )
    with tempfile.TemporaryDirectory(prefix="fairshap-") as folder:
        page, out = Path(folder, "page.html"), Path(folder, "page.pdf")
        page.write_text(html, encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--no-sandbox", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={out}", page.as_uri()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)  # noqa: S603
            return out.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise FileError(
                f"{browser} did not print the PDF ({type(error).__name__}); write .html and print it from "
                "any browser.",
                parameter="report",
            ) from error


def to_ll144(groupings: Sequence[Grouping], *, is_weighted: bool) -> dict[str, pd.DataFrame]:
    """Return a table for each attribute, and for several together, by a name that can be a file's."""
    frames = []
    for one in groupings:
        lines = []
        # A tool that puts people into several classes needs the rates of each class.
        for table in (one.quantity,) if one.quantity is not None else one.labels:
            for k, group in enumerate(one.groups):
                line: dict[str, Any] = {one.attribute: group.name, "applicants": group.rows}
                if not isinstance(table, QuantityTable) and len(one.labels) > 1:
                    line["label"] = table.label
                measured: Any = table.lines[k] if isinstance(table, QuantityTable) else table.outcomes[k]
                if not isinstance(table, QuantityTable):
                    rate, is_best = measured.selection_rate.value, group.name == table.most_favored
                    if not is_weighted:
                        # A weighted rate is not that of the people who are counted.
                        line["selected"] = int(np.rint(rate * group.rows)) if np.isfinite(rate) else None
                    line |= {
                        "selection_rate": rate,
                        "impact_ratio": 1.0 if is_best else measured.impact_ratio.value,
                    }
                is_top = group.name == table.highest_scoring
                line |= {
                    "scoring_rate": measured.scoring_rate.value,
                    "scoring_impact_ratio": 1.0 if is_top else measured.scoring_impact_ratio.value,
                    "under_2_percent": group.is_small,
                }
                lines.append(line)
        lines.append({one.attribute: "unknown", "applicants": one.unknown_rows})
        frames.append(pd.DataFrame(lines))
    return dict(zip(ll144_names([one.attribute for one in groupings]), frames, strict=True))


def ll144_names(attributes: Iterable[str]) -> list[str]:
    """Return the names of the tables of attributes, each of which can be a file's."""
    found: list[str] = []
    for attribute in attributes:
        name = re.sub(r"[^\w-]+", "-", attribute).strip("-") or "attribute"
        found.append(f"{name}-{len(found)}" if name in found else name)
    return found


# ---- the model card


def to_card(evidence: dict[str, Any]) -> str:
    """Return evidence as a model card in Markdown, with the sections of skops' cards."""
    setting, provenance, answers = evidence["setting"], evidence["provenance"], evidence["answers"]
    flips = evidence["treatment"]["flip_rate"]
    stand_in = " (a stand-in that was trained here, not a model in use)" if provenance["is_stand_in"] else ""
    favorable = f", favorable label {setting['positive']}" if setting["positive"] else ""
    parts = [
        f"# {_text(evidence['title'])}",
        _text(answers["what_was_unfair"]),
        "## Model description",
        f"- Model: {_text(provenance['model'])}{stand_in}\n"
        f"- Target: {_text(setting['target'] + favorable)}\n"
        f"- Sensitive attribute: {_text(', '.join(setting['sensitive']))}\n"
        f"- Rows: {setting['rows']:,}. {setting['how']}",
        "### Intended uses and limitations",
        _text(provenance["purpose"]) or "_The purpose was not given._",
        "\n".join(f"- {_text(line)}" for line in evidence["limits"]),
        "## Evaluation results",
        _table(
            ("measure", "value"),
            [(name.replace("_", " "), _figure(one)) for name, one in evidence["performance"].items()],
        ),
        "### Groups, outcomes and errors",
        *(part for one in evidence["groupings"] for part in _grouping(one)),
        FOUR_FIFTHS if setting["labels"] else "",
        "### Treatment",
        "- Discriminative risk (DR), the mean change when only the attribute changes: "
        f"{_figure(evidence['treatment']['risk'])}"
        + (
            ""
            if flips["value"] is None
            else f"\n- Decisions that flip when it changes: {_figure(flips, True)}"
        ),
        _text(answers["through_which_columns"]),
        *_mitigation(evidence["mitigation"], answers),
        *_gates(evidence["gates"]),
        "## Documents that ask for such evidence",
        evidence["mapping"]["note"],
        _table(
            ("document", "asks for", "section"),
            [
                (one["document"], one["asks_for"], one["section"])
                for one in evidence["mapping"]["requirements"]
            ],
        ),
        "## Model card authors",
        f"By: {_text(provenance['by']) or '_not given_'}  \nDate: {_text(provenance['date'])}  \nSign-off: "
        f"{_text(provenance['sign_off']) or '________________'}",
        "## How to reproduce",
        _fenced(provenance["command"] or "fairshap.audit(...)"),
        "\n".join(
            [f"- SHA-256 of the {name}: `{provenance[key]}`" for name, key in _HASHES if provenance[key]]
            + ["- " + ", ".join(f"{name} {version}" for name, version in provenance["versions"].items())]
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_HASHES = (
    ("data", "data_sha256"),
    ("model", "model_sha256"),
    ("ledger", "ledger_sha256"),
    ("repaired table", "repaired_sha256"),
)


def _text(text: str) -> str:
    """Return a text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>#|&~])", r"\\\1", " ".join(str(text).split()))


def _fenced(text: str) -> str:
    """Return a text as a block of code, which no line of its own ends."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _figure(figure: dict[str, Any], is_share: bool = False) -> str:
    """Return a figure with its interval."""
    if figure["value"] is None:
        return "not known"
    write = percent if is_share else amount
    said = write(figure["value"])
    if figure["low"] is None or figure["high"] is None:
        return said
    return f"{said} ({write(figure['low'])} to {write(figure['high'])})"


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    head = list(header)
    lines = [head, ["---"] * len(head), *([_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _grouping(one: dict[str, Any]) -> list[str]:
    """Return the tables of the groups by one attribute."""
    parts = [f"**By {_text(one['attribute'])}** ({one['unknown_rows']:,} rows of unknown group)"]
    marks = {
        g["name"]: " (few)" if g["is_few"] else " (under 2 %)" if g["is_small"] else "" for g in one["groups"]
    }
    rows = {group["name"]: group["rows"] for group in one["groups"]}
    for table in one["labels"]:
        lines = [
            (
                line["group"] + marks[line["group"]],
                f"{rows[line['group']]:,}",
                _figure(line["base_rate"], True),
                _figure(line["selection_rate"], True),
                "most favored" if line["group"] == table["most_favored"] else _figure(line["impact_ratio"]),
                "" if line["p_adjusted"] is None else f"{line['p_adjusted']:.2g}",
                _figure(line["scoring_rate"], True),
                _figure(error["rates"]["true_positive_rate"], True),
                _figure(error["rates"]["false_positive_rate"], True),
            )
            for line, error in zip(table["outcomes"], table["errors"], strict=True)
        ]
        head = ("group", "rows", "base rate", "selection rate", "impact ratio", "adjusted p", "scoring rate")
        parts += [
            f"Label {_text(table['label'])}:",
            _table((*head, "true positive rate", "false positive rate"), lines),
        ]
    if one["quantity"] is not None:
        names = ("mean_target", "mean_prediction", "mean_absolute_error", "difference")
        best = one["quantity"]["most_favored"]
        quantities = [
            [
                line["group"] + marks[line["group"]],
                f"{rows[line['group']]:,}",
                *(_figure(line[k]) for k in names[:-1]),
                "most favored" if line["group"] == best else _figure(line["difference"]),
            ]
            for line in one["quantity"]["lines"]
        ]
        parts.append(_table(("group", "rows", *(name.replace("_", " ") for name in names)), quantities))
    return parts


def _mitigation(found: dict[str, Any] | None, answers: dict[str, str]) -> list[str]:
    if found is None:
        return []
    lines = [
        (one["label"], *(_figure(one[part]) for part in ("before", "after", "change")), one["verdict"])
        for one in found["measures"]
    ]
    said = [_text(answers[name]) for name in ("what_was_changed", "what_did_it_do")]
    parts = ["### Mitigation", *said]
    if lines:
        parts.append(_table(("measure", "before", "after", "change", ""), lines))
    for attribute, changes in found["groups"].items():
        parts += [
            f"**Before and after, by {_text(attribute)}**",
            _table(
                ("rate", "group", "before", "after", "change"),
                [
                    (
                        one["rate"].replace("_", " "),
                        one["group"],
                        *(_figure(one[part], True) for part in ("before", "after", "change")),
                    )
                    for one in changes
                ],
            ),
        ]
    return parts


def _gates(gates: list[dict[str, Any]]) -> list[str]:
    if not gates:
        return []
    lines = [(gate["fails_if"], gate["result"], "passed" if gate["passed"] else "FAILED") for gate in gates]
    return ["### Tests", _table(("fails if", "result", ""), lines)]
