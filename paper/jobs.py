"""Experiments as independent jobs: what they are, how they run, and how their records are kept."""

import hashlib
import json
import os
import platform
import signal
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
from joblib import Parallel, delayed, parallel_config

import fairshap
from fairshap.exceptions import FairshapWarning

#: One line of what a job found: names, numbers and texts that JSON takes.
Record: TypeAlias = dict[str, Any]

_PACKAGES = (
    "fairlearn", "joblib", "numba", "numpy", "pandas", "scikit-learn", "scipy", "treelite", "xgboost",
    "xgboost-cpu",
)  # fmt: skip
#: Modules that are installed under another name.
DISTRIBUTIONS = {"ot": "POT"}


@dataclass(frozen=True, slots=True)
class Options:
    """What all experiments are asked for.

    Parameters
    ----------
    settings : tuple of str
        The settings to run, such as "german:sex"; an experiment takes those that it has.
    seeds : int
        The number of seeds of the folds, starting with the paper's 1, where a spread over seeds is reported.
    folds : int
        The number of folds.
    random_state : int
        The seed of everything that is drawn apart from the folds.
    """

    settings: tuple[str, ...]
    seeds: int = 5
    folds: int = 5
    random_state: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work that depends on no other.

    Parameters
    ----------
    key : str
        Its name, unique within the experiment.
    work : callable
        A function of a module that returns records.
    arguments : tuple
        Texts, numbers and tuples of them. A finished job is recognized by them.
    cost : float
        Approximate seconds on one thread. The costliest job starts first.
    """

    key: str
    work: Callable[..., list[Record]]
    arguments: tuple[Any, ...]
    cost: float = 1.0

    @property
    def fingerprint(self) -> str:
        """A text that changes when the work, its arguments or a version does."""
        work = f"{self.work.__module__}.{self.work.__qualname__}"
        content = json.dumps([work, self.arguments, versions()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Findings:
    """What an experiment writes, by file name without the ending.

    Parameters
    ----------
    frames : dict
        Tables, written as CSV.
    pages : dict
        Markdown.
    figures : dict
        Functions that draw and return axes, written as PNG and SVG.
    summary : dict
        A few numbers.
    """

    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Callable[[], Any]] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment of the paper.

    Parameters
    ----------
    name : str
        Its name on the command line and its folder.
    what : str
        What it does, in a few words.
    plan : callable
        From the options to the jobs.
    finish : callable
        From the records of all jobs, in the order of the plan, and the options to the findings.
    packages : tuple of str
        What it imports beyond fairshap's own dependencies.
    optional : tuple of str
        What it uses where installed.
    """

    name: str
    what: str
    plan: Callable[[Options], list[Job]]
    finish: Callable[[list[Record], Options], Findings]
    packages: tuple[str, ...] = ("xgboost", "fairlearn", "matplotlib")
    optional: tuple[str, ...] = ()


@cache
def versions(*more: str) -> dict[str, str]:
    """Return the versions of Python, fairshap and the packages that figures depend on, where installed."""
    found = {"python": platform.python_version(), "fairshap": fairshap.__version__}
    for package in sorted({*_PACKAGES, *(DISTRIBUTIONS.get(module, module) for module in more)}):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def version_of(module: str) -> str:
    """Return the version of a package that only some jobs use, to be an argument of those.

    Examples
    --------
    >>> version_of("a package that nobody has")
    'none'
    """
    return versions(module).get(DISTRIBUTIONS.get(module, module), "none")


class Records:
    """A file with one line for each finished job.

    Whatever ends a run, finished lines stay; a line that was being written is ignored.

    Parameters
    ----------
    path : Path
        The file, created when the first job is finished.
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
        return (job.key, job.fingerprint) in self._lines

    def of(self, job: Job) -> list[Record]:
        """Return the records of a finished job."""
        return self._lines[job.key, job.fingerprint]["records"]

    def seconds(self, job: Job) -> float:
        """Return the CPU seconds that a finished job took."""
        return float(self._lines[job.key, job.fingerprint]["seconds"])

    def keep(self, job: Job, records: list[Record], seconds: float) -> None:
        """Write the records of a job to the disk."""
        line = {
            "key": job.key,
            "fingerprint": job.fingerprint,
            "seconds": round(seconds, 2),
            "records": records,
        }
        text = json.dumps(line) + "\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text if self._ends_whole else "\n" + text)
            file.flush()
            os.fsync(file.fileno())
        self._ends_whole = True
        # Read back as written, so that a first run and a resumed one see the same numbers.
        self._remember(text)


def run_jobs(jobs: Sequence[tuple[Job, Records]], n_jobs: int | None, verbose: bool) -> None:
    """Run jobs, the costliest first, each in one thread of a process, and keep what each finds at once."""
    jobs = sorted(jobs, key=lambda pair: -pair[0].cost)
    n_processes = min(n_jobs or os.cpu_count() or 1, len(jobs))
    with closing(_results([job for job, _ in jobs], n_processes)) as results:
        for done, (k, records, seconds) in enumerate(results, 1):
            job, kept = jobs[k]
            kept.keep(job, records, seconds)
            if verbose:
                print(f"{done} of {len(jobs)} jobs: {job.key}, {seconds:.1f} CPU s", file=sys.stderr)


def _results(jobs: Sequence[Job], n_processes: int) -> Generator[tuple[int, list[Record], float], None, None]:
    """Yield the number of each job, its records and its seconds, as soon as it is done."""
    if n_processes <= 1:
        for k, job in enumerate(jobs):
            yield _run(k, job, os.getpid())
        return
    with _quiet_tracker(), parallel_config(backend="loky", inner_max_num_threads=1):
        # One job at a time: if the run ended during a batch, all finished jobs of it would be lost.
        pool = Parallel(n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        with closing(pool(delayed(_run)(k, job, os.getpid()) for k, job in enumerate(jobs))) as results:
            yield from results


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Keep joblib's resource tracker, a process of its own, from warning that it had to clean up."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, [before, "ignore:resource_tracker:UserWarning"]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _run(k: int, job: Job, parent: int) -> tuple[int, list[Record], float]:
    if os.getpid() != parent:
        # The parent hears of an interrupt too, and ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    start = time.process_time()
    with warnings.catch_warnings():
        # A warning about groups or references would be repeated for every fold.
        warnings.simplefilter("ignore", FairshapWarning)
        records = job.work(*job.arguments)
    return k, records, time.process_time() - start
