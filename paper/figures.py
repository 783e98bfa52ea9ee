"""The figures of all experiments."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper.tables import title_of

# Colors that people with color blindness can tell apart.
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#7f7f7f"
_OTHERS = (GREY, "#009e73", "#cc79a7", "#56b4e9", "#e69f00", BLUE)
_EXPLAINERS = ("#0072b2", "#009e73", "#cc79a7")
_SETTINGS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKS = "osD^vPX"

_DISTANCES = {"matched": ("to the reference", BLUE), "random": ("to a random row", GREY)}
_PARTS = {"whole": "all rows", "tenth": "a tenth of the rows", "artefact": "the paper's artefact"}
_COSTS = {
    "row_seconds": "CPU milliseconds a row",
    "largest_error": "largest error of a value",
    "share_differing": "edits that differ, % of the exact ones",
}
_CHANGES = {
    "accuracy": "accuracy, change",
    "dr": "DR, relative to the baseline",
    "dp": "DP, relative to the baseline",
    "eo": "EO, relative to the baseline",
}


def _grid(n_rows: int, n_columns: int, *, size: tuple[float, float]) -> Any:
    """Return new axes, each of that size, as an array of two dimensions, in a figure that pyplot ignores."""
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    figure.set_size_inches(size[0] * n_columns, size[1] * n_rows)
    return figure.subplots(n_rows, n_columns, squeeze=False)


def _legend_below(ax: Any, n_columns: int | None = None) -> None:
    """Put the legend of some axes below their whole figure."""
    handles, names = ax.get_legend_handles_labels()
    ax.figure.legend(
        handles, names, loc="outside lower center", ncols=n_columns or len(handles), frameon=False
    )


def _lines_axis(axes: Sequence[Any], labels: Sequence[str], height: int = 1) -> None:
    """Put the labels beside the first axes, the first on top, with a rule after each ``height`` of them."""
    for ax in axes:
        ax.set_yticks(range(len(labels)), labels if ax is axes[0] else [""] * len(labels))
        ax.set_ylim(len(labels) - 0.5, -0.5)
        for between in range(height, len(labels), height):
            ax.axhline(between - 0.5, color=GREY, lw=0.4, alpha=0.5)


def _wrapped(label: str) -> str:
    return label.replace(", ", "\n")


def draw_comparison(compared: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str]) -> Any:
    """Draw each metric: by setting (``label``) and method ours with its deviation, the paper's hollow."""
    labels = list(dict.fromkeys(compared["label"]))
    height = 1.2 + 0.16 * len(labels) * (len(methods) + 1)
    axes = _grid(1, len(metrics), size=(3.4, height))[0]
    others = iter(_OTHERS)
    colors = {method: ORANGE if method == "FairSHAP" else next(others) for method in methods}
    for ax, metric in zip(axes, metrics, strict=True):
        lines = compared[compared["metric"] == metric]
        for k, method in enumerate(methods):
            own = lines[lines["method"] == method]
            at = own["label"].map(labels.index).to_numpy(dtype=float) + (k - (len(methods) - 1) / 2) * 0.16
            style = {"color": colors[method], "ms": 4.5}
            ax.errorbar(own["mean"], at, xerr=own["std"], fmt="o", lw=1, label=method, **style)
            ax.plot(own["paper_mean"], at, "D", mfc="none", **style)
        ax.set_title(title_of(metric))
        ax.margins(x=0.08)
    _lines_axis(axes, labels)
    axes[0].plot([], [], "D", color="black", mfc="none", ms=4.5, label="the paper's")
    _legend_below(axes[0])
    return axes


def draw_changes(signs: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw how each metric changes relative to the baseline, with its interval, the paper's hollow."""
    labels = list(dict.fromkeys(signs["label"]))
    axes = _grid(1, len(metrics), size=(3.4, 1.2 + 0.36 * len(labels)))[0]
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
    _lines_axis(axes, labels)
    _legend_below(axes[0])
    return axes


def draw_distances(near: pd.DataFrame) -> Any:
    """Draw for each table and group the mean distances with their deviations, the paper's hollow."""
    lines = near[near["metric"] == "distance"]
    keys = list(dict.fromkeys(zip(lines["dataset"], lines["part"], lines["group"], strict=True)))
    ax = _grid(1, 1, size=(7.5, 1.1 + 0.42 * len(keys)))[0, 0]
    for k, (method, (name, color)) in enumerate(_DISTANCES.items()):
        own = lines[lines["method"] == method]
        at = np.array(
            [keys.index(key) for key in zip(own["dataset"], own["part"], own["group"], strict=True)]
        )
        # The paper's just under ours.
        for means, stds, shift, marker, label in (
            (own["mean"], own["std"], -0.14, {"fmt": "o"}, name),
            (own["paper_mean"], own["paper_std"], 0.14, {"fmt": "D", "mfc": "none"}, f"{name}, the paper's"),
        ):
            ax.errorbar(
                means, at + shift + 0.04 * k, xerr=stds, color=color, ms=4.5, lw=1, label=label, **marker
            )
    names = {"Kdd": "Census KDD", "all": "both groups"}
    labels = [
        f"{names.get(table, table)}, {_PARTS[part]}: {names.get(group, group)}" for table, part, group in keys
    ]
    _lines_axis([ax], labels)
    ax.set_xlim(left=0)
    ax.set_xlabel("distance, mean and standard deviation over the rows of the group")
    _legend_below(ax, 2)
    return ax


def draw_explainers(lines: pd.DataFrame) -> Any:
    """Draw cost, error and wrong decisions of each explainer (``method``) on each table (``label``).

    The methods with a ``largest_error`` of NaN are the exact ones, with which the others are compared.
    """
    labels, methods = (list(dict.fromkeys(lines[name])) for name in ("label", "method"))
    axes = _grid(1, len(_COSTS), size=(3.9, 1.0 + 0.26 * len(labels) * len(methods)))[0]
    colors = iter(_EXPLAINERS)
    by_method = {
        method: ORANGE if lines.loc[lines["method"] == method, "largest_error"].isna().all() else next(colors)
        for method in methods
    }
    at = [(label, method) for label in labels for method in methods]
    for ax, (column, title) in zip(axes, _COSTS.items(), strict=True):
        for _, line in lines.iterrows():
            value = line[column] * (1000 if column == "row_seconds" else 1)
            y = at.index((line["label"], line["method"]))
            if np.isnan(value):
                ax.text(0.02, y, "exact", transform=ax.get_yaxis_transform(), va="center", color=ORANGE)
                continue
            # Dots, not bars: a logarithmic axis has no zero for a bar to begin at.
            ax.plot(value, y, "o", ms=7, color=by_method[line["method"]])
            text = f"{value:.2g}" if value < 100 else f"{value:.0f}"
            ax.annotate(text, (value, y), (7, 0), textcoords="offset points", va="center", size=8)
        if column != "share_differing":
            ax.set_xscale("log")
        ax.margins(x=0.25)
        if column == "share_differing":
            ax.set_xlim(left=-0.05 * ax.get_xlim()[1])
        ax.grid(axis="x", alpha=0.3)
        ax.set_title(title)
    _lines_axis(axes, [f"{label}, {method}" for label, method in at], len(methods))
    return axes


def draw_intervals(intervals: pd.DataFrame) -> Any:
    """Draw, for each setting, how many Shapley values lie in each interval from 0.01 on."""
    labels = list(dict.fromkeys(intervals["label"]))
    axes = _grid(1, len(labels), size=(4.2, 3.8))[0]
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
        ax.set_xlabel("size of the Shapley value")
        ax.margins(y=0.1)
    axes[0].set_ylabel("cells of a training fold")
    _legend_below(axes[0])
    return axes


def draw_thresholds(compared: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw, for each setting, each metric against the threshold, with a band of one deviation."""
    labels = list(dict.fromkeys(compared["label"]))
    axes = _grid(len(labels), len(metrics), size=(2.6, 2.3))
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
            ax.set_title(title_of(metric))
        row[0].set_ylabel(label)
    for ax in axes[-1]:
        ax.set_xlabel("threshold T")
    _legend_below(axes[0, 0])
    return axes


def draw_reductions(curves: pd.DataFrame, paper: Mapping[str, float]) -> Any:
    """Draw for each setting by how much DR is lower after so many edits, and the paper's at the end."""
    labels = list(dict.fromkeys(curves["label"]))
    n_columns = min(4, len(labels))
    axes = _grid(-(-len(labels) // n_columns), n_columns, size=(3.3, 2.8))
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
    _legend_below(axes[0, 0])
    return axes[0]


def draw_metric_curves(curves: pd.DataFrame, metrics: Sequence[str]) -> Any:
    """Draw for each setting each metric after so many edits, and the paper's at both ends."""
    labels = list(dict.fromkeys(curves["label"]))
    axes = _grid(len(labels), len(metrics), size=(2.9, 2.1))
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
        ax.set_title(title_of(metric))
    for ax in axes[-1]:
        ax.set_xlabel("edits")
    _legend_below(axes[0, 0])
    return axes[0]


def _curve(ax: Any, own: pd.DataFrame, metric: str) -> np.ndarray:
    """Draw one metric with its band; return the numbers of edits."""
    lines = own[own["metric"] == metric]
    edits = own[own["metric"] == "edits"]["mean"].to_numpy()
    mean, std = lines["mean"].to_numpy(), lines["std"].to_numpy()
    ax.plot(edits, mean, color=BLUE, label="FairSHAP, mean over the folds")
    ax.fill_between(edits, mean - std, mean + std, color=BLUE, alpha=0.2, lw=0, label="± 1 std")
    return edits


def draw_variants(relative: pd.DataFrame, methods: Sequence[str]) -> Any:
    """Draw the change of accuracy, and DR, DP and EO relative to the baseline: a mark for each setting."""
    known = [name for name in methods if name in relative.index.get_level_values("method")]
    names = ["FairSHAP (the paper's)" if name == "FairSHAP" else name for name in known]
    labels = list(relative.index.unique("label"))
    axes = _grid(1, len(_CHANGES), size=(3.4, 1.4 + 0.3 * len(known)))[0]
    for ax, metric in zip(axes, _CHANGES, strict=True):
        for k, label in enumerate(labels):
            own = relative.loc[label].reindex(known)
            at = np.arange(len(known)) + (k - (len(labels) - 1) / 2) * 0.09
            ax.plot(own[metric], at, _MARKS[k], color=_SETTINGS[k], ms=4.5, label=label)
    _lines_axis(axes, names)
    for ax, (metric, title) in zip(axes, _CHANGES.items(), strict=True):
        ax.axvline(0 if metric == "accuracy" else 1, color=GREY, ls="--", lw=1)
        ax.set_title(title, fontsize=9)
        ax.xaxis.set_major_formatter("{x:+.3f}" if metric == "accuracy" else "{x:.0%}")
    _legend_below(axes[0])
    return axes
