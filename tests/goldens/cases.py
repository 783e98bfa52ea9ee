"""The tables, models and repairs whose results are kept: the paper's settings and tables made here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from fairshap import datasets

#: Rows taken of a large table.
SAMPLE = 1200


@dataclass(frozen=True)
class Case:
    """A table, whom it is about, and the model to explain.

    ``unit`` is what thresholds are multiplied by: 1 for a classifier. ``limits`` are the constraints of the
    repair "limits". ``is_full`` says whether every repair is made, or the paper's two alone.
    """

    X: Any
    y: Any
    estimator: Any
    who: dict[str, Any]
    fit: dict[str, Any] = field(default_factory=dict)
    explainer: dict[str, Any] = field(default_factory=dict)
    pairing: str = "pooled"
    unit: float = 1.0
    limits: dict[str, Any] = field(default_factory=dict)
    is_full: bool = True


def xgboost(n_estimators: int = 40) -> XGBClassifier:
    return XGBClassifier(n_estimators=n_estimators, max_depth=4, random_state=0, n_jobs=1)


# ---- the paper's settings


def setting(name: str, sensitive: str, *, encoded: bool = False, is_full: bool = False) -> Case:
    data = datasets.load(name, sensitive=sensitive, encoded=encoded)
    X, y = data.X, data.y
    if len(X) > 8000:
        rows = np.sort(np.random.default_rng(0).choice(len(X), SAMPLE, replace=False))
        X, y = X.iloc[rows], y.iloc[rows]
    who = {"sensitive": sensitive, "privileged": data.privileged}
    if encoded:
        # As the paper trained: plain arrays, every one-hot column for itself.
        who["sensitive"] = list(X.columns).index(sensitive)
        X, y = X.to_numpy(), y.to_numpy()
    columns = range(X.shape[1]) if encoded else X.columns
    other = next(column for column in reversed(columns) if column != who["sensitive"])
    limits = {"frozen": [other], "max_per_row": 1}
    return Case(X, y, xgboost(), who, limits=limits, is_full=is_full)


# ---- made tables


def _sigmoid(odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-odds))


def staff_frame() -> tuple[pd.DataFrame, pd.Series]:
    """Categories, missing values of every kind, and an index of labels that repeat nothing of the order."""
    rng = np.random.default_rng(11)
    n = 420
    sex = rng.choice(["m", "f"], n, p=[0.6, 0.4])
    age = rng.integers(18, 66, n).astype(float)
    hours = rng.integers(8, 48, n) + 4 * (sex == "m")
    town = rng.choice(["north", "south", "east"], n)
    degree = rng.choice(["none", "school", "master"], n, p=[0.3, 0.5, 0.2])
    member = rng.random(n) < 0.3 + 0.2 * (sex == "m")
    odds = -5 + 0.05 * age + 0.08 * hours + 0.8 * (sex == "m") + (degree == "master") - (town == "east")
    y = (rng.random(n) < _sigmoid(odds)).astype(int)
    age[rng.random(n) < 0.07] = np.nan
    town = pd.Categorical(np.where(rng.random(n) < 0.05, None, town), categories=["east", "north", "south"])
    X = pd.DataFrame(
        {
            "age": age,
            "sex": pd.Categorical(sex),
            "hours": hours,
            "town": town,
            "degree": degree,
            "member": member,
        },
        index=[f"p{k:03d}" for k in rng.permutation(n)],
    )
    return X, pd.Series(y, X.index, name="promoted")


def loans_frame() -> tuple[pl.DataFrame, pl.Series]:
    rng = np.random.default_rng(12)
    n = 450
    gender = rng.choice(["woman", "man"], n)
    income = np.round(rng.lognormal(3, 0.4, n) + 5 * (gender == "man"), 1)
    debt = np.round(rng.gamma(2, 4, n), 1)
    years = rng.integers(0, 30, n)
    purpose = rng.choice(["car", "home", "study", "other"], n)
    odds = 0.08 * income - 0.15 * debt + 0.03 * years + 0.9 * (gender == "man") - 1.2 + (purpose == "home")
    granted = np.where(rng.random(n) < _sigmoid(odds), "yes", "no")
    X = pl.DataFrame({"gender": gender, "income": income, "debt": debt, "years": years, "purpose": purpose})
    return X, pl.Series("granted", granted)


def sensors_array() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(13)
    n = 900
    X = np.round(rng.normal(size=(n, 7)), 2)
    X[:, 0] = rng.random(n) < 0.5
    X[:, 1] = np.round(X[:, 1] + 0.7 * X[:, 0], 2)
    X[:, 6] = rng.integers(0, 4, n)
    odds = X[:, 1] - X[:, 2] * X[:, 3] + 1.2 * X[:, 0] * (X[:, 6] > 1) - 0.3
    return X, (rng.random(n) < _sigmoid(odds)).astype(int)


def clinics_frame() -> tuple[pd.DataFrame, pd.Series, np.ndarray, np.ndarray]:
    """Return the table, its target, the attribute of three groups beside it, and weights."""
    rng = np.random.default_rng(14)
    n = 520
    race = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame(
        {
            "score": np.round(rng.normal(size=n) + 0.5 * (race == "a"), 2),
            "visits": rng.integers(0, 12, n),
            "site": rng.choice(["x", "y", "z"], n),
            "weight": np.round(rng.normal(75, 12, n), 1),
        }
    )
    odds = X["score"] + 0.1 * X["visits"] + 1.1 * (race == "a") - 0.6 * (race == "c") - 1
    y = pd.Series(rng.random(n) < _sigmoid(odds.to_numpy()), name="treated")
    return X, y, race, np.round(rng.uniform(0.5, 2.0, n), 2)


def _staff(**changes: Any) -> Case:
    X, y = staff_frame()
    values: dict[str, Any] = {
        "who": {"sensitive": "sex", "privileged": "m"},
        "limits": {"frozen": ["town"], "max_per_row": 1, "group": "unprivileged", "plausible": True},
    }
    return Case(X, y, HistGradientBoostingClassifier(max_iter=40, random_state=0), **(values | changes))


def _loans() -> Case:
    X, y = loans_frame()
    encode = make_column_transformer(
        (OneHotEncoder(), ["gender", "purpose"]), (StandardScaler(), ["income", "debt", "years"])
    )
    return Case(
        X,
        y,
        make_pipeline(encode, LogisticRegression()),
        {"sensitive": "gender", "privileged": "man"},
        limits={"editable": ["income", "debt"], "max_per_row": 1, "group": "privileged"},
    )


def _sensors(**changes: Any) -> Case:
    X, y = sensors_array()
    values: dict[str, Any] = {
        "who": {"sensitive": 0, "privileged": 1},
        "limits": {"frozen": [2]},
    }
    forest = RandomForestClassifier(20, max_depth=6, random_state=0, n_jobs=1)
    return Case(X, y, forest, **(values | changes))


def _clinics() -> Case:
    X, y, race, weights = clinics_frame()
    return Case(
        X,
        y,
        xgboost(),
        {"privileged": "a"},
        fit={"sensitive_features": race, "sample_weight": weights},
        is_full=False,
    )


def _clinics_inside() -> Case:
    X, y, race, weights = clinics_frame()
    return Case(
        X.assign(race=race),
        y,
        xgboost(),
        {"sensitive": "race", "privileged": "a"},
        fit={"sample_weight": weights},
        explainer={"comparison": "mean"},
        pairing="each",
        limits={"max_per_row": 2, "group": "privileged"},
    )


def _wages() -> Case:
    X, y = staff_frame()
    noise = np.random.default_rng(15).normal(0, 2, len(X))
    wage = 10 + 0.2 * X["hours"] + 4 * (X["sex"] == "m") + 3 * y + 0.1 * X["age"].fillna(40) + noise
    return Case(
        X,
        wage.rename("wage"),
        HistGradientBoostingRegressor(max_iter=40, random_state=0),
        {"sensitive": "sex", "privileged": "m"},
        unit=float(np.std(wage)),
        limits={"frozen": ["age"], "max_per_row": 2},
    )


def _grades() -> Case:
    X, y = sensors_array()
    return Case(
        X[:300],
        (y + (X[:, 4] > 0.5))[:300],
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"sensitive": 0, "privileged": 1},
        is_full=False,
    )


CASES: dict[str, Callable[[], Case]] = {
    # The paper's seven settings: one table of words goes through every repair, as do the made tables.
    "german-sex": lambda: setting("german", "sex"),
    "compas-sex": lambda: setting("compas", "sex"),
    "adult-sex": lambda: setting("adult", "sex", is_full=True),
    "adult-race": lambda: setting("adult", "race"),
    "credit-sex": lambda: setting("credit", "SEX"),
    "census-kdd-sex": lambda: setting("census_kdd", "sex"),
    "german-sex-encoded": lambda: setting("german", "sex", encoded=True),
    "compas-race-encoded": lambda: setting("compas", "race", encoded=True),
    "adult-sex-encoded": lambda: setting("adult", "sex", encoded=True),
    "staff": _staff,
    "loans": _loans,
    "sensors": _sensors,
    "clinics": _clinics,
    "clinics-inside": _clinics_inside,
    "wages": _wages,
    "grades": _grades,
    "staff-ages": lambda: _staff(who={"sensitive": "age", "privileged": pd.Interval(40, 70)}, is_full=False),
    "staff-two-columns": lambda: _staff(
        who={"sensitive": ["sex", "member"], "privileged": ("m", True)}, is_full=False
    ),
    "sensors-grouped": lambda: _sensors(is_full=False, explainer={"feature_groups": {"pair": [2, 3]}}),
    "sensors-estimated": lambda: _sensors(
        is_full=False, explainer={"method": "permutation", "n_permutations": 16}
    ),
}


#: The cases that are also matched by optimal transport.
TRANSPORT = ("staff", "loans", "clinics")


# ---- files for the command


def write_staff_csv(path: Path) -> None:
    """Write text that a repair must keep byte for byte: quotes, leading zeros, blanks, Windows line ends."""
    X, y = staff_frame()
    X = X.assign(code=[f"{k % 7:03d}" for k in range(len(X))], promoted=np.where(y == 1, "yes", "no"))
    path.write_bytes(X.to_csv(index=False, lineterminator="\r\n").replace("east", '"east"').encode())


def write_loans_parquet(path: Path) -> None:
    X, y = loans_frame()
    X.with_columns(y).write_parquet(path)
