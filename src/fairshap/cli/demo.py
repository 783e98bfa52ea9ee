"""``fairshap datasets`` lists the built-in tables, and ``fairshap demo`` repairs one of them."""

from io import BytesIO
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as parquet
import typer

from fairshap.cli._files import check_writable, trial_folder
from fairshap.cli._models import make_model
from fairshap.cli._options import (
    ConstraintOptions,
    Force,
    RunOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
)
from fairshap.cli._output import Output
from fairshap.cli._problem import open_problem
from fairshap.cli.repair import print_repair, repair_table, write_repair
from fairshap.datasets import SPECS, stored_bytes


def datasets(run: RunOptions) -> None:
    """List the built-in tables, which can be given as DATA."""
    output = Output("datasets", run)
    lines = []
    for name, spec in SPECS.items():
        held = parquet.ParquetFile(BytesIO(stored_bytes(name))).metadata
        sensitive, privileged = next(iter(spec.sensitive.items()))
        lines.append(
            {
                "name": name,
                "rows": held.num_rows,
                "columns": held.num_columns,
                "target": spec.target,
                "positive_means": spec.meaning,
                "sensitive": sensitive,
                "privileged": privileged,
                "source": spec.source,
                "licence": spec.licence,
                "description": spec.description,
            }
        )
    shown = ["name", "rows", "columns", "target", "sensitive", "privileged", "positive_means"]
    output.table(
        [*shown[:-1], "1 means"], [[line[key] for key in shown] for line in lines], left=(0, 3, 4, 5, 6)
    )
    output.json(datasets=lines)


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
    task, files = TaskOptions("compas"), TableFiles(out=table, edits=ledger, report=page, force=force)
    files.check()
    problem = open_problem(task)
    with trial_folder(out):
        check_writable([table, ledger, page], force=force)
    model = make_model(task.model, run, n_rows=len(problem.X))
    repair, measured = repair_table(output, problem, model, model, SelectorOptions(), ConstraintOptions())
    out.mkdir(parents=True, exist_ok=True)
    write_repair(context, task, files, problem, repair, measured)
    assert problem.source.dataset is not None  # noqa: S101
    output.line(problem.source.dataset.description)
    output.line(f"Sensitive column {problem.sensitive!r}, privileged {problem.privileged!r}.")
    output.line()
    print_repair(output, task, files, problem, repair, measured)
