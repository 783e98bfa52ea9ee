"""Repair: from what a model says about a table to the table that is trained on instead."""

from fairshap.repair._consultation import Consultation
from fairshap.repair._recipe import AUGMENTS, Augment, Recipe, Repaired, Round, describe_twins, is_risk

__all__ = [
    "AUGMENTS",
    "Augment",
    "Consultation",
    "Recipe",
    "Repaired",
    "Round",
    "describe_twins",
    "is_risk",
]
