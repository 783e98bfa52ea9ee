"""scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from fairshap.mitigation import (
    CorrelationRemover,
    MitigatedClassifier,
    Reweigher,
    SensitiveRemover,
)


class AboveMedian:
    """A predicate with a name that is the same in every process, as parallel test runs need."""

    def __call__(self, values):
        return values > np.median(values)

    def __repr__(self):
        return "above_median"


WHO = {"sensitive": 0, "privileged": AboveMedian()}
TRANSFORMERS = [SensitiveRemover(**WHO), CorrelationRemover(**WHO)]
CLASSIFIERS = [
    MitigatedClassifier(None, LogisticRegression()),
    MitigatedClassifier(Reweigher(**WHO), LogisticRegression()),
]


@pytest.mark.filterwarnings("ignore::fairshap.exceptions.FairshapWarning")
@parametrize_with_checks([*TRANSFORMERS, *CLASSIFIERS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
