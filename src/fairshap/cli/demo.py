"""``fairshap datasets`` lists the built-in tables, and ``fairshap demo`` repairs one of them."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from fairshap.cli._options import (
    ConstraintOptions,
    RunOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    force_option,
    option,
)
from fairshap.cli.repair import repair


def datasets(run: RunOptions) -> None:
    """List the built-in tables, which can be given as DATA."""
    from pyarrow import parquet

    from fairshap.cli._output import Output
    from fairshap.datasets import SPECS, stored_bytes

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
    run: RunOptions,
    out: Path = option(
        Path("fairshap-demo"), "The folder for table, ledger and report.", None, "--out", "-o", metavar="DIR"
    ),
    force: bool = force_option(),
) -> None:
    """Repair the built-in COMPAS table and show what that does."""
    from fairshap.cli._output import Output
    from fairshap.datasets import SPECS

    places = {"out": "repaired.csv", "edits": "edits.csv", "report": "report.html"}
    paths = {what: str(out / f"compas-{name}") for what, name in places.items()}
    files = TableFiles(force=force, **paths)  # type: ignore[arg-type]
    out.mkdir(parents=True, exist_ok=True)
    Output("demo", run).line(f"{SPECS['compas'].description}\n")
    what = TaskOptions("compas"), SelectorOptions(), ConstraintOptions()
    unused: Any = {"remedy": None, "minimize": None, "max_references": None, "max_memory": None}
    try:
        repair(*what, run, files, retrain=None, folds=None, repeats=None, **unused)
    except BaseException:
        # Only if nothing is in it.
        with suppress(OSError):
            out.rmdir()
        raise
