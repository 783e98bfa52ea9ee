"""``threshold``: how Shapley values are spread over intervals, and what each threshold achieves."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from paper.figures import draw_intervals, draw_thresholds
from paper.jobs import Experiment, Findings, Job, Options, Record
from paper.methods import (
    MEASURES,
    THRESHOLD,
    fit_model,
    judge,
    reaches,
    records_of,
    repair,
    replace_values,
)
from paper.settings import SETTINGS, Fold
from paper.tables import (
    SPREAD_LEGEND,
    compare,
    detail,
    far_count,
    label_of,
    markdown,
    means_of,
    spread_table,
    summarize,
)

#: The settings that the paper shows.
KEYS = ("german:sex", "compas:sex", "adult:sex")
#: The thresholds that are tried; they are the ends of the intervals too.
THRESHOLDS = tuple(k / 100 for k in range(1, 11))
INTERVALS = (
    "under 0.01",
    *(f"{low:.2f} to {high:.2f}" for low, high in pairwise(THRESHOLDS)),
    "0.10 and over",
)
_SHOWN = (*MEASURES, "edits")


def plan(options: Options) -> list[Job]:
    """Return a job for each fold of the three settings that the paper shows."""
    return [
        Job(
            f"{key}/fold {fold}",
            measure_thresholds,
            (key, fold, options.folds, options.random_state),
            SETTINGS[key].seconds * 15,
        )
        for key in options.settings
        if key in KEYS
        for fold in range(options.folds)
    ]


def measure_thresholds(key: str, number: int, n_folds: int, random_state: int) -> list[Record]:
    """Return how many Shapley values each interval has, and the metrics at each threshold, on one fold."""
    fold = Fold.load(key, "whole", 1, number, n_folds, random_state)
    model = fit_model(fold.X, fold.y)
    # Estimated values are as precise as the smallest threshold needs.
    repaired = repair(fold, model, threshold=min(THRESHOLDS))
    phi = repaired.explanation.values
    lines: list[Record] = [
        {**fold.names, "interval": interval, "positive": positive, "negative": negative}
        for interval, positive, negative in zip(INTERVALS, *count_intervals(phi), strict=True)
    ]
    found = judge(model, fold) | {"edits": 0}
    lines += records_of(found, **fold.names, method="Baseline", threshold=None)
    for threshold in THRESHOLDS:
        edited = replace_values(fold.X, repaired.explanation.match_plan, phi, threshold)
        found = judge(fit_model(edited, fold.y), fold) | {"edits": (edited != fold.X).sum()}
        lines += records_of(found, **fold.names, method=_method(threshold), threshold=threshold)
    return lines


def _method(threshold: float) -> str:
    """Return the paper's name for its own threshold, and another for others."""
    return "FairSHAP" if threshold == THRESHOLD else f"FairSHAP, T = {threshold:.2f}"


def count_intervals(phi: np.ndarray) -> tuple[list[int], list[int]]:
    """Return how many positive and how many negative Shapley values each interval has; 0 is in none.

    Examples
    --------
    >>> positive, negative = count_intervals(np.array([[0.0, 0.004, 0.01], [-0.2, 0.1, np.nan]]))
    >>> positive[:3], positive[-1], negative[-1]
    ([1, 1, 0], 1, 1)
    """
    counts = []
    for sign in (1, -1):
        sizes = sign * phi[sign * phi > 0]
        place = reaches(sizes[:, None], np.array(THRESHOLDS)).sum(axis=1)
        counts.append(np.bincount(place, minlength=len(INTERVALS)).tolist())
    return counts[0], counts[1]


def finish(records: list[Record], options: Options) -> Findings:
    """Return the intervals and the thresholds, the paper's figures beside those of its own threshold."""
    figures = [line for line in records if "metric" in line]
    by_method = {line["method"]: line["threshold"] for line in figures}
    compared = compare(summarize(figures, "main"))
    compared["threshold"] = compared["method"].map(by_method)
    compared["label"] = compared["setting"].map(label_of)
    intervals = _intervals([line for line in records if "interval" in line])
    shown = compared.assign(T=[_text(threshold) for threshold in compared["threshold"]])
    names = {"label": "setting", "T": "T"}
    page = [
        "# Thresholds",
        f"{options.folds} folds, seed 1, XGBoost with its defaults. In each fold the model is asked once; "
        "every threshold T then picks the cells whose Shapley value is at least T.",
        *_sentences(compared, intervals),
        "## Attributions by interval",
        "How many cells of a training fold have a Shapley value of that size, on average over the folds: "
        "positive ones, which a threshold at the lower end would edit, and negative ones, which it would "
        "not. Cells with a Shapley value of exactly 0 are not counted.",
        _intervals_table(intervals),
        "## Metrics by threshold",
        f"{SPREAD_LEGEND} The paper's figures are those of its main table, T = {THRESHOLD:.2f}.",
        spread_table(shown, _SHOWN, names),
    ]
    return Findings(
        frames={
            "threshold": compared,
            "threshold_folds": detail(figures),
            "threshold_intervals": intervals,
        },
        pages={"threshold": "\n\n".join(page) + "\n"},
        figures={
            "threshold_intervals": lambda: draw_intervals(intervals),
            "threshold": lambda: draw_thresholds(compared, _SHOWN),
        },
        summary=far_count(compared),
    )


def _text(threshold: float) -> str:
    return "none (baseline)" if np.isnan(threshold) else f"{threshold:.2f}"


def _intervals(records: list[Record]) -> pd.DataFrame:
    """Return the mean counts over the folds, and the share of an interval among those of 0.01 or more."""
    frame = detail(records)
    means = frame.groupby(["setting", "interval"], sort=False)[["positive", "negative"]].mean().reset_index()
    large = means["positive"].where(means["interval"] != INTERVALS[0])
    means["share"] = large / large.groupby(means["setting"]).transform("sum")
    means.insert(1, "label", means["setting"].map(label_of))
    return means


def _intervals_table(intervals: pd.DataFrame) -> str:
    lines = [
        [
            line["label"],
            line["interval"],
            f"{line['positive']:.1f}",
            "" if np.isnan(line["share"]) else f"{line['share']:.1%}",
            f"{line['negative']:.1f}",
        ]
        for _, line in intervals.iterrows()
    ]
    header = ["setting", "size", "positive", "share of the positive ones from 0.01 on", "negative"]
    return markdown(header, lines)


def _sentences(compared: pd.DataFrame, intervals: pd.DataFrame) -> list[str]:
    """Return what the figures say, one sentence or two for each setting."""
    means = means_of(compared, ["label", "method"])
    texts = []

    def change(line: Any, base: Any) -> str:
        risk, accuracy = line["dr"] / base["dr"] - 1, line["accuracy"] - base["accuracy"]
        return f"DR changes by {risk:+.0%} and accuracy by {accuracy:+.4f} with {line['edits']:.0f} edits"

    for label, group in intervals.groupby("label", sort=False):
        low = group["share"][group["interval"].isin(INTERVALS[1:5])].sum()
        own = means.loc[label]
        base, paper = (own.xs(method) for method in ("Baseline", _method(THRESHOLD)))
        tried = own.loc[[_method(threshold) for threshold in THRESHOLDS]]
        best = int(tried["dr"].to_numpy().argmin())
        steps = int((np.diff(tried["dr"]) > 0).sum())
        texts.append(
            f"**{label}.** {low:.0%} of the positive Shapley values of 0.01 or more are under 0.05 (the "
            f"paper: most edits concentrate there). At T = {THRESHOLD:.2f} {change(paper, base)}; DR is "
            f"lowest at T = {THRESHOLDS[best]:.2f}, where {change(tried.iloc[best], base)}. A smaller T "
            f"means less DR in {steps} of {len(THRESHOLDS) - 1} steps."
        )
    return texts


EXPERIMENT = Experiment("threshold", "Shapley values by interval, metrics by threshold", plan, finish)
