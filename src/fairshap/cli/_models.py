"""Models by name, and from files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from fairshap._messages import did_you_mean, listing
from fairshap._models import ColumnEncoder, is_frozen
from fairshap.cli._model_files import ENDINGS, fit_to_table, load_model
from fairshap.cli._options import ModelOptions, RunOptions
from fairshap.cli._problem import Problem
from fairshap.exceptions import MissingExtraError, ModelError

# Rows from which on it helps to train in several threads.
_SMALL = 20_000


def get_model(options: ModelOptions, problem: Problem, run: RunOptions) -> Any:
    """Return the model that was asked for: an estimator, or a fitted one from a file, frozen.

    The table is put into the order of columns, and the target into the labels, that a fitted model takes.
    """
    if options.model in MODELS:
        return make_model(options.model, run, n_rows=len(problem.X))
    path = Path(options.model)
    if not path.suffix and not path.exists():
        raise _unknown("model", options.model)
    _limit_threads(run, len(problem.X))
    model = load_model(path, trust_pickle=options.trust_pickle)
    fit_to_table(model, path, problem)
    return FrozenEstimator(model)


def model_file(options: ModelOptions) -> Path | None:
    """Return the file that a model is read from, if it is not one of those known by name."""
    return None if options.model in MODELS else Path(options.model)


def make_model(name: str, run: RunOptions, option: str = "model", *, n_rows: int) -> Any:
    """Return an estimator by its name, for a table of so many rows."""
    if name not in MODELS:
        raise _unknown(option, name)
    _limit_threads(run, n_rows)
    return MODELS[name](run)


def _limit_threads(run: RunOptions, n_rows: int) -> None:
    """Have libraries use the threads that were asked for; by default one for a small table.

    There more do not help, and while others use the cores, threads that wait for each other can take a
    hundred times as long.
    """
    limit = run.jobs or (1 if n_rows < _SMALL else None)
    if limit is not None:
        threadpool_limits(limit)


def from_file(model: Any) -> bool:
    """Say whether a model comes from a file, so that it must not be trained."""
    return is_frozen(model)


def _unknown(option: str, name: str) -> ModelError:
    files = f", or a file that ends in {', '.join(ENDINGS)}" if option == "model" else ""
    return ModelError(
        f"--{option} {name} is not known; give one of {listing(MODELS)}{files}."
        f"{did_you_mean(name, list(MODELS))}"
    )


def _xgboost(run: RunOptions) -> Any:
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise MissingExtraError("--model xgboost", "xgboost", "xgboost") from error
    return XGBClassifier(random_state=run.seed, n_jobs=run.jobs)


def _lightgbm(run: RunOptions) -> Any:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as error:
        raise MissingExtraError("--model lightgbm", "lightgbm", "lightgbm") from error
    return LGBMClassifier(random_state=run.seed, n_jobs=run.jobs, verbose=-1)


def _on_numbers(model: Any) -> Any:
    """Return a model of standardised numbers, in which a missing one is the mean."""
    return make_pipeline(ColumnEncoder(), SimpleImputer(keep_empty_features=True), model)


#: The models by name; the first is the default.
MODELS: dict[str, Callable[[RunOptions], Any]] = {
    "hist-gradient-boosting": lambda run: HistGradientBoostingClassifier(random_state=run.seed),
    "xgboost": _xgboost,
    "lightgbm": _lightgbm,
    "random-forest": lambda run: _on_numbers(RandomForestClassifier(random_state=run.seed, n_jobs=run.jobs)),
    "logistic": lambda _: _on_numbers(LogisticRegression(max_iter=1000)),
    # Without calibration an SVM has margins only, which no threshold of a probability fits.
    "svm": lambda _: _on_numbers(CalibratedClassifierCV(SVC(), ensemble=False)),
}
