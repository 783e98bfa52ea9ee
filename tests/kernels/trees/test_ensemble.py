import numpy as np
import pytest

from fairshap._kernels.trees.ensemble import note_special, rank_numbers


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    values = rng.integers(-3, 4, size=(200, 3)) / 2
    values[rng.random((200, 3)) < 0.1] = np.nan
    return values


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("missing", [np.nan, 0.5])
def test_ranks_are_those_of_numpy(values, strict, missing):
    cuts = [np.array([-1.0, 0.5, 0.75]), np.empty(0), np.array([0.0])]
    starts = np.cumsum([0, *map(len, cuts)])
    ranks = rank_numbers(values, np.concatenate(cuts), starts, strict, False, missing)
    for column, own in enumerate(cuts):
        expected = np.searchsorted(own, values[:, column], side="right" if strict else "left")
        expected[np.isnan(values[:, column]) | (values[:, column] == missing)] = -1
        np.testing.assert_array_equal(ranks[:, column], expected)
    assert ranks.min() == -1 < 2 < ranks.max()


# What overflows in machine code does so silently; without the compiler numpy says so.
@pytest.mark.filterwarnings("ignore:overflow")
def test_single_precision_rounds_values_and_not_thresholds():
    cuts, starts = np.array([1 + 2.0**-30]), np.array([0, 1])
    values = np.array([[1 + 2.0**-29], [1 + 2.0**-31], [1 + 2.0**-23], [1e300]])
    assert rank_numbers(values, cuts, starts, False, True, np.nan).ravel().tolist() == [0, 0, 1, 1]
    assert rank_numbers(values, cuts, starts, False, False, np.nan).ravel().tolist() == [1, 0, 1, 1]


def test_special_rows_are_found_over_parts(values):
    values[:, 1] = np.abs(values[:, 1]) + 1
    special = np.full((4, 3), -1)
    least, greatest = np.full(3, np.inf), np.full(3, -np.inf)
    for start in range(0, 200, 64):
        note_special(values[start : start + 64], start, special, least, greatest)
    np.testing.assert_array_equal(special[0], np.isnan(values).argmax(axis=0))
    assert special[1].tolist() == [(values[:, 0] == 0).argmax(), -1, (values[:, 2] == 0).argmax()]
    np.testing.assert_array_equal(special[2], np.nanargmin(values, axis=0))
    np.testing.assert_array_equal(special[3], np.nanargmax(values, axis=0))
