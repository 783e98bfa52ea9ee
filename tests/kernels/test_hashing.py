import numpy as np

from fairshap._kernels.hashing import cell_hashes

COLUMNS = np.array([0, 1])


def test_equal_cells_have_equal_fingerprints():
    cells = np.array([[0.0, np.nan], [-0.0, -np.nan]])
    hashes = cell_hashes(cells, COLUMNS)
    assert (hashes[0] == hashes[1]).all()


def test_other_values_and_other_columns_have_other_fingerprints():
    values = np.arange(5000, dtype=float)
    hashes = cell_hashes(np.column_stack([values, values]), COLUMNS)
    assert len(np.unique(hashes)) == hashes.size
    codes = cell_hashes(np.arange(-1, 5000, dtype=np.int32)[:, None], COLUMNS[:1])
    assert len(np.unique(codes)) == codes.size


def test_rows_that_differ_in_one_cell_have_other_sums():
    cells = np.random.default_rng(0).integers(0, 3, size=(2000, 8)).astype(np.int32)
    sums = cell_hashes(cells, np.arange(8)).sum(axis=1, dtype=np.uint64)
    assert len(np.unique(sums)) == len(np.unique(cells, axis=0))
