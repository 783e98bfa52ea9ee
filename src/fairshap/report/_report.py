"""The report as an object: a page, a file, a notebook's cell, and its figures."""

import base64
import hashlib
import io
import os
import platform
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from importlib import metadata, resources
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._files import write_atomically
from fairshap._frames import Table, show
from fairshap._messages import import_extra
from fairshap._plotting import BLUE, GREY, ORANGE, draw_fairness, draw_risks, draw_thresholds
from fairshap._problem import Target
from fairshap._problem.target import exceeds
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.report._cells import column_lines, flows, ledger, riskiest_rows
from fairshap.report._data import ReportData, Sweep, evaluate_repair
from fairshap.report._summary import (
    cards,
    count,
    decimal,
    facts,
    group_sizes,
    join_names,
    selection,
    verdict,
)

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


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One page that needs nothing else: no network, no other file.

    Parameters
    ----------
    html : str
        The page.
    data : ReportData
        What it was written from.
    sweep : Sweep
        What other thresholds would do.
    """

    html: str
    data: ReportData
    sweep: Sweep

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1e6:.2f} MB of HTML; .write('report.html') saves it)"

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file; an existing one is replaced with ``force`` only."""
        content = self.html.encode()
        write_atomically(path, lambda file: file.write(content), force=force)

    def _repr_html_(self) -> str:
        # A frame of its own: the notebook's styles and scripts and the page's do not meet.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="fairshap report" '
            'style="width: 100%; height: 80vh; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def plot_fairness(self, ax: Any = None) -> Any:
        """Draw DR and the gaps between the groups before and after, with intervals; return the axes.

        None if the models could not be measured on held-out rows.
        """
        lines = self.data.measure_lines()
        if lines is None:
            return None
        shown = [lines[name] for name, measure in MEASURES.items() if measure.is_fairness]
        names = ("before", "after")[: self.data.n_models]
        models = [np.array([line[name] for line in shown]).T for name in names]
        return draw_fairness([line["label"] for line in shown], models, ax)

    def plot_columns(self, ax: Any = None) -> Any:
        """Draw the Shapley values of the heaviest columns, split by group; return the axes."""
        return self.data.explanation.plot(ax, threshold=self.data.threshold)

    def plot_risks(self, ax: Any = None) -> Any:
        """Draw the risk of all rows under the explained model before and after; return the axes."""
        certificate = self.data.certificate
        known = ~np.isnan(certificate.before)
        after = None if self.data.is_audit else certificate.after[known]
        return draw_risks(certificate.before[known], after, ax)

    def plot_thresholds(self, ax: Any = None) -> Any:
        """Draw the mean risk against the number of edited cells, for several thresholds; return the axes."""
        thresholds, cells, _, risk, chosen = self.sweep
        return draw_thresholds(thresholds, cells, risk, chosen, ax)


def report_repair(
    fitted: Any,
    X_test: Native | None,
    y_test: Any,
    beside: Any,
    positive: Any,
    evaluation: Any,
    tuning: Any,
    audit: bool,
    page: dict[str, Any],
) -> Report:
    """Return the report on a fitted sampler; see :meth:`fairshap.FairSHAP.report`."""
    target = fitted.explanation_.problem.y
    if positive is not None:
        is_quantity = target.classes is None
        read = Target.read(target.values, len(target.values), positive, is_quantity=is_quantity)
        target = replace(target, positive=read.positive)
    # A threshold that was found by trying several is the one to report.
    recipe = fitted._recipe(fitted.threshold_ if fitted.selector is None else None)
    not_measured = ""
    if evaluation is None:
        evaluation, not_measured = evaluate_repair(fitted, target, recipe, X_test, y_test, beside, audit)
    elif X_test is not None:
        raise InputError("evaluation has the held-out measures already; leave X_test out.")
    elif not audit and len(evaluation.measures.values) < 2:
        raise InputError(
            "evaluation has one model only; give one with two, before and after the repair, or audit=True."
        )
    made = (fitted.explanation_, recipe, fitted.edits_, fitted._evidence)
    data = ReportData(*made, target, evaluation, not_measured, tuning, audit)
    report = Report("", data, Sweep.of(data))
    command = page["command"] or f"{fitted!r}.fit_resample(X, y)"
    return replace(report, html=_render(report, seed=fitted.random_state, **{**page, "command": command}))


# ---- the page


def _render(report: Report, *, checksum: str | None, redact: bool, **texts: Any) -> str:
    """Return the page as HTML; ``texts`` are the title, the note, the command and the seed."""
    jinja2 = import_extra("jinja2", "the report", "report")
    data, script = report.data, _read("report.js")
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
        **_context(report, redact),
    )
    return page


def _read(name: str) -> str:
    return resources.files("fairshap.report").joinpath("page", name).read_text(encoding="utf-8")


def _context(report: Report, redact: bool) -> dict[str, Any]:
    """Return what the sections show, beside what they take from the data themselves."""
    data, certificate = report.data, report.data.certificate
    lines, n_hidden = column_lines(data)
    risen = exceeds(certificate.after, certificate.before, data.explanation.unit)
    plots: dict[str, Any] = {
        "measures": report.plot_fairness,
        "risks": report.plot_risks,
        "thresholds": report.plot_thresholds,
        "columns": report.plot_columns,
    }
    if data.tuning is not None:
        plots["tuning"] = data.tuning.plot
    plan, matching = data.explanation.match_plan, None
    # A plan that was given may not say how it was made.
    if plan.basis is not None and len(plan):
        matching = plan.diagnostics()
        plots["matching"] = matching.plot
    return {
        "data": data,
        "verdict": verdict(data),
        "cards": cards(data),
        "facts": facts(data),
        "sizes": group_sizes(data),
        "measures": MEASURES,
        "lower_is_better": join_names([one.label for one in MEASURES.values() if not one.higher_is_better]),
        "columns": lines,
        "columns_hidden": n_hidden,
        "selection": selection(data),
        "flows": flows(data, redact),
        "matching": matching,
        "n_edited": int(certificate.edited.sum()),
        "n_risen": int(risen[certificate.edited].sum()),
        "sweep": report.sweep._asdict(),
        "rows": riskiest_rows(data, redact),
        "ledger": ledger(data, redact),
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
