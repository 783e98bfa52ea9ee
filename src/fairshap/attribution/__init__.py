"""Attribution: what each player adds to the risk of each row."""

from fairshap.attribution._attribute import attribute, attribute_pairs
from fairshap.attribution._best import best_players, risk_when_replaced
from fairshap.attribution._options import METHODS, Method, Options, check_threshold
from fairshap.attribution._replay import replay
from fairshap.attribution._result import Attributions

__all__ = [
    "METHODS",
    "Attributions",
    "Method",
    "Options",
    "attribute",
    "attribute_pairs",
    "best_players",
    "check_threshold",
    "replay",
    "risk_when_replaced",
]
