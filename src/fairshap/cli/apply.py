"""``fairshap apply``: the ledger, applied again."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from fairshap import Edits
from fairshap.cli._options import FileOptions, Force, RunOptions
from fairshap.cli._output import Output
from fairshap.cli._problem import read_source
from fairshap.cli._writing import STANDARD, check_table, check_writable
from fairshap.exceptions import FileError
from fairshap.files import Source


def apply(
    edits: Annotated[str, typer.Argument(metavar="EDITS", help="The ledger that fairshap repair wrote.")],
    file: FileOptions,
    run: RunOptions,
    out: Annotated[
        str, typer.Option("--out", "-o", help="The repaired table; - for standard output.", metavar="FILE")
    ],
    force: Force = False,
) -> None:
    """Make the edits of a ledger again; a table whose rows or old values differ is refused."""
    if run.json and out == STANDARD:
        raise typer.BadParameter("--json and --out - both want standard output; write to a file")
    output = Output("apply", run, to_stderr=out == STANDARD)
    if not Path(edits).is_file():
        raise FileError(f"there is no ledger {edits!r}.")
    ledger = Edits.read(edits)
    source = _read_alike(file, ledger)
    check_writable([out], force=force, sources=[source.path])
    check_table(out, source)
    if out != STANDARD and Path(out).exists() and Path(out).samefile(edits):
        raise FileError(f"{out!r} is the ledger that is read, which is never overwritten; give another name.")
    source.write(out, ledger, force=force)
    rows = len(set(ledger.row.tolist()))
    output.line(f"{len(ledger):,} cells were replaced, in {rows:,} rows. Written: {out}")
    output.json(
        data={"name": source.name, "sha256": source.checksum, "rows": len(source.frame)},
        ledger=edits,
        edits=len(ledger),
        rows_edited=rows,
        out=out,
    )


def _read_alike(file: FileOptions, ledger: Edits) -> Source:
    """Return the table, its columns read as they were when the ledger was made."""
    source = read_source(file)
    texts = {str(name) for name, old in zip(ledger.column, ledger.old, strict=True) if isinstance(old, str)}
    numbers = [name for name in source.frame if pd.api.types.is_numeric_dtype(source.frame[name].dtype)]
    differ = [name for name in numbers if name in texts]
    if not differ:
        return source
    return read_source(
        replace(file, categorical=[*(file.categorical or []), *(f'"{name}"' for name in differ)])
    )
