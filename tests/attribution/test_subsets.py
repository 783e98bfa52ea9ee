import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from fairshap import datasets, explain, match
from fairshap.attribution import _explain
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
    explanation = explain(model, X, plan, **WHO)
    rows = np.arange(len(X))
    cells = explanation.problem.table.differ(rows, plan.best).astype(np.int16)
    cells[:, [SENSITIVE, 2]] = 0
    replaced = best_players(explanation, rows, cells, price, most_cells)
    after = risk_when_replaced(explanation, rows, replaced)
    return replaced, cells, explanation.risk, after, explanation


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
    replaced, cells, _, after, explanation = ask("xgboost", most_cells=99)
    by_threshold = (explanation.values >= 0.05) & (cells > 0)
    theirs = risk_when_replaced(explanation, np.arange(len(X)), by_threshold)
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
