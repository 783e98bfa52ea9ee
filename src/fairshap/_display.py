"""How results look in a notebook, as small tables and bars, and estimators in a terminal, on one line.

Everything is drawn in the color of the notebook's own text, so that it reads on light and on dark pages.
"""

import inspect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from fairshap._typing import Floats

# The rows that a table shows, the characters of a cell, and those of a parameter in a terminal.
MAX_LINES, _MAX_CELL, _MAX_PARAMETER = 10, 40, 60

_TABLE = "border-collapse:collapse;margin:.4em 0;color:inherit;font-size:inherit"
_CELL = "padding:.1em .6em;white-space:nowrap;font-variant-numeric:tabular-nums"
_LINE = "border-bottom:1px solid currentColor"


class Html(str):
    """Text that is markup already: whatever else a display is given is escaped."""

    __slots__ = ()


def as_cell(value: Any) -> Html:
    """Return a value as the content of a cell: a number with four digits, text on one line and not too long.

    >>> as_cell(0.123456), as_cell(12345), as_cell(float("nan")), as_cell("<b> & co"), as_cell(True)
    ('0.1235', '12,345', '–', '&lt;b&gt; &amp; co', 'yes')
    """
    if isinstance(value, Html):
        return value
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return Html("\u2013")
    if isinstance(value, (bool, np.bool_)):
        return Html("yes" if value else "no")
    if isinstance(value, (int, np.integer)):
        return Html(f"{value:,}")
    if isinstance(value, (float, np.floating)):
        return Html(f"{value:.4g}")
    text = " ".join(str(value).split())
    return Html(escape(text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "\u2026"))


def panel(title: str, facts: Mapping[str, Any], *parts: Html) -> str:
    """Return a display: its title, what is known in a word or a number each, and tables below."""
    known = " \u00b7 ".join(f"{escape(name)} <b>{as_cell(value)}</b>" for name, value in facts.items())
    head = f"<div><b>{escape(title)}</b></div><div>{known}</div>"
    return f'<div style="color:inherit">{head}{"".join(parts)}</div>'


def paragraph(text: str) -> Html:
    """Return a sentence or two."""
    return Html(f'<p style="margin:.4em 0;max-width:60em">{escape(text)}</p>')


def table(columns: Mapping[str, Sequence[Any]], marked: int | None = None, total: int | None = None) -> Html:
    """Return a table by its columns, cut after some lines; one of them may be marked.

    ``total`` is the number of lines that there are, if only the first are given.
    """
    n_lines = min(MAX_LINES, *(len(cells) for cells in columns.values()))
    total = max((len(cells) for cells in columns.values()), default=0) if total is None else total
    if not n_lines:
        return Html("")
    # Text stands on the left, everything else on the right.
    sides = ["left" if isinstance(cells[0], str) else "right" for cells in columns.values()]
    head = "".join(
        f'<th style="{_CELL};text-align:{side};{_LINE}">{escape(name)}</th>'
        for side, name in zip(sides, columns, strict=True)
    )
    lines = []
    for k in range(n_lines):
        bold = ";font-weight:bold" if k == marked else ""
        cells = (
            f'<td style="{_CELL};text-align:{side}{bold}">{as_cell(cells[k])}</td>'
            for side, cells in zip(sides, columns.values(), strict=True)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    more = f'<div style="opacity:.7">and {total - n_lines:,} more</div>' if total > n_lines else ""
    return Html(f'<table style="{_TABLE}"><tr>{head}</tr>{"".join(lines)}</table>{more}')


def edits_table(counts: Mapping[Hashable, int]) -> Html:
    """Return how many edits there are of each column."""
    return table(
        {"column": [str(name) for name in counts], "edits": [*counts.values()], "": bars(counts.values())}
    )


def bars(values: Iterable[float]) -> list[Html]:
    """Return a bar from the left for each value, relative to the largest."""
    sizes = [abs(value) for value in values]
    most = max((size for size in sizes if np.isfinite(size)), default=0.0)
    drawn = []
    for size in sizes:
        share = size / most if most else 0.0
        width = 80 * share if np.isfinite(share) else 0.0
        drawn.append(_drawing(80, 10, f'<rect y="1" width="{width:.1f}" height="8" rx="1"/>', f"{share:.0%}"))
    return drawn


def histogram(values: Floats, n_bins: int = 24) -> Html:
    """Return how often values occur, as upright bars from the smallest to the largest."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Html("")
    counts, edges = np.histogram(known, n_bins)
    heights = 22 * counts / counts.max()
    shapes = "".join(
        f'<rect x="{5 * k}" y="{24 - height:.1f}" width="4" height="{height:.1f}"/>'
        for k, height in enumerate(heights)
    )
    return _drawing(5 * n_bins, 24, shapes, f"from {edges[0]:.3g} to {edges[-1]:.3g}")


def with_interval(value: float, low: float, high: float, span: tuple[float, float]) -> Html:
    """Return a number, and below it where it and its interval lie on a scale that others share."""
    if not np.isfinite([value, *span]).all() or span[0] >= span[1]:
        return as_cell(value)
    ends = [1 + 58 * (one - span[0]) / (span[1] - span[0]) if np.isfinite(one) else 0 for one in (low, high)]
    at = 1 + 58 * (value - span[0]) / (span[1] - span[0])
    line = f'<rect x="{ends[0]:.1f}" y="4" width="{max(0.0, ends[1] - ends[0]):.1f}" height="1.5"/>'
    drawn = _drawing(62, 9, f'{line}<circle cx="{at:.1f}" cy="4.75" r="2.5"/>', f"{low:.3f} to {high:.3f}")
    return Html(f"{value:.3f}<br>{drawn}")


def _drawing(width: int, height: int, shapes: str, said: str) -> Html:
    return Html(
        f'<svg width="{width}" height="{height}" role="img" aria-label="{escape(said)}" fill="currentColor" '
        f'style="opacity:.75;vertical-align:middle"><title>{escape(said)}</title>{shapes}</svg>'
    )


class Shown:
    """An estimator on one line of a terminal; in a notebook scikit-learn's diagram, and what was found."""

    def __repr__(self) -> str:
        known = inspect.signature(type(self)).parameters
        given = {name: getattr(self, name) for name in known}
        changed = (name for name in known if repr(given[name]) != repr(known[name].default))
        return f"{type(self).__name__}({', '.join(f'{k}={_on_one_line(given[k])}' for k in changed)})"

    def _found(self) -> str:
        """Return what was found, as markup; nothing before the fit."""
        return ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._found()  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._found()
        return bundle


def _on_one_line(value: Any) -> str:
    """Return a parameter as a terminal shows it; of an estimator that takes more room, the name alone."""
    text = repr(value)
    if isinstance(value, Shown) or ("\n" not in text and len(text) <= _MAX_PARAMETER):
        return text
    if hasattr(value, "get_params"):
        return f"{type(value).__name__}(...)"
    return " ".join(text.split())[: _MAX_PARAMETER - 3] + "..."
