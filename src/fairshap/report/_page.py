"""From the data to the page: figures, what the template needs, and the template filled in."""

import base64
import hashlib
import io
import platform
import re
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from importlib import metadata, resources
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._frames import Table, show
from fairshap._messages import import_extra
from fairshap._plotting import BLUE, GREY, ORANGE, draw_fairness, draw_risks, draw_thresholds, new_figure
from fairshap._problem.target import exceeds
from fairshap.report._cells import column_lines, flows, ledger, plain_ledger, riskiest_rows
from fairshap.report._data import ReportData, Sweep
from fairshap.report._summary import count, decimal, join_names, selection, summary

_PACKAGES = ("fairshap", "numpy", "pandas", "scikit-learn", "numba")

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


def render(data: ReportData, sweep: Sweep, *, checksum: str | None, redact: bool, **texts: Any) -> str:
    """Return the page as HTML; ``texts`` are the title, the note, the command and the seed."""
    jinja2 = import_extra("jinja2", "the report", "report")
    script = _read("report.js")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["count"] = count
    environment.filters |= {"decimal": decimal, "show": show, "whole": "{:,}".format}
    page: str = environment.from_string(_read("report.html")).render(
        style=_read("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        checksum=checksum or f"{checksum_of(data.problem.own)} (SHA-256 of the table's names and cells)",
        versions=versions(data.explanation.model),
        redact=redact,
        **texts,
        **_context(data, sweep, redact),
    )
    return page


def _read(name: str) -> str:
    return resources.files("fairshap.report").joinpath("page", name).read_text(encoding="utf-8")


def _context(data: ReportData, sweep: Sweep, redact: bool) -> dict[str, Any]:
    """Return what the sections show."""
    lines, n_hidden = column_lines(data)
    listed = ledger(data, redact)
    certificate = data.certificate
    risen = exceeds(certificate.dr_after, certificate.dr_before, data.explanation.unit)
    plots: dict[str, Any] = {
        "measures": partial(plot_measures, data),
        "risks": partial(plot_risks, data),
        "thresholds": partial(plot_thresholds, sweep),
        "columns": partial(data.explanation.plot, threshold=data.threshold),
    }
    plan, matching = data.explanation.match_plan, None
    # A plan that was given may not say how it was made.
    if plan.basis is not None and len(plan):
        matching = plan.diagnostics()
        plots["matching"] = matching.plot
    if data.tuning is not None:
        plots["tuning"] = data.tuning.plot
    return {
        "audit": data.is_audit,
        "attribute": data.attribute,
        "sides": data.problem.side_names,
        **summary(data),
        "measures": MEASURES,
        "lower_is_better": join_names([one.label for one in MEASURES.values() if not one.higher_is_better]),
        "evaluation": data.evaluation,
        "measure_lines": data.measure_lines(),
        "rates": data.group_rates(),
        "not_measured": data.not_measured,
        "columns": lines,
        "columns_hidden": n_hidden,
        "threshold": data.threshold,
        "selection": selection(data),
        "flows": flows(data, redact),
        "matching": matching,
        "risks": data.mean_risks(),
        "risks_edited": data.mean_risks(edited=True),
        "n_edited": int(certificate.edited.sum()),
        "n_risen": int(risen[certificate.edited].sum()),
        "sweep": sweep.to_dict(),
        "rows": riskiest_rows(data, redact),
        "ledger": listed,
        "plain_ledger": plain_ledger(listed),
        "tuning": data.tuning,
        "candidates": [] if data.tuning is None else data.tuning.frame().to_dict("records"),
        "figure": lambda name, description: to_svg(name, description, plots[name]),
    }


def versions(model: Any) -> list[tuple[str, str]]:
    """Return the versions of Python and of the packages that the result depends on."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    # xgboost is also installed under other names.
    owners = metadata.packages_distributions()
    modules = {type(step).__module__.partition(".")[0] for step in steps}
    of_model = {owners[module][0] for module in modules if module in owners}
    names = [*_PACKAGES, *sorted(of_model - set(_PACKAGES))]
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in names)]


def checksum_of(table: Table) -> str:
    """Return the SHA-256 of a table's names and cells, which is the same for any library."""
    digest = hashlib.sha256()
    for name in table.names:
        digest.update(str(name).encode("utf-8", "replace") + b"\0")
    digest.update(np.ascontiguousarray(table.numbers).tobytes())
    digest.update(np.ascontiguousarray(table.codes).tobytes())
    for column in table.category_columns.tolist():
        for value in table.store.values(column, table.distinct(column)):
            digest.update(str(value).encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()


# ---- figures


def plot_measures(data: ReportData, ax: Any = None) -> Any:
    """Draw DR and the gaps before and after, or of one model; None if nothing was measured."""
    lines = data.measure_lines()
    if lines is None:
        return None
    shown = [lines[name] for name, measure in MEASURES.items() if not measure.higher_is_better]
    models = [np.array([line[model] for line in shown]).T for model in ("before", "after")[: data.n_models]]
    return draw_fairness([line["label"] for line in shown], models, ax)


def plot_risks(data: ReportData, ax: Any = None) -> Any:
    """Draw the risk of all rows before and after, or of an audit as it is."""
    certificate = data.certificate
    known = ~np.isnan(certificate.dr_before)
    after = None if data.is_audit else certificate.dr_after[known]
    return draw_risks(certificate.dr_before[known], after, ax)


def plot_thresholds(sweep: Sweep, ax: Any = None) -> Any:
    """Draw the mean risk against the number of edited cells."""
    chosen = float(sweep.thresholds[sweep.chosen]) if sweep.chosen >= 0 else np.nan
    return draw_thresholds(sweep.thresholds, sweep.cells, sweep.risk, chosen, ax)


def to_svg(name: str, description: str, draw: Callable[[Any], Any]) -> str:
    """Return what is drawn on a new figure as SVG, its ids beginning with a name that no other figure has."""
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks; a busy machine is slow at a legend.
        for said in ("Glyph .* missing from", "Matplotlib currently does not support", "Creating legend"):
            warnings.filterwarnings("ignore", said)
        # Not one of pyplot's: it would be shown once more below the page in a notebook.
        figure = new_figure()
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
