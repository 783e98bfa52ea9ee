"""Frames of every library with the same cells, and small models whose answers can be computed by hand."""

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

# Every run tries the same examples, so that what passes once passes again; `make fuzz` draws others.
_ALWAYS = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", derandomize=True, max_examples=100, **_ALWAYS)
settings.register_profile("fuzz", derandomize=False, max_examples=2000, print_blob=True, **_ALWAYS)
settings.load_profile("default")


def examples(count: int) -> settings:
    """Return settings by which a property tries so many examples, and 20 times as many in a fuzz run."""
    return settings(max_examples=count * settings().max_examples // 100)


# No windows, whatever the screen.
mpl.use("agg")

LIBRARIES = ("pandas", "polars", "pyarrow")


def to_library(frame: pd.DataFrame, library: str):
    """Return the same cells as a frame of another library."""
    if library == "pandas":
        return frame
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table if library == "pyarrow" else pl.from_arrow(table)


def to_pandas(frame) -> pd.DataFrame:
    """Return any frame's cells as pandas, for comparison."""
    return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()


@pytest.fixture(autouse=True)
def _close_figures():
    """Close what a test drew: pyplot keeps figures until it is told."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def _seeded():
    """Seed the generator that an estimator without a seed, or a check of scikit-learn, draws from."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture(params=LIBRARIES)
def library(request) -> str:
    return request.param


@pytest.fixture
def people() -> pd.DataFrame:
    """Every kind of column, with missing values in each."""
    return pd.DataFrame(
        {
            "sex": ["m", "f", "m", "f", "m", "f"],
            "age": [30.0, 31.0, np.nan, 52.0, 41.0, np.nan],
            "children": [0, 1, 2, 0, 1, 3],
            "town": pd.Categorical(["x", "y", None, "x", "y", "z"]),
            "member": [True, False, True, True, False, False],
            "joined": pd.to_datetime(
                ["2020-01-01", "2020-02-01", None, "2021-01-01", "2021-06-01", "2022-01-01"]
            ).as_unit("us"),
        }
    )


class NumpyLogistic:
    """A logistic model in float64, with interactions, that any array can be given to."""

    def __init__(self, coefficients, interactions=None):
        self.coefficients = np.asarray(coefficients, dtype=float)
        size = len(self.coefficients)
        self.interactions = np.zeros((size, size)) if interactions is None else np.asarray(interactions)

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        odds = X @ self.coefficients + np.einsum("ni,ij,nj->n", X, self.interactions, X)
        p = 1 / (1 + np.exp(-odds))
        return np.column_stack([1 - p, p])
