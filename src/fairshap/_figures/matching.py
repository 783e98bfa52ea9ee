"""How good a match plan is, drawn."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._figures.axes import BLUE, GREY, ORANGE, as_label, new_axes
from fairshap._typing import Floats

# Columns that have room beside each other in one figure.
_MOST = 25


def draw_matching(
    matched: Floats, random: Floats, columns: Sequence[str], differences: Floats, ax: Any = None
) -> Any:
    """Draw distances and differences on two axes; on one that is given, distances only.

    ``differences`` has the shape (3, columns): before, and after for unprivileged and for privileged rows.
    """
    height = 3.6 + 0.16 * max(0, min(len(columns), _MOST) - 12)
    axes = new_axes(2, ax, size=(5.0, height))
    both = np.atleast_1d(axes)
    draw_distances(matched, random, both[0])
    if len(both) > 1:
        draw_differences(columns, differences, both[1])
    return axes


def draw_distances(matched: Floats, random: Floats, ax: Any) -> None:
    """Draw two histograms over the same bins."""
    farthest = max(matched.max(initial=0.0), np.quantile(random, 0.995) if len(random) else 0.0)
    bins = np.linspace(0.0, farthest or 1.0, 41)
    for values, colour, name in ((random, GREY, "random"), (matched, BLUE, "matched")):
        mean = f", mean {values.mean():.2f}" if len(values) else ""
        ax.hist(values, bins, color=colour, alpha=0.7, label=name + mean)
    ax.set(xlabel="distance to the reference", ylabel="rows", title="Matched and random pairs")
    ax.legend(frameon=False)


def draw_differences(columns: Sequence[str], differences: Floats, ax: Any) -> None:
    """Draw the absolute differences of each column before and after, the greatest above."""
    size = np.abs(differences)
    order = np.argsort(np.nan_to_num(size[0], nan=-1.0), kind="stable")[-_MOST:]
    places = np.arange(len(order))
    # What is infinite has no place on the axis; its name says so.
    finite = np.where(np.isfinite(size), size, np.nan)[:, order]
    names = [as_label(columns[k]) + (" (infinite)" if np.isinf(size[0, k]) else "") for k in order]
    ax.hlines(places, np.nanmin(finite, axis=0, initial=np.inf), np.nanmax(finite, axis=0, initial=0), GREY)
    ax.plot(finite[0], places, "o", color=ORANGE, mfc="none", label="before matching")
    ax.plot(finite[1], places, "v", color=BLUE, label="after, unprivileged rows")
    ax.plot(finite[2], places, "^", color=BLUE, label="after, privileged rows")
    ax.axvline(0.1, color=GREY, linestyle=":", linewidth=1)
    ax.set_yticks(places, names)
    most = f", the {_MOST} largest of {len(columns)}" if len(columns) > _MOST else ""
    ax.set(xlabel="absolute standardised mean difference", xlim=(0, None), title=f"Balance by column{most}")
    ax.legend(frameon=False, loc="lower right")
