"""Numbers that differ by rounding are equal: by every route, in threads, in every frame, at every scale."""

import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap import (
    Budget,
    EditConstraints,
    FairSHAP,
    Iterative,
    NearestMatcher,
    OptimalSubset,
    Threshold,
    datasets,
    match,
)
from fairshap._problem.target import exceeds, floor_of, reaches, steps
from fairshap.attribution import _explain
from fairshap.attribution._calls import _is_clear
from fairshap.exceptions import FairshapWarning, NothingToRepairWarning
from tests.conftest import examples, to_library

NAMES = ["sex", "a", "b", "c", "d"]

# 1/20 in several ways that rounding tells apart.
TWENTIETHS = np.array([0.05, 0.3 - 0.25, 0.15 - 0.1, 1 - 0.95, sum([0.01] * 5), 0.1 / 2])


def cells(fs):
    return sorted(zip(fs.edits_.row.tolist(), map(str, fs.edits_.column), strict=True))


def by_route(route, fs, X, y):
    """Return a sampler, fitted by walking the trees or by calling the model."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        # Models that say next to nothing, and small groups, are part of what is tried.
        warnings.simplefilter("ignore", FairshapWarning)
        patch.setattr(_explain, "_SMALL", 0 if route == "trees" else np.inf)
        fs.fit(X, y)
    assert fs.explanation_.route == ("trees" if route == "trees" else "model calls: the table is small")
    return fs


# The comparisons themselves


def test_whatever_is_a_twentieth_reaches_a_twentieth():
    assert len(np.unique(TWENTIETHS)) > 2
    assert reaches(TWENTIETHS, 0.05, 1.0).all()
    assert not exceeds(TWENTIETHS, 0.05, 1.0).any()
    assert len(np.unique(steps(TWENTIETHS, 1.0))) == 1


def test_what_is_clearly_below_or_missing_does_not_reach():
    below = np.array([0.05 - 1e-6, 0.05 - 1e-8, 0.0, -1.0, np.nan])
    assert not reaches(below, 0.05, 1.0).any()
    assert reaches(below + 2e-6, 0.05, 1.0).tolist() == [True, True, False, False, False]
    assert exceeds(np.array([0.05 + 1e-8, 0.05, np.nan]), 0.05, 1.0).tolist() == [True, False, False]
    assert not reaches(np.array([0.9]), np.inf, 1.0).any()


@pytest.mark.parametrize("threshold", [1e-300, 1e-12, 1e-9, 1e-3])
def test_nothing_reaches_no_threshold_however_small(threshold):
    assert 0 < floor_of(threshold, 1.0) <= threshold
    assert not reaches(np.array([0.0, threshold * 0.99]), threshold, 1.0).any()


@given(st.integers(1, 40), st.integers(1, 300), st.sampled_from([1.0, 1e-7, 3e5]))
def test_rounding_parts_no_fractions(numerator, denominator, unit):
    value = unit * numerator / denominator
    around = value * (1 + np.array([-4, -1, 0, 1, 4]) * 1e-16 * min(1.0, denominator / numerator))
    assert len(np.unique(steps(around, unit))) == 1


@given(st.lists(st.floats(-2, 2), min_size=2))
def test_steps_keep_the_order(values):
    values = np.sort(values)
    taken = steps(values, 1.0)
    assert (np.diff(taken) >= 0).all()
    assert (np.diff(taken)[np.diff(values) > 1.1e-9] > 0).all()


def test_an_estimate_without_error_that_ties_with_the_threshold_is_decided():
    """The orders that are drawn must not depend on the last digit."""
    mean, none = TWENTIETHS[:, None], np.zeros((len(TWENTIETHS), 1))
    assert _is_clear(mean, none, floor_of(0.05, 1.0)).all()
    assert not _is_clear(mean, none + 1e-3, floor_of(0.05, 1.0)).any()


# The bug: German, a forest of 20 trees, T = 1/20


@pytest.fixture(scope="module")
def german():
    data = datasets.load("german")
    who = {"sensitive": data.sensitive, "privileged": data.privileged, "random_state": 0}
    model = RandomForestClassifier(20, max_depth=6, random_state=0)
    X, y = data.X.iloc[:400], data.y.iloc[:400]
    return {
        (route, name): by_route(route, FairSHAP(model, **who, selector=selector), X, y)
        for route in ("trees", "calls")
        for name, selector in (("threshold", Threshold()), ("optimal", OptimalSubset()))
    }


@pytest.mark.parametrize("selector", ["threshold", "optimal"])
def test_both_routes_edit_the_same_cells_of_german(german, selector):
    walked, called = german["trees", selector], german["calls", selector]
    assert cells(walked) == cells(called)
    assert len(cells(walked)) > 50


def test_ties_with_the_threshold_are_edited(german):
    walked, called = german["trees", "threshold"], german["calls", "threshold"]
    phi = [fs.explanation_.values for fs in (walked, called)]
    # Some Shapley value is 1/20, and rounded down by one route or the other.
    ties = np.abs(phi[0] - 0.05) < 1e-12
    assert ((phi[0] < 0.05) != (phi[1] < 0.05))[ties].any()
    reached = {(row, str(walked.explanation_.feature_names[k])) for row, k in np.argwhere(ties)}
    assert reached <= set(cells(walked))


def test_both_routes_have_the_same_audit(tmp_path, monkeypatch, capsys):
    from fairshap.cli._main import run

    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 2, size=(100, 5)), columns=NAMES)
    hired = X["a"] + X["sex"] * X["b"] + (X["c"] == X["d"]) + rng.integers(0, 2, 100) > 2
    X.assign(hired=hired.astype(int)).to_csv(tmp_path / "people.csv", index=False)
    command = (
        f"audit {tmp_path}/people.csv -t hired -s sex -p 1 --model random-forest --folds 2 --json".split()
    )
    audits = []
    for small in (0, np.inf):
        monkeypatch.setattr(_explain, "_SMALL", small)
        assert run([*command, "--threshold", "0.05"]) == 0
        found = json.loads(capsys.readouterr().out)
        columns = {(line["column"], line["cells"]) for line in found["evidence"]["treatment"]["columns"]}
        audits.append((columns, [(line["row"], line["column"], line["reference"]) for line in found["rows"]]))
    assert audits[0] == audits[1]
    assert any(n_cells for _, n_cells in audits[0][0])


# Any model of few outputs, any way to ask it


@st.composite
def problems(draw):
    """A table of few values, and a model of few outputs."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.integers(0, 3, size=(40, 5)).astype(float)
    X[:, 0] = np.arange(40) % 2
    y = ((X[:, 1] + X[:, 0] * (X[:, 2] > 0) + (X[:, 3] == X[:, 4]) + rng.integers(0, 2, 40)) > 2).astype(int)
    y[:4] = [0, 0, 1, 1]
    seed = draw(st.integers(0, 100))
    model = draw(
        st.sampled_from(
            [
                RandomForestClassifier(20, max_features=2, random_state=seed),
                RandomForestClassifier(10, bootstrap=False, max_features=2, max_depth=4, random_state=seed),
                RandomForestClassifier(5, bootstrap=False, max_features=1, random_state=seed),
                DecisionTreeClassifier(random_state=seed),
                DecisionTreeClassifier(max_leaf_nodes=5, max_features=2, random_state=seed),
                DecisionTreeClassifier(max_leaf_nodes=2, max_features=1, random_state=seed),
            ]
        )
    )
    return pd.DataFrame(X, columns=NAMES), y, model


CHOICES = [
    {"threshold": 0.05},
    {"threshold": 1 / 30, "constraints": EditConstraints(max_per_row=1)},
    {"selector": Budget(7)},
    {"selector": Budget(0.1), "constraints": EditConstraints(max_per_row=1)},
    {"selector": OptimalSubset(0.05)},
    {"selector": OptimalSubset(0.025), "constraints": EditConstraints(max_per_row=2)},
    {"selector": Iterative(Threshold(0.05), max_rounds=3)},
    {
        "threshold": 0.05,
        "constraints": EditConstraints(reject_if="risk_rises"),
        "counterfactuals": 0.1,
    },
]


class Fixed:
    """References that are known: matching standardizes the columns of a frame, and not those of an array."""

    def __init__(self, plan):
        self.plan = plan

    def match(self, X, y, **who):
        return self.plan


@examples(40)
@given(problems(), st.sampled_from(CHOICES), st.integers(1, 2))
def test_every_way_makes_the_same_edits(problem, choice, k):
    X, y, model = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairshapWarning)
        plan = match(X, y, sensitive="sex", privileged=1.0, matcher=NearestMatcher(k))
    found = {}
    for route, n_jobs, kind in (
        ("trees", 1, "pandas"),
        ("trees", 2, "polars"),
        ("calls", 1, "pandas"),
        ("calls", 2, "numpy"),
    ):
        table = X.to_numpy() if kind == "numpy" else to_library(X, kind)
        names = range(5) if kind == "numpy" else NAMES
        params = {**choice, "n_jobs": n_jobs, "matcher": Fixed(plan), "random_state": 0}
        fs = by_route(route, FairSHAP(model, sensitive=names[0], privileged=1.0, **params), table, y)
        columns = [list(names).index(column) for column in fs.edits_.column]
        edits = sorted(zip(fs.edits_.row.tolist(), columns, strict=True))
        found[route, n_jobs, kind] = edits, fs.counterfactual_of_.tolist(), len(fs.rounds_)
    first, *others = found.values()
    assert all(other == first for other in others), found


# What each selector does with ties, where the answer is known


class Twentieths:
    """A model whose risk is a sum of twentieths: each of a, b, c and d that is 1 adds one."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def get_params(self, deep=True):
        return {}

    def set_params(self):
        return self

    def predict_proba(self, X):
        X = np.asarray(X, dtype=float)
        # In the order of the columns, and so not in that of their last digits.
        p = 0.3 + X[:, 0] * (X[:, 1:] @ [0.3 - 0.25, 0.05, 0.15 - 0.1, 1 - 0.95])
        return np.column_stack([1 - p, p])


@pytest.fixture(scope="module")
def twentieths():
    """Rows in pairs: one of the one sex with ones in some columns, one of the other with none."""
    ones = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]] * 3)
    X = pd.DataFrame(
        np.vstack([np.column_stack([np.zeros(12), ones]), np.column_stack([np.ones(12), 0 * ones])]),
        columns=NAMES,
    )
    return X, np.tile([0, 1], 12)


def exact_phi(X):
    """Return the Shapley values of the rows in whole fractions; every reference has none of the ones."""
    return [[Fraction(int(value), 20) for value in row] for row in X.to_numpy()[:, 1:]]


def fit_twentieths(twentieths, **params):
    X, y = twentieths
    return by_route("calls", FairSHAP(Twentieths(), sensitive="sex", privileged=1.0, **params), X, y)


def test_the_threshold_takes_what_is_equal_and_nothing_below(twentieths):
    X, _ = twentieths
    equal = [(i, NAMES[j + 1]) for i, row in enumerate(exact_phi(X)) for j, phi in enumerate(row) if phi]
    fs = fit_twentieths(twentieths, threshold=0.05)
    # Unmatched by rounding, if rounding were to decide.
    assert (fs.edits_.phi < 0.05).any()
    assert cells(fs) == equal
    assert not cells(fit_twentieths(twentieths, threshold=0.05 + 1e-6))
    rounds = Iterative(Threshold(0.05), max_rounds=2)
    assert cells(fit_twentieths(twentieths, selector=rounds)) == equal


@pytest.mark.parametrize("n_cells", [1, 2, 5, 11])
def test_of_equal_values_a_budget_takes_the_first_row_and_column(twentieths, n_cells):
    X, _ = twentieths
    equal = [(i, NAMES[j + 1]) for i, row in enumerate(exact_phi(X)) for j, phi in enumerate(row) if phi]
    assert cells(fit_twentieths(twentieths, selector=Budget(n_cells))) == equal[:n_cells]


def test_a_cell_that_is_worth_what_it_costs_is_left(twentieths):
    """Of equally good sets of cells the one with the fewest is taken; of these the earliest."""
    assert not cells(fit_twentieths(twentieths, selector=OptimalSubset(0.05)))
    first = [(0, "a"), (1, "a"), (2, "b"), (3, "d")]
    first = [(row + 4 * k, column) for k in range(3) for row, column in first]
    one = {"selector": OptimalSubset(0.04), "constraints": EditConstraints(max_per_row=1)}
    assert cells(fit_twentieths(twentieths, **one)) == first


@pytest.mark.parametrize(("risk", "least"), [(0.05, 1), (0.1, 2), (0.15, 3), (0.1 + 1e-6, 3)])
def test_counterfactuals_go_to_rows_whose_risk_is_equal(twentieths, risk, least):
    X, _ = twentieths
    fs = fit_twentieths(twentieths, threshold=0.9, counterfactuals=risk)
    assert_array_equal(fs.counterfactual_of_, np.flatnonzero(X.to_numpy()[:, 1:].sum(axis=1) >= least))


def test_why_nothing_is_edited_goes_by_ties_too(twentieths):
    X, y = twentieths
    fs = FairSHAP(
        Twentieths(),
        sensitive="sex",
        privileged=1.0,
        threshold=0.05,
        constraints=EditConstraints(frozen=["a", "b", "c", "d"]),
    )
    with pytest.warns(
        NothingToRepairWarning, match=r"largest Shapley value is 0.05, but none is left within"
    ):
        fs.fit(X, y)
    with pytest.warns(NothingToRepairWarning, match=r"no Shapley value reaches threshold=0.050001"):
        clone(fs).set_params(threshold=0.050001).fit(X, y)


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e9])
@pytest.mark.parametrize("route", ["trees", "calls"])
@pytest.mark.parametrize("choice", ["threshold", "rejecting", "budget", "optimal"])
def test_a_regressor_s_unit_changes_no_edit(scale, route, choice):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(80, 5)).astype(float)
    X[:, 0] = np.arange(80) % 2
    y = X[:, 1] + X[:, 0] * X[:, 2] - X[:, 0] * X[:, 3] + X[:, 4] * X[:, 1]
    fits = []
    for c in (1.0, scale):
        model = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, y)
        # Fitted to small numbers, it would not split.
        model.tree_.value[:] *= c
        params = {
            "threshold": {"threshold": 0.25 * c},
            "rejecting": {
                "threshold": 0.25 * c,
                "constraints": EditConstraints(reject_if="label_less_likely"),
            },
            "budget": {"selector": Budget(40, threshold=0.25 * c)},
            "optimal": {"selector": OptimalSubset(0.25 * c)},
        }[choice]
        who = {"sensitive": 0, "privileged": 1.0, "matcher": NearestMatcher(bins=3)}
        fs = FairSHAP(FrozenEstimator(model), **who, **params)
        fits.append(by_route(route, fs, X, y * c))
    assert cells(fits[0]) == cells(fits[1])
    assert len(cells(fits[0])) >= 5
