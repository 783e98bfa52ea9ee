"""Explain a model on a table: the Shapley values of each row's risk, or score, against its reference."""

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils import check_random_state

from fairshap._frames import Players
from fairshap._kernels.shapley import AllCoalitions, shapley_values
from fairshap._messages import Forecast, Progress
from fairshap._models import NotNativeError, Risk, Scorer
from fairshap._models.scorer import MisreadError, MixedColumnsError, rows_of
from fairshap._problem import Privileged, Problem
from fairshap._typing import AnyCodes, Ints, Native
from fairshap.attribution._calls import Game, Rows, estimate_pairs
from fairshap.attribution._explanation import Explainer, Explanation, Options, make_explainer
from fairshap.exceptions import InputError, ModelError
from fairshap.matching import MatchPlan

if TYPE_CHECKING:
    from fairshap.attribution._composed import ComposedGame, LinearGame
    from fairshap.attribution._trees import TreeGame

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
# Columns that are offered to be taken as one.
_MOST_TOGETHER = 8


def explain(
    model: Any,
    X: Native,
    R: Native | MatchPlan,
    *,
    y: Any = None,
    sensitive: Any = None,
    privileged: Privileged = None,
    sensitive_features: Any = None,
    explainer: Explainer | None = None,
    min_group_size: int | None = None,
    threshold: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Explanation:
    r"""Return the explanation of a fitted model on a table.

    The game of a row x with reference r is ``v(S) = DR(x on S, r elsewhere)``, with
    ``DR(x) = |f(x, A=0) - f(x, A=1)|``; phi_k is the Shapley value of feature k in it. For a regressor f is
    the prediction, and all values are in its units. With more than two classes DR is the total variation,
    half the sum over the classes.

    With ``Explainer(game="gap")`` it is the score gap between the two people of a pair instead,
    ``v(S) = s (f(x on S, r elsewhere) - f(r))`` with s = 1 for a privileged row and -1 for an unprivileged
    one: how much each of the row's own values adds to the gap in favor of the privileged person.

    fairshap reads the model where it can: the trees of XGBoost, LightGBM, CatBoost and scikit-learn, linear
    models, and models made of these, such as bags, votes, stacks and calibrations; also behind preprocessing
    that works column by column. It calls any other model. ``route`` in the result says which.

    Parameters
    ----------
    model : object
        A fitted regressor, or classifier with ``predict_proba`` or ``decision_function``.
    X : data frame or array
        The rows to explain, as the model takes them.
    R : data frame, array or MatchPlan
        One reference row for each row of X, same columns; or a plan that names rows of X.
    y : array-like, optional
        The target. Only constraints that look at the label, and a regressor's default threshold, need it.
    sensitive, privileged, sensitive_features, min_group_size
        The sensitive attribute, as in :class:`fairshap.FairSHAP`. The model sees one that is given by
        ``sensitive_features`` as a last column; in the gap game it does not see it.
    explainer : Explainer, optional
        How the values are computed.
    threshold : float, optional
        The threshold that the values will be compared with. A row stops being estimated once each of its
        values is clear of it by its standard error.
    random_state : int, RandomState instance or None
        The source of random orders, and of the values that a random comparison draws.
    n_jobs, verbose : int, optional
        The number of threads, all cores by default, on which the values do not depend; and from 1 on a
        progress bar for what takes over two seconds.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import fairshap
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> explanation = fairshap.explain(model, X, X[[1, 0, 3, 2]], sensitive=0, privileged=1)
    >>> explanation
    Explanation(4 rows x 2 features: 4 exact, by model calls)
    >>> bool(np.allclose(explanation.values.sum(axis=1), explanation.risk - explanation.reference_risk))
    True
    """
    explainer = make_explainer(explainer)
    options = explainer.options(threshold, random_state, n_jobs, verbose)
    problem = Problem.read(
        X,
        y,
        sensitive=sensitive,
        privileged=privileged,
        sensitive_features=sensitive_features,
        comparison=explainer.comparison,
        min_group_size=min_group_size,
        random_state=random_state,
        is_fitted=options.game == "risk",
        positive=explainer.positive,
    )
    if explainer.positive is not None:
        # Without a target nothing tells which of the model's labels it is.
        _ = problem.y
    if options.game == "gap":
        problem = problem.without_added
    n = problem.table.n_rows
    if isinstance(R, MatchPlan):
        plan = R
        plan.check_fits(n)
    else:
        problem = problem.with_references(R)
        plan = MatchPlan(2 * n, np.arange(n), np.arange(n, 2 * n), np.ones(n), np.zeros(n))
    return explain_matched(model, problem, plan, explainer.players(problem.own), options)


def explain_matched(
    model: Any, problem: Problem, plan: MatchPlan, players: Players, options: Options
) -> Explanation:
    """Return the explanation of a fitted model on a table whose rows are matched."""
    return explain_risk(Risk(Scorer(model), problem), plan, players, options)


def explain_risk(risk: Risk, plan: MatchPlan, players: Players, options: Options) -> Explanation:
    """Return the explanation of a model's risk on a table whose rows are matched."""
    problem = risk.problem
    players.check_alone(problem.columns)
    is_gap, side = options.game == "gap", problem.groups.side
    risk = risk.on(replace(problem, table=players.switch(problem.table)))
    if is_gap:
        _check_columns(risk)
    # A quantity that is missing has no side, and so no value to be compared with; nor has a gap a direction.
    pairs = plan.of_rows(side[plan.row] >= 0) if problem.groups.by_row or is_gap else plan
    by_calls = Game(risk.of_scores() if is_gap else risk, players, pairs.row, pairs.reference)
    rows = Rows(pairs, players, len(side), risk.unit, problem.gap_sign if is_gap else None)
    game, route = native_game(by_calls, options)
    seed = check_random_state(options.random_state).randint(np.iinfo(np.int32).max)
    if route == "trees":
        _attribute_by_trees(cast("TreeGame", game), rows, options, seed)
    else:
        left = np.arange(len(pairs))
        if route == "weights":
            with Progress("Explaining", len(pairs), options.verbose) as progress:
                left = cast("LinearGame", game).solve(rows, progress)
            game = by_calls
        _attribute_by_calls(cast("Game", game or by_calls), left, rows, options, seed, route)
    return Explanation(risk, plan, players, route=route, options=options, **rows.finish())


def _check_columns(risk: Risk) -> None:
    """Raise an error if a model was fitted without the attribute that the table holds, and misses that."""
    problem, model = risk.problem, risk.scorer.model
    takes, width = getattr(model, "n_features_in_", None), len(problem.table.names)
    if not problem.columns or takes != width - len(problem.columns):
        return
    try:
        risk.scorer(rows_of(problem.table, np.arange(1)))
    except Exception as error:
        raise ModelError(
            f"the model takes {takes} columns and X has {width}, one of them {problem.groups.name!r}, which "
            "the model never sees. Leave it out of X and give it as sensitive_features.",
            parameter="sensitive",
        ) from error


def explain_again(explanation: Explanation, model: Any, X: Native, original: Native) -> Explanation:
    """Explain another model on the rows with other cells, against the references as they were."""
    problem, plan = explanation.problem.with_cells(X).with_references(original), explanation.match_plan
    if plan.n_rows == len(problem.groups.side):
        plan = plan.to_rows_below()
    return explain_matched(model, problem, plan, explanation.features, explanation.options)


def native_game(
    game: Game, options: Options
) -> tuple["TreeGame | LinearGame | ComposedGame | Game | None", str]:
    """Return the same games through the model's own parts, if that can be, and how they are played."""
    scorer = game.risk.scorer
    if is_small(game, options):
        return None, "model calls: the table is small"
    from fairshap._models.encoded import EncodedRisk
    from fairshap._models.linear import is_linear
    from fairshap.attribution._composed import ComposedGame, LinearGame
    from fairshap.attribution._trees import TreeGame

    reason: NotNativeError | None = None
    linear = is_linear(scorer)
    if linear and options.method == "permutation":
        return None, "model calls: permutations were asked for, which a linear model has no use for"
    for kind, route in ((TreeGame, "trees"), (LinearGame, "weights") if linear else (ComposedGame, "parts")):
        try:
            return kind(game, options.n_jobs), route
        except NotNativeError as error:
            reason = error
            if isinstance(error, MisreadError):
                break
    text = _say(cast("NotNativeError", reason), game.risk.problem)
    try:
        encoded = Game(EncodedRisk(game.risk), game.players, game.rows, game.references)
    except NotNativeError as error:
        if isinstance(error, MixedColumnsError) and not isinstance(reason, MixedColumnsError):
            text += f"; {_say(error, game.risk.problem)}"
        return None, f"model calls: {text}"
    return encoded, f"model calls on encoded rows: {text}"


def _say(error: NotNativeError, problem: Problem) -> str:
    """Return why a model is called, and if it mixes columns what to do about that."""
    if not isinstance(error, MixedColumnsError):
        return str(error)
    if {problem.table.names[column] for column in problem.columns} & set(chain(*error.sets)):
        return f"{error}, one of them the sensitive attribute; make that feature without it"
    if max(map(len, error.sets)) > _MOST_TOGETHER:
        return f"{error}; a step before it that works column by column is not repeated for each call"
    groups = {"+".join(map(str, columns)): columns for columns in error.sets}
    return f"{error}; Explainer(feature_groups={groups!r}) takes them as one, which is faster"


def is_small(game: Game, options: Options) -> bool:
    """Say whether calling the model about all coalitions is quicker than getting ready for anything else."""
    if options.is_small is not None:
        return options.is_small
    # Every pair has a coalition: many pairs need not be looked at.
    return len(game.rows) <= _SMALL and float(np.exp2(game.q).sum()) <= _SMALL


def _attribute_by_calls(game: Game, pairs: Ints, rows: Rows, options: Options, seed: int, route: str) -> None:
    # A small table is solved as it would be by trees, so that no row depends on how many there are.
    many = not isinstance(game, Game) or is_small(game, options)
    most = _most(options, _AUTO_BY_TREES if many else _AUTO_BY_CALLS)
    of_pairs = game.q[pairs]
    _check_most(of_pairs[of_pairs <= most])
    why = route.partition(": ")[2] or "some rows differ from their reference in too many features"
    # An estimate walks each order in both directions.
    walked = np.minimum(2.0 * options.n_permutations * of_pairs, np.exp2(of_pairs))
    game.forecast = Forecast(np.where(of_pairs <= most, np.exp2(of_pairs), walked).sum(), why)
    with Progress("Explaining", len(pairs), options.verbose) as progress:
        alike = {q: pairs[of_pairs == q] for q in np.unique(of_pairs).tolist()}
        exact = [(same, q, AllCoalitions(q)) for q, same in alike.items() if q <= most]
        jobs = [(part, q, every) for same, q, every in exact for part in game.batches(same, len(every))]
        for (batch, q, _), (values, active) in zip(jobs, game.values_of(jobs), strict=True):
            counts = np.full(len(batch), q)
            rows.add(batch, counts, active, shapley_values(values), values[:, -1], values[:, 0])
            progress.advance(len(batch), len(batch))
        for q, same in alike.items():
            if q > most:
                estimate_pairs(game, same, q, rows, options, seed, progress)


def _attribute_by_trees(game: "TreeGame", rows: Rows, options: Options, seed: int) -> None:
    most = _most(options, _AUTO_BY_TREES)
    if game.is_additive and options.method != "permutation":
        # Nothing is enumerated, as long as the players are bits of a number.
        most = game.most_players
    pairs = np.arange(len(game.q))
    reached = game.reached(pairs, most)
    is_exact = reached <= most
    if not game.is_additive:
        _check_most(reached[is_exact])
    left, q_left = pairs[~is_exact], game.q[~is_exact]
    exact, counts = pairs[is_exact], reached[is_exact]
    work = game.work(counts)
    with Progress("Explaining", work.sum() + len(left) * _ESTIMATE_WORK, options.verbose) as progress:
        game.solve(rows, exact, counts, work, progress)
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
            f"{int((q == q.max()).sum())} rows differ from their reference in {q.max()} features: "
            f"2^{q.max()} coalitions are too many; {_MOST_EXACT} features are the most. Use method='auto' "
            "with a smaller max_exact, or group columns with feature_groups."
        )
