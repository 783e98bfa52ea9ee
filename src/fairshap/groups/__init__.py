"""Groups: the sensitive attribute and the label split the rows into strata."""

from fairshap.groups._copies import warn_of_copies
from fairshap.groups._groups import COMPARISONS, Comparison, Groups, Privileged
from fairshap.groups._hiding import Hiding
from fairshap.groups._labels import Labels, is_continuous, read_target
from fairshap.groups._sensitive import Setting, check_order
from fairshap.groups._twins import Twins
from fairshap.groups._values import quantities, read_attribute, split_quantity
from fairshap.groups._weights import check_weights

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
