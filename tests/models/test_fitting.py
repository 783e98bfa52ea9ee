"""Whose error is raised when a model cannot be fitted, and what is tried before."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from catboost import CatBoostClassifier
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from fairshap import FairSHAP, FairSHAPClassifier
from fairshap._models import Scorer, copy_estimator, fit_model, scorer
from fairshap.exceptions import ModelError
from tests.models.models import CATEGORIES, DATA, GRID, WHO, piped

X, Y = DATA.X, DATA.y.to_numpy()
# scikit-learn before 1.8 does not name the column.
_NO_COLUMN = "not columns of the dataframe.*skil|not a column of the dataframe"
NAMED = np.array(["no", "yes"])[Y]


class Stubborn(TransformerMixin, BaseEstimator):
    """A step of the user's with an error of its own; it counts how often it is asked."""

    asked = 0

    def fit(self, X, y=None):
        Stubborn.asked += 1
        raise RuntimeError("the tape is torn")

    def transform(self, X):
        return X


@pytest.mark.parametrize("y", [Y, NAMED], ids=["numbers", "names"])
def test_the_error_of_a_pipeline_is_raised_as_it_is(y):
    typo = piped(numbers=["skil", "commute"])
    with pytest.raises(ValueError, match=_NO_COLUMN) as caught:
        fit_model(typo, X, y)
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(ValueError, match=_NO_COLUMN):
        fit_model(FixedThresholdClassifier(typo), X, y)
    with pytest.raises(ValueError, match=f"(?s)All the 4 fits failed.*({_NO_COLUMN})"):
        fit_model(GridSearchCV(typo, GRID, cv=2), X, y)
    with pytest.raises(ValueError, match=_NO_COLUMN):
        FairSHAPClassifier(FairSHAP(typo, **WHO)).fit(X, y)


def test_a_step_that_fails_is_not_asked_again_behind_an_encoding():
    Stubborn.asked = 0
    with pytest.raises(RuntimeError, match="the tape is torn") as caught:
        fit_model(make_pipeline(Stubborn(), LogisticRegression()), X, Y)
    assert Stubborn.asked == 1
    assert not hasattr(caught.value, "__notes__")


def test_a_pipeline_has_to_encode_for_itself():
    with pytest.raises(ValueError, match="could not convert string to float"):
        fit_model(make_pipeline(StandardScaler(), LogisticRegression()), X, Y)
    assert isinstance(fit_model(LogisticRegression(), X, Y), Pipeline)
    assert isinstance(fit_model(GridSearchCV(LogisticRegression(), {}, cv=2), X, Y), Pipeline)


def test_numbered_categories_stay_in_the_table_that_a_pipeline_inside_is_given():
    numbered = X.assign(commute=X["commute"].astype("category"))
    model = fit_model(GridSearchCV(piped(), GRID, cv=2), numbered, Y)
    assert isinstance(model, GridSearchCV)


class Picky(ClassifierMixin, BaseEstimator):
    """Refuses weights in its own way and counts how often it is asked."""

    asked = 0

    def fit(self, X, y, **params):
        Picky.asked += 1
        raise TypeError(f"unexpected {sorted(params)}")


def test_an_error_about_weights_is_raised_at_once():
    Picky.asked = 0
    with pytest.raises(TypeError, match="unexpected"):
        fit_model(Picky(), X, NAMED, {"sample_weight": np.ones(len(Y))})
    assert Picky.asked == 1
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight") as caught:
            fit_model(piped(), X, NAMED, {"sample_weight": np.ones(len(Y))})
        assert not hasattr(caught.value, "__notes__")
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            FairSHAPClassifier(FairSHAP(LogisticRegression(), **WHO)).fit(X, Y, sample_weight=np.ones(len(Y)))


@pytest.mark.parametrize("search", [False, True])
def test_labels_that_only_the_last_step_refuses_are_numbered_for_it(search):
    model = piped(XGBClassifier(n_estimators=3))
    if search:
        model = GridSearchCV(model, {"xgbclassifier__max_depth": [2, 3]}, cv=2)
    weights = np.linspace(0.1, 2, len(Y))
    named, plain = (fit_model(model, X, y, {"sample_weight": weights}) for y in (NAMED, Y))
    assert set(named.predict(X)) == {"no", "yes"}
    np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))


def test_an_error_behind_the_labels_is_the_one_that_is_raised():
    with pytest.raises(ValueError, match="nonsense"):
        fit_model(piped(XGBClassifier(objective="nonsense")), X, NAMED)


def test_text_columns_are_encoded_for_a_bare_estimator_only():
    assert X[CATEGORIES].dtypes.map(str).ne("int64").all()
    model = fit_model(XGBClassifier(n_estimators=2), X, NAMED)
    assert model.classes_.tolist() == ["no", "yes"]


def test_catboost_with_its_own_categories_is_copied():
    # Its constructor copies the list, so that scikit-learn cannot clone most versions of it.
    model = CatBoostClassifier(
        iterations=5,
        cat_features=CATEGORIES,
        random_seed=0,
        verbose=0,
        allow_writing_files=False,
        thread_count=1,
    )
    classifier = FairSHAPClassifier(FairSHAP(model, **WHO)).fit(X, Y)
    assert isinstance(classifier.estimator_, CatBoostClassifier)
    assert classifier.estimator_.get_params()["cat_features"] == CATEGORIES
    assert classifier.predict(X).shape == (len(X),)


def test_what_can_be_neither_cloned_nor_copied_says_so():
    class Unique(LogisticRegression):
        def __init__(self, C=1.0):
            self.C = C + 1

        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    with pytest.raises(ModelError, match=r"can be neither cloned .* nor copied"):
        copy_estimator(Unique())


class Boosting(HistGradientBoostingClassifier):
    """Histogram gradient boosting that notes how many threads it is given."""

    def fit(self, X, y):
        self.threads_ = [_openmp_effective_n_threads()]
        return super().fit(X, y)

    def predict_proba(self, X):
        self.threads_.append(_openmp_effective_n_threads())
        return super().predict_proba(X)


def test_boosting_on_a_small_table_takes_one_thread_and_gives_the_same(monkeypatch):
    estimator = Boosting(max_iter=5, random_state=0)
    numbers, outputs = X.select_dtypes("number").to_numpy(dtype=float), []
    # As many as there are may be one.
    with threadpool_limits(2):
        given = _openmp_effective_n_threads()
        for most, threads in ((numbers.size, 1), (numbers.size - 1, given)):
            monkeypatch.setattr(scorer, "_ONE_THREAD", most)
            model = fit_model(estimator, numbers, Y)
            outputs.append(Scorer(model)(numbers).tobytes())
            assert model.threads_ == [threads, threads]
        assert _openmp_effective_n_threads() == given
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("kind", ["text", "category", "array", "polars"])
@pytest.mark.parametrize("model", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=5)])
def test_texts_of_numbers_are_categories_and_not_read_as_numbers(kind, model):
    codes, y = np.resize(["1", "22", "3"], 90), np.resize([0, 1, 0], 90)
    rows = pd.DataFrame({"code": codes, "n": np.arange(90.0) % 7})
    if kind == "category":
        rows = rows.astype({"code": "category"})
    elif kind == "array":
        rows = rows.to_numpy(dtype=object)
    elif kind == "polars":
        rows = pl.from_pandas(rows)
    fitted = fit_model(model, rows, y)
    # Between 1 and 22, but a category of its own: only a model that knows it as such sees that at once.
    own = kind == "category" and isinstance(model, HistGradientBoostingClassifier)
    assert isinstance(fitted, Pipeline) != own
    assert (fitted.predict(rows) == y).all() or own
