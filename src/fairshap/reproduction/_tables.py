"""Our figures beside the paper's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap.reproduction._experiment import Record
from fairshap.reproduction._published import KEYS, published
from fairshap.reproduction._settings import SETTINGS

#: Differences of more standard deviations of the paper than this are marked.
FAR = 2.0
MARK = "◆"
LEGEND = (
    "Each cell: the paper's figure / ours (the difference in units of the paper's standard deviation, where "
    f"it gives one that is not 0). {MARK} marks a difference of more than {FAR:g}."
)

_PARTS = {"whole": "", "tenth": ", a tenth of the rows", "artefact": ", the paper's artefact"}


def label_of(setting: str, part: str = "whole") -> str:
    """Return the name of a setting in tables and figures.

    Examples
    --------
    >>> label_of("compas:race")
    'COMPAS (race)'
    """
    return f"{SETTINGS[setting].label}{_PARTS[part]}"


def detail(records: Sequence[Record]) -> pd.DataFrame:
    """Return the records as a frame, one line for each figure of each fold."""
    return pd.DataFrame.from_records(list(records))


def summarise(records: Sequence[Record], table: str) -> pd.DataFrame:
    """Return the mean of each figure, and its deviation, over the records that differ in seed and fold only.

    The columns are those of the paper's figures, ``setting`` and ``part`` before, ``n`` behind. A record that
    comes with a deviation of its own, as fidelity does, counts with that.
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
    both = ours.merge(paper, how="left", on=list(KEYS))
    known = both["paper_std"].where(both["paper_std"] > 0)
    both["difference"] = (both["mean"] - both["paper_mean"]) / known
    return both


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
    if np.isnan(line["difference"]):
        return text
    mark = f" {MARK}" if abs(line["difference"]) > FAR else ""
    return f"{text} ({line['difference']:+.1f}{mark})"


def table_of(compared: pd.DataFrame, metrics: Sequence[str], more: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table: one line for each setting and method, one column for each metric.

    Parameters
    ----------
    compared : DataFrame
        What :func:`compare` gives.
    metrics : sequence of str
        The columns.
    more : dict of dict
        Further columns: their title, and a text for each method.
    """
    names = {"accuracy": "accuracy", "fidelity": "fidelity", "training_ar": "TrainingAR"}
    header = ["setting", "method", *(names.get(metric, metric.upper()) for metric in metrics), *more]
    lines = []
    key: Any
    for key, group in compared.groupby(["setting", "part", "method"], sort=False):
        setting, part, method = key
        by_metric = {line["metric"]: cell(line) for _, line in group.iterrows()}
        cells = [by_metric.get(metric, "") for metric in metrics]
        extra = [texts.get(method, "") for texts in more.values()]
        lines.append([label_of(setting, part), method, *cells, *extra])
    return markdown(header, lines)


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


def far_count(compared: pd.DataFrame) -> dict[str, int]:
    """Return how many figures have one of the paper's to be compared with, and how many are far from it."""
    difference = compared["difference"].dropna()
    return {"compared": len(difference), "far": int((difference.abs() > FAR).sum())}
