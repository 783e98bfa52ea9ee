from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import shap
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fairshap
from fairshap import Explainer, MatchPlan, explain
from fairshap.attribution import _calls
from fairshap.exceptions import InputError, MarginWarning
from fairshap.metrics import discriminative_risk
from tests.conftest import NumpyLogistic, examples, to_library

COLUMN = {"sensitive": 0, "privileged": 1}


def make_case(seed, rows=12, columns=5, levels=3):
    """Rows of a few levels, so that some cells are equal, a reference for each, and a model."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(rows, columns)).astype(float)
    X[:, 0] = np.arange(rows) % 2
    R = rng.integers(0, levels, size=(rows, columns)).astype(float)
    R[:, 0] = 1 - X[:, 0]
    return NumpyLogistic(rng.normal(size=columns), rng.normal(size=(columns, columns)) / 2), X, R


def plain_risk(model, x):
    low, high = np.array(x, dtype=float), np.array(x, dtype=float)
    low[0], high[0] = 0, 1
    p = model.predict_proba(np.stack([low, high]))[:, 1]
    return abs(p[0] - p[1])


def plain_shapley(model, x, r, blocks):
    """Every order in which the players can join, one row at a time: the definition."""
    phi = np.zeros(len(blocks))
    orders = list(permutations(range(len(blocks))))
    for order in orders:
        mixed = r.copy()
        before = plain_risk(model, mixed)
        for player in order:
            mixed[blocks[player]] = x[blocks[player]]
            after = plain_risk(model, mixed)
            phi[player] += after - before
            before = after
    return phi / len(orders)


@examples(20)
@given(st.integers(0, 10_000))
def test_values_are_those_of_a_plain_twin(seed):
    model, X, R = make_case(seed, rows=4)
    attributions = explain(model, X, R, **COLUMN)
    expected = [plain_shapley(model, x, r, [[k] for k in range(5)]) for x, r in zip(X, R, strict=True)]
    assert_allclose(attributions.values, expected, atol=1e-9)


def test_values_are_those_of_shap_s_exact_explainer():
    model, X, R = make_case(0, rows=10, columns=7)
    attributions = explain(model, X, R, **COLUMN)

    def risk(rows):
        return np.array([plain_risk(model, row) for row in rows])

    for x, r, phi in zip(X, R, attributions.values, strict=True):
        explainer = shap.explainers.Exact(risk, shap.maskers.Independent(r[None], max_samples=1))
        assert_allclose(phi, explainer(x[None]).values[0], atol=1e-9)


@examples(30)
@given(st.integers(0, 10_000), st.sampled_from(["exact", "permutation"]))
def test_values_sum_to_the_risk_minus_the_reference_s(seed, method):
    model, X, R = make_case(seed)
    a = explain(
        model, X, R, **COLUMN, random_state=seed, explainer=Explainer(method=method, n_permutations=3)
    )
    assert_allclose(a.values.sum(axis=1), a.risk - a.reference_risk, atol=1e-12)
    assert_allclose(a.risk, discriminative_risk(model, X, **COLUMN, reduce=None), atol=1e-15)
    switched = np.where(np.arange(5) == 0, X, R)
    assert_allclose(a.reference_risk, discriminative_risk(model, switched, **COLUMN, reduce=None), atol=1e-15)


@examples(20)
@given(st.integers(0, 10_000))
def test_equal_cells_the_attribute_and_unused_columns_get_exactly_nothing(seed):
    model, X, R = make_case(seed)
    model.coefficients[3] = 0
    model.interactions[3], model.interactions[:, 3] = 0, 0
    values = explain(model, X, R, **COLUMN).values
    assert (values[X == R] == 0).all()
    assert (values[:, 0] == 0).all()
    assert_allclose(values[:, 3], 0, atol=1e-15)


@examples(20)
@given(st.integers(0, 10_000))
def test_columns_that_do_the_same_get_the_same(seed):
    model, X, R = make_case(seed)
    for axis in (X, R):
        axis[:, 2] = axis[:, 1]
    model.coefficients[2] = model.coefficients[1]
    model.interactions = (model.interactions + model.interactions.T) / 2
    model.interactions[2], model.interactions[:, 2] = model.interactions[1], model.interactions[:, 1]
    model.interactions[2, 2] = model.interactions[1, 1] = 0
    model.interactions[1, 2] = model.interactions[2, 1] = 0.3
    values = explain(model, X, R, **COLUMN).values
    assert_allclose(values[:, 1], values[:, 2], atol=1e-12)


@examples(20)
@given(st.integers(0, 10_000), st.floats(0, 1))
def test_the_values_of_a_mixture_of_references_are_the_mixture_of_the_values(seed, weight):
    model, X, _ = make_case(seed, rows=6)
    rows = np.arange(6)
    first, second = (rows + 1) % 6, (rows + 3) % 6
    both = MatchPlan(
        6,
        np.repeat(rows, 2),
        np.column_stack([first, second]).ravel(),
        np.tile([weight, 1 - weight], 6),
        np.zeros(12),
    )
    mixed = explain(model, X, both, **COLUMN)
    alone = [
        explain(model, X, MatchPlan(6, rows, reference, np.ones(6), np.zeros(6)), **COLUMN)
        for reference in (first, second)
    ]
    for name in ("values", "risk", "reference_risk"):
        expected = weight * getattr(alone[0], name) + (1 - weight) * getattr(alone[1], name)
        assert_allclose(getattr(mixed, name), expected, atol=1e-12)


def test_columns_that_belong_together_are_one_player():
    model, X, R = make_case(1, rows=6)
    a = explain(model, X, R, **COLUMN, explainer=Explainer(feature_groups={"pair": [1, 3]}))
    assert a.feature_names == (0, "pair", 2, 4)
    expected = [plain_shapley(model, x, r, [[0], [1, 3], [2], [4]]) for x, r in zip(X, R, strict=True)]
    assert_allclose(a.values, expected, atol=1e-9)


def test_the_attribute_cannot_share_a_player():
    model, X, R = make_case(1)
    with pytest.raises(InputError, match="holds the sensitive column"):
        explain(model, X, R, **COLUMN, explainer=Explainer(feature_groups={"pair": [0, 1]}))


def test_a_plan_and_its_reference_rows_give_the_same(library):
    d = fairshap.datasets.make_biased(60, random_state=0)
    columns = ["district", "colour"]
    model = make_pipeline(fairshap.ColumnEncoder(), StandardScaler(), LogisticRegression()).fit(d.X, d.y)
    X = to_library(d.X, library)
    plan = fairshap.match(X, d.y, sensitive="group", privileged="a")
    R = to_library(d.X.iloc[plan.best].reset_index(drop=True), library)
    by_plan = explain(model, X, plan, sensitive="group", privileged="a")
    by_rows = explain(model, X, R, sensitive="group", privileged="a")
    assert_array_equal(by_plan.values, by_rows.values)
    assert set(columns) < set(by_plan.feature_names)
    assert type(by_plan.frame()) is type(X)


def test_rows_without_a_reference_have_no_values():
    model, X, _ = make_case(2, rows=4)
    plan = MatchPlan(4, np.array([0, 2]), np.array([1, 3]), np.ones(2), np.zeros(2))
    a = explain(model, X, plan, **COLUMN)
    assert a.status.tolist() == ["exact", "unmatched", "exact", "unmatched"]
    assert np.isnan(a.values[[1, 3]]).all()
    assert np.isnan(a.standard_errors[[1, 3]]).all()
    assert not np.isnan(a.values[[0, 2]]).any()
    assert repr(a) == "Explanation(4 rows x 5 features: 2 exact, 2 unmatched, by model calls)"


def test_many_players_are_estimated_and_it_is_said():
    model, X, R = make_case(3, rows=8, columns=7)
    exact = explain(model, X, R, **COLUMN)
    a = explain(model, X, R, **COLUMN, random_state=0, explainer=Explainer(max_exact=3, n_permutations=200))
    q = (X != R)[:, 1:].sum(axis=1)
    assert_array_equal(a.status, np.where(q > 3, "estimated", "exact"))
    assert {"exact", "estimated"} == set(a.status)
    estimated = a.status == "estimated"
    assert_array_equal(a.values[~estimated], exact.values[~estimated])
    assert (a.standard_errors[~estimated] == 0).all()
    gap = np.abs(a.values - exact.values)[estimated]
    assert (gap <= 5 * a.standard_errors[estimated] + 1e-12).all()
    assert gap.max() > 0
    again = explain(
        model, X, R, **COLUMN, random_state=0, explainer=Explainer(max_exact=3, n_permutations=200)
    )
    assert_array_equal(a.values, again.values)
    other = explain(
        model, X, R, **COLUMN, random_state=1, explainer=Explainer(max_exact=3, n_permutations=200)
    )
    assert (a.values != other.values).any()


def test_an_estimate_does_not_depend_on_which_other_rows_there_are():
    model, X, R = make_case(4, rows=8, columns=7)
    options = {**COLUMN, "random_state": 0, "explainer": Explainer(method="permutation", n_permutations=5)}
    whole = explain(model, X, R, **options)
    half = explain(model, X[:4], R[:4], **options)
    assert_array_equal(whole.values[:4], half.values)


def test_the_size_of_a_call_makes_no_difference(monkeypatch):
    model, X, R = make_case(5, rows=30, columns=6)
    whole = explain(model, X, R, **COLUMN)
    monkeypatch.setattr("fairshap._models.scorer.CALL_CELLS", 30)
    small = explain(model, X, R, **COLUMN)
    assert_allclose(small.values, whole.values, atol=1e-15)


class Counting(NumpyLogistic):
    def predict_proba(self, X):
        self.rows = np.vstack([getattr(self, "rows", np.empty((0, X.shape[1]))), X])
        return super().predict_proba(X)


def test_the_model_is_asked_about_each_row_once():
    model, X, _ = make_case(6, levels=20)
    X = np.vstack([X[:2]] * 5)
    counting = Counting(model.coefficients, model.interactions)
    explain(counting, X, X[np.arange(10) ^ 1], **COLUMN)
    assert len(np.unique(counting.rows, axis=0)) == len(counting.rows) == 2 * 2**4


@pytest.mark.parametrize("method", ["exact", "permutation"])
def test_the_model_is_asked_about_each_row_once_over_many_calls(method, monkeypatch):
    monkeypatch.setattr("fairshap._models.scorer.CALL_CELLS", 30)
    model, X, R = make_case(6, rows=40)
    options = {"explainer": Explainer(method, n_permutations=20), "threshold": 0.01, "random_state": 0}
    counting, forgetful = (Counting(model.coefficients, model.interactions) for _ in range(2))
    known = explain(counting, X, R, **COLUMN, **options)
    assert len(np.unique(counting.rows, axis=0)) == len(counting.rows)
    # What is held is bounded.
    monkeypatch.setattr(_calls, "_MOST_KNOWN", 20)
    assert_array_equal(explain(forgetful, X, R, **COLUMN, **options).values, known.values)
    assert len(forgetful.rows) > len(counting.rows)


def test_a_collision_of_fingerprints_costs_time_and_nothing_else(monkeypatch):
    model, X, R = make_case(7)
    right = explain(model, X, R, **COLUMN)
    fingerprints = _calls.Game._fingerprints

    def colliding(self, pairs, active, coalitions, salt):
        hashes = fingerprints(self, pairs, active, coalitions, salt)
        return hashes % 2 if salt == 0 else hashes

    monkeypatch.setattr(_calls.Game, "_fingerprints", colliding)
    assert_array_equal(explain(model, X, R, **COLUMN).values, right.values)


def test_several_values_are_compared_with_the_privileged_one():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"race": ["w", "b", "h"] * 4, "x": rng.normal(size=12), "town": ["p", "q"] * 6})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=10))
    model.fit(X, [0, 1, 1, 0] * 3)
    p = {v: model.predict_proba(X.assign(race=v))[:, 1] for v in "wbh"}
    risk = discriminative_risk(model, X, sensitive="race", privileged="w", reduce=None)
    assert_allclose(risk, np.maximum(abs(p["w"] - p["b"]), abs(p["w"] - p["h"])), atol=1e-12)
    a = explain(model, X, X.iloc[::-1], sensitive="race", privileged="w")
    assert_allclose(a.risk, risk, atol=1e-12)
    assert_allclose(a.values.sum(axis=1), a.risk - a.reference_risk, atol=1e-12)


def test_a_quantity_keeps_its_own_value_and_is_compared_with_the_other_median():
    rng = np.random.default_rng(0)
    X = np.column_stack([[20.0, 30, 50, 24, 60, 22], rng.normal(size=6), rng.normal(size=6)])
    model = NumpyLogistic([0.05, 1.0, -1.0], rng.normal(size=(3, 3)) / 1000)
    options = {"sensitive": 0, "privileged": lambda age: age > 25}
    R = X[[1, 0, 3, 2, 5, 4]]
    a = explain(model, X, R, **options)
    for i in range(6):
        other = 50 if X[i, 0] < 25 else 22

        def risk(row, i=i, other=other):
            rows = np.stack([row, row])
            rows[0, 0], rows[1, 0] = X[i, 0], other
            p = model.predict_proba(rows)[:, 1]
            return abs(p[0] - p[1])

        full, empty = risk(X[i]), risk(R[i])
        first, second = risk([0, X[i, 1], R[i, 2]]), risk([0, R[i, 1], X[i, 2]])
        expected = [0, (first - empty + full - second) / 2, (second - empty + full - first) / 2]
        assert_allclose(a.values[i], expected, atol=1e-9)


def test_a_quantity_that_is_missing_has_no_values():
    X = np.array([[20.0, 1.0], [np.nan, 2.0], [50.0, 3.0], [60.0, 4.0]])

    class Model:
        def predict_proba(self, X):
            p = np.nan_to_num(X[:, 0]) * X[:, 1] / 1000
            return np.column_stack([1 - p, p])

    a = explain(Model(), X, X[::-1], sensitive=0, privileged=lambda age: age > 25)
    assert a.status.tolist() == ["exact", "unmatched", "exact", "exact"]
    assert np.isnan(a.risk).tolist() == [False, True, False, False]


def test_the_errors_of_references_that_share_their_walks_add_up():
    model, X, _ = make_case(11, rows=6, columns=7, levels=9)
    rows = np.arange(6)
    options = {**COLUMN, "random_state": 0, "explainer": Explainer(method="permutation", n_permutations=8)}
    one = explain(model, X, MatchPlan(6, rows, (rows + 1) % 6, np.ones(6), np.zeros(6)), **options)
    again = MatchPlan(6, np.repeat(rows, 4), np.repeat((rows + 1) % 6, 4), np.full(24, 0.25), np.zeros(24))
    four = explain(model, X, again, **options)
    assert_allclose(four.standard_errors, one.standard_errors, atol=1e-15)
    assert (one.standard_errors > 0).any()


def test_players_that_read_alike_have_columns_of_their_own():
    model, X, R = make_case(12)
    frames = [pd.DataFrame(rows, columns=["s", 1, "1", "x", "y"]) for rows in (X, R)]
    frame = explain(model, *frames, sensitive="s", privileged=1).frame()
    assert frame.shape == (12, 4 + 5)


def test_margins_are_attributed_in_their_own_units():
    class Margin:
        def decision_function(self, X):
            return 3 * X[:, 0] * X[:, 1]

    X = np.array([[0, 1.0], [1, 5.0]])
    with pytest.warns(MarginWarning):
        a = explain(Margin(), X, X[::-1], **COLUMN)
    assert_allclose(a.values[:, 1], [-12, 12])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"explainer": Explainer(method="exakt")}, r"method='exakt' is not known; .* Did you mean 'exact'\?"),
        ({"explainer": Explainer(n_permutations=1)}, "n_permutations=1 must be a whole number from 2 on"),
        ({"explainer": Explainer(n_permutations=2.5)}, "n_permutations=2.5"),
        ({"explainer": Explainer(max_exact="3")}, "max_exact='3'"),
    ],
)
def test_bad_options_are_refused(options, message):
    model, X, R = make_case(0)
    with pytest.raises(InputError, match=message):
        explain(model, X, R, **COLUMN, **options)


def test_too_many_players_for_the_exact_method_are_refused():
    X = np.vstack([np.zeros(30), np.ones(30)])
    with pytest.raises(InputError, match=r"in 29 features: 2\^29 coalitions are too many"):
        explain(NumpyLogistic(np.ones(30)), X, X[::-1], **COLUMN, explainer=Explainer(method="exact"))


def test_references_are_not_rounded_to_the_type_of_the_table():
    model, X, R = make_case(9)
    expected = explain(model, X, R + 0.5, **COLUMN).values
    assert_array_equal(explain(model, X.astype(int), R + 0.5, **COLUMN).values, expected)
    assert (expected != 0).any()


def test_a_plan_for_another_table_is_refused():
    model, X, _ = make_case(0)
    plan = MatchPlan(3, np.array([0]), np.array([1]), np.ones(1), np.zeros(1))
    with pytest.raises(InputError, match="is one for 3 rows, X has 12"):
        explain(model, X, plan, **COLUMN)


def test_nothing_that_was_given_is_changed():
    model, X, R = make_case(8)
    before = X.copy(), R.copy()
    X.setflags(write=False)
    R.setflags(write=False)
    explain(model, X, R, **COLUMN)
    assert_array_equal(X, before[0])
    assert_array_equal(R, before[1])
