"""Files that a command writes, all of them or none, and how a repaired table is known again."""

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from fairshap._files import check_folder, check_target, write_atomically
from fairshap._io import Source
from fairshap.cli._options import STANDARD, TaskOptions
from fairshap.edits._ledger import Checksums
from fairshap.exceptions import FileError, LedgerError


def check_writable(paths: Sequence[str | None], *, force: bool, sources: Sequence[Path | None] = ()) -> None:
    """Raise an error, before any work, if a file cannot be written, or is a source, which is only read."""
    given = [Path(path) for path in paths if path is not None and path != STANDARD]
    for k, path in enumerate(given):
        if path.resolve() in [other.resolve() for other in given[:k]]:
            raise FileError(f"{str(path)!r} is given for two files; give two names.")
        check_target(path, force=force, sources=sources)
        if path.is_file() or not path.exists():
            check_folder(path)


def write_all(contents: Sequence[tuple[str | None, Callable[[], bytes]]], *, force: bool) -> None:
    """Write the files that are asked for, all of them or none; the last may go to standard output."""
    if not contents:
        return
    (path, content), *rest = contents

    def write(file: BinaryIO) -> None:
        file.write(content())
        # A full disk is noticed here, while the files before this one lie ready beside their places.
        file.flush()
        write_all(rest, force=force)

    if path is None:
        write_all(rest, force=force)
    elif path == STANDARD:
        write(sys.stdout.buffer)
    else:
        write_atomically(path, write, force=force)


# ---- repaired tables


@dataclass(frozen=True, slots=True)
class Repaired:
    """The ledger by which we know that a table was repaired, what it says, and what that means."""

    edits: int
    original_sha256: str
    ledger: str
    warning: str


def find_repair(source: Source, task: TaskOptions, ledger: str | None) -> tuple[Repaired | None, str]:
    """Return what tells that a table was repaired, None if nothing does, and a note for the user."""
    if ledger is not None and not Path(ledger).is_file():
        raise FileError(f"there is no ledger {ledger!r}.")
    if ledger is None and source.path is not None:
        ledger = find_ledger(source.path.parent, source.checksum)
    if ledger is None:
        return None, ""
    found = Checksums.read(ledger)
    if found.original == source.checksum != found.repaired:
        return None, ""
    if found.repaired == source.checksum:
        told = f"{source.name!r} is the repaired table of the ledger {ledger!r}"
        warning = _warning(told, found.n_edits, task)
        return Repaired(found.n_edits, found.original, ledger, warning), f"warning: {warning}"
    why = "holds no checksum of a repaired file"
    if found.repaired:
        why = "was written with another file, or the table was changed afterwards"
    return None, (
        f"{ledger!r} does not tell whether {source.name!r} is repaired: it {why}. If it is, these measures "
        "mislead: the rows that a model is tested on are edited too."
    )


def find_ledger(folder: Path, checksum: str) -> str | None:
    """Return the ledger in a folder that names a repaired file of some checksum."""
    # What cannot be read, or is damaged, tells nothing. What is no ordinary file could wait forever.
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            with suppress(OSError, LedgerError):
                is_csv = path.suffix.lower() == ".csv" and path.is_file()
                if is_csv and Checksums.read(path).repaired == checksum:
                    return str(path)
    return None


def _warning(told: str, edits: int, task: TaskOptions) -> str:
    who = ["-t", str(task.target)]
    for option, values in (("-s", task.sensitive), ("-p", task.privileged), ("--positive", task.positive)):
        who += [part for value in values or () for part in (option, value)]
    meaning, cells = shlex.join(who), f"{edits:,} {'cell' if edits == 1 else 'cells'}"
    return (
        f"{told} ({cells} replaced). The rows that a model is tested on here are edited too, by values of "
        "rows with the same label: accuracy usually looks better than it is, and fairness can look better "
        "or worse. Check a repair on original rows instead: "
        f"`fairshap repair ORIGINAL {meaning} --out FILE` trains on repaired folds and tests on original "
        f"ones; `fairshap audit OTHERS {meaning} --model FILE` tests a model that was trained on the "
        "repaired table on original rows that the table does not hold."
    )


def how_to_check(out: str, *, measured: bool) -> str:
    """Return how to find out what a repair does; ``measured`` says whether measures stand above."""
    name = "the repaired table" if out == STANDARD else out
    how = "as the measures above do" if measured else "as fairshap repair does with --folds 5"
    return (
        f"To check the repair, train on {name} and test on original rows that it does not hold, {how}. An "
        "audit of the repaired table tests on edited rows, on which accuracy looks better than it is."
    )
