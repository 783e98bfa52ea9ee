"""A report on a table whose names and values try to be something else."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fairshap
from fairshap import FairSHAP

#: What a careless page would run, close or garble.
SCRIPT = "</script><script>window.broken=1</script>"
IMAGE = "<img src=x onerror=window.broken=2>"
HOSTILE = [SCRIPT, IMAGE, "\"'`${1}{{7*7}}", "🙂 שלום \u202eevil", "line\nbreak \\ $x^2$ $", "long " * 400]


#: An audit that finds the edits of the repair below.
AUDIT = {"sensitive": "sex", "privileged": "m", "threshold": 0.005, "random_state": 0, "date": "2026-01-02"}


def hostile_table(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    sex = rng.choice(["m", "f"], n)
    town = rng.choice(HOSTILE, n)
    wage = rng.normal(size=n).round(2)
    y = (wage + (sex == "m") * (town == HOSTILE[0]) * 2 + rng.normal(size=n) * 0.5 > 0.5).astype(int)
    frame = pd.DataFrame(
        {"sex": sex, "__proto__": town, "wage <b>$": wage}, index=[f"person-{k}" for k in range(n)]
    )
    frame["constructor"] = rng.choice(["u", "v"], n)
    return frame, y


@pytest.fixture(scope="session")
def fitted() -> FairSHAP:
    X, y = hostile_table()
    model = FairSHAP(LogisticRegression(), sensitive="sex", privileged="m", threshold=0.005, random_state=0)
    return model.fit(X, y)


@pytest.fixture(scope="session")
def audit():
    return fairshap.audit(LogisticRegression(), *hostile_table(), **AUDIT)


@pytest.fixture(scope="session")
def report(fitted):
    return fitted.report(title=f"Hostile {SCRIPT}", command=f"fairshap {IMAGE}", date="2026-01-02")
