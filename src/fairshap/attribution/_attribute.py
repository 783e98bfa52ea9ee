"""Attribute the risk of each row to its players."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils import check_random_state

from fairshap._frames import Players, PlayersLike
from fairshap._kernels.shapley import AllCoalitions, shapley_values
from fairshap._models import NotNativeError, Risk, Scorer
from fairshap._problem import Comparison, Privileged, Setting
from fairshap._progress import Progress
from fairshap._typing import AnyCodes, Ints, Native
from fairshap.attribution._game import Game
from fairshap.attribution._options import Method, Options
from fairshap.attribution._permutations import estimate_pairs
from fairshap.attribution._result import Attributions
from fairshap.attribution._rows import Rows
from fairshap.exceptions import InputError
from fairshap.matching import MatchPlan

if TYPE_CHECKING:
    from fairshap.attribution._linear import LinearGame
    from fairshap.attribution._native import TreeGame

# 2^20 coalitions of one pair are 8 MiB of values and seconds of model calls.
_MOST_EXACT = 20

# How many active players a row may have, with "auto", to be solved exactly.
_AUTO_BY_CALLS, _AUTO_BY_TREES = 12, 20

# What estimating a row costs, in coalitions of one that is enumerated.
_ESTIMATE_WORK = 1 << 18

# Coalitions up to which calling the model is done before compiled code is even loaded. Seven thousand rows
# have about as many: a first look at them waits for no compiler, and walking would save later ones a quarter
# of a second.
_SMALL = 23_000


def attribute(
    model: Any,
    X: Native,
    R: Native | MatchPlan,
    *,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    comparison: Comparison = "max",
    min_group_size: int | None = None,
    players: PlayersLike = None,
    method: Method = "auto",
    max_exact: int | None = None,
    n_permutations: int = 128,
    threshold: float | None = None,
    screen: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Attributions:
    r"""Return the Shapley values of every row's discriminative risk against its reference.

    The game of a row x with reference r is ``v(S) = DR(x on S, r elsewhere)``, with
    ``DR(x) = |f(x, A=0) - f(x, A=1)|``; phi_k is player k's Shapley value in it. For a regressor f is the
    prediction, and so all values are in its units; for more than two classes DR is the total variation, half
    the sum over the classes.

    The trees of XGBoost, LightGBM and scikit-learn models are walked, and linear models are solved by their
    weights, as a rule for any number of players, also behind preprocessing that works column by column; any
    other model is called, and so is one of more than two classes. ``route`` in the result says which.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows to explain, as the model takes them.
    R : data frame, array or MatchPlan
        One reference row for each row of X, same columns; or a plan that names rows of X.
    sensitive : column name, or position for an array, or a list of them
        The sensitive attribute, if it is a column of X; several make a group of each combination.
    privileged : value, list of values, pandas.Interval or function
        Which values are privileged; a tuple for several columns.
    sensitive_features : array-like, optional
        The sensitive attribute, if it is not a column of X; the model sees it as a last column.
    comparison, min_group_size
        How several values of the attribute are compared; see :func:`fairshap.metrics.discriminative_risk`.
    players : mapping or list of lists, optional
        Columns that are switched as one, such as the one-hot features of one category. By default each
        column is a player of its own.
    method : {"auto", "exact", "permutation"}, default="auto"
        "exact" asks the model about all coalitions of the players that differ; "permutation" averages
        over random orders; "auto" is exact for rows with at most ``max_exact`` such players.
    max_exact : int, optional
        See ``method``; by default 20 where the model's trees can be walked, and 12 where it is called.
    n_permutations : int, default=128
        How many random orders are drawn at most, each of them walked in both directions.
    threshold : float, optional
        The threshold that the values will be compared with, in units of the model's output. A row stops
        being estimated once each of its values is clear of it by its error.
    screen : bool, default=False
        Leave out the rows none of whose values can reach the threshold: their values are NaN and their
        status is "skipped". Rows that are estimated are screened by their exact bound. It takes a model
        whose trees are walked; others, and small tables, are not screened.
    random_state : int, RandomState instance or None
        The source of those orders, and of the values that a random comparison draws.
    n_jobs : int, optional
        How many threads work; all cores by default. The values are the same for any number.
    verbose : int, default=0
        From 1 on, a bar shows how far it is when that takes over two seconds.

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
    options = Options(method, max_exact, n_permutations, threshold, screen, random_state, n_jobs, verbose)
    setting = Setting.read(
        X,
        sensitive,
        privileged,
        sensitive_features,
        comparison=comparison,
        min_group_size=min_group_size,
        random_state=random_state,
    )
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
        options=options,
    )


def attribute_pairs(
    risk: Risk, plan: MatchPlan, *, players: Players, n_rows: int, options: Options
) -> Attributions:
    """Return the attributions of all pairs of a plan, averaged with its weights for each row."""
    players.check_alone(risk.setting.columns)
    if risk.setting.groups.by_row:
        # A quantity that is missing has no side, and so no value to be compared with.
        plan = plan.of_rows(risk.setting.groups.side[plan.row] >= 0)
    by_calls = Game(risk, players, plan.row, plan.reference)
    rows = Rows(plan, players, n_rows, risk.unit)
    game, route = native_game(by_calls, options)
    seed = check_random_state(options.random_state).randint(np.iinfo(np.int32).max)
    if route == "trees":
        _attribute_by_trees(cast("TreeGame", game), rows, options, seed)
    else:
        left = np.arange(len(plan))
        if game is not None:
            with Progress("Attributing", len(plan), options.verbose) as progress:
                left = cast("LinearGame", game).solve(rows, progress)
        _attribute_by_calls(by_calls, left, rows, options, seed)
    return rows.attributions(route, risk.setting.table.store.library)


def native_game(game: Game, options: Options) -> tuple["TreeGame | LinearGame | None", str]:
    """Return the same games through the model's own parts, if that can be, and how they are played."""
    if is_small(game):
        return None, "model calls: the table is small"
    if game.risk.scorer.n_classes > 2:
        return None, f"model calls: the model has {game.risk.scorer.n_classes} classes"
    from fairshap.attribution._linear import LinearGame, is_linear
    from fairshap.attribution._native import TreeGame

    pairs = game.risk, game.players, game.rows, game.references
    try:
        return TreeGame(*pairs, options.n_jobs), "trees"
    except NotNativeError as error:
        reason = error
    if is_linear(game.risk.scorer):
        if options.method == "permutation":
            return None, "model calls: permutations were asked for, which a linear model has no use for"
        try:
            return LinearGame(*pairs, options.n_jobs), "weights"
        except NotNativeError as error:
            reason = error
    return None, f"model calls: {reason}"


def is_small(game: Game) -> bool:
    """Say whether calling the model about all coalitions is quicker than getting ready for anything else."""
    # Every pair has a coalition: many pairs need not be looked at.
    return len(game.rows) <= _SMALL and float(np.exp2(game.q).sum()) <= _SMALL


def _attribute_by_calls(game: Game, pairs: Ints, rows: Rows, options: Options, seed: int) -> None:
    # A small table is solved as it would be by trees, so that no row depends on how many there are.
    most = _most(options, _AUTO_BY_TREES if is_small(game) else _AUTO_BY_CALLS)
    of_pairs = game.q[pairs]
    _check_most(of_pairs[of_pairs <= most])
    with Progress("Attributing", len(pairs), options.verbose) as progress:
        for q in np.unique(of_pairs).tolist():
            same = pairs[of_pairs == q]
            if q > most:
                estimate_pairs(game, same, q, rows, options, seed, progress)
                continue
            coalitions = AllCoalitions(q)
            for batch in game.batches(same, len(coalitions)):
                values, active = game.values(batch, q, coalitions)
                counts = np.full(len(batch), q)
                rows.add(batch, counts, active, shapley_values(values), values[:, -1], values[:, 0])
                progress.advance(len(batch), len(batch))


def _attribute_by_trees(game: "TreeGame", rows: Rows, options: Options, seed: int) -> None:
    most = _most(options, _AUTO_BY_TREES)
    pairs = np.arange(len(game.q))
    if options.screen and options.threshold is not None:
        pairs = rows.skip(*game.bound(pairs), options.threshold)
    reached = game.reached(pairs, most)
    is_exact = reached <= most
    _check_most(reached[is_exact])
    left, q_left = pairs[~is_exact], game.q[pairs[~is_exact]]
    exact, counts = pairs[is_exact], reached[is_exact]
    work = game.work(counts)
    with Progress("Attributing", work.sum() + len(left) * _ESTIMATE_WORK, options.verbose) as progress:
        solved = game.solve(exact, counts, work, progress)
        rows.add(exact, solved.counts, solved.active, solved.phi, solved.full, solved.empty)
        for q in np.unique(q_left).tolist():
            estimate_pairs(game, left[q_left == q], q, rows, options, seed, progress, _ESTIMATE_WORK)


def _most(options: Options, auto: int) -> float:
    """Return how many players a row may have to be solved exactly."""
    auto = auto if options.max_exact is None else options.max_exact
    # One player, or none, leaves nothing to estimate.
    return {"exact": np.inf, "auto": max(auto, 1), "permutation": 1}[options.method]


def _check_most(q: AnyCodes) -> None:
    """Raise an error if some pair has more active players than can be enumerated."""
    if len(q) and q.max() > _MOST_EXACT:
        raise InputError(
            f"{int((q == q.max()).sum())} rows differ from their reference in {q.max()} players: "
            f"2^{q.max()} coalitions are too many; {_MOST_EXACT} players are the most. Use method='auto' "
            "with a smaller max_exact, or bring columns together with players=.",
            parameter="max_exact",
        )
