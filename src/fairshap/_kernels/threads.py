"""Work in threads that can be watched and interrupted."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

Result = TypeVar("Result")

#: Called with the number of rows that were finished since the last call.
Advance = Callable[[int], None] | None


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
    pool = ThreadPoolExecutor(max(1, min(n_threads, len(items))))
    try:
        futures = {pool.submit(work, *item): item for item in items}
        for future in as_completed(futures):
            # Popped, so that its result is not kept to the end.
            finished(futures.pop(future), future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
