"""The interaction residual against the distance, drawn."""

from typing import Any

import numpy as np

from fairshap._figures.axes import BLUE, GREY, new_axes
from fairshap._typing import Floats


def draw_residuals(residual: Floats, distance: Floats, ax: Any = None) -> Any:
    """Draw the absolute residual of rows against their squared distance, with the least C of ``C d^2``."""
    ax = new_axes(1, ax)
    squared, size = distance**2, np.abs(residual)
    ax.plot(squared, size, "o", color=BLUE, alpha=0.4, markersize=3, label=f"{len(size)} edited rows")
    apart = squared > 0
    if apart.any():
        least = float((size[apart] / squared[apart]).max())
        ends = np.geomspace(squared[apart].min(), squared[apart].max(), 50)
        label = f"{least:.3g} times the squared distance"
        ax.plot(ends, least * ends, color=GREY, linestyle="--", label=label)
    # Zeros have a place too: below the least of the others the axis is linear.
    for set_scale, values in ((ax.set_xscale, squared), (ax.set_yscale, size)):
        present = values[values > 0]
        if len(present):
            set_scale("symlog", linthresh=max(float(present.min()), 1e-6 * float(present.max())))
    ax.set(xlabel="squared distance to the reference", ylabel="|I|, absolute interaction residual")
    ax.set_title("Interaction residual and matching distance")
    ax.legend(frameon=False, loc="upper left")
    return ax
