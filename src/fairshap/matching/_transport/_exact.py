"""Exact transport between two sides, by POT's network simplex."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from fairshap._typing import Floats
from fairshap.exceptions import MissingExtraError, NotConvergedError
from fairshap.matching._transport._joint import Joint
from fairshap.matching._transport._pairs import Pairs

_OPTIMAL, _OUT_OF_ITERATIONS = 1, 3
# How far the two ends of an optimal plan may be apart, by rounding, as a share of its cost.
_ROUNDING = 1e-6


class Optimum(NamedTuple):
    """An optimal plan and its dual: what a unit of mass is worth at each row of either side."""

    joint: Joint
    row_value: Floats
    other_value: Floats


def load_pot() -> Any:
    """Return POT, which is loaded only here: it takes seconds, and longer beside torch or JAX."""
    try:
        import ot
    except ImportError as error:
        raise MissingExtraError("exact or sliced transport", "POT", "transport") from error
    return ot


def solve_exactly(pairs: Pairs, max_iter: int) -> Optimum:
    """Return the plan of lowest cost that uses these pairs.

    A row has as much mass as the other side has rows, so that all masses are whole numbers and
    equal ones are equal to the last bit.
    """
    n, m = pairs.shape
    cost: Any = pairs.cost
    if len(pairs) == n * m:
        cost = cost.reshape(n, m)
    else:
        cost = sp.coo_array((cost, (pairs.row, pairs.other)), shape=(n, m))
    with warnings.catch_warnings():
        # What it warns of is asked for below.
        warnings.simplefilter("ignore")
        mass, log = load_pot().emd(
            np.full(n, float(m)), np.full(m, float(n)), cost, numItermax=max_iter, log=True
        )
    _check_solved(log, pairs, max_iter)
    mass = sp.csr_array(mass)
    mass.sort_indices()
    mean = float(log["cost"]) / (n * m)
    gap = (mean - _lowest(pairs, log["v"])) / mean if mean > 0 else 0.0
    error = float(np.abs(mass.sum(axis=1) - m).sum() + np.abs(mass.sum(axis=0) - n).sum()) / (n * m)
    if max(gap, error) > _ROUNDING:
        raise NotConvergedError(
            f"the network simplex returned a plan for {n} x {m} rows that is not optimal: its cost may be "
            f"{gap:.2g} of itself too high, and {error:.2g} of the mass is missing. Scale the columns of X "
            "to similar sizes, or use Transport('sinkhorn')."
        )
    return Optimum(Joint(mass, mean, error, max(gap, 0.0), 1), log["u"], log["v"])


def _lowest(pairs: Pairs, value: Floats) -> float:
    """Return what no plan over these pairs can cost less than, by a dual."""
    reduced = np.minimum.reduceat(pairs.cost - value[pairs.other], pairs.start[:-1])
    return float(reduced.mean() + value.mean())


def _check_solved(log: dict[str, Any], pairs: Pairs, max_iter: int) -> None:
    code = log["result_code"]
    if code == _OPTIMAL:
        return
    n, m = pairs.shape
    if code == _OUT_OF_ITERATIONS:
        raise NotConvergedError(
            f"the network simplex has not moved all mass between {n} x {m} rows after max_iter={max_iter} "
            "steps; a plan that is not finished is no plan. Raise max_iter, or leave it out."
        )
    raise NotConvergedError(
        f"the network simplex found no plan for {n} x {m} rows over {len(pairs)} pairs: {log['warning']}"
    )
