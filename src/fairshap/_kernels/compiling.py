"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(kernel: Kernel) -> Kernel:
    """Return the kernel as machine code that other threads can run beside, kept on disk where possible."""
    return _compile(kernel)


def compiled_in_any_order(kernel: Kernel) -> Kernel:
    """Return the same for a kernel whose sums may be taken in any order, so that they are quicker.

    The order is the compiler's: the same in every run and every thread. A product may be added in one step.
    """
    return _compile(kernel, fastmath={"reassoc", "nsz", "contract"})


def compiled_into_its_caller(kernel: Kernel) -> Kernel:
    """Return a kernel that becomes part of whoever calls it: handing many arrays over takes time."""
    return _compile(kernel, inline="always")


def _compile(kernel: Kernel, **options: Any) -> Kernel:
    options |= {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(kernel)  # type: ignore[no-any-return]
    except RuntimeError:
        # Neither the package's folder nor the user's can be written to: compile in every process.
        return numba.njit(**options)(kernel)  # type: ignore[no-any-return]
