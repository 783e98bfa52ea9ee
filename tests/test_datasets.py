import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

from fairshap import FairSHAP, datasets
from fairshap.exceptions import InputError

SIZES = {
    "german": (1000, 9),
    "compas": (7214, 9),
    "adult": (32561, 13),
    "credit": (30000, 23),
    "census_kdd": (299285, 41),
}
SETTINGS = [
    ("german", "sex"),
    ("compas", "sex"),
    ("compas", "race"),
    ("adult", "sex"),
    ("adult", "race"),
    ("credit", "SEX"),
    ("census_kdd", "sex"),
]


@pytest.mark.parametrize(("name", "sensitive"), SETTINGS)
def test_every_setting_of_the_paper_loads(name, sensitive):
    d = datasets.load(name, sensitive=sensitive)
    assert d.X.shape == SIZES[name]
    assert d.y.isin([0, 1]).all()
    assert d.X.index.equals(d.y.index)
    assert d.y.name not in d.X.columns
    assert (d.X[d.sensitive] == d.privileged).any()
    assert (d.X[d.sensitive] != d.privileged).any()
    assert d.licence
    assert d.source
    assert f"{len(d.X):,}" in d.description


def test_the_encoded_census_has_each_row_once():
    d = datasets.load("census_kdd", encoded=True)
    assert d.X.shape == (292_550, 504)
    assert d.y.index.equals(d.X.index)
    raw = datasets.load("census_kdd")
    assert (raw.y[d.y.index] == d.y).all()
    assert raw.X["age"].loc[d.X.index].corr(d.X["age"]) > 0.999
    for player, block in d.feature_groups.items():
        # A missing category has no feature.
        assert (d.X[block].sum(axis=1) == raw.X[player].loc[d.X.index].notna()).all(), player


def test_the_tables_are_named_in_order():
    assert datasets.names() == tuple(SIZES)


@pytest.mark.parametrize(
    ("name", "columns"), [("german", 26), ("compas", 18), ("adult", 106), ("credit", 90)]
)
def test_encoded_tables_have_the_columns_of_the_paper(name, columns):
    d = datasets.load(name, encoded=True)
    assert d.X.shape == (SIZES[name][0], columns)
    assert set(d.X[d.sensitive].unique()) == {0.0, 1.0}
    for player, block in d.feature_groups.items():
        assert len(block) > 1
        assert (d.X[block].sum(axis=1) == 1).all(), player
    whole = d.X.drop(columns=[d.sensitive, *(c for block in d.feature_groups.values() for c in block)])
    varying = whole.loc[:, whole.nunique() > 1]
    np.testing.assert_allclose(varying.mean(), 0, atol=1e-9)
    np.testing.assert_allclose(varying.std(ddof=0), 1)


def test_several_values_are_coded_as_in_the_paper():
    d = datasets.load("compas", sensitive="race", encoded=True)
    raw = datasets.load("compas").X["race"]
    assert d.X["race"][raw == "Caucasian"].eq(1).all()
    assert d.X["race"][raw == "Asian"].eq(6).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compass",), "there is no table 'compass'.* Did you mean 'compas'"),
        (("german", "race"), "'race' is not a sensitive column of 'german'; it has 'sex'"),
    ],
)
def test_what_is_not_there_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        datasets.load(arguments[0], sensitive=arguments[1] if len(arguments) > 1 else None)


def test_a_dataset_says_what_it_is():
    assert repr(datasets.load("german")) == (
        "Dataset('german': 1000 rows, 9 columns, y = 1 is a bad credit risk, sensitive 'sex', "
        "privileged 'male')"
    )


class Truth(ClassifierMixin, BaseEstimator):
    """The model that made the biased table."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X: pd.DataFrame):
        advantage = 2.0 * ((X["group"] == "a") & (X["district"] == "north"))
        p = 1 / (1 + np.exp(-(X["skill"] / 2 + advantage - 0.5)))
        return np.column_stack([1 - p, p])


def test_the_right_repair_of_the_biased_table_is_known():
    d = datasets.make_biased(1000, random_state=0)
    fs = FairSHAP(FrozenEstimator(Truth()), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    repaired, _ = fs.fit_resample(d.X, d.y)
    edits = fs.edits_.frame()
    of_district = edits[edits["column"] == "district"]
    assert set(of_district["new"]) == {"south"}
    assert len(of_district) >= 0.98 * (d.X["district"] == "north").sum()
    assert len(of_district) >= 0.98 * len(edits)
    assert not set(edits["column"]) & {"group", "colour", "commute"}
    assert (repaired["district"] == "north").mean() < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_a_learned_model_leads_to_that_repair_too(seed):
    d = datasets.make_biased(2000, random_state=seed)
    fs = FairSHAP(XGBClassifier(max_depth=3), sensitive=d.sensitive, privileged=d.privileged, random_state=0)
    fs.fit_resample(d.X, d.y)
    edits = fs.edits_.frame()
    away = (edits["column"] == "district") & (edits["new"] == "south")
    assert away.mean() > 0.8
    assert away.sum() > 0.5 * (d.X["district"] == "north").sum()


def test_the_biased_table_follows_its_seed():
    first, again, other = (datasets.make_biased(50, random_state=seed).X for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_a_table_of_no_rows_is_refused():
    with pytest.raises(InputError, match="n_rows=0"):
        datasets.make_biased(0)


def test_a_mixed_table_is_the_same_in_any_parts():
    whole = datasets.make_mixed(70_000, random_state=3)
    parts = [
        datasets.make_mixed(n, first_row=start, random_state=3) for start, n in ((0, 65_000), (65_000, 5_000))
    ]
    assert pd.concat([part.X for part in parts], ignore_index=True).equals(whole.X)
    assert pd.concat([part.y for part in parts], ignore_index=True).equals(whole.y)
    assert not datasets.make_mixed(100).X.equals(datasets.make_mixed(100, random_state=1).X)


def test_in_a_mixed_table_the_group_matters_in_the_north_only():
    d = datasets.make_mixed(65_536)
    rates = d.y.groupby([d.X["district"], d.X["group"]]).mean()
    assert rates["north", "a"] - rates["north", "b"] > 0.3
    assert abs(rates["south", "a"] - rates["south", "b"]) < 0.02
    assert d.X["tenure"].isna().mean() == pytest.approx(0.1, abs=0.01)
    assert d.X["contract"].isna().mean() == pytest.approx(0.05, abs=0.01)
    with pytest.raises(InputError, match="first_row=-1"):
        datasets.make_mixed(10, first_row=-1)
