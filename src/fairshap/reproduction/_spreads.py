"""Means with their deviations over folds, and the paper's figure where it has one, as text."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fairshap.reproduction._tables import FAR, MARK, markdown

#: Figures that are counts, not shares or rates.
COUNTS = ("edits", "values")
SPREAD_LEGEND = (
    "Each cell: the mean and the standard deviation over the folds; where the paper has the same figure it "
    "stands behind, with the difference in units of the paper's standard deviation where it gives one that "
    f"is not 0. {MARK} marks a difference of more than {FAR:g}."
)


def title_of(metric: str) -> str:
    """Return what a metric is called in tables and figures.

    Examples
    --------
    >>> title_of("dr"), title_of("edits")
    ('DR', 'edits')
    """
    return metric.upper() if metric in ("dr", "dp", "eo", "pqp") else metric


def spread(line: pd.Series) -> str:
    """Return a figure with its deviation, and the paper's.

    Examples
    --------
    >>> spread(pd.Series({"metric": "dr", "mean": 0.5, "std": 0.1, "paper_mean": 0.4, "difference": 2.5}))
    '0.5000 ± 0.1000 (paper 0.4000, +2.5 ◆)'
    """
    digits = 0 if line["metric"] in COUNTS else 4
    text = f"{line['mean']:.{digits}f} ± {line['std']:.{digits}f}"
    if np.isnan(line["paper_mean"]):
        return text
    text += f" (paper {line['paper_mean']:.4f}"
    if np.isnan(line["difference"]):
        return text + ")"
    mark = f" {MARK}" if abs(line["difference"]) > FAR else ""
    return f"{text}, {line['difference']:+.1f}{mark})"


def spread_table(
    compared: pd.DataFrame, metrics: Sequence[str], names: dict[str, str], missing: str = ""
) -> str:
    """Return a Markdown table: a line for each way that figures are told apart, a column for each metric.

    Parameters
    ----------
    compared : DataFrame
        What :func:`compare` gives, with the columns of ``names``.
    metrics : sequence of str
        The metrics.
    names : dict
        The columns that tell lines apart, and their titles.
    missing : str
        What stands where there is no figure.
    """
    lines = []
    key: Any
    for key, group in compared.groupby(list(names), sort=False):
        cells = {line["metric"]: spread(line) for _, line in group.iterrows()}
        lines.append([*map(str, key), *(cells.get(metric, missing) for metric in metrics)])
    return markdown([*names.values(), *map(title_of, metrics)], lines)


def means_of(compared: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the means with a column for each metric, in the order of the lines."""
    wide = compared.pivot(index=list(names), columns="metric", values="mean")
    order = pd.MultiIndex.from_frame(compared[list(names)].drop_duplicates())
    return wide.reindex(order)
