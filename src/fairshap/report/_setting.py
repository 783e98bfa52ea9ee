"""What was looked at: the table, the model, the groups; and the verdict on it."""

from typing import Any

import numpy as np
import pandas as pd

from fairshap._problem import Setting
from fairshap._crossval import MEASURES
from fairshap.repair import describe_twins
from fairshap.report._findings import Comparison, Findings
from fairshap.report._text import count, decimal, percent, show

#: What each measure is called, and what it means in one line.
NAMES = {
    "accuracy": ("Accuracy", "share of right predictions; higher is better"),
    "dr": ("DR", "discriminative risk: how much the output changes when only the attribute does"),
    "dp": ("DP", "demographic parity: gap in the rate of positive predictions"),
    "eo": ("EO", "equal opportunity: gap in the true positive rate"),
    "pqp": ("PQP", "predictive quality parity: gap in precision"),
}

# Values of a group that are named; the rest are counted.
_VALUES = 4


def side_names(setting: Setting) -> tuple[str, str]:
    """Return what the unprivileged and the privileged side are called."""
    if callable(setting.privileged):
        return "others", "chosen by a function"
    if isinstance(setting.privileged, pd.Interval):
        return f"not in {setting.privileged}", f"in {setting.privileged}"
    names = []
    for values in setting.groups.values:
        rest = len(values) - _VALUES
        shown = ", ".join(show(value, 40) for value in values[:_VALUES])
        names.append(shown + (f" and {rest} more" if rest > 0 else ""))
    return names[0], names[1]


def attribute_name(setting: Setting) -> str:
    """Return what the sensitive attribute is called."""
    return show(setting.groups.name, 60)


def verdict(findings: Findings, comparison: Comparison | None) -> tuple[str, str]:
    """Return the verdict in two sentences: what the repair did, and what it took.

    Of an audit: how unfair the model is, and what a repair would take.
    """
    if findings.is_audit:
        return _verdict_of_audit(findings, comparison)
    setting, edits = findings.asked.risk.setting, findings.edits
    name = attribute_name(setting)
    certificate = findings.certificate
    if comparison is None:
        before, after = (float(part.mean()) for part in (certificate.dr_before, certificate.dr_after))
        first = (
            f"For the consulted model, the mean change of the output when only {name} changes goes from "
            f"{decimal(before)} to {decimal(after)} on the table itself."
        )
    else:
        first = _verdict_on_held_out(comparison, name)
    if not len(edits):
        return first, "No cell was replaced."
    second = f"That took {_cells(findings)}"
    return first, second + (_other_gaps(comparison) if comparison is not None else "") + "."


def _cells(findings: Findings) -> str:
    """Return how many cells the edits are, in how many rows, and in which column most of them are."""
    edits, own = findings.edits, findings.asked.risk.setting.own
    n_cells = own.n_rows * len(own.names)
    columns = pd.Series([show(column, 40) for column in edits.column]).value_counts()
    most = f"most often in {columns.index[0]} ({columns.iloc[0]:,})"
    return (
        f"{count(len(edits), 'cell')} of {n_cells:,} ({percent(len(edits) / n_cells)}), in "
        f"{count(len(np.unique(edits.row)), 'row')}, "
        f"{most if len(columns) > 1 else f'all in {columns.index[0]}'}"
    )


def _verdict_of_audit(findings: Findings, comparison: Comparison | None) -> tuple[str, str]:
    name = attribute_name(findings.asked.risk.setting)
    if comparison is None:
        mean = decimal(float(findings.certificate.dr_before.mean()))
        first = f"When only {name} changes, the model's output changes by {mean} in the mean of all rows."
    else:
        frame: Any = comparison.frame().set_index("measure")
        dr, accuracy = frame.loc["dr"], frame.loc["accuracy"]
        first = (
            f"When only {name} changes, the model's output changes by {decimal(dr.before)} in the mean "
            f"({decimal(dr.before_low)} to {decimal(dr.before_high)}); its accuracy is "
            f"{decimal(accuracy.before)}."
        )
    if not len(findings.edits):
        return first, "No cell adds enough to the risk of its row to be replaced; nothing was changed."
    return first, f"A repair would replace {_cells(findings)}; nothing was changed."


def _verdict_on_held_out(comparison: Comparison, name: str) -> str:
    frame: Any = comparison.frame().set_index("measure")
    dr, accuracy = frame.loc["dr"], frame.loc["accuracy"]
    share = f" (by {percent(abs(dr.change) / dr.before)})" if dr.before > 0 else ""
    if dr.change_low <= 0 <= dr.change_high:
        moved = f"does not measurably change ({decimal(dr.before)} to {decimal(dr.after)})"
    else:
        way = "falls" if dr.change < 0 else "rises"
        moved = f"{way} from {decimal(dr.before)} to {decimal(dr.after)}{share}"
    return (
        "On rows that the models were not trained on, the mean change of the output when only "
        f"{name} changes {moved}, while accuracy goes from "
        f"{decimal(accuracy.before)} to {decimal(accuracy.after)}."
    )


def _other_gaps(comparison: Comparison) -> str:
    """Return which of the gaps narrowed and which widened, as the end of a sentence."""
    frame: Any = comparison.frame().set_index("measure")
    parts: dict[str, list[str]] = {"narrowed": [], "widened": [], "did not measurably change": []}
    for measure in ("dp", "eo", "pqp"):
        line = frame.loc[measure]
        if not line.change_low > 0 and not line.change_high < 0:
            parts["did not measurably change"].append(NAMES[measure][0])
        else:
            parts["narrowed" if line.change < 0 else "widened"].append(NAMES[measure][0])
    said = [
        f"{' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))} {what}"
        for what, names in parts.items()
        if names
    ]
    return "; of the gaps between the groups, " + ", ".join(said)


def cards(findings: Findings, comparison: Comparison | None) -> list[dict[str, str]]:
    """Return the few numbers that stand out."""
    edits, setting = findings.edits, findings.asked.risk.setting
    n_cells = setting.own.n_rows * len(setting.own.names)
    shown = []
    if comparison is None:
        risks = (findings.certificate.dr_before, findings.certificate.dr_after)
        before, after = (decimal(float(part.mean())) for part in risks)
        shown.append({"label": "Mean risk, consulted model", "before": before, "after": after})
    else:
        for measure in ("dr", "accuracy"):
            values = [decimal(value) for value in comparison.measured.values[:2, MEASURES.index(measure)]]
            label = "Discriminative risk (DR)" if measure == "dr" else NAMES[measure][0]
            shown.append({"label": label, "before": values[0], "after": values[-1]})
    if findings.is_audit:
        shown = [{**card, "before": "", "after": card["before"]} for card in shown]
    word = "Cells a repair would replace" if findings.is_audit else "Cells replaced"
    changed = {"label": word, "before": "", "after": f"{len(edits):,}"}
    return [*shown, {**changed, "note": f"{percent(len(edits) / n_cells)} of {n_cells:,}"}]


def setting_facts(findings: Findings) -> list[tuple[str, str]]:
    """Return the setting as terms and what they are."""
    asked, labels = findings.asked, findings.labels
    setting, strategy = asked.risk.setting, findings.recipe.strategy
    status, counts = np.unique(asked.attributions.status, return_counts=True)
    kinds = ", ".join(f"{n:,} {name}" for name, n in zip(status.tolist(), counts.tolist(), strict=True))
    own, table = setting.own, setting.own
    facts = [
        ("Rows and columns", f"{count(own.n_rows, 'row')}, {count(len(own.names), 'column')}"),
        (
            "Kinds of columns",
            f"{len(table.numeric_columns)} numeric, {len(table.category_columns)} categories",
        ),
        ("Sensitive attribute", attribute_name(setting) + (" (beside the table)" if setting.added else "")),
        ("Target", _target(findings)),
        ("Consulted model", _model_name(asked.model)),
        ("Strategy", f"{strategy.name}, threshold {findings.threshold:.4g}{_more(findings)}"),
        ("Attribution", f"by {asked.attributions.route.partition(':')[0]}; rows: {kinds}"),
    ]
    if setting.groups.n_missing:
        facts.append(("Attribute missing", f"{count(setting.groups.n_missing, 'row')}, left as they are"))
    if labels.positive_value is not None:
        facts.insert(4, ("Positive label", show(labels.positive_value, 60)))
    return facts


def _target(findings: Findings) -> str:
    labels = findings.labels
    if labels.classes is None:
        return f"a quantity, cut into {len(labels.names)} bins for matching"
    return f"{len(labels.classes)} labels: " + ", ".join(show(label, 40) for label in labels.classes[:6])


def _more(findings: Findings) -> str:
    strategy, recipe = findings.recipe.strategy, findings.recipe
    parts = []
    if strategy.budget is not None:
        parts.append(f"at most {strategy.n_cells(findings.asked.risk):,} cells")
    if recipe.max_rounds > 1:
        parts.append(f"up to {recipe.max_rounds} rounds")
    if recipe.augment is not None:
        parts.append(describe_twins(recipe.augment))
    if strategy.guard:
        what = "risk would rise"
        if strategy.guard == "label":
            is_quantity = findings.labels.classes is None
            what = "prediction would be worse" if is_quantity else "label would become less likely"
        parts.append(f"rows whose {what} are left as they are")
    return "".join(f", {part}" for part in parts)


def _model_name(model: Any) -> str:
    """Return the class of a model; of a pipeline, those of its steps."""
    if hasattr(model, "steps"):
        return " \u2192 ".join(_model_name(step) for _, step in model.steps)
    inner = getattr(model, "estimator", None)
    wrapped = type(model).__name__ == "FrozenEstimator" and inner is not None
    return _model_name(inner) if wrapped else type(model).__name__


def group_sizes(findings: Findings) -> dict[str, Any]:
    """Return how many rows each group has of each label."""
    labels, side = findings.labels, findings.asked.risk.setting.groups.side
    names = [show(name, 40) for name in (labels.names if labels.classes is None else labels.classes)]
    lines = []
    for group, role in ((1, "privileged"), (0, "unprivileged")):
        sizes = np.bincount(labels.codes[side == group], minlength=len(names))
        name = side_names(findings.asked.risk.setting)[group]
        lines.append({"name": name, "role": role, "sizes": sizes.tolist(), "total": int(sizes.sum())})
    return {"labels": names, "groups": lines, "is_quantity": labels.classes is None}


def fairness_lines(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the measures before and after, as text with intervals; of an audit, as they are."""
    lines: list[dict[str, Any]] = []
    frame: Any = comparison.frame()
    for line in frame.itertuples():
        name, meaning = NAMES[str(line.measure)]
        meaning += _between(comparison, str(line.measure))
        before = _with_interval(line.before, line.before_low, line.before_high)
        if comparison.is_audit:
            lines.append({"name": name, "meaning": meaning, "before": before})
            continue
        # A gap that cannot be taken is not measurable either.
        is_clear = line.change_low > 0 or line.change_high < 0
        is_better = (line.change > 0) == (line.measure == "accuracy")
        lines.append(
            {
                "name": name,
                "meaning": meaning,
                "before": before,
                "after": _with_interval(line.after, line.after_low, line.after_high),
                "change": _with_interval(line.change, line.change_low, line.change_high),
                "judged": ("better" if is_better else "worse") if is_clear else "not measurable",
            }
        )
    return lines


def _between(comparison: Comparison, measure: str) -> str:
    """Return which groups a gap is between, as the end of a sentence; nothing for what is no gap."""
    pairs = [comparison.measured.pair(k, measure) for k in range(len(comparison.measured.values[:2]))]
    said = [f"{show(pair[0], 40)} over {show(pair[1], 40)}" for pair in pairs if pair]
    if not said:
        return ""
    return f"; {said[0]}" + (f" before, {said[1]} after" if len(set(said)) > 1 else "")


def group_rates(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the rates of each group that the gaps come from, before and after."""
    tables = []
    for k, name in zip(range(len(comparison.measured.values)), ("before", "after"), strict=False):
        lines = comparison.measured.groups(k).to_dict("records")
        rates = ("base_rate", "positive_rate", "true_positive_rate", "precision", "accuracy", "dr")
        tables.append(
            {
                "name": "" if comparison.is_audit else f", {name} the repair",
                "lines": [
                    {
                        "group": show(line["group"], 40) + (" (too few to compare)" if line["few"] else ""),
                        "rows": f"{line['rows']:,}",
                        "rates": [decimal(line[rate]) for rate in rates],
                    }
                    for line in lines
                ],
            }
        )
    return tables


def noise_text(comparison: Comparison) -> str:
    """Say what the risk is held against."""
    if comparison.noise_level is None:
        return "The risk has no noise level here: a model that was given fitted is not trained again."
    said = (
        f"Noise level of DR: {decimal(comparison.noise_level)}. That is the risk of a model of the same kind "
        "that was trained with the attribute shuffled among the rows, so that it carries no information."
    )
    if comparison.is_noise:
        said += (
            " The model's own risk cannot be told from it: edits against such a risk may only follow chance."
        )
    return said


def _with_interval(value: Any, low: Any, high: Any) -> tuple[str, str]:
    return decimal(value), f"{decimal(low)} to {decimal(high)}"
