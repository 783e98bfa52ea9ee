"""What fits into memory, asked before it is taken."""

import os
from pathlib import Path

from fairshap.exceptions import InputError

# What is taken to be free where the system does not say.
_UNKNOWN = 4 << 30

_MEMINFO = Path("/proc/meminfo")
# The limit of a container and what it has taken of it, in the two layouts that there are.
_CONTAINER = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)


def free_bytes() -> int:
    """Return how much memory can still be taken, by the machine and by the container around us."""
    free = [_free_of_machine()]
    for limit, taken in _CONTAINER:
        try:
            free.append(int(limit.read_text()) - int(taken.read_text()))
        except (OSError, ValueError):
            # Not there, or "max": no limit.
            continue
    return max(min(free), 0)


def _free_of_machine() -> int:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN


def check_room(n_bytes: int, what: str, instead: str) -> None:
    """Raise an error, with what to do instead, if so many bytes cannot be had."""
    free = free_bytes()
    if n_bytes > free:
        raise InputError(f"{what} would take {_size(n_bytes)}, and {_size(free)} are free. {instead}")


def _size(n_bytes: int) -> str:
    """Return a size in words.

    Examples
    --------
    >>> _size(3 << 29), _size(3 << 19)
    ('1.5 GiB', '1.5 MiB')
    """
    if n_bytes >= 1 << 30:
        return f"{n_bytes / (1 << 30):,.1f} GiB"
    return f"{n_bytes / (1 << 20):,.1f} MiB"
