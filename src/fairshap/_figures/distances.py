"""The figure of matching distances, ours beside the paper's."""

from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.axes import BLUE, GREY
from fairshap._figures.grid import new_grid

_METHODS = {"matched": ("to the reference", BLUE), "random": ("to a random row", GREY)}
_PARTS = {"whole": "all rows", "tenth": "a tenth of the rows", "artefact": "the paper's artefact"}


def draw_distances(near: pd.DataFrame) -> Any:
    """Draw for each table and group the mean distances with their deviations, and the paper's hollow.

    ``near`` has a line for each figure: ``dataset``, ``part``, ``group``, ``method`` ("matched" or "random"),
    ``mean``, ``std``, ``paper_mean``, ``paper_std``.
    """
    lines = near[near["metric"] == "distance"]
    keys = list(dict.fromkeys(zip(lines["dataset"], lines["part"], lines["group"], strict=True)))
    ax = new_grid(1, 1, size=(7.5, 1.1 + 0.42 * len(keys)))[0, 0]
    for k, (method, (name, colour)) in enumerate(_METHODS.items()):
        own = lines[lines["method"] == method]
        at = np.array(
            [keys.index(key) for key in zip(own["dataset"], own["part"], own["group"], strict=True)]
        )
        # The paper's just under ours.
        for means, stds, shift, marker, label in (
            (own["mean"], own["std"], -0.14, {"fmt": "o"}, name),
            (own["paper_mean"], own["paper_std"], 0.14, {"fmt": "D", "mfc": "none"}, f"{name}, the paper's"),
        ):
            ax.errorbar(
                means, at + shift + 0.04 * k, xerr=stds, color=colour, ms=4.5, lw=1, label=label, **marker
            )
    names = {"Kdd": "Census KDD", "all": "both groups"}
    labels = [
        f"{names.get(table, table)}, {_PARTS[part]}: {names.get(group, group)}" for table, part, group in keys
    ]
    ax.set_yticks(range(len(keys)), labels)
    ax.set_ylim(len(keys) - 0.5, -0.5)
    for between in range(1, len(keys)):
        ax.axhline(between - 0.5, color=GREY, lw=0.4, alpha=0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("distance, mean and standard deviation over the rows of the group")
    handles, titles = ax.get_legend_handles_labels()
    ax.figure.legend(handles, titles, loc="outside lower center", ncols=2, frameon=False)
    return ax
