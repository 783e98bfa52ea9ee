import numba

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
