"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._ledger import Edits
from fairshap.edits._recipe import select_edits
from fairshap.edits._selectors import Budget, EditConstraints, Iterative, OptimalSubset, Selector, Threshold

__all__ = [
    "Budget",
    "EditConstraints",
    "Edits",
    "Iterative",
    "OptimalSubset",
    "Selector",
    "Threshold",
    "select_edits",
]
