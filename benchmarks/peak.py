"""The peak memory of this process."""

import resource
from pathlib import Path


def peak_mib() -> float:
    """Return it in MiB.

    Not from getrusage where there is another way: a process that was started by a larger one has that
    one's peak there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
