"""The figure of many ways to a fairer model, each against the model as it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.axes import GREY
from fairshap._figures.grid import legend_below, new_grid

# Colours and marks that people who see colours differently tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKS = "osD^vPX"
_TITLES = {"accuracy": "accuracy, change", "dr": "DR", "dp": "DP", "eo": "EO"}


def draw_variants(relative: pd.DataFrame, methods: Sequence[str]) -> Any:
    """Draw the change of accuracy, and DR, DP and EO relative to the baseline: a mark for each setting.

    Parameters
    ----------
    relative : DataFrame
        By label of the setting and method.
    methods : sequence of str
        The methods, the first on top; those that no setting has are left out.
    """
    known = [name for name in methods if name in relative.index.get_level_values("method")]
    names = ["FairSHAP (the paper's)" if name == "FairSHAP" else name for name in known]
    labels = list(relative.index.unique("label"))
    axes = new_grid(1, len(_TITLES), size=(3.4, 1.4 + 0.3 * len(known)))[0]
    for ax, (metric, title) in zip(axes, _TITLES.items(), strict=True):
        for k, label in enumerate(labels):
            own = relative.loc[label].reindex(known)
            at = np.arange(len(known)) + (k - (len(labels) - 1) / 2) * 0.09
            ax.plot(own[metric], at, _MARKS[k], color=_COLOURS[k], ms=4.5, label=label)
        for between in range(1, len(known)):
            ax.axhline(between - 0.5, color=GREY, lw=0.4, alpha=0.5)
        ax.axvline(0 if metric == "accuracy" else 1, color=GREY, ls="--", lw=1)
        ax.set_yticks(range(len(known)), names if ax is axes[0] else [""] * len(known))
        ax.set_ylim(len(known) - 0.5, -0.5)
        ax.set_title(title if metric == "accuracy" else f"{title}, relative to the baseline", fontsize=9)
        if metric == "accuracy":
            ax.xaxis.set_major_formatter("{x:+.3f}")
        else:
            ax.xaxis.set_major_formatter("{x:.0%}")
    legend_below(axes[0])
    return axes
