"""Folds of a table, and what a model does on the rows of one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fairshap._messages import check_count
from fairshap._models import Risk, Scorer, risk_of_scores, sees_attribute
from fairshap._problem import Problem, Target
from fairshap._typing import Bools, Floats, Ints, Native, Sides
from fairshap.exceptions import InputError
from fairshap.metrics import row_risks

# The default number of folds, and the number for tables of so many rows or more.
_FOLDS, _FEWER, _MANY = 5, 3, 100_000

# A small table is dealt into folds several times, until so many rows are held out in all.
_ENOUGH, _MAX_REPEATS = 8_000, 4


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """Positions of training and test rows: a pair for each fold of each repeat."""

    pairs: list[tuple[Ints, Ints]]
    n_repeats: int = 1

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_folds(self) -> int:
        """The number of folds in each repeat."""
        return len(self.pairs) // self.n_repeats

    def __str__(self) -> str:
        return f"{self.n_folds} folds" + (f", repeated {self.n_repeats} times" if self.n_repeats > 1 else "")


def strata_of(target: Target, side: Sides) -> Ints:
    """Return what rows are stratified by: the label and the group, privileged or not."""
    return 2 * target.codes.astype(np.int64) + np.maximum(side, 0)


def make_folds(target: Target, side: Sides, n_folds: int | None, n_repeats: int | None, seed: int) -> Folds:
    """Return folds that are stratified by label and group, or by group alone if a bin of a quantity is rare.

    The first repeat does not depend on the number of repeats, and rows whose attribute is missing need not be
    in every fold. By default there are fewer folds if a label of a group has fewer rows.
    """
    for name, number, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        if number is not None:
            check_count(number, name, ", or None", least)
    n_rows, strata = len(side), strata_of(target, side)
    counts = np.unique(strata[side >= 0], return_counts=True)[1]
    if target.classes is None and counts.min() < (n_folds or _FOLDS):
        strata = np.maximum(side, 0).astype(np.int64)
        counts = np.bincount(side[side >= 0])
    fewest = int(counts.min())
    if n_repeats is None:
        n_repeats = 1 if n_folds else int(np.clip(_ENOUGH // n_rows, 1, _MAX_REPEATS))
    asked = "The table cannot be split into folds" if n_folds is None else f"n_folds={n_folds} is too many"
    if n_folds is None:
        n_folds = max(2, min(fewest, _FOLDS if n_rows < _MANY else _FEWER))
    if fewest < n_folds:
        what = "one group" if target.classes is None else "one label of one group"
        has = f"{what} has {fewest} {'row' if fewest == 1 else 'rows'}"
        raise InputError(f"{asked}: {has}, and each fold needs one of them.", parameter="n_folds")
    pairs: list[tuple[Ints, Ints]] = []
    for repeat in range(n_repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
        pairs += splitter.split(np.zeros(n_rows), strata)
    return Folds(pairs, n_repeats)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What a model does on the held-out rows of a fold, by their positions in the table.

    The group is -1 where the attribute is missing, the risk NaN where a quantity is, and the score the
    probability or margin of the positive label. A decision flips if it changes when only the attribute does.
    If the model transforms rows, the raw risk is that of the rows as they were recorded.
    """

    rows: Ints
    true: Bools
    predicted: Bools
    group: Ints
    risk: Floats
    score: Floats | None = None
    flips: Floats | None = None
    is_probability: bool = False
    raw_risk: Floats | None = None


def judge(
    model: Any, problem: Problem, rows: Ints | None = None, is_blind: bool | None = None
) -> Predictions:
    """Return what a fitted model does on rows of a table, by default on all of them.

    Nothing changes with the attribute if the model ``is_blind``: it was trained without the attribute, and is
    asked without it if that is beside the table. By default the model says so.
    """
    rows = np.arange(problem.own.n_rows) if rows is None else rows
    is_blind = not sees_attribute(model, problem) if is_blind is None else is_blind
    target, scorer = problem.y, Scorer(model)
    positive = target.positive_value
    seen = problem.own if is_blind else problem.table
    table = seen.store.mix([rows] * len(seen.names), labels=rows)
    # The score first: its errors say what to do.
    score = scorer(table)
    predicted = np.asarray(model.predict(table)) == positive
    risk = flips = np.zeros(len(rows))
    if not is_blind:
        tells = tells_decisions(scorer, score, predicted, is_first=target.positive == 0)
        risk, flips = when_switched(Risk(scorer, problem), rows, tells=tells)
    if score.ndim > 1:
        score = score[:, list(model.classes_).index(positive)]
    elif target.positive == 0:
        score = 1 - score if scorer.has_probabilities else -score
    true, group = target.values[rows] == positive, problem.groups.code[rows]
    return Predictions(rows, true, predicted, group, risk, score, flips, scorer.has_probabilities)


def tells_decisions(scorer: Scorer, score: Floats, predicted: Bools, *, is_first: bool) -> bool:
    """Say whether scores tell which rows are predicted positive; not so for thresholds of the model's own.

    ``is_first`` says whether the positive label is the first of two.
    """
    return score.ndim == 1 and np.array_equal((score > cut_of(scorer)) != is_first, predicted)


def cut_of(scorer: Scorer) -> float:
    """Return the score above which the second of two labels is predicted."""
    return 0.5 if scorer.has_probabilities else 0.0


def when_switched(
    risk: Risk, rows: Ints, *, tells: bool, sources: Sequence[Ints] | None = None
) -> tuple[Floats, Floats]:
    """Return how far the output of each row, and its decision, change when only the attribute does.

    Asking for scores is enough where they tell the decisions. Column j of the rows has the cells of the rows
    ``sources[j]``, by default its own.
    """
    scorer, problem, groups = risk.scorer, risk.problem, risk.problem.groups
    sources = [rows] * len(problem.table.names) if sources is None else sources
    found = []
    for at in np.split(np.arange(len(rows)), range(risk.call_rows, len(rows), risk.call_rows)):
        part, own = [source[at] for source in sources], rows[at]
        scores = risk.switched_scores(part, own)
        if tells:
            decided = scores > cut_of(scorer)
        else:
            mixed, shape = risk.switched(part, own)
            labels = scorer.model.predict(problem.table.store.mix(mixed))
            decided = np.asarray(labels == problem.y.positive_value).reshape(shape)
        found.append([risk_of_scores(groups, values) for values in (scores, decided.astype(np.float64))])
    changed = np.concatenate(found, axis=1)
    if groups.by_row:
        changed[:, groups.side[rows] < 0] = np.nan
    return changed[0], changed[1]


def shuffled_risk(
    problem: Problem, train: Ints, fit: Callable[[Native], Any], judged: Problem, test: Ints, seed: int
) -> float:
    """Return the mean risk of rows under a model that is fitted with the attribute shuffled: noise.

    ``problem`` holds the rows to ``train`` on, ``judged`` those to ``test`` on.
    """
    order = np.random.default_rng(seed).permutation(train)
    columns = range(len(problem.table.names))
    sources = [order if column in problem.columns else train for column in columns]
    model = fit(problem.table.store.mix(sources, labels=train))
    return float(np.nanmean(row_risks(Risk(Scorer(model), judged), test)))
