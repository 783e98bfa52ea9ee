"""What tells that a file is a repaired table: a mark in the file itself, or a ledger beside it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairshap._io._formats import Format
from fairshap.edits import Checksums, has_checksums
from fairshap.exceptions import LedgerError

#: The formats whose schema has metadata, and so a place for a mark.
MARKED: tuple[Format, ...] = ("parquet", "feather")

_KEY = b"fairshap"


@dataclass(frozen=True, slots=True)
class Mark:
    """What a Parquet or Feather file says of the repair that it comes from.

    It stands in the schema's metadata as JSON. It names no person, file or time, so that the same repair
    always gives the same bytes.

    Parameters
    ----------
    version : str
        The version of fairshap.
    original : str
        The SHA-256 of the file that was repaired.
    edits : int
        How many cells were replaced.
    ledger : str, optional
        The SHA-256 of the ledger, if one was written.
    settings : mapping
        How the cells were chosen.
    """

    version: str
    original: str
    edits: int
    ledger: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """Return the mark as JSON takes it."""
        return {
            "version": self.version,
            "repaired": True,
            "original_sha256": self.original,
            "edits": self.edits,
            "ledger_sha256": self.ledger,
            "settings": dict(self.settings),
        }

    def put_on(self, table: Any) -> Any:
        """Return a table of arrow's with the mark beside all other metadata."""
        metadata = {**(table.schema.metadata or {}), _KEY: json.dumps(self.describe()).encode()}
        return table.replace_schema_metadata(metadata)

    @classmethod
    def of(cls, table: Any) -> "Mark | None":
        """Return the mark of a table of arrow's; None if it has none that can be read."""
        try:
            found = json.loads((table.schema.metadata or {})[_KEY])
            if found["repaired"] is not True:
                return None
            return cls(
                version=str(found["version"]),
                original=str(found["original_sha256"]),
                edits=int(found["edits"]),
                ledger=found.get("ledger_sha256"),
                settings=dict(found.get("settings", {})),
            )
        except (KeyError, TypeError, ValueError, RecursionError):
            # Somebody else's metadata of the same name: nothing is claimed.
            return None


def find_ledger(folder: Path, checksum: str) -> Path | None:
    """Return the ledger in a folder that names a repaired file of some checksum.

    Of each file whose name ends in .csv the first line is read, and more only if it is that of a ledger.
    """
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            # What cannot be read, or is damaged, tells nothing. What is no ordinary file could wait forever.
            with suppress(OSError, LedgerError):
                if (
                    path.suffix.lower() == ".csv"
                    and path.is_file()
                    and has_checksums(path)
                    and Checksums.read(path).repaired == checksum
                ):
                    return path
    return None
