"""Evaluation: what a repair does to a model, on rows that it was not trained on."""

from fairshap.evaluation._judging import (
    MEASURES,
    Judgement,
    intervals_of,
    judge,
    means_over_folds,
    measures_of,
    resample,
)
from fairshap.evaluation._trials import Consultant, Outcome, Trial, folds_of, run_trials, warn_of_skipped
from fairshap.evaluation._tuning import OBJECTIVES, Objective, Table, check_objective, describe_objective

__all__ = [
    "OBJECTIVES",
    "MEASURES",
    "Consultant",
    "Judgement",
    "Objective",
    "Outcome",
    "Table",
    "Trial",
    "check_objective",
    "describe_objective",
    "folds_of",
    "intervals_of",
    "judge",
    "means_over_folds",
    "measures_of",
    "resample",
    "run_trials",
    "warn_of_skipped",
]
