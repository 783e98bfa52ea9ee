"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# What only other kernels call needs no way in from Python, and is kept as a part of those who call it.
_INNER = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(kernel: Kernel) -> Kernel:
    """Return the kernel as machine code that other threads can run beside, kept on disk where possible."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(kernel)  # type: ignore[no-any-return]
    except RuntimeError:
        # Neither the package's folder nor the user's can be written to: compile in every process.
        return numba.njit(**_OPTIONS)(kernel)  # type: ignore[no-any-return]


def inner(kernel: Kernel) -> Kernel:
    """Return a kernel that other kernels call."""
    return numba.njit(**_INNER)(kernel)  # type: ignore[no-any-return]


def inner_in_any_order(kernel: Kernel) -> Kernel:
    """Return the same for a kernel whose sums may be taken in any order, so that they are quicker.

    The order is the compiler's: the same in every run and every thread. A product may be added in one step.
    """
    return numba.njit(**_INNER, fastmath={"reassoc", "nsz", "contract"})(kernel)  # type: ignore[no-any-return]


def inlined(kernel: Kernel) -> Kernel:
    """Return a kernel that becomes part of whoever calls it: handing many arrays over takes time."""
    return numba.njit(**_INNER, inline="always")(kernel)  # type: ignore[no-any-return]
