"""One problem, read once: the table, its groups, its target and its weights; every step takes it."""

from fairshap._problem.copies import warn_of_copies
from fairshap._problem.groups import (
    COMPARISONS,
    Comparison,
    Groups,
    Privileged,
    quantities,
    read_attribute,
    split_quantity,
)
from fairshap._problem.problem import Hiding, Problem, check_order, check_weights
from fairshap._problem.target import Target, is_continuous, read_target

__all__ = [
    "COMPARISONS",
    "Comparison",
    "Groups",
    "Hiding",
    "Target",
    "Privileged",
    "Problem",
    "check_order",
    "check_weights",
    "is_continuous",
    "quantities",
    "read_attribute",
    "read_target",
    "split_quantity",
    "warn_of_copies",
]
