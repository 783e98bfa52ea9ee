"""The fold engine: what models do on rows that they were not trained on.

What the layers above import from here, whichever module it comes from:

``Evaluation``
    The one result class: ``names``, ``measures``, ``edits``, ``share``, ``raw_dr``, ``noise``, ``folds``,
    ``how``, ``noise_level``, ``is_noise``, ``frame()``, ``differences()``, ``groups(name)``, ``plot()``.
``Measures``
    All measures of all models: ``values``, ``low``, ``high``, ``names``, ``risk``, ``risk_by_fold``,
    ``changes()``, ``pair(model, measure)``, ``groups(model)``.
``MEASURES``
    The registry: a mapping of the names, in the order of the arrays, to what is known of each measure.
``Predictions``, ``judge``, ``make_folds``, ``run_trials``, ``Trial``, ``shuffled_risk``, ``warn_if_noise``
    The steps.
"""

from fairshap._crossval._folds import Folds, make_folds
from fairshap._crossval._judging import Judgement, judge
from fairshap._crossval._measured import FEW, MEASURES, Measures
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
    "Measures",
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
