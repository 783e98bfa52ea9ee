"""Long work: in threads, and with a progress bar."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Self, TypeVar

Result = TypeVar("Result")


def in_threads(
    work: Callable[..., Result],
    items: Sequence[tuple[Any, ...]],
    n_threads: int,
    finished: Callable[[tuple[Any, ...], Result], None],
) -> None:
    """Do the work for each item in threads, and call ``finished`` in this thread as each is done.

    The order is not that of the items. An error or an interrupt is raised at once: no piece of work starts
    after it, and those under way end by themselves.
    """
    if min(n_threads, len(items)) <= 1:
        for item in items:
            finished(item, work(*item))
        return
    pool = ThreadPoolExecutor(min(n_threads, len(items)))
    try:
        futures = {pool.submit(work, *item): item for item in items}
        for future in as_completed(futures):
            # Popped, so that its result is freed.
            finished(futures.pop(future), future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# Seconds after which a bar appears: shorter work needs none.
_PATIENCE = 2.0


class Progress:
    """A bar on standard error for long work, with the speed and the time left.

    ``total`` is the amount of work, in any unit.

    >>> with Progress("Matching", total=2, verbose=0) as progress:
    ...     progress.advance(rows=1, work=1)
    """

    def __init__(self, what: str, total: float, verbose: int) -> None:
        self.what, self.total, self.verbose = what, total, verbose
        self.rows, self.work = 0, 0.0
        self._bar: Any = None

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        return self

    def advance(self, rows: int, work: float) -> None:
        """Count finished rows, and the work that they were."""
        self.rows += rows
        self.work += work
        elapsed = time.monotonic() - self._start
        if self._bar is None and self.verbose and elapsed > _PATIENCE:
            self._bar = _bar(self.what, self.total)
        if self._bar is not None:
            speed = f"{self.rows / elapsed:,.0f} rows/s"
            self._bar.update(self._bar.task_ids[0], completed=self.work, speed=speed)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(what: str, total: float) -> Any:
    """Show a bar and return it; rich is imported only here, where a bar is needed."""
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TextColumn

    speed = TextColumn("left, {task.fields[speed]}")
    bar = Bar(*Bar.get_default_columns(), speed, console=Console(stderr=True))
    bar.add_task(what, total=total, speed="")
    bar.start()
    return bar
