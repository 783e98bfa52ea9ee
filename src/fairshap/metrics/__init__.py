"""Metrics: how unfair a model is, to whom, and how far a repaired table moved."""

from fairshap.metrics._labels import (
    accuracy,
    balanced_accuracy,
    demographic_parity_difference,
    equal_opportunity_difference,
    equalized_odds_difference,
    false_positive_rate_difference,
    group_frame,
    mean_score_difference,
    predictive_parity_difference,
    roc_auc,
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
    "balanced_accuracy",
    "data_fidelity",
    "demographic_parity_bound",
    "demographic_parity_difference",
    "discriminative_risk",
    "equal_opportunity_difference",
    "equalized_odds_difference",
    "false_positive_rate_difference",
    "group_frame",
    "mean_score_difference",
    "predictive_parity_difference",
    "roc_auc",
    "training_adjustment_rate",
]
