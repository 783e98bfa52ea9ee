"""One table that all baselines are tried on, and each baseline with the parameters that it needs."""

import numpy as np
import pandas as pd

from fairshap import datasets
from fairshap.mitigation import (
    CorrelationRemover,
    CounterfactualAugmenter,
    Reweigher,
    SensitiveRemover,
)

D = datasets.make_biased(300, random_state=0)
#: The same with more skill in group a, so that there is a correlation to remove.
SHIFTED = D.X.assign(skill=D.X["skill"] + 3 * (D.X["group"] == "a"))
WHO = {"sensitive": "group", "privileged": "a"}
TRANSFORMERS = [SensitiveRemover, CorrelationRemover]
SAMPLERS = [CounterfactualAugmenter]
ALL = [*TRANSFORMERS, *SAMPLERS, Reweigher]


def make(kind, **params):
    """Return a baseline for the table above."""
    return kind(**{**WHO, **params})


def encoded():
    """Return the table as an array of numbers; column 0 is the group, 1 is privileged."""
    frame = pd.get_dummies(D.X[["district", "colour"]]).assign(skill=D.X["skill"], commute=D.X["commute"])
    frame.insert(0, "group", D.X["group"] == "a")
    return frame.to_numpy(np.float64)
