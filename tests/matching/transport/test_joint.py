import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from fairshap.exceptions import InputError
from fairshap.matching._transport import _joint, _memory
from fairshap.matching._transport._joint import conditional


def plainly(plan, keep):
    """One row at a time: the largest entries until they reach the share."""
    kept = []
    for i, masses in enumerate(plan):
        total, so_far, chosen = masses.sum(), 0.0, []
        for j in sorted(range(len(masses)), key=lambda j: (-masses[j], j)):
            if masses[j] == 0 or so_far >= keep * (1 - 1e-9) * total:
                break
            so_far += masses[j]
            chosen.append(j)
        kept += [(i, j, masses[j] / so_far, so_far / total) for j in chosen]
    return kept


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.3, 0.5, 0.9, 0.99, 1.0]), st.data())
def test_each_row_keeps_its_largest_masses(n, m, keep, data):
    plan = data.draw(arrays(np.float64, (n, m), elements=st.sampled_from([0.0, 1e-4, 1.0, 2.0, 5.0])))
    plan[:, 0] += 1
    row, other, weight, kept = conditional(np.arange(n + 1) * m, np.tile(np.arange(m), n), plan.ravel(), keep)
    expected = plainly(plan, keep)
    assert_array_equal(row, [i for i, *_ in expected])
    assert_array_equal(other, [j for _, j, *_ in expected])
    assert_allclose(weight, [w for *_, w, _ in expected], atol=1e-11)
    assert_allclose(kept[row], [share for *_, share in expected], atol=1e-11)
    assert_allclose(np.bincount(row, weight), 1, rtol=1e-12)
    assert (kept >= keep * (1 - 1e-9)).all()


def test_it_is_the_same_in_chunks(monkeypatch):
    mass = np.random.default_rng(0).random(90)
    arguments = np.arange(10) * 10, np.tile(np.arange(10), 9), mass, 0.8
    whole = conditional(*arguments)
    monkeypatch.setattr(_joint, "_CHUNK", 25)
    for one, other in zip(whole, conditional(*arguments), strict=True):
        assert_array_equal(one, other)


def test_more_references_than_fit_are_refused(monkeypatch):
    monkeypatch.setattr(_memory, "free_bytes", lambda: 10_000)
    with pytest.raises(InputError, match=r"900 references .* regularisation"):
        conditional(np.arange(31) * 30, np.tile(np.arange(30), 30), np.ones(900), 1.0)


def test_free_memory_is_the_least_that_machine_and_container_leave(monkeypatch, tmp_path):
    names = ("meminfo", "max", "current")
    meminfo, limit, taken = (tmp_path / name for name in names)
    meminfo.write_text("MemTotal:  99 kB\nMemAvailable:     64 kB\n")
    monkeypatch.setattr(_memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(_memory, "_CONTAINER", ((limit, taken),))
    assert _memory.free_bytes() == 64 << 10
    limit.write_text("max\n")
    taken.write_text("100\n")
    assert _memory.free_bytes() == 64 << 10
    limit.write_text("1100\n")
    assert _memory.free_bytes() == 1000
    limit.write_text("50\n")
    assert _memory.free_bytes() == 0
    meminfo.unlink()
    limit.unlink()
    assert _memory.free_bytes() > 1 << 20
