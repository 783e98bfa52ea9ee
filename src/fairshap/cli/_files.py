"""Files that a command writes, all of them or none, and how a repaired table is marked and known again."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import fairshap
from fairshap import Edits
from fairshap._files import check_folder, write_atomically
from fairshap._io import MARKED, Mark, Source
from fairshap.cli._options import STANDARD, TaskOptions
from fairshap.edits._ledger import Checksums
from fairshap.exceptions import FileError, LedgerError


def check_writable(paths: Sequence[str | None], *, force: bool, sources: Sequence[Path | None] = ()) -> None:
    """Raise an error, before any work, if a file cannot be written, or is a source, which is only read."""
    read = [source for source in sources if source is not None and source.exists()]
    given = [Path(path) for path in paths if path is not None and path != STANDARD]
    for k, path in enumerate(given):
        name, folder = repr(str(path)), str(path.parent)
        if path.resolve() in [other.resolve() for other in given[:k]]:
            raise FileError(f"{name} is given for two files; give two names.")
        if path.is_dir():
            raise FileError(f"{name} is a folder; give the name of a file in it.")
        if not path.resolve().parent.is_dir():
            raise FileError(f"there is no folder {folder!r}; make it with mkdir {shlex.quote(folder)}.")
        if path.exists() and any(path.samefile(source) for source in read):
            raise FileError(f"{name} is a file that is read, which is never overwritten.")
        if path.is_file() and not force:
            raise FileError(f"{name} exists already; give another name, or --force to replace it.")
        if path.is_file() or not path.exists():
            check_folder(path)


@contextmanager
def trial_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the time of a check; it does not stay, as an interrupted run leaves none behind."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for one in missing:
            one.rmdir()


def write_all(
    contents: Sequence[tuple[str | None, Callable[[], bytes]]], *, force: bool, source: Path | None = None
) -> None:
    """Write the files that are asked for, all of them or none, and never over the file that was read.

    The last one may go to standard output.
    """
    if not contents:
        return
    (path, content), *rest = contents

    def write(file: BinaryIO) -> None:
        file.write(content())
        # A full disk is noticed here, while the files before this one lie ready beside their places.
        file.flush()
        write_all(rest, force=force, source=source)

    if path is None:
        write_all(rest, force=force, source=source)
    elif path == STANDARD:
        write(sys.stdout.buffer)
    else:
        write_atomically(path, write, force=force, source=source)


# ---- repaired tables


@dataclass(frozen=True, slots=True)
class Repaired:
    """How we know that a table was repaired, by its own mark or a ledger, and what that means."""

    edits: int
    original_sha256: str
    ledger: str | None
    mark: Mark | None
    warning: str


def find_repair(source: Source, task: TaskOptions, ledger: str | None) -> tuple[Repaired | None, str]:
    """Return what tells that a table was repaired, None if nothing does, and a note for the user."""
    if ledger is not None and not Path(ledger).is_file():
        raise FileError(f"there is no ledger {ledger!r}.")
    mark = source.document.mark
    if mark is not None:
        warning = _warning(f"{source.name!r} is marked as repaired by fairshap", mark.edits, task)
        return Repaired(mark.edits, mark.original_sha256, None, mark, warning), f"warning: {warning}"
    if ledger is None and source.path is not None:
        ledger = find_ledger(source.path.parent, source.checksum)
    found = None if ledger is None else Checksums.read(ledger)
    if found is None or found.original == source.checksum != found.repaired:
        return None, ""
    if found.repaired == source.checksum:
        told = f"{source.name!r} is the repaired table of the ledger {ledger!r}"
        warning = _warning(told, found.n_edits, task)
        return Repaired(found.n_edits, found.original, ledger, None, warning), f"warning: {warning}"
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
    for option, values in (("-s", task.sensitive), ("-p", task.privileged)):
        who += [part for value in values or () for part in (option, value)]
    if task.positive is not None:
        who += ["--positive", task.positive]
    meaning, cells = shlex.join(who), f"{edits:,} {'cell' if edits == 1 else 'cells'}"
    return (
        f"{told} ({cells} replaced). The rows that a model is tested on here are edited too, by values of "
        "rows with the same label: accuracy usually looks better than it is, and fairness can look better "
        "or worse. Check a repair on original rows instead: "
        f"`fairshap repair ORIGINAL {meaning} --out FILE` trains on repaired folds and tests on original "
        f"ones; `fairshap audit OTHERS {meaning} --model FILE` tests a model that was trained on the "
        "repaired table on original rows that the table does not hold."
    )


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

    A table that can hold a mark names its ledger (``ledger``, if it is there already), unless there will be
    none. Otherwise the ledger names the table. ``settings`` say how the cells were chosen.
    """
    if source.format_for(out) not in MARKED:
        table = source.to_bytes(out, edits)
        return table, edits.to_bytes(original=source.checksum, repaired=sha256(table).hexdigest())
    ledger = edits.to_bytes(original=source.checksum) if ledger is None else ledger
    if not len(edits):
        return source.to_bytes(out, edits), ledger
    name = sha256(ledger).hexdigest() if has_ledger else None
    mark = Mark(
        version=fairshap.__version__,
        original_sha256=source.checksum,
        edits=len(edits),
        ledger_sha256=name,
        settings=settings or {},
    )
    return source.to_bytes(out, edits, mark=mark), ledger


def how_to_check(out: str, *, measured: bool) -> str:
    """Return how to find out what a repair does; ``measured`` says whether measures stand above."""
    name = "the repaired table" if out == STANDARD else out
    how = "as the measures above do" if measured else "as fairshap repair does with --folds 5"
    return (
        f"To check the repair, train on {name} and test on original rows that it does not hold, {how}. An "
        "audit of the repaired table tests on edited rows, on which accuracy looks better than it is."
    )
