"""Files that a command writes: all of them or none."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fairshap._files import check_folder, write_atomically
from fairshap.cli._texts import quote
from fairshap.exceptions import FileError

STANDARD = "-"


def check_writable(paths: Sequence[str | None], *, force: bool, sources: Sequence[Path | None] = ()) -> None:
    """Raise an error if a file must not or cannot be written, before any work is done.

    Files that are read, the sources, are never overwritten.
    """
    read = [source for source in sources if source is not None and source.exists()]
    given = [Path(path) for path in paths if path is not None and path != STANDARD]
    for k, path in enumerate(given):
        if path.resolve() in [other.resolve() for other in given[:k]]:
            raise FileError(f"{str(path)!r} is given for two files; give two names.")
        if path.is_dir():
            raise FileError(f"{str(path)!r} is a folder; give the name of a file in it.")
        if not path.resolve().parent.is_dir():
            raise FileError(
                f"there is no folder {str(path.parent)!r}; make it with mkdir {quote(str(path.parent))}."
            )
        if path.exists():
            if any(path.samefile(source) for source in read):
                raise FileError(f"{str(path)!r} is a file that is read, which is never overwritten.")
            if path.is_file() and not force:
                raise FileError(f"{str(path)!r} exists already; give another name, or --force to replace it.")
        if path.is_file() or not path.exists():
            check_folder(path)


@contextmanager
def trial_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the time of a check: one that cannot be made is known before any work is done.

    It does not stay, so that a run that is interrupted leaves none behind.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for one in missing:
            one.rmdir()


def write_all(
    contents: Sequence[tuple[str | None, Callable[[], bytes]]],
    write_table: Callable[[], None] = lambda: None,
    *,
    force: bool,
) -> None:
    """Write the files that are asked for, and last the table: all of them or none.

    Each is written while those before it lie ready beside their places: whatever goes wrong, none is there.
    """
    asked = [(path, content) for path, content in contents if path is not None]
    if not asked:
        write_table()
        return
    (path, content), *rest = asked

    def write(file: BinaryIO) -> None:
        file.write(content())
        # A full disk is noticed here, before the files after it are renamed.
        file.flush()
        write_all(rest, write_table, force=force)

    write_atomically(path, write, force=force)
