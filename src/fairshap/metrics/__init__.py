"""Metrics: how unfair a model is, to whom, and how much of the table was changed."""

from fairshap.metrics._data import Fidelity, data_fidelity, training_adjustment_rate
from fairshap.metrics._groups import (
    accuracy,
    demographic_parity,
    equal_opportunity,
    group_table,
    predictive_quality_parity,
    score_demographic_parity,
)
from fairshap.metrics._risk import ParityBound, demographic_parity_bound, discriminative_risk

__all__ = [
    "Fidelity",
    "ParityBound",
    "accuracy",
    "data_fidelity",
    "demographic_parity",
    "demographic_parity_bound",
    "discriminative_risk",
    "equal_opportunity",
    "group_table",
    "predictive_quality_parity",
    "score_demographic_parity",
    "training_adjustment_rate",
]
