"""A repairer gives every row what a repair of the whole table gives it, whatever batch it comes in."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from fairshap import (
    Budget,
    EditConstraints,
    Explainer,
    FairSHAP,
    Iterative,
    NearestMatcher,
    OptimalSubset,
    Repairer,
    datasets,
)
from fairshap.attribution import _explain
from fairshap.exceptions import ColumnError, InputError, TargetError
from tests.conftest import examples

WHO = {"sensitive": "group", "privileged": "a", "random_state": 0}
D = datasets.make_mixed(700)
# A table for models that are called: with few columns there are few coalitions.
NARROW = D.X[["group", "district", "skill", "age", "sector", "tenure"]]


def boosted(**params):
    return HistGradientBoostingClassifier(max_iter=15, random_state=0, **params)


def in_batches(repairer, X, y, cuts):
    """Return what a repairer makes of a table that is cut at some rows, put together again."""
    ends = [0, *cuts, len(X)]
    parts = [repairer.repair(X[a:b], y[a:b], first_row=a) for a, b in pairwise(ends)]
    X_fair = pd.concat([part.X for part in parts])
    ledger = pd.concat([part.edits.frame() for part in parts], ignore_index=True)
    sums = parts[0].sums
    for part in parts[1:]:
        sums = sums + part.sums
    return X_fair, ledger, sums


def assert_same(repair, X, y, cuts=(1, 2, 300, 431), *, to_the_last_bit=True):
    repairer = pickle.loads(pickle.dumps(Repairer.fit(repair, X, y)))  # noqa: S301
    expected, _ = repair.fit_resample(X, y)
    assert len(repair.edits_)
    X_fair, ledger, sums = in_batches(repairer, X, y, cuts)
    pd.testing.assert_frame_equal(X_fair, expected)
    pd.testing.assert_frame_equal(ledger, repair.edits_.frame(), check_exact=to_the_last_bit, rtol=1e-12)
    whole = repairer.repair(X, y).sums
    assert sums == whole or not to_the_last_bit
    assert sums.n_edits == whole.n_edits == len(repair.edits_)


@pytest.mark.parametrize("is_small", [True, False])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"selector": OptimalSubset(0.03)},
        {"matcher": NearestMatcher(n_neighbors=3, weights="distance", caliper=4.0)},
        {"matcher": NearestMatcher(column_weights={"age": 3.0, "sector": 0.0})},
        {"constraints": EditConstraints(frozen=["skill"], max_per_row=1, reject_if="risk_rises")},
        {"constraints": EditConstraints(reject_if="label_less_likely", group="privileged")},
        {"explainer": Explainer(feature_groups={"where": ["district", "sector"]})},
        {"explainer": Explainer(method="permutation", n_permutations=8)},
    ],
    ids=lambda params: next(iter(params.items()), ("default",))[0],
)
@pytest.mark.filterwarnings("ignore::fairshap.exceptions.UnmatchedRowsWarning")
def test_batches_are_repaired_as_the_table_is(params, is_small, monkeypatch):
    # Both ways of explaining: by calls, as small tables are, and by the trees.
    monkeypatch.setattr(_explain, "_SMALL", np.inf if is_small else 0)
    repair = FairSHAP(boosted(), **WHO, threshold=0.03).set_params(**_without_threshold(params))
    assert_same(repair, NARROW if is_small else D.X, D.y)


def _without_threshold(params):
    return {**params, "threshold": None} if "selector" in params else params


def test_several_groups_with_a_reference_in_each():
    X = D.X.assign(group=D.X["group"].where(D.X["colour"] != "red", "c"))
    for pairing in ("pooled", "each"):
        matcher = NearestMatcher(pairing=pairing)
        assert_same(FairSHAP(boosted(), **WHO, threshold=0.03, matcher=matcher), X, D.y)


def test_several_attributes():
    who = {"sensitive": ["group", "remote"], "privileged": ("a", True), "random_state": 0}
    assert_same(FairSHAP(boosted(), **who, threshold=0.03), D.X, D.y)


def test_a_quantity_as_the_attribute():
    who = {"sensitive": "age", "privileged": pd.Interval(30, 50), "random_state": 0}
    y = ((D.X["age"] > 45) & (D.X["skill"] > 0)).astype(int)
    assert_same(FairSHAP(boosted(), **who, threshold=0.02), D.X, y)


def test_a_regressor():
    pay = D.X["skill"] + 2.0 * (D.X["group"] == "a") * (D.X["district"] == "north") + D.X["score"]
    model = HistGradientBoostingRegressor(max_iter=15, random_state=0)
    assert_same(FairSHAP(model, **WHO), D.X, pay)


def test_a_linear_model_and_one_that_was_fitted_before():
    X = D.X.drop(columns=["tenure", "contract", "since"])
    repair = FairSHAP(LogisticRegression(max_iter=500), **WHO, threshold=0.002)
    # How sums of many terms are rounded depends on how many rows are multiplied at a time.
    assert_same(repair, X, D.y, to_the_last_bit=False)
    fitted = repair.fit(X, D.y).model_
    frozen = FairSHAP(FrozenEstimator(fitted), **WHO, threshold=0.002)
    assert_same(frozen, X, D.y, to_the_last_bit=False)


def test_categories_dates_missing_values_and_a_real_index():
    d = datasets.load("german")
    X = d.X.set_axis([f"case {k}" for k in range(len(d.X))])
    y = d.y.set_axis(X.index)
    repair = FairSHAP(boosted(), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    repairer = Repairer.fit(repair, X, y)
    X_fair, ledger, _ = in_batches(repairer, X, y, [1, 500])
    pd.testing.assert_frame_equal(X_fair, repair.fit_resample(X, y)[0])
    assert ledger["index"].tolist() == repair.edits_.index


@examples(5)
@given(st.lists(st.integers(1, 149), unique=True, max_size=8))
def test_no_cut_matters(cuts):
    whole = _fitted().repair(D.X[:150], D.y[:150])
    X_fair, ledger, sums = in_batches(_fitted(), D.X[:150], D.y[:150], sorted(cuts))
    assert X_fair.equals(whole.X)
    assert ledger.equals(whole.edits.frame())
    assert sums == whole.sums


_FITTED = []


def _fitted():
    if not _FITTED:
        _FITTED.append(Repairer.fit(FairSHAP(boosted(), **WHO, threshold=0.03), D.X, D.y, target="hired"))
    return _FITTED[0]


def test_an_arrow_table_comes_back_as_it_came():
    table = pa.Table.from_pandas(D.X.assign(hired=D.y, id=np.arange(len(D.X))), preserve_index=False)
    table = table.set_column(8, "colour", table["colour"].dictionary_encode())
    expected = _fitted().repair(D.X, D.y)
    found = _fitted().repair(table)
    assert found.X.schema.equals(table.schema)
    assert found.X.drop_columns(["hired", "id"]).to_pandas().astype(D.X.dtypes).equals(expected.X)
    assert found.X["id"].equals(table["id"])
    assert found.edits.to_bytes() == expected.edits.to_bytes()
    batch = table.slice(0, 50).combine_chunks().to_batches()[0]
    assert _fitted().repair(batch).X.equals(found.X.slice(0, 50))


def test_whole_numbers_that_are_missing_here_and_there():
    some = D.X.assign(hours=D.X["hours"].astype(float).where(D.X["hours"] > 12))
    repair = FairSHAP(boosted(), **WHO, threshold=0.03)
    repairer = Repairer.fit(repair, some, D.y)
    schema = pa.Table.from_pandas(some.astype({"hours": "Int64"}), preserve_index=False).schema
    table = pa.Table.from_pandas(some.assign(hired=D.y), preserve_index=False)
    table = table.set_column(5, "hours", table["hours"].cast(pa.int64()))
    assert table.schema.field("hours").type == schema.field("hours").type
    whole = repairer.repair(table, D.y)
    expected, _ = repair.fit_resample(some, D.y)
    assert whole.X.drop_columns("hired").to_pandas(ignore_metadata=True).equals(expected)


def test_a_number_that_was_never_missing_before_is_matched_all_the_same():
    X = D.X[:40].assign(score=np.nan)
    found = _fitted().repair(X, D.y[:40])
    assert found.sums.n_unmatched == 0
    one = _fitted().repair(X[7:8], D.y[7:8], first_row=7)
    assert one.edits.frame().equals(
        found.edits.frame().query("row == 7").reset_index(drop=True).astype(one.edits.frame().dtypes)
    )


def test_a_batch_of_one_group_and_a_group_that_nobody_knows():
    of_a = D.X["group"] == "a"
    alone = _fitted().repair(D.X[of_a], D.y[of_a])
    whole = _fitted().repair(D.X, D.y).X
    assert alone.X.equals(whole[of_a])
    strange = D.X[:30].assign(group="z")
    found = _fitted().repair(strange, D.y[:30])
    assert found.X.equals(strange)
    assert found.sums.n_unmatched == 30


def test_the_user_s_rows_are_not_changed():
    before = D.X.copy()
    _fitted().repair(D.X, D.y)
    pd.testing.assert_frame_equal(D.X, before)


def test_a_reference_takes_a_few_hundred_bytes():
    d = datasets.load("census_kdd")
    X, y = d.X[:20_000], d.y[:20_000]
    repair = FairSHAP(boosted(), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    repairer = Repairer.fit(repair, X, y)
    assert len(repairer.references) == 20_000
    assert len(pickle.dumps(repairer.references)) < 200 * 20_000


def test_threads_do_not_matter():
    one, two = (_fitted().repair(D.X, D.y, n_jobs=n) for n in (1, 2))
    assert one.edits.to_bytes() == two.edits.to_bytes()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("matcher", "emd"),
        ("selector", Budget(10)),
        ("selector", Iterative()),
        ("constraints", EditConstraints(plausible=True)),
        ("constraints", EditConstraints(direction="parity")),
        ("counterfactuals", "all"),
        ("explainer", Explainer(comparison="random")),
    ],
)
def test_what_looks_at_all_rows_is_refused(parameter, value):
    with pytest.raises(InputError, match="looks at all rows at once") as caught:
        Repairer.fit(FairSHAP(**WHO, **{parameter: value}), D.X, D.y)
    assert caught.value.parameter == parameter


def test_batches_that_do_not_fit_are_refused():
    with pytest.raises(ColumnError, match=r"lacks the columns 'score'.*it has"):
        _fitted().repair(D.X.drop(columns="score"), D.y)
    with pytest.raises(TargetError, match="y holds 7, which the fitted table lacks"):
        _fitted().repair(D.X[:3], [0, 1, 7])
    with pytest.raises(InputError, match="has no rows"):
        _fitted().repair(D.X[:0], [])
    with pytest.raises(InputError, match="another type than in the fitted table"):
        _fitted().repair(D.X[:3].assign(age=["x", "y", "z"]), [0, 1, 0])
    with pytest.raises(InputError, match="made of a FairSHAP, not of EditConstraints"):
        Repairer.fit(EditConstraints(), D.X, D.y)
    with pytest.raises(InputError, match="pandas frames and pyarrow tables, not ndarray"):
        Repairer.fit(FairSHAP(**WHO), D.X.to_numpy(), D.y)
    with pytest.raises(InputError, match="y is not given"):
        Repairer.fit(FairSHAP(**WHO), D.X)


def test_fewer_references_are_farther_and_that_is_told():
    repair = FairSHAP(boosted(), **WHO, threshold=0.03)
    exact, sampled = (Repairer.fit(repair, D.X, D.y, max_references=most) for most in (None, 40))
    assert "distance_ratio" not in exact.diagnostics
    ratio = sampled.diagnostics["distance_ratio"]
    distances = [one.repair(D.X, D.y).sums.mean_distance for one in (sampled, exact)]
    # Fewer than a thousand rows are compared with all rows exactly.
    assert ratio == pytest.approx(distances[0] / distances[1], rel=1e-9)
    assert ratio > 1.02
    strata = [one for one in sampled.diagnostics.values() if isinstance(one, dict)]
    assert [one["references"] for one in strata] == [40] * 4
    assert sum(one["rows"] for one in strata) == len(D.X)
