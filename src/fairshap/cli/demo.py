"""``fairshap datasets`` lists the built-in tables, and ``fairshap demo`` repairs one of them."""

from io import BytesIO
from pathlib import Path

import pyarrow.parquet as parquet
import typer

from fairshap.cli._files import check_writable
from fairshap.cli._models import make_model
from fairshap.cli._options import (
    ConstraintOptions,
    RunOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    force_option,
    option,
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
        line = {"name": name, "rows": held.num_rows, "columns": held.num_columns, "target": spec.target}
        line |= {"positive_means": spec.meaning, "sensitive": sensitive, "privileged": privileged}
        line |= {"source": spec.source, "licence": spec.licence, "description": spec.description}
        lines.append(line)
    shown = ["name", "rows", "columns", "target", "sensitive", "privileged", "positive_means"]
    cells = [[line[key] for key in shown] for line in lines]
    output.table([*shown[:-1], "1 means"], cells, left=(0, 3, 4, 5, 6))
    output.json(datasets=lines)


def demo(
    context: typer.Context,
    run: RunOptions,
    out: Path = option(
        Path("fairshap-demo"), "The folder for table, ledger and report.", None, "--out", "-o", metavar="DIR"
    ),
    force: bool = force_option(),
) -> None:
    """Repair the built-in COMPAS table and show what that does."""
    output = Output("demo", run)
    places = {"out": "repaired.csv", "edits": "edits.csv", "report": "report.html"}
    paths = {what: str(out / f"compas-{name}") for what, name in places.items()}
    task, files = TaskOptions("compas"), TableFiles(force=force, **paths)  # type: ignore[arg-type]
    files.check()
    problem = open_problem(task)
    out.mkdir(parents=True, exist_ok=True)
    check_writable(files.written, force=force)
    model = make_model(task.model, run, n_rows=len(problem.X))
    repair, measured = repair_table(output, problem, model, model, SelectorOptions(), ConstraintOptions())
    write_repair(context, files, problem, repair, measured)
    assert problem.source.dataset is not None  # noqa: S101
    output.line(problem.source.dataset.description)
    output.line(f"Sensitive column {problem.sensitive!r}, privileged {problem.privileged!r}.\n")
    print_repair(output, files, problem, repair, measured)
