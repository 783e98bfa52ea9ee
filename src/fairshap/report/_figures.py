"""The figures of the report, and how they become inline SVG that follows the page's colors."""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._plotting import BLUE, GREY, ORANGE, draw_fairness, draw_risks, draw_thresholds, new_figure
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
    """Return what is drawn on a new figure as SVG.

    The ids of its parts begin with ``name``, so that two figures of a page share none; a screen reader says
    the description.
    """
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
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
