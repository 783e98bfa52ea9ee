"""The nearest rows of the other group."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fairshap._kernels.distance import is_large, nearest_both_ways
from fairshap.exceptions import InputError
from fairshap.matching._matcher import Found, Matcher
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum


class Nearest(Matcher):
    """Match every row with its nearest rows of the other group and the same label, exactly.

    The squared distance of two rows is the sum of the squared differences of their numbers plus 2 for
    each category that differs (what it costs in one-hot space) and for each number that one
    of them lacks. In a frame, numbers are standardised first; in an array they count as given.
    The sensitive attribute takes no part. Ties go to the lowest row.

    Parameters
    ----------
    k : int, default=1
        How many references a row has, each of weight 1/k. If fewer rows qualify, all of them are.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"sex": ["m", "f", "f", "m", "f"], "age": [30, 31, 33, 50, 52]})
    >>> plan = Nearest(k=2).match(X, [0, 0, 0, 1, 1], sensitive="sex", privileged="m")
    >>> plan.reference[plan.row == 0].tolist()
    [1, 2]
    """

    def __init__(self, k: int = 1) -> None:
        self.k = k

    def check(self) -> None:
        """Raise an error unless k is a number of references."""
        _check_k(self.k)

    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the nearest rows, in both directions."""
        numbers, codes = space.numbers, space.codes
        compiled = is_large([(len(rows), len(others)) for rows, others in strata], space.width)
        parts = []
        for a, b in strata:
            to_b, squared_a, to_a, squared_b = nearest_both_ways(
                numbers[a],
                codes[a],
                numbers[b],
                codes[b],
                space.costs,
                k=int(self.k),
                compiled=compiled,
                n_threads=n_threads,
                advance=advance,
            )
            for rows, others, nearest, squared in ((a, b, to_b, squared_a), (b, a, to_a, squared_b)):
                found = nearest.shape[1]
                weight = np.full(nearest.size, 1.0 / max(found, 1))
                parts.append(Found(np.repeat(rows, found), others[nearest].ravel(), weight, squared.ravel()))
        return Found.together(parts)


def _check_k(k: Any) -> None:
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(
            f"k={k!r} is not a number of references; give a whole number from 1 on, such as k=1 for the "
            "nearest row alone."
        )
