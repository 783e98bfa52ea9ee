"""The paper's bound on the gap in mean scores between two groups."""

from typing import Any

import numpy as np
import pandas as pd

from fairshap import metrics


def parity_bound(model: Any, X: pd.DataFrame, sensitive: Any, privileged: Any) -> dict[str, float]:
    """Return the two sides of the bound for a classifier of two classes and two values of the attribute.

    ``|E[f(x, 0) | D0] - E[f(x, 1) | D1]| <= min(DR(D0), DR(D1)) + TV(D0, D1)``. It holds exactly for the rows
    at hand, with the plug-in estimate of the total variation: half the sum of the absolute differences
    between the frequencies of whole rows, without the attribute. If few rows are equal, that is close to 1
    (0.7 to 1 on the paper's tables), and the bound says little; from 1 on it says nothing.
    """
    is_privileged = (X[sensitive] == privileged).to_numpy()
    risks = metrics.discriminative_risk(model, X, sensitive=sensitive, privileged=privileged, reduce=None)
    scores = model.predict_proba(X)[:, 1]
    kind, _ = pd.factorize(pd.util.hash_pandas_object(X.drop(columns=sensitive), index=False))
    sides = (is_privileged, ~is_privileged)
    one, other = (np.bincount(kind[side], minlength=kind.max() + 1) / side.sum() for side in sides)
    variation = float(np.abs(one - other).sum() / 2)
    return {
        "score_parity": abs(float(np.subtract(*(scores[side].mean() for side in sides)))),
        "total_variation": variation,
        "bound": min(float(risks[side].mean()) for side in sides) + variation,
    }
