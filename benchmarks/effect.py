"""What each remedy does on ten tables: performance, gaps between groups, and treatment, paired over folds.

Raw columns, categories as categories. Five outer folds, stratified by label and group; every method is fitted
on a training fold alone and measured once on the held-out rows. Nothing is chosen by these rows: methods,
their parameters and the limits are fixed here, and `tune` sees training folds only. Every setting, model,
seed, fold and method is a line of a file, and a run that was interrupted goes on where it stopped. The most
useful lines come first: XGBoost before the others, one fit before many, the first fold of all tables before
the second.

    python benchmarks/effect.py --out effect.jsonl [--benchmark-data FOLDER] [--jobs 2] [--models xgboost]
        [--settings german:sex,adult:sex] [--methods "drop the column,tune"] [--only plain,peers] [--folds 2]
        [--seeds 3]
    python benchmarks/effect.py --out effect.jsonl --show [--markdown docs/effect.md]

A line that holds an error is not measured again unless it is deleted. ACS Income and bank are read from the
folder of `--benchmark-data` (acs_income.parquet, bank.parquet); without it they are left out. error-parity is
left out where it is not installed.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial, wraps
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from fairshap import EditConstraints, Explainer, FairSHAP, FairSHAPClassifier, datasets
from fairshap.mitigation import (
    CounterfactualAugmenter,
    MitigatedClassifier,
    ParityWeigher,
    ProxyCorrection,
    ReductionClassifier,
    Reweigher,
    SensitiveRemover,
    SoftLabeler,
    ThresholdClassifier,
)
from fairshap.model_selection import evaluate_fitted, tune

#: The paper's settings, then those of the folder of `--benchmark-data`.
SETTINGS = (
    "german:sex", "compas:sex", "compas:race", "adult:sex", "adult:race", "credit:SEX", "census_kdd:sex",
    "acs_income:SEX", "acs_income:RAC1P", "bank:age",
)  # fmt: skip
#: Larger tables are sampled to so many rows, with this seed.
MOST_ROWS, SAMPLE_SEED = 40_000, 0
#: No other page has folds of these seeds.
FIRST_SEED = 2101
N_FOLDS = 5
#: What is recorded of each model on the held-out rows.
MEASURES = (
    "accuracy", "balanced_accuracy", "auc", "ap", "brier", "log_loss",
    "dr", "flips", "dp", "eo", "eodds",
)  # fmt: skip
#: The axes of the curves, and the gaps at which accuracy is told.
AXES, GAPS = ("dp", "eo", "eodds", "flips"), (0.01, 0.02, 0.05, 0.10)

MODELS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: XGBClassifier(n_jobs=1, enable_categorical=True),
    "lightgbm": lambda: LGBMClassifier(n_jobs=1, verbose=-1),
    "logistic regression": lambda: LogisticRegression(max_iter=1000),
}
BASELINE, CONSTANT, DROPPED = "baseline", "constant", "drop the column"
REWEIGHING, SQUARED = "reweighing + dropped", "reweighing squared + dropped"
PAPER, DEFAULT, TUNED = "FairSHAP as in the paper", "FairSHAPClassifier as it comes", "tune"
DIRECTED, EDITS_BLIND, DIRECTED_BLIND = "directed edits", "edits (blind)", "directed edits (blind)"
GRID, PROXY, WITHIN = "GridSearch (DP)", "ProxyCorrection", "thresholds (DP within .10)"


class Given(NamedTuple):
    """What a method is made from: the unfitted model, who is privileged, and a seed."""

    model: Any
    who: dict[str, Any]
    seed: int

    @property
    def seeded(self) -> dict[str, Any]:
        """Who is privileged, and the seed."""
        return {**self.who, "random_state": self.seed}


class Method(NamedTuple):
    """How a model is made, which methods it goes with (`--only`), and about how many fits it takes."""

    make: Callable[[Given], Any]
    kind: str
    fits: float
    needs_attribute: bool = False


def _after(method: Callable[..., Any], **params: Any) -> Callable[[Given], Any]:
    """Return the model after a mitigation."""
    return lambda given: MitigatedClassifier(method(**given.who), given.model, **params)


def _edited(repair: Callable[[Given], FairSHAP], is_blind: bool) -> Callable[[Given], Any]:
    """Return the model after a repair, with the sensitive column or without, and without weights."""
    return lambda given: FairSHAPClassifier(repair(given), given.model, weights=None, drop_sensitive=is_blind)


def _repair(direction: str | None, game: str = "risk") -> Callable[[Given], FairSHAP]:
    """Return FairSHAP at the paper's threshold: all edits, or those that narrow the gap."""
    return lambda given: FairSHAP(
        given.model, **given.seeded, threshold=0.05, explainer=Explainer(game=game),
        constraints=EditConstraints(direction=direction), n_jobs=1,
    )  # fmt: skip


def _thresholds(constraint: str, **params: Any) -> Callable[[Given], Any]:
    return lambda given: ThresholdClassifier(given.model, **given.seeded, constraint=constraint, **params)


def _reduced(method: str) -> Callable[[Given], Any]:
    return lambda given: ReductionClassifier(given.model, **given.seeded, method=method)


def _paper(given: Given) -> FairSHAP:
    return FairSHAP.paper(given.model, **given.seeded, n_jobs=1)


def _as_it_comes(given: Given) -> Any:
    return FairSHAPClassifier(FairSHAP(given.model, **given.seeded, n_jobs=1))


def _labeled(strengths: dict[str, float] | None) -> Callable[[Given], Any]:
    """Return the model of soft labels; of strength 0 they are the model's own, out of fold."""
    return lambda given: MitigatedClassifier(
        SoftLabeler(given.model, **given.seeded, strengths=strengths), given.model, drop_sensitive=True
    )


def _weighed(given: Given) -> Any:
    weigher = ParityWeigher(given.model, **given.seeded)
    return MitigatedClassifier(weigher, given.model, drop_sensitive=True)


METHODS: dict[str, Method] = {
    BASELINE: Method(lambda given: MitigatedClassifier(None, given.model), "plain", 1, True),
    CONSTANT: Method(lambda _: DummyClassifier(strategy="most_frequent"), "plain", 0),
    DROPPED: Method(_after(SensitiveRemover), "plain", 1),
    REWEIGHING: Method(_after(Reweigher, drop_sensitive=True), "plain", 1),
    SQUARED: Method(_after(partial(Reweigher, strength=2), drop_sensitive=True), "plain", 1),
    "counterfactual rows": Method(_after(CounterfactualAugmenter), "plain", 2, True),
    PAPER: Method(_edited(_paper, is_blind=False), "fairshap", 2.5, True),
    DEFAULT: Method(_as_it_comes, "fairshap", 12, True),
    DIRECTED: Method(_edited(_repair("parity"), is_blind=False), "fairshap", 2.5, True),
    EDITS_BLIND: Method(_edited(_repair(None), is_blind=True), "fairshap", 2.5),
    DIRECTED_BLIND: Method(_edited(_repair("parity"), is_blind=True), "fairshap", 2.5),
    "gap-directed edits (blind)": Method(_edited(_repair("parity", "gap"), is_blind=True), "fairshap", 2.5),
    "ParityWeigher + dropped": Method(_weighed, "fairshap", 7),
    PROXY: Method(lambda given: ProxyCorrection(given.model, **given.seeded), "fairshap", 8),
    "ProxyCorrection (strengths 0)": Method(
        lambda given: ProxyCorrection(given.model, **given.seeded, strengths={}), "fairshap", 8
    ),
    "SoftLabeler + dropped": Method(_labeled(None), "fairshap", 7),
    "self-distillation": Method(_labeled({}), "fairshap", 7),
    "ThresholdOptimizer (DP)": Method(_thresholds("demographic_parity"), "peers", 6, True),
    "ThresholdOptimizer (TPR)": Method(_thresholds("equal_opportunity"), "peers", 6, True),
    WITHIN: Method(_thresholds("demographic_parity", tol=0.1), "peers", 6, True),
    "error-parity (TPR)": Method(_thresholds("equal_opportunity", method="error_parity"), "peers", 6, True),
    "ExponentiatedGradient (DP)": Method(_reduced("exponentiated_gradient"), "reductions", 26),
    GRID: Method(_reduced("grid_search"), "reductions", 10),
    TUNED: Method(lambda given: given.model, "tune", 1000),
}
KINDS = ("plain", "fairshap", "peers", "reductions", "tune")


class Data(NamedTuple):
    """A table, its labels (1 is positive) and who is privileged."""

    X: pd.DataFrame
    y: np.ndarray
    who: dict[str, Any]
    n_whole: int


@cache
def load(setting: str, folder: Path | None) -> Data:
    """Return the table of a setting, sampled if it is large."""
    name, sensitive = setting.split(":")
    if name in ("acs_income", "bank"):
        assert folder is not None
        frame = pd.read_parquet(folder / f"{name}.parquet")
        target = "PINCP" if name == "acs_income" else "y"
        y = (frame.pop(target).astype(str) == ("1" if name == "acs_income" else "yes")).to_numpy()
        if name == "acs_income":
            codes = [column for column in frame.columns if column not in ("AGEP", "WKHP")]
            frame = frame.astype(dict.fromkeys(codes, "str"))
        privileged = pd.Interval(25, 60, closed="both") if name == "bank" else "0"
        X = frame
    else:
        d = datasets.load(name, sensitive=sensitive)
        X, y, privileged = d.X, d.y.to_numpy() == 1, d.privileged
    n_whole = len(X)
    if n_whole > MOST_ROWS:
        rows = np.sort(np.random.default_rng(SAMPLE_SEED).permutation(n_whole)[:MOST_ROWS])
        X, y = X.iloc[rows], y[rows]
    X = X.reset_index(drop=True)
    words = [column for column in X.columns if not pd.api.types.is_numeric_dtype(X[column].dtype)]
    X = X.astype(dict.fromkeys(words, "category"))
    for column in words:
        X[column] = X[column].cat.remove_unused_categories()
    return Data(X, y.astype(np.int64), {"sensitive": sensitive, "privileged": privileged}, n_whole)


def side_of(data: Data) -> np.ndarray:
    """Return which rows are privileged."""
    values, privileged = data.X[data.who["sensitive"]], data.who["privileged"]
    if isinstance(privileged, pd.Interval):
        return values.between(privileged.left, privileged.right).to_numpy()
    return (values == privileged).to_numpy()


def fold_of(data: Data, seed: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test rows of a fold, stratified by label and group."""
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    return list(splitter.split(data.X, 2 * data.y + side_of(data)))[fold]


class Task(NamedTuple):
    """One line to be measured."""

    setting: str
    model: str
    seed: int
    fold: int
    method: str


@cache
def count_calls() -> dict[str, int]:
    """Return a counter of the fits of all models in this process."""
    counter = {"fits": 0}
    for kind in (XGBClassifier, LGBMClassifier, LogisticRegression):
        own = kind.fit

        @wraps(own)
        def fit(self: Any, *args: Any, own: Any = own, **params: Any) -> Any:
            fitted = own(self, *args, **params)
            # Not before: one that refuses the raw table is fitted behind an encoder.
            counter["fits"] += 1
            return fitted

        kind.fit = fit
    return counter


def measure(task: Task, folder: Path | None) -> list[dict[str, Any]]:
    """Return the lines of a task: one, and for `tune` also those of its curves."""
    data, method, counter = load(task.setting, folder), METHODS[task.method], count_calls()
    train, test = fold_of(data, task.seed, task.fold)
    X, y, held = data.X.iloc[train], data.y[train], (data.X.iloc[test], data.y[test])
    start, before = time.process_time(), counter["fits"]
    line: dict[str, Any] = task._asdict()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        try:
            if task.method == TUNED:
                return measure_tuned(task, data, X, y, held)
            model = method.make(Given(MODELS[task.model](), data.who, task.seed)).fit(X, y)
            line |= {"fits": counter["fits"] - before, "seconds": round(time.process_time() - start, 2)}
            return [line | judged(model, held, data.who, method.needs_attribute)]
        except Exception as error:
            return [{**line, "error": f"{type(error).__name__}: {error}"[:300]}]


def judged(model: Any, held: Any, who: dict[str, Any], needs_attribute: bool) -> dict[str, Any]:
    """Return the measures of a model on held-out rows, and how many cells were edited for it."""
    row = evaluate_fitted(model, *held, **who, positive=1).frame().iloc[0]
    found = {name: round(float(row[name]), 6) for name in MEASURES}
    edits = len(model.repair_.edits_) if hasattr(model, "repair_") else 0
    # As it comes, FairSHAPClassifier says itself whether it drops the column.
    needs_attribute = needs_attribute and not getattr(model, "drop_sensitive", False)
    return {**found, "edits": edits, "attribute": needs_attribute}


def measure_tuned(task: Task, data: Data, X: Any, y: Any, held: Any) -> list[dict[str, Any]]:
    """Return what `tune` picks without the attribute, and the points of its curves, on held-out rows."""
    counter = count_calls()
    start, before = time.process_time(), counter["fits"]
    tuning = tune(
        X, y, MODELS[task.model](), **data.who, positive=1, minimize="demographic_parity",
        max_accuracy_drop=0.01, attribute_at_prediction=False, random_state=task.seed,
    )  # fmt: skip
    model = tuning.estimator.fit(X, y)
    line = task._asdict() | {"picked": tuning.recommended, "fits": counter["fits"] - before}
    line |= {"seconds": round(time.process_time() - start, 2)}
    points = tuning.curve(X, y, *held, at=GAPS, axes=AXES).frame()
    return [line | judged(model, held, data.who, False)] + [
        {
            **task._asdict(),
            "point": [point["axis"], point["at"]],
            "picked": point["name"],
            **{name: round(float(point[name]), 6) for name in MEASURES},
        }
        for point in points.to_dict("records")
    ]


def plan(options: argparse.Namespace, done: set[Task]) -> list[Task]:
    """Return what is still to be measured, the most useful first."""
    settings = [one for one in options.settings if options.benchmark_data or not _is_outside(one)]
    methods = [name for name in options.methods if METHODS[name].kind in options.only]
    if find_spec("error_parity") is None:
        methods = [name for name in methods if not name.startswith("error-parity")]
    tasks = [
        Task(setting, model, FIRST_SEED + seed, fold, method)
        for seed in range(options.seeds)
        for model in options.models
        for kind in KINDS
        for fold in range(options.folds)
        for setting in settings
        for method in methods
        if METHODS[method].kind == kind
        # A constant does not depend on the model.
        and (method != CONSTANT or model == options.models[0])
    ]
    return [task for task in tasks if task not in done]


def _is_outside(setting: str) -> bool:
    return setting.split(":")[0] in ("acs_income", "bank")


def estimate(tasks: list[Task], folder: Path | None, jobs: int) -> float:
    """Return about how many seconds the tasks take: by one fit on a small and one on a large table."""
    total, by_model = 0.0, {}
    for model in {task.model for task in tasks}:
        points = []
        for setting in ("german:sex", "adult:sex"):
            data = load(setting, folder)
            own = MitigatedClassifier(None, MODELS[model]())
            start = time.perf_counter()
            own.fit(data.X, data.y)
            points.append((data.X.size, time.perf_counter() - start))
        (few, quick), (many, slow) = points
        by_model[model] = (quick, max(0.0, slow - quick) / (many - few), few)
    for task in tasks:
        base, slope, few = by_model[task.model]
        cells = load(task.setting, folder).X.size * (1 - 1 / N_FOLDS)
        total += METHODS[task.method].fits * (base + slope * max(0.0, cells - few))
    return total / jobs


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file; the last may have been cut off."""
    lines = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def run(tasks: list[Task], options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines of each task as it is done."""
    folder = options.benchmark_data
    if options.jobs == 1:
        yield from (measure(task, folder) for task in tasks)
        return
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        waiting = [pool.submit(measure, task, folder) for task in tasks]
        try:
            yield from (done.result() for done in as_completed(waiting))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def main() -> None:
    """Measure what is missing, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = lambda text: [part.strip() for part in text.split(",")]  # noqa: E731
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmark-data", type=Path)
    parser.add_argument("--settings", type=names, default=list(SETTINGS))
    parser.add_argument("--models", type=names, default=list(MODELS))
    parser.add_argument("--methods", type=names, default=list(METHODS))
    parser.add_argument("--only", type=names, default=list(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--folds", type=int, default=N_FOLDS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    for chosen, known in ((options.methods, METHODS), (options.models, MODELS), (options.only, KINDS),
                          (options.settings, SETTINGS)):  # fmt: skip
        unknown = [name for name in chosen if name not in known]
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    lines = read(options.out)
    if options.show:
        from effect_page import write

        write(lines, options.markdown)
        return
    done = {Task(*(line[name] for name in Task._fields)) for line in lines if line.get("point") is None}
    tasks = plan(options, done)
    minutes = estimate(tasks, options.benchmark_data, options.jobs) / 60 if tasks else 0
    print(f"{len(tasks)} to measure, {len(done)} done; about {minutes:.0f} minutes", flush=True)
    with options.out.open("a") as file:
        for found in run(tasks, options):
            file.write("".join(json.dumps(line) + "\n" for line in found))
            file.flush()
            line = found[0]
            print(*(line[name] for name in Task._fields), line.get("error", line.get("seconds")), flush=True)


if __name__ == "__main__":
    main()
