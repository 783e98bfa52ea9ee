"""What it costs that two rows differ, and the order in which it is summed."""

from typing import NamedTuple

import numpy as np

from fairshap._typing import Bools, Floats, Ints

# Two one-hot vectors of different categories are sqrt(2) apart.
MISMATCH = 2.0

# The categories of a run at most, so that a byte can count them.
_COUNTABLE = 255


class Costs(NamedTuple):
    """What a difference adds to the squared distance of two rows."""

    #: shape (columns of numbers,): a squared difference of one
    weights: Floats
    #: shape (columns of numbers,): a number that one of the rows lacks
    lacking: Floats
    #: shape (columns of categories,): a category that differs
    mismatch: Floats


class Terms(NamedTuple):
    """Costs in the order in which they are summed.

    First the columns of numbers that every row has, then those with missing ones, then the categories, in
    runs of columns that cost the same: mismatches are counted within a run, and the costs of the runs summed
    by themselves. It is always the same order, because ties follow the last bit.
    """

    #: shape (columns of numbers,)
    weights: Floats
    lacking: Floats
    #: shape (runs + 1,): where the runs of categories begin
    starts: Ints
    #: shape (runs,)
    mismatch: Floats


def equal_costs(weights: Floats, n_categories: int, mismatch: float = MISMATCH) -> Costs:
    """Return costs by which every category that differs and every number that is lacking counts the same."""
    return Costs(weights, np.full(len(weights), mismatch), np.full(n_categories, mismatch))


def terms_of(costs: Costs, holes: Bools) -> tuple[Ints, Ints, Terms]:
    """Return the order of the columns of numbers, that of the categories, and the costs in these orders.

    ``holes`` says which columns of numbers may have missing ones.

    Examples
    --------
    >>> costs = Costs(np.ones(3), np.ones(3), np.array([2.0, 5.0, 2.0]))
    >>> numbers, categories, terms = terms_of(costs, np.array([False, True, False]))
    >>> numbers.tolist(), categories.tolist(), terms.starts.tolist(), terms.mismatch.tolist()
    ([0, 2, 1], [0, 2, 1], [0, 2, 3], [2.0, 5.0])
    """
    numbers = np.argsort(holes, kind="stable")
    categories = np.argsort(costs.mismatch, kind="stable")
    mismatch = costs.mismatch[categories]
    starts: list[int] = []
    for k in range(len(mismatch)):
        if not starts or mismatch[k] != mismatch[starts[-1]] or k - starts[-1] == _COUNTABLE:
            starts.append(k)
    terms = Terms(
        costs.weights[numbers],
        costs.lacking[numbers],
        np.array([*starts, len(mismatch)], dtype=np.int64),
        mismatch[starts],
    )
    return numbers, categories, terms
