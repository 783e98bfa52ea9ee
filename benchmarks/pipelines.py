"""Ordinary pipelines, as people write them: how each is explained, how long that takes, and how exactly.

Five tables: loans (made, 2,400 rows, like those of the Home Mortgage Disclosure Act); the first training
folds of Adult, of Census KDD and of COMPAS, whose risk score is predicted, which has three classes; and
50,000 rows of ACS Income, where the file is found. For each pipeline: the route; the seconds of its fit and
of the repair of the fitted pipeline, after one that warms up (the median of three, one run if it takes long);
their ratio; and the largest difference to the Shapley values from calling the pipeline, over 500 pairs that
differ in up to ten columns. "native" pipelines must be read, unless the table is so small that calling them
is quicker; the others are at least transformed once and mixed after that, and for these the benchmark says
how many times quicker that is than calling the whole pipeline. It ends with 1 where a pipeline is not
explained so, or where a difference is above 1e-6.

    python benchmarks/pipelines.py [--tables loans,compas,adult,acs,census] [--only XGBoost]
        [--acs acs_income.parquet] [--write docs/pipelines.md]

One JSON line at the end.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from common import peak_mib, training_fold
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from skrub import TableVectorizer, tabular_pipeline
from write_results import machine
from xgboost import XGBClassifier

from fairshap import Explanation, FairSHAP, MatchPlan, explain
from fairshap._models import fit_model
from fairshap.attribution import _explain

ACS = Path(__file__).resolve().parents[2] / "shared/data/benchmark/acs_income.parquet"
# How many pairs are held against calls, in how many columns they differ at most, and how many are timed.
PAIRS, MOST, TIMED = 500, 10, 30_000
# The seconds after which nothing is timed again.
LONG = 3.0
TABLES = ("loans", "compas", "adult", "acs", "census")
NUMBERS, WORDS = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")


def before(numbers: Any, words: Any = None) -> Any:
    """Return the usual preprocessing: one step for the numbers, one for the rest."""
    return make_column_transformer((numbers, NUMBERS), (words or one_hot(), WORDS))


def one_hot(dense: bool = False) -> Any:
    return OneHotEncoder(handle_unknown="ignore", sparse_output=not dense)


def ordinal() -> Any:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


def scaled(model: Any) -> Any:
    return make_pipeline(before(make_pipeline(SimpleImputer(), StandardScaler())), model)


def coded(model: Any) -> Any:
    return make_pipeline(before(SimpleImputer(), ordinal()), model)


def xgboost(**options: Any) -> Any:
    return XGBClassifier(random_state=0, **options)


def logistic() -> Any:
    return LogisticRegression(max_iter=300)


def forest() -> Any:
    return RandomForestClassifier(50, min_samples_leaf=5, random_state=0, n_jobs=-1)


#: Name: (whether it must be native, the largest table, what makes it). Tables: 0 loans, 1 Adult, 2 ACS,
#: 3 Census KDD. None instead of the first: it has no preprocessing and may be called.
PIPELINES: dict[str, tuple[bool | None, int, Callable[[], Any]]] = {
    "XGBoost, raw categories": (True, 2, lambda: xgboost(enable_categorical=True)),
    "LightGBM, raw categories": (True, 2, lambda: LGBMClassifier(verbose=-1, random_state=0)),
    "HistGradientBoosting, raw categories": (
        True,
        2,
        lambda: HistGradientBoostingClassifier(random_state=0, categorical_features="from_dtype"),
    ),
    "the default (no estimator)": (True, 2, lambda: None),
    "one-hot, XGBoost": (True, 3, lambda: scaled(xgboost())),
    "dense one-hot, XGBoost": (
        True,
        2,
        lambda: make_pipeline(before(StandardScaler(), one_hot(True)), xgboost()),
    ),
    "one-hot, LightGBM": (True, 2, lambda: scaled(LGBMClassifier(verbose=-1, random_state=0))),
    "one-hot, random forest": (True, 1, lambda: scaled(forest())),
    "one-hot, logistic regression": (True, 3, lambda: scaled(logistic())),
    "one-hot, SGD logistic": (True, 2, lambda: scaled(SGDClassifier(loss="log_loss", random_state=0))),
    "one-hot, linear SVC": (True, 2, lambda: scaled(LinearSVC(random_state=0))),
    "one-hot, ridge classifier": (True, 2, lambda: scaled(RidgeClassifier())),
    "ordinal, XGBoost": (True, 2, lambda: coded(xgboost())),
    "ordinal, random forest": (True, 1, lambda: coded(forest())),
    "ordinal, extra trees": (
        True,
        1,
        lambda: coded(ExtraTreesClassifier(50, min_samples_leaf=5, random_state=0, n_jobs=-1)),
    ),
    "ordinal, gradient boosting": (
        True,
        1,
        lambda: make_pipeline(before(SimpleImputer(), ordinal()), GradientBoostingClassifier(random_state=0)),
    ),
    "ordinal, decision tree": (True, 2, lambda: coded(DecisionTreeClassifier(max_depth=8, random_state=0))),
    "ordinal, HistGradientBoosting": (True, 2, lambda: coded(HistGradientBoostingClassifier(random_state=0))),
    "imputer, ordinal, LightGBM": (
        True,
        2,
        lambda: make_pipeline(
            before(SimpleImputer(strategy="median"), ordinal()), LGBMClassifier(verbose=-1, random_state=0)
        ),
    ),
    "target encoder, XGBoost": (
        True,
        2,
        lambda: make_pipeline(before("passthrough", TargetEncoder(random_state=0)), xgboost()),
    ),
    "target encoder, logistic regression": (
        True,
        2,
        lambda: make_pipeline(
            before(SimpleImputer(), TargetEncoder(random_state=0)), StandardScaler(), logistic()
        ),
    ),
    "min-max, logistic regression": (
        True,
        2,
        lambda: make_pipeline(before(make_pipeline(SimpleImputer(), MinMaxScaler())), logistic()),
    ),
    "robust scaler, logistic regression": (
        True,
        2,
        lambda: make_pipeline(before(make_pipeline(SimpleImputer(), RobustScaler())), logistic()),
    ),
    "quantiles, logistic regression": (
        True,
        2,
        lambda: make_pipeline(
            before(make_pipeline(SimpleImputer(), QuantileTransformer(random_state=0))), logistic()
        ),
    ),
    "power transform, logistic regression": (
        True,
        2,
        lambda: make_pipeline(before(make_pipeline(SimpleImputer(), PowerTransformer())), logistic()),
    ),
    "bins, logistic regression": (
        True,
        2,
        lambda: make_pipeline(
            before(
                make_pipeline(SimpleImputer(), KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf"))
            ),
            logistic(),
        ),
    ),
    "splines, logistic regression": (
        True,
        2,
        lambda: make_pipeline(before(make_pipeline(SimpleImputer(), SplineTransformer())), logistic()),
    ),
    "AdaBoost": (True, 1, lambda: coded(AdaBoostClassifier(n_estimators=50, random_state=0))),
    "bagged trees": (True, 1, lambda: coded(BaggingClassifier(n_estimators=20, random_state=0))),
    "bagged XGBoost": (True, 1, lambda: coded(BaggingClassifier(xgboost(), 5, random_state=0))),
    "calibrated XGBoost, sigmoid": (True, 1, lambda: CalibratedClassifierCV(coded(xgboost()))),
    "calibrated XGBoost, isotonic": (
        True,
        1,
        lambda: coded(CalibratedClassifierCV(xgboost(), method="isotonic")),
    ),
    "calibrated forest": (True, 1, lambda: coded(CalibratedClassifierCV(forest(), method="isotonic"))),
    "calibrated linear SVC": (True, 2, lambda: scaled(CalibratedClassifierCV(LinearSVC(random_state=0)))),
    "soft vote of XGBoost and a forest": (
        True,
        1,
        lambda: coded(VotingClassifier([("x", xgboost()), ("f", forest())], voting="soft")),
    ),
    "soft vote of pipelines, with logistic regression": (
        True,
        1,
        lambda: VotingClassifier([("x", coded(xgboost())), ("l", scaled(logistic()))], voting="soft"),
    ),
    "stack of XGBoost and LightGBM": (
        True,
        1,
        lambda: coded(
            StackingClassifier([("x", xgboost()), ("l", LGBMClassifier(verbose=-1, random_state=0))])
        ),
    ),
    "grid search, XGBoost": (
        True,
        1,
        lambda: GridSearchCV(scaled(xgboost()), {"xgbclassifier__max_depth": [3, 6]}, cv=3),
    ),
    "grid search, logistic regression": (
        True,
        1,
        lambda: GridSearchCV(scaled(logistic()), {"logisticregression__C": [0.1, 1]}, cv=3),
    ),
    "fixed threshold, XGBoost": (True, 1, lambda: FixedThresholdClassifier(scaled(xgboost()), threshold=0.4)),
    "tuned threshold, logistic regression": (
        True,
        1,
        lambda: TunedThresholdClassifierCV(scaled(logistic()), cv=3),
    ),
    "pipeline in a pipeline, XGBoost": (
        True,
        1,
        lambda: make_pipeline(
            before(StandardScaler(), one_hot(True)), make_pipeline(StandardScaler(), xgboost())
        ),
    ),
    "CatBoost, one-hot categories": (
        True,
        1,
        lambda: coded(CatBoostClassifier(300, verbose=0, random_seed=0, allow_writing_files=False)),
    ),
    "skrub TableVectorizer, logistic regression": (
        True,
        1,
        lambda: make_pipeline(TableVectorizer(), SimpleImputer(), StandardScaler(), logistic()),
    ),
    "skrub tabular_pipeline": (True, 1, lambda: tabular_pipeline("classifier")),
    "CatBoost, its own categories": (None, 1, "catboost"),
    "one-hot, k nearest neighbors": (False, 0, lambda: scaled(KNeighborsClassifier())),
    "one-hot, MLP": (False, 1, lambda: scaled(MLPClassifier((32,), max_iter=20, random_state=0))),
    "dense one-hot, naive Bayes": (
        False,
        1,
        lambda: make_pipeline(
            before(make_pipeline(SimpleImputer(), StandardScaler()), one_hot(True)), GaussianNB()
        ),
    ),
}


#: The same for three classes.
THREE_CLASSES: dict[str, tuple[bool | None, int, Callable[[], Any]]] = {
    name: PIPELINES[name]
    for name in (
        "LightGBM, raw categories",
        "one-hot, XGBoost",
        "one-hot, logistic regression",
        "ordinal, random forest",
        "ordinal, HistGradientBoosting",
        "soft vote of XGBoost and a forest",
    )
}


def loans() -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    """Return a made table of applications for loans, with categories and missing values."""
    rng = np.random.default_rng(0)
    n = 2400
    race = rng.choice(["white", "black", "asian"], n, p=[0.75, 0.17, 0.08])
    income = rng.lognormal(4.2 - 0.2 * (race == "black"), 0.5, n).round(1)
    X = pd.DataFrame({
        "race": race,
        "sex": rng.choice(["male", "female"], n),
        "income": income,
        "loan": (income * rng.uniform(1, 4, n)).round(0),
        "debt_ratio": rng.normal(33, 9, n).round(1),
        "ltv": rng.beta(8, 2, n).round(3),
        "history": rng.choice(["good", "late", "default"], n, p=[0.8, 0.14, 0.06]),
        "purpose": rng.choice(["purchase", "refinance", "improvement"], n),
        "property": rng.choice(["house", "condo", "multi"], n, p=[0.8, 0.12, 0.08]),
        "county": rng.choice([f"county {k}" for k in range(25)], n),
        "years_employed": rng.gamma(2, 4, n).round(0),
        "dependents": rng.poisson(0.8, n),
    })  # fmt: skip
    logit = 1.5 - 0.05 * (X["debt_ratio"] - 33) - 2.5 * (X["history"] != "good") - 3 * (X["ltv"] - 0.8)
    logit -= 0.8 * (race == "black")
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int).to_numpy()
    for column in ("years_employed", "ltv"):
        X.loc[rng.random(n) < 0.05, column] = np.nan
    return X, y, {"sensitive": "race", "privileged": "white"}


def compas() -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    X, _, who = training_fold("compas")
    return X.drop(columns="score_text"), X["score_text"].to_numpy(dtype=str), who


def acs(path: Path) -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    data = pd.read_parquet(path).sample(50_000, random_state=0, ignore_index=True)
    y = data.pop("PINCP").to_numpy().astype(int)
    codes = [column for column in data if column not in ("AGEP", "WKHP")]
    data[codes] = data[codes].astype(int).astype(str)
    return data, y, {"sensitive": "SEX", "privileged": "0"}


def read_table(name: str, path: Path) -> tuple[pd.DataFrame, Any, dict[str, Any]]:
    if name in ("adult", "census"):
        return training_fold("adult" if name == "adult" else "census_kdd")
    return acs(path) if name == "acs" else {"loans": loans, "compas": compas}[name]()


def explain_both(model: Any, X: Any, plan: MatchPlan, pairs: Any, who: dict[str, Any]) -> list[Any]:
    """Explain some pairs as fairshap does and by calling the model; return both, and the seconds of each."""
    chosen = plan.of_rows(np.isin(np.arange(len(plan)), pairs))
    small = _explain._SMALL
    results = []
    for level in (0, np.inf):
        _explain._SMALL = level
        start = time.perf_counter()
        explanation = explain(model, X, chosen, **who, random_state=0)
        results.append((explanation, time.perf_counter() - start))
    _explain._SMALL = small
    return results


def compare(model: Any, X: Any, explanation: Explanation, who: dict[str, Any]) -> tuple[float, str]:
    """Return the largest difference to the values from calling the model, over some pairs, and the route."""
    plan = explanation.match_plan
    differ = explanation.problem.table.differ(plan.row, plan.reference)
    # Pairs of many features take 2^q calls.
    few = np.flatnonzero(differ.sum(axis=1) <= MOST)
    pairs = np.random.default_rng(0).permutation(few)[:PAIRS]
    (ours, _), (called, _) = explain_both(model, X, plan, pairs, who)
    both = (ours.status == "exact") & (called.status == "exact")
    if not both.any():
        raise SystemExit("no pair to compare")
    return float(np.max(np.abs(ours.values[both] - called.values[both]))), ours.route


def make_estimator(make: Any, X: Any) -> tuple[Any, Any]:
    """Return an estimator, and the table as it takes it."""
    words = list(X.select_dtypes(exclude="number"))
    if make == "catboost":
        X = X.assign(**{word: X[word].astype(object).where(X[word].notna(), "missing") for word in words})
        options = {"cat_features": words, "verbose": 0, "random_seed": 0, "allow_writing_files": False}
        return CatBoostClassifier(300, **options), X
    estimator = make() or HistGradientBoostingClassifier(random_state=0)
    if isinstance(estimator, (XGBClassifier, LGBMClassifier, HistGradientBoostingClassifier)):
        X = X.astype(dict.fromkeys(words, "category"))
    return estimator, X


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the median of three calls, or the first if it takes long."""
    taken: list[float] = []
    while len(taken) < 3 and sum(taken) < LONG:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def measure(is_native: bool | None, make: Any, X: Any, y: Any, who: dict[str, Any]) -> dict[str, Any]:
    estimator, X = make_estimator(make, X)
    model = fit_model(estimator, X, y)
    fit = seconds_of(lambda: fit_model(estimator, X, y))
    repair = FairSHAP(FrozenEstimator(model), random_state=0, keep_data=True, **who)
    repair.fit(X, y)
    seconds = seconds_of(lambda: repair.fit(X, y))
    explanation = repair.explanation_
    error, route = compare(model, X, explanation, who)
    result = {
        "route": explanation.route,
        "is_ready": not is_too_slow(is_native, route),
        "fit": round(fit, 3),
        "repair": round(seconds, 3),
        "ratio": round(seconds / fit, 2),
        "error": float(f"{error:.1g}"),
        "edits": len(repair.edits_),
    }
    if is_native is False:
        plan = explanation.match_plan
        (_, ours), (_, called) = explain_both(model, X, plan, np.arange(min(TIMED, len(plan))), who)
        result["times_faster"] = round(called / ours, 1)
    return result


def is_too_slow(is_native: bool | None, route: str) -> bool:
    """Say whether a pipeline is called that should be read, or at least transformed once."""
    if is_native is None or not route.startswith("model calls"):
        return False
    return is_native or "encoded" not in route


def write_page(path: Path, tables: dict[str, str], results: dict[str, Any]) -> None:
    """Write the results as a page of Markdown."""
    lines = [
        "# Pipelines and how they are explained",
        "",
        "Written by `python benchmarks/pipelines.py --write docs/pipelines.md`, which says how all is",
        "measured. *How*: by the model's **trees** or **weights**, by the **parts** of a composed model, or",
        "by **calls**, where possible on **encoded rows**, which are transformed once. *Repair / fit*: the",
        "seconds of repairing the table with the fitted pipeline over those of fitting it. *Difference*: the",
        "largest to the Shapley values from calling the pipeline.",
        "",
        *machine(),
    ]
    for table, description in tables.items():
        lines += ["", f"## {description}", "", "| pipeline | how | fit, s | repair / fit | difference |"]
        lines.append("|---|---|---|---|---|")
        for name, result in results[table].items():
            how, _, why = result["route"].replace("model calls", "calls").partition(": ")
            how += " (small table)" if why == "the table is small" else ""
            if "times_faster" in result:
                how += f", {result['times_faster']:g} x as fast as calling the pipeline"
            row = [name, how, f"{result['fit']:.2f}", f"{result['ratio']:.2f}", f"{result['error']:.0e}"]
            lines.append(f"| {' | '.join(row)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--only", default="")
    parser.add_argument("--acs", type=Path, default=ACS, help="the file with ACS Income")
    parser.add_argument("--write", type=Path, help="a page of Markdown to write")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    descriptions: dict[str, str] = {}
    results: dict[str, dict[str, Any]] = {}
    failures = []
    for table in chosen.tables.split(","):
        if table == "acs" and not chosen.acs.exists():
            print(f"acs: {chosen.acs} is not there; give it with --acs", file=sys.stderr)
            continue
        X, y, who = read_table(table, chosen.acs)
        names = {"loans": "Loans", "compas": "COMPAS, three classes", "adult": "Adult", "acs": "ACS Income"}
        descriptions[table] = f"{names.get(table, 'Census KDD')}: {len(X):,} rows, {X.shape[1]} columns"
        print(descriptions[table])
        results[table] = {}
        size = ("loans", "adult", "acs", "census").index("loans" if table == "compas" else table)
        pipelines = THREE_CLASSES if table == "compas" else PIPELINES
        for name, (is_native, largest, make) in pipelines.items():
            if size > largest or chosen.only not in name:
                continue
            result = results[table][name] = measure(is_native, make, X, y, who)
            if result["error"] > 1e-6 or not result["is_ready"]:
                failures.append(f"{table}, {name}")
            figures = " ".join(f"{key} {figure:g}" for key, figure in result.items() if key != "route")
            print(f"  {name:50} {figures}  {result['route']}", flush=True)
    for failure in failures:
        print(f"not as it should be: {failure}", file=sys.stderr)
    if chosen.write:
        write_page(chosen.write, descriptions, results)
    print(json.dumps({"benchmark": "pipelines", "peak_mib": round(peak_mib()), **results}))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
