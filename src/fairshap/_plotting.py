"""Plots of plain arrays with matplotlib; the objects that have a ``plot`` draw with them.

matplotlib is an extra and slow to import, so it is imported only where axes are made.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._messages import import_extra
from fairshap._typing import Bools, Floats, Sides

#: Two colors that color-blind people can tell apart, and one for the background.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#7f7f7f"

# Characters of a name that fit beside an axis, columns that fit into one plot, points that do not overlap.
_MAX_LABEL, _MAX_COLUMNS, _MAX_POINTS = 28, 25, 130

# The height that the points of one column spread over, and the bins that say how dense they are.
_SPREAD, _BINS, _GOLDEN = 0.36, 60, 0.6180339887


def as_label(name: object) -> str:
    r"""Return a name as an axis label: one line, not too long, and without mathematical markup.

    >>> print(as_label("income in $ and $cents$"))
    income in \$ and \$cents\$
    """
    text = " ".join(str(name).split()).encode("utf-8", "replace").decode()
    text = text if len(text) <= _MAX_LABEL else text[: _MAX_LABEL - 1] + "\u2026"
    return text.replace("$", r"\$")


def new_axes(n: int = 1, ax: Any = None, *, size: tuple[float, float] = (5.0, 3.6)) -> Any:
    """Return axes to draw on: the given ones, or n new ones side by side, each of that size.

    New ones belong to a pyplot figure, which a notebook shows and ``plt.savefig`` writes, or to the figure
    that is given instead of axes. A single one is returned bare, several as an array.
    """
    figure_type = import_extra("matplotlib.figure", "drawing", "plots").Figure
    inches = (size[0] * n, size[1])
    if ax is None:
        pyplot = import_extra("matplotlib.pyplot", "drawing", "plots")
        return pyplot.subplots(1, n, figsize=inches, layout="constrained")[1]
    if isinstance(ax, figure_type):
        ax.set_size_inches(inches)
        return ax.subplots(1, n)
    return ax


def draw_matching(
    matched: Floats, random: Floats, columns: Sequence[str], differences: Floats, ax: Any = None
) -> Any:
    """Draw distances and balance on two axes; on a single given one, distances only.

    ``differences`` has the shape (3, columns): before, and after for unprivileged and for privileged rows.
    """
    height = 3.6 + 0.16 * max(0, min(len(columns), _MAX_COLUMNS) - 12)
    axes = new_axes(2, ax, size=(5.0, height))
    first, *others = np.atleast_1d(axes)
    farthest = max(matched.max(initial=0.0), np.quantile(random, 0.995) if len(random) else 0.0)
    bins = np.linspace(0.0, farthest or 1.0, 41)
    for values, color, name in ((random, GREY, "random"), (matched, BLUE, "matched")):
        mean = f", mean {values.mean():.2f}" if len(values) else ""
        first.hist(values, bins, color=color, alpha=0.7, label=name + mean)
    first.set(xlabel="distance to the reference", ylabel="rows", title="Matched and random pairs")
    first.legend(frameon=False)
    for other in others:
        _draw_balance(columns, differences, other)
    return axes


def _draw_balance(columns: Sequence[str], differences: Floats, ax: Any) -> None:
    """Draw the absolute differences of each column before and after matching, the largest on top."""
    size = np.abs(differences)
    order = np.argsort(np.nan_to_num(size[0], nan=-1.0), kind="stable")[-_MAX_COLUMNS:]
    places = np.arange(len(order))
    # An infinite difference has no place on the axis; the label says so.
    finite = np.where(np.isfinite(size), size, np.nan)[:, order]
    names = [as_label(columns[k]) + (" (infinite)" if np.isinf(size[0, k]) else "") for k in order]
    ax.hlines(places, np.nanmin(finite, axis=0, initial=np.inf), np.nanmax(finite, axis=0, initial=0), GREY)
    ax.plot(finite[0], places, "o", color=ORANGE, mfc="none", label="before matching")
    ax.plot(finite[1], places, "v", color=BLUE, label="after, unprivileged rows")
    ax.plot(finite[2], places, "^", color=BLUE, label="after, privileged rows")
    ax.axvline(0.1, color=GREY, linestyle=":", linewidth=1)
    ax.set_yticks(places, names)
    most = f", the {_MAX_COLUMNS} largest of {len(columns)}" if len(columns) > _MAX_COLUMNS else ""
    ax.set(xlabel="absolute standardized mean difference", xlim=(0, None), title=f"Balance by column{most}")
    ax.legend(frameon=False, loc="best")


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
    performance: Floats,
    minimized: Floats,
    on_front: Bools,
    taken: int,
    labels: tuple[str, str],
    ax: Any = None,
) -> Any:
    """Draw every candidate, the Pareto front, the baseline (the first) and the recommended one."""
    ax = new_axes(1, ax)
    ax.scatter(minimized, performance, s=18, color=GREY, label="candidates")
    order = np.flatnonzero(on_front)[np.argsort(minimized[on_front])]
    ax.plot(minimized[order], performance[order], "o-", color=BLUE, markersize=5, label="Pareto front")
    ax.scatter(minimized[:1], performance[:1], marker="s", color="black", zorder=3, label="baseline")
    at = minimized[[taken]], performance[[taken]]
    ax.scatter(*at, marker="*", s=160, color=ORANGE, zorder=4, label="recommended")
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.legend()
    return ax


def draw_limits(parts: dict[str, tuple[Floats, ...]], performance: str, axes: Any = None) -> Any:
    """Draw performance, a level and the ends of its interval, against the limit on each of some measures."""
    axes = new_axes(len(parts), axes, size=(3.0, 2.8))
    for ax, (label, (limit, value, low, high)) in zip(np.atleast_1d(axes), parts.items(), strict=True):
        ax.errorbar(limit, value, yerr=np.clip([value - low, high - value], 0, None), fmt="o-", color=BLUE)
        ax.set(title=label, xlabel="at most")
    np.atleast_1d(axes)[0].set_ylabel(performance)
    return axes


def draw_fairness(names: Sequence[str], sides: Sequence[Floats], ax: Any = None) -> Any:
    """Draw metrics of one model, or before and after; a side has their values and ends of intervals."""
    ax = new_axes(1, ax, size=(5.0, 0.62 * len(names) + 0.9))
    places = np.arange(len(names))[::-1]
    looks = [(0.14, ORANGE, "s", "before"), (-0.14, BLUE, "o", "after")]
    if len(sides) == 1:
        looks = [(0.0, ORANGE, "s", "the model")]
    for (value, low, high), (shift, color, marker, label) in zip(sides, looks, strict=True):
        look = {"fmt": marker, "color": color, "markersize": 6, "elinewidth": 2, "label": label}
        ax.errorbar(value, places + shift, xerr=np.clip([value - low, high - value], 0, None), **look)
    ax.set_yticks(places, names)
    # The line at 0 shows which intervals reach below it.
    _tidy(ax, len(names))
    ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.8)
    ax.tick_params(length=0)
    if len(sides) > 1:
        ax.legend(frameon=False, loc="best")
    return ax


def draw_columns(
    names: Sequence[str], phi: Floats, side: Sides, sides: Sequence[str], threshold: float, ax: Any = None
) -> Any:
    """Draw the attributions of each column as a swarm, the unprivileged group above, the privileged below."""
    ax = new_axes(1, ax, size=(5.0, 0.52 * len(names) + 1.3))
    for group, color, direction in ((0, ORANGE, 1.0), (1, BLUE, -1.0)):
        points: list[Floats] = [np.empty((2, 0))]
        for k, place in enumerate(range(len(names))[::-1]):
            values = thin(phi[side == group, k])
            points.append(np.stack([values, place + direction * (0.07 + _offsets(values))]))
        x, y = np.hstack(points)
        label = f"{as_label(sides[group])} ({'privileged' if group else 'unprivileged'})"
        ax.plot(x, y, "o", color=color, markersize=2.6, alpha=0.55, markeredgewidth=0, label=label)
    _tidy(ax, len(names))
    if np.isfinite(threshold):
        ax.axvline(threshold, color=GREY, linestyle="--", linewidth=1, label=f"threshold {threshold:.3g}")
    ax.set_yticks(range(len(names))[::-1], [as_label(name) for name in names])
    ax.set_xlabel("what the column adds to a row's risk (phi)")
    ax.tick_params(axis="y", length=0)
    # Below each other: names of several groups are too long to stand side by side.
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=1, markerscale=2)
    return ax


def _tidy(ax: Any, n_lines: int) -> None:
    """Give axes a line at 0 and room for so many lines of a list."""
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_ylim(-0.6, n_lines - 0.4)
    ax.spines[["top", "right", "left"]].set_visible(False)


def thin(values: Floats, most: int = _MAX_POINTS) -> Floats:
    """Return the nonzero values, sorted; of too many, evenly spaced ranks that include both ends."""
    values = np.sort(values[np.isfinite(values) & (np.abs(values) > 1e-12)])
    if len(values) > most:
        values = values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]
    return values


def draw_risks(before: Floats, after: Floats | None = None, ax: Any = None) -> Any:
    """Draw the share of rows that have at least some risk, before and after."""
    ax = new_axes(1, ax, size=(5.0, 3.2))
    looks = [(before, ORANGE, "all rows" if after is None else "before"), (after, BLUE, "after")]
    for values, color, label in looks:
        if values is None:
            continue
        label += f", mean {values.mean():.4g}" if len(values) else ", mean none"
        # A point where the risk changes, and of many rows a few hundred.
        risk = np.sort(values)
        at: Any = np.unique(np.linspace(0, max(0, len(risk) - 1), 400).astype(np.int64)) if len(risk) else []
        shares = 100 * (1 - np.asarray(at) / max(1, len(risk)))
        ax.step(risk[at] if len(risk) else [], shares, color=color, linewidth=2, where="pre", label=label)
    ax.set(xlabel="discriminative risk of a row", ylabel="rows with at least that risk (%)", ylim=(0, 102))
    ax.set_xlim(0, None)
    ax.grid(color=GREY, alpha=0.25, linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def draw_outcomes(
    names: Sequence[str], ends: Floats, label: str, line: float | None = None, ax: Any = None
) -> Any:
    """Draw a rate of each group with a line to compare with; ``ends`` has values and ends of intervals."""
    ax = new_axes(1, ax, size=(5.0, 0.36 * len(names) + 1.3))
    value, low, high = ends
    places = np.arange(len(names))[::-1]
    ax.hlines(places, low, high, BLUE, linewidth=2)
    ax.plot(value, places, "o", color=BLUE, markersize=6)
    if line is not None and np.isfinite(line):
        said = "four fifths of the highest rate"
        ax.axvline(line, color=ORANGE, linestyle="--", linewidth=1.2, label=said)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    ax.set_yticks(places, [as_label(name) for name in names])
    _tidy(ax, len(names))
    ax.set_xlabel(as_label(label) if len(label) > 60 else label.replace("$", r"\$"))
    ax.grid(axis="x", color=GREY, alpha=0.25, linewidth=0.8)
    ax.tick_params(axis="y", length=0)
    return ax


def draw_thresholds(
    thresholds: Sequence[float], cells: Sequence[int], risk: Sequence[float], chosen: int, ax: Any = None
) -> Any:
    """Draw the mean risk of the model against the number of cells that would change."""
    ax = new_axes(1, ax, size=(5.0, 2.9))
    ax.plot(cells, risk, "o-", color=BLUE, markersize=4)
    if chosen >= 0:
        label = f"threshold {thresholds[chosen]:.3g}"
        ax.plot(cells[chosen], risk[chosen], "*", color=ORANGE, markersize=14, label=label)
        ax.legend(frameon=False)
    ax.set(xlabel="cells that would change", ylabel="mean risk", ylim=(0, None))
    ax.grid(color=GREY, alpha=0.25, linewidth=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _offsets(values: Floats) -> Floats:
    """Return how far each sorted value is drawn from its line: the more neighbors, the farther."""
    if not len(values):
        return values
    bins = np.linspace(values[0], values[-1], _BINS)
    at = np.searchsorted(bins, values)
    # Multiples of the golden ratio space the values of a bin evenly; a fuller bin spreads wider.
    order = np.arange(len(values)) - np.searchsorted(at, at)
    sizes = np.bincount(at)
    return np.asarray(_SPREAD * (order * _GOLDEN % 1) * sizes[at] / max(sizes.max(), 8))
