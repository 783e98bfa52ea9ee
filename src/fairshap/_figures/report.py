"""The figures of the report: fairness, attributions by column, risks, and thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._figures.axes import BLUE, GREY, ORANGE, as_label, new_axes
from fairshap._typing import Floats, Sides

# Points of one column and one group that are drawn: more would only lie on each other.
_POINTS = 130

# The places that points of one column spread over, and the bins that say how dense they are.
_SPREAD, _BINS, _GOLDEN = 0.36, 60, 0.6180339887


def draw_fairness(names: Sequence[str], sides: Sequence[Floats], ax: Any = None) -> Any:
    """Draw measures before and after, or of one model alone, with their intervals.

    Each side has the shape (3, measures): the value and the two ends of its interval.
    """
    ax = new_axes(1, ax, size=(7.0, 0.62 * len(names) + 0.9))
    places = np.arange(len(names))[::-1]
    looks = [(0.14, ORANGE, "s", "before"), (-0.14, BLUE, "o", "after")]
    if len(sides) == 1:
        looks = [(0.0, ORANGE, "s", "the model")]
    for (value, low, high), (shift, colour, marker, label) in zip(sides, looks, strict=True):
        error = np.clip([value - low, high - value], 0, None)
        ax.errorbar(
            value,
            places + shift,
            xerr=error,
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=2,
            label=label,
        )
    ax.set_yticks(places, names)
    # An interval that reaches below 0 is seen to do so.
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
    if len(sides) > 1:
        ax.legend(frameon=False, loc="best")
    return ax


def draw_columns(
    names: Sequence[str], phi: Floats, side: Sides, sides: Sequence[str], threshold: float, ax: Any = None
) -> Any:
    """Draw the attributions of each column as a swarm, the unprivileged group above, the privileged below.

    Zeros are left out, and of many points those at even ranks are kept, so that the largest always are.
    """
    ax = new_axes(1, ax, size=(7.0, 0.52 * len(names) + 1.3))
    for group, colour, direction in ((0, ORANGE, 1.0), (1, BLUE, -1.0)):
        points: list[Floats] = [np.empty((2, 0))]
        for k, place in enumerate(range(len(names))[::-1]):
            values = thin(phi[side == group, k])
            points.append(np.stack([values, place + direction * (0.07 + _offsets(values))]))
        x, y = np.hstack(points)
        label = f"{as_label(sides[group])} ({'privileged' if group else 'unprivileged'})"
        ax.plot(x, y, "o", color=colour, markersize=2.6, alpha=0.55, markeredgewidth=0, label=label)
    ax.axvline(0, color=GREY, linewidth=0.8)
    if np.isfinite(threshold):
        ax.axvline(threshold, color=GREY, linestyle="--", linewidth=1, label=f"threshold {threshold:.3g}")
    ax.set_yticks(range(len(names))[::-1], [as_label(name) for name in names])
    ax.set(
        xlabel="attribution (phi): what the column adds to the risk of a row", ylim=(-0.6, len(names) - 0.4)
    )
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, markerscale=2)
    return ax


def thin(values: Floats, most: int = _POINTS) -> Floats:
    """Return the values that are not zero, sorted; of many, those at even ranks, both ends among them."""
    values = np.sort(values[np.isfinite(values) & (np.abs(values) > 1e-12)])
    if len(values) > most:
        values = values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]
    return values


def draw_risks(before: Floats, after: Floats | None = None, ax: Any = None) -> Any:
    """Draw how the risk is distributed over the rows before and after, on a logarithmic axis of rows."""
    ax = new_axes(1, ax, size=(7.0, 3.2))
    top = max(part.max(initial=0.0) for part in (before, after) if part is not None)
    bins = np.linspace(0, top or 1.0, 41)
    counts, _ = np.histogram(before, bins)
    label = f"{'all rows' if after is None else 'before'}, mean {_mean(before)}"
    ax.stairs(counts, bins, fill=True, color=ORANGE, alpha=0.35, label=label)
    if after is not None:
        counts, _ = np.histogram(after, bins)
        ax.stairs(counts, bins, color=BLUE, linewidth=2, label=f"after, mean {_mean(after)}")
    ax.set_yscale("symlog", linthresh=1)
    ax.set(xlabel="discriminative risk of a row", ylabel="rows (log scale)", ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def draw_thresholds(thresholds: Floats, cells: Floats, risk: Floats, chosen: float, ax: Any = None) -> Any:
    """Draw the mean risk of the consulted model against the number of cells that would change."""
    ax = new_axes(1, ax, size=(7.0, 2.9))
    ax.plot(cells, risk, "o-", color=BLUE, markersize=4)
    at = np.flatnonzero(thresholds == chosen)
    if len(at):
        label = f"threshold {chosen:.3g}"
        ax.plot(cells[at], risk[at], "*", color=ORANGE, markersize=14, label=label)
        ax.legend(frameon=False)
    ax.set(xlabel="cells that would change", ylabel="mean risk", ylim=(0, None))
    ax.grid(color=GREY, alpha=0.25, linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _offsets(values: Floats) -> Floats:
    """Return how far each sorted value stands from its line: the more neighbours, the farther."""
    if not len(values):
        return values
    bins = np.linspace(values[0], values[-1], _BINS)
    at = np.searchsorted(bins, values)
    # Multiples of the golden ratio put the values of a bin evenly apart; the fuller it is, the farther.
    order = np.arange(len(values)) - np.searchsorted(at, at)
    sizes = np.bincount(at)
    return np.asarray(_SPREAD * (order * _GOLDEN % 1) * sizes[at] / max(sizes.max(), 8))


def _mean(values: Floats) -> str:
    return f"{values.mean():.4g}" if len(values) else "none"
