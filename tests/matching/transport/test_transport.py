import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from fairshap import FairSHAP, datasets, match
from fairshap.exceptions import InputError, MissingExtraError, NotConvergedError, NotConvergedWarning
from fairshap.matching import Nearest, Transport
from fairshap.matching._transport import _memory
from tests.matching.problems import two_groups

WHO = {"sensitive": "sex", "privileged": "m"}
WAYS = {
    "emd": Transport("emd"),
    "emd, neighbours": Transport("emd", neighbours=5, random_state=0),
    "emd, distance": Transport("emd", neighbours=5, cost="distance", random_state=0),
    "sinkhorn": Transport("sinkhorn"),
    "sinkhorn, neighbours": Transport("sinkhorn", neighbours=10, random_state=0),
    "sliced": Transport("sliced", random_state=0),
}


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def dense(plan, rows, others):
    """Return the weights of some rows' references among others as a matrix."""
    weights = np.zeros((plan.n_rows, plan.n_rows))
    weights[plan.row, plan.reference] = plan.weight
    return weights[np.ix_(rows, others)]


def test_references_have_the_same_label_and_the_other_group(way):
    X, y = two_groups(40, 60)
    plan = way.match(X, y, **WHO)
    sex = X["sex"].to_numpy()
    assert (sex[plan.row] != sex[plan.reference]).all()
    assert (y[plan.row] == y[plan.reference]).all()
    assert_array_equal(np.unique(plan.row), np.arange(len(X)))
    assert_allclose(np.bincount(plan.row, plan.weight), 1, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_distances_are_those_of_the_nearest_rows(way):
    X, y = two_groups(30, 30)
    everything = Nearest(k=31).match(X, y, **WHO)
    distance = dict(
        zip(zip(everything.row, everything.reference, strict=True), everything.distance, strict=True)
    )
    plan = way.match(X, y, **WHO)
    expected = [distance[pair] for pair in zip(plan.row, plan.reference, strict=True)]
    assert_allclose(plan.distance, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("neighbours", [None, 3])
def test_equal_groups_are_assigned_one_to_one(neighbours):
    X, y = two_groups(50, 50)
    transport = Transport("emd", neighbours=neighbours, tolerance=0, random_state=0)
    plan = transport.match(X, y, **WHO)
    f, m = (np.flatnonzero((X["sex"] == sex) & (y == 0)) for sex in "fm")
    numbers = X[["age", "pay"]] / X[["age", "pay"]].std(ddof=0)
    squared = ((numbers.to_numpy()[f, None] - numbers.to_numpy()[m]) ** 2).sum(axis=2)
    squared += 2 * (X["town"].to_numpy()[f, None] != X["town"].to_numpy()[m])
    row, other = linear_sum_assignment(squared)
    assert_array_equal(plan.best[f[row]], m[other])
    assert_array_equal(plan.best[m[other]], f[row])


def test_both_directions_are_conditionals_of_one_plan(way):
    X, y = two_groups(20, 35)
    plan = clone(way).set_params(keep=1.0).match(X, y, **WHO)
    f, m = (np.flatnonzero((X["sex"] == sex) & (y == 0)) for sex in "fm")
    forward, backward = dense(plan, f, m) / 20, dense(plan, m, f).T / 35
    # Equal up to what the solver leaves at the wrong rows.
    assert np.abs(forward - backward).sum() / 2 <= plan.basis.notes["marginal_error"] + 1e-12
    assert plan.basis.notes["marginal_error"] <= 1e-3


def test_the_mass_that_is_kept_is_told():
    X, y = two_groups(40, 60)
    whole = Transport("sinkhorn", regularisation=0.1, keep=1.0).match(X, y, **WHO)
    part = Transport("sinkhorn", regularisation=0.1, keep=0.9).match(X, y, **WHO)
    assert len(part) < len(whole) / 2
    weights = dense(whole, np.arange(len(X)), np.arange(len(X)))
    kept = np.bincount(part.row, weights[part.row, part.reference])
    notes = part.basis.notes
    assert_allclose(notes["kept_mass_mean"], kept.mean(), rtol=1e-9)
    assert_allclose(notes["kept_mass_min"], kept.min(), rtol=1e-9)
    assert 0.9 <= notes["kept_mass_min"] < notes["kept_mass_mean"] < 1
    assert whole.basis.notes["kept_mass_min"] == pytest.approx(1)
    assert_array_equal(part.best, whole.best)


def test_the_notes_tell_how_it_went(way):
    X, y = two_groups(40, 60)
    plan = clone(way).set_params(keep=1.0).match(X, y, **WHO)
    notes = plan.basis.notes
    assert notes["solver"] == way.solver
    assert notes["iterations"] >= 2
    assert notes["kept_mass_min"] == pytest.approx(1)
    power = 2 if way.cost == "squared" else 1
    mean = (plan.distance**power * plan.weight).sum() / len(X)
    assert_allclose(notes["transport_cost"], mean, rtol=1e-9 if way.solver != "sinkhorn" else 0.01)
    assert ("gap" in notes) == (way.solver == "emd")
    assert 0 <= notes.get("gap", 0) <= 1e-3


def test_no_plan_over_some_pairs_costs_less_than_that_over_all():
    X, y = two_groups(60, 80)
    cost = {name: way.match(X, y, **WHO).basis.notes["transport_cost"] for name, way in WAYS.items()}
    assert cost["emd"] <= cost["emd, neighbours"] <= cost["emd"] * (1 + 2e-3)
    assert cost["emd"] <= cost["sliced"] <= cost["emd"] * 1.2
    assert cost["emd"] < cost["sinkhorn"] < cost["emd"] * 1.5


def test_it_is_the_same_for_any_number_of_threads_and_one_seed(way):
    X, y = two_groups(40, 60)
    plans = [match(X, y, **WHO, matching=way, n_jobs=n_jobs) for n_jobs in (1, 2, 2)]
    for plan in plans[1:]:
        for name in ("row", "reference", "weight", "distance"):
            assert_array_equal(getattr(plan, name), getattr(plans[0], name))


def test_the_seed_of_the_estimator_is_that_of_a_matcher_by_name():
    d = datasets.make_biased(300, random_state=0)
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    plans = [
        FairSHAP(**who, matching=matching, random_state=3).fit(d.X, d.y).matches_
        for matching in (
            "sliced",
            "sliced",
            Transport("sliced", random_state=3),
            Transport("sliced", random_state=4),
        )
    ]
    for plan in plans[1:3]:
        assert_array_equal(plan.reference, plans[0].reference)
        assert_array_equal(plan.weight, plans[0].weight)
    assert not np.array_equal(plans[3].reference, plans[0].reference)


def test_a_single_row_has_all_of_the_other_side_as_references(way):
    X, y = two_groups(1, 7)
    [alone] = np.flatnonzero((X["sex"] == "f") & (y == 0))
    them = np.flatnonzero((X["sex"] == "m") & (y == 0))
    plan = way.match(X, y, **WHO)
    assert_array_equal(plan.best[them], alone)
    assert_array_equal(plan.reference[plan.row == alone], them)
    assert plan.best[alone] == them[0]
    assert_allclose(plan.weight[plan.row == alone], 1 / 7, rtol=2e-3)


def test_equal_rows_are_shared_and_cost_nothing(way):
    X = pd.DataFrame({"sex": ["m", "f"] * 10, "age": 3.0, "town": "x"})
    plan = way.match(X, np.repeat([0, 1], 10), **WHO)
    assert plan.basis.notes["transport_cost"] == 0
    assert_array_equal(plan.distance, 0)
    assert len(plan.unmatched) == 0


def test_with_a_group_that_has_no_row_of_a_label_the_others_are_matched(way):
    X, y = two_groups(10, 12)
    y[(X["sex"] == "f").to_numpy()] = 0
    with pytest.warns(UserWarning, match="5 privileged rows have the label 1"):
        plan = way.match(X, y, **WHO)
    assert_array_equal(plan.unmatched, np.flatnonzero(y == 1))


def test_numbers_that_overflow_are_refused(way):
    X, y = two_groups(10, 12)
    array = np.column_stack([X["sex"] == "m", X["age"] * 1e200])
    with pytest.raises(InputError, match="too large"):
        way.match(array, y, sensitive=0, privileged=1)


def test_a_plan_over_all_pairs_that_would_not_fit_is_refused_before_it_is_made(monkeypatch):
    X, y = two_groups(2000, 3000)
    monkeypatch.setattr(_memory, "free_bytes", lambda: 200 << 20)
    for solver in ("emd", "sinkhorn"):
        tracemalloc.start()
        with pytest.raises(InputError, match=r"2,000 x 3,000 rows .* 274.7 MiB, and 200.0 MiB") as caught:
            match(X, y, **WHO, matching=solver)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2000 * 3000 * 8 / 2
        for hint in (f"Transport('{solver}', neighbours=50)", "Transport('sliced')", "'nearest'"):
            assert hint in str(caught.value)


def test_what_is_advised_instead_fits(monkeypatch):
    X, y = two_groups(400, 600)
    monkeypatch.setattr(_memory, "free_bytes", lambda: 10 << 20)
    for way in (Transport("emd"), Transport("sinkhorn")):
        with pytest.raises(InputError, match="free"):
            way.match(X, y, **WHO)
    for way in ("emd", "sinkhorn"):
        assert len(Transport(way, neighbours=30, random_state=0).match(X, y, **WHO).unmatched) == 0
    assert len(Transport("sliced", random_state=0).match(X, y, **WHO).unmatched) == 0


def test_too_many_neighbours_are_refused_too(monkeypatch):
    X, y = two_groups(400, 600)
    monkeypatch.setattr(_memory, "free_bytes", lambda: 10 << 20)
    for way in (Transport("emd", neighbours=60), Transport("sliced", n_slicings=60)):
        with pytest.raises(InputError, match=r"fewer neighbours or n_slicings"):
            way.match(X, y, **WHO)


def test_without_pot_only_sinkhorn_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    X, y = two_groups(10, 12)
    for solver in ("emd", "sliced"):
        with pytest.raises(MissingExtraError, match=r"POT.*fairshap\[transport\]"):
            match(X, y, **WHO, matching=solver)
    assert len(match(X, y, **WHO, matching="sinkhorn").unmatched) == 0


def test_solvers_that_are_cut_short_say_so():
    X, y = two_groups(40, 60)
    with pytest.raises(NotConvergedError, match="max_iter=1"):
        Transport("emd", max_iter=1).match(X, y, **WHO)
    with pytest.warns(NotConvergedWarning, match="max_iter=1"):
        Transport("sinkhorn", max_iter=1).match(X, y, **WHO)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"solver": "emdd"},
            "solver='emdd' is not known; give one of 'emd', 'sinkhorn', 'sliced'. Did you mean 'emd'",
        ),
        ({"cost": "euclid"}, "'squared', 'distance'"),
        ({"regularisation": 0}, "from 1e-09 on; emd is its limit"),
        ({"regularisation": np.inf}, "regularisation=inf"),
        ({"regularisation": True}, "regularisation=True"),
        ({"keep": 1.5}, "from 1e-09 to 1"),
        ({"keep": np.nan}, "keep=nan"),
        ({"tolerance": "0.1"}, "tolerance='0.1'"),
        ({"neighbours": 0}, "neighbours=0"),
        ({"neighbours": 2.0}, "neighbours=2.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_slicings": None}, "n_slicings=None"),
        ({"solver": "sliced", "neighbours": 5}, "give n_slicings"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, text):
    X, y = two_groups(3, 3)
    with pytest.raises(InputError) as caught:
        Transport(**parameters).match(X, y, **WHO)
    assert text in str(caught.value)


def test_the_names_of_all_matchers_are_listed():
    X, y = two_groups(3, 3)
    with pytest.raises(InputError, match=r"'nearest', 'emd', 'sinkhorn', 'sliced'.*Did you mean 'sinkhorn'"):
        match(X, y, **WHO, matching="sinkhron")


def test_attributions_are_the_means_over_the_references_and_edits_take_the_heaviest():
    X, y = two_groups(60, 80)
    y = ((X["age"] + 5 * (X["sex"] == "m")) > 45).astype(int).to_numpy()
    fs = FairSHAP(**WHO, matching="sinkhorn", threshold=0.01, random_state=0)
    fs.fit_resample(X, y)
    plan, ledger = fs.matches_, fs.edits_.frame()
    assert len(plan) > 2 * len(X)
    assert len(ledger) > 0
    best = X.iloc[plan.best[ledger["row"]]]
    for i, (column, new) in enumerate(zip(ledger["column"], ledger["new"], strict=True)):
        assert str(best[column].iloc[i]) == str(new)


@pytest.mark.parametrize("matching", ["emd", "sinkhorn", "sliced"])
def test_german_is_repaired(matching):
    d = datasets.load("german")
    fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, matching=matching, random_state=0)
    X, _ = fs.fit_resample(d.X, d.y)
    assert X.shape == d.X.shape
    assert len(fs.edits_) > 0
    notes = fs.matches_.basis.notes
    # Seven tenths of the mean squared distance of all pairs are saved.
    assert notes["transport_cost"] < 0.3 * 12
    assert notes["kept_mass_min"] >= 0.99 * (1 - 1e-9)


def test_each_group_has_a_plan_of_its_own():
    X, y = two_groups(60, 50)
    X["sex"] = np.where((X["sex"] == "f") & (np.arange(len(X)) % 3 == 0), "x", X["sex"])
    plan = match(X, y, **WHO, matching="emd", pairing="each")
    sex = X["sex"].to_numpy()
    assert_allclose(np.bincount(plan.row, plan.weight), 1, rtol=1e-12)
    for row in np.flatnonzero((sex == "m") & (y == 0)):
        references = plan.row == row
        for group in "fx":
            assert_allclose(plan.weight[references][sex[plan.reference[references]] == group].sum(), 0.5)
