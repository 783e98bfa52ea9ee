"""Attribution: what each feature adds to the discriminative risk of each row."""

from fairshap.attribution._explain import explain, explain_again, explain_matched
from fairshap.attribution._explainer import (
    METHODS,
    Explainer,
    Method,
    Options,
    check_threshold,
    make_explainer,
)
from fairshap.attribution._explanation import Explanation, default_threshold
from fairshap.attribution._subsets import best_players, replay, risk_when_replaced

__all__ = [
    "METHODS",
    "Explainer",
    "Explanation",
    "Method",
    "Options",
    "best_players",
    "check_threshold",
    "default_threshold",
    "explain",
    "explain_again",
    "explain_matched",
    "make_explainer",
    "replay",
    "risk_when_replaced",
]
