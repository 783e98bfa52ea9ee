"""Figures as inline SVG that follow the page's colours and have names of their own."""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any

from fairshap._plotting import BLUE, GREY, ORANGE, new_figure

# What text and lines are drawn in; the page says which colour that is.
_INK = "#101418"
_COLOURS = {_INK: "var(--ink)", BLUE: "var(--blue)", ORANGE: "var(--orange)", GREY: "var(--grey)"}

_STYLE: dict[Any, Any] = {
    # Text stays text: smaller, sharp, and in the reader's own fonts.
    "svg.fonttype": "none",
    "svg.hashsalt": "fairshap",
    "font.size": 10.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "axes.titlesize": 11,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.facecolor": "none",
    "legend.frameon": False,
}


def figure(name: str, description: str, draw: Callable[[Any], Any]) -> str:
    """Return a figure as SVG.

    Parameters
    ----------
    name : str
        What its parts' names begin with: two figures of a page share none.
    description : str
        What a screen reader says.
    draw : function
        Draws it on the figure that it is given.
    """
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        warnings.filterwarnings("ignore", "Matplotlib currently does not support")
        # Not one of pyplot's: it would be shown once more below the page in a notebook.
        drawn = new_figure()
        draw(drawn)
        drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _clean(file.getvalue(), name, description)


def _clean(svg: str, name: str, description: str) -> str:
    """Return the element alone, with its own names, the page's colours and a description."""
    svg = re.sub(r"<(metadata)>.*?</metadata>|<!--.*?-->\s*", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # Tags only: what stands between them are names and values of the user's.
    svg = re.sub(r"<[^>]*>", lambda tag: _clean_tag(tag[0], name), svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1)


def _clean_tag(tag: str, name: str) -> str:
    if tag.startswith("<svg"):
        return re.sub(r' (?:width|height|version|xmlns:xlink)="[^"]*"', "", tag)
    tag = re.sub(r' id="(?:figure|axes|patch|line2d|text|matplotlib|xtick|ytick|legend)[^"]*"', "", tag)
    tag = tag.replace("xlink:href=", "href=")
    tag = re.sub(r'( id="|url\(#| href="#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", tag)
    for colour, variable in _COLOURS.items():
        tag = tag.replace(colour, variable)
    return tag
