"""A fitted model as the numbers that risk is measured on."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from fairshap._messages import warn
from fairshap._typing import Floats, Native
from fairshap.exceptions import FairshapError, MarginWarning, ModelError


class NotNativeError(FairshapError):
    """The model's trees or weights cannot be read; the text says why, and the model is called instead."""


def takes_quantities(estimator: Any) -> bool | None:
    """Say whether an estimator is a regressor; None if it does not tell.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> takes_quantities(Ridge()), takes_quantities(LogisticRegression()), takes_quantities(object())
    (True, False, None)
    """
    if hasattr(estimator, "__sklearn_tags__"):
        kind = get_tags(estimator).estimator_type
    else:
        # What estimators said before scikit-learn had tags, and some still do.
        kind = getattr(estimator, "_estimator_type", None)
    return {"regressor": True, "classifier": False}.get(kind)


class Scorer:
    """What risk is measured on: probabilities, a margin if there are none, or a regressor's prediction.

    For two classes it is the probability of the second; the risk of either class is the same. For more
    classes it is the probability of each.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.is_regressor = takes_quantities(model) is True
        self.has_probabilities = not self.is_regressor and hasattr(model, "predict_proba")
        if self.is_regressor or self.has_probabilities:
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
        return int(getattr(_estimator(self.model), "n_features_in_", 0))

    @property
    def n_classes(self) -> int:
        """How many classes the model tells apart, as far as it says; 0 for a regressor."""
        return 0 if self.is_regressor else len(getattr(self.model, "classes_", ()))

    def __call__(self, X: Native) -> Floats:
        """Return one number for each row of X, or for more than two classes one for each class."""
        method = "predict_proba" if self.has_probabilities else "decision_function"
        method = "predict" if self.is_regressor else method
        try:
            output = np.asarray(getattr(self.model, method)(X), dtype=np.float64)
        except NotFittedError as error:
            raise ModelError(
                f"{_name(self.model)} is not fitted. Fit it first, or give it to FairSHAP, which does."
            ) from error
        n = X.num_rows if hasattr(X, "num_rows") else len(X)
        scores = self._scores(output, n)
        if scores is None:
            raise ModelError(
                f"{_name(self.model)}.{method} returned an array of shape {output.shape} for {n} rows; "
                f"{self._wanted(n)}"
            )
        if not np.isfinite(scores).all():
            raise ModelError(
                f"{_name(self.model)}.{method} returned NaN or infinite values for "
                f"{int((~np.isfinite(scores)).reshape(n, -1).any(axis=1).sum())} of {n} rows."
            )
        return scores

    def _scores(self, output: Floats, n: int) -> Floats | None:
        """Return the output in the shape that it should have, None if it cannot have it."""
        if not self.has_probabilities:
            return output.reshape(n) if output.shape in {(n,), (n, 1)} else None
        if output.ndim != 2 or output.shape[0] != n or output.shape[1] < 2:
            return None
        if self.n_classes not in (0, output.shape[1]):
            return None
        return output[:, 1] if output.shape[1] == 2 else output

    def _wanted(self, n: int) -> str:
        if self.is_regressor:
            return f"a regressor of one target returns ({n},). Consult one for each target."
        if self.has_probabilities:
            return f"a classifier returns a column for each class, ({n}, 2) for two."
        return (
            f"a classifier with two classes returns ({n},). For more classes probabilities are needed: wrap "
            "it in sklearn.calibration.CalibratedClassifierCV."
        )

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


def _name(model: Any) -> str:
    return type(_estimator(model)).__name__


def _estimator(model: Any) -> Any:
    """Return the estimator itself, behind what freezes it and what comes before it."""
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    return model.steps[-1][1] if isinstance(model, Pipeline) else model
