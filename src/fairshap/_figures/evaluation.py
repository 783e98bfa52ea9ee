"""The figures of an evaluation: methods side by side, curves of budgets, and the trade-off of a search."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._figures.axes import BLUE, GREY, ORANGE, as_label, new_axes
from fairshap._typing import Bools, Floats


def draw_levels(names: Sequence[Any], levels: dict[str, tuple[Floats, ...]], axes: Any = None) -> Any:
    """Draw each measure, a level and the ends of its interval, for each of some models."""
    axes = new_axes(len(levels), axes, size=(3.0, 1.2 + 0.25 * len(names)))
    places = np.arange(len(names))
    for ax, (label, (value, low, high)) in zip(axes, levels.items(), strict=True):
        ax.axvline(value[0], color=GREY, linestyle=":", linewidth=1)
        ax.hlines(places, low, high, BLUE)
        ax.plot(value, places, "o", color=BLUE)
        ax.set(title=label, ylim=(len(names) - 0.5, -0.5))
        ax.set_yticks(places, [])
    axes[0].set_yticks(places, [as_label(name) for name in names])
    return axes


def draw_curves(edits: Floats, levels: dict[str, tuple[Floats, ...]], axes: Any = None) -> Any:
    """Draw each measure, a level and the ends of its interval, against the number of edits."""
    axes = new_axes(len(levels), axes, size=(3.2, 2.8))
    for ax, (label, (value, low, high)) in zip(axes, levels.items(), strict=True):
        ax.plot(edits, value, color=BLUE)
        ax.fill_between(edits, low, high, color=BLUE, alpha=0.2, lw=0)
        ax.set(title=label, xlabel="edited cells")
    return axes


def draw_trade_off(
    accuracy: Floats, objective: Floats, on_front: Bools, taken: int, label: str, ax: Any = None
) -> Any:
    """Draw every candidate, the Pareto front, the baseline (the first) and the recommended one."""
    ax = new_axes(1, ax)
    ax.scatter(objective, accuracy, s=18, color=GREY, label="candidates")
    order = np.flatnonzero(on_front)[np.argsort(objective[on_front])]
    ax.plot(objective[order], accuracy[order], "o-", color=BLUE, markersize=5, label="Pareto front")
    ax.scatter(objective[:1], accuracy[:1], marker="s", color="black", zorder=3, label="baseline")
    at = objective[[taken]], accuracy[[taken]]
    ax.scatter(*at, marker="*", s=160, color=ORANGE, zorder=4, label="recommended")
    ax.set(xlabel=label, ylabel="accuracy")
    ax.legend()
    return ax
