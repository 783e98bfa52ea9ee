"""More than two groups, by one attribute or by several."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, Explainer, FairSHAP, NearestMatcher, datasets, explain, match, metrics
from fairshap._frames import Table
from fairshap._problem import Groups, Problem
from fairshap.attribution import _explain
from fairshap.exceptions import ColumnError, GroupError, InputError, PooledGroupsWarning
from tests.conftest import to_library

N = 400
BOTH = {"sensitive": ["sex", "race"], "privileged": ("m", "p")}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], N),
            "race": rng.choice(["p", "q", "r"], N, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 80, N),
            "income": rng.normal(size=N).round(2),
            "town": rng.choice(["x", "y"], N),
        }
    )
    score = (X["sex"] == "m") * (1 + X["income"]) + (X["race"] == "p") * (X["age"] > 40) + X["income"]
    return X, (score + rng.normal(size=N) > 0.8).astype(int).to_numpy()


def brute_risk(model, X, alternatives, contrasts, is_mean):
    outputs = []
    for values in alternatives:
        changed = X.copy()
        for name, value in values.items():
            changed[name] = value
        outputs.append(model.predict_proba(changed)[:, 1])
    gaps = [np.abs(outputs[a] - outputs[b]) for a, b in contrasts]
    return np.mean(gaps, axis=0) if is_mean else np.max(gaps, axis=0)


@pytest.mark.parametrize("comparison", ["max", "mean"])
def test_the_risk_compares_the_privileged_value_with_every_other(comparison, people):
    X, y = people
    model = make_pipeline(ColumnEncoder(), XGBClassifier(n_estimators=20)).fit(X, y)
    alternatives = [{"race": value} for value in ("p", "q", "r")]
    expected = brute_risk(model, X, alternatives, [(0, 1), (0, 2)], comparison == "mean")
    risk = metrics.discriminative_risk(
        model, X, sensitive="race", privileged="p", comparison=comparison, reduce=None
    )
    assert_allclose(risk, expected, atol=1e-7)
    combinations = [{"sex": s, "race": r} for s in "mf" for r in "pqr"]
    expected = brute_risk(model, X, combinations, [(0, k) for k in range(1, 6)], comparison == "mean")
    risk = metrics.discriminative_risk(model, X, **BOTH, comparison=comparison, reduce=None)
    assert_allclose(risk, expected, atol=1e-7)


def test_a_random_comparison_switches_to_one_value_of_the_other_side(people):
    X, y = people
    model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(X, y)
    who = {"sensitive": "race", "privileged": "p", "comparison": "random", "reduce": None}
    risk = metrics.discriminative_risk(model, X, **who, random_state=0)
    assert_array_equal(risk, metrics.discriminative_risk(model, X, **who, random_state=0))
    assert (risk != metrics.discriminative_risk(model, X, **who, random_state=1)).any()
    own = model.predict_proba(X)[:, 1]
    gaps = {value: np.abs(model.predict_proba(X.assign(race=value))[:, 1] - own) for value in "pqr"}
    others = X["race"] != "p"
    assert_allclose(risk[others], gaps["p"][others], atol=1e-12)
    drawn = [np.isclose(risk, gaps[value], atol=1e-12)[~others] for value in "qr"]
    assert (drawn[0] | drawn[1]).all()
    assert 0.4 < drawn[0].mean() < 0.6


MODELS = {
    "trees": make_pipeline(ColumnEncoder(), XGBClassifier(n_estimators=20)),
    "forest": make_pipeline(ColumnEncoder(), RandomForestClassifier(20, random_state=0)),
    "weights": make_pipeline(ColumnEncoder(), LogisticRegression()),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("comparison", ["max", "mean", "random"])
@pytest.mark.parametrize("who", [{"sensitive": "race", "privileged": "p"}, BOTH], ids=["one", "two"])
def test_native_routes_compare_as_calls_do(name, comparison, who, people, monkeypatch):
    X, y = people
    model = MODELS[name].fit(X, y)
    plan = match(X, y, **who, matcher=NearestMatcher(pairing="each"))
    options = {**who, "explainer": Explainer(comparison=comparison), "random_state": 0}
    results = []
    for small in (0, np.inf):
        monkeypatch.setattr(_explain, "_SMALL", small)
        results.append(explain(model, X, plan, **options))
    native, calls = results
    assert native.route == ("weights" if name == "weights" else "trees")
    assert calls.route.startswith("model calls")
    for field in ("values", "risk", "reference_risk"):
        assert_allclose(getattr(native, field), getattr(calls, field), atol=1e-6)
    assert np.nanmax(np.abs(native.values)) > 0.01
    names = who["sensitive"] if isinstance(who["sensitive"], list) else [who["sensitive"]]
    assert (native.values[:, [X.columns.get_loc(name) for name in names]] == 0).all()


def test_pairing_with_each_group_gives_a_reference_of_each(people):
    X, y = people
    plan = match(X, y, sensitive="race", privileged="p", matcher=NearestMatcher(pairing="each"))
    privileged = np.flatnonzero(X["race"] == "p")
    for row in privileged[:20]:
        mine = plan.row == row
        assert set(X["race"].iloc[plan.reference[mine]]) == {"q", "r"}
        assert_allclose(plan.weight[mine], 0.5)
        assert (y[plan.reference[mine]] == y[row]).all()
        assert plan.best[row] == plan.reference[mine][plan.distance[mine].argmin()]
    others = np.flatnonzero(X["race"] != "p")
    assert (np.bincount(plan.row)[others] == 1).all()
    pooled = match(X, y, sensitive="race", privileged="p")
    assert_array_equal(pooled.best[others], plan.best[others])
    assert_array_equal(pooled.best[privileged], plan.best[privileged])
    for value in "qr":
        alone = X[X["race"].isin(["p", value])]
        part = match(alone, y[alone.index], sensitive="race", privileged="p")
        of_value = plan.row[(X["race"].iloc[plan.reference] == value).to_numpy()]
        distances = plan.distance[(X["race"].iloc[plan.reference] == value).to_numpy()]
        assert len(of_value) == len(privileged)
        assert part.distance.mean() > 0
        assert distances.min() >= 0


def test_a_combination_that_is_missing_in_part_has_no_side():
    table = Table.read(pd.DataFrame({"a": ["x", None, "y", "x"], "b": [1, 1, 2, None]}))
    groups = Groups.read(table, (0, 1), ("x", 1), min_group_size=1)
    assert groups.side.tolist() == [1, -1, 0, -1]
    assert groups.group.tolist() == [-1, -1, 0, -1]
    assert groups.name == ("a", "b")
    assert groups.values == ((("y", 2),), (("x", 1),))


def test_groups_of_few_rows_are_pooled_and_named():
    a = ["p"] * 20 + ["q"] * 15 + ["r"] * 4 + ["s"] * 3
    table = Table.read(pd.DataFrame({"a": a}))
    assert Groups.read(table, (0,), "p").group.max() == 2
    with pytest.warns(PooledGroupsWarning, match=r"the groups 'r', 's' have 4, 3 rows, fewer than 5"):
        groups = Groups.read(table, (0,), "p", min_group_size=5)
    assert groups.group.max() == 1
    assert len(set(groups.group[35:])) == 1
    # Switched to the more frequent of the two.
    assert {a[row] for row in groups.donors[0]} == {"p", "q", "r"}
    with pytest.warns(PooledGroupsWarning, match=r"'s', 'r' have 3, 4 rows, one fewer than 4"):
        alone = Groups.read(table, (0,), "p", min_group_size=4)
    assert alone.group.max() == 1
    two = Table.read(pd.DataFrame({"a": ["p", "p", "q"]}))
    assert Groups.read(two, (0,), "p", min_group_size=5).group.tolist() == [-1, -1, 0]


def test_combinations_of_few_rows_are_pooled_by_default(people):
    X, y = people
    few = X.copy()
    few.loc[:2, ["sex", "race"]] = ["f", "s"]
    with pytest.warns(PooledGroupsWarning, match="the groups 'f / s', 'f / r'"):
        match(few, y, **BOTH)


def test_several_attributes_beside_the_table(people, library):
    X, y = people
    rest = X.drop(columns=["sex", "race"])
    model = XGBClassifier(n_estimators=10)
    within = FairSHAP(model, **BOTH, threshold=0.1, random_state=0).fit(X[[*rest.columns, "sex", "race"]], y)
    beside = FairSHAP(model, privileged=("m", "p"), threshold=0.1, random_state=0)
    X_fair, _ = beside.fit_resample(to_library(rest, library), y, sensitive_features=X[["sex", "race"]])
    assert type(X_fair) is type(to_library(rest, library))
    assert_allclose(beside.explanation_.risk, within.explanation_.risk, atol=1e-7)
    assert len(beside.edits_) == len(within.edits_) > 0


def test_race_is_repaired_end_to_end():
    d = datasets.load("compas", sensitive="race")
    for comparison in ("max", "mean", "random"):
        fs = FairSHAP(
            XGBClassifier(),
            sensitive=d.sensitive,
            privileged=d.privileged,
            random_state=0,
            matcher=NearestMatcher(pairing="each"),
            explainer=Explainer(comparison=comparison),
        )
        X_fair, _ = fs.fit_resample(d.X, d.y)
        assert fs.explanation_.route == "trees"
        assert len(fs.edits_) > 100
        assert (X_fair["race"] == d.X["race"]).all()


def test_gaps_are_taken_between_groups():
    y = [1, 1, 1, 1, 1, 1]
    predicted = [1, 1, 1, 0, 0, 0]
    who = {"sensitive_features": ["p", "p", "q", "q", "r", "r"], "privileged": "p"}
    assert metrics.demographic_parity_difference(y, predicted, **who) == 1.0
    assert metrics.demographic_parity_difference(y, predicted, **who, between="pooled") == 0.75
    assert metrics.equal_opportunity_difference(y, predicted, **who) == 1.0
    # The privileged group need not be in the widest pair.
    who["privileged"] = "q"
    assert metrics.demographic_parity_difference(y, predicted, **who) == 1.0
    assert metrics.demographic_parity_difference(y, predicted, **who, between="pooled") == 0.0
    frame = pd.DataFrame({"a": list("mmmfff"), "b": list("xyxyxy")})
    assert metrics.demographic_parity_difference(y, predicted, sensitive_features=frame) == 1.0
    table = metrics.group_frame(y, predicted, sensitive_features=frame)
    assert table.loc[[("f", "y")], "rows"].tolist() == [2]


@pytest.mark.parametrize(
    ("who", "error", "message"),
    [
        ({"sensitive": ["sex", "rase"], "privileged": ("m", "p")}, ColumnError, "Did you mean 'race'"),
        ({"sensitive": ["sex", "race"], "privileged": "m"}, GroupError, "does not name a value of each of"),
        ({"sensitive": ["sex", "race"], "privileged": ["m", "p"]}, GroupError, "give a tuple"),
        ({"sensitive": ["sex", "race"], "privileged": ("m", "z")}, GroupError, "does not occur"),
        ({"sensitive": ["sex", "age"], "privileged": ("m", 30)}, GroupError, "cut it into ranges first"),
        ({"sensitive": ["sex", "race"]}, GroupError, "privileged is not given"),
        ({**BOTH, "comparison": "maximum"}, InputError, r"comparison='maximum' is not known"),
    ],
)
def test_what_cannot_be_several_groups_is_said(who, error, message, people):
    X, y = people
    model = make_pipeline(ColumnEncoder(), LogisticRegression()).fit(X, y)
    with pytest.raises(error, match=message):
        metrics.discriminative_risk(model, X, **who)


def test_unknown_choices_list_the_known_ones(people):
    X, y = people
    with pytest.raises(InputError, match=r"pairing='all' is not known; give one of 'pooled', 'each'"):
        match(X, y, **BOTH, matcher=NearestMatcher(pairing="all"))
    with pytest.raises(InputError, match="between='largest' is not known"):
        metrics.demographic_parity_difference(
            y, y, sensitive_features=X["sex"], privileged="m", between="largest"
        )


def test_a_list_of_combinations_is_privileged(people):
    X, _ = people
    setting = Problem.read(X, sensitive=["sex", "race"], privileged=[("m", "p"), ("m", "q")])
    assert_array_equal(setting.groups.side == 1, (X["sex"] == "m") & X["race"].isin(["p", "q"]))
