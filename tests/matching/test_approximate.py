"""Approximate searches, held against exact ones."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from fairshap import FairSHAP, datasets, match
from fairshap.exceptions import InputError, MissingExtraError
from fairshap.matching import Nearest, _approximate

SETTING = {"sensitive": "sex", "privileged": "m"}


def people(n=1200, width=6):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, width)).round(1), columns=[f"x{k}" for k in range(width)])
    X.loc[rng.random(n) < 0.1, "x0"] = np.nan
    X["town"] = rng.choice(["x", "y", None], n)
    X["sex"] = rng.choice(["m", "f"], n)
    return X, rng.integers(0, 2, n)


@pytest.fixture
def graphs(monkeypatch):
    """Have graphs made of small strata too."""
    monkeypatch.setattr(_approximate, "_FEW", 0)


def approximate(X, y, n_jobs=1, **options):
    return match(
        X, y, **SETTING, matching=Nearest(search="approximate", random_state=0, **options), n_jobs=n_jobs
    )


@pytest.mark.usefixtures("graphs")
def test_found_rows_are_near_and_the_notes_say_how_near():
    X, y = people()
    plan, exact = approximate(X, y, k=3), match(X, y, **SETTING, matching=Nearest(3))
    assert_array_equal(plan.row, exact.row)
    assert (X["sex"].to_numpy()[plan.row] != X["sex"].to_numpy()[plan.reference]).all()
    space = exact.basis.space
    assert_allclose(plan.distance, np.sqrt(space.squared_of_pairs(plan.row, plan.reference)))
    steps = np.diff(plan.distance.reshape(-1, 3), axis=1)
    assert (steps >= 0).all()
    notes = plan.basis.notes
    assert notes["sampled_rows"] == _approximate.SAMPLE
    assert 0.95 < notes["recall"] <= 1
    assert 1 <= notes["distance_ratio"] < 1.01
    # The sample says what holds for all rows, within its error.
    farthest = exact.distance.reshape(-1, 3)[:, -1].repeat(3)
    assert abs((plan.distance <= farthest * (1 + 1e-12)).mean() - notes["recall"]) < 0.03
    assert "recall" not in exact.basis.notes


@pytest.mark.usefixtures("graphs")
def test_any_number_of_threads_gives_the_same_plan():
    X, y = people()
    plans = [approximate(X, y, n_jobs=n, k=2) for n in (1, 2, 4)]
    for plan in plans[1:]:
        assert plan.reference.tobytes() == plans[0].reference.tobytes()
        assert plan.distance.tobytes() == plans[0].distance.tobytes()
        assert plan.basis.notes == plans[0].basis.notes


@pytest.mark.usefixtures("graphs")
def test_a_poor_graph_is_told_by_its_recall(monkeypatch):
    X, y = people(2000, 12)
    monkeypatch.setattr(_approximate, "_NEIGHBOURS", 2)
    monkeypatch.setattr(_approximate, "_WHILE_BUILT", 2)
    monkeypatch.setattr(_approximate, "_WHILE_SEARCHED", 1)
    monkeypatch.setattr(_approximate, "_MORE", 0)
    plan, exact = approximate(X, y), match(X, y, **SETTING)
    notes = plan.basis.notes
    share = (plan.distance <= exact.distance * (1 + 1e-12)).mean()
    assert share < 0.9
    assert abs(share - notes["recall"]) < 0.06
    ratio = plan.distance.sum() / exact.distance.sum()
    assert abs(ratio - notes["distance_ratio"]) < 0.03


@pytest.mark.usefixtures("graphs")
def test_of_found_rows_that_are_equally_near_the_lowest_comes_first():
    X = pd.DataFrame({"sex": ["m", "f", "f", "f"] * 50, "x": np.repeat(np.arange(50.0), 4)})
    y = np.repeat([0, 1], 100)
    plan, exact = approximate(X, y, k=2), match(X, y, **SETTING, matching=Nearest(2))
    of_men = X["sex"].to_numpy()[plan.row] == "m"
    assert_array_equal(plan.reference[of_men], exact.reference[of_men])


@pytest.mark.usefixtures("graphs")
def test_equal_rows_do_no_harm():
    X = pd.DataFrame({"sex": ["m", "f"] * 60, "x": [1.0] * 60 + [2.0] * 60})
    y = np.tile([0, 0, 1, 1], 30)
    plan, exact = approximate(X, y), match(X, y, **SETTING)
    assert_array_equal(plan.distance, exact.distance)
    assert plan.basis.notes["recall"] == 1
    assert plan.basis.notes["distance_ratio"] == 1


@pytest.mark.usefixtures("graphs")
def test_it_goes_with_everything_else():
    X, y = people()
    plan = approximate(
        X, y, k=4, weights="distance", column_weights={"x1": 0.2, "town": 3.0}, projection=PCA(3)
    )
    exact = match(
        X,
        y,
        **SETTING,
        matching=Nearest(
            4, weights="distance", column_weights={"x1": 0.2, "town": 3.0}, projection=PCA(3), random_state=0
        ),
    )
    assert np.mean(plan.reference == exact.reference) > 0.95
    data = datasets.make_biased(300, random_state=0)
    fs = FairSHAP(
        sensitive=data.sensitive,
        privileged=data.privileged,
        matching=Nearest(search="approximate"),
        random_state=0,
    )
    assert fs.fit(data.X, data.y).matches_.basis.notes["sampled_rows"] == 300


def test_small_strata_are_searched_exactly():
    X, y = people(300)
    plan, exact = approximate(X, y, k=2), match(X, y, **SETTING, matching=Nearest(2))
    assert_array_equal(plan.reference, exact.reference)
    assert plan.basis.notes["recall"] == 1


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
@pytest.mark.usefixtures("graphs")
def test_a_single_row_and_more_references_than_there_are_do():
    X, y = people(60)
    X["sex"] = ["m"] + ["f"] * 59
    y = np.zeros(60, dtype=int)
    y[-1] = 1
    X.loc[58, "sex"] = "m"
    y[58] = 1
    plan = approximate(X, y, k=100)
    assert (plan.row == 0).sum() == 57
    assert plan.basis.notes["rows_with_fewer_than_k"] == 60


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("size", [1e160, 1e30])
def test_numbers_that_are_too_large_are_refused_or_scaled(size):
    X = np.random.default_rng(0).normal(size=(200, 3)) * size
    X[:, 0] = np.arange(200) % 2
    y = np.arange(200) // 2 % 2
    matcher = Nearest(search="approximate", random_state=0)
    if size > 1e38:
        with pytest.raises(InputError, match="too large"):
            match(X, y, sensitive=0, privileged=1, matching=matcher)
    else:
        plan = match(X, y, sensitive=0, privileged=1, matching=matcher)
        assert_array_equal(plan.best, match(X, y, sensitive=0, privileged=1).best)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    X, y = people(60)
    with pytest.raises(MissingExtraError, match=r"needs faiss-cpu.*fairshap\[approximate\]"):
        approximate(X, y)
