"""Matching: a similar real row of the other group for every row."""

from fairshap.matching._diagnostics import Diagnostics
from fairshap.matching._match import Matcher, NearestMatcher, match
from fairshap.matching._plan import MatchPlan
from fairshap.matching._transport import TransportMatcher

__all__ = [
    "Diagnostics",
    "MatchPlan",
    "Matcher",
    "NearestMatcher",
    "TransportMatcher",
    "match",
]
