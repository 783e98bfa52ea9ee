"""The records of finished jobs, kept on the disk so that a run can go on where it stopped."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from fairshap.reproduction._experiment import Job, Record
from fairshap.reproduction._versions import versions


def fingerprint(job: Job) -> str:
    """Return a text that changes when the work, its arguments or a version does."""
    work = f"{job.work.__module__}.{job.work.__qualname__}"
    content = json.dumps([work, job.arguments, versions()], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class Records:
    """A file with one line for each finished job.

    A line is there when it is whole: whatever ends a run, what was finished before stays, and a line that was
    being written is passed over.

    Parameters
    ----------
    path : Path
        The file; made when the first job is finished.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: dict[tuple[str, str], dict[str, Any]] = {}
        self._ends_whole = True
        if path.exists():
            text = path.read_text(encoding="utf-8")
            self._ends_whole = not text or text.endswith("\n")
            for line in text.splitlines():
                self._remember(line)

    def _remember(self, line: str) -> None:
        try:
            read = json.loads(line)
            self._lines[read["key"], read["fingerprint"]] = read
        except (ValueError, KeyError, TypeError):
            return

    def __contains__(self, job: Job) -> bool:
        return (job.key, fingerprint(job)) in self._lines

    def of(self, job: Job) -> list[Record]:
        """Return the records of a finished job."""
        found: list[Record] = self._lines[job.key, fingerprint(job)]["records"]
        return found

    def seconds(self, job: Job) -> float:
        """Return the seconds of computing that a finished job took."""
        return float(self._lines[job.key, fingerprint(job)]["seconds"])

    def keep(self, job: Job, records: list[Record], seconds: float) -> None:
        """Write the records of a job to the disk."""
        line = {
            "key": job.key,
            "fingerprint": fingerprint(job),
            "seconds": round(seconds, 2),
            "records": records,
        }
        text = json.dumps(line) + "\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text if self._ends_whole else "\n" + text)
            file.flush()
            os.fsync(file.fileno())
        self._ends_whole = True
        # Read back as it was written, so that a first run and one that goes on see the same numbers.
        self._remember(text)
