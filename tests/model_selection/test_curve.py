import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from fairshap import datasets
from fairshap._crossval import MEASURES
from fairshap.exceptions import InputError
from fairshap.model_selection import budget_curve

DATA = datasets.load("german")
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}


def test_the_curve_starts_at_the_baseline_and_edits_more_and_more():
    model = GradientBoostingClassifier(n_estimators=30, random_state=0)
    options = {**WHO, "n_folds": 2, "random_state": 0}
    curve = budget_curve(DATA.X, DATA.y, model, **options, budgets=[0, 20, 60])
    frame = curve.frame()
    assert frame["budget"].tolist() == frame["edits"].tolist() == [0, 20, 60]
    assert set(MEASURES) < set(frame.columns)
    assert (curve.differences().loc[0, list(MEASURES)] == 0).all()
    axes = curve.plot()
    assert [ax.get_title() for ax in axes] == [
        measure.label for measure in MEASURES.values() if measure.is_main
    ]
    assert len(budget_curve(DATA.X, DATA.y, model, **options).frame()) == 25


def test_budgets_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="budgets"):
        budget_curve(DATA.X, DATA.y, DecisionTreeClassifier(max_depth=6), **WHO, budgets=[-1])
