"""Work in threads, and a bar that says how far it is."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

Result = TypeVar("Result")

#: Called with the number of rows that were finished since the last call.
Advance: TypeAlias = Callable[[int], None] | None

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
    unit : str
        What is finished: the bar shows rows a second, and how many there are of anything else.

    Examples
    --------
    >>> with Progress("Matching", total=2, verbose=0) as progress:
    ...     progress.advance(rows=1, work=1)
    """

    def __init__(self, what: str, total: float, verbose: int, unit: str = "rows") -> None:
        self.what = what
        self.unit = unit
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
            speed = (
                f"{self.rows / elapsed:,.0f} rows/s" if self.unit == "rows" else f"{self.rows} {self.unit}"
            )
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
    work: Callable[..., Result],
    items: Sequence[tuple[Any, ...]],
    n_threads: int,
    finished: Callable[[tuple[Any, ...], Result], None],
) -> None:
    """Do a piece of work for each item; ``finished`` is called here, as soon as each is done.

    The order in which they are done is not that of the items. An error or an interrupt comes out at once: no
    piece is begun after it, and those under way end by themselves.
    """
    if min(n_threads, len(items)) <= 1:
        for item in items:
            finished(item, work(*item))
        return
    pool = ThreadPoolExecutor(min(n_threads, len(items)))
    try:
        futures = {pool.submit(work, *item): item for item in items}
        for future in as_completed(futures):
            # Popped, so that its result is not kept to the end.
            finished(futures.pop(future), future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
