import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from fairshap.exceptions import InputError
from fairshap.mitigation import SensitiveRemover
from tests.conftest import to_library, to_pandas
from tests.mitigation.conftest import WHO, D


def test_the_sensitive_column_is_dropped_and_nothing_else(library):
    X = to_library(D.X, library)
    remover = SensitiveRemover(**WHO).fit(X)
    out = remover.transform(X)
    assert type(out) is type(X)
    assert to_pandas(out).equals(to_pandas(to_library(D.X.drop(columns="group"), library)))
    assert remover.get_feature_names_out().tolist() == ["district", "skill", "colour", "commute"]


def test_index_names_and_types_stay(people):
    people = people.set_index(pd.Index(list("abcabc"), name="who")).rename_axis(columns="about")
    out = SensitiveRemover(sensitive="sex", privileged="m").fit_transform(people)
    pd.testing.assert_frame_equal(out, people.drop(columns="sex"))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, object])
def test_an_array_loses_a_column(dtype):
    X = np.array([[1, 0, 5], [2, 1, 6], [3, 1, 7]], dtype=dtype)
    out = SensitiveRemover(sensitive=1, privileged=1).fit_transform(X)
    assert out.dtype == dtype
    assert_array_equal(out, X[:, [0, 2]])


def test_several_columns_are_dropped_together():
    remover = SensitiveRemover(sensitive=["group", "district"], privileged=("a", "north"))
    assert list(remover.fit_transform(D.X).columns) == ["skill", "colour", "commute"]


def test_what_comes_out_can_be_changed_without_changing_what_went_in():
    for X in (D.X.copy(), np.array([[0, 1.0], [1, 2.0]])):
        sensitive, privileged = ("group", "a") if isinstance(X, pd.DataFrame) else (0, 1)
        out = SensitiveRemover(sensitive=sensitive, privileged=privileged).fit_transform(X)
        before = X.copy()
        out[out.columns[0] if isinstance(X, pd.DataFrame) else 0] = 7
        assert np.all(np.asarray(X) == np.asarray(before))


def test_one_column_leaves_nothing_to_train_on():
    with pytest.raises(InputError, match=r"1 feature\(s\), all of them sensitive"):
        SensitiveRemover(sensitive=0, privileged=1).fit(np.array([[0], [1]]))
