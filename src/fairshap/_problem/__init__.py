"""One problem, read once: the table, its groups, its target and its weights; every step takes it."""

from fairshap._problem.groups import Comparison, Groups, Privileged, read_attribute
from fairshap._problem.problem import Problem, Whole, check_order, check_weights, warn_of_copies
from fairshap._problem.target import Target, is_continuous, read_target

__all__ = [
    "Comparison",
    "Groups",
    "Privileged",
    "Problem",
    "Target",
    "Whole",
    "check_order",
    "check_weights",
    "is_continuous",
    "read_attribute",
    "read_target",
    "warn_of_copies",
]
