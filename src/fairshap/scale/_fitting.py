"""How a repairer is fitted: the model, and references chosen from the rows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from fairshap._frames import Table
from fairshap._kernels.hashing import mix64
from fairshap._messages import check_count
from fairshap._models import Risk, Scorer
from fairshap._problem import Problem, Whole
from fairshap._typing import Bools, Floats, Hashes, Ints
from fairshap.attribution._calls import Game
from fairshap.attribution._explain import is_small
from fairshap.attribution._explanation import default_threshold, make_explainer
from fairshap.edits import Budget, OptimalSubset, Selector, Threshold
from fairshap.edits._selectors import make_constraints, make_selector
from fairshap.estimators import FairSHAP
from fairshap.exceptions import InputError
from fairshap.matching import NearestMatcher
from fairshap.matching._match import make_matcher, match_rows, read_column_weights
from fairshap.matching._plan import Metric
from fairshap.scale._references import References, choose_references
from fairshap.scale._repairer import Repairer

#: References of a stratum, a label of one side, by default: matching 100,000 rows then takes about a second
#: on two cores even where columns are independent, which is the worst case.
MAX_REFERENCES = 10_000
# Rows up to which a table may be small enough to be explained by calling the model.
_MAY_BE_SMALL = 23_000
# Rows whose references are compared with the nearest of all rows.
_COMPARED = 1000


def read_problem(
    repair: FairSHAP, X: pd.DataFrame, y: Any, positive: Any = None, sample_weight: Any = None
) -> Problem:
    """Return the problem of a table that a repairer is fitted on; what no batch can follow is an error."""
    matcher, constraints = make_matcher(repair.matcher), make_constraints(repair.constraints)
    selector = make_selector(repair.selector, None if repair.threshold == "auto" else repair.threshold)
    refused = {
        "matcher": not isinstance(matcher, NearestMatcher),
        "selector": selector.max_rounds > 1 or isinstance(selector, Budget),
        "constraints": constraints.plausible or constraints.direction is not None,
        "counterfactuals": repair.counterfactuals is not None,
        "explainer": make_explainer(repair.explainer).comparison == "random",
    }
    for name in (name for name, is_refused in refused.items() if is_refused):
        raise InputError(
            f"{name}={getattr(repair, name)!r} looks at all rows at once, which batches cannot. A repairer "
            "takes NearestMatcher, Threshold or OptimalSubset, constraints without plausible and direction, "
            "no counterfactuals, and the comparisons 'max' and 'mean'.",
            parameter=name,
        )
    return repair._problem(X, y, sample_weight=sample_weight, positive=positive)


def make_repairer(
    repair: FairSHAP,
    problem: Problem,
    number: Ints,
    *,
    target: Any = None,
    max_references: int | None = None,
    is_trained_on: Bools | None = None,
    scale: Floats | None = None,
    holes: Bools | None = None,
    n_rows: int | None = None,
    strata: tuple[Ints, Ints] | None = None,
) -> Repairer:
    """Return the repairer of a table, or of a larger one that the rows of ``problem`` are taken from.

    ``number`` are the numbers of the rows there, ``scale`` and ``holes`` the spread of its columns of numbers
    and which of them have missing ones; the model is fitted on the rows ``is_trained_on``. ``strata`` has a
    number for the stratum of each row, and the sizes that the strata have in the larger table.
    """
    if max_references is not None:
        check_count(max_references, "max_references", ", such as 100000, or None for all rows")
    threshold = repair.threshold
    if isinstance(threshold, str):
        from fairshap._crossval import best_threshold

        threshold = best_threshold(repair, problem)
    explainer, matcher = make_explainer(repair.explainer), make_matcher(repair.matcher)
    selector = _settled(make_selector(repair.selector, threshold), default_threshold(problem.target))
    constraints, players = make_constraints(repair.constraints), explainer.players(problem.own)
    constraints.features(problem.own, players)
    matcher.check()
    seed = check_random_state(repair.random_state).randint(np.iinfo(np.int32).max)
    is_seed = isinstance(repair.random_state, (int, np.integer))
    reach = selector.reach(np.inf)
    reach = reach if reach is not None and np.isfinite(reach) else None
    options = explainer.options(reach, int(repair.random_state) if is_seed else seed)
    model = repair._fitted_model(_part(problem, is_trained_on))
    risk = Risk(Scorer(model), problem)
    is_few = False
    if is_trained_on is None and problem.own.n_rows <= _MAY_BE_SMALL:
        plan = match_rows(problem, matcher, n_jobs=repair.n_jobs)
        is_few = is_small(Game(risk, players, plan.row, plan.reference), options)
    weights = read_column_weights(matcher.column_weights, problem)
    weights[list(problem.columns)] = 0.0
    metric = Metric.of(problem.own, weights, scale)
    if holes is not None:
        metric = replace(metric, holes=holes[metric.columns])
    whole = Whole.of(problem, is_cut=matcher.bins is not None)
    groups = problem.groups
    group = groups.group if matcher.pairing == "each" else np.minimum(groups.group, 0)
    facts = problem.own, number, problem.y.codes, groups.side, group, metric
    rank = ranks(number, seed)
    rows, found = _choose(facts, problem.y.names, max_references, rank, strata)
    references = References.of(facts[0], rows, *facts[1:])
    if len(rows) < sum(one["rows"] for one in found.values()):
        found |= _compare(facts, references, rank, repair.n_jobs)
    # Of a quantity the medians of both sides, of values a row that has each of them.
    at = (
        [int(groups.donors[groups.side == 1 - s][0, 1]) for s in (0, 1)]
        if groups.by_row
        else groups.donors[0]
    )
    frame = problem.own.native
    return Repairer(
        risk.scorer,
        frame.iloc[:0],
        problem.own.numeric_columns,
        whole,
        references,
        frame.iloc[at].reset_index(drop=True),
        matcher,
        players,
        selector,
        constraints,
        replace(options, is_small=is_few),
        risk.unit,
        len(number) if n_rows is None else n_rows,
        target,
        found,
    )


def _choose(
    facts: Any, names: tuple[str, ...], most: int | None, rank: Ints, strata: tuple[Ints, Ints] | None
) -> tuple[Ints, dict[str, Any]]:
    """Return the rows that are references, and by stratum how many there are of how many."""
    table, _, label, side, group, _ = facts
    kept, found = [], {}
    for code, name in enumerate(names):
        for s, word in ((0, "unprivileged"), (1, "privileged")):
            for g in np.unique(group[side == s]).tolist():
                rows = np.flatnonzero((label == code) & (side == s) & (group == g))
                chosen = choose_references(table, rows, len(rows) if most is None else most, rank)
                kept.append(chosen)
                key = f"{word}, {name}" + (f", group {g}" if group.max() > 0 and s == 0 else "")
                of = len(rows) if strata is None else int(strata[1][np.unique(strata[0][rows])].sum())
                found[key] = {"rows": of, "references": len(chosen)}
    return np.sort(np.concatenate(kept)), found


def _compare(facts: Any, references: References, rank: Ints, n_jobs: int | None) -> dict[str, Any]:
    """Return how much farther references are than the nearest of all rows that could be."""
    table, _, label, side, group, _ = facts
    everyone = References.of(table, np.flatnonzero(side >= 0), *facts[1:])
    n_threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    some = np.argsort(rank, kind="stable")
    some = np.sort(some[side[some] >= 0][:_COMPARED])
    sums = np.zeros(2)
    for code in np.unique(label[some]).tolist():
        for s in (0, 1):
            rows = some[(label[some] == code) & (side[some] == s)]
            for of in [-1] if s == 0 else np.unique(group[side == 0]).tolist():
                for k, among in enumerate((references, everyone)):
                    squared = among.nearest(table, rows, code, of, 1, n_threads)[2]
                    sums[k] += np.sqrt(squared).sum()
    ratio = float(sums[0] / sums[1]) if sums[1] > 0 else 1.0
    return {"distance_ratio": ratio, "compared": len(some), "candidates": len(everyone)}


def ranks(number: Ints, seed: int) -> Ints:
    """Return a fixed random number of each row, which goes by its number and the seed alone."""
    keys: Hashes = number.astype(np.uint64) ^ mix64(np.array([seed], dtype=np.uint64))
    return (mix64(keys) >> np.uint64(1)).astype(np.int64)


def _settled(selector: Selector, threshold: float) -> Selector:
    """Return a selector whose threshold does not depend on the rows that it is shown."""
    if isinstance(selector, Threshold):
        return Threshold(selector.reach(threshold))
    if isinstance(selector, OptimalSubset):
        return OptimalSubset(threshold if selector.cost is None else selector.cost)
    return selector


def _part(problem: Problem, chosen: Bools | None) -> Problem:
    """Return the problem of some rows, as far as fitting a model needs it."""
    if chosen is None:
        return problem
    rows, target = np.flatnonzero(chosen), problem.y
    own = Table.read(problem.own.native.iloc[rows].reset_index(drop=True))
    weight = None if problem.sample_weight is None else problem.sample_weight[rows]
    fitted = replace(target, codes=target.codes[rows], values=target.values[rows])
    return replace(problem, own=own, table=own, target=fitted, sample_weight=weight)
