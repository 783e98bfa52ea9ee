"""Metrics: how unfair a model is, to whom, and how far a repaired table moved."""

from fairshap.metrics._labels import (
    accuracy,
    demographic_parity_difference,
    equal_opportunity_difference,
    group_frame,
    mean_score_difference,
    predictive_parity_difference,
)
from fairshap.metrics._tables import (
    Fidelity,
    ParityBound,
    data_fidelity,
    demographic_parity_bound,
    discriminative_risk,
    training_adjustment_rate,
)

__all__ = [
    "Fidelity",
    "ParityBound",
    "accuracy",
    "data_fidelity",
    "demographic_parity_bound",
    "demographic_parity_difference",
    "discriminative_risk",
    "equal_opportunity_difference",
    "group_frame",
    "mean_score_difference",
    "predictive_parity_difference",
    "training_adjustment_rate",
]
