"""Figures of a reproduction: metrics against the number of edits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.axes import BLUE, GREY, ORANGE
from fairshap._figures.grid import legend_below, new_grid

_COLUMNS = 4


def draw_reductions(curves: pd.DataFrame, paper: Mapping[str, float]) -> Any:
    """Draw for each setting by how much DR is lower after so many edits, and the paper's at the end."""
    labels = list(dict.fromkeys(curves["label"]))
    n_columns = min(_COLUMNS, len(labels))
    axes = new_grid(-(-len(labels) // n_columns), n_columns, size=(3.3, 2.8))
    for ax in axes.flat[len(labels) :]:
        ax.remove()
    for ax, label in zip(axes.flat, labels, strict=False):
        edits = _curve(ax, curves[curves["label"] == label], "dr_reduction")
        ax.axhline(0, color=GREY, ls="--", lw=1, label="the model as it is")
        ax.plot(edits[-1], paper[label], "D", color=ORANGE, mfc="none", label="the paper's main table")
        ax.yaxis.set_major_formatter("{x:.0%}")
        ax.set_title(_wrapped(label), fontsize=9)
        ax.set_xlabel("edits")
    for row in axes:
        row[0].set_ylabel("DR reduction")
    legend_below(axes[0, 0])
    return axes[0]


def draw_metric_curves(curves: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw for each setting each metric after so many edits, and the paper's at both ends."""
    labels = list(dict.fromkeys(curves["label"]))
    axes = new_grid(len(labels), len(metrics), size=(2.9, 2.1))
    for row, label in zip(axes, labels, strict=True):
        own = curves[curves["label"] == label]
        for ax, metric in zip(row, metrics, strict=True):
            edits = _curve(ax, own, metric)
            lines = own[own["metric"] == metric]
            ax.axhline(lines["mean"].iloc[0], color=GREY, ls="--", lw=1, label="the model as it is")
            paper = lines["paper_mean"].to_numpy()
            ax.plot(edits, paper, "D", color=ORANGE, mfc="none", ms=5, label="the paper's main table")
        row[0].set_ylabel(_wrapped(label))
    for ax, metric in zip(axes[0], metrics, strict=True):
        ax.set_title(metric.upper() if metric != "accuracy" else metric)
    for ax in axes[-1]:
        ax.set_xlabel("edits")
    legend_below(axes[0, 0])
    return axes[0]


def _curve(ax: Any, own: pd.DataFrame, metric: str) -> np.ndarray:
    """Draw one metric with its band; return the numbers of edits."""
    lines = own[own["metric"] == metric]
    edits = own[own["metric"] == "edits"]["mean"].to_numpy()
    mean, std = lines["mean"].to_numpy(), lines["std"].to_numpy()
    ax.plot(edits, mean, color=BLUE, label="FairSHAP, mean over the folds")
    ax.fill_between(edits, mean - std, mean + std, color=BLUE, alpha=0.2, lw=0, label="± 1 std")
    return edits


def _wrapped(label: str) -> str:
    return label.replace(", ", "\n")
