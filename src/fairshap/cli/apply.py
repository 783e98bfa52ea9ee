"""``fairshap apply``: the ledger, applied again."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from fairshap import Edits
from fairshap._io import MARKED, Source
from fairshap.cli._options import FileOptions, Force, RunOptions
from fairshap.cli._output import Output
from fairshap.cli._problem import read_source
from fairshap.cli._repaired import how_to_check, repaired_files
from fairshap.cli._writing import STANDARD, check_writable, write_all
from fairshap.edits import Checksums
from fairshap.exceptions import FileError


def apply(
    edits: Annotated[str, typer.Argument(metavar="EDITS", help="The ledger that fairshap repair wrote.")],
    file: FileOptions,
    run: RunOptions,
    out: Annotated[
        str, typer.Option("--out", "-o", help="The repaired table; - for standard output.", metavar="FILE")
    ],
    again: Annotated[
        str | None,
        typer.Option(
            "--edits",
            help="The ledger again, with the checksum of the written table.",
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Make the edits of a ledger again; a table whose rows or old values differ is refused."""
    if again == STANDARD:
        raise typer.BadParameter("--edits - is not taken; give a file")
    if run.json and out == STANDARD:
        raise typer.BadParameter("--json and --out - both want standard output; write to a file")
    output = Output("apply", run, to_stderr=out == STANDARD)
    if not Path(edits).is_file():
        raise FileError(f"there is no ledger {edits!r}.")
    ledger = Edits.read(edits)
    source = _read_alike(file, ledger)
    check_writable([out, again], force=force, sources=[source.path, Path(edits)])
    # Before any work: a name that tells no format is an error.
    source.format_for(out)
    table, content = repaired_files(
        source, out, ledger, ledger=Path(edits).read_bytes() if again is None else None
    )
    write_all([(again, lambda: content)], lambda: source.save(out, table, force=force), force=force)
    rows = len(set(ledger.row.tolist()))
    written = ", ".join(name for name in (out, again) if name is not None)
    output.line(f"{len(ledger):,} cells were replaced, in {rows:,} rows. Written: {written}")
    if len(ledger):
        output.line(how_to_check(out, measured=False))
        if again is None and not _names(edits, source, out, table):
            output.note(
                f"{edits!r} was not written with this table, and nothing in a file of this format can tell "
                "later that it is repaired; give --edits FILE for a ledger that does."
            )
    output.json(
        data={"name": source.name, "sha256": source.checksum, "rows": len(source.frame)},
        ledger=edits,
        edits=len(ledger),
        rows_edited=rows,
        out=out,
    )


def _names(edits: str, source: Source, out: str, table: bytes) -> bool:
    """Say whether a table is known as repaired, by itself or by the ledger."""
    return source.format_for(out) in MARKED or Checksums.read(edits).repaired == sha256(table).hexdigest()


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
