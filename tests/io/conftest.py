"""What the tests of files share."""

import numpy as np

from fairshap import _io
from fairshap._files import write_atomically
from fairshap.edits import Edits


def edits_of(source: _io.Source, cells: list[tuple[int, str, int]]) -> Edits:
    """Return the ledger that copies cells from reference rows, given as row, column, reference."""
    frame = source.frame
    return Edits(
        row=np.array([row for row, _, _ in cells], dtype=np.int64),
        index=[row for row, _, _ in cells],
        column=[column for _, column, _ in cells],
        old=[frame[column].tolist()[row] for row, column, _ in cells],
        new=[frame[column].tolist()[reference] for _, column, reference in cells],
        phi=np.ones(len(cells)),
        reference=np.array([reference for _, _, reference in cells], dtype=np.int64),
    )


def write(source: _io.Source, path, edits: Edits | None = None, *, force=False) -> None:
    """Write a table with edits made, as a command does."""
    content = source.to_bytes(path, edits)
    write_atomically(path, lambda file: file.write(content), force=force)
