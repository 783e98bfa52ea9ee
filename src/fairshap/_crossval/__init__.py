"""Evaluation: what a repair does to a model, on rows that it was not trained on."""

from fairshap._crossval._folds import Folds, make_folds
from fairshap._crossval._judging import Judgement, judge
from fairshap._crossval._measured import FEW, MEASURES, Measured
from fairshap._crossval._noise import SHUFFLES, is_within_noise, shuffled_risk, warn_if_noise
from fairshap._crossval._trials import (
    Consultant,
    Outcome,
    Trial,
    Tried,
    quiet_about_references,
    run_trials,
    warn_of_skipped,
)
from fairshap._crossval._tuning import OBJECTIVES, Objective, Table, check_objective, describe_objective

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
