"""The one way in which a file is written: aside first, then renamed into place."""

import errno
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from fairshap.exceptions import FileError


def write_atomically(
    path: str | os.PathLike[str],
    write: Callable[[BinaryIO], object],
    *,
    force: bool = False,
    source: str | os.PathLike[str] | None = None,
) -> None:
    """Write a file aside and rename it when it is complete, so that nobody ever sees half of it.

    A link stays a link: the file that it points to is replaced. A device such as ``/dev/stdout`` is written
    to directly. An existing file is replaced only with ``force``, and keeps its permissions; ``source``, the
    file that the content was made from, is never replaced.
    """
    given = Path(path)
    target = given.resolve()
    try:
        if given.is_dir():
            raise FileError(f"{str(given)!r} is a folder; give the name of a file in it.")
        if given.exists() and not given.is_file():
            with given.open("wb") as file:
                write(file)
            return
        _check_may_write(given, target, force, source)
        aside = _aside(target)
        try:
            with aside.open("xb") as file:
                if target.exists():
                    # Before anything is written: a private file is private at any time.
                    shutil.copymode(target, aside)
                write(file)
            aside.replace(target)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
    except FileError:
        raise
    except OSError as error:
        raise FileError(_explain(given, error)) from error


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise an error if nothing can be written beside a path; permissions alone do not tell."""
    aside = _aside(Path(path).resolve())
    try:
        aside.touch(exist_ok=False)
        aside.unlink()
    except OSError as error:
        raise FileError(_explain(Path(path), error)) from error


def _aside(target: Path) -> Path:
    # Cut, so that even the longest name that a folder takes can be written.
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}")


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
        raise FileError(
            f"{str(given)!r} exists already; give another name, or force to replace it.", parameter="force"
        )


def _explain(path: Path, error: OSError) -> str:
    why = f": {error.strerror or error}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        why = f", the disk is full ({error.strerror}); nothing was replaced."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = f", its folder is read-only for you ({error.strerror}); give another."
    return f"{str(path)!r} cannot be written{why}"
