"""Constraints: which cells may be edited, and which edits are taken back."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._frames import Players, Table
from fairshap._messages import check_choice, check_count
from fairshap._models import Risk
from fairshap._problem import Groups, Target
from fairshap._problem.target import exceeds
from fairshap._typing import AnyCodes, Bools, Codes, Floats, Ints
from fairshap.attribution import Explanation
from fairshap.attribution._subsets import risk_when_replaced
from fairshap.exceptions import InputError

#: The groups whose rows are edited, and their sides.
SIDES = {"both": (0, 1), "unprivileged": (0,), "privileged": (1,)}
#: When a row's edits are taken back.
Rejection: TypeAlias = Literal["risk_rises", "label_less_likely"] | None
REJECTIONS = ("risk_rises", "label_less_likely")


class EditConstraints(BaseEstimator):
    """Which cells may be edited.

    Parameters
    ----------
    frozen : list of columns, default=None
        Columns that are never edited.
    editable : list of columns, default=None
        The only columns that are edited.
    max_per_row : int, default=None
        The largest number of edited cells in a row; those of the largest Shapley values are kept.
    group : {"both", "unprivileged", "privileged"}, default="both"
        The groups whose rows are edited.
    plausible : bool, default=False
        Whether a new category must occur, with each of the row's other categories, in some row of the other
        group.
    reject_if : {"risk_rises", "label_less_likely"}, default=None
        Leave a row unedited if its risk under the explained model would rise, or if its own label would
        become less likely (for a regressor, if its prediction would move away from the target).

    Examples
    --------
    >>> EditConstraints(frozen=["age"], max_per_row=2)
    EditConstraints(frozen=['age'], max_per_row=2)
    """

    def __init__(
        self,
        *,
        frozen: Sequence[Any] | None = None,
        editable: Sequence[Any] | None = None,
        max_per_row: int | None = None,
        group: Literal["both", "unprivileged", "privileged"] = "both",
        plausible: bool = False,
        reject_if: Rejection = None,
    ) -> None:
        self.frozen = frozen
        self.editable = editable
        self.max_per_row = max_per_row
        self.group = group
        self.plausible = plausible
        self.reject_if = reject_if

    def check(self) -> None:
        """Raise an error if a parameter makes no sense."""
        check_choice(self.group, "group", list(SIDES))
        if self.frozen is not None and self.editable is not None:
            raise InputError("frozen and editable are both given; give one of the two.", parameter="frozen")
        if self.max_per_row is not None:
            check_count(self.max_per_row, "max_per_row", ", such as 2, or None")
        check_choice(self.reject_if, "reject_if", (None, *REJECTIONS))

    def given(self) -> list[str]:
        """Return the parameters that constrain anything, as they are written in Python."""
        default = EditConstraints().get_params()
        return [f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name]]

    def features(self, table: Table, players: Players) -> Bools:
        """Say which features may be edited: those none of whose columns is frozen."""
        word = "frozen" if self.editable is None else "editable"
        names = getattr(self, word)
        if isinstance(names, str) or (names is not None and not np.iterable(names)):
            raise InputError(
                f"{word}={names!r} must be a list of columns, such as [{names!r}].", parameter=word
            )
        named = [table.position(name, word) for name in (() if names is None else names)]
        if word == "editable" and not named:
            raise InputError("editable names no columns, so that nothing could be edited.", parameter=word)
        may = np.full(len(players.names), True)
        frozen = named if word == "frozen" else np.setdiff1d(np.arange(len(table.names)), named)
        may[players.of_column[frozen]] = False
        return may

    def rows(self, groups: Groups) -> Bools:
        """Say which rows may be edited."""
        return np.isin(groups.side, SIDES[self.group])

    def narrow(
        self, explanation: Explanation, rows: Ints, replaced: Bools, importance: Floats, cells: AnyCodes
    ) -> None:
        """Give up replacements that are too many in a row, or not plausible; ``replaced`` is changed."""
        if self.max_per_row is not None:
            _keep_few(replaced, importance, cells, self.max_per_row)
        if self.plausible:
            _keep_plausible(explanation, rows, replaced, importance)

    def reject(self, explanation: Explanation, rows: Ints, replaced: Bools) -> None:
        """Take back the replacements of rows that they would harm; ``replaced`` is changed."""
        if self.reject_if is None or not len(rows):
            return
        risk, players, references = explanation.risk_function, explanation.features, explanation.best[rows]
        harm = _miss if self.reject_if == "label_less_likely" else risk_when_replaced
        both = (np.zeros_like(replaced), replaced)
        before, after = (harm(risk, players, rows, references, who) for who in both)
        replaced[exceeds(after, before, risk.unit)] = False


def make_constraints(constraints: Any) -> EditConstraints:
    """Return the constraints that were given, checked, or those that allow everything."""
    if constraints is None:
        return EditConstraints()
    if not isinstance(constraints, EditConstraints):
        raise InputError(
            f"constraints={constraints!r} is not known; give fairshap.EditConstraints(...), for example "
            "EditConstraints(frozen=['age']).",
            parameter="constraints",
        )
    constraints.check()
    return constraints


def _keep_few(replaced: Bools, importance: Floats, cells: AnyCodes, most: int) -> None:
    """Keep the most important replacements of each row, of at most so many cells."""
    order = np.argsort(np.where(replaced, -importance, np.inf), axis=1, kind="stable")
    taken = np.take_along_axis(np.where(replaced, cells, 0), order, axis=1)
    # One that does not fit is passed over, and the next may.
    room = np.full(len(replaced), most)
    for k in range(int(replaced.sum(axis=1).max(initial=0))):
        fits = taken[:, k] <= room
        room -= np.where(fits, taken[:, k], 0)
        rows = np.flatnonzero(~fits)
        replaced[rows, order[rows, k]] = False


def _keep_plausible(explanation: Explanation, rows: Ints, replaced: Bools, importance: Floats) -> None:
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


def _miss(risk: Risk, players: Players, rows: Ints, references: Ints, replaced: Bools) -> Floats:
    """Return how far the model is from the target of rows, some of whose features are the reference's."""
    table, scorer, labels = risk.problem.table, risk.scorer, risk.problem.y
    codes = _positions(labels, getattr(scorer.model, "classes_", None))
    miss = np.empty(len(rows))
    for part in np.split(np.arange(len(rows)), range(risk.call_rows, len(rows), risk.call_rows)):
        own, other = rows[part], references[part]
        sources = [np.where(replaced[part, player], other, own) for player in players.of_column]
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
    own = np.unique(labels.values, return_inverse=True)[1]
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
