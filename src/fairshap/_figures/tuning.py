"""The figure of a search among repairs: accuracy against fairness."""

from typing import Any

import numpy as np

from fairshap._figures.axes import BLUE, GREY, ORANGE, new_axes
from fairshap._typing import Bools, Floats


def draw_trade_off(
    accuracy: Floats, objective: Floats, on_front: Bools, taken: int, label: str, ax: Any = None
) -> Any:
    """Draw every candidate, the front as a line, and the baseline (the first) and the one taken by name."""
    ax = new_axes(1, ax)
    ax.scatter(objective, accuracy, s=18, color=GREY, label="tried")
    order = np.flatnonzero(on_front)[np.argsort(objective[on_front])]
    ax.plot(objective[order], accuracy[order], "o-", color=BLUE, markersize=5, label="no other is better")
    ax.scatter(objective[:1], accuracy[:1], marker="s", color="black", zorder=3, label="baseline")
    at = objective[[taken]], accuracy[[taken]]
    ax.scatter(*at, marker="*", s=160, color=ORANGE, zorder=4, label="recommended")
    ax.set_xlabel(label)
    ax.set_ylabel("accuracy")
    ax.legend()
    return ax
