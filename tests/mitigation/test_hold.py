"""A model that is fitted otherwise without the sensitive column goes without it all the same."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from fairshap import ColumnEncoder, datasets, evaluate, tune
from fairshap.exceptions import InputError
from fairshap.mitigation import MitigatedClassifier, SensitiveRemover
from tests.conftest import to_library, to_pandas

# Tables are small and folds are few here: what is told of noise is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:The discriminative risk of")

DATA = datasets.load("german")
X, Y = DATA.X, DATA.y
WHO = {"sensitive": DATA.sensitive, "privileged": DATA.privileged}
CATEGORIES = [name for name in X.columns if X[name].dtype.kind not in "if"]


def naming(columns):
    """A pipeline whose encoder names its columns."""
    encoder = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), columns), remainder="passthrough"
    )
    return make_pipeline(encoder, XGBClassifier(n_estimators=20, n_jobs=1))


NAMES = naming(CATEGORIES)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_held_column_has_one_value_in_training_and_in_test_rows(library):
    remover = SensitiveRemover(**WHO, hold=True).fit(to_library(X[:600], library))
    given = to_library(X[600:], library)
    rows = remover.transform(given)
    assert type(rows) is type(given)
    rows = to_pandas(rows)
    assert list(rows.columns) == list(remover.get_feature_names_out()) == list(X.columns)
    assert set(rows[DATA.sensitive].astype(str)) == {str(X[DATA.sensitive].iloc[0])}
    others = [name for name in X.columns if name != DATA.sensitive]
    assert_array_equal(rows[others].astype(str), to_pandas(given)[others].astype(str))


def test_a_pipeline_that_names_the_column_is_trained_without_it():
    held = MitigatedClassifier(SensitiveRemover(**WHO), NAMES).fit(X, Y)
    switched = X.assign(**{DATA.sensitive: np.roll(X[DATA.sensitive], 1)})
    assert_array_equal(held.predict_proba(X), held.predict_proba(switched))
    # It learns what one learns to which the column was never shown.
    rest = X.drop(columns=DATA.sensitive)
    bare = naming([name for name in CATEGORIES if name != DATA.sensitive]).fit(rest, held.classes_[1] == Y)
    assert_allclose(held.predict_proba(X), bare.predict_proba(rest), rtol=1e-6)


def test_by_place_no_other_column_takes_its_stead():
    # Without the first column, the second of an array would be encoded for it.
    rows = np.column_stack([np.arange(200) % 2, np.arange(200) % 7, np.arange(200) % 5])
    places = make_column_transformer((OneHotEncoder(), [0]), remainder="passthrough")
    pipeline = make_pipeline(places, XGBClassifier(n_estimators=5, n_jobs=1))
    model = MitigatedClassifier(SensitiveRemover(sensitive=0, privileged=1), pipeline)
    model.fit(rows, rows[:, 1] > rows[:, 2])
    encoder = model.estimator_.named_steps["columntransformer"].named_transformers_["onehotencoder"]
    assert [values.tolist() for values in encoder.categories_] == [[0]]


def test_tune_and_evaluate_take_a_pipeline_that_names_the_column():
    quick = {"n_folds": 2, "random_state": 0}
    tuning = tune(X, Y, NAMES, **WHO, **quick, candidates=["plain"])
    lines = tuning.frame().set_index("name")
    assert lines.loc["drop the column", "dr"] == 0
    assert lines.loc["baseline", "dr"] > 0
    lines = evaluate(X, Y, NAMES, **WHO, **quick, methods=["baseline", "rsa"]).frame().set_index("method")
    assert lines.loc["rsa", "dr"] == 0 < lines.loc["baseline", "dr"]


@pytest.fixture
def one_word():
    """A table of numbers of very different size, whose only words are the attribute."""
    rng = np.random.default_rng(0)
    sex, skill, code = rng.choice(["m", "f"], 200), rng.normal(size=200), 1e4 * rng.normal(size=200)
    y = (skill + (sex == "m") + rng.normal(size=200) / 2 > 0.5).astype(int)
    return pd.DataFrame({"sex": sex, "skill": skill, "code": code}), y


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array", "category"])
def test_numbers_stay_standardised_without_the_only_column_of_words(one_word, kind):
    frame, y = one_word
    sensitive = "sex"
    if kind == "array":
        rows, sensitive = frame.to_numpy(dtype=object), 0
    elif kind == "category":
        # scikit-learn would read these categories as numbers: they are encoded.
        rows = frame.assign(sex=pd.Categorical(np.where(frame["sex"] == "m", 1, 2)))
    else:
        rows = to_library(frame, kind)
    remover = SensitiveRemover(sensitive=sensitive, privileged=1 if kind == "category" else "m")
    model = MitigatedClassifier(remover, KNeighborsClassifier()).fit(rows, y)
    rest = frame[["skill", "code"]]
    expected = make_pipeline(ColumnEncoder(), KNeighborsClassifier()).fit(rest, y).predict_proba(rest)
    assert_array_equal(model.predict_proba(rows), expected)


@pytest.mark.parametrize("library", ["pandas", "polars", "array"])
def test_a_table_of_numbers_alone_loses_the_column(one_word, library):
    frame, y = one_word
    frame = frame.assign(sex=(frame["sex"] == "m").astype(float))
    rows = frame.to_numpy() if library == "array" else to_library(frame, library)
    remover = SensitiveRemover(sensitive=0 if library == "array" else "sex", privileged=1)
    model = MitigatedClassifier(remover, KNeighborsClassifier()).fit(rows, y)
    assert model.method_.kept_.tolist() == [1, 2]
    assert model.estimator_.n_features_in_ == 2


def test_tune_standardises_numbers_without_the_only_column_of_words(one_word):
    rows, y = one_word
    quick = {"candidates": ["plain"], "n_folds": 2}
    who = {"sensitive": "sex", "privileged": "m", "random_state": 0}
    # So much is taken off the weights that it matters how large the numbers are.
    own = LogisticRegression(C=1e-3)
    lines = [
        tune(rows, y, model, **who, **quick).frame().set_index("name").drop(columns=["minimized"])
        for model in (own, make_pipeline(ColumnEncoder(), own))
    ]
    name = "drop the column"
    pd.testing.assert_series_equal(lines[0].loc[name], lines[1].loc[name])


def test_words_of_the_attribute_alone_leave_nothing_to_train_on(one_word):
    rows, y = one_word
    with pytest.raises(InputError, match=r"1 feature\(s\), all of them sensitive"):
        MitigatedClassifier(SensitiveRemover(sensitive="sex", privileged="m"), NAMES).fit(rows[["sex"]], y)


def test_evaluate_standardises_numbers_without_the_only_column_of_words(one_word):
    rows, y = one_word
    own = LogisticRegression(C=1e-3)
    how = {"sensitive": "sex", "privileged": "m", "random_state": 0, "methods": ["baseline", "rsa"]}
    lines = [
        evaluate(rows, y, model, **how, n_folds=2).frame().set_index("method").loc["rsa"]
        for model in (own, make_pipeline(ColumnEncoder(), own))
    ]
    pd.testing.assert_series_equal(*lines)
