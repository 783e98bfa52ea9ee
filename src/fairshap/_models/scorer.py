"""A fitted model as the numbers that risk is measured on, and the risk."""

import copy
import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from threadpoolctl import ThreadpoolController

from fairshap._frames import Table
from fairshap._messages import listing, warn
from fairshap._problem import Groups, Problem
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import FairshapError, MarginWarning, ModelError

# The cells of the table, raw or encoded, for one call of the model: 8 Mi numbers are 64 MiB.
CALL_CELLS = 1 << 23
# The rows that the spread of the outputs is taken from.
_UNIT_ROWS = 1000
# Cells up to which histogram gradient boosting works in one thread.
_ONE_THREAD = 1 << 18
# What a model's methods have to return for n rows.
_WANTED = {
    "predict": "a regressor of one target returns ({n},). Consult one for each target.",
    "predict_proba": "a classifier returns a column for each class, ({n}, 2) for two.",
    "decision_function": "a classifier with two classes returns ({n},). For more classes probabilities are "
    "needed: wrap it in sklearn.calibration.CalibratedClassifierCV.",
}


class NotNativeError(FairshapError):
    """The model's trees or weights cannot be read; the text says why, and the model is called instead."""


class MisreadError(NotNativeError):
    """The model was read, but the reading gives another output than the model does."""


class MixedColumnsError(NotNativeError):
    """The preprocessing makes features of several columns, which it names set by set."""

    def __init__(self, sets: list[list[Hashable]]) -> None:
        named = "; ".join(listing(columns) for columns in sets)
        super().__init__(f"its preprocessing makes a feature of several columns together ({named})")
        self.sets = sets


def takes_quantities(estimator: Any) -> bool | None:
    """Say whether an estimator is a regressor; None if it does not tell."""
    if hasattr(estimator, "__sklearn_tags__"):
        kind = get_tags(estimator).estimator_type
    else:
        # What estimators said before scikit-learn had tags, and some still do.
        kind = getattr(estimator, "_estimator_type", None)
    return {"regressor": True, "classifier": False}.get(kind)


def copy_estimator(estimator: Any) -> Any:
    """Return a clone, or a copy of what scikit-learn cannot clone, such as CatBoost with ``cat_features``."""
    try:
        return clone(estimator)
    except (RuntimeError, TypeError) as refusal:
        try:
            return copy.deepcopy(estimator)
        except Exception as error:
            raise ModelError(
                f"{type(estimator).__name__} can be neither cloned ({refusal}) nor copied ({error}). Give an "
                "estimator whose constructor keeps its parameters as they are given."
            ) from error


class Relabelled(ClassifierMixin, BaseEstimator):
    """A classifier, such as XGBoost's, fitted on the labels' numbers, from 0 on, that predicts the labels."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Native, y: NDArray[Any], **fit_params: Any) -> "Relabelled":
        """Fit the classifier on 0 for the first label, 1 for the second and so on."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.inner_ = copy_estimator(self.estimator).fit(X, codes, **fit_params)
        return self

    @property
    def n_features_in_(self) -> int:
        """The number of columns that it takes."""
        return int(self.inner_.n_features_in_)

    def predict(self, X: Native) -> NDArray[Any]:
        """Return the predicted label of each row."""
        return np.asarray(self.classes_[np.asarray(self.inner_.predict(X)).astype(np.int64)])

    @available_if(lambda self: hasattr(self.inner_, "predict_proba"))
    def predict_proba(self, X: Native) -> Floats:
        """Return the probabilities of the labels for each row."""
        return np.asarray(self.inner_.predict_proba(X))

    @available_if(lambda self: hasattr(self.inner_, "decision_function"))
    def decision_function(self, X: Native) -> Floats:
        """Return the margin of each row."""
        return np.asarray(self.inner_.decision_function(X))


def few_threads(estimator: Any, cells: int) -> AbstractContextManager[Any]:
    """Have histogram gradient boosting, the default, work on few cells in one thread.

    More save tenths of a second there. On busy cores they wait for each other, up to 40 times as long.
    """
    kinds = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    if cells > _ONE_THREAD or not isinstance(split(estimator)[1], kinds):
        return nullcontext()
    return cast("AbstractContextManager[Any]", _controller().limit(limits=1, user_api="openmp"))


@cache
def _controller() -> ThreadpoolController:
    # Made once: it looks at every library that is loaded.
    return ThreadpoolController()


def split(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers before the estimator itself, and that, whatever it is wrapped in."""
    transformers = []
    while True:
        if isinstance(model, Pipeline):
            transformers += [step for _, step in model.steps[:-1] if _is_at_work(step)]
            model = model[-1]
            continue
        # What is handed on as it is: a search, a threshold, what is frozen or has its labels renamed.
        kinds = [kind.__name__ for kind in type(model).__mro__]
        name = next((_INSIDE[kind] for kind in kinds if kind in _INSIDE), None)
        if name is None or not hasattr(model, name):
            return transformers, model
        model = getattr(model, name)


def _is_at_work(step: Any) -> bool:
    """Say whether a step of a pipeline does something to rows to predict; what resamples rows does not."""
    return step not in (None, "passthrough") and (
        hasattr(step, "transform") or not hasattr(step, "fit_resample")
    )


#: Where an estimator that only wraps another keeps it.
_INSIDE = {
    "FrozenEstimator": "estimator",
    "Relabelled": "inner_",
    "BaseSearchCV": "best_estimator_",
    "BaseThresholdClassifier": "estimator_",
}


class Scorer:
    """What risk is measured on: probabilities, a margin if there are none, or a regressor's prediction.

    For two classes it is the probability of the second; the risk of either class is the same. For more
    classes it is the probability of each.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.is_regressor = takes_quantities(model) is True
        self.has_probabilities = not self.is_regressor and hasattr(model, "predict_proba")
        self.method = "predict_proba" if self.has_probabilities else "decision_function"
        if self.is_regressor:
            self.method = "predict"
        if self.method != "decision_function":
            return
        if not hasattr(model, "decision_function"):
            raise ModelError(
                f"{_name(model)} has neither predict_proba nor decision_function, so it cannot be "
                "asked how its output changes. Use a classifier with probabilities, or wrap it in "
                "sklearn.calibration.CalibratedClassifierCV. (A regressor of your own says that it is one by "
                "inheriting from sklearn.base.RegressorMixin and BaseEstimator.)"
            )
        warn(
            f"{_name(model)} has no predict_proba: its decision_function is used, and the "
            "discriminative risk, the attributions and the threshold are in units of that margin, "
            "not of a probability.",
            MarginWarning,
        )

    @property
    def width(self) -> int:
        """How many features the estimator itself sees, as far as it says: more than columns if encoded."""
        return int(getattr(split(self.model)[1], "n_features_in_", 0))

    @property
    def n_classes(self) -> int:
        """How many classes the model tells apart, as far as it says; 0 for a regressor."""
        return 0 if self.is_regressor else len(getattr(self.model, "classes_", ()))

    def __call__(self, X: Native) -> Floats:
        """Return one number for each row of X, or for more than two classes one for each class."""
        name = f"{_name(self.model)}.{self.method}"
        try:
            with told_of_categories(self.model), few_threads(self.model, X.shape[0] * X.shape[1]):
                output = np.asarray(getattr(self.model, self.method)(X), dtype=np.float64)
        except NotFittedError as error:
            raise ModelError(
                f"{_name(self.model)} is not fitted. Fit it first, or give it to FairSHAP, which does."
            ) from error
        n = X.shape[0]
        if not self.has_probabilities:
            is_right = output.shape in {(n,), (n, 1)}
        elif is_right := output.ndim == 2 and len(output) == n and output.shape[1] > 1:
            is_right = self.n_classes in (0, output.shape[1])
        if not is_right:
            wanted = _WANTED[self.method].format(n=n)
            raise ModelError(f"{name} returned an array of shape {output.shape} for {n} rows; {wanted}")
        if not self.has_probabilities:
            scores = output.reshape(n)
        else:
            scores = output[:, 1] if output.shape[1] == 2 else output
        if not np.isfinite(scores).all():
            infinite = int((~np.isfinite(scores)).reshape(n, -1).any(axis=1).sum())
            raise ModelError(f"{name} returned NaN or infinite values for {infinite} of {n} rows.")
        return scores

    def unit(self, outputs: Floats) -> Floats | np.float64:
        """Return the unit in which outputs are compared, to check a reading of the model or to find ties.

        For probabilities it is 1, for margins their size from 1 on, for a regressor the spread of its outputs
        and a millionth of their size. Outputs of 32 bits, such as XGBoost's, have a hundred times that
        spread: sums of many are not more exact.
        """
        size = np.abs(outputs)
        if not self.is_regressor:
            return np.maximum(1.0, size)
        is_single = bool((outputs == outputs.astype(np.float32)).all())
        return np.float64(np.ptp(outputs) * (100.0 if is_single else 1.0) + size.max() * 1e-6)


@contextmanager
def told_of_categories(model: Any) -> Iterator[None]:
    """Say what to do if an encoder of the model meets a category that it was not fitted with."""
    try:
        yield
    except ValueError as error:
        if not re.search(r"unknown categor|previously unseen labels", str(error), re.IGNORECASE):
            raise
        raise ModelError(
            f"an encoder before {_name(model)} met a category that its training rows lack ({error}). A rare "
            "category can be in the held-out rows of a fold alone. Give OneHotEncoder "
            "handle_unknown='ignore' (OrdinalEncoder: 'use_encoded_value'), or put fairshap.ColumnEncoder() "
            "in its place.",
            parameter="estimator",
        ) from error


def _name(model: Any) -> str:
    return type(split(model)[1]).__name__


class Risk:
    """How much a model's output changes, for rows of a table, when only the sensitive attribute does.

    Where the problem's groups compare no values, it is the output itself.
    """

    def __init__(self, scorer: Scorer, problem: Problem, unit: float | None = None) -> None:
        self.scorer = scorer
        self.problem = problem
        if unit is not None:
            # That of a larger table, of which these rows are a part.
            self.unit = unit
        #: How many rows the model is asked about at a time, for all values of the attribute.
        width = max(len(problem.table.names), scorer.width, scorer.n_classes)
        self.call_rows = max(1, CALL_CELLS // (width * problem.groups.donors.shape[1]))

    def of_scores(self) -> "Risk":
        """Return what takes the score of a row for its risk, in place of what the attribute changes in it."""
        if self.scorer.n_classes > 2:
            raise ModelError(
                f"{_name(self.scorer.model)} tells {self.scorer.n_classes} classes apart, and the gap game "
                "explains one score: the probability of the positive label, or a prediction. Use "
                "game='risk', or a model of two classes."
            )
        # What was found out about the model, such as its encoding, is kept.
        scores = copy.copy(self)
        scores.problem = self.problem.of_scores
        return scores

    @cached_property
    def unit(self) -> float:
        """What differences of outputs are measured in: 1 for probabilities, else :meth:`Scorer.unit`.

        It comes from the model's own outputs, and so is the same by every route.
        """
        if self.scorer.has_probabilities:
            return 1.0
        table = self.problem.table
        outputs = self.scorer(rows_of(table, spread(table.n_rows, _UNIT_ROWS)))
        # Outputs that are all 0 have neither size nor spread.
        return float(np.max(self.scorer.unit(outputs))) or 1.0

    def on(self, problem: Problem) -> "Risk":
        """Return the same risk on another table."""
        return Risk(self.scorer, problem, self.__dict__.get("unit"))

    def of_rows(self, rows: Ints) -> Floats:
        """Return the risk of rows as they stand in the table."""
        parts = np.split(rows, range(self.call_rows, len(rows), self.call_rows))
        n_columns = len(self.problem.table.names)
        return np.concatenate([self.of_mixes([part] * n_columns, part) for part in parts])

    def of_mixes(self, sources: Sequence[Ints], owners: Ints) -> Floats:
        """Return the risk of rows whose column j has the cells of the rows ``sources[j]``.

        The largest or the mean ``|f(x, A=a) - f(x, A=b)|`` over the values a, b that the group of the
        ``owners`` is compared by.
        """
        return risk_of_scores(self.problem.groups, self.switched_scores(sources, owners))

    def switched_scores(self, sources: Sequence[Ints], owners: Ints) -> Floats:
        """Return the scores of such rows for each value of the attribute, shape (values, rows, ...)."""
        mixed, shape = self.switched(sources, owners)
        scores = self.score(mixed)
        return scores.reshape(*shape, *scores.shape[1:])

    def switched(self, sources: Sequence[Ints], owners: Ints) -> tuple[list[Ints], tuple[int, ...]]:
        """Return where the cells of such rows come from for each value of the attribute in turn."""
        donors = self.problem.groups.donors[owners].T
        mixed = [np.tile(rows, len(donors)) for rows in sources]
        for column in self.problem.columns:
            mixed[column] = donors.ravel()
        return mixed, donors.shape

    def score(self, sources: Sequence[Ints]) -> Floats:
        """Return the scores of rows whose column j has the cells of the rows ``sources[j]``."""
        table, scorer = self._encoded
        return scorer(table.mix(sources))

    @cached_property
    def _encoded(self) -> tuple[Any, Scorer]:
        """What rows are mixed from, and what scores them: behind fairshap's own encoding the model alone."""
        # Not at the top: it is made of what stands here.
        from fairshap._models.encoding import EncodedTable

        steps, model = split(self.scorer.model)
        encoded = EncodedTable.of(steps, self.problem.table)
        if encoded is None:
            return self.problem.table.store, self.scorer
        # The same scorer, warned of already.
        inner = copy.copy(self.scorer)
        inner.model = model
        return encoded, inner


def risk_of_scores(groups: Groups, scores: Sequence[Floats] | Floats) -> Floats:
    """Return the risk of rows from their scores for each value of the attribute.

    A score is one number a row, or one for each class, whose gap is the total variation: half the sum. Where
    no values are compared, it is the score itself.
    """
    if not groups.contrasts:
        return np.asarray(scores[0])
    risk = np.zeros(len(scores[0]))
    for a, b in groups.contrasts:
        gap = np.abs(scores[a] - scores[b])
        if gap.ndim > 1:
            gap = gap.sum(axis=1) / 2
        risk = risk + gap / len(groups.contrasts) if groups.is_mean else np.maximum(risk, gap)
    return risk


def sees_attribute(model: Any, problem: Problem) -> bool:
    """Say whether a fitted model takes the sensitive attribute, as far as it tells."""
    return not problem.added or getattr(model, "n_features_in_", None) != len(problem.own.names)


def rows_of(table: Table, rows: Ints) -> Native:
    """Return some rows of a table as the user gave it."""
    return table.store.mix([rows] * len(table.names))


def spread(n: int, most: int) -> Ints:
    """Return the numbers below n, or if they are more than that as many of them from all over."""
    return np.linspace(0, n - 1, min(most, n)).astype(np.int64)
