"""The result in words and numbers: the verdict, the figures that stand out, and the problem."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._frames import show
from fairshap.edits import Budget, Iterative, OptimalSubset, Threshold
from fairshap.edits._recipe import describe_counterfactuals
from fairshap.report._data import ReportData


def count(n: int, noun: str) -> str:
    """Return a number of things in words, such as 1,200 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def percent(share: float) -> str:
    """Return a share in percent with three significant digits."""
    return f"{100 * share:.3g} %"


def decimal(value: float) -> str:
    """Return a measure with four digits and a real minus sign.

    >>> decimal(0.07384), decimal(-0.5), decimal(-1e-9), decimal(428.51), decimal(float("nan"))
    ('0.0738', '−0.5000', '0.0000', '428.5', '–')
    """
    if not np.isfinite(value):
        return "\u2013" if np.isnan(value) else str(value)
    # Adding zero makes a plain zero of what rounds to a negative one.
    text = f"{round(value, 4) + 0.0:.4f}" if abs(value) < 10 else f"{value:,.4g}"
    return text.replace("-", "\u2212")


def join_names(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def verdict(data: ReportData) -> str:
    """Return what the repair did and what it took; for an audit, how unfair the model is."""
    said = [_risk_in_words(data)]
    if data.is_audit:
        nothing = "No cell adds enough to the risk of its row to be replaced."
        said.append(f"A repair would replace {_cells(data)}." if len(data.edits) else nothing)
        said.append("Nothing was changed.")
    else:
        said.append(f"The repair replaced {_cells(data)}." if len(data.edits) else "No cell was replaced.")
        if len(data.edits) and (lines := data.measure_lines()):
            said.append(_gaps_in_words(lines))
    return " ".join(said)


def _risk_in_words(data: ReportData) -> str:
    """Say what the risk is, before and after the repair, and the accuracy if it was measured."""
    when = f"When only {data.attribute} changes"
    lines = data.measure_lines()
    if lines is None:
        before, after = map(decimal, data.mean_risks() or (np.nan, np.nan))
        if data.is_audit:
            return f"{when}, the model's output changes by {before} on average over all rows."
        return (
            f"{when}, the output of the explained model changes on average by {before} in the original table "
            f"and by {after} in the repaired one."
        )
    dr, accuracy = lines["dr"], lines["accuracy"]
    was = decimal(accuracy["before"][0])
    if data.is_audit:
        mean, low, high = map(decimal, dr["before"])
        changes = f"the model's output changes by {mean} on average ({low} to {high})"
        return f"{when}, {changes}. Its accuracy is {was}."
    before, after = decimal(dr["before"][0]), decimal(dr["after"][0])
    change, low, high = dr["change"]
    moved = f"does not measurably change ({before} before, {after} after)"
    if low > 0 or high < 0:
        share = f" (by {percent(abs(change) / dr['before'][0])})" if dr["before"][0] > 0 else ""
        moved = f"{'falls' if change < 0 else 'rises'} from {before} to {after}{share}"
    return (
        f"On held-out rows, the discriminative risk, the average change in the output when only "
        f"{data.attribute} changes, {moved}. Accuracy goes from {was} to {decimal(accuracy['after'][0])}."
    )


def _cells(data: ReportData) -> str:
    """Return how many cells the edits are, in how many rows, and in which column most of them are."""
    edits = data.edits
    columns = Counter(show(column, 40) for column in edits.column).most_common()
    name, most = columns[0]
    where = f"most often in {name} ({most:,})" if len(columns) > 1 else f"all in {name}"
    return (
        f"{count(len(edits), 'cell')} of {data.n_cells:,} ({percent(len(edits) / data.n_cells)}) in "
        f"{count(len(np.unique(edits.row)), 'row')}, {where}"
    )


def _gaps_in_words(lines: dict[str, dict[str, Any]]) -> str:
    """Say which of the gaps between the groups narrowed and which widened."""
    words = {"better": "narrowed", "worse": "widened", "not measurable": "did not measurably change"}
    gaps = [lines[name] for name, measure in MEASURES.items() if measure.kind == "gap"]
    found = {word: [line["label"] for line in gaps if line["verdict"] == key] for key, word in words.items()}
    said = [f"{join_names(names)} {word}" for word, names in found.items() if names]
    return f"Of the gaps between the groups, {', '.join(said)}."


def cards(data: ReportData) -> list[dict[str, Any]]:
    """Return the few numbers that stand out: one value, or two where something is compared."""
    n = data.n_models
    found: list[dict[str, Any]] = []
    if lines := data.measure_lines():
        for name, label in (("dr", "Discriminative risk (DR)"), ("accuracy", lines["accuracy"]["label"])):
            values = [decimal(lines[name][model][0]) for model in ("before", "after")[:n]]
            found.append({"label": label, "values": values})
    elif risks := data.mean_risks():
        found.append({"label": "Mean risk, explained model", "values": [decimal(risk) for risk in risks[:n]]})
    label = "Cells a repair would replace" if data.is_audit else "Cells replaced"
    note = f"{percent(len(data.edits) / data.n_cells)} of {data.n_cells:,}"
    return [*found, {"label": label, "values": [f"{len(data.edits):,}"], "note": note}]


def facts(data: ReportData) -> list[tuple[str, str]]:
    """Return the problem as terms and what they are."""
    explanation, problem, target = data.explanation, data.problem, data.target
    status, counts = np.unique(explanation.status, return_counts=True)
    kinds = ", ".join(f"{n:,} {name}" for name, n in zip(status.tolist(), counts.tolist(), strict=True))
    own = problem.own
    described = f"a quantity, cut into {len(target.names)} bins for matching"
    if target.classes is not None:
        labels = ", ".join(show(label, 40) for label in target.classes[:6])
        described = f"{len(target.classes)} labels: {labels}"
    found = [
        ("Rows and columns", f"{count(own.n_rows, 'row')}, {count(len(own.names), 'column')}"),
        ("Column types", f"{len(own.numeric_columns)} numeric, {len(own.category_columns)} categorical"),
        ("Sensitive attribute", data.attribute + (" (not a column of the table)" if problem.added else "")),
        ("Target", described),
        ("Explained model", _model_name(explanation.model)),
        ("Edits", selection(data)),
        ("Shapley values", f"by {explanation.route.partition(':')[0]}; rows: {kinds}"),
    ]
    if target.positive_value is not None:
        found.insert(4, ("Positive label", show(target.positive_value, 60)))
    if constraints := data.recipe.constraints.given():
        found.append(("Constraints", show(", ".join(constraints))))
    if data.recipe.counterfactuals is not None:
        found.append(("Added rows", describe_counterfactuals(data.recipe.counterfactuals)))
    if problem.groups.n_missing:
        found.append(("Attribute missing", f"in {count(problem.groups.n_missing, 'row')}, left unedited"))
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


def _model_name(model: Any) -> str:
    """Return the class of a model; of a pipeline, those of its steps."""
    if hasattr(model, "steps"):
        return " \u2192 ".join(_model_name(step) for _, step in model.steps)
    inner = getattr(model, "estimator", None)
    wrapped = type(model).__name__ == "FrozenEstimator" and inner is not None
    return _model_name(inner) if wrapped else type(model).__name__


def group_sizes(data: ReportData) -> dict[str, Any]:
    """Return how many rows each group has of each label, or of each bin of a quantity."""
    target, side, names = data.target, data.problem.groups.side, data.problem.side_names
    labels, codes = list[Any](target.names), target.codes
    if target.classes is not None:
        labels, codes = target.classes.tolist(), np.searchsorted(target.classes, target.values)
    lines = []
    for group, role in ((1, "privileged"), (0, "unprivileged")):
        sizes = np.bincount(codes[side == group], minlength=len(labels)).tolist()
        lines.append({"name": names[group], "role": role, "sizes": sizes, "total": sum(sizes)})
    labels = [show(label, 40) for label in labels]
    return {"labels": labels, "groups": lines, "is_quantity": target.classes is None}
