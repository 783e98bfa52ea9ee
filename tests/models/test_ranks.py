"""Numbers as places among a model's thresholds, and the cells that libraries may read differently."""

import numpy as np
import pandas as pd
import pytest

from fairshap._frames import Table
from fairshap._models.probing import _telling_cells
from fairshap._models.trees import Ensemble


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    values = rng.integers(-3, 4, size=(200, 3)) / 2
    values[rng.random((200, 3)) < 0.1] = np.nan
    return values


def ranks_of(values, thresholds, dtype=np.float64, **options):
    # Ranks do not depend on the trees.
    no_trees = type("NoTrees", (), {"table_start": np.full(1, -1), "table": np.empty(0)})
    ensemble = Ensemble(no_trees, np.arange(len(thresholds)), thresholds, dtype, **options)
    return ensemble.rank(np.arange(len(thresholds)), values)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("missing", [np.nan, 0.5])
def test_rank_counts_the_thresholds_below(values, strict, missing):
    thresholds = [np.array([-1.0, 0.5, 0.75]), np.empty(0), np.array([0.0])]
    before = values.copy()
    ranks = ranks_of(values, thresholds, strict=strict, missing=missing)
    np.testing.assert_array_equal(values, before)
    for (i, j), value in np.ndenumerate(values):
        is_missing = np.isnan(value) or value == missing
        above = sum(value > cut or (strict and value == cut) for cut in thresholds[j])
        assert ranks[i, j] == (-1 if is_missing else above)
    assert ranks.min() == -1 < 2 < ranks.max()


def test_single_precision_rounds_values_and_not_thresholds():
    thresholds = [np.array([1 + 2.0**-30])]
    values = np.array([[1 + 2.0**-29], [1 + 2.0**-31], [1 + 2.0**-23], [1e300]])
    assert ranks_of(values, thresholds, np.float32).ravel().tolist() == [0, 0, 1, 1]
    assert ranks_of(values, thresholds, np.float64).ravel().tolist() == [1, 0, 1, 1]


def test_telling_cells_are_missing_zero_least_and_greatest(values):
    values[:, 1] = np.abs(values[:, 1]) + 1
    column, row = _telling_cells(Table.read(pd.DataFrame(values)), np.arange(3))
    for j in range(3):
        own = values[row[column == j], j]
        assert np.isnan(own).any()
        assert (own == 0).any() == (j != 1)
        assert np.nanmin(own) == np.nanmin(values[:, j])
        assert np.nanmax(own) == np.nanmax(values[:, j])
