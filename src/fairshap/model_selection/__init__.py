"""Evaluation: what a repair does to a model, on rows that it was not trained on."""

from fairshap.model_selection._folds import Folds, make_folds
from fairshap.model_selection._judging import Judgement, judge
from fairshap.model_selection._measured import FEW, MEASURES, Measured
from fairshap.model_selection._noise import SHUFFLES, is_within_noise, shuffled_risk, warn_if_noise
from fairshap.model_selection._trials import (
    Consultant,
    Outcome,
    Trial,
    Tried,
    quiet_about_references,
    run_trials,
    warn_of_skipped,
)
from fairshap.model_selection._tuning import OBJECTIVES, Objective, Table, check_objective, describe_objective

__all__ = [
    "FEW",
    "MEASURES",
    "OBJECTIVES",
    "SHUFFLES",
    "Consultant",
    "Folds",
    "Judgement",
    "Measured",
    "Objective",
    "Outcome",
    "Table",
    "Trial",
    "Tried",
    "check_objective",
    "describe_objective",
    "is_within_noise",
    "judge",
    "make_folds",
    "quiet_about_references",
    "run_trials",
    "shuffled_risk",
    "warn_if_noise",
    "warn_of_skipped",
]
