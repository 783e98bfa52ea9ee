"""Transport problems that are small enough for slow answers."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from fairshap._kernels.neighbors.distance import MISMATCH, Costs
from fairshap.matching._plan import Space
from fairshap.matching._transport import TransportProblem


def equal_costs(weights, n_categories, mismatch=MISMATCH):
    """Return costs by which every category that differs and every number that is lacking counts the same."""
    return Costs(weights, np.full(len(weights), mismatch), np.full(n_categories, mismatch))


def random_problem(n, m, seed=0, *, n_numbers=2, n_codes=2, holes=True, ties=False):
    """Return a problem whose rows are shuffled among each other, some numbers and categories missing."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 3, (n + m, n_numbers)) * 1.0 if ties else rng.normal(size=(n + m, n_numbers))
    if holes:
        numbers[rng.random(numbers.shape) < 0.1] = np.nan
    weights, codes = rng.uniform(0.5, 2, n_numbers), rng.integers(-1, 3, (n + m, n_codes)).astype(np.int32)
    space = Space(numbers, codes, equal_costs(weights, n_codes), np.isnan(numbers).any(axis=0))
    rows = rng.permutation(n + m)
    return TransportProblem(space, np.sort(rows[:n]), np.sort(rows[n:]), np.random.default_rng(seed))


@st.composite
def problems(draw, most=9):
    return random_problem(
        draw(st.integers(1, most)),
        draw(st.integers(1, most)),
        draw(st.integers(0, 10_000)),
        n_numbers=draw(st.integers(0, 3)),
        n_codes=draw(st.integers(1, 2)),
        ties=draw(st.booleans()),
    )


def two_groups(n, m, seed=0, n_others=4):
    """Return a table with two labels; the groups have n and m rows of label 0, a few of label 1."""
    rng = np.random.default_rng(seed)
    sizes = [("f", 0, n), ("m", 0, m), ("f", 1, n_others), ("m", 1, n_others + 1)]
    sex = np.concatenate([[group] * size for group, _, size in sizes])
    y = np.concatenate([[label] * size for _, label, size in sizes])
    order = rng.permutation(len(y))
    X = pd.DataFrame(
        {
            "sex": sex,
            "age": rng.normal(40, 10, len(y)).round(1) + 3 * (sex == "m"),
            "pay": rng.lognormal(3, 1, len(y)).round(2),
            "town": rng.choice(["x", "y", "z"], len(y)),
        }
    )
    return X.iloc[order].reset_index(drop=True), y[order]
