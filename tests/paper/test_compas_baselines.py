import numpy as np
import pytest
from sklearn.model_selection import KFold
from xgboost import XGBClassifier

from fairshap import datasets, metrics
from fairshap.mitigation import CorrelationRemover, MitigatedClassifier


@pytest.mark.paper
def test_correlation_removal_is_the_paper_s_only_if_transformed_rows_are_switched():
    """The paper's row: accuracy .6679, DR .0082."""
    data = datasets.load("compas", encoded=True)
    who = {"sensitive": data.sensitive, "privileged": data.privileged}
    accuracy, transformed, raw = [], [], []
    for train, test in KFold(5, shuffle=True, random_state=1).split(data.X):
        baseline = CorrelationRemover(**who, keep_sensitive=True)
        model = MitigatedClassifier(baseline, XGBClassifier()).fit(data.X.iloc[train], data.y.iloc[train])
        rows = data.X.iloc[test]
        accuracy.append(model.score(rows, data.y.iloc[test]))
        transformed.append(metrics.discriminative_risk(model.estimator_, model.prepare_rows(rows), **who))
        raw.append(metrics.discriminative_risk(model, rows, **who))
    assert np.mean(accuracy) == pytest.approx(0.6679, abs=5e-5)
    assert np.mean(transformed) == pytest.approx(0.0082, abs=5e-5)
    # Without any baseline it is .0883.
    assert np.mean(raw) == pytest.approx(0.16, abs=5e-3)
