"""Figures of a reproduction: ours beside the paper's."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from fairshap._figures.axes import BLUE, GREY, ORANGE
from fairshap._figures.grid import legend_below, new_grid

# Colours that people who see colours differently tell apart; FairSHAP's is the one that stands out.
_COLOURS = (GREY, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", BLUE)


def _colours(methods: Sequence[str]) -> dict[str, str]:
    others = iter(_COLOURS)
    return {method: ORANGE if method == "FairSHAP" else next(others) for method in methods}


def _settings_axis(axes: Any, labels: Sequence[str]) -> None:
    """Put the settings beside the first axes, the first on top, with a line between them."""
    for ax in axes:
        ax.set_yticks(range(len(labels)), labels if ax is axes[0] else [""] * len(labels))
        ax.set_ylim(len(labels) - 0.5, -0.5)
        for between in range(1, len(labels)):
            ax.axhline(between - 0.5, color=GREY, lw=0.4, alpha=0.5)


def draw_comparison(compared: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str]) -> Any:
    """Draw each metric: by setting (``label``) and method ours with its deviation, and the paper's hollow."""
    labels = list(dict.fromkeys(compared["label"]))
    height = 1.2 + 0.16 * len(labels) * (len(methods) + 1)
    axes = new_grid(1, len(metrics), size=(3.4, height))[0]
    colours = _colours(methods)
    for ax, metric in zip(axes, metrics, strict=True):
        lines = compared[compared["metric"] == metric]
        for k, method in enumerate(methods):
            own = lines[lines["method"] == method]
            at = own["label"].map(labels.index).to_numpy(dtype=float) + (k - (len(methods) - 1) / 2) * 0.16
            style = {"color": colours[method], "ms": 4.5}
            ax.errorbar(own["mean"], at, xerr=own["std"], fmt="o", lw=1, label=method, **style)
            ax.plot(own["paper_mean"], at, "D", mfc="none", **style)
        ax.set_title(metric if metric == "accuracy" else metric.upper())
        ax.margins(x=0.08)
    _settings_axis(axes, labels)
    axes[0].plot([], [], "D", color="black", mfc="none", ms=4.5, label="the paper's")
    legend_below(axes[0])
    return axes


def draw_changes(signs: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw how each metric changes relative to the baseline, with its interval, and the paper's hollow."""
    labels = list(dict.fromkeys(signs["label"]))
    axes = new_grid(1, len(metrics), size=(3.4, 1.2 + 0.36 * len(labels)))[0]
    for ax, metric in zip(axes, metrics, strict=True):
        lines = signs[signs["metric"] == metric]
        at = lines["label"].map(labels.index).to_numpy(dtype=float)
        change, low, high = (lines[name] / lines["baseline"] for name in ("change", "low", "high"))
        ax.errorbar(
            change, at, xerr=[change - low, high - change], fmt="o", color=BLUE, ms=5, label="ours, 95 %"
        )
        paper = lines["paper_change"] / lines["paper_baseline"]
        ax.plot(paper, at, "D", color="black", mfc="none", ms=5, label="the paper's")
        ax.axvline(0, color=GREY, lw=0.8)
        ax.xaxis.set_major_formatter("{x:+.0%}")
        ax.set_title(f"{metric.upper()}, change")
    _settings_axis(axes, labels)
    legend_below(axes[0])
    return axes
