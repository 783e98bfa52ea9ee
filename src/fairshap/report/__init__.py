"""The report: what was found, edited and gained, as one page of HTML."""

from fairshap.report._report import Report, report_repair

__all__ = ["Report", "report_repair"]
