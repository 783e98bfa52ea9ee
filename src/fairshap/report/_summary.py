"""Numbers in words, and how the model was explained."""

from collections.abc import Sequence

import numpy as np

from fairshap._frames import show
from fairshap.edits import Budget, Iterative, OptimalSubset, Threshold
from fairshap.edits._recipe import describe_counterfactuals
from fairshap.report._data import ReportData


def count(n: int, noun: str) -> str:
    """Return a number of things in words, such as 1,200 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def decimal(value: float | None) -> str:
    """Return a measure with four digits and a real minus sign; what is not known is a dash.

    >>> decimal(0.07384), decimal(-0.5), decimal(-1e-9), decimal(428.51), decimal(float("nan"))
    ('0.0738', '−0.5000', '0.0000', '428.5', '–')
    """
    if value is None or not np.isfinite(value):
        if value is None:
            return "\u2013"
        return "\u2013" if np.isnan(value) else str(value)
    # Adding zero makes a plain zero of what rounds to a negative one.
    text = f"{round(value, 4) + 0.0:.4f}" if abs(value) < 10 else f"{value:,.4g}"
    return text.replace("-", "\u2212")


def join_names(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def facts(data: ReportData) -> list[tuple[str, str]]:
    """Return how the model was explained, as terms and what they are."""
    explanation, own = data.explanation, data.problem.own
    status, counts = np.unique(explanation.status, return_counts=True)
    kinds = ", ".join(f"{n:,} {name}" for name, n in zip(status.tolist(), counts.tolist(), strict=True))
    found = [
        ("Column types", f"{len(own.numeric_columns)} numeric, {len(own.category_columns)} categorical"),
        ("Edits", selection(data)),
        ("Shapley values", f"by {explanation.route.partition(':')[0]}; rows: {kinds}"),
    ]
    if constraints := data.recipe.constraints.given():
        found.append(("Constraints", show(", ".join(constraints))))
    if data.recipe.counterfactuals is not None:
        found.append(("Added rows", describe_counterfactuals(data.recipe.counterfactuals)))
    if data.problem.groups.n_missing:
        found.append(
            ("Attribute missing", f"in {count(data.problem.groups.n_missing, 'row')}, left unedited")
        )
    return found


def selection(data: ReportData) -> str:
    """Say which cells are edited."""
    selector, whole = data.selector, data.recipe.selector
    if isinstance(selector, Threshold):
        is_finite = np.isfinite(data.threshold)
        said = f"cells with a Shapley value of at least {data.threshold:.4g}" if is_finite else "none"
    elif isinstance(selector, Budget):
        said = f"the cells with the largest Shapley values, at most {selector.max_cells(data.problem):,}"
    elif isinstance(selector, OptimalSubset):
        said = f"the cells that minimize a row's risk plus {data.threshold:.4g} per edited cell"
    else:
        said = show(selector)
    return said + (f"; up to {whole.max_rounds} rounds" if isinstance(whole, Iterative) else "")
