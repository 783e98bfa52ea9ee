"""The report as an object: a page, a file, a notebook's cell, and its figures."""

import os
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from fairshap._files import write_atomically
from fairshap._problem import Target
from fairshap._typing import Native
from fairshap.exceptions import InputError
from fairshap.report._data import ReportData, Sweep, evaluate_repair
from fairshap.report._page import plot_measures, plot_risks, plot_thresholds, render


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One page that needs nothing else: no network, no other file.

    Parameters
    ----------
    html : str
        The page.
    data : ReportData
        What it was written from.
    sweep : Sweep
        What other thresholds would do.
    """

    html: str
    data: ReportData
    sweep: Sweep

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1e6:.2f} MB of HTML; .write('report.html') saves it)"

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file; an existing one is replaced with ``force`` only."""
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

        None if the models could not be measured on held-out rows.
        """
        return plot_measures(self.data, ax)

    def plot_columns(self, ax: Any = None) -> Any:
        """Draw the Shapley values of the heaviest columns, split by group; return the axes."""
        return self.data.explanation.plot(ax, threshold=self.data.threshold)

    def plot_matching(self, ax: Any = None) -> Any:
        """Draw how near the references are; return the axes."""
        return self.data.explanation.match_plan.diagnostics().plot(ax)

    def plot_risks(self, ax: Any = None) -> Any:
        """Draw the risk of all rows under the explained model before and after; return the axes."""
        return plot_risks(self.data, ax)

    def plot_thresholds(self, ax: Any = None) -> Any:
        """Draw the mean risk against the number of edited cells, for several thresholds; return the axes."""
        return plot_thresholds(self.sweep, ax)

    def plot_trade_off(self, ax: Any = None) -> Any:
        """Draw accuracy against fairness of all candidates; return the axes, None if there was no search."""
        return None if self.data.tuning is None else self.data.tuning.plot(ax)


def report_repair(
    fitted: Any,
    X_test: Native | None,
    y_test: Any,
    positive: Any,
    retrained: Any,
    evaluation: Any,
    tuning: Any,
    audit: bool,
    page: dict[str, Any],
) -> Report:
    """Return the report on a fitted sampler; see :meth:`fairshap.FairSHAP.report`."""
    target = fitted.explanation_.problem.y
    if positive is not None:
        is_quantity = target.classes is None
        read = Target.read(target.values, len(target.values), positive, is_quantity=is_quantity)
        target = replace(target, positive=read.positive)
    # A threshold that was found by trying several is the one to report.
    recipe = fitted._recipe(fitted.threshold_ if fitted.selector is None else None)
    not_measured = ""
    if evaluation is None:
        evaluation, not_measured = evaluate_repair(fitted, target, recipe, X_test, y_test, retrained, audit)
    elif X_test is not None or retrained is not None:
        raise InputError("evaluation has the held-out measures already; leave X_test and retrained out.")
    elif not audit and len(evaluation.measures.values) < 2:
        raise InputError(
            "evaluation has one model only; give one with two, before and after the repair, or audit=True."
        )
    made = (fitted.explanation_, recipe, fitted.edits_, fitted._evidence.certificate)
    data = ReportData(*made, target, evaluation, not_measured, tuning, audit)
    sweep = Sweep.of(data)
    command = page["command"] or f"{fitted!r}.fit_resample(X, y)"
    html = render(data, sweep, seed=fitted.random_state, **{**page, "command": command})
    return Report(html, data, sweep)
