import gc

import numba
import pytest
from numba.core.registry import CPUDispatcher

from fairshap._kernels.compiling import compiled


def double(x: float) -> float:
    return 2 * x


def test_a_folder_that_cannot_be_written_to_costs_time_and_nothing_else(monkeypatch):
    njit = numba.njit

    def refuses_to_cache(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(numba, "njit", refuses_to_cache)
    assert compiled(double)(21.0) == 42.0


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_pauses_while_a_kernel_is_compiled_and_then_goes_on_as_before(
    collects, monkeypatch
):
    seen = []
    compile_ = CPUDispatcher.compile

    def look(self, signature):
        seen.append(gc.isenabled())
        return compile_(self, signature)

    monkeypatch.setattr(CPUDispatcher, "compile", look)
    try:
        (gc.enable if collects else gc.disable)()
        assert compiled(double)(21.0) == 42.0
        assert gc.isenabled() == collects
        assert numba.njit(double)(21.0) == 42.0
    finally:
        gc.enable()
    # Others' kernels are compiled as ever.
    assert seen == [False, collects]
