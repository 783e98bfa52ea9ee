"""Where figures are drawn."""

from importlib import import_module
from typing import Any

from fairshap.exceptions import MissingExtraError

#: Two colours that people who see colours differently tell apart, and one for what stands behind them.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#7f7f7f"


# Characters of a name that have room beside an axis.
_LONGEST = 28


def as_label(name: object) -> str:
    r"""Return a name as text beside an axis: one line, not too long, and nothing in it read as mathematics.

    Examples
    --------
    >>> print(as_label("income in $ and $cents$"))
    income in \$ and \$cents\$
    """
    text = " ".join(str(name).split()).encode("utf-8", "replace").decode()
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"
    return text.replace("$", r"\$")


def new_axes(n: int = 1, ax: Any = None, *, size: tuple[float, float] = (5.0, 3.6)) -> Any:
    """Return axes to draw on: the given ones, or n new ones beside each other, each of that size.

    New ones stand in a figure of pyplot, which a notebook shows and ``plt.savefig`` writes; or, if a figure
    is given instead of axes, in that one. One is returned as it is, several as an array.
    """
    figure_type = _import("matplotlib.figure").Figure
    inches = (size[0] * n, size[1])
    if ax is None:
        return _import("matplotlib.pyplot").subplots(1, n, figsize=inches, layout="constrained")[1]
    if isinstance(ax, figure_type):
        ax.set_size_inches(inches)
        return ax.subplots(1, n)
    return ax


def new_figure() -> Any:
    """Return a figure that pyplot does not know: for a file, which nobody is to be shown."""
    return _import("matplotlib.figure").Figure(layout="constrained")


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError("drawing", "matplotlib", "plots") from error
