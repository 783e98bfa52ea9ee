"""Optimal transport between the groups, solved by POT."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from fairshap._messages import warn
from fairshap.exceptions import NotConvergedWarning
from fairshap.matching._matcher import Found, Matcher, Pairing, check_choice, check_count, check_number
from fairshap.matching._plan import Space, Stratum
from fairshap.matching._solvers import (
    Plan,
    TransportProblem,
    conditional,
    load_pot,
    marginal_error,
    near_pairs,
    projected_pairs,
    solve_by_pricing,
    solve_entropically,
    solve_exactly,
)

METHODS = ("emd", "sinkhorn", "sliced")

# The pairs of a stratum up to which all of them are held: POT takes some 40 bytes for each.
_DENSE = 10_000_000
# Beyond that: each row's pairs that are held, and the projections that make sure that there is a plan.
_NEAR, _PROJECTIONS = {"emd": 20, "sinkhorn": 50}, 3


class TransportMatcher(Matcher):
    """Match by optimal transport: all of one group is moved onto the other at the lowest total cost.

    Within each label both sides have the same mass, spread evenly over their rows. The plan says how much of
    it goes from each row to each row of the other side; moving it costs the squared distance of
    :class:`NearestMatcher`. A row's references are those that its mass goes to or comes from, with the
    conditional probabilities P(. | row) as weights. The game is the mean over them; edits take the heaviest,
    and of equally heavy ones the lowest row. Unlike the nearest row, no row is the reference of very many.

    Parameters
    ----------
    method : {"emd", "sinkhorn", "sliced"}, default="emd"
        "emd" is the exact plan (network simplex), in which most rows have one to three references.
        "sinkhorn" spreads each row's mass over more of them by entropic regularization. "sliced" is the best
        plan over the pairs that one-dimensional plans along random projections use: the least time and
        memory, at a higher cost.
    reg : float, default=0.02
        The strength of the entropic regularization of "sinkhorn", in units of the mean cost of all pairs of
        the stratum, so that it means the same for any table. Towards 0 the plan becomes that of "emd".
    n_projections : int, default=100
        The number of random projections of "sliced".
    keep : float, default=0.99
        The share of each row's mass that is kept: its largest masses, until they reach it. They are then
        scaled to sum to 1.
    max_iter : int, optional
        The steps of the solver: by default 10,000 for "sinkhorn", and as many as the simplex takes.
    tol : float, default=1e-3
        "sinkhorn": the share of the mass that may be at the wrong rows. "emd", in strata of more than ten
        million pairs: the share by which the cost may exceed the lowest.
    pairing : {"pooled", "each"}, default="pooled"
        With several unprivileged groups: whether they share one plan, or each has its own; then the plans
        share the weight of a privileged row.
    bins : int, optional
        Into how many quantile bins a numeric target is cut; see :class:`NearestMatcher`.
    random_state : int, RandomState instance or None, default=None
        Determines the projections.

    Notes
    -----
    It takes POT: ``pip install 'fairshap[transport]'``. In strata of more than ten million pairs memory grows
    with the rows only. There, "emd" starts with each row's 20 nearest rows and adds pairs of negative reduced
    cost until it is within ``tol`` of the lowest cost; "sinkhorn" is restricted to each row's 50 nearest.

    Examples
    --------
    >>> import pandas as pd
    >>> from fairshap.matching import NearestMatcher
    >>> X = pd.DataFrame({"sex": ["m", "m", "f", "f", "m", "f"], "age": [30, 34, 35, 39, 60, 60]})
    >>> who = {"sensitive": "sex", "privileged": "m"}
    >>> TransportMatcher("emd").match(X, [0, 0, 0, 0, 1, 1], **who).best.tolist()
    [2, 3, 0, 1, 5, 4]
    >>> NearestMatcher().match(X, [0, 0, 0, 0, 1, 1], **who).best.tolist()
    [2, 2, 1, 1, 5, 4]
    """

    def __init__(
        self,
        method: Literal["emd", "sinkhorn", "sliced"] = "emd",
        *,
        reg: float = 0.02,
        n_projections: int = 100,
        keep: float = 0.99,
        max_iter: int | None = None,
        tol: float = 1e-3,
        pairing: Pairing = "pooled",
        bins: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.reg = reg
        self.n_projections = n_projections
        self.keep = keep
        self.max_iter = max_iter
        self.tol = tol
        self.pairing = pairing
        self.bins = bins
        self.random_state = random_state

    def check(self) -> None:
        """Raise an error unless the parameters make sense and POT is installed."""
        super().check()
        check_choice(self.method, "method", METHODS)
        strength = (
            "a strength of regularization; give a number from 1e-9 on: towards 0 the plan is that of emd."
        )
        check_number(self.reg, "reg", strength, low=1e-9)
        share = "the share of each row's mass that is kept; give a number above 0, up to 1."
        check_number(self.keep, "keep", share, low=1e-9, high=1.0)
        check_number(self.tol, "tol", "a share; give a number from 0 to 1.", high=1.0)
        check_count(self.n_projections, "n_projections", "100")
        if self.max_iter is not None:
            check_count(self.max_iter, "max_iter", "10000")
        load_pot()

    def find(
        self, space: Space, strata: list[Stratum], n_threads: int, advance: Callable[[int], None]
    ) -> Found:
        """Return the references of all strata, in both directions."""
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        parts, sizes, costs, errors, gaps, kept = [], [], [], [], [], []
        for position, stratum in enumerate(strata):
            if not min(map(len, stratum)):
                continue
            problem = TransportProblem(space, *stratum, np.random.default_rng((seed, position)), n_threads)
            plan = self._solve(problem)
            for mine, theirs, mass in ((*stratum, plan.mass), (*stratum[::-1], plan.mass.T.tocsr())):
                row, other, weight, share = conditional(mass, float(self.keep))
                squared = space.squared_of_pairs(mine[row], theirs[other])
                parts.append(Found(mine[row], theirs[other], weight, squared))
                kept.append(share)
            sizes.append(sum(map(len, stratum)))
            costs.append(plan.cost)
            errors.append(marginal_error(plan.mass))
            gaps += [] if plan.gap is None else [plan.gap]
            advance(sizes[-1])
        found = Found.together(parts)
        if parts:
            shares = np.concatenate(kept)
            found.notes.update(
                method=self.method,
                transport_cost=float(np.average(costs, weights=sizes)),
                kept_mass_mean=float(shares.mean()),
                kept_mass_min=float(shares.min()),
                marginal_error=max(errors),
                **({"gap": max(gaps)} if gaps else {}),
            )
        return found

    def _solve(self, problem: TransportProblem) -> Plan:
        """Return the plan of one stratum."""
        tol = float(self.tol)
        if self.method == "sliced":
            keys = projected_pairs(problem, int(self.n_projections))
            return solve_exactly(problem.costs(keys), self.max_iter)[0]
        if len(problem.rows) * len(problem.others) <= _DENSE:
            costs = problem.all_costs()
            if self.method == "emd":
                return solve_exactly(costs, self.max_iter)[0]._replace(gap=0.0)
            reg = float(self.reg) * (float(costs.mean()) or 1.0)
        else:
            near, *_ = near_pairs(problem, _NEAR[self.method])
            keys = np.union1d(near, projected_pairs(problem, _PROJECTIONS))
            if self.method == "emd":
                return solve_by_pricing(problem, keys, self.max_iter, tol)
            costs, reg = problem.costs(keys), float(self.reg) * problem.typical_cost()
        max_iter = 10_000 if self.max_iter is None else int(self.max_iter)
        plan = solve_entropically(costs, reg, max_iter, tol)
        error = marginal_error(plan.mass)
        if not error <= tol:
            n, m = costs.shape
            warn(
                f"Sinkhorn has not converged for {n} x {m} rows after max_iter={max_iter}: {error:.2g} of "
                f"the mass is at the wrong rows, over tol={tol:g}. Raise max_iter, reg or tol.",
                NotConvergedWarning,
            )
        return plan
