"""Axes in rows and columns, with one legend for all."""

from typing import Any

from fairshap._figures.axes import new_figure


def new_grid(n_rows: int, n_columns: int, *, size: tuple[float, float]) -> Any:
    """Return new axes in rows and columns, each of that size, as an array of two dimensions, for a file."""
    figure = new_figure()
    figure.set_size_inches(size[0] * n_columns, size[1] * n_rows)
    return figure.subplots(n_rows, n_columns, squeeze=False)


def legend_below(ax: Any) -> None:
    """Put the legend of some axes below their whole figure."""
    handles, names = ax.get_legend_handles_labels()
    ax.figure.legend(handles, names, loc="outside lower center", ncols=len(handles), frameon=False)
