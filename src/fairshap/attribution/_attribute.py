"""Attribute the risk of each row to its players."""

from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from fairshap._kernels.shapley import (
    AllCoalitions,
    antithetic_walks,
    shapley_values,
    walk_values,
)
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution._game import Game
from fairshap.attribution._result import Attributions
from fairshap.exceptions import InputError
from fairshap.groups import Privileged, Setting
from fairshap.matching import MatchPlan
from fairshap.models import Scorer
from fairshap.risk import Risk
from fairshap.table import Players, PlayersLike

Method: TypeAlias = Literal["auto", "exact", "permutation"]
METHODS = ("auto", "exact", "permutation")

# 2^20 coalitions of one pair are 8 MiB of values and seconds of model calls.
_MOST_EXACT = 20


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
    max_exact: int = 12,
    n_permutations: int = 128,
    random_state: Any = None,
) -> Attributions:
    r"""Return the Shapley values of every row's discriminative risk against its reference.

    The game of a row x with reference r is ``v(S) = DR(x on S, r elsewhere)``, with
    ``DR(x) = |f(x, A=0) - f(x, A=1)|``; phi_k is player k's Shapley value in it.

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
    max_exact : int, default=12
        See ``method``.
    n_permutations : int, default=128
        How many random orders are drawn, each of them walked in both directions.
    random_state : int, RandomState instance or None
        The source of those orders.

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
    )


def attribute_pairs(
    risk: Risk,
    plan: MatchPlan,
    *,
    players: Players,
    n_rows: int,
    method: Method,
    max_exact: int,
    n_permutations: int,
    random_state: Any,
) -> Attributions:
    """Return the attributions of all pairs of a plan, averaged with its weights for each row."""
    if method not in METHODS:
        raise InputError(
            f"method={method!r} is not known; the methods are {listing(METHODS)}."
            f"{did_you_mean(method, METHODS)}"
        )
    _check_count("n_permutations", n_permutations, 2, "fewer have no standard error")
    _check_count("max_exact", max_exact, 0, "it is a number of players")
    players.check_alone(risk.setting.column)
    if risk.setting.groups.by_row:
        # A quantity that is missing has no side, and so no value to be compared with.
        plan = plan.of_rows(risk.setting.groups.side[plan.row] >= 0)
    game = Game(risk, players, plan.row, plan.reference)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    pairs = _Pairs(len(plan), len(players.names))
    # One player, or none, leaves nothing to estimate.
    most = {"exact": np.inf, "auto": max(max_exact, 1), "permutation": 1}[method]
    for q in np.unique(game.q).tolist():
        same = np.flatnonzero(game.q == q)
        if q <= most:
            _attribute_exactly(game, same, q, pairs)
        else:
            # Seeded by q, so that a row's estimate does not depend on which other rows there are.
            rng = np.random.default_rng((seed, q))
            _attribute_by_permutations(game, same, q, n_permutations, rng, pairs)
    return pairs.averaged(plan, players, n_rows, risk.setting.table.store.library)


def _check_count(name: str, value: Any, least: int, why: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name}={value!r} must be a whole number from {least} on: {why}.")


class _Pairs:
    """What is known of each pair."""

    def __init__(self, n_pairs: int, n_players: int) -> None:
        self.phi = np.zeros((n_pairs, n_players))
        self.error = np.zeros((n_pairs, n_players))
        self.full = np.zeros(n_pairs)
        self.empty = np.zeros(n_pairs)
        self.estimated = np.zeros(n_pairs, dtype=np.bool_)

    def averaged(self, plan: MatchPlan, players: Players, n_rows: int, library: Any) -> Attributions:
        """Return the weighted mean over the references of each row."""

        def mean(of_pairs: Floats) -> Floats:
            out = np.zeros((n_rows, *of_pairs.shape[1:]))
            weight = plan.weight.reshape(-1, *[1] * (of_pairs.ndim - 1))
            np.add.at(out, plan.row, weight * of_pairs)
            matched = np.zeros(n_rows, dtype=np.bool_)
            matched[plan.row] = True
            out[~matched] = np.nan
            return out

        status = np.full(n_rows, "unmatched", dtype="<U9")
        status[plan.row] = "exact"
        status[plan.row[self.estimated]] = "estimated"
        return Attributions(
            values=mean(self.phi),
            # References of one row share their permutations, so that their errors add up.
            standard_errors=mean(self.error),
            status=status,
            switched=players,
            risk=mean(self.full),
            reference_risk=mean(self.empty),
            library=library,
        )


def _attribute_exactly(game: Game, same: Ints, q: int, out: _Pairs) -> None:
    if q > _MOST_EXACT:
        raise InputError(
            f"{len(same)} rows differ from their reference in {q} players: 2^{q} coalitions are too "
            f"many; {_MOST_EXACT} players are the most. Use method='auto' with a smaller max_exact, "
            "or bring columns together with players=."
        )
    coalitions = AllCoalitions(q)
    for batch in game.batches(same, len(coalitions)):
        values = game.values(batch, q, coalitions)
        out.phi[batch[:, None], game.active(batch, q)] = shapley_values(values)
        out.empty[batch], out.full[batch] = values[:, 0], values[:, -1]


def _attribute_by_permutations(
    game: Game, same: Ints, q: int, n_permutations: int, rng: np.random.Generator, out: _Pairs
) -> None:
    orders, coalitions, steps = antithetic_walks(q, n_permutations, rng)
    for batch in game.batches(same, len(coalitions)):
        values = game.values(batch, q, coalitions)
        active = game.active(batch, q)
        phi, error = walk_values(values, orders, steps)
        out.phi[batch[:, None], active] = phi
        out.error[batch[:, None], active] = error
        out.empty[batch], out.full[batch] = values[:, 0], values[:, -1]
        out.estimated[batch] = True
