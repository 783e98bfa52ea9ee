"""Matching: a similar real row of the other group for every row."""

from fairshap.matching._diagnostics import Diagnostics
from fairshap.matching._match import PAIRINGS, Matching, Pairing, match, match_rows
from fairshap.matching._nearest import Nearest
from fairshap.matching._plan import MatchPlan
from fairshap.matching._transport import Transport

__all__ = [
    "PAIRINGS",
    "Diagnostics",
    "MatchPlan",
    "Matching",
    "Nearest",
    "Pairing",
    "Transport",
    "match",
    "match_rows",
]
