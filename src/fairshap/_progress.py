"""Work in threads, and a bar that says how far it is."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

Part = TypeVar("Part")

# Seconds after which a bar appears: what is shorter needs none.
_PATIENCE = 2.0


class Progress:
    """A bar on standard error for work that takes long, with rows a second and the time left.

    Parameters
    ----------
    what : str
        What is being done, in one word.
    total : float
        How much work there is, in any unit.
    verbose : int or bool
        Whether a bar is shown.

    Examples
    --------
    >>> with Progress("Matching", total=2, verbose=0) as progress:
    ...     progress.advance(rows=1, work=1)
    """

    def __init__(self, what: str, total: float, verbose: int) -> None:
        self.what = what
        self.total = total
        self.verbose = verbose
        self.rows = 0
        self.work = 0.0
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        self._start = time.monotonic()
        return self

    def advance(self, rows: int, work: float) -> None:
        """Say that so many rows more are finished, and so much of the work."""
        self.rows += rows
        self.work += work
        elapsed = time.monotonic() - self._start
        if self._bar is None and self.verbose and elapsed > _PATIENCE:
            self._bar = _bar(self.what, self.total)
        if self._bar is not None:
            speed = f"{self.rows / elapsed:,.0f} rows/s"
            self._bar.update(self._bar.task_ids[0], completed=self.work, speed=speed)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(what: str, total: float) -> Any:
    """Return a bar that is shown already."""
    # Imported here: whoever sees no bar does not wait for it.
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    bar = Bar(*columns, console=Console(stderr=True))
    bar.add_task(what, total=total, speed="")
    bar.start()
    return bar


def in_threads(
    work: Callable[[Part], None],
    parts: Sequence[Part],
    n_threads: int,
    done: Callable[[Part], None] | None = None,
) -> None:
    """Do the parts of some work in threads; ``done`` is called for each one here, in order.

    An error or a keyboard interrupt comes out as soon as the parts that have begun are finished; the
    others are never begun.
    """
    pool = ThreadPoolExecutor(n_threads)
    try:
        futures = [pool.submit(work, part) for part in parts]
        for part, future in zip(parts, futures, strict=True):
            future.result()
            if done is not None:
                done(part)
    finally:
        pool.shutdown(cancel_futures=True)
