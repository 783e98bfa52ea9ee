"""The report that a command writes."""

import shlex
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from fairshap import FairSHAP
from fairshap.cli._problem import Problem
from fairshap.cli._writing import STANDARD
from fairshap.exceptions import MissingExtraError

_PANEL = "Output"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The report."""

    report: Annotated[
        str | None,
        typer.Option(help="A page of HTML with all that was found.", metavar="FILE", rich_help_panel=_PANEL),
    ] = None
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Leave the values of single rows out of the report.", rich_help_panel=_PANEL
        ),
    ] = False


def check_report(options: ReportOptions) -> None:
    """Raise an error, before anything is computed, if the report cannot be made."""
    if options.report is None:
        if options.redact:
            raise typer.BadParameter("--redact is about the report; give --report too")
        return
    if options.report == STANDARD:
        raise typer.BadParameter("--report - is not taken; give a file")
    for module in ("jinja2", "matplotlib"):
        try:
            __import__(module)
        except ImportError as error:
            raise MissingExtraError("--report", module, "report") from error


def make_page(
    context: typer.Context, options: ReportOptions, problem: Problem, found: FairSHAP, **more: Any
) -> bytes:
    """Return the report on what was found, as the bytes of its file."""
    names = [problem.sensitive] if isinstance(problem.sensitive, str) else problem.sensitive
    what = "audit" if more.get("audit") else "repair"
    page = found.report(
        title=f"Fairness {what} of {problem.source.name}, by {' and '.join(names)}",
        command=shlex.join(["fairshap", *context.find_root().obj]),
        checksum=f"{problem.source.checksum} (SHA-256 of {problem.source.name})",
        note=None if problem.repaired is None else problem.repaired.warning,
        redact=options.redact,
        **more,
    )
    return page.html.encode()
