"""Folds of a table, and what a model does on the rows of one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fairshap._models import Risk, Scorer
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
    """Return folds that are stratified by label and group.

    The first repeat does not depend on the number of repeats, and rows whose attribute is missing need not be
    in every fold. By default there are fewer folds if a label of a group has fewer rows.
    """
    for name, number, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        is_whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if number is not None and (not is_whole or number < least):
            message = f"{name}={number!r} must be a whole number from {least} on, or None."
            raise InputError(message, parameter=name)
    n_rows, strata = len(side), strata_of(target, side)
    fewest = int(np.unique(strata[side >= 0], return_counts=True)[1].min())
    if n_repeats is None:
        n_repeats = 1 if n_folds else int(np.clip(_ENOUGH // n_rows, 1, _MAX_REPEATS))
    asked = "The table cannot be split into folds" if n_folds is None else f"n_folds={n_folds} is too many"
    if n_folds is None:
        n_folds = max(2, min(fewest, _FOLDS if n_rows < _MANY else _FEWER))
    if fewest < n_folds:
        has = f"one label of one group has {fewest} {'row' if fewest == 1 else 'rows'}"
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
    probability or margin of the positive label. If the model transforms rows, the raw risk is that of the
    rows as they were recorded.
    """

    rows: Ints
    true: Bools
    predicted: Bools
    group: Ints
    risk: Floats
    score: Floats | None = None
    raw_risk: Floats | None = None


def judge(model: Any, problem: Problem, rows: Ints | None = None) -> Predictions:
    """Return what a fitted model does on rows of a table, by default on all of them."""
    rows = np.arange(problem.table.n_rows) if rows is None else rows
    target, scorer = problem.y, Scorer(model)
    positive = target.positive_value
    table = problem.table.store.mix([rows] * len(problem.table.names), labels=rows)
    predicted = np.asarray(model.predict(table)) == positive
    score = scorer(table)
    if score.ndim > 1:
        score = score[:, list(model.classes_).index(positive)]
    elif target.positive == 0:
        score = -score
    true, risk = target.values[rows] == positive, row_risks(Risk(scorer, problem), rows)
    return Predictions(rows, true, predicted, problem.groups.code[rows], risk, score)


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
