import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairshap import metrics
from paper.bound import parity_bound
from tests.conftest import NumpyLogistic, examples


@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_bound_holds_for_the_rows_at_hand(seed, levels):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels + 1, size=(30, 3)).astype(float)
    X[:, 0] = np.arange(30) % 2
    model = NumpyLogistic(rng.normal(size=3) * 2, rng.normal(size=(3, 3)))
    found = parity_bound(model, pd.DataFrame(X), 0, 1)
    assert found["score_parity"] <= found["bound"] + 1e-12
    rows = [
        {tuple(row): float((part[:, 1:] == row).all(axis=1).mean()) for row in part[:, 1:]}
        for part in (X[::2], X[1::2])
    ]
    moved = sum(abs(rows[0].get(row, 0) - rows[1].get(row, 0)) for row in rows[0].keys() | rows[1].keys())
    assert_allclose(found["total_variation"], moved / 2, atol=1e-12)
    score = metrics.mean_score_difference(
        None, model.predict_proba(X)[:, 1], sensitive_features=X[:, 0], privileged=1
    )
    assert_allclose(found["score_parity"], score, atol=1e-12)


def test_rows_that_no_two_share_make_the_bound_vacuous():
    X = pd.DataFrame({"a": np.arange(40) % 2, "x": np.random.default_rng(0).normal(size=40)})
    found = parity_bound(NumpyLogistic([1.0, 1.0]), X, "a", 1)
    assert found["total_variation"] == 1.0
    assert found["bound"] >= 1
