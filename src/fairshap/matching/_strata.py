"""Which rows may be matched with which."""

from typing import NamedTuple

import numpy as np

from fairshap._problem import Groups, Labels
from fairshap._typing import Ints


class Stratum(NamedTuple):
    """The rows of one label that are matched with each other.

    ``rows`` are those of an unprivileged group, or of all of them, ``others`` the privileged ones.
    """

    rows: Ints
    others: Ints


def strata_of(groups: Groups, labels: Labels, *, each: bool) -> list[Stratum]:
    """Return the strata of a table: one for each label, or one for each label and unprivileged group."""
    group = groups.group if each else np.minimum(groups.group, 0)
    return [
        Stratum(
            np.flatnonzero((group == g) & (labels.codes == label)),
            np.flatnonzero((groups.side == 1) & (labels.codes == label)),
        )
        for label in range(len(labels.names))
        for g in range(group.max() + 1)
    ]
