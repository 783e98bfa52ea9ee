import pickle

import pandas as pd
import pytest

from fairshap import EditConstraints, FairSHAP, _io
from fairshap.exceptions import FairshapError, FileError, InputError, MissingExtraError

X = pd.DataFrame({"age": range(8), "sex": list("mfmfmfmf")})
Y = [0, 1, 1, 0, 0, 1, 1, 0]


def repair(constraints):
    return FairSHAP(sensitive="sex", privileged="m", constraints=constraints).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: FairSHAP(sensitive="gender").fit(X, Y), "sensitive"),
        (lambda: FairSHAP(sensitive="sex").fit(X, Y), "privileged"),
        (lambda: FairSHAP(sensitive="sex", privileged="M").fit(X, Y), "privileged"),
        (lambda: FairSHAP(sensitive="sex", privileged="m", threshold=-1).fit(X, Y), "threshold"),
        (lambda: repair(EditConstraints(frozen=["agee"])), "frozen"),
        (lambda: FairSHAP(sensitive="sex", privileged="m").fit(X, [0] * 8), "y"),
        (lambda: FairSHAP(sensitive="sex", privileged="m").fit(X.iloc[:0], []), "X"),
        (lambda: _io.read("german", encoding="latin-1"), "encoding"),
        (lambda: _io.read("german", drop=["gender"]), "drop"),
        (lambda: _io.read("germn"), None),
    ],
)
def test_an_error_has_the_parameter_that_it_is_about(call, parameter):
    with pytest.raises(FairshapError) as caught:
        call()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("kind", [InputError, FileError])
def test_the_parameter_survives_another_process(kind):
    error = pickle.loads(pickle.dumps(kind("threshold=2 is too much", parameter="threshold")))  # noqa: S301
    assert (type(error), str(error), error.parameter) == (kind, "threshold=2 is too much", "threshold")


def test_an_error_of_a_missing_package_names_the_extra():
    error = MissingExtraError("drawing", "matplotlib", "plots")
    assert "pip install 'fairshap[plots]'" in str(error)
    assert error.parameter is None
