"""The one way in which a file is written: aside first, then renamed into place."""

import errno
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, TypeAlias

from fairshap.exceptions import FileError

Pathlike: TypeAlias = str | os.PathLike[str]


def check_target(path: Pathlike, *, force: bool, sources: Iterable[Path | None] = ()) -> None:
    """Raise an error if a file is a folder or in none, is one of the sources, or exists without ``force``."""
    given, name, folder = Path(path), repr(os.fspath(path)), str(Path(path).parent)
    if given.is_dir():
        raise FileError(f"{name} is a folder; give the name of a file in it.")
    if not given.resolve().parent.is_dir():
        raise FileError(f"there is no folder {folder!r}; make it with mkdir {shlex.quote(folder)}.")
    if given.exists() and any(given.samefile(source) for source in sources if source and source.exists()):
        raise FileError(f"{name} is a file that is read, which is never overwritten; give another name.")
    if given.is_file() and not force:
        raise FileError(
            f"{name} exists already; give another name, or force=True to replace it.", parameter="force"
        )


def write_atomically(path: Pathlike, write: Callable[[BinaryIO], object], *, force: bool = False) -> None:
    """Write a file aside and rename it when it is complete, so that nobody ever sees half of it.

    A link stays a link: the file that it points to is replaced. A device such as ``/dev/stdout`` is written
    to directly. An existing file is replaced only with ``force``, and keeps its permissions.
    """
    given = Path(path)
    target = given.resolve()
    try:
        check_target(path, force=force)
        if given.exists() and not given.is_file():
            with given.open("wb") as file:
                write(file)
            return
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


def check_folder(path: Pathlike) -> None:
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


def _explain(path: Path, error: OSError) -> str:
    why = f": {error.strerror or error}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        why = f", the disk is full ({error.strerror}); nothing was replaced."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = f", its folder is read-only for you ({error.strerror}); give another."
    return f"{str(path)!r} cannot be written{why}"
