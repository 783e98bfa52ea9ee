import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from fairshap import datasets, explain, match
from fairshap._frames import Players
from fairshap._models import Risk, Scorer
from fairshap._problem import Problem
from fairshap.attribution import _explain
from fairshap.attribution._explanation import Options
from fairshap.attribution._subsets import best_players, risk_when_replaced

DATA = datasets.load("german", encoded=True)
X, Y = DATA.X.to_numpy()[:300], DATA.y.to_numpy()[:300]
SENSITIVE = DATA.X.columns.get_loc(DATA.sensitive)
WHO = {"sensitive": SENSITIVE, "privileged": 1.0}
MODELS = {
    "xgboost": XGBClassifier(n_estimators=30, max_depth=4),
    "forest": RandomForestClassifier(10, max_depth=5, random_state=0),
    "linear": LogisticRegression(max_iter=1000),
}


def ask(name, price=0.01, most_cells=3):
    model = MODELS[name].fit(X, Y)
    plan = match(X, Y, **WHO)
    phi = explain(model, X, plan, **WHO).values
    setting = Problem.read(X, sensitive=SENSITIVE, privileged=1.0)
    risk, players = Risk(Scorer(model), setting), Players.read(setting.own)
    rows, references = np.arange(len(X)), plan.best
    cells = setting.table.differ(rows, references).astype(np.int16)
    cells[:, [SENSITIVE, 2]] = 0
    replaced = best_players(
        risk, players, rows, references, phi, cells, np.full(cells.shape[1], price), most_cells, Options()
    )
    after = risk_when_replaced(risk, players, rows, references, replaced)
    return replaced, cells, risk.of_rows(rows), after, phi


@pytest.mark.parametrize("name", ["xgboost", "forest"])
def test_walking_the_trees_and_calling_the_model_choose_alike(name, monkeypatch):
    monkeypatch.setattr(_explain, "_SMALL", 0)
    native = ask(name)
    monkeypatch.setattr(_explain, "_SMALL", 1 << 40)
    called = ask(name)
    total = [after + 0.01 * replaced.sum(axis=1) for replaced, _, _, after, _ in (native, called)]
    assert_allclose(total[0], total[1], atol=1e-6)
    assert (native[0] == called[0]).all(axis=1).mean() > 0.95
    assert native[0].any()


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_choice_keeps_the_limits_and_never_does_worse_than_nothing(name):
    replaced, cells, before, after, _ = ask(name, most_cells=2)
    assert (cells[replaced] > 0).all()
    assert replaced.sum(axis=1).max() <= 2
    assert (after + 0.01 * replaced.sum(axis=1) <= before + 1e-6).all()


def test_it_does_at_least_as_well_as_the_threshold():
    replaced, cells, _, after, phi = ask("xgboost", most_cells=99)
    model = MODELS["xgboost"].fit(X, Y)
    setting = Problem.read(X, sensitive=SENSITIVE, privileged=1.0)
    risk, players = Risk(Scorer(model), setting), Players.read(setting.own)
    by_threshold = (phi >= 0.05) & (cells > 0)
    reference = match(X, Y, **WHO).best
    theirs = risk_when_replaced(risk, players, np.arange(len(X)), reference, by_threshold)
    assert (after + 0.01 * replaced.sum(axis=1) <= theirs + 0.01 * by_threshold.sum(axis=1) + 1e-6).all()


def test_rows_of_many_players_get_the_best_of_a_sequence(monkeypatch):
    exact = ask("xgboost", most_cells=4)
    monkeypatch.setattr("fairshap.attribution._subsets._BY_TREES", 1)
    greedy = ask("xgboost", most_cells=4)
    totals = [after + 0.01 * replaced.sum(axis=1) for replaced, _, _, after, _ in (exact, greedy)]
    assert (totals[0] <= totals[1] + 1e-6).all()
    assert (totals[1] <= greedy[2] + 1e-6).all()
    assert greedy[0].sum(axis=1).max() <= 4
    assert_array_equal(greedy[0][:, 2], False)
