"""Distances in a space of a transformer's making."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fairshap import ColumnEncoder, FairSHAP, datasets, match
from fairshap._problem import Setting
from fairshap.exceptions import InputError
from fairshap.matching import Nearest
from fairshap.matching._embedding import embed
from tests.conftest import to_library

DATA = datasets.make_biased(300, random_state=0)
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
SETTING = {"sensitive": "sex", "privileged": "m"}


def people(n=80, holes=True):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": np.where(np.arange(n) % 2, "m", "f"),
            "age": rng.normal(40, 10, n),
            "income": np.exp(rng.normal(size=n)),
            "town": rng.choice(["x", "y", "z"], n),
        }
    )
    if holes:
        X.loc[rng.random(n) < 0.2, "age"] = np.nan
        X.loc[rng.random(n) < 0.1, "town"] = None
    return X, np.arange(n) // 2 % 2


class Constant(TransformerMixin, BaseEstimator):
    """Gives what it is told to, as something that needs no fitting."""

    def __init__(self, made):
        self.made = made

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.made


class Plain:
    """A transformer that knows nothing of scikit-learn."""

    def fit(self, X):
        self.mean_ = np.asarray(X).mean(axis=0)
        return self

    def transform(self, X):
        return np.asarray(X) - self.mean_


@pytest.mark.parametrize("options", [{}, {"column_weights": {"age": 3.0, "town": 0.4}, "mismatch": 1.3}])
def test_points_are_as_far_apart_as_rows(options):
    X, _ = people(holes=False)
    X.loc[::7, "town"] = None
    space = Nearest(**options).space(Setting.read(X, "sex", "m", None, is_fitted=False))
    points = embed(space).astype(float)
    rows = np.arange(len(X))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert_allclose(squared, space.squared(rows, rows), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mismatch", [2.0, 0.5])
def test_a_missing_number_costs_as_much_on_average_where_it_can(mismatch):
    X, _ = people()
    space = Nearest(mismatch=mismatch).space(
        Setting.read(X[["sex", "age"]], "sex", "m", None, is_fitted=False)
    )
    points = embed(space).astype(float)
    missing = np.isnan(X["age"].to_numpy())
    squared = ((points[missing][:, None] - points[~missing][None]) ** 2).sum(axis=2)
    # The numbers themselves have a variance of one.
    assert_allclose(squared.mean(), max(mismatch, 1.0), rtol=1e-5)
    assert_allclose(points[missing], points[missing][:1].repeat(missing.sum(), axis=0))


def test_an_unfitted_transformer_is_fitted_on_the_encoded_rows_without_the_attribute():
    X, y = people(holes=False)
    plan = match(X, y, **SETTING, matching=Nearest(2, projection=PCA(2)))
    numbers = X[["age", "income"]]
    encoded = np.column_stack(
        [(numbers - numbers.mean()) / numbers.std(ddof=0), pd.get_dummies(X["town"]).to_numpy(float)]
    )
    projected = PCA(2).fit_transform(encoded)
    whole = np.sqrt(((projected[:, None] - projected[None]) ** 2).sum(axis=2))
    sexes = X["sex"].to_numpy()
    whole[(sexes[:, None] == sexes) | (y[:, None] != y)] = np.inf
    assert_allclose(plan.distance, np.sort(whole, axis=1)[:, :2].ravel(), atol=1e-5)


def test_a_projection_that_keeps_everything_changes_no_match():
    X, y = people(holes=False)
    plain = match(X, y, **SETTING, matching=Nearest(3, column_weights={"age": 4.0}))
    kept = match(X, y, **SETTING, matching=Nearest(3, column_weights={"age": 4.0}, projection=PCA()))
    assert_array_equal(plain.reference, kept.reference)
    assert_allclose(plain.distance, kept.distance, atol=1e-5)


def test_a_fitted_transformer_is_given_the_table_as_it_is():
    X, y = people()
    seen = []

    def look(frame):
        seen.append(frame)
        return np.nan_to_num(frame[["age"]].to_numpy(dtype=float))

    fitted = FunctionTransformer(look).fit(X)
    plan = match(X, y, **SETTING, matching=Nearest(projection=fitted))
    assert list(seen[-1].columns) == list(X.columns)
    ages = X["age"].fillna(0).to_numpy()
    assert_allclose(plan.distance, np.abs(ages[plan.row] - ages[plan.reference]))
    # The attribute beside the table is not part of it.
    match(
        X.drop(columns="sex"),
        y,
        sensitive_features=X["sex"],
        privileged="m",
        matching=Nearest(projection=fitted),
    )
    assert list(seen[-1].columns) == ["age", "income", "town"]


@pytest.mark.parametrize("freeze", [FrozenEstimator, lambda fitted: fitted])
def test_a_fitted_projection_stays_fitted_in_clones(freeze):
    fitted = make_pipeline(ColumnEncoder(), PCA(2)).fit(DATA.X)
    matcher = Nearest(projection=freeze(fitted))
    expected = match(DATA.X, DATA.y, **WHO, matching=matcher)
    fs = pickle.loads(pickle.dumps(clone(FairSHAP(**WHO, matching=matcher, random_state=0))))  # noqa: S301
    assert_array_equal(fs.fit(DATA.X, DATA.y).matches_.distance, expected.distance)


def test_clones_share_no_projection():
    own = PCA(2).fit(np.eye(3))
    copied = clone(Nearest(projection=own)).set_params(projection__n_components=1).projection
    assert_array_equal(copied.components_, own.components_)
    assert own.n_components == 2
    fresh = PCA(2)
    assert clone(Nearest(projection=fresh)).projection is not fresh


def test_an_unfitted_transformer_is_never_fitted_itself_and_its_parameters_can_be_searched():
    pca = PCA(2)
    fs = FairSHAP(**WHO, matching=Nearest(projection=pca), random_state=0).set_params(
        matching__projection__n_components=1
    )
    fs.fit(DATA.X, DATA.y)
    assert not hasattr(pca, "components_")
    assert fs.matches_.basis.space.numbers.shape == (300, 1)


def test_sparse_frames_and_strangers_are_read():
    X, y = people(holes=False)
    encoded = FunctionTransformer(lambda frame: scipy.sparse.csr_matrix(frame[["age", "income"]]))
    dense = FunctionTransformer(lambda frame: frame[["age", "income"]])
    plans = [match(X, y, **SETTING, matching=Nearest(projection=p)) for p in (encoded, dense)]
    assert_array_equal(plans[0].distance, plans[1].distance)
    assert_array_equal(
        match(X, y, **SETTING, matching=Nearest(projection=Plain())).reference,
        match(X, y, **SETTING).reference,
    )
    fitted = Plain().fit(X[["age", "income"]])
    X["f"] = 0
    with pytest.raises(InputError, match="is fitted and was given X as it is"):
        match(X, y, **SETTING, matching=Nearest(projection=fitted))


def test_random_projections_follow_the_random_state():
    X, y = people(200)
    make = make_pipeline(StandardScaler(), TruncatedSVD(1, n_iter=1, n_oversamples=1))

    def distances(random_state):
        matcher = Nearest(projection=make, random_state=random_state)
        return match(X, y, **SETTING, matching=matcher).distance

    assert_array_equal(distances(3), distances(3))
    assert (distances(3) != distances(4)).any()


def test_every_library_projects_alike(library):
    X, y = people()
    plan = match(to_library(X, library), y, **SETTING, matching=Nearest(projection=PCA(2)))
    assert_array_equal(plan.reference, match(X, y, **SETTING, matching=Nearest(projection=PCA(2))).reference)


@pytest.mark.parametrize(
    ("projection", "text"),
    [
        (PCA, "is not a transformer; give an object"),
        ("pca", "projection='pca' is not a transformer"),
        (
            PCA(99),
            "could not be fitted on X without its sensitive attribute, encoded as 5 columns of 80 rows",
        ),
        (Constant(np.ones((3, 2))), r"returned shape \(3, 2\); it must return 80 rows"),
        (Constant(np.ones(80)), r"returned shape \(80,\)"),
        (Constant(np.ones((80, 0))), "of one column or more"),
        (Constant(np.full((80, 1), np.nan)), "not finite in 80 rows, first in row 0"),
        (Constant([["a"]] * 80), "returned something else than numbers"),
        (PCA(1).fit(np.eye(3)), "is fitted and was given X as it is, which it refused"),
    ],
)
def test_projections_that_do_not_work_are_refused(projection, text):
    X, y = people(holes=False)
    with pytest.raises(InputError, match=text):
        match(X, y, **SETTING, matching=Nearest(projection=projection))


@pytest.mark.parametrize("options", [{"column_weights": {"age": 2.0}}, {"mismatch": 1.0}])
def test_weights_beside_a_fitted_projection_are_refused(options):
    X, y = people()
    fitted = make_pipeline(ColumnEncoder(), FunctionTransformer(np.nan_to_num)).fit(X)
    match(X, y, **SETTING, matching=Nearest(projection=fitted))
    with pytest.raises(InputError, match="has no meaning beside a fitted projection"):
        match(X, y, **SETTING, matching=Nearest(projection=fitted, **options))
