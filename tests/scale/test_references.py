"""The sample of references keeps what is rare, and goes by row numbers alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from fairshap import datasets
from fairshap._frames import Table
from fairshap._kernels.neighbors import distance
from fairshap.matching._plan import Metric
from fairshap.scale._fitting import ranks
from fairshap.scale._references import References, choose_references
from tests.conftest import examples

X = datasets.make_mixed(3000).X
TABLE = Table.read(X)
EVERYONE = np.arange(len(X))


def test_rare_categories_and_the_ends_of_numbers_keep_rows():
    chosen = choose_references(TABLE, EVERYONE, 1200, ranks(EVERYONE, 0))
    assert len(chosen) == 1200
    assert (np.diff(chosen) > 0).all()
    kept = X.iloc[chosen]
    for name in ("occupation", "region", "sector", "contract"):
        assert set(kept[name].dropna()) == set(X[name].dropna()), name
    for name in ("income", "score", "tenure", "age"):
        assert (kept[name].min(), kept[name].max()) == (X[name].min(), X[name].max()), name
    # All rows have a chance: the middle of a number is as wide as it was.
    assert kept["score"].std() == pytest.approx(X["score"].std(), rel=0.3)


@examples(20)
@given(st.integers(1, 3000), st.integers(0, 5))
def test_there_are_as_many_as_may_be(most, seed):
    rows = np.flatnonzero(X["group"] == "a")
    chosen = choose_references(TABLE, rows, most, ranks(EVERYONE, seed))
    assert len(chosen) == min(most, len(rows))
    assert set(chosen) <= set(rows)
    assert_array_equal(chosen, np.unique(chosen))


def test_the_random_numbers_of_rows_are_fixed_and_spread():
    assert_array_equal(ranks(np.arange(100), 3)[40:], ranks(np.arange(40, 100), 3))
    assert (ranks(np.arange(100), 3) != ranks(np.arange(100), 4)).all()
    shares = ranks(np.arange(10_000), 0) / 2.0**63
    assert_array_equal(np.histogram(shares, 4, (0, 1))[0] // 300, [8, 8, 8, 8])


@pytest.mark.parametrize("k", [1, 3])
def test_the_nearest_are_found_with_and_without_the_compiler(k, monkeypatch):
    weights = np.where(np.array(TABLE.names) == "group", 0.0, 1.0)
    metric = Metric.of(TABLE, weights)
    side = (X["group"] == "a").to_numpy().astype(np.int8)
    label = np.zeros(len(X), dtype=np.int64)
    others = Table.read(datasets.make_mixed(200, first_row=9000).X.assign(colour="violet"))
    found = []
    for small in (10**12, 0):
        monkeypatch.setattr(distance, "_SMALL", small)
        references = References.of(TABLE, EVERYONE, EVERYONE, label, side, side.astype(np.int64) - 1, metric)
        chosen, nearest, squared = references.nearest(others, np.arange(200), 0, -1, k, 2)
        found.append((chosen[nearest].tobytes(), squared.tobytes()))
    assert found[0] == found[1]
    # By the distances of one-hot vectors, written out.
    both = pd.concat([X[side == 1], others.native], ignore_index=True)
    numbers = [name for name in X if TABLE.is_numeric(TABLE.position(name)) and name != "since"]
    wanted = np.zeros((len(others.native), int(side.sum())))
    n = int(side.sum())
    for name in [*numbers, "since"]:
        cells = both[name].astype("int64") / 1e9 if name == "since" else both[name].astype(float)
        scale = X[name].astype("int64").std(ddof=0) / 1e9 if name == "since" else X[name].std(ddof=0)
        a, b = cells[:n].to_numpy()[None], cells[n:].to_numpy()[:, None]
        gap = ((a - b) / scale) ** 2
        gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.where(np.isnan(gap), 2.0, gap))
        wanted += gap
    for name in set(X) - set(numbers) - {"since", "group"}:
        cells = both[name].astype(object).where(both[name].notna(), "missing")
        wanted += 2.0 * (cells[:n].to_numpy()[None] != cells[n:].to_numpy()[:, None])
    np.testing.assert_allclose(squared, np.sort(wanted, axis=1)[:, :k], rtol=1e-9)
