"""How edits are kept within constraints: few in a row, plausible, and to no harm."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fairshap._problem import Problem, Target
from fairshap._problem.target import exceeds
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints
from fairshap.attribution import Explanation
from fairshap.attribution._subsets import risk_when_replaced
from fairshap.exceptions import InputError, TargetError

# A row that lacks less than this share of all weight fits.
_ROUNDING = 1e-12
# How many times the rows that would close a gap are edited; see docs/guide/edits.md.
_SWAPS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Narrowing:
    """Which rows, given the values of their references, narrow the gap in the rate of positive labels.

    An unprivileged row is compared with the privileged rows, a privileged one with the group of its
    reference: the group with the higher rate should look less like its positive rows, the other one less like
    its negative rows. Where the rates are equal there is nothing to narrow.
    """

    rows: Bools
    #: The kind of each row: rows of one kind take the place of one another.
    kind: Ints
    #: The weight of the rows of a row's kind that may be edited.
    room: Floats
    weight: Floats

    @classmethod
    def of(cls, problem: Problem, references: Ints) -> "Narrowing":
        """Return what narrows the gaps of a problem."""
        groups, target, n = problem.groups, problem.y, len(problem.groups.side)
        if target.positive_value is None:
            raise TargetError(
                "direction='parity' needs a target of two labels, one of which is positive; "
                + ("a quantity has none." if target.classes is None else f"y has {len(target.classes)}.")
                + " Leave direction out.",
                parameter="direction",
            )
        is_positive = target.values == target.positive_value
        weight = np.ones(n) if problem.sample_weight is None else problem.sample_weight

        def count(rows: Bools) -> tuple[float, float]:
            """Return the weight of rows, and the share of it that is positive."""
            total = float(weight[rows].sum())
            return total, float(weight[rows & is_positive].sum()) / total if total else np.nan

        # References may stand below the rows; those that are not rows of the table have no group.
        group = np.where(groups.side == 1, groups.group[references % n], groups.group)
        group[references < 0] = -1
        total, rate = count(groups.side == 1)
        # The last place is for all unprivileged rows together.
        others = [groups.group == k for k in range(groups.group.max() + 1)]
        totals, rates = np.array([count(rows) for rows in (*others, groups.side == 0)]).T
        ahead = rate - rates[group]
        is_favored = np.where(groups.side == 1, ahead > 0, ahead < 0)
        # Rows that weigh nothing have no part in the rates.
        narrows = (groups.side >= 0) & (weight > 0) & (is_favored == is_positive)
        narrows &= (ahead != 0) & ~np.isnan(ahead)
        # If so many rows of either kind changed their groups, the rates would be equal.
        swaps = np.abs(ahead) * total * totals[group] / (total + totals[group])
        return cls(narrows, 2 * group + is_positive, _SWAPS * swaps, weight)

    def keep(self, rows: Ints, replaced: Bools, importance: Floats, before: Ints) -> None:
        """Keep the replacements of the most important rows, as far as the gap needs them.

        Of equal rows the first come first; rows that were edited before stay, and take their room. One that
        does not fit is passed over, and the next may.
        """
        worth = np.where(replaced, importance, 0.0).sum(axis=1)
        order = np.argsort(-worth, kind="stable")
        order = order[replaced[order].any(axis=1) & ~np.isin(rows[order], before)]
        for kind in np.unique(self.kind[rows[order]]):
            mine = order[self.kind[rows[order]] == kind]
            room = float(self.room[rows[mine[0]]]) + _ROUNDING * self.weight.sum()
            room -= self.weight[before[self.kind[before] == kind]].sum()
            for at, weight in zip(mine.tolist(), self.weight[rows[mine]].tolist(), strict=True):
                if weight <= room:
                    room -= weight
                else:
                    replaced[at] = False


def keep_few(replaced: Bools, importance: Floats, cells: AnyCodes, room: Ints) -> None:
    """Keep the most important replacements of each row, of at most so many cells; ``room`` is used up."""
    order = np.argsort(np.where(replaced, -importance, np.inf), axis=1, kind="stable")
    taken = np.take_along_axis(np.where(replaced, cells, 0), order, axis=1)
    # One that does not fit is passed over, and the next may.
    for k in range(int(replaced.sum(axis=1).max(initial=0))):
        fits = taken[:, k] <= room
        room -= np.where(fits, taken[:, k], 0)
        rows = np.flatnonzero(~fits)
        replaced[rows, order[rows, k]] = False


def keep_plausible(explanation: Explanation, rows: Ints, replaced: Bools, importance: Floats) -> None:
    """Give up replacements, the least important first, until what is left is plausible.

    A row with its new values is plausible if every two of its categories, of which one is new, occur together
    in some row of the other group. Numbers take no part: hardly two rows have the same ones.
    """
    problem, table, side = explanation.problem, explanation.problem.table, explanation.problem.groups.side
    apart = ~np.isin(table.category_columns, problem.columns)
    codes, player = table.codes[:, apart], explanation.features.of_column[table.category_columns[apart]]
    width = int(codes.max(initial=0)) + 2
    own, other = codes[rows], codes[explanation.best[rows]]

    def keys(cells: Codes, of_side: AnyCodes, a: int, b: int) -> Ints:
        return ((of_side.astype(np.int64) * width) + cells[:, a] + 1) * width + cells[:, b] + 1

    @cache
    def occurring(a: int, b: int) -> Ints:
        # The references may stand below the rows, in a table of twice as many.
        return np.unique(keys(codes[-len(side) :], side, a, b))

    pending = np.arange(len(rows))
    while len(pending):
        mine = replaced[pending][:, player]
        mixed = np.where(mine, other[pending], own[pending])
        is_new = mine & (own[pending] != other[pending])
        broken = np.zeros((len(pending), replaced.shape[1]), dtype=np.bool_)
        for a in np.flatnonzero(is_new.any(axis=0)).tolist():
            at = np.flatnonzero(is_new[:, a])
            of_others = 1 - side[rows[pending[at]]]
            for b in np.flatnonzero(player != player[a]).tolist():
                unseen = ~np.isin(keys(mixed[at], of_others, a, b), occurring(a, b))
                broken[at[unseen], player[a]] = True
        # One at a time: without it the others may be plausible.
        at = np.flatnonzero(broken.any(axis=1))
        least = np.where(broken, importance[pending], np.inf).argmin(axis=1)[at]
        pending = pending[at]
        replaced[pending, least] = False


def keep_harmless(explanation: Explanation, rows: Ints, replaced: Bools, reject_if: str) -> None:
    """Take back the replacements of rows that they would harm."""
    harm = _miss if reject_if == "label_less_likely" else risk_when_replaced
    before, after = (harm(explanation, rows, who) for who in (np.zeros_like(replaced), replaced))
    replaced[exceeds(after, before, explanation.unit)] = False


def _miss(explanation: Explanation, rows: Ints, replaced: Bools) -> Floats:
    """Return how far the model is from the target of rows, some of whose features are the reference's."""
    risk, references = explanation.risk_function, explanation.best[rows]
    table, scorer, labels = risk.problem.table, risk.scorer, risk.problem.y
    codes = _positions(labels, getattr(scorer.model, "classes_", None))
    miss = np.empty(len(rows))
    for part in np.split(np.arange(len(rows)), range(risk.call_rows, len(rows), risk.call_rows)):
        own, other = rows[part], references[part]
        sources = [np.where(replaced[part, player], other, own) for player in explanation.features.of_column]
        # An attribute that was added is no player's column.
        sources += [own] * (len(table.names) - len(sources))
        scores = scorer(table.store.mix(sources))
        if labels.classes is None:
            miss[part] = np.abs(scores - labels.values[own])
        # Of a label it is minus its score, in whatever unit that is.
        elif scores.ndim == 1:
            miss[part] = np.where(codes[own] == 1, -scores, scores)
        else:
            miss[part] = -scores[np.arange(len(own)), codes[own]]
    return miss


def _positions(labels: Target, known: Any) -> Ints:
    """Return where the label of each row stands among those that the model knows, which may be more."""
    if labels.classes is None:
        return labels.codes
    # A part of a table need not hold all of them.
    own = np.searchsorted(labels.classes, labels.values)
    if known is None:
        return own
    places = {label: k for k, label in enumerate(np.asarray(known).tolist())}
    names = labels.classes.tolist()
    missing = [name for name in names if name not in places]
    if not missing:
        return np.array([places[name] for name in names], dtype=np.int64)[own]
    # A model may also have been trained on the numbers of the labels, from 0 on.
    if len(missing) == len(names) and list(places) == list(range(len(names))):
        return own
    raise InputError(
        f"reject_if='label_less_likely' asks the model for the labels of y, and it does not know "
        f"{missing[0]!r}; it knows {', '.join(map(repr, places))}.",
        parameter="reject_if",
    )
