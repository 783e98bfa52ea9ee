"""``fairshap demo``: COMPAS from end to end."""

from pathlib import Path
from typing import Annotated

import typer

from fairshap.cli._models import make_model
from fairshap.cli._options import ConstraintOptions, FileOptions, Force, RunOptions, TableOptions
from fairshap.cli._output import Output
from fairshap.cli._problem import open_problem
from fairshap.cli._repaired import repaired_files
from fairshap.cli._reporting import ReportOptions, check_report, make_page
from fairshap.cli._writing import check_writable, trial_folder, write_all
from fairshap.cli.repair import SelectorOptions, describe, print_check, print_repair, repair_table

_MODEL = "hist-gradient-boosting"


def demo(
    context: typer.Context,
    run: RunOptions,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="The folder for table, ledger and report.", metavar="DIR"),
    ] = Path("fairshap-demo"),
    force: Force = False,
) -> None:
    """Repair the built-in COMPAS table and show what that does."""
    output = Output("demo", run)
    table, ledger, page = (
        str(out / f"compas-{name}") for name in ("repaired.csv", "edits.csv", "report.html")
    )
    options = ReportOptions(page)
    check_report(options)
    problem = open_problem(FileOptions("compas"), TableOptions())
    with trial_folder(out):
        check_writable([table, ledger, page], force=force)
    model = make_model(_MODEL, run, n_rows=len(problem.X))
    done = repair_table(
        problem, model, model, SelectorOptions(), ConstraintOptions(), run, None, None, output
    )
    out.mkdir(parents=True, exist_ok=True)
    content, edits = repaired_files(problem.source, table, done.edits)
    write_all(
        [
            (page, lambda: make_page(context, options, problem, done.repair, evaluation=done.evaluation)),
            (ledger, lambda: edits),
        ],
        lambda: problem.source.save(table, content, force=force),
        force=force,
    )
    assert problem.source.dataset is not None  # noqa: S101
    output.line(problem.source.dataset.description)
    output.line(f"Sensitive column {problem.sensitive!r}, privileged {problem.privileged!r}.")
    output.line()
    print_repair(output, problem, done, [table, ledger, page])
    print_check(output, problem, done, table)
    output.json(
        data=problem.describe(), model=_MODEL, **describe(done), out=table, ledger=ledger, report=page
    )
