"""Groups: the sensitive attribute and the label split the rows into strata."""

from fairshap._problem._copies import warn_of_copies
from fairshap._problem._groups import COMPARISONS, Comparison, Groups, Privileged
from fairshap._problem._hiding import Hiding
from fairshap._problem._labels import Labels, is_continuous, read_target
from fairshap._problem._sensitive import Setting, check_order
from fairshap._problem._twins import Twins
from fairshap._problem._values import quantities, read_attribute, split_quantity
from fairshap._problem._weights import check_weights

__all__ = [
    "COMPARISONS",
    "Comparison",
    "Groups",
    "Hiding",
    "Labels",
    "Privileged",
    "Setting",
    "Twins",
    "check_order",
    "check_weights",
    "is_continuous",
    "quantities",
    "read_attribute",
    "read_target",
    "split_quantity",
    "warn_of_copies",
]
