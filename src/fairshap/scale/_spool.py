"""The ledger of a file that is being repaired: its lines wait on the disk, not in memory."""

from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import Any

from fairshap.edits import Edits
from fairshap.edits._ledger import header_of

# The bytes of lines that are held in memory, and that are copied at a time.
_HELD, _BLOCK = 1 << 24, 1 << 22


class Spool:
    """The edits of a file's batches, in the order of its rows.

    The first line of a ledger has the checksum of the repaired file, which is known when all are made.
    """

    def __init__(self) -> None:
        self.n_edits = 0
        self._first: Edits | None = None
        self._rest = SpooledTemporaryFile(max_size=_HELD)  # noqa: SIM115 - closed on leaving

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._rest.close()

    def add(self, edits: Edits) -> None:
        """Add the edits of the next batch."""
        start = 0
        if self._first is None and len(edits):
            # No more than the batch is held.
            self._first, start = edits, 1
        self._rest.write(edits.lines(["", ""], start))
        self.n_edits += len(edits)

    def write(self, stream: Any, repaired: str) -> None:
        """Write the ledger of a file with this checksum, as :meth:`fairshap.Edits.to_bytes` has it."""
        checksums = ["", repaired]
        stream.write(header_of(checksums))
        if self._first is not None:
            stream.write(self._first.lines(checksums, stop=1))
        self._rest.seek(0)
        while block := self._rest.read(_BLOCK):
            stream.write(block)
