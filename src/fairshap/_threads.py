"""Work in threads."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

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
