"""Folds of a table: one rule for everything that is measured on rows that were not trained on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from fairshap._problem import Labels
from fairshap._typing import Ints, Sides
from fairshap.exceptions import InputError

# Folds where nothing else is said, and fewer of them from as many rows on.
_FOLDS, _FEWER, _MANY = 5, 3, 100_000

# Held-out rows, repeats counted, from which on a small table is measured well enough; repeats at most.
_ENOUGH, _MOST_REPEATS = 8_000, 4


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """Pairs of positions of training and of test rows.

    Parameters
    ----------
    pairs : list of pairs of ndarray of int
        All folds of all repeats.
    n_repeats : int
        How often the rows were dealt into folds.
    """

    pairs: list[tuple[Ints, Ints]]
    n_repeats: int = 1

    def __iter__(self) -> Iterator[tuple[Ints, Ints]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_folds(self) -> int:
        """How many folds there are each time."""
        return len(self.pairs) // self.n_repeats

    def __str__(self) -> str:
        return f"{self.n_folds} folds" + (f", repeated {self.n_repeats} times" if self.n_repeats > 1 else "")


def make_folds(labels: Labels, side: Sides, n_folds: int | None, n_repeats: int | None, seed: int) -> Folds:
    """Return folds in which each label of each side has its share.

    The same labels, sides and seed give the same folds, whoever asks. The first repeat of several is what
    there would be without repeats.

    Parameters
    ----------
    labels : Labels
        The target.
    side : ndarray of int
        Which rows are privileged. Those whose attribute is missing need not be in every fold.
    n_folds : int, optional
        How many folds; by default 5, 3 from 100,000 rows on, fewer where a label of a side has fewer rows.
    n_repeats : int, optional
        How often the rows are dealt into folds. By default, if ``n_folds`` is not given, up to four times, so
        that 8,000 rows are held out in all; otherwise once.
    seed : int
        The seed of the first repeat.
    """
    for name, number, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        is_whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if number is not None and (not is_whole or number < least):
            raise InputError(
                f"{name}={number!r} must be a whole number from {least} on, or None.", parameter=name
            )
    n_rows = len(side)
    strata = 2 * labels.codes.astype(np.int64) + np.maximum(side, 0)
    fewest = int(np.unique(strata[side >= 0], return_counts=True)[1].min())
    if n_repeats is None:
        n_repeats = 1 if n_folds else int(np.clip(_ENOUGH // n_rows, 1, _MOST_REPEATS))
    asked = "The table cannot be split into folds" if n_folds is None else f"n_folds={n_folds} is too many"
    if n_folds is None:
        n_folds = max(2, min(fewest, _FOLDS if n_rows < _MANY else _FEWER))
    if fewest < n_folds:
        raise InputError(
            f"{asked}: one label of one group has {fewest} {'row' if fewest == 1 else 'rows'}, and each fold "
            "needs one of them.",
            parameter="n_folds",
        )
    pairs: list[tuple[Ints, Ints]] = []
    for repeat in range(n_repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
        pairs += splitter.split(np.zeros(n_rows), strata)
    return Folds(pairs, n_repeats)
