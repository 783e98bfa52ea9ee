"""Repaired files: how they are marked, how they are known again, and how a repair is checked."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import fairshap
from fairshap import Edits
from fairshap._io import MARKED, Mark, Source
from fairshap.cli._options import TableOptions
from fairshap.edits import Checksums, has_checksums
from fairshap.exceptions import FileError, LedgerError


@dataclass(frozen=True, slots=True)
class Repaired:
    """That a table was repaired, and what tells so.

    Parameters
    ----------
    edits : int
        How many cells were replaced.
    original : str
        The SHA-256 of the file that was repaired.
    ledger : str, optional
        The ledger that names the table; None if the table says it itself.
    mark : Mark, optional
        What the table says.
    warning : str
        What follows from it for figures that are measured on the table.
    """

    edits: int
    original: str
    ledger: str | None
    mark: Mark | None
    warning: str

    def describe(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {
            "edits": self.edits,
            "original_sha256": self.original,
            "ledger": self.ledger,
            "mark": None if self.mark is None else asdict(self.mark),
            "warning": self.warning,
        }


def find_repair(source: Source, table: TableOptions, given: str | None) -> tuple[Repaired | None, str]:
    """Return what tells that a table was repaired, None if nothing does; and what is to be said of it.

    Parameters
    ----------
    source : Source
        The table.
    table : TableOptions
        What its columns mean, for the commands that are named.
    given : str, optional
        Its ledger; without it one in the same folder is looked for.
    """
    if given is not None and not Path(given).is_file():
        raise FileError(f"there is no ledger {given!r}.")
    mark = source.document.mark
    if mark is not None:
        told = f"{source.name!r} is marked as repaired by fairshap"
        return _repaired(mark.edits, mark.original_sha256, None, mark, told, table)
    ledger = given
    if ledger is None and source.path is not None:
        ledger = find_ledger(source.path.parent, source.checksum)
    if ledger is None:
        return None, ""
    found = Checksums.read(ledger)
    if found.repaired == source.checksum:
        told = f"{source.name!r} is the repaired table of the ledger {ledger!r}"
        return _repaired(found.n_edits, found.original, ledger, None, told, table)
    if found.original == source.checksum:
        return None, ""
    why = "holds no checksum of a repaired file"
    if found.repaired:
        why = "was written with another file, or the table was changed afterwards"
    return None, (
        f"{ledger!r} does not tell whether {source.name!r} is repaired: it {why}. If the table is, "
        "these figures mislead: the rows that a model is tested on are edited too."
    )


def _repaired(
    edits: int, original: str, ledger: str | None, mark: Mark | None, told: str, table: TableOptions
) -> tuple[Repaired, str]:
    who = ["-t", str(table.target)]
    for option, values in (("-s", table.sensitive), ("-p", table.privileged)):
        who += [part for value in values or () for part in (option, value)]
    if table.positive is not None:
        who += ["--positive", table.positive]
    meaning, cells = shlex.join(who), f"{edits:,} {'cell' if edits == 1 else 'cells'}"
    warning = (
        f"{told} ({cells} replaced). The rows that a model is tested on here are edited too, by values of "
        "rows with the same label: as a rule accuracy looks better than it is, and fairness can look better "
        "or worse. Check a repair on original rows instead: "
        f"`fairshap repair ORIGINAL {meaning} --out FILE` trains on repaired folds and tests on original "
        f"ones; `fairshap audit OTHERS {meaning} --model FILE` tests a model that was trained on the "
        "repaired table on original rows that the table does not hold."
    )
    return Repaired(edits, original, ledger, mark, warning), f"warning: {warning}"


def find_ledger(folder: Path, checksum: str) -> str | None:
    """Return the ledger in a folder that names a repaired file of some checksum.

    Of each file whose name ends in .csv the first line is read, and more only if it is that of a ledger.
    """
    # What cannot be read, or is damaged, tells nothing. What is no ordinary file could wait forever.
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            with suppress(OSError, LedgerError):
                if (
                    path.suffix.lower() == ".csv"
                    and path.is_file()
                    and has_checksums(path)
                    and Checksums.read(path).repaired == checksum
                ):
                    return str(path)
    return None


def repaired_files(
    source: Source,
    out: str,
    edits: Edits,
    *,
    ledger: bytes | None = None,
    has_ledger: bool = True,
    settings: Mapping[str, Any] | None = None,
) -> tuple[bytes, bytes]:
    """Return the repaired table and its ledger, one of which has the checksum of the other.

    A table that can hold a mark names its ledger; otherwise the ledger names the table. Without edits there
    is nothing to mark.

    Parameters
    ----------
    source : Source
        The table as it was.
    out : str
        The file that it is to be.
    edits : Edits
        The edits.
    ledger : bytes, optional
        A ledger that is there already, for a mark to name.
    has_ledger : bool, default=True
        Whether there will be a ledger for a mark to name.
    settings : mapping, optional
        How the cells were chosen.
    """
    if source.format_for(out) not in MARKED:
        table = source.to_bytes(out, edits)
        return table, edits.to_bytes(original=source.checksum, repaired=sha256(table).hexdigest())
    ledger = edits.to_bytes(original=source.checksum) if ledger is None else ledger
    name = sha256(ledger).hexdigest() if has_ledger else None
    mark = Mark(
        version=fairshap.__version__,
        original_sha256=source.checksum,
        edits=len(edits),
        ledger_sha256=name,
        settings=settings or {},
    )
    return source.to_bytes(out, edits, mark=mark if len(edits) else None), ledger


def how_to_check(out: str, *, measured: bool) -> str:
    """Return how to find out what a repair does.

    Parameters
    ----------
    out : str
        The repaired table.
    measured : bool
        Whether figures before and after stand above.
    """
    name = "the repaired table" if out == "-" else out
    how = "as the figures above do" if measured else "as fairshap repair does with --folds 5"
    return (
        f"To check the repair, train on {name} and test on original rows that it does not hold, {how}. An "
        "audit of the repaired table tests on edited rows, on which accuracy looks better than it is."
    )
