"""Run jobs in processes, and keep what each found as soon as it is there."""

import os
import signal
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager

from joblib import Parallel, delayed, parallel_config

from fairshap._progress import Progress
from fairshap.exceptions import FairshapWarning
from fairshap.reproduction._experiment import Job, Record
from fairshap.reproduction._records import Records


def run_jobs(jobs: Sequence[tuple[Job, Records]], n_jobs: int | None, verbose: int) -> None:
    """Run jobs, the costliest first, each in one thread of a process; keep what they find.

    Parameters
    ----------
    jobs : sequence of pairs of Job and Records
        What to run, and where its records go.
    n_jobs : int, optional
        How many processes; as many as there are cores by default.
    verbose : int
        Whether a bar is shown.
    """
    order = sorted(range(len(jobs)), key=lambda k: -jobs[k][0].cost)
    n_processes = min(n_jobs or os.cpu_count() or 1, len(jobs))
    with (
        Progress("Reproducing", sum(job.cost for job, _ in jobs), verbose, unit="jobs") as progress,
        closing(_results([jobs[k][0] for k in order], n_processes)) as results,
    ):
        for k, records, seconds in results:
            job, kept = jobs[order[k]]
            kept.keep(job, records, seconds)
            progress.advance(1, job.cost)


def _results(jobs: Sequence[Job], n_processes: int) -> Generator[tuple[int, list[Record], float], None, None]:
    """Yield the number of each job, its records and its seconds, as soon as it is done."""
    if n_processes <= 1:
        for k, job in enumerate(jobs):
            yield _run(k, job, os.getpid())
        return
    with _quiet_tracker(), parallel_config(backend="loky", inner_max_num_threads=1):
        # One job at a time: jobs of one batch would all be lost if the run ended in the last.
        pool = Parallel(n_processes, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        with closing(pool(delayed(_run)(k, job, os.getpid()) for k, job in enumerate(jobs))) as results:
            yield from results


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Keep the process that cleans up after an interrupted run from warning that it had to.

    It is started with the first pool and outlives it; warnings of a process are set by its environment.
    """
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
        # The process that started this one hears of an interrupt too, and ends it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    start = time.process_time()
    with warnings.catch_warnings():
        # What is to be said of groups and references would be said again of every fold.
        warnings.simplefilter("ignore", FairshapWarning)
        records = job.work(*job.arguments)
    return k, records, time.process_time() - start
