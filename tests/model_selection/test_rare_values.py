"""Privileged values that the table has, and a fold of it lacks."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression

from fairshap import FairSHAP, FairSHAPClassifier, mitigation
from fairshap.exceptions import GroupError
from fairshap.model_selection import METHODS, budget_curve, evaluate, holdout_check, tune

pytestmark = pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")

MODEL = LogisticRegression()
RNG = np.random.default_rng(0)
RACE = RNG.choice(["a", "b", "c"], 400).astype(object)
SEX = RNG.choice(["m", "f"], 400).astype(object)
# One privileged row, and two of an unprivileged value.
RACE[5], SEX[5], RACE[[7, 300]] = "rare", "f", "few"
X = pd.DataFrame(
    {"race": RACE, "sex": SEX, "skill": RNG.normal(size=400), "town": RNG.choice(["x", "y"], 400)}
)
Y = (X["skill"] + (X["race"] == "a") + RNG.normal(size=400) / 2 > 0.6).astype(int)
NUMBERED = X.assign(race=X["race"].map({"a": 1, "b": 2, "c": 3, "rare": 8, "few": 9}))

#: The table, the attribute, its privileged values, and the same as a function, which is asked of any values.
SETTINGS = {
    "one column": (X, "race", ["a", "rare"], lambda values: np.isin(values.astype(str), ["a", "rare"])),
    "two columns": (
        X,
        ["race", "sex"],
        [("a", "m"), ("rare", "f")],
        lambda values: np.array([value in (("a", "m"), ("rare", "f")) for value in values]),
    ),
    # Not a range: numbers that are codes.
    "numbers": (NUMBERED, "race", [1, 8], None),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "method", [name for name in METHODS if "exponentiated" not in name and not name.endswith("error-parity")]
)
def test_evaluate_takes_folds_that_lack_one(setting, method):
    rows, sensitive, privileged, function = SETTINGS[setting]
    quick = {"methods": ["baseline", method], "n_folds": 3, "random_state": 0}
    found = evaluate(rows, Y, MODEL, sensitive=sensitive, privileged=privileged, **quick).frame()
    assert found[["accuracy", "dr", "dp"]].notna().all(axis=None)
    if function is not None:
        same = evaluate(rows, Y, MODEL, sensitive=sensitive, privileged=function, **quick).frame()
        assert_frame_equal(found, same)


def test_evaluate_takes_methods_that_name_the_values_themselves():
    who = {"sensitive": "race", "privileged": ["a", "rare"]}
    methods = {"own": FairSHAP(MODEL, **who), "dropped": mitigation.SensitiveRemover(**who)}
    found = evaluate(X, Y, MODEL, **who, methods=methods, random_state=0).frame()
    assert found["dr"].iloc[0] > 0 == found["dr"].iloc[1]
    assert methods["own"].privileged == ["a", "rare"]
    assert type(methods["own"].privileged) is list


@pytest.mark.parametrize("setting", SETTINGS)
def test_repairs_are_tried_on_folds_that_lack_one(setting):
    rows, sensitive, privileged, function = SETTINGS[setting]
    who = {"sensitive": sensitive, "privileged": privileged, "random_state": 0}
    quick = {"candidates": ["plain", "weights", "cells"], "n_folds": 3}
    found = tune(rows, Y, MODEL, **who, **quick)
    named = found.estimator.get_params()
    assert all(value == privileged for name, value in named.items() if name.endswith("privileged"))
    if function is not None:
        same = tune(rows, Y, MODEL, **{**who, "privileged": function}, **quick)
        assert_frame_equal(found.frame(), same.frame())
    assert len(budget_curve(rows, Y, MODEL, **who, budgets=[0, 5]).frame()) == 2
    assert FairSHAP(MODEL, **who, threshold="auto").fit(rows, Y).threshold_ > 0
    assert holdout_check(FairSHAPClassifier(FairSHAP(MODEL, **who)), rows, Y, test_size=0.3).n_rows == 120


def test_a_value_that_the_whole_table_lacks_is_still_refused():
    who = {"sensitive": "race", "privileged": ["a", "Rare"]}
    for work in (
        lambda: evaluate(X, Y, MODEL, **who, methods=["baseline"]),
        lambda: tune(X, Y, MODEL, **who),
        lambda: FairSHAP(MODEL, **who).fit(X, Y),
    ):
        with pytest.raises(GroupError, match=r"'Rare' does not occur in 'race'.* Did you mean 'rare'\?"):
            work()


def test_the_command_takes_several_values(tmp_path, capsys):
    from fairshap.cli._main import run as run_here

    path = tmp_path / "people.csv"
    X.assign(label=Y).to_csv(path, index=False)
    options = ["-t", "label", "-s", "race", "-p", "a", "-p", "rare", "--model", "logistic"]
    assert run_here(["audit", str(path), *options]) == 0, capsys.readouterr().err
