"""The figure of measures against the number of edits."""

from typing import Any

from fairshap._figures.axes import BLUE, new_axes
from fairshap._typing import Floats


def draw_curves(edits: Floats, mean: dict[str, Floats], std: dict[str, Floats], axes: Any = None) -> Any:
    """Draw each measure against the number of edits, with a band of one standard deviation."""
    axes = new_axes(len(mean), axes, size=(3.2, 2.8))
    for ax, name in zip(axes, mean, strict=True):
        ax.plot(edits, mean[name], color=BLUE)
        ax.fill_between(edits, mean[name] - std[name], mean[name] + std[name], color=BLUE, alpha=0.2, lw=0)
        ax.set_title(name if name == "accuracy" else name.upper())
        ax.set_xlabel("edited cells")
    return axes
