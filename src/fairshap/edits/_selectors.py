"""Which cells are edited: selectors, which choose them from an explanation, and constraints on them."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._frames import Players, Table
from fairshap._messages import check_choice, check_count, is_number
from fairshap._problem import Problem
from fairshap._problem.target import exceeds, reaches, steps
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution import Explanation
from fairshap.attribution._explanation import check_threshold
from fairshap.attribution._subsets import best_players
from fairshap.edits._ledger import Edits
from fairshap.edits._limits import Narrowing, keep_few, keep_harmless, keep_plausible
from fairshap.exceptions import InputError

#: The groups whose rows are edited, and their sides.
SIDES = {"both": (0, 1), "unprivileged": (0,), "privileged": (1,)}
#: When a row's edits are taken back.
Rejection: TypeAlias = Literal["risk_rises", "label_less_likely"] | None
REJECTIONS = ("risk_rises", "label_less_likely")
# A relative threshold where none is given, chosen on inner folds: with gradient boosting it makes about as
# many edits as 0.05.
_SHARE = 1.5


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
    direction : {"parity"}, default=None
        Edit only rows whose change narrows the gap between the groups: edits keep the label, so these are
        rows of the favored group with the positive label, and rows of the other group with the negative one.
        Of two groups the one with the higher rate of positive labels is favored; with more groups, each
        unprivileged one is compared with the privileged rows. It needs two labels, or one of more that
        ``Explainer(positive=...)`` names. Let m be the number of rows of each label that would have to change
        groups for the rates to be equal (their weight, if rows have weights). At most 4 m rows of each label
        are edited, those with the largest sums of Shapley values first.
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
        direction: Literal["parity"] | None = None,
        plausible: bool = False,
        reject_if: Rejection = None,
    ) -> None:
        self.frozen = frozen
        self.editable = editable
        self.max_per_row = max_per_row
        self.group = group
        self.direction = direction
        self.plausible = plausible
        self.reject_if = reject_if

    def check(self) -> None:
        """Raise an error if a parameter makes no sense."""
        check_choice(self.group, "group", list(SIDES))
        check_choice(self.direction, "direction", (None, "parity"))
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


class Selector(BaseEstimator):
    """Chooses the cells to edit from an explanation: the base of all selectors.

    A selector of your own has an ``_is_enough`` that says which Shapley values lead to an edit.

    Examples
    --------
    >>> from fairshap import Budget, Iterative, OptimalSubset, Threshold
    >>> from fairshap.edits import Selector
    >>> all(issubclass(one, Selector) for one in (Threshold, Budget, OptimalSubset, Iterative))
    True
    """

    #: The rounds of explaining and selecting, each with a model trained on the table as edited so far.
    max_rounds: int = 1

    @property
    def once(self) -> "Selector":
        """What selects the edits of one round."""
        return self

    def check(self) -> None:
        """Raise an error if a parameter makes no sense."""

    def reach(self, default: float) -> float | None:  # noqa: ARG002 - for selectors that have a threshold
        """Return the smallest Shapley value that can lead to an edit; None if it is not known beforehand."""
        return None

    def threshold_of(self, explanation: Explanation) -> float | None:
        """Return the threshold for an explanation; None if there is none."""
        return self.reach(explanation.default_threshold)

    def max_cells(self, problem: Problem) -> int:
        """Return the largest number of cells that are edited."""
        return problem.own.n_rows * len(problem.own.names)

    def select(
        self,
        explanation: Explanation,
        constraints: EditConstraints | None = None,
        *,
        before: Edits | None = None,
    ) -> Edits:
        """Return the edits of the explained table, within constraints, after those of earlier rounds."""
        rows, replaced = self.once.choose(explanation, make_constraints(constraints), before)
        of_column, pool = explanation.features.of_column, explanation.problem.table
        cells = pool.differ(rows, explanation.best[rows])[:, : len(of_column)] & replaced[:, of_column]
        at, column = np.nonzero(cells)
        row = rows[at]
        phi = explanation.values[row, of_column[column]]
        return Edits.of_cells(explanation.problem, row, column, explanation.best[row], phi)

    def choose(
        self, explanation: Explanation, constraints: EditConstraints, before: Edits | None = None
    ) -> tuple[Ints, Bools]:
        """Return the rows that are edited, and which features of each."""
        self.check()
        problem, players, best = explanation.problem, explanation.features, explanation.best
        may = constraints.features(problem.own, players)
        may[players.of_column[[c for c in problem.columns if c < len(players.of_column)]]] = False
        side = np.isin(problem.groups.side, SIDES[constraints.group])
        narrowing = Narrowing.of(problem, best) if constraints.direction is not None else None
        if narrowing is not None:
            side &= narrowing.rows
        is_enough = (self._is_enough(explanation) & may).any(axis=1)
        rows = np.flatnonzero(side & (best >= 0) & is_enough)
        differ = problem.table.differ(rows, best[rows])
        cells = players.count(differ[:, : len(players.of_column)])
        cells[:, ~may] = 0
        replaced = self._candidates(explanation, rows, cells, constraints.max_per_row) & (cells > 0)
        kept = replaced.any(axis=1)
        rows, replaced, cells = rows[kept], replaced[kept], cells[kept]
        importance = steps(explanation.values[rows], explanation.unit)
        edited = np.empty(0, np.int64) if before is None else np.asarray(before.row)
        if constraints.max_per_row is not None:
            taken = np.bincount(edited, minlength=problem.own.n_rows)[rows]
            keep_few(replaced, importance, cells, constraints.max_per_row - taken)
        if constraints.plausible:
            keep_plausible(explanation, rows, replaced, importance)
        if narrowing is not None:
            if constraints.reject_if is not None and len(rows):
                # Rows that are left unedited take no room.
                keep_harmless(explanation, rows, replaced, constraints.reject_if)
            narrowing.keep(rows, replaced, importance, np.unique(edited))
        _keep_within(replaced, importance, cells, self.max_cells(problem) - len(edited))
        if constraints.reject_if is not None and len(rows):
            keep_harmless(explanation, rows, replaced, constraints.reject_if)
        kept = replaced.any(axis=1)
        return rows[kept], replaced[kept]

    def _is_enough(self, explanation: Explanation) -> Bools:
        """Say which features of each row are worth an edit, by their Shapley values or by the row's risk."""
        raise NotImplementedError(type(self).__name__)

    def _candidates(self, explanation: Explanation, rows: Ints, cells: AnyCodes, most: int | None) -> Bools:  # noqa: ARG002
        """Return which features of some rows are to be edited; ``most`` is how many cells of each."""
        return self._is_enough(explanation)[rows]

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:  # noqa: ARG002
        """Say whether some value was large enough for an edit, and if not why, in words."""
        return True, f"{self!r} chose no cell"


class Threshold(Selector):
    """Edit every value whose Shapley value is at least a threshold, as in the paper.

    Parameters
    ----------
    threshold : float, default=None
        The smallest Shapley value that leads to an edit, in units of the model's output. A value that is
        below it by less than a billionth of that unit ties with it and leads to an edit too. None is 0.05,
        as in the paper; for a regressor, 0.05 standard deviations of the target.
    relative : bool, default=False
        Whether the threshold is in units of the table itself: of the mean difference between the risk of a
        row and that of its reference, which is what Shapley values add up to (in the gap game, of the mean
        size of a gap). None is then 1.5. Most linear models, whose Shapley values are small, have
        edits too.

    Examples
    --------
    >>> Threshold(0.02)
    Threshold(threshold=0.02)
    >>> Threshold(relative=True)
    Threshold(relative=True)
    """

    def __init__(self, threshold: float | None = None, *, relative: bool = False) -> None:
        self.threshold = threshold
        self.relative = relative

    def check(self) -> None:
        check_threshold(self.threshold)
        if not isinstance(self.relative, (bool, np.bool_)):
            raise InputError(f"relative={self.relative!r} must be True or False.", parameter="relative")

    def reach(self, default: float) -> float | None:
        if self.relative:
            return None
        return default if self.threshold is None else self.threshold

    def threshold_of(self, explanation: Explanation) -> float:
        if not self.relative:
            return explanation.default_threshold if self.threshold is None else self.threshold
        mean = explanation.mean_difference
        # Where all values are 0, or mere rounding, none is large.
        if not exceeds(mean, 0.0, explanation.unit):
            return np.inf
        return mean * (_SHARE if self.threshold is None else self.threshold)

    def _is_enough(self, explanation: Explanation) -> Bools:
        return reaches(explanation.values, self.threshold_of(explanation), explanation.unit)

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:
        threshold = self.threshold_of(explanation)
        known = f"; the largest is {largest:.3g}" if np.isfinite(largest) else ""
        why = f"no Shapley value reaches threshold={threshold:.6g}{known}"
        return bool(reaches(largest, threshold, explanation.unit)), why


class Budget(Selector):
    """Edit the cells of the largest Shapley values, up to a number of cells.

    Parameters
    ----------
    n_cells : int or float
        The largest number of cells; below 1, a share of all cells. Of equal values the first row and column
        come first.
    threshold : float, default=None
        The smallest Shapley value that leads to an edit; None is any above 0.

    Examples
    --------
    >>> Budget(500)
    Budget(n_cells=500)
    """

    def __init__(self, n_cells: int | float = 0.005, *, threshold: float | None = None) -> None:
        self.n_cells = n_cells
        self.threshold = threshold

    def check(self) -> None:
        n = self.n_cells
        if not is_number(n) or not (0 < n < 1 or (n >= 1 and float(n).is_integer())):
            raise InputError(
                f"n_cells={n!r} must be a number of cells, or a share of all cells between 0 and 1.",
                parameter="n_cells",
            )
        check_threshold(self.threshold)

    def reach(self, default: float) -> float | None:  # noqa: ARG002
        return self.threshold

    def max_cells(self, problem: Problem) -> int:
        return int(self.n_cells * super().max_cells(problem)) if self.n_cells < 1 else int(self.n_cells)

    def _is_enough(self, explanation: Explanation) -> Bools:
        if self.threshold is None:
            return exceeds(explanation.values, 0.0, explanation.unit)
        return reaches(explanation.values, self.threshold, explanation.unit)

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:
        if not self.max_cells(explanation.problem):
            return False, f"n_cells={self.n_cells!r} is less than one cell of this table"
        if self.threshold is None:
            return bool(exceeds(largest, 0.0, explanation.unit)), "no Shapley value is above 0"
        return Threshold(self.threshold).why_nothing(largest, explanation)


class OptimalSubset(Selector):
    """Edit, in each row, the set of values that minimizes its risk plus the cost of the edited cells.

    At a cost equal to a threshold that means fewer edits and less risk. It is for the risk game.

    Parameters
    ----------
    cost : float, default=None
        What an edited cell costs, in units of the risk; None is the paper's threshold, 0.05, and for a
        regressor 0.05 standard deviations of the target.

    Examples
    --------
    >>> OptimalSubset(cost=0.02)
    OptimalSubset(cost=0.02)
    """

    def __init__(self, cost: float | None = None) -> None:
        self.cost = cost

    def check(self) -> None:
        check_threshold(self.cost, "cost")

    def _price(self, explanation: Explanation) -> float:
        if explanation.game != "risk":
            raise InputError(
                "OptimalSubset lowers the discriminative risk, and the gap game was explained. Use "
                "Threshold, Budget or Iterative, or Explainer(game='risk').",
                parameter="selector",
            )
        return explanation.default_threshold if self.cost is None else self.cost

    def _is_enough(self, explanation: Explanation) -> Bools:
        return exceeds(explanation.risk, self._price(explanation), explanation.unit)[:, None]

    def _candidates(self, explanation: Explanation, rows: Ints, cells: AnyCodes, most: int | None) -> Bools:
        most = most or int(cells.sum(axis=1).max(initial=0))
        return best_players(explanation, rows, cells, self._price(explanation), most)

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:  # noqa: ARG002
        return True, f"no edits of a row lower its risk by cost={self._price(explanation):.6g} for each cell"


class Iterative(Selector):
    """Select, train on the edited table, explain that model and select again, until the risk stops falling.

    References stay those of the original table. A round that does not lower the mean risk is taken back.

    Parameters
    ----------
    selector : Selector, default=None
        Chooses the edits of each round; None is ``Threshold()``.
    max_rounds : int, default=5
        The largest number of rounds.

    Examples
    --------
    >>> Iterative(Threshold(0.02), max_rounds=3)
    Iterative(max_rounds=3, selector=Threshold(threshold=0.02))
    """

    def __init__(self, selector: Selector | None = None, *, max_rounds: int = 5) -> None:
        self.selector = selector
        self.max_rounds = max_rounds

    @property
    def once(self) -> Selector:
        return Threshold() if self.selector is None else self.selector

    def check(self) -> None:
        check_count(self.max_rounds, "max_rounds", ", such as 5")
        if isinstance(self.selector, Iterative):
            raise InputError("selector of Iterative is an Iterative itself; give one that selects once.")
        make_selector(self.once)


def make_selector(selector: Any, threshold: float | Literal["relative"] | None = None) -> Selector:
    """Return the selector that was given, checked, or the one of a threshold."""
    if selector is None:
        selector = Threshold(relative=True) if threshold == "relative" else Threshold(threshold)
    elif threshold is not None:
        raise InputError(
            f"threshold={threshold!r} is short for selector=Threshold({threshold!r}), and selector is given "
            "too; give one of the two.",
            parameter="threshold",
        )
    if not isinstance(selector, Selector):
        raise InputError(
            f"selector={selector!r} is not known; give Threshold(0.05), Budget(500), OptimalSubset(0.05) or "
            "Iterative(Threshold(0.05)).",
            parameter="selector",
        )
    selector.check()
    return selector


def _keep_within(replaced: Bools, importance: Floats, cells: AnyCodes, budget: int) -> None:
    """Keep the most important replacements of the table, of at most so many cells; ``replaced`` is changed.

    The first that does not fit ends it, so that a larger budget keeps all that a smaller one does.
    """
    row, player = np.nonzero(replaced)
    order = np.argsort(-importance[row, player], kind="stable")
    row, player = row[order], player[order]
    beyond = np.cumsum(cells[row, player], dtype=np.int64) > budget
    replaced[row[beyond], player[beyond]] = False
