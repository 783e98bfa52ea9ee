"""Selectors: from an explanation to the cells that are edited."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from fairshap._frames import Players
from fairshap._messages import check_count, did_you_mean, is_number, listing
from fairshap._problem import Problem
from fairshap._problem.target import exceeds, reaches, steps
from fairshap._typing import AnyCodes, Bools, Floats, Ints
from fairshap.attribution import Explanation
from fairshap.attribution._explanation import check_threshold
from fairshap.attribution._subsets import best_players
from fairshap.edits._constraints import EditConstraints, make_constraints
from fairshap.edits._ledger import Edits
from fairshap.exceptions import InputError

#: Columns, or feature groups, with a threshold of their own.
ByColumn: TypeAlias = Mapping[Any, float] | None


class Selector(BaseEstimator):
    """Chooses the cells to edit from an explanation: the base of all selectors.

    A selector of your own has an ``_is_enough`` that says which Shapley values lead to an edit.
    """

    #: The rounds of explaining and selecting, each with a model trained on the table as edited so far.
    max_rounds: int = 1

    def check(self) -> None:
        """Raise an error if a parameter makes no sense."""

    def reach(self, default: float) -> float | None:  # noqa: ARG002 - for selectors that have a threshold
        """Return the smallest Shapley value that can lead to an edit; None if there is no such value."""
        return None

    def max_cells(self, problem: Problem) -> int:
        """Return the largest number of cells that are edited."""
        return problem.own.n_rows * len(problem.own.names)

    def after(self, n_edits: int, problem: Problem) -> "Selector":  # noqa: ARG002 - for budgets
        """Return the selector of the next round, after so many edits."""
        return self

    def select(self, explanation: Explanation, constraints: EditConstraints | None = None) -> Edits:
        """Return the edits of the explained table, within constraints."""
        rows, replaced = self.choose(explanation, make_constraints(constraints))
        of_column, pool = explanation.features.of_column, explanation.problem.table
        cells = pool.differ(rows, explanation.best[rows])[:, : len(of_column)] & replaced[:, of_column]
        at, column = np.nonzero(cells)
        row = rows[at]
        phi = explanation.values[row, of_column[column]]
        return Edits.of_cells(explanation.problem, row, column, explanation.best[row], phi)

    def choose(self, explanation: Explanation, constraints: EditConstraints) -> tuple[Ints, Bools]:
        """Return the rows that are edited, and which features of each."""
        self.check()
        problem, players, best = explanation.problem, explanation.features, explanation.best
        may = constraints.features(problem.own, players)
        may[players.of_column[[c for c in problem.columns if c < len(players.of_column)]]] = False
        rows = np.flatnonzero(constraints.rows(problem.groups) & (best >= 0) & self._worth(explanation, may))
        cells = _count_cells(explanation, rows)
        cells[:, ~may] = 0
        replaced = self._candidates(explanation, rows, cells, constraints) & (cells > 0)
        kept = replaced.any(axis=1)
        rows, replaced, cells = rows[kept], replaced[kept], cells[kept]
        importance = steps(explanation.values[rows], explanation.unit)
        constraints.narrow(explanation, rows, replaced, importance, cells)
        _keep_within(replaced, importance, cells, self.max_cells(problem))
        constraints.reject(explanation, rows, replaced)
        kept = replaced.any(axis=1)
        return rows[kept], replaced[kept]

    def _is_enough(self, explanation: Explanation) -> Bools:
        """Say which Shapley values are large enough for an edit, for selectors that go by them."""
        raise NotImplementedError(type(self).__name__)

    def _worth(self, explanation: Explanation, may: Bools) -> Bools:
        """Say which rows can have an edit at all."""
        return np.asarray((self._is_enough(explanation) & may).any(axis=1))

    def _candidates(
        self,
        explanation: Explanation,
        rows: Ints,
        cells: AnyCodes,  # noqa: ARG002 - for subsets
        constraints: EditConstraints,  # noqa: ARG002
    ) -> Bools:
        """Return which features of some rows are to be edited, constraints within a row aside."""
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
    by_column : mapping, default=None
        Columns, or feature groups, with a threshold of their own.

    Examples
    --------
    >>> Threshold(0.02, by_column={"age": 0.1})
    Threshold(by_column={'age': 0.1}, threshold=0.02)
    """

    def __init__(self, threshold: float | None = None, *, by_column: ByColumn = None) -> None:
        self.threshold = threshold
        self.by_column = by_column

    def check(self) -> None:
        _check_thresholds("threshold", self.threshold, self.by_column)

    def reach(self, default: float) -> float | None:
        own = default if self.threshold is None else self.threshold
        return min([own, *(self.by_column or {}).values()])

    def _is_enough(self, explanation: Explanation) -> Bools:
        least = _by_feature(explanation, self.threshold, self.by_column)
        return reaches(explanation.values, least, explanation.unit)

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:
        threshold = explanation.default_threshold if self.threshold is None else self.threshold
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
        _check_thresholds("threshold", self.threshold)

    def reach(self, default: float) -> float | None:  # noqa: ARG002
        return self.threshold

    def max_cells(self, problem: Problem) -> int:
        return int(self.n_cells * super().max_cells(problem)) if self.n_cells < 1 else int(self.n_cells)

    def after(self, n_edits: int, problem: Problem) -> Selector:
        return Budget(self.max_cells(problem) - n_edits, threshold=self.threshold)

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

    At a cost equal to a threshold that means fewer edits and less risk.

    Parameters
    ----------
    cost : float, default=None
        What an edited cell costs, in units of the risk; None is the paper's threshold, 0.05, and for a
        regressor 0.05 standard deviations of the target.
    by_column : mapping, default=None
        Columns, or feature groups, with a cost of their own.

    Examples
    --------
    >>> OptimalSubset(cost=0.02)
    OptimalSubset(cost=0.02)
    """

    def __init__(self, cost: float | None = None, *, by_column: ByColumn = None) -> None:
        self.cost = cost
        self.by_column = by_column

    def check(self) -> None:
        _check_thresholds("cost", self.cost, self.by_column)

    def _worth(self, explanation: Explanation, may: Bools) -> Bools:
        cheapest = _by_feature(explanation, self.cost, self.by_column)[may].min(initial=np.inf)
        return exceeds(explanation.risk, cheapest, explanation.unit)

    def _candidates(
        self, explanation: Explanation, rows: Ints, cells: AnyCodes, constraints: EditConstraints
    ) -> Bools:
        return best_players(
            explanation.risk_function,
            explanation.features,
            rows,
            explanation.best[rows],
            np.nan_to_num(explanation.values[rows]),
            cells,
            _by_feature(explanation, self.cost, self.by_column),
            constraints.max_per_row or int(cells.sum(axis=1).max(initial=0)),
            explanation.options,
        )

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:  # noqa: ARG002
        cost = explanation.default_threshold if self.cost is None else self.cost
        return True, f"no edits of a row lower its risk by cost={cost:.6g} for each cell"


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
    def _inner(self) -> Selector:
        return Threshold() if self.selector is None else self.selector

    def check(self) -> None:
        check_count(self.max_rounds, "max_rounds", ", such as 5")
        if isinstance(self.selector, Iterative):
            raise InputError("selector of Iterative is an Iterative itself; give one that selects once.")
        make_selector(self._inner)

    @property
    def by_column(self) -> ByColumn:
        return getattr(self._inner, "by_column", None)

    def reach(self, default: float) -> float | None:
        return self._inner.reach(default)

    def max_cells(self, problem: Problem) -> int:
        return self._inner.max_cells(problem)

    def after(self, n_edits: int, problem: Problem) -> Selector:
        return self._inner.after(n_edits, problem)

    def choose(self, explanation: Explanation, constraints: EditConstraints) -> tuple[Ints, Bools]:
        return self._inner.choose(explanation, constraints)

    def why_nothing(self, largest: float, explanation: Explanation) -> tuple[bool, str]:
        return self._inner.why_nothing(largest, explanation)


def select_edits(
    explanation: Explanation,
    *,
    threshold: float | None = None,
    selector: Selector | None = None,
    constraints: EditConstraints | None = None,
) -> Edits:
    """Return the edits that a selector chooses from an explanation; a cell of two equal values is none.

    Parameters
    ----------
    explanation : Explanation
        What :func:`fairshap.explain` returned.
    threshold : float, optional
        Short for ``selector=Threshold(threshold)``.
    selector : Selector, optional
        Chooses the cells: :class:`Threshold`, :class:`Budget` or :class:`OptimalSubset`. Further rounds of
        :class:`Iterative` train models, which :class:`fairshap.FairSHAP` does.
    constraints : EditConstraints, optional
        Which cells may be edited.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> import fairshap
    >>> X = np.array([[0, 1.0], [1, 2.0], [0, 3.0], [1, 4.0]])
    >>> model = LogisticRegression().fit(X, [0, 0, 1, 1])
    >>> explanation = fairshap.explain(model, X, X[[1, 0, 3, 2]], sensitive=0, privileged=1)
    >>> fairshap.select_edits(explanation, threshold=0.001)
    Edits(2 cells in 2 rows and 1 columns)
    """
    if not isinstance(explanation, Explanation):
        raise InputError(
            f"a {type(explanation).__name__} is not an explanation; give what fairshap.explain returned."
        )
    return make_selector(selector, threshold).select(explanation, constraints)


def make_selector(selector: Any, threshold: float | None = None) -> Selector:
    """Return the selector that was given, checked, or the one of a threshold."""
    if selector is None:
        selector = Threshold(threshold)
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


def _check_thresholds(name: str, common: Any, by_column: Any = None) -> None:
    if common is not None:
        check_threshold(common, name)
    if not isinstance(by_column, (Mapping, type(None))):
        raise InputError(
            f"by_column={by_column!r} must say which column each threshold is for, such as {{'age': 0.1}}.",
            parameter="by_column",
        )
    for threshold in (by_column or {}).values():
        check_threshold(threshold)


def _by_feature(explanation: Explanation, common: float | None, by_column: ByColumn) -> Floats:
    """Return the threshold of each feature."""
    common = explanation.default_threshold if common is None else common
    least = np.full(len(explanation.feature_names), float(common))
    own = features_named(explanation.features, by_column)
    least[list(own)] = list(own.values())
    return least


def features_named(players: Players, by_column: ByColumn) -> dict[int, float]:
    """Return the features that have a threshold of their own; a column that X does not have is an error."""
    found = {}
    for name, threshold in (by_column or {}).items():
        if name in players.names:
            feature = players.names.index(name)
        elif name in players.columns:
            feature = int(players.of_column[players.columns.index(name)])
        else:
            raise InputError(
                f"by_column names {name!r}, which is not a column of X, which has "
                f"{listing(players.columns)}.{did_you_mean(name, players.columns)}",
                parameter="by_column",
            )
        found[feature] = threshold
    return found


def _count_cells(explanation: Explanation, rows: Ints) -> AnyCodes:
    """Return how many cells of each feature differ from the reference's."""
    of_column, n_features = explanation.features.of_column, len(explanation.feature_names)
    differ = explanation.problem.table.differ(rows, explanation.best[rows])[:, : len(of_column)]
    if n_features == len(of_column):
        return differ.astype(np.int16)
    cells = np.zeros((len(rows), n_features), dtype=np.int16)
    for column, player in enumerate(of_column):
        cells[:, player] += differ[:, column]
    return cells
