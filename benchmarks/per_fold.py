"""The paper's measures of one fold: absolute gaps between the privileged rows and all others as one."""

import numpy as np

from fairshap import metrics
from fairshap.model_selection import Judgement


def measures_of(judged: Judgement, side: np.ndarray) -> np.ndarray:
    """Return accuracy, DR, DP, EO and PQP of a fold whose rows are privileged (1) or not (0)."""
    labels = (judged.true, judged.predicted)
    who = {"sensitive_features": side, "privileged": 1, "positive": True, "between": "pooled"}
    return np.array([
        metrics.accuracy(*labels),
        np.nanmean(judged.risk),
        metrics.demographic_parity(*labels, **who),
        metrics.equal_opportunity(*labels, **who),
        metrics.predictive_quality_parity(*labels, **who),
    ])  # fmt: skip
