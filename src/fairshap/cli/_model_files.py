"""Fitted models from files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fairshap._messages import listing
from fairshap.cli._problem import Problem
from fairshap.cli._texts import plain, quote
from fairshap.exceptions import FileError, MissingExtraError, ModelError

# Types that skops has not looked at and that do nothing when they are opened.
_TRUSTED = frozenset(
    [
        "fairshap._models.encoding.ColumnEncoder",
        "fairshap._models.encoding._Category",
        "fairshap._models.encoding._Number",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    ]
)

# Rows that a model is tried on, to see whether it takes the table at all.
_TRIED = 5


def load_model(path: Path, *, trust_pickle: bool) -> Any:
    """Return the fitted model of a file."""
    ending = path.suffix.lower()
    if ending not in _READERS:
        raise ModelError(
            f"{str(path)!r} has an ending that tells no kind of model; known are {', '.join(ENDINGS)}."
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
    try:
        from xgboost import XGBClassifier
    except ImportError as error:
        raise MissingExtraError(f"the model {path.name}", "xgboost", "xgboost") from error
    model = XGBClassifier(enable_categorical=True)
    try:
        model.load_model(path)
    except TypeError as error:
        if "regressor" not in str(error):
            raise
        raise ModelError(f"{str(path)!r} is a regressor; a classifier of two labels is needed.") from error
    return model


def _read_lightgbm(path: Path) -> Any:
    try:
        from lightgbm import Booster, LGBMClassifier
    except ImportError as error:
        raise MissingExtraError(f"the model {path.name}", "lightgbm", "lightgbm") from error
    text = path.read_text(encoding="utf-8")
    # A file that breaks off would end the whole process in LightGBM's own code.
    if not text.startswith("tree\n"):
        raise ModelError(f"{str(path)!r} is not a model that LightGBM has saved.")
    if "\nend of trees" not in text:
        raise ModelError(f"{str(path)!r} breaks off before the end of its trees; save the model again.")
    booster = Booster(model_str=text, params={"verbose": -1})
    if "objective=binary" not in booster.model_to_string(num_iteration=1):
        raise ModelError(f"{str(path)!r} is no classifier of two labels.")
    # A file holds the booster alone; these make the classifier that it came from.
    model = LGBMClassifier(verbose=-1)
    model._Booster, model.fitted_ = booster, True
    model._n_features = model._n_features_in = booster.num_feature()
    model._n_classes, model._classes = 2, np.array([0, 1])
    model._objective = "binary"
    model._le = _Labels()
    return model


class _Labels:
    """Stands for the encoder of the labels 0 and 1, which are encoded already."""

    def inverse_transform(self, codes: Any) -> Any:
        return codes


def _read_skops(path: Path) -> Any:
    try:
        from skops import io
    except ImportError as error:
        raise MissingExtraError(f"the model {path.name}", "skops", "skops") from error
    unaudited = io.get_untrusted_types(file=path)
    strangers = [kind for kind in unaudited if kind not in _TRUSTED]
    if strangers:
        raise ModelError(
            f"{str(path)!r} holds types that skops does not trust: {listing(strangers, limit=4)}; save the "
            "model without them."
        )
    return io.load(path, trusted=unaudited)


def _read_pickle(path: Path) -> Any:
    import joblib

    # joblib reads plain pickles too.
    return joblib.load(path)


_PICKLES = (".pkl", ".pickle", ".joblib")
_READERS: dict[str, Callable[[Path], Any]] = {
    ".json": _read_xgboost,
    ".ubj": _read_xgboost,
    ".txt": _read_lightgbm,
    ".skops": _read_skops,
    **dict.fromkeys(_PICKLES, _read_pickle),
}
#: The endings of model files.
ENDINGS = tuple(_READERS)


def fit_to_table(model: Any, path: Path, problem: Problem) -> None:
    """Put the table and the target as a fitted model takes them, or say why that cannot be."""
    name = str(path)
    _arrange_columns(model, name, problem)
    _arrange_labels(model, name, problem)
    try:
        model.predict(problem.X.head(_TRIED))
    except Exception as error:
        raise ModelError(f"the model {name!r} does not take this table: {_short(error)}") from error


def _short(error: Exception) -> str:
    """Return an error of a library in one line, without the stack that some print."""
    text = " ".join(str(error).partition("Stack trace")[0].split())
    # XGBoost begins with the time and the line of its own source.
    text = re.sub(r"^\[[0-9:]+\] \S+: ", "", text)
    return f"{type(error).__name__}: {text[:200]}"


def _arrange_columns(model: Any, name: str, problem: Problem) -> None:
    names = _feature_names(model)
    columns = list(problem.X.columns)
    if names is None:
        takes = getattr(model, "n_features_in_", len(columns))
        if takes != len(columns):
            raise ModelError(
                f"the model {name!r} takes {takes} columns, the table has {len(columns)} beside the target: "
                f"{listing(columns)}; leave the others out with --drop."
            )
        return
    absent = [column for column in names if column not in columns]
    if absent:
        raise ModelError(
            f"the model {name!r} was fitted with columns that the table does not have: {listing(absent)}; "
            "give the table that it was fitted on, or one of the same columns."
        )
    more = [column for column in columns if column not in names]
    own = problem.sensitive if isinstance(problem.sensitive, list) else [problem.sensitive]
    unseen = [column for column in own if column in more]
    if unseen:
        raise ModelError(
            f"the model {name!r} does not take {listing(unseen)}, the sensitive column: what it predicts "
            "does not change with it, so that its discriminative risk is 0 and there is nothing to repair."
        )
    if more:
        raise ModelError(
            f"the table has columns that the model {name!r} does not take: {listing(more)}; leave them out "
            f"with --drop {quote(','.join(more))}."
        )
    problem.X = problem.X[names]


def _feature_names(model: Any) -> list[str] | None:
    """Return the names of the columns that a model was fitted with, if it knows them."""
    if hasattr(model, "booster_"):
        names = model.booster_.feature_name()
        # LightGBM's own names for columns without one.
        return None if all(name == f"Column_{k}" for k, name in enumerate(names)) else list(names)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _arrange_labels(model: Any, name: str, problem: Problem) -> None:
    if getattr(model, "classes_", None) is None or not hasattr(model, "predict"):
        raise ModelError(f"the model {name!r} is no fitted classifier.")
    classes = list(model.classes_)
    if set(problem.y.unique()) <= set(classes) and len(classes) == 2:
        return
    if set(classes) == {0, 1}:
        problem.y = (problem.y == problem.positive).astype(int)
        problem.notes.append(f"the model's 1 is taken for {problem.positive!r}")
        problem.positive = 1
        return
    raise ModelError(
        f"the model {name!r} predicts {listing(map(plain, classes))}; the target {problem.target!r} holds "
        f"{listing(map(plain, problem.y.unique()))}."
    )
