"""The fold engine: what models do on rows that they were not trained on."""

from fairshap._crossval.evaluation import Evaluation
from fairshap._crossval.folds import judge, make_folds, shuffled_risk
from fairshap._crossval.measures import GAPS, MEASURES, MIN_COMPARED
from fairshap._crossval.trials import (
    THRESHOLDS,
    CrossValidation,
    Trained,
    TrainingRows,
    Trial,
    best_threshold,
    with_params,
)

__all__ = [
    "GAPS",
    "MEASURES",
    "MIN_COMPARED",
    "THRESHOLDS",
    "CrossValidation",
    "Evaluation",
    "Trained",
    "TrainingRows",
    "Trial",
    "best_threshold",
    "judge",
    "make_folds",
    "shuffled_risk",
    "with_params",
]
