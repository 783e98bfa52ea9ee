"""``fairshap apply``: the edits of a ledger, made again."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import fairshap
from fairshap.cli._options import FileOptions, RunOptions, argument, force_option, is_standard, out_option
from fairshap.exceptions import FileError

if TYPE_CHECKING:
    from fairshap import Edits
    from fairshap._io import Source


def apply(
    edits: str = argument("The ledger that fairshap repair wrote.", "EDITS"),
    *,
    file: FileOptions,
    run: RunOptions,
    out: str = out_option(),
    force: bool = force_option(),
) -> None:
    """Make the edits of a ledger again; a table whose rows or old values differ is refused."""
    from fairshap.cli._output import Output, check_writable, how_to_check, write_all
    from fairshap.edits._ledger import Checksums

    output = Output("apply", run, to_stderr=is_standard(out, None, run))
    if not Path(edits).is_file():
        raise FileError(f"there is no ledger {edits!r}.")
    ledger = fairshap.Edits.read(edits)
    source = _read_alike(file, ledger)
    check_writable([out], force=force, sources=[source.path, Path(edits)])
    table = source.to_bytes(out, ledger)
    write_all([(out, lambda: table)], force=force)
    rows = len(set(ledger.row.tolist()))
    output.line(f"{len(ledger):,} cells were replaced, in {rows:,} rows. Written: {out}")
    if len(ledger):
        output.line(how_to_check(out, measured=False))
        if Checksums.read(edits).repaired != sha256(table).hexdigest():
            output.note(
                f"{edits!r} was written with another file, so nothing tells later that this one is repaired."
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
    import pandas as pd

    from fairshap.cli._problem import read_source

    source = read_source(file)
    texts = {str(name) for name, old in zip(ledger.column, ledger.old, strict=True) if isinstance(old, str)}
    numbers = [name for name in source.frame if pd.api.types.is_numeric_dtype(source.frame[name].dtype)]
    differ = [name for name in numbers if name in texts]
    if not differ:
        return source
    return read_source(replace(file, categorical=[*(file.categorical or []), *differ]))
