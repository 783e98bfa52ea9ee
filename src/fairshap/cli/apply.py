"""``fairshap apply``: the edits of a ledger, made again."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pandas as pd

from fairshap import Edits
from fairshap._io import Source
from fairshap.cli._files import check_writable, how_to_check, repaired_files, write_all
from fairshap.cli._options import (
    FileOptions,
    RunOptions,
    argument,
    force_option,
    is_standard,
    option,
    out_option,
)
from fairshap.cli._output import Output
from fairshap.cli._problem import read_source
from fairshap.edits._ledger import Checksums
from fairshap.exceptions import FileError


def apply(
    edits: str = argument("The ledger that fairshap repair wrote.", "EDITS"),
    *,
    file: FileOptions,
    run: RunOptions,
    out: str = out_option(),
    again: str | None = option(
        None, "The ledger again, with the checksum of the written table.", None, "--edits", metavar="FILE"
    ),
    force: bool = force_option(),
) -> None:
    """Make the edits of a ledger again; a table whose rows or old values differ is refused."""
    output = Output("apply", run, to_stderr=is_standard(out, again, run))
    if not Path(edits).is_file():
        raise FileError(f"there is no ledger {edits!r}.")
    ledger = Edits.read(edits)
    source = _read_alike(file, ledger)
    check_writable([out, again], force=force, sources=[source.path, Path(edits)])
    # Before any work: a name that tells no format is an error.
    source.format_for(out)
    table, content = repaired_files(source, out, ledger)
    write_all([(again, lambda: content), (out, lambda: table)], force=force)
    rows = len(set(ledger.row.tolist()))
    written = ", ".join(name for name in (out, again) if name is not None)
    output.line(f"{len(ledger):,} cells were replaced, in {rows:,} rows. Written: {written}")
    if len(ledger):
        output.line(how_to_check(out, measured=False))
        if again is None and Checksums.read(edits).repaired != sha256(table).hexdigest():
            output.note(
                f"{edits!r} was not written with this table, and nothing can tell later that it is repaired; "
                "give --edits FILE for a ledger that does."
            )
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
    quoted = [f'"{name}"' for name in differ]
    return read_source(replace(file, categorical=[*(file.categorical or []), *quoted]))
