"""The page: a template over evidence, and what was explained, as one file of HTML."""

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._frames import show
from fairshap._messages import import_extra
from fairshap._plotting import BLUE, GREY, ORANGE
from fairshap._problem.target import exceeds
from fairshap.edits._recipe import describe_counterfactuals
from fairshap.report._cells import column_lines, flows, ledger, riskiest_rows
from fairshap.report._data import ReportData, Sweep

# What text and lines are drawn in; the page says which color that is.
_INK = "#101418"
_COLORS = {_INK: "var(--ink)", BLUE: "var(--blue)", ORANGE: "var(--orange)", GREY: "var(--grey)"}

_STYLE: dict[Any, Any] = {
    # Text stays text: smaller, sharp, and in the reader's own fonts.
    "svg.fonttype": "none",
    "svg.hashsalt": "fairshap",
    "font.size": 10.5,
    "axes.titlesize": 11,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "legend.facecolor"), "none"),
}


def render(
    evidence: dict[str, Any], data: ReportData | None, sweep: Sweep | None, plots: Any, **texts: Any
) -> str:
    """Return the page of evidence; ``plots`` draws its figures, ``texts`` are the note and other options."""
    jinja2 = import_extra("jinja2", "the report", "report")
    script = _read("report.js")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.globals["count"] = count
    environment.filters |= {"decimal": decimal, "percent": percent, "show": show, "whole": "{:,}".format}
    # A number and its percent sign stay on one line.
    environment.filters |= {"names": join_names, "nb": lambda text: text.replace(" %", "\u00a0%")}
    environment.loader = jinja2.FunctionLoader(_read)
    figures: dict[str, Any] = {"outcomes": plots.plot_outcomes}
    context = {} if data is None or sweep is None else _context(data, sweep, plots, figures, texts["redact"])
    page: str = environment.get_template("report.html").render(
        style=_read("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        e=evidence,
        data=data,
        figure=lambda name, description: to_svg(name, description, figures[name]),
        **texts,
        **context,
    )
    return page


def count(n: int, noun: str) -> str:
    """Return a number of things in words, such as 1,200 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def amount(value: float) -> str:
    """Return a number with four digits or more, never with a power of ten, which few readers know.

    >>> amount(47392.51), amount(999.96), amount(428.512), amount(0.0123), amount(1.234e-5)
    ('47,393', '1,000', '428.5', '0.0123', '0.00001234')
    """
    if not np.isfinite(value) or abs(value) >= 999.95:
        return f"{value:,.0f}"
    return np.format_float_positional(float(f"{value:.4g}"), trim="-")


def decimal(value: float | None) -> str:
    """Return a measure with four digits and a real minus sign; what is not known is a dash.

    >>> decimal(0.07384), decimal(-0.5), decimal(-1e-9), decimal(428.51), decimal(float("nan"))
    ('0.0738', '−0.5000', '0.0000', '428.5', '–')
    """
    if value is None or np.isnan(value):
        return "\u2013"
    if np.isinf(value):
        return str(value)
    # Adding zero makes a plain zero of what rounds to a negative one.
    text = f"{round(value, 4) + 0.0:.4f}" if abs(value) < 10 else amount(value)
    return text.replace("-", "\u2212")


def join_names(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def percent(value: float | None) -> str:
    r"""Return a share in percent with one digit, and a real minus sign.

    >>> percent(0.0813), percent(-0.16), percent(None)
    ('8.1\xa0%', '−16.0\xa0%', '–')
    """
    if value is None:
        return "\u2013"
    return f"{round(100 * value, 1) + 0.0:.1f}\u00a0%".replace("-", "\u2212")


def _read(name: str) -> str:
    return resources.files("fairshap.report").joinpath("page", name).read_text(encoding="utf-8")


def _context(
    data: ReportData, sweep: Sweep, plots: Any, figures: dict[str, Any], redact: bool
) -> dict[str, Any]:
    """Return what the sections on single cells and rows show, and add their figures."""
    certificate = data.certificate
    lines, n_hidden = column_lines(data)
    risen = exceeds(certificate.after, certificate.before, data.explanation.unit)
    figures |= {"risks": plots.plot_risks, "thresholds": plots.plot_thresholds, "columns": plots.plot_columns}
    figures["measures"] = plots.plot_fairness
    if data.tuning is not None:
        figures["tuning"] = data.tuning.plot
    plan, matching = data.explanation.match_plan, None
    # A plan that was given may not say how it was made.
    if plan.basis is not None and len(plan):
        matching = plan.diagnostics()
        figures["matching"] = matching.plot
    return {
        "facts": _facts(data),
        "measures": MEASURES,
        "lower_is_better": join_names([one.label for one in MEASURES.values() if not one.higher_is_better]),
        "columns": lines,
        "columns_hidden": n_hidden,
        "flows": flows(data, redact),
        "matching": matching,
        "n_edited": int(certificate.edited.sum()),
        "n_risen": int(risen[certificate.edited].sum()),
        "sweep": sweep._asdict(),
        "rows": riskiest_rows(data, redact),
        "ledger": ledger(data, redact),
    }


def _facts(data: ReportData) -> list[tuple[str, str]]:
    """Return how the model was explained, as terms and what they are."""
    explanation, own = data.explanation, data.problem.own
    status, counts = np.unique(explanation.status, return_counts=True)
    kinds = ", ".join(f"{n:,} {name}" for name, n in zip(status.tolist(), counts.tolist(), strict=True))
    found = [
        ("Column types", f"{len(own.numeric_columns)} numeric, {len(own.category_columns)} categorical"),
        ("Edits", data.selection),
        ("Shapley values", f"by {explanation.route.partition(':')[0]}; rows: {kinds}"),
    ]
    if constraints := data.recipe.constraints.given():
        found.append(("Constraints", show(", ".join(constraints))))
    if data.recipe.counterfactuals is not None:
        found.append(("Added rows", describe_counterfactuals(data.recipe.counterfactuals)))
    if data.problem.groups.n_missing:
        found.append(
            ("Attribute missing", f"in {count(data.problem.groups.n_missing, 'row')}, left unedited")
        )
    return found


def to_svg(name: str, description: str, draw: Callable[[Any], Any]) -> str:
    """Return what is drawn on a new figure as SVG, its ids beginning with a name that no other figure has."""
    mpl = import_extra("matplotlib", "the report", "report")
    file = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks; a busy machine is slow at a legend.
        for said in ("Glyph .* missing from", "Matplotlib currently does not support", "Creating legend"):
            warnings.filterwarnings("ignore", said)
        # Not one of pyplot's: it would be shown once more below the page in a notebook.
        figure = import_extra("matplotlib.figure", "the report", "report").Figure(layout="constrained")
        draw(figure)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = file.getvalue()
    svg = re.sub(r"<(metadata)>.*?</metadata>|<!--.*?-->\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Tags only: what stands between them are names and values of the user's.
    svg = re.sub(r"<[^>]*>", lambda tag: _clean_tag(tag[0], name), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)


def _clean_tag(tag: str, name: str) -> str:
    """Return a tag of the SVG with its own ids and the page's colors."""
    if tag.startswith("<svg"):
        return re.sub(r' (?:width|height|version|xmlns:xlink)="[^"]*"', "", tag)
    tag = re.sub(r' id="(?:figure|axes|patch|line2d|text|matplotlib|xtick|ytick|legend)[^"]*"', "", tag)
    tag = tag.replace("xlink:href=", "href=")
    tag = re.sub(r'( id="|url\(#| href="#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", tag)
    for color, variable in _COLORS.items():
        tag = tag.replace(color, variable)
    return tag
