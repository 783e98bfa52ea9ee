"""Attribute the risk of each row to its players."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from fairshap._kernels.shapley import (
    AllCoalitions,
    antithetic_walks,
    shapley_values,
    walk_values,
)
from fairshap._messages import did_you_mean, listing
from fairshap._typing import AnyCodes, Bools, Floats, Ints, Native
from fairshap.attribution._game import Game
from fairshap.attribution._result import Attributions
from fairshap.exceptions import InputError
from fairshap.groups import Privileged, Setting
from fairshap.matching import MatchPlan
from fairshap.models import NotNativeError, Scorer
from fairshap.risk import Risk
from fairshap.table import Library, Players, PlayersLike

if TYPE_CHECKING:
    from fairshap.attribution._native import TreeGame

Method: TypeAlias = Literal["auto", "exact", "permutation"]
METHODS = ("auto", "exact", "permutation")

# 2^20 coalitions of one pair are 8 MiB of values and seconds of model calls.
_MOST_EXACT = 20

# How many active players a row may have, with "auto", to be solved exactly.
_AUTO_BY_CALLS, _AUTO_BY_TREES = 12, 20

# Coalitions up to which calling the model is done before compiled code is even loaded.
_SMALL = 20_000


def attribute(
    model: Any,
    X: Native,
    R: Native | MatchPlan,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    players: PlayersLike = None,
    method: Method = "auto",
    max_exact: int | None = None,
    n_permutations: int = 128,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Attributions:
    r"""Return the Shapley values of every row's discriminative risk against its reference.

    The game of a row x with reference r is ``v(S) = DR(x on S, r elsewhere)``, with
    ``DR(x) = |f(x, A=0) - f(x, A=1)|``; phi_k is player k's Shapley value in it.

    The trees of XGBoost, LightGBM and scikit-learn classifiers are walked, also behind preprocessing
    that works column by column; any other model is called. ``route`` in the result says which.

    Parameters
    ----------
    model : object
        A fitted classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows to explain, as the model takes them.
    R : data frame, array or MatchPlan
        One reference row for each row of X, same columns; or a plan that names rows of X.
    sensitive : column name, or position for an array
        The sensitive attribute, if it is a column of X.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X; the model sees it as a last column.
    players : mapping or list of lists, optional
        Columns that are switched as one, such as the one-hot features of one category. By default each
        column is a player of its own.
    method : {"auto", "exact", "permutation"}, default="auto"
        "exact" asks the model about all coalitions of the players that differ; "permutation" averages
        over random orders; "auto" is exact for rows with at most ``max_exact`` such players.
    max_exact : int, optional
        See ``method``; by default 20 where the model's trees can be walked, and 12 where it is called.
    n_permutations : int, default=128
        How many random orders are drawn, each of them walked in both directions.
    random_state : int, RandomState instance or None
        The source of those orders.
    n_jobs : int, optional
        How many threads walk trees; all cores by default. The values are the same for any number.

    Returns
    -------
    Attributions
        Values, standard errors and a status for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> R = X[[1, 0, 3, 2]]
    >>> attributions = attribute(model, X, R, sensitive=0, privileged=1)
    >>> attributions.status.tolist()
    ['exact', 'exact', 'exact', 'exact']
    >>> bool(np.allclose(attributions.values.sum(axis=1),
    ...                  attributions.risk - attributions.reference_risk))
    True
    """
    setting = Setting.read(X, sensitive, privileged, sensitive_features)
    if isinstance(R, MatchPlan):
        plan = R
        plan.check_fits(setting.table.n_rows)
    else:
        n = setting.table.n_rows
        setting = setting.with_references(R)
        rows = np.arange(n)
        plan = MatchPlan(2 * n, rows, rows + n, np.ones(n), np.zeros(n))
    return attribute_pairs(
        Risk(Scorer(model), setting),
        plan,
        players=Players.read(setting.own, players),
        n_rows=len(setting.groups.side),
        method=method,
        max_exact=max_exact,
        n_permutations=n_permutations,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def attribute_pairs(
    risk: Risk,
    plan: MatchPlan,
    *,
    players: Players,
    n_rows: int,
    method: Method,
    max_exact: int | None,
    n_permutations: int,
    random_state: Any,
    n_jobs: int | None = None,
) -> Attributions:
    """Return the attributions of all pairs of a plan, averaged with its weights for each row."""
    if method not in METHODS:
        raise InputError(
            f"method={method!r} is not known; the methods are {listing(METHODS)}."
            f"{did_you_mean(method, METHODS)}"
        )
    _check_count("n_permutations", n_permutations, 2, "fewer have no standard error")
    if max_exact is not None:
        _check_count("max_exact", max_exact, 0, "it is a number of players")
    players.check_alone(risk.setting.column)
    if risk.setting.groups.by_row:
        # A quantity that is missing has no side, and so no value to be compared with.
        plan = plan.of_rows(risk.setting.groups.side[plan.row] >= 0)
    by_calls = Game(risk, players, plan.row, plan.reference)
    rows = _Rows(plan, players, n_rows)
    trees, route = _trees_of(by_calls, n_jobs)
    game = by_calls if trees is None else trees
    auto = (_AUTO_BY_CALLS if trees is None else _AUTO_BY_TREES) if max_exact is None else max_exact
    # One player, or none, leaves nothing to estimate.
    most = {"exact": np.inf, "auto": max(auto, 1), "permutation": 1}[method]
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    reached = game.q if trees is None else trees.reached(most)
    enumerated: Bools = reached <= most
    _check_most(reached[enumerated])
    if trees is not None:
        pairs = np.flatnonzero(enumerated)
        solved = trees.solve(pairs, reached[pairs])
        rows.add(pairs, solved.counts, solved.active, solved.phi, solved.full, solved.empty)
    for q in np.unique(game.q).tolist():
        same = game.q == q
        if isinstance(game, Game) and q <= most:
            _attribute_exactly(game, np.flatnonzero(same), q, rows)
        elif (same & ~enumerated).any():
            # Seeded by q, so that a row's estimate does not depend on which other rows there are.
            rng = np.random.default_rng((seed, q))
            _attribute_by_permutations(game, np.flatnonzero(same & ~enumerated), q, n_permutations, rng, rows)
    return rows.attributions(route, risk.setting.table.store.library)


def _trees_of(game: Game, n_jobs: int | None) -> tuple["TreeGame | None", str]:
    """Return the same games through the model's trees, if that can be, and how they are played."""
    if (1 << np.minimum(game.q, _AUTO_BY_CALLS)).sum() <= _SMALL:
        return None, "model calls: the table is small"
    from fairshap.attribution._native import TreeGame

    try:
        return TreeGame(game.risk, game.players, game.rows, game.references, n_jobs), "trees"
    except NotNativeError as reason:
        return None, f"model calls: {reason}"


def _check_count(name: str, value: Any, least: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number from {least} on: {why}.")


class _Rows:
    """What is known of each row: the weighted means over its references."""

    def __init__(self, plan: MatchPlan, players: Players, n_rows: int) -> None:
        self.plan = plan
        self.players = players
        self.values = np.zeros((n_rows, len(players.names)))
        self.errors: Floats | None = None
        self.full, self.empty = np.zeros(n_rows), np.zeros(n_rows)
        self.status = np.full(n_rows, "unmatched", dtype="<U9")
        self.status[plan.row] = "exact"

    def add(
        self,
        pairs: Ints,
        counts: AnyCodes,
        active: AnyCodes,
        phi: Floats,
        full: Floats,
        empty: Floats,
        error: Floats | None = None,
    ) -> None:
        """Add the values of pairs, each with its weight, to their rows.

        ``active``, ``phi`` and ``error`` hold the players of one pair after those of the other,
        so many of each.
        """
        row, weight = self.plan.row[pairs], self.plan.weight[pairs]
        at = (np.repeat(row, counts), active.ravel())
        share = np.repeat(weight, counts)
        np.add.at(self.values, at, share * phi.ravel())
        np.add.at(self.full, row, weight * full)
        np.add.at(self.empty, row, weight * empty)
        if error is not None:
            if self.errors is None:
                self.errors = np.zeros_like(self.values)
            # References of one row share their permutations, so that their errors add up.
            np.add.at(self.errors, at, share * error.ravel())
            self.status[row] = "estimated"

    def attributions(self, route: str, library: Library) -> Attributions:
        """Return the result; rows without a reference have no values."""
        unmatched = self.status == "unmatched"
        for array in (self.values, self.errors, self.full, self.empty):
            if array is not None:
                array[unmatched] = np.nan
        return Attributions(
            values=self.values,
            errors=self.errors,
            status=self.status,
            switched=self.players,
            risk=self.full,
            reference_risk=self.empty,
            route=route,
            library=library,
        )


def _check_most(q: AnyCodes) -> None:
    """Raise an error if some pair has more active players than can be enumerated."""
    if len(q) and q.max() > _MOST_EXACT:
        raise InputError(
            f"{int((q == q.max()).sum())} rows differ from their reference in {q.max()} players: "
            f"2^{q.max()} coalitions are too many; {_MOST_EXACT} players are the most. Use method='auto' "
            "with a smaller max_exact, or bring columns together with players=."
        )


def _attribute_exactly(game: Game, same: Ints, q: int, rows: _Rows) -> None:
    coalitions = AllCoalitions(q)
    for batch in game.batches(same, len(coalitions)):
        values, active = game.values(batch, q, coalitions)
        counts = np.full(len(batch), q)
        rows.add(batch, counts, active, shapley_values(values), values[:, -1], values[:, 0])


def _attribute_by_permutations(
    game: "Game | TreeGame",
    same: Ints,
    q: int,
    n_permutations: int,
    rng: np.random.Generator,
    rows: _Rows,
) -> None:
    orders, coalitions, steps = antithetic_walks(q, n_permutations, rng)
    for batch in game.batches(same, len(coalitions)):
        values, active = game.values(batch, q, coalitions)
        phi, error = walk_values(values, orders, steps)
        rows.add(batch, np.full(len(batch), q), active, phi, values[:, -1], values[:, 0], error)
