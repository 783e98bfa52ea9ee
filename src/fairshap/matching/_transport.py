"""Optimal transport between the groups, solved by POT."""

import warnings
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from fairshap._kernels.neighbors.distance import nearest_both_ways
from fairshap._messages import check_choice, check_count, check_number, import_extra, warn
from fairshap._typing import Floats, Ints
from fairshap.exceptions import NotConvergedError, NotConvergedWarning
from fairshap.matching._match import Advance, Found, Matcher, Pairing, Pairs
from fairshap.matching._plan import Space, Stratum, check_finite

Method: TypeAlias = Literal["emd", "sinkhorn", "sliced"]
METHODS: tuple[Method, ...] = get_args(Method)

# The pairs of a stratum up to which all of them are held: POT takes some 40 bytes for each.
_DENSE = 10_000_000
# Beyond that: each row's pairs that are held, and the projections that make sure that there is a plan.
_NEAR, _PROJECTIONS = {"emd": 20, "sinkhorn": 50}, 3
# The pairs of each row that a round of pricing adds, and the rounds.
_ADDED, _ROUNDS = 10, 25
# The pairs whose mean stands for that of all.
_SAMPLE = 1 << 16
# Squared distances from here on overflow when they are summed.
_TOO_LARGE = 1e300
# The steps of the network simplex, which ends long before, and of Sinkhorn.
_PIVOTS, _SCALINGS = 10**9, 10_000


class TransportProblem(NamedTuple):
    """The rows of a stratum, between which mass moves at the cost of their squared distance."""

    space: Space
    rows: Ints
    others: Ints
    rng: np.random.Generator
    n_threads: int = 1

    def all_costs(self) -> Floats:
        """Return the cost of every pair."""
        return check_finite(self.space.squared(self.rows[:, None], self.others), _TOO_LARGE)

    def costs(self, keys: Ints) -> sp.coo_array:
        """Return the costs of some pairs by their keys, ``row * len(others) + other``."""
        row, other = np.divmod(keys, len(self.others))
        costs = check_finite(self.space.squared(self.rows[row], self.others[other]), _TOO_LARGE)
        return sp.coo_array((costs, (row, other)), shape=(len(self.rows), len(self.others)))

    def typical_cost(self) -> float:
        """Return the mean cost of a sample of all pairs; 1 if it is 0."""
        rows, others = (self.rng.choice(side, _SAMPLE) for side in (self.rows, self.others))
        return float(self.space.squared(rows, others).mean()) or 1.0


class Plan(NamedTuple):
    """The mass between any two rows, in any unit, its mean cost, and its share above the lowest, if known."""

    mass: sp.csr_array
    cost: float
    gap: float | None = None


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
        "emd" is the exact plan (network simplex), with one to three references for most rows. "sinkhorn"
        spreads each row's mass over more by entropic regularization. "sliced" is the best plan over the pairs
        of one-dimensional plans along random projections: the least time and memory, at a higher cost.
    reg : float, default=0.02
        The strength of the regularization of "sinkhorn", in units of the mean cost of all pairs of the
        stratum. Towards 0 the plan becomes that of "emd".
    n_projections : int, default=100
        The number of random projections of "sliced".
    keep : float, default=0.99
        The share of each row's mass that is kept, its largest masses first, and scaled to sum to 1.
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
        method: Method = "emd",
        *,
        reg: float = 0.02,
        n_projections: int = 100,
        keep: float = 0.99,
        tol: float = 1e-3,
        pairing: Pairing = "pooled",
        bins: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.reg = reg
        self.n_projections = n_projections
        self.keep = keep
        self.tol = tol
        self.pairing = pairing
        self.bins = bins
        self.random_state = random_state

    def check(self) -> None:
        super().check()
        check_choice(self.method, "method", METHODS)
        what = "a strength of regularization; give a number from 1e-9 on: towards 0 the plan is that of emd."
        check_number(self.reg, "reg", what, low=1e-9)
        what = "the share of each row's mass that is kept; give a number above 0, up to 1."
        check_number(self.keep, "keep", what, low=1e-9, high=1.0)
        check_number(self.tol, "tol", "a share; give a number from 0 to 1.", high=1.0)
        check_count(self.n_projections, "n_projections", ", such as 100")
        load_pot()

    def find(self, space: Space, strata: list[Stratum], n_threads: int, advance: Advance) -> Found:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        pairs: list[Pairs] = []
        kept, told = [], []
        for position, stratum in enumerate(strata):
            problem = TransportProblem(space, *stratum, np.random.default_rng((seed, position)), n_threads)
            plan = self._solve(problem)
            for mine, theirs, mass in ((*stratum, plan.mass), (*stratum[::-1], plan.mass.T.tocsr())):
                row, other, weight, share = conditional(mass, float(self.keep))
                squared = space.squared(mine[row], theirs[other])
                pairs.append((mine[row], theirs[other], weight, squared))
                kept.append(share)
            n_rows = sum(map(len, stratum))
            told.append((n_rows, plan.cost, marginal_error(plan.mass), plan.gap))
            advance(n_rows)
        if not pairs:
            return Found(pairs, {}, [])
        shares = np.concatenate(kept)
        sizes, costs, errors, gaps = zip(*told, strict=True)
        notes = {
            "method": self.method,
            "transport_cost": float(np.average(costs, weights=sizes)),
            "kept_mass_mean": float(shares.mean()),
            "kept_mass_min": float(shares.min()),
            "marginal_error": max(errors),
        }
        if self.method == "emd":
            notes["gap"] = max(gaps)
        return Found(pairs, notes, [])

    def _solve(self, problem: TransportProblem) -> Plan:
        if self.method == "sliced":
            return solve_exactly(problem.costs(projected_pairs(problem, int(self.n_projections))))[0]
        costs: Floats | sp.coo_array
        if len(problem.rows) * len(problem.others) <= _DENSE:
            costs = problem.all_costs()
            if self.method == "emd":
                return solve_exactly(costs)[0]._replace(gap=0.0)
            typical = float(costs.mean()) or 1.0
        else:
            near, *_ = near_pairs(problem, _NEAR[self.method])
            keys = np.union1d(near, projected_pairs(problem, _PROJECTIONS))
            if self.method == "emd":
                return solve_by_pricing(problem, keys, float(self.tol))
            costs, typical = problem.costs(keys), problem.typical_cost()
        return solve_entropically(costs, float(self.reg) * typical, float(self.tol))


def load_pot() -> Any:
    """Return POT, which is loaded only here: it takes seconds, and longer beside torch or JAX."""
    return import_extra("ot", "optimal transport", "transport", "POT")


def solve_exactly(costs: Floats | sp.coo_array) -> tuple[Plan, Floats, Floats]:
    """Return the plan of lowest cost over all pairs, or those of a sparse array, and its dual potentials."""
    n, m = costs.shape
    # As much mass as the other side has rows: of whole numbers, equal ones are equal to the last bit.
    masses = np.full(n, float(m)), np.full(m, float(n))
    with warnings.catch_warnings():
        # What POT warns of is checked below.
        warnings.simplefilter("ignore")
        mass, log = load_pot().emd(*masses, costs, numItermax=_PIVOTS, log=True)
    mass = sp.csr_array(mass)
    if log["warning"] is not None or marginal_error(mass) > 1e-6:
        raise NotConvergedError(
            f"the network simplex found no plan for {n} x {m} rows: {log['warning'] or 'mass is missing'}. "
            "Scale the columns of X to similar sizes."
        )
    return Plan(mass, float(log["cost"]) / (n * m)), log["u"], log["v"]


def solve_by_pricing(problem: TransportProblem, keys: Ints, tol: float) -> Plan:
    """Return a plan whose cost is within ``tol`` of the lowest over all pairs, starting with some pairs.

    The dual of the best plan over some pairs tells which others have a negative reduced cost, and what no
    plan can cost less than. Such pairs are added until that is near enough.
    """
    for _ in range(_ROUNDS):
        plan, u, v = solve_exactly(problem.costs(keys))
        near, reduced, lowest = near_pairs(problem, _ADDED, u, v)
        gap = max(plan.cost - lowest, 0.0) / plan.cost if plan.cost > 0 else 0.0
        more = np.union1d(keys, near[reduced < -1e-9 * plan.cost])
        if gap <= tol or len(more) == len(keys):
            return plan._replace(gap=gap)
        keys = more
    warn(
        f"The plan for {len(problem.rows)} x {len(problem.others)} rows may cost {gap:.2g} of itself more "
        f"than the lowest, over tol={tol:g}, after {_ROUNDS} rounds of pricing. Raise tol.",
        NotConvergedWarning,
    )
    return plan._replace(gap=gap)


def solve_entropically(costs: Floats | sp.coo_array, reg: float, tol: float) -> Plan:
    """Return the plan of lowest cost less ``reg`` times its entropy (Sinkhorn).

    It starts with the potentials of the exact plan: every row and every column of the kernel then has a one
    in it, so that nothing vanishes however small ``reg`` is, and few steps are left. POT takes dense kernels
    only; over some pairs the same two lines are iterated here.
    """
    n, m = costs.shape
    _, u, v = solve_exactly(costs)
    if not sp.issparse(costs):
        with warnings.catch_warnings():
            # What POT warns of is checked below.
            warnings.simplefilter("ignore")
            mass = load_pot().bregman.sinkhorn_stabilized(
                *(np.full(n, 1 / n), np.full(m, 1 / m), costs, reg),
                numItermax=_SCALINGS,
                # POT compares the root of the sum of squares; this bounds half the sum of absolute errors.
                stopThr=2 * tol / np.sqrt(m),
                # The kernel is computed again when a scaling exceeds this, which is dear.
                tau=1e50,
                warmstart=(u, v),
            )
        plan = Plan(sp.csr_array(mass), float(np.vdot(mass, costs) / mass.sum()))
    else:
        kernel = sp.csr_array(costs)
        row, other = kernel.tocoo().coords
        price, kernel.data = kernel.data, np.exp((u[row] + v[other] - kernel.data) / reg)
        turned = kernel.T.tocsr()
        a, b = np.ones(n), np.ones(m)
        for _ in range(_SCALINGS):
            a = 1 / (n * (kernel @ b))
            total = turned @ a
            if np.abs(b * total - 1 / m).sum() / 2 <= tol:
                break
            b = 1 / (m * total)
        kernel.data *= a[row] * b[other]
        plan = Plan(kernel, float(kernel.data @ price / kernel.data.sum()))
    error = marginal_error(plan.mass)
    if not error <= tol:
        warn(
            f"Sinkhorn has not converged for {n} x {m} rows after {_SCALINGS} steps: {error:.2g} of the mass "
            f"is at the wrong rows, over tol={tol:g}. Raise reg or tol.",
            NotConvergedWarning,
        )
    return plan


def near_pairs(
    problem: TransportProblem, k: int, u: Floats | float = 0.0, v: Floats | float = 0.0
) -> tuple[Ints, Floats, float]:
    """Return the keys of each row's k pairs of lowest reduced cost, both ways, these costs, and a bound.

    The reduced cost of a pair, its cost less the potentials of both ends, is but for a constant a squared
    distance in a space with two more columns: a search for nearest rows finds the lowest. The bound is what
    no plan can cost less than: lowering the potentials of either side makes them feasible.
    """
    space, n, m = problem.space, len(problem.rows), len(problem.others)
    u, v = np.zeros(n) + u, np.zeros(m) + v
    there, squared, back, other_squared = nearest_both_ways(
        np.column_stack([space.numbers[problem.rows], np.sqrt(u.max() - u), np.zeros(n)]),
        space.codes[problem.rows],
        np.column_stack([space.numbers[problem.others], np.zeros(m), np.sqrt(v.max() - v)]),
        space.codes[problem.others],
        space.costs._replace(
            weights=np.append(space.costs.weights, [1.0, 1.0]),
            lacking=np.append(space.costs.lacking, [0.0, 0.0]),
        ),
        k=k,
        compiled=True,
        n_threads=problem.n_threads,
    )
    keys = [np.arange(n)[:, None] * m + there, back * m + np.arange(m)[:, None]]
    reduced = [squared - (u.max() + v.max()), other_squared - (u.max() + v.max())]
    bound = u.mean() + v.mean() + max(side[:, 0].mean() for side in reduced)
    return np.concatenate([*map(np.ravel, keys)]), np.concatenate([*map(np.ravel, reduced)]), float(bound)


def projected_pairs(problem: TransportProblem, n_projections: int) -> Ints:
    """Return the keys of the pairs that one-dimensional plans along random projections use.

    Rows are projected as if numbers were standardized and categories one-hot. A missing number stands at the
    mean of its column, and whether it is missing is a coordinate of its own, as it is in the distance.
    """
    space, rng, n, m = problem.space, problem.rng, len(problem.rows), len(problem.others)
    rows = np.concatenate([problem.rows, problem.others])
    places = np.zeros((n + m, n_projections))
    for column, weight, lacking in zip(space.numbers[rows].T, *space.costs[:2], strict=True):
        missing = np.isnan(column)
        mean = column[~missing].mean() if not missing.all() else 0.0
        centered = np.where(missing, 0.0, column - mean) * np.sqrt(weight)
        places += centered[:, None] * rng.normal(size=n_projections)
        places += missing[:, None] * (np.sqrt(lacking) * rng.normal(size=n_projections))
    for codes, mismatch in zip(space.codes[rows].T, space.costs.mismatch, strict=True):
        # Two one-hot rows of different categories differ in two columns. A missing category, -1, is the last.
        places += np.sqrt(mismatch / 2) * rng.normal(size=(codes.max() + 2, n_projections))[codes]
    check_finite(places)
    masses = np.full(n, float(m)), np.full(m, float(n))
    keys = []
    for place in places.T[:, :, None]:
        _, [plan] = load_pot().wasserstein_1d(place[:n], place[n:], *masses, return_plans="coo_tuple")
        keys.append((plan.rows * m + plan.cols)[plan.data > 0])
    return np.unique(np.concatenate(keys))


def marginal_error(mass: sp.csr_array) -> float:
    """Return the share of the mass that is at the wrong rows, on the side where it is greater."""
    sides = [mass.sum(axis=axis) / mass.sum() for axis in (0, 1)]
    return float(max(np.abs(side - 1 / len(side)).sum() / 2 for side in sides))


def conditional(mass: sp.csr_array, keep: float) -> tuple[Ints, Ints, Floats, Floats]:
    """Return each row's largest entries that make up the share ``keep``, as weights that sum to 1.

    They are rows, columns and weights, by row, the heaviest and then the lowest column first; and the shares
    that were kept.
    """
    n, m = mass.shape
    row, other = np.repeat(np.arange(n), np.diff(mass.indptr)), mass.indices
    # Rounded, so that masses which are equal but for the last bits are equal.
    share = np.round(mass.data / mass.sum(axis=1)[row], 12)
    # Entries so small make up less than the rest altogether: they need not be sorted.
    large = (share > 0) & (share >= (1 - keep) / m * (1 - 1e-9))
    row, other, share = row[large], other[large], share[large]
    order = np.lexsort((other, -share, row))
    row, other, share = row[order], other[order], share[order]
    before = np.cumsum(share) - share
    before -= before[np.searchsorted(row, np.arange(n))][row]
    # A hair less, so that the rounding of a sum does not ask for one more.
    chosen = before < (keep * (1 - 1e-9) if keep < 1 else np.inf)
    row, other, share = row[chosen], other[chosen], share[chosen]
    kept = np.bincount(row, share, minlength=n)
    return row, other.astype(np.int64), share / kept[row], np.minimum(kept, 1.0)
