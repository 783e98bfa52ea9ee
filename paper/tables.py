"""The published figures, and ours beside them as frames and as text."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from paper.jobs import Record
from paper.settings import SETTINGS

#: Differences of more standard deviations of the paper than this are marked.
FAR = 2.0
MARK = "◆"
LEGEND = (
    "Each cell: the paper's figure / ours (the difference in units of the paper's standard deviation, where "
    f"it gives one that is not 0). {MARK} marks a difference of more than {FAR:g}."
)
SPREAD_LEGEND = (
    "Each cell: the mean and the standard deviation over the folds; where the paper has the same figure it "
    "stands behind, with the difference in units of the paper's standard deviation where it gives one that "
    f"is not 0. {MARK} marks a difference of more than {FAR:g}."
)

_KEYS = ["table", "dataset", "sensitive", "model", "method", "metric"]
_PARTS = {"whole": "", "tenth": ", a tenth of the rows", "artefact": ", the paper's artefact"}
_TITLES = {"dr": "DR", "dp": "DP", "eo": "EO", "pqp": "PQP", "training_ar": "TrainingAR"}
_COUNTS = ("edits", "values")


@cache
def _read_published() -> pd.DataFrame:
    # Some tables lack a column: that is an empty text, not a missing one, so that figures can be joined.
    frame = pd.read_csv(Path(__file__).parent / "data" / "tables.csv", keep_default_na=False)
    for column in ("mean", "std"):
        frame[column] = pd.to_numeric(frame[column])
    return frame


def published(table: str | None = None) -> pd.DataFrame:
    """Return the paper's figures, one a line, of one table or of all.

    Examples
    --------
    >>> len(published()), len(published("main"))
    (428, 210)
    """
    frame = _read_published()
    return (frame if table is None else frame[frame["table"] == table]).reset_index(drop=True)


def label_of(setting: str, part: str = "whole") -> str:
    """Return the name of a setting in tables and figures.

    Examples
    --------
    >>> label_of("compas:race")
    'COMPAS (race)'
    """
    return f"{SETTINGS[setting].label}{_PARTS[part]}"


def labels_of(frame: pd.DataFrame) -> list[str]:
    """Return the label of each line."""
    return [label_of(*names) for names in zip(frame["setting"], frame["part"], strict=True)]


def title_of(metric: str) -> str:
    """Return what a metric is called in tables and figures.

    Examples
    --------
    >>> title_of("dr"), title_of("edits")
    ('DR', 'edits')
    """
    return _TITLES.get(metric, metric)


def detail(records: Sequence[Record]) -> pd.DataFrame:
    """Return the records as a frame, one line for each figure of each fold."""
    return pd.DataFrame.from_records(list(records))


def summarize(records: Sequence[Record], table: str) -> pd.DataFrame:
    """Return the mean and the standard deviation of each figure over seeds and folds.

    The columns are those of the published figures, with ``setting``, ``part`` and ``n``. A record with a
    deviation of its own, as fidelity has, counts with that.
    """
    frame = detail(records)
    if "std" not in frame:
        frame["std"] = np.nan
    by = ["setting", "part", "model", "method", "metric"]
    lines = []
    names: Any
    for names, group in frame.groupby(by, sort=False):
        line = dict(zip(by, names, strict=True))
        known = SETTINGS[line["setting"]]
        own = group["std"].mean()
        lines.append(
            {
                "table": table,
                "setting": line["setting"],
                "part": line["part"],
                "dataset": known.ablation if table == "ablation" else known.dataset,
                "sensitive": known.sensitive,
                "model": line["model"],
                "method": line["method"],
                "metric": line["metric"],
                "mean": group["value"].mean(),
                "std": group["value"].std(ddof=0) if np.isnan(own) else own,
                "n": len(group),
            }
        )
    return pd.DataFrame(lines)


def compare(ours: pd.DataFrame) -> pd.DataFrame:
    """Return our figures with the paper's beside them, and the difference in units of its deviation."""
    paper = published().rename(columns={"mean": "paper_mean", "std": "paper_std"})
    both = ours.merge(paper, how="left", on=_KEYS)
    known = both["paper_std"].where(both["paper_std"] > 0)
    both["difference"] = (both["mean"] - both["paper_mean"]) / known
    return both


def far_count(compared: pd.DataFrame) -> dict[str, int]:
    """Return how many figures can be compared with the paper's, and how many are far from it."""
    difference = compared["difference"].dropna()
    return {"compared": len(difference), "far": int((difference.abs() > FAR).sum())}


def means_of(compared: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the means with a column for each metric, in the order of the lines."""
    wide = compared.pivot(index=list(names), columns="metric", values="mean")
    order = pd.MultiIndex.from_frame(compared[list(names)].drop_duplicates())
    return wide.reindex(order)


def difference_of(line: pd.Series) -> str:
    """Return a difference from the paper as text, marked if it is large.

    Examples
    --------
    >>> difference_of(pd.Series({"difference": 2.5})), difference_of(pd.Series({"difference": -1.0}))
    ('+2.5 ◆', '-1.0')
    """
    return f"{line['difference']:+.1f}" + (f" {MARK}" if abs(line["difference"]) > FAR else "")


def cell(line: pd.Series) -> str:
    """Return a figure as text: the paper's, ours and the difference.

    Examples
    --------
    >>> cell(pd.Series({"mean": 0.5, "paper_mean": 0.4, "difference": 2.5}))
    '0.4000 / 0.5000 (+2.5 ◆)'
    """
    if pd.isna(line["mean"]) and pd.isna(line["paper_mean"]):
        return "-"
    text = " / ".join("-" if pd.isna(line[name]) else f"{line[name]:.4f}" for name in ("paper_mean", "mean"))
    return text if np.isnan(line["difference"]) else f"{text} ({difference_of(line)})"


def spread(line: pd.Series) -> str:
    """Return a figure with its deviation, and the paper's.

    Examples
    --------
    >>> spread(pd.Series({"metric": "dr", "mean": 0.5, "std": 0.1, "paper_mean": 0.4, "difference": 2.5}))
    '0.5000 ± 0.1000 (paper 0.4000, +2.5 ◆)'
    """
    digits = 0 if line["metric"] in _COUNTS else 4
    text = f"{line['mean']:.{digits}f} ± {line['std']:.{digits}f}"
    if np.isnan(line["paper_mean"]):
        return text
    text += f" (paper {line['paper_mean']:.4f}"
    return text + (")" if np.isnan(line["difference"]) else f", {difference_of(line)})")


def table_of(compared: pd.DataFrame, metrics: Sequence[str], more: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table: one line for each setting and method, one column for each metric.

    ``more`` has further columns: their title, and a text for each method.
    """
    lines = []
    key: Any
    for key, group in compared.groupby(["setting", "part", "method"], sort=False):
        setting, part, method = key
        by_metric = {line["metric"]: cell(line) for _, line in group.iterrows()}
        cells = [by_metric.get(metric, "") for metric in metrics]
        extra = [texts.get(method, "") for texts in more.values()]
        lines.append([label_of(setting, part), method, *cells, *extra])
    return markdown(["setting", "method", *map(title_of, metrics), *more], lines)


def spread_table(
    compared: pd.DataFrame, metrics: Sequence[str], names: dict[str, str], missing: str = ""
) -> str:
    """Return a Markdown table: one line for each value of the columns in ``names``, which gives their titles.

    ``missing`` is shown where there is no figure.
    """
    lines = []
    key: Any
    for key, group in compared.groupby(list(names), sort=False):
        cells = {line["metric"]: spread(line) for _, line in group.iterrows()}
        lines.append([*map(str, key), *(cells.get(metric, missing) for metric in metrics)])
    return markdown([*names.values(), *map(title_of, metrics)], lines)


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"|{'|'.join(row)}|" if row[0] == "---" else f"| {' | '.join(row)} |" for row in rows)
