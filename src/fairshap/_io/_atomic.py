"""Files that are written beside and renamed, so that there is the old one or the new one at any time."""

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import BinaryIO

from fairshap.exceptions import FileError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_atomically(
    path: str | os.PathLike[str],
    write: Callable[[BinaryIO], object],
    *,
    force: bool = False,
    source: str | os.PathLike[str] | None = None,
) -> None:
    """Write a file beside its place and rename it into it when it is complete and on the disk.

    Whatever ends the run, there is then the old file or the new one, never half of one. A link stays
    a link: the file that it points to is replaced. What is no ordinary file, such as
    ``/dev/stdout``, is written to directly.

    Parameters
    ----------
    path : path-like
        The file to write.
    write : callable
        Called with a binary file; writes the content.
    force : bool, default=False
        Whether a file that is there may be replaced. It keeps its permissions.
    source : path-like, optional
        A file that is not replaced even so: the one that the content was made from.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "a.txt", lambda file: file.write(b"new"))
    >>> (folder / "a.txt").read_text()
    'new'
    """
    given = Path(path)
    try:
        if given.exists() and not S_ISREG(given.stat().st_mode):
            _write_directly(given, write)
            return
        target = given.resolve()
        _check_may_write(given, target, force, source)
        _write_beside(target, write, force)
    except FileError:
        raise
    except OSError as error:
        raise FileError(_explain(given, error)) from error


def _write_directly(path: Path, write: Callable[[BinaryIO], object]) -> None:
    if path.is_dir():
        raise FileError(f"{str(path)!r} is a folder; give the name of a file in it.")
    with path.open("wb") as file:
        write(file)


def _check_may_write(given: Path, target: Path, force: bool, source: str | os.PathLike[str] | None) -> None:
    if not target.parent.is_dir():
        raise FileError(
            f"there is no folder {str(given.parent)!r} to write {given.name!r} to; make it first."
        )
    if not target.exists():
        return
    if source is not None and Path(source).exists() and target.samefile(source):
        raise FileError(
            f"{str(given)!r} is the file that was read, which is never overwritten; give another name."
        )
    if not force:
        raise FileError(f"{str(given)!r} exists already; give another name, or force to replace it.")


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if nothing can be written beside a path: a file is made there, and removed again.

    Permissions alone do not tell: a superuser has them all, and a folder can be read-only for other reasons.
    """
    beside = _beside(Path(path).resolve())
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        beside.unlink()
    except OSError as error:
        raise FileError(_explain(Path(path), error)) from error


def _beside(target: Path) -> Path:
    # Cut, so that a name as long as names may be can still be written.
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}")


def _write_beside(target: Path, write: Callable[[BinaryIO], object], force: bool) -> None:
    beside = _beside(target)
    try:
        # Opened with the mode of any new file, which the user's mask then restricts.
        with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o666), "wb") as file:
            # Before anything is written: what others may not read, they may at no time.
            _copy_permissions(target, beside)
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if not force and target.exists():
            raise FileError(f"{str(target)!r} has been made by somebody else meanwhile; it is left as it is.")
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


# Windows opens files as text otherwise.
_BINARY: int = getattr(os, "O_BINARY", 0)


def _copy_permissions(old: Path, new: Path) -> None:
    """Give the new file the mode of the one that it replaces, and its owner where that is allowed."""
    try:
        status = old.stat()
    except FileNotFoundError:
        return
    with suppress(OSError, AttributeError):
        os.chown(new, status.st_uid, status.st_gid)
    new.chmod(S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where folders can be told to."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _explain(path: Path, error: OSError) -> str:
    name = str(path)
    if error.errno in _FULL:
        return f"{name!r} cannot be written, the disk is full ({error.strerror}); nothing was replaced."
    if error.errno in _FORBIDDEN:
        return (
            f"{name!r} cannot be written, its folder is read-only for you ({error.strerror}); give another."
        )
    return f"{name!r} cannot be written: {error.strerror or error}."
