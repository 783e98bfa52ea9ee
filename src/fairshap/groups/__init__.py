"""Groups: the sensitive attribute and the label split the rows into strata."""

from fairshap.groups._groups import Groups, Privileged
from fairshap.groups._labels import Labels, read_target
from fairshap.groups._sensitive import Setting, check_order
from fairshap.groups._weights import check_weights

__all__ = ["Groups", "Labels", "Privileged", "Setting", "check_order", "check_weights", "read_target"]
