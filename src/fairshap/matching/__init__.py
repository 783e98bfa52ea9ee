"""Matching: a similar real row of the other group for every row."""

from fairshap.matching._match import PAIRINGS, Pairing, match, match_rows
from fairshap.matching._plan import MatchPlan

__all__ = ["PAIRINGS", "MatchPlan", "Pairing", "match", "match_rows"]
