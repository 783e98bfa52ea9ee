"""Figures of thresholds: attributions by interval, and metrics by threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap._figures.axes import BLUE, GREY, ORANGE
from fairshap._figures.grid import legend_below, new_grid


def draw_intervals(intervals: pd.DataFrame) -> Any:
    """Draw, for each setting, how many attributions lie in each interval from 0.01 on."""
    labels = list(dict.fromkeys(intervals["label"]))
    axes = new_grid(1, len(labels), size=(4.2, 3.8))[0]
    for ax, label in zip(axes, labels, strict=True):
        own = intervals[intervals["label"] == label]
        shown = own[own["share"].notna()]
        at = np.arange(len(shown))
        bars = ax.bar(at, shown["positive"], color=BLUE, label="positive: edited if T is that small")
        ax.bar_label(bars, [f"{n:.0f}" for n in shown["positive"]], fontsize=7)
        ax.bar(at, -shown["negative"], color=GREY, alpha=0.5, label="negative: never edited")
        # Between the intervals under 0.05 and those from there on.
        ax.axvline(3.5, color=ORANGE, ls="--", lw=1, label="the paper's T = 0.05")
        ax.axhline(0, color="black", lw=0.6)
        ax.set_xticks(at, shown["interval"], rotation=60, ha="right")
        ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        ax.set_title(f"{label}\n({own['positive'].iloc[0]:,.0f} positive ones are under 0.01)", fontsize=9)
        ax.set_xlabel("size of the attribution")
        ax.margins(y=0.1)
    axes[0].set_ylabel("cells of a training fold")
    legend_below(axes[0])
    return axes


def draw_thresholds(compared: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw, for each setting, each metric against the threshold, with a band of one deviation."""
    labels = list(dict.fromkeys(compared["label"]))
    axes = new_grid(len(labels), len(metrics), size=(2.6, 2.3))
    for row, label in zip(axes, labels, strict=True):
        for ax, metric in zip(row, metrics, strict=True):
            lines = compared[(compared["label"] == label) & (compared["metric"] == metric)]
            base, tried = lines[lines["threshold"].isna()], lines[lines["threshold"].notna()]
            if metric != "edits":
                ax.axhline(base["mean"].iloc[0], color=GREY, ls="--", lw=1, label="baseline")
            T, mean, std = (tried[name].to_numpy() for name in ("threshold", "mean", "std"))
            ax.plot(T, mean, "o-", color=BLUE, ms=3, label="FairSHAP, mean over the folds")
            ax.fill_between(T, mean - std, mean + std, color=BLUE, alpha=0.2, lw=0, label="± 1 std")
            paper = tried["paper_mean"].to_numpy()
            ax.plot(T, paper, "D", color=ORANGE, mfc="none", label="the paper's, T = 0.05")
            ax.set_title(metric.upper() if metric in ("dr", "dp", "eo", "pqp") else metric)
        row[0].set_ylabel(label)
    for ax in axes[-1]:
        ax.set_xlabel("threshold T")
    legend_below(axes[0, 0])
    return axes
