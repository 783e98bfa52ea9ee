"""Attribution: what each player adds to the risk of each row."""

from fairshap.attribution._attribute import METHODS, Method, attribute, attribute_pairs
from fairshap.attribution._result import Attributions

__all__ = ["METHODS", "Attributions", "Method", "attribute", "attribute_pairs"]
