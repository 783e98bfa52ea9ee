"""Tuning end to end: what is tried, what is recommended, what is refused."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

from fairshap import datasets, tune
from fairshap.exceptions import InputError, TargetError
from fairshap.matching import Nearest
from tests.conftest import to_library

DATA = datasets.load("german")
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
QUICK = {"thresholds": [0.05], "n_folds": 2, "n_repeats": 1, "n_resamples": 50, "random_state": 0}
MODEL = LogisticRegression(max_iter=2000)


@pytest.fixture(scope="module")
def tuning():
    return tune(DATA.X, DATA.y, **WHO, **QUICK, strategies=["threshold", "optimal"])


def test_what_is_tried_stands_in_the_frame_with_its_intervals(tuning):
    frame = tuning.frame()
    assert frame["name"].tolist()[0] == "the model as it is"
    assert {
        "the sensitive column dropped",
        "twins of all rows, no edits",
        "threshold 0.05",
        "optimal 0.05, twins of edited rows",
    } < set(frame["name"])
    assert len(frame) == 3 + 2 * 3
    for name in ("accuracy", "dr", "dp", "eo"):
        assert (frame[f"{name}_low"] <= frame[name]).all()
        assert (frame[name] <= frame[f"{name}_high"]).all()
        assert (frame[f"{name}_low"] >= 0).all()
    dropped = frame.set_index("name").loc["the sensitive column dropped"]
    assert dropped["dr"] == 0


def test_the_recommended_one_is_named_drawn_and_ready_to_fit(tuning):
    assert tuning.recommended in tuning.frame()["name"].tolist()
    assert tuning.recommended in tuning.reason or tuning.recommended == "the model as it is"
    ax = Figure().subplots()
    assert tuning.plot(ax=ax) is ax
    assert len(ax.collections) + len(ax.lines) > 1
    X_fair, y = tuning.repair.fit_resample(DATA.X, DATA.y)
    assert len(X_fair) == len(y) >= len(DATA.X)


def test_a_seed_gives_the_same_tuning_whatever_the_library():
    options = {**WHO, **QUICK, "strategies": ["optimal"], "augments": [None], "matching": Nearest(k=2)}
    frames = [
        tune(to_library(DATA.X, library), DATA.y, MODEL, **options).frame()["accuracy"].to_numpy()
        for library in ("pandas", "pyarrow")
    ]
    np.testing.assert_array_equal(*frames)


def test_screening_changes_no_candidate():
    options = {**WHO, **QUICK, "strategies": ["threshold", "optimal"], "augments": [None]}
    options |= {"column_thresholds": {"age": 0.01}, "frozen": ["job"]}
    plain, screened = (tune(DATA.X, DATA.y, **options, screen=screen).frame() for screen in (False, True))
    assert plain.equals(screened)


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"objective": "fair"}, "'fairness', 'dr', 'dp', 'eo', 'pqp'.*Did you mean 'fairness'"),
        ({"strategies": ["optimum"]}, "Did you mean 'optimal'"),
        ({"augments": ["edit"]}, "Did you mean 'edited'"),
        ({"max_accuracy_drop": 2}, "max_accuracy_drop=2"),
        ({"max_edits": -1}, "max_edits=-1"),
        ({"n_folds": 1}, "n_folds=1 must be a whole number from 2 on"),
        ({"n_repeats": 0}, "n_repeats=0 must be a whole number from 1 on"),
        ({"thresholds": [-1]}, "threshold=-1"),
    ],
)
def test_what_makes_no_sense_is_refused(params, text):
    with pytest.raises(InputError, match=text):
        tune(DATA.X, DATA.y, MODEL, **{**WHO, **QUICK, **params})


def test_a_quantity_is_refused():
    with pytest.raises(TargetError, match="two labels"):
        tune(DATA.X.drop(columns="credit_amount"), DATA.X["credit_amount"] * 1.5, **WHO, **QUICK)
