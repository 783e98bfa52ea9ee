"""A fitted model as one number a row."""

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from fairshap._messages import warn
from fairshap._typing import Floats, Native
from fairshap.exceptions import MarginWarning, ModelError


class Scorer:
    """The model's probability of its second class, or its margin if it has no probabilities.

    Which of two classes makes no difference to risk: their probabilities change by the same amount.

    Parameters
    ----------
    model : object
        A fitted classifier with ``predict_proba`` or ``decision_function``.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.has_probabilities = hasattr(model, "predict_proba")
        if not self.has_probabilities:
            if not hasattr(model, "decision_function"):
                raise ModelError(
                    f"{_name(model)} has neither predict_proba nor decision_function, so it cannot be "
                    "asked how its output changes. Use a classifier with probabilities, or wrap it in "
                    "sklearn.calibration.CalibratedClassifierCV."
                )
            warn(
                f"{_name(model)} has no predict_proba: its decision_function is used, and the "
                "discriminative risk, the attributions and the threshold are in units of that margin, "
                "not of a probability.",
                MarginWarning,
            )

    @property
    def width(self) -> int:
        """How many features the classifier itself sees, as far as it says: more than columns if encoded."""
        return int(getattr(_classifier(self.model), "n_features_in_", 0))

    def __call__(self, X: Native) -> Floats:
        """Return one number for each row of X."""
        method = "predict_proba" if self.has_probabilities else "decision_function"
        try:
            output = np.asarray(getattr(self.model, method)(X), dtype=np.float64)
        except NotFittedError as error:
            raise ModelError(
                f"{_name(self.model)} is not fitted. Fit it first, or give it to FairSHAP, which does."
            ) from error
        n = X.num_rows if hasattr(X, "num_rows") else len(X)
        if self.has_probabilities and output.shape == (n, 2):
            scores = output[:, 1]
        elif not self.has_probabilities and output.shape in {(n,), (n, 1)}:
            scores = output.reshape(n)
        else:
            wanted = f"({n}, 2)" if self.has_probabilities else f"({n},)"
            raise ModelError(
                f"{_name(self.model)}.{method} returned an array of shape {output.shape} for {n} rows; "
                f"a classifier with two classes returns {wanted}."
            )
        if not np.isfinite(scores).all():
            raise ModelError(
                f"{_name(self.model)}.{method} returned NaN or infinite values for "
                f"{int((~np.isfinite(scores)).sum())} of {n} rows."
            )
        return scores


def _name(model: Any) -> str:
    return type(_classifier(model)).__name__


def _classifier(model: Any) -> Any:
    """Return the classifier itself, behind what freezes it and what comes before it."""
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    return model.steps[-1][1] if isinstance(model, Pipeline) else model
