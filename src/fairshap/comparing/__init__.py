"""Comparing: FairSHAP and what people would use instead, on the same folds."""

from fairshap.comparing._comparison import Comparison
from fairshap.comparing._evaluate import evaluate
from fairshap.comparing._fitted import evaluate_fitted
from fairshap.comparing._methods import METHODS, make_method

__all__ = ["METHODS", "Comparison", "evaluate", "evaluate_fitted", "make_method"]
