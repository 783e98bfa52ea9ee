"""The model that a command is about: by name, or fitted, from a file."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from fairshap._messages import did_you_mean, import_extra, listing
from fairshap._models import ColumnEncoder, is_frozen
from fairshap.cli._options import MODELS as NAMES
from fairshap.cli._options import FoldOptions, ReportOptions, RunOptions, TaskOptions
from fairshap.cli._output import Output, check_writable, plain
from fairshap.cli._problem import CommandTable, open_problem
from fairshap.exceptions import CopiedAttributeWarning, FileError, MissingExtraError, ModelError

# Rows from which on it helps to train in several threads.
_SMALL = 100_000


def open_task(
    output: Output,
    task: TaskOptions,
    files: ReportOptions | None = None,
    on: FoldOptions | None = None,
    *,
    trains: str = "",
    needs_privileged: bool = True,
    weights: str | None = None,
) -> tuple[CommandTable, Any]:
    """Return the table and the model that a command is about, and print notes on both.

    The model is an estimator, or a fitted one from a file, frozen; then the columns and labels become those
    that it takes. Whatever can be refused before any work is refused here: files that cannot be written,
    columns that are not there, a model that does not take the table, or one from a file if the command
    ``trains`` it.
    """
    if files is not None:
        files.check()
    ledger = None if on is None else on.edits
    problem = open_problem(task, ledger, needs_privileged=needs_privileged)
    if weights is not None:
        # They are no column of the model's.
        problem.X = problem.X.drop(columns=problem.source.find(weights, "weights"), errors="ignore")
    run, path = output.run, Path(task.model)
    if files is not None:
        read = [problem.source.path, path, None if ledger is None else Path(ledger)]
        check_writable(files.written, force=files.force, sources=read)
    if out := getattr(files, "out", None):
        # A name that tells no format is an error.
        problem.source.format_for(out)
    if task.model in MODELS or not (path.suffix or path.exists()):
        if problem.is_quantity and task.model != NAMES[0]:
            raise ModelError(
                f"--model {task.model} predicts labels, and {problem.target!r} is a quantity; leave --model "
                "out, or give the file of a fitted regressor."
            )
        estimator = make_model(task.model, run, n_rows=len(problem.X))
        if problem.is_quantity:
            estimator = HistGradientBoostingRegressor(random_state=run.seed)
    else:
        _limit_threads(run, len(problem.X))
        model = load_model(path, trust_pickle=task.trust_pickle)
        fit_to_table(model, path, problem, needs_attribute=needs_privileged)
        estimator = FrozenEstimator(model)
        if trains:
            check_trainable(estimator, trains)
    told = problem.tell()
    if told:
        rows, columns = problem.X.shape
        output.note(f"{problem.source.name}: {rows:,} rows, {columns} columns beside the target", told)
    for note in problem.notes:
        output.note(note)
    if problem.has_proxies:
        output.told.append(CopiedAttributeWarning)
    return problem, estimator


def make_model(name: str, run: RunOptions, option: str = "model", *, n_rows: int) -> Any:
    """Return an estimator by its name, for a table of so many rows."""
    if name not in MODELS:
        files = f", or a file that ends in {', '.join(_READERS)}" if option == "model" else ""
        raise ModelError(
            f"--{option} {name} is not known; give one of {listing(MODELS)}{files}."
            f"{did_you_mean(name, list(MODELS))}"
        )
    _limit_threads(run, n_rows)
    return MODELS[name](run)


def _limit_threads(run: RunOptions, n_rows: int) -> None:
    """Have libraries use the threads that were asked for; by default one for a small table."""
    # More do not help there, and on busy cores threads that wait for each other take up to 100 times as long.
    limit = run.jobs or (1 if n_rows < _SMALL else None)
    if limit is not None:
        threadpool_limits(limit)


def check_trainable(
    model: Any, why: str, instead: str = "give --model the name of a kind, such as xgboost"
) -> None:
    """Raise an error that says why, if a model comes from a file and so must not be trained."""
    if is_frozen(model):
        raise ModelError(f"{why}, and a model from a file is never retrained; {instead}.")


def _xgboost(what: str = "--model xgboost", **params: Any) -> Any:
    return import_extra("xgboost", what, "xgboost").XGBClassifier(**params)


def _lightgbm(what: str = "--model lightgbm", **params: Any) -> Any:
    return import_extra("lightgbm", what, "lightgbm").LGBMClassifier(verbose=-1, **params)


def _on_numbers(model: Any) -> Any:
    """Return a model of standardized numbers, in which a missing one is the mean."""
    return make_pipeline(ColumnEncoder(), SimpleImputer(keep_empty_features=True), model)


#: The models by name.
MODELS: dict[str, Callable[[RunOptions], Any]] = {
    "hist-gradient-boosting": lambda run: HistGradientBoostingClassifier(random_state=run.seed),
    "xgboost": lambda run: _xgboost(random_state=run.seed, n_jobs=run.jobs),
    "lightgbm": lambda run: _lightgbm(random_state=run.seed, n_jobs=run.jobs),
    "random-forest": lambda run: _on_numbers(RandomForestClassifier(random_state=run.seed, n_jobs=run.jobs)),
    "logistic": lambda _: _on_numbers(LogisticRegression(max_iter=1000)),
    # Without calibration an SVM has margins only, which no threshold of a probability fits.
    "svm": lambda _: _on_numbers(CalibratedClassifierCV(SVC(), ensemble=False)),
}


# ---- fitted models from files

# Types that skops has not looked at and that do nothing when they are opened.
_TRUSTED = [
    f"fairshap._models.encoding.{name}" for name in ("ColumnEncoder", "_Category", "_Codes", "_Number")
]
_TRUSTED += ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]

# Rows that a model is tried on, to see whether it takes the table at all.
_TRIED = 5


def load_model(path: Path, *, trust_pickle: bool) -> Any:
    """Return the fitted model of a file."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise ModelError(
            f"{str(path)!r} has an ending that tells no kind of model; known ones are {', '.join(_READERS)}."
        )
    if not path.is_file():
        raise FileError(f"there is no model file {str(path)!r}.")
    if ending in _PICKLES and not trust_pickle:
        raise ModelError(
            f"{str(path)!r} is a pickle, and opening it can run any program that is in it; if you know who "
            "made it, give --trust-pickle, or save the model with skops."
        )
    try:
        return _READERS[ending](path)
    except (MissingExtraError, ModelError):
        raise
    except Exception as error:
        raise ModelError(f"{str(path)!r} holds no model that can be read: {_short(error)}") from error


def _read_xgboost(path: Path) -> Any:
    model = _xgboost(f"the model {path.name}", enable_categorical=True)
    model.load_model(path)
    return model


def _read_lightgbm(path: Path) -> Any:
    model = _lightgbm(f"the model {path.name}")
    from lightgbm import Booster

    text = path.read_text(encoding="utf-8")
    # LightGBM itself ends the whole process if a file breaks off.
    if not text.startswith("tree\n") or "\nend of trees" not in text:
        raise ModelError(f"{str(path)!r} is not a whole model that LightGBM has saved; save it again.")
    booster = Booster(model_str=text, params={"verbose": -1})
    if "objective=binary" not in booster.model_to_string(num_iteration=1):
        raise ModelError(f"{str(path)!r} is no classifier of two labels.")
    # A file holds the booster alone; these make the classifier that it came from.
    model._Booster, model.fitted_ = booster, True
    model._n_features = model._n_features_in = booster.num_feature()
    model._n_classes, model._classes = 2, np.array([0, 1])
    model._objective = "binary"
    model._le = LabelEncoder().fit([0, 1])
    return model


def _read_skops(path: Path) -> Any:
    io = import_extra("skops.io", f"the model {path.name}", "skops")
    unaudited = io.get_untrusted_types(file=path)
    strangers = [kind for kind in unaudited if kind not in _TRUSTED]
    if strangers:
        raise ModelError(
            f"{str(path)!r} holds types that skops does not trust: {listing(strangers, limit=4)}; save the "
            "model without them."
        )
    return io.load(path, trusted=unaudited)


_PICKLES = (".pkl", ".pickle", ".joblib")
_READERS: dict[str, Callable[[Path], Any]] = {
    ".json": _read_xgboost,
    ".ubj": _read_xgboost,
    ".txt": _read_lightgbm,
    ".skops": _read_skops,
    # It reads plain pickles too.
    **dict.fromkeys(_PICKLES, joblib.load),
}


def fit_to_table(model: Any, path: Path, problem: CommandTable, *, needs_attribute: bool = True) -> None:
    """Give the table the columns and the labels that a fitted model takes, or say why that cannot be."""
    the_model = f"the model {str(path)!r}"
    names = feature_names(model)
    problem.take_back(names or ())
    columns = list(problem.X.columns)
    if names is not None:
        problem.X = problem.X[_compare_columns(names, columns, the_model, problem, needs_attribute)]
    _arrange_labels(model, the_model, problem)
    try:
        model.predict(problem.X[names or columns].head(_TRIED))
    except Exception as error:
        raise ModelError(
            f"{the_model} does not take this table, which has {len(columns)} columns beside the target: "
            f"{_short(error)}"
        ) from error


def _short(error: Exception) -> str:
    """Return an error of a library in one line, without the stack that some print."""
    text = " ".join(str(error).partition("Stack trace")[0].split())
    # XGBoost begins with the time and the line of its own source.
    text = re.sub(r"^\[[0-9:]+\] \S+: ", "", text)
    return f"{type(error).__name__}: {text[:200]}"


def _compare_columns(
    names: list[str], columns: list[str], the_model: str, problem: CommandTable, needs_attribute: bool
) -> list[str]:
    """Return the columns that a model takes, and the sensitive ones, or say what does not fit."""
    absent = [column for column in names if column not in columns]
    if absent:
        raise ModelError(
            f"{the_model} was fitted with columns that the table does not have: {listing(absent)}; "
            "give the table that it was fitted on, or one of the same columns."
        )
    attributes = np.atleast_1d(problem.sensitive).tolist()
    unseen = [column for column in attributes if column not in names]
    more = [column for column in columns if column not in names and column not in unseen]
    if unseen and needs_attribute:
        raise ModelError(
            f"{the_model} does not take {listing(unseen)}, the sensitive column: what it predicts "
            "does not change with it, so that its discriminative risk is 0 and there is nothing to repair. "
            "fairshap audit says what it does to the groups."
        )
    if more:
        raise ModelError(
            f"the table has columns that {the_model} does not take: {listing(more)}; leave them out "
            f"with --drop {shlex.quote(','.join(more))}."
        )
    return [*names, *unseen]


def feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns that a model was fitted with, if it knows them."""
    if hasattr(model, "booster_"):
        names = model.booster_.feature_name()
        # LightGBM's own names for columns without one.
        return None if all(name == f"Column_{k}" for k, name in enumerate(names)) else list(names)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _arrange_labels(model: Any, the_model: str, problem: CommandTable) -> None:
    if problem.is_quantity:
        if hasattr(model, "classes_"):
            raise ModelError(
                f"{the_model} predicts labels, and the target {problem.target!r} is a quantity; name the "
                "favorable labels with --positive, or another target."
            )
        return
    if getattr(model, "classes_", None) is None or not hasattr(model, "predict"):
        raise ModelError(f"{the_model} is no fitted classifier.")
    classes = list(model.classes_)
    if set(problem.y.unique()) <= set(classes) and len(classes) == 2:
        return
    if set(classes) == {0, 1}:
        problem.y = (problem.y == problem.positive).astype(int)
        problem.notes.append(f"the model's 1 is taken for {problem.positive!r}")
        problem.positive = 1
        return
    raise ModelError(
        f"{the_model} predicts {listing(map(plain, classes))}; the target {problem.target!r} holds "
        f"{listing(map(plain, problem.y.unique()))}."
    )
