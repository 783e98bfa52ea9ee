"""The fold engine: what models do on rows that they were not trained on."""

from fairshap._crossval.evaluation import Evaluation, Measures, is_within_noise, warn_if_noise
from fairshap._crossval.folds import Folds, Predictions, judge, make_folds, shuffled_risk, strata_of
from fairshap._crossval.measures import GAPS, MEASURES, MIN_COMPARED, Measure, critical_value
from fairshap._crossval.objective import (
    OBJECTIVES,
    Objective,
    Ranking,
    check_objective,
    describe_objective,
)
from fairshap._crossval.trials import (
    THRESHOLDS,
    CrossValidation,
    Trained,
    Trial,
    best_threshold,
    check_two_labels,
    check_unfitted,
    draw_seed,
    said_once,
    warn_of_skipped,
    with_params,
)

__all__ = [
    "GAPS",
    "MEASURES",
    "MIN_COMPARED",
    "OBJECTIVES",
    "THRESHOLDS",
    "CrossValidation",
    "Evaluation",
    "Folds",
    "Measure",
    "Measures",
    "Objective",
    "Predictions",
    "Ranking",
    "Trained",
    "Trial",
    "best_threshold",
    "check_objective",
    "check_two_labels",
    "check_unfitted",
    "critical_value",
    "describe_objective",
    "draw_seed",
    "is_within_noise",
    "judge",
    "make_folds",
    "said_once",
    "shuffled_risk",
    "strata_of",
    "warn_if_noise",
    "warn_of_skipped",
    "with_params",
]
