"""The sections of evidence beside the tables of groups: setting, treatment, mitigation and answers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairshap._crossval import MEASURES
from fairshap._frames import show
from fairshap._problem.target import steps
from fairshap._typing import Floats
from fairshap.edits._recipe import describe_counterfactuals
from fairshap.evidence._figures import Figure, average, mean_between_folds, share
from fairshap.evidence._held import Held
from fairshap.evidence._tables import Before, Split, compare_models
from fairshap.report._data import ReportData

# The rows whose decision flips that are listed, and the alternatives.
_ROWS, _ALTERNATIVES = 25, 40


@dataclass(frozen=True, slots=True)
class Setting:
    """What was audited, and on which rows."""

    target: str
    #: The favorable label; blank for a quantity, or several labels of which none is named.
    positive: str
    labels: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]
    sensitive: tuple[str, ...]
    #: The privileged group that the risk and the proxies are about.
    privileged: str
    #: How the privileged group was found, if it was not given.
    privileged_note: str
    is_weighted: bool
    sees_attribute: bool
    how: str
    folds: int | None
    repeats: int | None
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreatedGroup:
    """How much the output for a group changes, and how often its decisions, if only the attribute does."""

    group: str
    risk: Figure
    flip_rate: Figure


@dataclass(frozen=True, slots=True)
class FlippedRow:
    """A row whose decision changes when only the attribute does; rows are counted from 0."""

    row: int
    id: str
    group: str
    risk: float
    #: The share of the models that flip it, of those that were asked.
    flips: float


@dataclass(frozen=True, slots=True)
class ColumnRisk:
    """What a column adds to the risk: the mean size of its Shapley values, and the cells over a threshold."""

    column: str
    mean_size: float
    share: float
    cells: int


@dataclass(frozen=True, slots=True)
class Treatment:
    """What changes when only the sensitive attribute does: discriminative risk (DR) and flips."""

    risk: Figure
    #: The unit of the risk: probability, margin or the target's own.
    unit: str
    #: The risk of a model whose attribute was shuffled among the rows; NaN if none was trained.
    noise_level: float
    is_noise: bool
    flip_rate: Figure
    flipped_rows: int
    groups: tuple[TreatedGroup, ...]
    rows: tuple[FlippedRow, ...]
    columns: tuple[ColumnRisk, ...]


@dataclass(frozen=True, slots=True)
class MeasureChange:
    """A measure before and after the mitigation."""

    name: str
    label: str
    description: str
    before: Figure
    after: Figure
    change: Figure
    #: Better, worse, or not measurable.
    verdict: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """Something else that was tried, and what it costs and gains."""

    name: str
    measures: dict[str, Figure]
    cells: float
    is_recommended: bool


@dataclass(frozen=True, slots=True)
class Mitigation:
    """What was changed in the table, what it did on held-out rows, and what else was tried."""

    method: str
    cells: int
    cells_in_table: int
    rows: int
    added_rows: int
    columns: dict[str, int]
    ledger_sha256: str
    how: str
    measures: tuple[MeasureChange, ...]
    #: The rates of each group before and after, by attribute.
    groups: dict[str, tuple[Before, ...]]
    alternatives: tuple[Alternative, ...]
    reason: str


def treat(held: Held, split: Split, unit: str, columns: Sequence[ColumnRisk], ids: Any) -> Treatment:
    """Return what changes when only the attribute does."""
    held_out = float(np.mean([len(at) for at, _ in held.folds]))
    risk = mean_between_folds(held.risk, held.risk_by_fold, held_out, held.weight)
    groups = tuple(
        TreatedGroup(name, _mean(held.risk, split.codes == k, held.weight), _rate(held, split.codes == k))
        for k, name in enumerate(split.names)
    )
    flips = np.nan_to_num(held.flips)
    # The largest risk first; equal ones in the order of the table.
    order = np.lexsort([np.arange(len(flips)), -steps(np.nan_to_num(held.risk), 1.0), -flips])
    names = (*split.names, "unknown")
    rows = tuple(
        FlippedRow(int(k), show(ids[k], 60), names[split.codes[k]], float(held.risk[k]), float(flips[k]))
        for k in order[:_ROWS]
        if flips[k] > 0
    )
    return Treatment(
        risk,
        unit,
        float("nan") if held.noise is None else float(held.noise.mean()),
        held.is_noise,
        _rate(held, np.ones(len(flips), dtype=np.bool_)),
        int(np.count_nonzero(flips)),
        groups,
        rows,
        tuple(columns),
    )


def _mean(values: Floats, rows: Any, weight: Floats) -> Figure:
    known = rows & ~np.isnan(values)
    return average(np.nan_to_num(values), known, weight).figure().never_negative()


def _rate(held: Held, rows: Any) -> Figure:
    known = rows & ~np.isnan(held.flips)
    return share(known * np.nan_to_num(held.flips), known, held.weight).figure()


def column_risks(data: ReportData | None) -> list[ColumnRisk]:
    """Return what each column adds to the risk, all of them, the most first."""
    if data is None:
        return []
    explanation = data.explanation
    size = explanation.mean_sizes()
    of = dict(zip(explanation.features.columns, explanation.features.of_column.tolist(), strict=True))
    cells = Counter(of[column] for column in data.edits.column)
    attributes = {of[data.problem.table.names[k]] for k in data.problem.columns if not data.problem.added}
    total = float(size.sum())
    return [
        ColumnRisk(
            show(explanation.feature_names[k], 60),
            float(size[k]),
            float(size[k] / total) if total else 0.0,
            cells[k],
        )
        for k in np.argsort(-size, kind="stable").tolist()
        if k not in attributes
    ]


def mitigate(
    data: ReportData, models: Sequence[Held], splits: Sequence[Split], ledger: str, added: int
) -> Mitigation:
    """Return what a repair changed and did; ``models`` are those before and after, if they were measured."""
    lines = data.measure_lines() or {}
    measures = []
    for name, line in lines.items():
        before, after, change = (Figure(*line[part]) for part in ("before", "after", "change"))
        said = line["label"], line["description"]
        measures.append(MeasureChange(name, *said, before, after, change, line["verdict"]))
    groups = {}
    if len(models) == 2:
        groups = {one.attribute: compare_models(models[0], models[1], one) for one in splits}
    edits, method = data.edits, f"FairSHAP: {data.selection}"
    if data.recipe.counterfactuals is not None:
        method += f"; {describe_counterfactuals(data.recipe.counterfactuals)}"
    return Mitigation(
        method,
        len(edits),
        data.n_cells,
        len(np.unique(edits.row)),
        added,
        {show(name, 60): n for name, n in Counter(edits.column).most_common()},
        ledger,
        data.not_measured if data.evaluation is None else data.evaluation.how,
        tuple(measures),
        groups,
        tuple(_alternatives(data)),
        "" if data.tuning is None else data.tuning.reason,
    )


def _alternatives(data: ReportData) -> list[Alternative]:
    """Return what else was tried: the candidates of a search, or the further methods of an evaluation."""
    if data.tuning is not None:
        frame, taken, first = data.tuning.frame(), data.tuning.recommended, "name"
    elif data.evaluation is not None and len(data.evaluation.names) > 2:
        frame, taken, first = data.evaluation.frame(), None, data.evaluation.by
    else:
        return []
    return [
        Alternative(
            str(line[first]),
            {
                m: Figure(*(float(line.get(f"{m}{end}", np.nan)) for end in ("", "_low", "_high")))
                for m in MEASURES
            },
            float(line["edits"]),
            line[first] == taken,
        )
        for line in frame.head(_ALTERNATIVES).to_dict("records")
    ]
