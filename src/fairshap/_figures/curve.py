"""The figure of measures against the number of edits."""

from typing import Any

from fairshap._figures.axes import BLUE, new_axes
from fairshap._typing import Floats


def draw_curves(edits: Floats, curves: dict[str, tuple[Floats, ...]], axes: Any = None) -> Any:
    """Draw each measure, which is a value and the ends of its interval, against the number of edits."""
    axes = new_axes(len(curves), axes, size=(3.2, 2.8))
    for ax, (name, (value, low, high)) in zip(axes, curves.items(), strict=True):
        ax.plot(edits, value, color=BLUE)
        ax.fill_between(edits, low, high, color=BLUE, alpha=0.2, lw=0)
        ax.set_title(name if name == "accuracy" else name.upper())
        ax.set_xlabel("edited cells")
    return axes
