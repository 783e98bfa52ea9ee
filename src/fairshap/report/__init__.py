"""The page of evidence: one file of HTML, and what it takes from a repair or an explained model."""

from fairshap.report._data import ReportData, Sweep, evaluate_repair
from fairshap.report._page import render

__all__ = ["ReportData", "Sweep", "evaluate_repair", "render"]
