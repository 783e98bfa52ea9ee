"""Groups: the sensitive attribute and the label split the rows into strata."""

from fairshap.groups._groups import Groups, Privileged
from fairshap.groups._labels import Labels, position_of_positive, read_target
from fairshap.groups._sensitive import Setting

__all__ = ["Groups", "Labels", "Privileged", "Setting", "position_of_positive", "read_target"]
