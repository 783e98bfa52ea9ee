"""The figure of explainers: what they cost and how far they are from exact values."""

from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.axes import GREY, ORANGE
from fairshap._figures.grid import new_grid

_COLOURS = ("#0072b2", "#009e73", "#cc79a7")
_PANELS = {
    "row_seconds": "CPU milliseconds a row",
    "largest_error": "largest error of a value",
    "share_differing": "edits that differ, % of the exact ones",
}


def draw_explainers(lines: pd.DataFrame) -> Any:
    """Draw cost, error and wrong decisions of each explainer (``method``) on each table (``label``).

    The methods with a ``largest_error`` of NaN are the exact ones, with which the others are compared.
    """
    labels, methods = (list(dict.fromkeys(lines[name])) for name in ("label", "method"))
    axes = new_grid(1, len(_PANELS), size=(3.9, 1.0 + 0.26 * len(labels) * len(methods)))[0]
    colours = iter(_COLOURS)
    by_method = {
        method: ORANGE
        if lines.loc[lines["method"] == method, "largest_error"].isna().all()
        else next(colours)
        for method in methods
    }
    at = [(label, method) for label in labels for method in methods]
    for ax, (column, title) in zip(axes, _PANELS.items(), strict=True):
        for _, line in lines.iterrows():
            value = line[column] * (1000 if column == "row_seconds" else 1)
            y = at.index((line["label"], line["method"]))
            if np.isnan(value):
                ax.text(0.02, y, "exact", transform=ax.get_yaxis_transform(), va="center", color=ORANGE)
                continue
            # Dots, not bars: a logarithmic axis has no zero for a bar to begin at.
            ax.plot(value, y, "o", ms=7, color=by_method[line["method"]])
            ax.annotate(_short(value), (value, y), (7, 0), textcoords="offset points", va="center", size=8)
        if column != "share_differing":
            ax.set_xscale("log")
        ax.margins(x=0.25)
        if column == "share_differing":
            ax.set_xlim(left=-0.05 * ax.get_xlim()[1])
        ax.grid(axis="x", alpha=0.3)
        ax.set_title(title)
        names = [f"{label}, {method}" for label, method in at]
        ax.set_yticks(range(len(at)), names if ax is axes[0] else [""] * len(at))
        ax.set_ylim(len(at) - 0.5, -0.5)
        for between in range(1, len(labels)):
            ax.axhline(between * len(methods) - 0.5, color=GREY, lw=0.4, alpha=0.5)
    return axes


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"
