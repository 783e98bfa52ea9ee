"""Comparing: FairSHAP and what people would use instead, on the same folds."""

from fairshap.model_selection._comparison import Comparison
from fairshap.model_selection._evaluate import evaluate
from fairshap.model_selection._fitted import evaluate_fitted
from fairshap.model_selection._methods import METHODS, make_method

__all__ = ["METHODS", "Comparison", "evaluate", "evaluate_fitted", "make_method"]
