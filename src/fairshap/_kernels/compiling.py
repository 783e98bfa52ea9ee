"""How kernels are compiled."""

import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Most kernels allocate nothing, so that nobody counts who uses an array: that takes time, and the compiler's.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


class _Part(JITCodeLibrary):
    """What only other kernels call: optimized and translated as a part of them, and never by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        # Python never calls it.
        return 0

    @property
    def codegen(self) -> "_Part":
        return self

    def set_env(self, *_: Any) -> None:
        """Leave out what errors raised in compiled code would need: kernels raise none."""


class _PartCompiler(Compiler):
    """The compiler of such parts."""

    def define_pipelines(self) -> list[Any]:
        name = self.state.func_id.func_qualname
        self.state.library = _Part(self.state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]
        return super().define_pipelines()  # type: ignore[no-any-return, no-untyped-call]


# What only other kernels call needs no way in from Python, and is kept as a part of those who call it.
_INNER = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}
# Quicker sums. The order is the compiler's: the same in every run and every thread. A product may be added in
# one step.
_ANY_ORDER = {"reassoc", "nsz", "contract"}


def compiled(kernel: Kernel, **options: Any) -> Kernel:
    """Return the kernel as machine code that other threads can run beside, kept on disk where possible."""
    try:
        dispatcher = numba.njit(cache=True, **_OPTIONS | options)(kernel)
    except RuntimeError:
        # Neither the package's folder nor the user's can be written to: compile in every process.
        dispatcher = numba.njit(**_OPTIONS | options)(kernel)
    if dispatcher is not kernel:
        # It is the kernel itself where NUMBA_DISABLE_JIT is set.
        dispatcher.compile = _without_collection(dispatcher.compile)
    return dispatcher  # type: ignore[no-any-return]


def _without_collection(compile_: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the compiler with the garbage collector paused: it takes a tenth of the time."""

    def compile_without_collection(signature: Any) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_(signature)
        finally:
            if was_enabled:
                gc.enable()

    return compile_without_collection


def compiled_with_memory(kernel: Kernel, **options: Any) -> Kernel:
    """Return the same for a kernel that allocates: what shares no memory with anything is quicker to use."""
    return compiled(kernel, _nrt=True, **options)


def compiled_in_any_order(kernel: Kernel) -> Kernel:
    """Return the same for a kernel that allocates and whose sums may be taken in any order."""
    return compiled_with_memory(kernel, fastmath=_ANY_ORDER)


def inner(kernel: Kernel) -> Kernel:
    """Return a kernel that other kernels call."""
    return numba.njit(**_INNER)(kernel)  # type: ignore[no-any-return]


def inner_in_any_order(kernel: Kernel) -> Kernel:
    """Return the same for a kernel whose sums may be taken in any order, so that they are quicker."""
    return numba.njit(**_INNER, fastmath=_ANY_ORDER)(kernel)  # type: ignore[no-any-return]


def inlined(kernel: Kernel) -> Kernel:
    """Return a kernel that becomes part of whoever calls it: handing many arrays over takes time."""
    return numba.njit(**_INNER, inline="always")(kernel)  # type: ignore[no-any-return]
