"""Edits: which cells are replaced, and the ledger that accounts for each."""

from fairshap.edits._certificate import Certificate, Evidence, certify
from fairshap.edits._constraints import REJECTIONS, EditConstraints, Rejection, make_constraints
from fairshap.edits._counterfactuals import (
    CounterfactualRows,
    Counterfactuals,
    check_counterfactuals,
    describe_counterfactuals,
    is_risk,
)
from fairshap.edits._ledger import Checksums, Edits, has_checksums
from fairshap.edits._recipe import Fit, Recipe, Repaired, Round
from fairshap.edits._selectors import (
    Budget,
    Iterative,
    OptimalSubset,
    Selector,
    Threshold,
    make_selector,
    select_edits,
)

__all__ = [
    "REJECTIONS",
    "Budget",
    "Certificate",
    "Checksums",
    "CounterfactualRows",
    "Counterfactuals",
    "EditConstraints",
    "Edits",
    "Evidence",
    "Fit",
    "Iterative",
    "OptimalSubset",
    "Recipe",
    "Rejection",
    "Repaired",
    "Round",
    "Selector",
    "Threshold",
    "certify",
    "check_counterfactuals",
    "describe_counterfactuals",
    "has_checksums",
    "is_risk",
    "make_constraints",
    "make_selector",
    "select_edits",
]
