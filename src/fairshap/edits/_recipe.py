"""Recipes: how a table is repaired once a model is explained on it, by edits and by counterfactuals."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from fairshap._frames import open_store
from fairshap._messages import check_choice, check_number, is_number
from fairshap._problem import Problem
from fairshap._problem.target import reaches
from fairshap._typing import Floats, Ints, Native
from fairshap.attribution import Explanation
from fairshap.attribution._explain import explain_again
from fairshap.edits._ledger import Edits
from fairshap.edits._selectors import EditConstraints, Selector, Threshold, make_selector
from fairshap.exceptions import InputError

#: Which rows get counterfactuals; a number means those whose risk is at least that.
CounterfactualRows: TypeAlias = Literal["edited", "all"] | float | None
#: Fits a model on a table, its target and its weights.
Fit: TypeAlias = Callable[[Native, Any, Floats | None], Any]


@dataclass(frozen=True, slots=True)
class Round:
    """One round of edits: how many there are so far, and the mean risk that they started from."""

    n_edits: int
    mean_risk: float


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A repaired table, and below its rows their counterfactuals, each with the row that it is of."""

    X: Native
    y: Any
    #: None if there are neither counterfactuals nor weights.
    sample_weight: Floats | None
    edits: Edits
    counterfactual_of: Ints
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which cells are edited, within which constraints, and which rows get counterfactuals."""

    selector: Selector = field(default_factory=Threshold)
    constraints: EditConstraints = field(default_factory=EditConstraints)
    counterfactuals: CounterfactualRows = None

    def __post_init__(self) -> None:
        check_counterfactuals(self.counterfactuals)

    def follow(self, explanation: Explanation, X: Native, y: Any, fit: Fit) -> Repaired:
        """Return the user's table X repaired, from its explanation; ``fit`` trains for a further round."""
        first, problem, selector = explanation, explanation.problem, self.selector.once
        edits = selector.select(explanation, self.constraints)
        rounds = [Round(len(edits), explanation.mean_risk)]
        known, most = edits, selector.max_cells(problem)
        while len(rounds) < self.selector.max_rounds and len(edits) < most:
            repaired = self.finish(first, X, y, edits)
            seen = repaired.X if self.counterfactuals else problem.with_cells(repaired.X).table.native
            model = fit(seen, repaired.y, repaired.sample_weight)
            explanation = explain_again(explanation, model, edits.apply(X), X)
            if reaches(explanation.mean_risk, rounds[-1].mean_risk, explanation.unit):
                # The last edits did no good: they and their round are taken back, but for the first.
                edits, rounds = known, rounds[: max(1, len(rounds) - 1)]
                break
            more = selector.select(explanation, self.constraints, before=edits)
            known, edits = edits, Edits.together(edits, more)
            rounds.append(Round(len(edits), explanation.mean_risk))
            if not len(more):
                break
        return self.finish(first, X, y, edits, tuple(rounds))

    def finish(
        self, explanation: Explanation, X: Native, y: Any, edits: Edits, rounds: tuple[Round, ...] = ()
    ) -> Repaired:
        """Return the table with edits that are known, and the counterfactuals of its rows."""
        problem, X_fair = explanation.problem, edits.apply(X)
        weight = problem.sample_weight
        if self.counterfactuals is None:
            return Repaired(X_fair, copy.copy(y), weight, edits, np.empty(0, np.int64), rounds)
        if self.counterfactuals == "edited":
            rows = np.unique(edits.row)
        else:
            rows = np.arange(problem.own.n_rows)
            if self.counterfactuals != "all":
                risks = explanation.risk_function.of_rows(rows)
                rows = rows[reaches(risks, self.counterfactuals, explanation.unit)]
        X_fair, y, of, weight = add_counterfactuals(problem, rows, X_fair, y, weight)
        return Repaired(X_fair, y, weight, edits, of, rounds)


def add_counterfactuals(
    problem: Problem, rows: Ints, X: Native, y: Any, sample_weight: Floats | None = None
) -> tuple[Native, Any, Ints, Floats]:
    """Return a table and its target with counterfactuals of some rows below, whose they are, and all weights.

    A row has one for each value that its own, if present, is compared with; they share the weight that it
    had. In a frame whose rows are merely numbered the numbers go on; otherwise each has its row's label.
    """
    if not problem.columns or problem.added:
        raise InputError(
            f"{problem.groups.name!r} is not a column of X (it was given as sensitive_features), so that "
            "a counterfactual would be its row again. Leave counterfactuals out, or put the attribute "
            "into X."
        )
    store, rows = open_store(X), rows[problem.groups.side[rows] >= 0]
    n, donors = store.n_rows, problem.groups.donors[rows]
    cells = [problem.table.column(column) for column in problem.columns]
    differ = np.any([column[rows, None] != column[donors] for column in cells], axis=0)
    of = rows[np.nonzero(differ)[0]]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weight = weight / (1 + np.bincount(of, minlength=n))
    own, other = (np.append(np.arange(n), below) for below in (of, donors[differ]))
    longer, target = with_rows(X, y, of, dict.fromkeys(problem.columns, other))
    return longer, target, of, weight[own]


def with_rows(
    X: Native, y: Any, of: Ints, cells: Mapping[int, Ints], labels: Ints | None = None
) -> tuple[Native, Any]:
    """Return a table and its target with copies of some rows below.

    ``cells`` says for some columns which rows all cells come from, and ``labels`` that for the target.
    """
    store = open_store(X)
    own = np.append(np.arange(store.n_rows), of)
    is_numbered = isinstance(X, pd.DataFrame) and X.index.equals(pd.RangeIndex(store.n_rows))
    sources = [cells.get(column, own) for column in range(len(store.names))]
    longer = store.mix(sources, labels=None if is_numbered else own)
    # Some targets are arrays only when they are asked to be.
    labels = own if labels is None else labels
    target = _safe_indexing(y if hasattr(y, "__getitem__") else np.asarray(y), labels)
    if isinstance(y, tuple):
        target = tuple(target)
    if isinstance(y, (pd.Series, pd.DataFrame)):
        is_numbered = y.index.equals(pd.RangeIndex(store.n_rows))
        target.index = pd.RangeIndex(len(target)) if is_numbered else y.index[own]
    return longer, target


def check_counterfactuals(counterfactuals: Any) -> None:
    """Raise an error unless it is known which rows get counterfactuals."""
    if is_number(counterfactuals):
        what = "a risk from which rows get counterfactuals; give a number above 0, for example 0.1."
        check_number(counterfactuals, "counterfactuals", what, low=np.nextafter(0.0, 1.0))
    else:
        more = ", or a number: the risk from which rows get counterfactuals"
        check_choice(counterfactuals, "counterfactuals", (None, "edited", "all"), more)


def describe_counterfactuals(counterfactuals: CounterfactualRows) -> str:
    """Say which rows get counterfactuals."""
    if counterfactuals is None:
        return "no counterfactuals"
    if isinstance(counterfactuals, str):
        return f"counterfactuals of {counterfactuals} rows"
    return f"counterfactuals of rows with a risk of {counterfactuals:g} or more"


def select_edits(
    explanation: Explanation,
    *,
    threshold: float | Literal["relative"] | None = None,
    selector: Selector | None = None,
    constraints: EditConstraints | None = None,
) -> Edits:
    """Return the edits that a selector chooses from an explanation; cells that keep their value are left out.

    Parameters
    ----------
    explanation : Explanation
        What :func:`fairshap.explain` returned.
    threshold : float or "relative", optional
        Short for ``selector=Threshold(threshold)``, or for ``selector=Threshold(relative=True)``.
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
