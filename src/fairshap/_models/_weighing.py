"""Whether an estimator uses the weights of rows, and how it is fitted on rows of different weight if not."""

import re
import warnings
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object

from fairshap._messages import warn
from fairshap._models._fitting import fit_model, is_frozen
from fairshap._models._kinds import takes_quantities
from fairshap._typing import Floats, Ints, Native
from fairshap.exceptions import ModelError, WeightsWarning

# A trial has so many rows of each label, which leaves some for each fold of a search inside a search.
_ROWS = 30
_UNASKED = "metadata routing is on, and nothing in it asks by set_fit_request(sample_weight=True)"
# What warnings say: those of a calibration, and of a search whose scorer refuses the weights.
_UNUSED = re.compile(r"sample_weight.*(only|not) be used|failed.*sample_weight", re.DOTALL)
# How many times a row is repeated at most, for the sake of memory.
_COPIES = 100


@dataclass(frozen=True, slots=True)
class Weighing:
    """What an estimator does with the weights of rows.

    Parameters
    ----------
    name : str
        The estimator's class.
    is_taken : bool
        Whether its fit takes weights.
    is_used : bool
        Whether they reach all of its parts.
    reason : str
        Why not, in the estimator's own words.
    """

    name: str
    is_taken: bool = True
    is_used: bool = True
    reason: str = ""

    @classmethod
    def of(cls, estimator: Any, X: Native, y: NDArray[Any]) -> "Weighing":
        """Find out what an estimator does with weights.

        What it does by itself, its signature says. What has other estimators inside is fitted on a few rows,
        with weights and, if that fails, without them.
        """
        estimator = asking_for_weights(estimator.estimator if is_frozen(estimator) else estimator)
        name, last = type(estimator).__name__, _last(estimator)
        parameters = signature(last.fit).parameters
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
        if "sample_weight" not in parameters and not takes_any:
            ends = f"its last step is {type(last).__name__}" if last is not estimator else ""
            return cls(name, False, False, ends)
        is_routed = get_config()["enable_metadata_routing"]
        if is_routed and not _routing(estimator).consumes("fit", ["sample_weight"]):
            return cls(name, False, False, _UNASKED)
        # What routes metadata may refuse it for the sake of another step than the last.
        if "sample_weight" in parameters and not _has_parts(estimator if is_routed else last):
            return cls(name)
        for rows in (_few_rows(estimator, y), np.arange(len(y))):
            some, target = _safe_indexing(X, rows), y[rows]
            error, said = _try(estimator, some, target, {"sample_weight": 1 / (1 + np.arange(len(rows)) % 2)})
            if error is None:
                return cls(name, True, not said, said)
            if _try(estimator, some, target, {})[0] is None:
                return cls(name, False, False, _words(str(error)))
        # It cannot be trained at all: its own error is for the fit to raise.
        return cls(name)

    def check(self) -> None:
        """Raise an error if weights that the user gave cannot be passed on."""
        if not self.is_taken:
            raise ModelError(
                f"sample_weight is given, but {self.trouble}. Leave the weights out, or use an estimator "
                "that takes them."
            )

    def warn_of_repeats(self) -> None:
        """Warn that rows are repeated instead of weighed, if that is so."""
        if self.is_used:
            return
        warn(
            f"{self.trouble}, so that rows are repeated instead: a row without twins stands in the training "
            "table as often as another with its twins. Nearest neighbors, penalties and folds inside the "
            "estimator notice that; an estimator that takes weights does not need it.",
            WeightsWarning,
        )

    @property
    def trouble(self) -> str:
        """What is wrong, as the beginning of a sentence."""
        what = "does not pass sample_weight on to its model" if self.is_taken else "takes no sample_weight"
        return f"{self.name} {what} ({self.reason})" if self.reason else f"{self.name} {what}"


def asking_for_weights(estimator: Any) -> Any:
    """Return a clone that requests the weights where metadata is routed and nobody has said anything else.

    They are made by fairshap, so that nobody else can ask for them. As without routing, the last step of a
    pipeline gets them and its transformers do not. What else routes metadata is left to the user: a search
    has scorers too, which may or may not weigh.
    """
    estimator = clone(estimator)
    if get_config()["enable_metadata_routing"]:
        _request(_last(estimator), True)
        for part in estimator.get_params().values():
            if hasattr(part, "transform"):
                _request(part, False)
    return estimator


def fit_weighted(
    estimator: Any, X: Native, y: NDArray[Any], sample_weight: Floats | None, weighing: Weighing | None
) -> Any:
    """Return a fitted clone of the estimator; see :func:`fit_model`.

    Weights are passed on if the estimator uses them; if not, rows are repeated so that they count as much as
    they weigh. Where that is not possible, they are passed on to an estimator that at least takes them.

    Parameters
    ----------
    estimator : estimator
        What is cloned and fitted.
    X, y : data frame or array, ndarray
        The rows and their target.
    sample_weight : ndarray of float, or None
        What the rows weigh.
    weighing : Weighing, or None
        What the estimator does with weights; it is not asked for without any.
    """
    if sample_weight is None or weighing is None:
        return fit_model(estimator, X, y)
    repeats = None if weighing.is_used else repeats_of(sample_weight)
    if repeats is not None:
        rows = np.repeat(np.arange(len(y)), repeats)
        return fit_model(estimator, _safe_indexing(X, rows), y[rows])
    if not weighing.is_taken:
        raise ModelError(
            f"{weighing.trouble}, and the rows cannot be repeated as often as they would have to be instead. "
            "Use an estimator that takes weights."
        )
    return fit_model(asking_for_weights(estimator), X, y, {"sample_weight": sample_weight})


def repeats_of(weights: Floats) -> Ints | None:
    """Return how often rows are to be repeated so that they count as they weigh; None if that is too often.

    Examples
    --------
    >>> repeats_of(np.array([1.0, 0.5, 1 / 3])).tolist()
    [6, 3, 2]
    """
    if not (weights > 0).all():
        return None
    shares = weights.max() / weights
    parts = np.rint(shares)
    if not np.allclose(shares, parts, rtol=1e-9) or parts.max() > _COPIES:
        return None
    counts = parts.astype(np.int64)
    least = 1
    for count in np.unique(counts).tolist():
        least = int(np.lcm(least, count))
        if least > _COPIES:
            return None
    return np.asarray(least // counts)


def _try(estimator: Any, X: Native, y: NDArray[Any], fit_params: dict[str, Any]) -> tuple[Any, str]:
    """Fit a clone; return its error, if any, and what it said about weights that it did not use."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit_model(estimator, X, y, fit_params)
        except Exception as error:
            return error, ""
    texts = (str(one.message) for one in caught)
    return None, next((_words(text) for text in texts if _UNUSED.search(text)), "")


def _words(text: str) -> str:
    """Return the first sentence of the line of a message that is about weights, or else of the last."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    said = next((line for line in reversed(lines) if "sample_weight" in line), lines[-1])
    return said.split(". ")[0].rstrip(".")


def _few_rows(estimator: Any, y: NDArray[Any]) -> Ints:
    """Return some rows of each label, from all over the table; of a quantity, some rows."""
    codes = (
        np.zeros(len(y), np.int64) if takes_quantities(estimator) else np.unique(y, return_inverse=True)[1]
    )
    chosen = []
    for label in range(codes.max() + 1):
        rows = np.flatnonzero(codes == label)
        chosen.append(rows[np.unique(np.linspace(0, len(rows) - 1, _ROWS).astype(np.int64))])
    return np.sort(np.concatenate(chosen))


def _last(estimator: Any) -> Any:
    """Return the estimator at the end of a pipeline."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def _has_parts(estimator: Any) -> bool:
    """Say whether there are other estimators in an estimator."""
    return any(hasattr(part, "fit") for part in estimator.get_params().values())


def _routing(estimator: Any) -> Any:
    """Return which metadata an estimator requests: none if it does not say, or cannot yet."""
    try:
        return get_routing_for_object(estimator)
    except NotImplementedError:
        return get_routing_for_object(None)


def _request(estimator: Any, wanted: bool) -> None:
    """Say whether an estimator wants the weights, unless that has been said."""
    requests = getattr(getattr(_routing(estimator), "fit", None), "requests", {})
    if "sample_weight" in requests and requests["sample_weight"] is None:
        estimator.set_fit_request(sample_weight=wanted)
