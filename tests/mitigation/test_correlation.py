import sys

import numpy as np
import pandas as pd
import pytest
from fairlearn.preprocessing import CorrelationRemover as FairlearnsOwn
from lightgbm import LGBMClassifier
from numpy.testing import assert_allclose, assert_array_equal
from xgboost import XGBClassifier

from fairshap.exceptions import InputError, MissingExtraError
from fairshap.mitigation import CorrelationRemover, MitigatedClassifier
from tests.conftest import to_library, to_pandas
from tests.mitigation.conftest import WHO, D, encoded


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_an_array_of_numbers_gives_what_fairlearn_gives(alpha):
    X = encoded()
    ours = CorrelationRemover(sensitive=0, privileged=1, alpha=alpha).fit(X[:200])
    theirs = FairlearnsOwn(sensitive_feature_ids=[0], alpha=alpha).fit(X[:200])
    assert_array_equal(ours.transform(X[200:]), theirs.transform(X[200:]))


def test_several_sensitive_columns_give_what_fairlearn_gives():
    X = encoded()
    ours = CorrelationRemover(sensitive=[0, 1], privileged=(1, 1)).fit_transform(X)
    assert_allclose(ours, FairlearnsOwn(sensitive_feature_ids=[0, 1]).fit_transform(X))


def test_categories_become_features_without_correlation(library):
    X = to_library(D.X, library)
    remover = CorrelationRemover(**WHO)
    out = remover.fit_transform(X)
    assert type(out) is type(X)
    out = to_pandas(out)
    assert list(out.columns) == [
        "district=south",
        "district=north",
        "skill",
        "colour=green",
        "colour=blue",
        "colour=red",
        "commute",
    ]
    assert remover.get_feature_names_out().tolist() == list(out.columns)
    is_a = (D.X["group"] == "a").astype(float)
    assert_allclose([np.cov(out[name], is_a)[0, 1] for name in out], 0, atol=1e-12)
    assert out["skill"].mean() == pytest.approx(D.X["skill"].mean())
    by_hand = D.X["skill"] - (is_a - is_a.mean()) * np.cov(D.X["skill"], is_a)[0, 1] / is_a.var()
    assert_allclose(out["skill"], by_hand)


def test_several_values_of_a_category_are_removed_together():
    X = D.X[["colour", "skill"]].assign(skill=D.X["skill"] + 5 * (D.X["colour"] == "red"))
    out = CorrelationRemover(sensitive="colour", privileged="red").fit_transform(X)
    means = out.groupby(X["colour"])["skill"].mean()
    assert_allclose(means, means.iloc[0])


def test_the_sensitive_column_can_be_kept_in_its_place(library):
    X = to_library(D.X[["skill", "group", "commute"]], library)
    remover = CorrelationRemover(**WHO, keep_sensitive=True)
    out = to_pandas(remover.fit_transform(X))
    assert list(out.columns) == ["skill", "group", "commute"]
    assert out["group"].tolist() == D.X["group"].tolist()
    array = CorrelationRemover(sensitive=0, privileged=1, keep_sensitive=True).fit_transform(encoded())
    assert_array_equal(array[:, 0], encoded()[:, 0])
    assert_array_equal(array[:, 1:], FairlearnsOwn(sensitive_feature_ids=[0]).fit_transform(encoded()))


def test_the_index_stays_and_the_table_too():
    X = D.X.set_index(pd.Index(["same"] * 300))
    before = X.copy()
    out = CorrelationRemover(**WHO).fit_transform(X)
    assert out.index.equals(X.index)
    pd.testing.assert_frame_equal(X, before)
    numbered = X[["group", "skill", "colour"]].set_axis([0, 1, 2], axis=1)
    names = CorrelationRemover(sensitive=0, privileged="a").fit_transform(numbered).columns
    assert list(names) == ["1", "2=green", "2=blue", "2=red"]


def test_missing_numbers_are_refused_and_missing_categories_are_a_category():
    X = D.X.astype({"skill": float})
    X.loc[3, "skill"] = np.nan
    with pytest.raises(InputError, match=r"column 'skill' has missing values \(NaN\).*SimpleImputer"):
        CorrelationRemover(**WHO).fit(X)
    remover = CorrelationRemover(**WHO).fit(D.X)
    with pytest.raises(InputError, match="column 'skill' has missing values"):
        remover.transform(X)
    X = D.X.copy()
    X.loc[3, "colour"] = None
    assert "colour=missing" in CorrelationRemover(**WHO).fit_transform(X)


@pytest.mark.parametrize("alpha", [-1, 2, "x"])
def test_another_alpha_is_refused(alpha):
    with pytest.raises(InputError, match=r"alpha=.* must be a number from 0 to 1"):
        CorrelationRemover(**WHO, alpha=alpha).fit(D.X)


def test_nothing_but_the_attribute_is_refused():
    with pytest.raises(InputError, match="all of them sensitive"):
        CorrelationRemover(**WHO).fit(D.X[["group"]])


def test_without_fairlearn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fairlearn.preprocessing", None)
    with pytest.raises(MissingExtraError, match=r"needs fairlearn.*fairshap\[fairlearn\]"):
        CorrelationRemover(**WHO).fit(D.X)


def test_an_old_fairlearn_is_refused(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.13.0")
    with pytest.raises(MissingExtraError, match=r"0\.15 or later \(not 0\.13\.0\)"):
        CorrelationRemover(**WHO).fit(D.X)


@pytest.mark.parametrize("model", [XGBClassifier(n_estimators=3, n_jobs=1), LGBMClassifier(verbose=-1)])
def test_categories_may_hold_characters_that_a_model_refuses_in_names(model):
    words = ["<5", "[5, 6)", "(5, 6)", "{a}", 'b: "c"', "d, e"]
    X = D.X.assign(colour=pd.Categorical(np.resize(words, len(D.X)), categories=words))
    out = CorrelationRemover(**WHO).fit_transform(X)
    assert list(out.columns[3:9]) == [
        "colour=lt 5", "colour=(5; 6)", "colour=(5; 6)_", "colour=(a)", "colour=b; 'c'", "colour=d; e"
    ]  # fmt: skip
    fitted = MitigatedClassifier(CorrelationRemover(**WHO), model).fit(X, D.y)
    assert fitted.predict(X).shape == (300,)
    # Of the transformed table itself, not behind another encoding of it.
    assert fitted.estimator_.n_features_in_ == out.shape[1]
    assert not hasattr(fitted.estimator_, "steps")
