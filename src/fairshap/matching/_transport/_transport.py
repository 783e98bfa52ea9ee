"""Optimal transport between the groups."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from fairshap._messages import did_you_mean, listing
from fairshap._typing import Floats
from fairshap.exceptions import InputError
from fairshap.matching._matcher import Found, Matcher
from fairshap.matching._space import Space
from fairshap.matching._strata import Stratum
from fairshap.matching._transport._entropic import solve_entropically
from fairshap.matching._transport._exact import load_pot, solve_exactly
from fairshap.matching._transport._joint import Joint, both_ways
from fairshap.matching._transport._memory import check_room
from fairshap.matching._transport._pairs import Pairs, Problem
from fairshap.matching._transport._pricing import solve_growing
from fairshap.matching._transport._proposals import N_SLICINGS, nearby_pairs, sliced_pairs

SOLVERS = ("emd", "sinkhorn", "sliced")
COSTS = ("squared", "distance")

# What a pair takes at the peak, POT's own arrays included, with all pairs and with some.
_BYTES, _SPARSE_BYTES = 48, 250
_MAX_ITER = {"emd": 10**9, "sinkhorn": 10_000, "sliced": 10**9}


class Transport(Matcher):
    """Match by optimal transport: all of one group is moved onto the other, at the lowest total cost.

    Within each label both sides have the same mass, spread evenly over their rows, and the plan says how
    much of it goes from each row to each row of the other side. A row's references are those that its mass
    goes to, or comes from, with the conditional probabilities P(. | row) as weights: the game is the mean
    over them, and edits take the heaviest (of equal ones the lowest row), as in the paper. Unlike the nearest
    row, no row becomes the reference of very many.

    Parameters
    ----------
    solver : {"emd", "sinkhorn", "sliced"}, default="emd"
        "emd" is the exact plan (network simplex), in which most rows have one to three references.
        "sinkhorn" spreads each row's mass over more of them, by entropic regularisation. "sliced" is
        the best plan over pairs that random slicings of the rows propose: the least time and memory.
    cost : {"squared", "distance"}, default="squared"
        What moving mass costs: the squared distance, as in the published code, or the distance. It is that of
        :class:`Nearest`.
    regularisation : float, default=0.02
        Of "sinkhorn": the strength of the entropy, in units of the mean cost of all pairs of the stratum (for
        "distance", of the root of the mean squared distance), so that it means the same for any table.
        Towards 0 the plan becomes that of "emd".
    neighbours : int, optional
        Of "emd" and "sinkhorn": use only the pairs of each row with its so many nearest rows, in both
        directions, and those of three slicings, without which there may be no plan. "emd" then adds pairs
        until the cost is within ``tolerance`` of the lowest over all pairs; "sinkhorn" stays with them. By
        default all pairs are used, which takes memory for each, and is refused if there is not enough.
    n_slicings : int, default=20
        Of "sliced": how many times the rows are sliced. More propose more pairs.
    keep : float, default=0.99
        The share of each row's mass that is kept: its largest masses, until they reach it. They are
        then scaled to sum to 1.
    max_iter : int, optional
        The steps of the solver: by default 10,000 scalings of "sinkhorn", and as many steps of the simplex
        as it takes.
    tolerance : float, default=1e-3
        When to stop. "emd" with ``neighbours``: how far the cost may be over the lowest, as a share.
        "sinkhorn": the share of the mass that may be at the wrong rows. The others are exact.
    random_state : int, RandomState instance or None, default=None
        Determines the slicings.

    Notes
    -----
    "emd" and "sliced" need POT: ``pip install 'fairshap[transport]'``. To a slicing, whether a number is
    missing is a coordinate of its own, as it is in the distance.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.matching import Nearest
    >>> X = pd.DataFrame({"sex": ["m", "m", "f", "f", "m", "f"], "age": [30, 34, 35, 39, 60, 60]})
    >>> who = {"sensitive": "sex", "privileged": "m"}
    >>> Transport("emd").match(X, [0, 0, 0, 0, 1, 1], **who).best.tolist()
    [2, 3, 0, 1, 5, 4]
    >>> Nearest().match(X, [0, 0, 0, 0, 1, 1], **who).best.tolist()
    [2, 2, 1, 1, 5, 4]
    """

    def __init__(
        self,
        solver: Literal["emd", "sinkhorn", "sliced"] = "emd",
        *,
        cost: Literal["squared", "distance"] = "squared",
        regularisation: float = 0.02,
        neighbours: int | None = None,
        n_slicings: int = 20,
        keep: float = 0.99,
        max_iter: int | None = None,
        tolerance: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.solver = solver
        self.cost = cost
        self.regularisation = regularisation
        self.neighbours = neighbours
        self.n_slicings = n_slicings
        self.keep = keep
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state

    def check(self) -> None:
        """Raise an error unless the parameters make sense and what they need is installed."""
        for name, known in (("solver", SOLVERS), ("cost", COSTS)):
            value = getattr(self, name)
            if value not in known:
                raise InputError(
                    f"{name}={value!r} is not known; give one of {listing(known)}."
                    f"{did_you_mean(value, known)}"
                )
        _check_number("regularisation", self.regularisation, 1e-9, np.inf, "emd is its limit at 0")
        _check_number("keep", self.keep, 1e-9, 1.0, "it is the share of each row's mass that is kept")
        _check_number("tolerance", self.tolerance, 0.0, 1.0, "it is a share")
        for name in ("neighbours", "max_iter"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name))
        _check_count("n_slicings", self.n_slicings)
        if self.solver == "sliced" and self.neighbours is not None:
            raise InputError(
                f"solver='sliced' takes its pairs from slicings, not from neighbours={self.neighbours!r}; "
                "give n_slicings, or solver='emd' or 'sinkhorn' with neighbours."
            )
        if self.solver != "sinkhorn":
            load_pot()

    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the references of all strata, in both directions."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        problems = [Problem(space, stratum, self.cost == "squared") for stratum in strata]
        problems = [problem for problem in problems if min(problem.shape)]
        for problem in problems:
            self._check_room(problem)
        nothing = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
        parts, joints, kept = [Found(*nothing)], [], []
        for position, problem in enumerate(problems):
            rng = np.random.default_rng((seed, position))
            joint = self._solve(problem, rng, n_threads)
            found, shares = both_ways(problem, joint, float(self.keep))
            parts.append(found)
            joints.append(joint)
            kept.append(shares)
            advance(sum(problem.shape))
        pairs = Found.together(parts)
        notes = self._notes(problems, joints, kept) if joints else {}
        return Found(pairs.row, pairs.reference, pairs.weight, pairs.squared, notes=notes)

    def _check_room(self, problem: Problem) -> None:
        """Refuse what would not fit, before any of it is taken."""
        n, m = problem.shape
        n_pairs = self._n_pairs(n, m)
        is_dense = n_pairs == n * m
        if is_dense and self.solver != "sliced":
            instead = (
                f"Use Transport({self.solver!r}, neighbours=50) or Transport('sliced'), whose plans are "
                "sparse, or matching='nearest'."
            )
        else:
            instead = "Use fewer neighbours or n_slicings, or matching='nearest'."
        check_room(
            n_pairs * (_BYTES if is_dense else _SPARSE_BYTES),
            f"matching {n:,} x {m:,} rows by {self.solver!r} over {'all' if is_dense else 'some'} pairs",
            instead,
        )

    def _n_pairs(self, n: int, m: int) -> int:
        """Return how many pairs there will be to start with, at most."""
        if self.solver == "sliced":
            return min(n * m, int(self.n_slicings) * (n + m))
        if self.neighbours is None:
            return n * m
        return min(n * m, (int(self.neighbours) + N_SLICINGS) * (n + m))

    def _solve(self, problem: Problem, rng: np.random.Generator, n_threads: int) -> Joint:
        limit = _MAX_ITER[self.solver] if self.max_iter is None else int(self.max_iter)
        if self.solver == "sliced":
            joint = solve_exactly(sliced_pairs(problem, int(self.n_slicings), rng), limit).joint
            # It is the best over some pairs: how good that is among all is not known.
            return replace(joint, gap=None)
        if self.neighbours is None:
            pairs = Pairs.all_of(problem)
        else:
            pairs = nearby_pairs(problem, int(self.neighbours), rng, n_threads)
        if self.solver == "sinkhorn":
            typical = problem.typical_cost()
            return solve_entropically(
                pairs, float(self.regularisation) * typical, typical, limit, float(self.tolerance)
            )
        if self.neighbours is None:
            return solve_exactly(pairs, limit).joint
        return solve_growing(problem, pairs, limit, float(self.tolerance), n_threads)

    def _notes(self, problems: list[Problem], joints: list[Joint], kept: list[Floats]) -> dict[str, Any]:
        """Return how it went: over all rows, or of the worst stratum."""
        n_rows = [sum(problem.shape) for problem in problems]
        shares = np.concatenate(kept)
        gaps = [joint.gap for joint in joints if joint.gap is not None]
        return {
            "solver": self.solver,
            "transport_cost": float(np.average([joint.cost for joint in joints], weights=n_rows)),
            "kept_mass_mean": float(shares.mean()),
            "kept_mass_min": float(shares.min()),
            "marginal_error": max(joint.marginal_error for joint in joints),
            "iterations": sum(joint.iterations for joint in joints),
            **({"gap": max(gaps)} if gaps else {}),
        }


def _check_number(name: str, value: Any, low: float, high: float, why: str) -> None:
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not low <= value <= high or np.isinf(value):
        to = f" to {high:g}" if np.isfinite(high) else " on"
        raise InputError(f"{name}={value!r} is not usable: give a number from {low:g}{to}; {why}.")


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name}={value!r} is not usable: give a whole number from 1 on.")
