"""The report: what was found, changed and gained, as one page."""

from fairshap.report._findings import Comparison, Findings, Tuned
from fairshap.report._page import make_report
from fairshap.report._report import Report

__all__ = ["Comparison", "Findings", "Report", "Tuned", "make_report"]
