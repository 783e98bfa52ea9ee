"""Optimal transport between the groups: which pairs, which solver, and what a plan says of each row."""

from fairshap.matching._transport._transport import Transport

__all__ = ["Transport"]
