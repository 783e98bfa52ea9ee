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
from fairshap.matching import NearestMatcher, TransportMatcher, _transport
from tests.matching.problems import two_groups

WHO = {"sensitive": "sex", "privileged": "m"}
WAYS = {
    "emd": TransportMatcher("emd"),
    "emd, priced": TransportMatcher("emd", random_state=0),
    "sinkhorn": TransportMatcher("sinkhorn"),
    "sinkhorn, restricted": TransportMatcher("sinkhorn", random_state=0),
    "sliced": TransportMatcher("sliced", random_state=0),
}
LARGE = ("emd, priced", "sinkhorn, restricted")


def run(name, X, y, **changes):
    """Match one way; where strata shall be large ones, some of their pairs are held."""
    with pytest.MonkeyPatch.context() as patch:
        if name in LARGE:
            patch.setattr(_transport, "_DENSE", 0)
            patch.setattr(_transport, "_NEAR", {"emd": 5, "sinkhorn": 10})
        return clone(WAYS[name]).set_params(**changes).match(X, y, **WHO)


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


def dense(plan, rows, others):
    """Return the weights of some rows' references among others as a matrix."""
    weights = np.zeros((plan.n_rows, plan.n_rows))
    weights[plan.row, plan.reference] = plan.weight
    return weights[np.ix_(rows, others)]


def test_references_have_the_same_label_and_the_other_group(way):
    X, y = two_groups(40, 60)
    plan = run(way, X, y)
    sex = X["sex"].to_numpy()
    assert (sex[plan.row] != sex[plan.reference]).all()
    assert (y[plan.row] == y[plan.reference]).all()
    assert_array_equal(np.unique(plan.row), np.arange(len(X)))
    assert_allclose(np.bincount(plan.row, plan.weight), 1, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FewReferencesWarning")
def test_distances_are_those_of_the_nearest_rows(way):
    X, y = two_groups(30, 30)
    everything = NearestMatcher(n_neighbors=31).match(X, y, **WHO)
    distance = dict(
        zip(zip(everything.row, everything.reference, strict=True), everything.distance, strict=True)
    )
    plan = run(way, X, y)
    expected = [distance[pair] for pair in zip(plan.row, plan.reference, strict=True)]
    assert_allclose(plan.distance, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["emd", "emd, priced"])
def test_equal_groups_are_assigned_one_to_one(name):
    X, y = two_groups(50, 50)
    plan = run(name, X, y, tol=0)
    f, m = (np.flatnonzero((X["sex"] == sex) & (y == 0)) for sex in "fm")
    numbers = X[["age", "pay"]] / X[["age", "pay"]].std(ddof=0)
    squared = ((numbers.to_numpy()[f, None] - numbers.to_numpy()[m]) ** 2).sum(axis=2)
    squared += 2 * (X["town"].to_numpy()[f, None] != X["town"].to_numpy()[m])
    row, other = linear_sum_assignment(squared)
    assert_array_equal(plan.best[f[row]], m[other])
    assert_array_equal(plan.best[m[other]], f[row])


def test_both_directions_are_conditionals_of_one_plan(way):
    X, y = two_groups(20, 35)
    plan = run(way, X, y, keep=1.0)
    f, m = (np.flatnonzero((X["sex"] == sex) & (y == 0)) for sex in "fm")
    forward, backward = dense(plan, f, m) / 20, dense(plan, m, f).T / 35
    # Equal up to what the solver leaves at the wrong rows.
    assert np.abs(forward - backward).sum() / 2 <= plan.basis.notes["marginal_error"] + 1e-12
    assert plan.basis.notes["marginal_error"] <= 1e-3


def test_the_mass_that_is_kept_is_told():
    X, y = two_groups(40, 60)
    whole = TransportMatcher("sinkhorn", reg=0.1, keep=1.0).match(X, y, **WHO)
    part = TransportMatcher("sinkhorn", reg=0.1, keep=0.9).match(X, y, **WHO)
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
    plan = run(way, X, y, keep=1.0)
    notes, method = plan.basis.notes, WAYS[way].method
    assert notes["method"] == method
    assert notes["kept_mass_min"] == pytest.approx(1)
    mean = (plan.distance**2 * plan.weight).sum() / len(X)
    assert_allclose(notes["transport_cost"], mean, rtol=1e-9 if method != "sinkhorn" else 0.01)
    assert ("gap" in notes) == (method == "emd")
    assert 0 <= notes.get("gap", 0) <= 1e-3


def test_no_plan_over_some_pairs_costs_less_than_that_over_all():
    X, y = two_groups(60, 80)
    cost = {name: run(name, X, y).basis.notes["transport_cost"] for name in WAYS}
    assert cost["emd"] <= cost["emd, priced"] <= cost["emd"] * (1 + 2e-3)
    assert cost["emd"] <= cost["sliced"] <= cost["emd"] * 1.2
    assert cost["emd"] < cost["sinkhorn"] < cost["emd"] * 1.5
    assert cost["emd"] < cost["sinkhorn, restricted"] < cost["emd"] * 1.5


def test_it_is_the_same_for_any_number_of_threads_and_one_seed(way):
    X, y = two_groups(40, 60)
    plans = [match(X, y, **WHO, matcher=WAYS[way], n_jobs=n_jobs) for n_jobs in (1, 2, 2)]
    for plan in plans[1:]:
        for name in ("row", "reference", "weight", "distance"):
            assert_array_equal(getattr(plan, name), getattr(plans[0], name))


def test_the_seed_of_the_estimator_is_that_of_a_matcher_by_name():
    d = datasets.make_biased(300, random_state=0)
    who = {"sensitive": d.sensitive, "privileged": d.privileged}
    plans = [
        FairSHAP(**who, random_state=3, matcher=matching).fit(d.X, d.y).explanation_.match_plan
        for matching in (
            "sliced",
            "sliced",
            TransportMatcher("sliced", random_state=3),
            TransportMatcher("sliced", random_state=4),
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
    plan = run(way, X, y)
    assert_array_equal(plan.best[them], alone)
    assert_array_equal(plan.reference[plan.row == alone], them)
    assert plan.best[alone] == them[0]
    assert_allclose(plan.weight[plan.row == alone], 1 / 7, rtol=2e-3)


def test_equal_rows_are_shared_and_cost_nothing(way):
    X = pd.DataFrame({"sex": ["m", "f"] * 10, "age": 3.0, "town": "x"})
    plan = run(way, X, np.repeat([0, 1], 10))
    assert plan.basis.notes["transport_cost"] == 0
    assert_array_equal(plan.distance, 0)
    assert len(plan.unmatched) == 0


def test_with_a_group_that_has_no_row_of_a_label_the_others_are_matched(way):
    X, y = two_groups(10, 12)
    y[(X["sex"] == "f").to_numpy()] = 0
    with pytest.warns(UserWarning, match="5 privileged rows have the label 1"):
        plan = run(way, X, y)
    assert_array_equal(plan.unmatched, np.flatnonzero(y == 1))


def test_numbers_that_overflow_are_refused(way):
    X, y = two_groups(10, 12)
    array = np.column_stack([X["sex"] == "m", X["age"] * 1e200])
    with pytest.raises(InputError, match="too large"):
        WAYS[way].match(array, y, sensitive=0, privileged=1)


def test_large_strata_are_solved_without_holding_all_pairs(monkeypatch):
    X, y = two_groups(500, 700)
    monkeypatch.setattr(_transport, "_DENSE", 10_000)
    for method in _transport.METHODS:
        tracemalloc.start()
        plan = TransportMatcher(method, random_state=0).match(X, y, **WHO)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(plan.unmatched) == 0
        # All costs, the kernel and POT's own copies of both would be more than four arrays of this size.
        assert peak < 4 * 500 * 700 * 8 * 4


def test_without_pot_no_method_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    X, y = two_groups(10, 12)
    for method in _transport.METHODS:
        with pytest.raises(MissingExtraError, match=r"POT.*fairshap\[transport\]"):
            match(X, y, **WHO, matcher=method)


def test_solvers_that_are_cut_short_say_so(monkeypatch):
    X, y = two_groups(40, 60)
    monkeypatch.setattr(_transport, "_SCALINGS", 1)
    with pytest.warns(NotConvergedWarning, match=r"\d+ x \d+ rows after 1 steps: [\d.e-]+ of the mass"):
        TransportMatcher("sinkhorn", tol=1e-6).match(X, y, **WHO)
    monkeypatch.setattr(_transport, "_PIVOTS", 1)
    with pytest.raises(NotConvergedError, match="the network simplex found no plan"):
        TransportMatcher("emd").match(X, y, **WHO)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        (
            {"method": "emdd"},
            "method='emdd' is not known; give one of 'emd', 'sinkhorn', 'sliced'. Did you mean 'emd'",
        ),
        ({"reg": 0}, "reg=0 is not a strength of regularization; give a number from 1e-9 on"),
        ({"reg": np.inf}, "reg=inf"),
        ({"reg": True}, "reg=True"),
        ({"keep": 1.5}, "keep=1.5"),
        ({"keep": np.nan}, "keep=nan"),
        ({"tol": "0.1"}, "tol='0.1'"),
        ({"n_projections": None}, "n_projections=None"),
        ({"pairing": "both"}, "pairing='both' is not known; give one of 'pooled', 'each'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, text):
    X, y = two_groups(3, 3)
    with pytest.raises(InputError) as caught:
        TransportMatcher(**parameters).match(X, y, **WHO)
    assert text in str(caught.value)


def test_the_names_of_all_matchers_are_listed():
    X, y = two_groups(3, 3)
    with pytest.raises(InputError, match=r"'nearest', 'emd', 'sinkhorn', 'sliced'.*Did you mean 'sinkhorn'"):
        match(X, y, **WHO, matcher="sinkhron")


def test_attributions_are_the_means_over_the_references_and_edits_take_the_heaviest():
    X, y = two_groups(60, 80)
    y = ((X["age"] + 5 * (X["sex"] == "m")) > 45).astype(int).to_numpy()
    fs = FairSHAP(**WHO, random_state=0, threshold=0.01, matcher="sinkhorn")
    fs.fit_resample(X, y)
    plan, ledger = fs.explanation_.match_plan, fs.edits_.frame()
    assert len(plan) > 2 * len(X)
    assert len(ledger) > 0
    best = X.iloc[plan.best[ledger["row"]]]
    for i, (column, new) in enumerate(zip(ledger["column"], ledger["new"], strict=True)):
        assert str(best[column].iloc[i]) == str(new)


@pytest.mark.parametrize("matching", ["emd", "sinkhorn", "sliced"])
def test_german_is_repaired(matching):
    d = datasets.load("german")
    fs = FairSHAP(sensitive=d.sensitive, privileged=d.privileged, random_state=0, matcher=matching)
    X, _ = fs.fit_resample(d.X, d.y)
    assert X.shape == d.X.shape
    assert len(fs.edits_) > 0
    notes = fs.explanation_.match_plan.basis.notes
    # Two thirds of the mean squared distance of all pairs are saved.
    assert notes["transport_cost"] < 12 / 3
    assert notes["kept_mass_min"] >= 0.99 * (1 - 1e-9)


def test_each_group_has_a_plan_of_its_own():
    X, y = two_groups(60, 50)
    X["sex"] = np.where((X["sex"] == "f") & (np.arange(len(X)) % 3 == 0), "x", X["sex"])
    plan = match(X, y, **WHO, matcher=TransportMatcher("emd", pairing="each"))
    sex = X["sex"].to_numpy()
    assert_allclose(np.bincount(plan.row, plan.weight), 1, rtol=1e-12)
    for row in np.flatnonzero((sex == "m") & (y == 0)):
        references = plan.row == row
        for group in "fx":
            assert_allclose(plan.weight[references][sex[plan.reference[references]] == group].sum(), 0.5)
