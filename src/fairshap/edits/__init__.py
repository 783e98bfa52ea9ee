"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._constraints import EditConstraints
from fairshap.edits._ledger import Edits
from fairshap.edits._selectors import Budget, Iterative, OptimalSubset, Selector, Threshold, select_edits

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
