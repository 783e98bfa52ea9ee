"""The report as an object: a page, a file, a notebook's cell, and its figures."""

import os
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from fairshap._figures.report import draw_fairness, draw_risks
from fairshap._files import write_atomically
from fairshap.model_selection import MEASURES
from fairshap.report._columns import plot_columns
from fairshap.report._findings import Comparison, Findings, Tuned
from fairshap.report._setting import NAMES
from fairshap.report._thresholds import Sweep


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One page that needs nothing else: no network, no other file.

    Parameters
    ----------
    html : str
        The page.
    findings : Findings
        What it is about.
    comparison : Comparison or None
        The models before and after on held-out rows, where these could be compared.
    sweep : Sweep
        What other thresholds would do.
    tuning : Tuned or None
        The search that the repair came from.
    """

    html: str
    findings: Findings
    comparison: Comparison | None
    sweep: Sweep
    tuning: Tuned | None = None

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1e6:.2f} MB of HTML; .write('report.html') saves it)"

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file, beside its place first and then renamed.

        Parameters
        ----------
        path : path-like
            The file.
        force : bool, default=False
            Whether a file that is there may be replaced.
        """
        content = self.html.encode()
        write_atomically(path, lambda file: file.write(content), force=force)

    def _repr_html_(self) -> str:
        # A frame of its own: the notebook's styles and scripts and the page's do not meet.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" title="fairshap report" '
            'style="width: 100%; height: 80vh; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    def plot_fairness(self, ax: Any = None) -> Any:
        """Draw DR and the gaps between the groups before and after, with intervals; return the axes.

        None where models could not be compared on held-out rows.
        """
        if self.comparison is None:
            return None
        return draw_comparison(self.comparison, ax)

    def plot_columns(self, ax: Any = None) -> Any:
        """Draw the attributions of the heaviest columns, split by group; return the axes."""
        return plot_columns(self.findings, ax)

    def plot_matching(self, ax: Any = None) -> Any:
        """Draw how near the references are; return the axes."""
        return self.findings.asked.matches.diagnostics().plot(ax)

    def plot_risks(self, ax: Any = None) -> Any:
        """Draw the risk of all rows under the consulted model before and after; return the axes."""
        return draw_risk_change(self.findings, ax)

    def plot_thresholds(self, ax: Any = None) -> Any:
        """Draw the mean risk against the number of cells, for several thresholds; return the axes."""
        return self.sweep.plot(ax)

    def plot_trade_off(self, ax: Any = None) -> Any:
        """Draw accuracy against fairness of all that was tried; return the axes, None if nothing was."""
        return None if self.tuning is None else self.tuning.plot(ax)


def draw_comparison(comparison: Comparison, ax: Any = None) -> Any:
    """Draw the gaps before and after, or as they are if nothing was repaired."""
    shown = [k for k, measure in enumerate(MEASURES) if measure != "accuracy"]
    measured = comparison.measured
    sides = [
        np.stack(parts)[:, shown]
        for parts in zip(measured.values[:2], measured.low[:2], measured.high[:2], strict=True)
    ]
    return draw_fairness([NAMES[MEASURES[k]][0] for k in shown], sides, ax)


def draw_risk_change(findings: Findings, ax: Any = None) -> Any:
    """Draw the risk of all rows before and after, or as it is if nothing was repaired."""
    certificate = findings.certificate
    return draw_risks(certificate.dr_before, None if findings.is_audit else certificate.dr_after, ax)
