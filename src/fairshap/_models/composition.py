"""Models that are made of models: their parts, which are trees, and how the outputs of these are joined.

An average, a calibration, a vote or a stack of tree ensembles is a function of the ensembles' margins. The
margins of a coalition are sums over trees; the function is the model's own code, called on those sums.
"""

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fairshap._frames import Table
from fairshap._models.linear import LinearTable, column_terms, has_weights, link_of
from fairshap._models.probing import TOLERANCE, RankedTable, check_outputs, check_sources, rank_features
from fairshap._models.scorer import NotNativeError, Scorer, split
from fairshap._models.trees import LINKS, import_trees
from fairshap._typing import Bools, Floats, Ints

# By how much a margin that is summed in 32 bits may be off, and a probability of 32 bits.
_OFF_MARGIN, _OFF_PROBABILITY = 1e-6, 1.2e-7
# The share of outputs that may hang on such roundings.
_MOST_DOUBTFUL = 0.2

#: From the margins of all parts, shape (margins, cells), to the output of each cell: one number, or for more
#: than two classes one for each class.
Join = Callable[[Floats], Floats]


class Composition(NamedTuple):
    """The parts of a composed model, for one table, and how their margins are joined."""

    parts: list[RankedTable | LinearTable]
    join: Join
    #: Which margins are sums of 32 bits, as those of XGBoost are.
    is_single: Bools
    #: The numbers that a joined output has: one, or one for each class.
    n_outputs: int
    #: Whether the joined output may hang on their rounding, as that of a steep calibration does.
    is_steep: bool = False

    def join_in_doubt(self, margins: Floats) -> tuple[Floats, Bools]:
        """Join; say also which outputs the rounding of the margins may change by more than is tolerated."""
        with np.errstate(over="ignore"):
            # Of more than two classes, one may be sure because the others are far below 0.
            times = 1.0 + np.exp(margins) if self.n_outputs == 1 else np.cosh(margins)
        off = _OFF_MARGIN * np.maximum(1.0, np.abs(margins)) + _OFF_PROBABILITY * times
        off[~self.is_single] = 0.0
        shifted = [margins]
        for k in range(self.n_outputs):
            # The margins of one class against those of the others.
            turned = np.where(np.arange(len(margins)) % self.n_outputs == k, off.T, -off.T).T
            shifted += [margins + turned, margins - turned]
        # All at once: most of what a call takes does not depend on how many there are.
        joined = self.join(np.hstack(shifted))
        outputs, *others = joined.reshape(len(shifted), margins.shape[1], *joined.shape[1:])
        doubt = np.abs(others - outputs).max(axis=0) > TOLERANCE
        return outputs, doubt.reshape(len(doubt), -1).any(axis=1)


def compose(scorer: Scorer, table: Table) -> Composition:
    """Return the parts of a composed model, checked against the model itself.

    A NotNativeError says that a part cannot be read, that preprocessing mixes columns, or that the joined
    outputs are not the model's.
    """
    reader, name = _Reader(table), type(split(scorer.model)[1]).__name__
    sources = check_sources(table, np.arange(len(table.names)))
    try:
        join = reader.read(scorer.model, [], "score")
        margins = np.concatenate([part.margins(sources) for part in reader.parts])
        outputs = join(margins)
        read = Composition(reader.parts, join, np.array(reader.is_single), outputs[0].size)
        doubt = np.zeros(len(outputs), dtype=np.bool_)
        if scorer.has_probabilities and read.is_single.any():
            outputs, doubt = read.join_in_doubt(margins)
    except NotNativeError:
        raise
    except Exception as error:
        # What is read of a model may change with its library.
        raise NotNativeError(f"{name} cannot be read part by part ({error})") from error
    if doubt.mean() > _MOST_DOUBTFUL:
        raise NotNativeError(f"the output of {name} hangs on how its parts are rounded")
    # What hangs on a rounding is asked of the model, here as later.
    sure = np.flatnonzero(~doubt)
    check_outputs(scorer, table, [rows[sure] for rows in sources], outputs[sure], f"the parts of {name}")
    return read._replace(is_steep=bool(doubt.any()))


class _Reader:
    """Collects the parts of a model and returns how they are joined."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.parts: list[RankedTable | LinearTable] = []
        self.is_single: list[bool] = []

    def read(self, model: Any, steps: list[Any], wanted: str) -> Join:
        """Return how the model's output is found: its ``score``, or what its method ``wanted`` returns."""
        own, model = split(model)
        steps = [*steps, *own]
        kind = next((kind for kind in _READERS if isinstance(model, kind)), None)
        if kind is not None and not _is_bag_of_trees(model):
            if wanted == "decision_function":
                raise NotNativeError(
                    f"{type(model).__name__} inside another model has no margin that is read"
                )
            return _READERS[kind](self, model, steps)
        if has_weights(model):
            linear = column_terms(steps, model, self.table)
            link = "identity" if wanted == "decision_function" else link_of(model)
            return self._add(linear, len(linear.terms), link)
        ensemble = import_trees(model)
        ranked, n_margins = rank_features(steps, model, ensemble, self.table), len(ensemble.base)
        if wanted != "decision_function":
            return self._add(ranked, n_margins, ensemble.link)
        factor = ensemble.factor
        if factor is None:
            raise NotNativeError(f"the margin of {type(model).__name__} is not read")
        read = self._add(ranked, n_margins, "identity")
        return lambda margins: np.asarray(read(margins) / factor)

    def _add(self, part: RankedTable | LinearTable, n_margins: int, link: str) -> Join:
        """Add a part; return how its output is found among the margins of all."""
        self.parts.append(part)
        own = slice(len(self.is_single), len(self.is_single) + n_margins)
        self.is_single += [isinstance(part, RankedTable) and part.ensemble.is_single] * n_margins
        make = LINKS["each" if link == "identity" and n_margins > 1 else link]
        return lambda margins: make(margins[own])

    def _mean(self, model: Any, steps: list[Any]) -> Join:
        """Read a soft vote or a bag: the weighted mean of the outputs."""
        if getattr(model, "voting", "soft") != "soft":
            raise NotNativeError("its votes are hard: it has no probabilities")
        weights = getattr(model, "_weights_not_none", None)
        features = getattr(model, "estimators_features_", None)
        joins = []
        for k, inner in enumerate(model.estimators_):
            before = steps if features is None else [*steps, _Columns(features[k])]
            joins.append(self.read(inner, before, "score"))
        return lambda margins: np.average([join(margins) for join in joins], axis=0, weights=weights)

    def _calibrated(self, model: Any, steps: list[Any]) -> Join:
        joins = []
        for calibrated in model.calibrated_classifiers_:
            has_margin = hasattr(calibrated.estimator, "decision_function")
            wanted = "decision_function" if has_margin else "score"
            read = self.read(calibrated.estimator, steps, wanted)
            if len(model.classes_) == 2 and model.method in ("sigmoid", "isotonic"):
                # What the classifier does besides takes as long.
                joins.append((read, calibrated.calibrators[0].predict))
                continue
            given = copy.copy(calibrated)
            given.estimator = (_GivenMargins if has_margin else _GivenScores)(calibrated.estimator.classes_)
            joins.append((read, lambda outputs, given=given: _positive(given.predict_proba(outputs))))

        def join(margins: Floats) -> Floats:
            outputs = [calibrate(read(margins)) for read, calibrate in joins]
            return np.asarray(np.mean(outputs, axis=0, dtype=np.float64))

        return join

    def _stacked(self, model: Any, steps: list[Any]) -> Join:
        if model.passthrough:
            raise NotNativeError("it hands the table on to its final estimator (passthrough)")
        inner = [part for part in model.estimators_ if not isinstance(part, str)]
        methods = [method for method in model.stack_method_ if method != "drop"]
        joins = []
        for part, method in zip(inner, methods, strict=True):
            if method == "predict" and is_classifier(part):
                raise NotNativeError("it stacks predicted labels")
            wanted = "decision_function" if method == "decision_function" else "score"
            joins.append(self.read(part, steps, wanted))
        final = Scorer(model.final_estimator_)

        def join(margins: Floats) -> Floats:
            return final(np.column_stack([read(margins) for read in joins]))

        return join

    def _transformed(self, model: Any, steps: list[Any]) -> Join:
        read = self.read(model.regressor_, steps, "score")

        def join(margins: Floats) -> Floats:
            return np.asarray(model.transformer_.inverse_transform(read(margins)[:, None])).ravel()

        return join


def _is_bag_of_trees(model: Any) -> bool:
    trees = (DecisionTreeClassifier, DecisionTreeRegressor)
    is_bag = isinstance(model, (BaggingClassifier, BaggingRegressor))
    return is_bag and all(isinstance(tree, trees) for tree in model.estimators_)


class _Columns:
    """A step that takes some columns, as a bag does."""

    def __init__(self, columns: Ints) -> None:
        self.columns = columns

    def transform(self, X: Any) -> Any:
        """Return these columns of rows."""
        return X.iloc[:, self.columns] if hasattr(X, "iloc") else X[:, self.columns]


class _Given(ClassifierMixin, BaseEstimator):
    """A classifier that is given its own outputs: what comes after it can be called on them."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes


class _GivenMargins(_Given):
    def decision_function(self, margins: Floats) -> Floats:
        return margins


class _GivenScores(_Given):
    def predict_proba(self, scores: Floats) -> Floats:
        return np.column_stack([1 - scores, scores]) if scores.ndim == 1 else scores


def _positive(probabilities: Floats) -> Floats:
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


_READERS: dict[Any, Callable[[_Reader, Any, list[Any]], Join]] = {
    (BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor): _Reader._mean,
    CalibratedClassifierCV: _Reader._calibrated,
    (StackingClassifier, StackingRegressor): _Reader._stacked,
    TransformedTargetRegressor: _Reader._transformed,
}
