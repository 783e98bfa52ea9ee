"""Evidence from sums: the groups, outcomes, errors and treatment of an audit of any size, without a row."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairshap._crossval.measures import critical_value
from fairshap._frames import show
from fairshap._models import is_frozen
from fairshap._problem.problem import side_names
from fairshap._typing import Floats
from fairshap.estimators import FairSHAP
from fairshap.evidence import Evidence
from fairshap.evidence._assembly import compose, read_about
from fairshap.evidence._figures import Figure, Level
from fairshap.evidence._gates import read_conditions
from fairshap.evidence._held import Held
from fairshap.evidence._provenance import Provenance
from fairshap.evidence._sections import ColumnRisk, Mitigation, Setting, TreatedGroup, Treatment
from fairshap.evidence._tables import Split, compare_models
from fairshap.exceptions import InputError
from fairshap.scale._repairer import Repairer
from fairshap.scale._sums import CELLS, STEPS, Sums


@dataclass(frozen=True, slots=True)
class Subject:
    """What sums are about: names of columns, labels and groups, and the model; no row."""

    setting: Setting
    provenance: Provenance
    #: Whether a label is favorable.
    has_favorable: bool
    #: For each group the value of each attribute; None where a group has several, or for a quantity.
    values: tuple[tuple[Any, ...], ...] | None
    is_quantity: bool
    unit: str
    method: str

    @classmethod
    def of(cls, repairer: Repairer, repair: FairSHAP) -> "Subject":
        """Return what the sums of a repairer are about."""
        whole, scorer, names = repairer.whole, repairer.scorer, repairer.columns
        target, known = whole.target, whole.known
        values = None
        if known is not None and len(known) == len(whole.groups.names):
            by_code: dict[int, Any] = {code: value for value, (_, _, code) in known.items()}
            single = len(whole.columns) == 1
            values = tuple((by_code[k],) if single else tuple(by_code[k]) for k in sorted(by_code))
        messages: tuple[str, ...] = ()
        if (ratio := repairer.diagnostics.get("distance_ratio")) is not None:
            messages = (f"References are a sample, {ratio:.3f} times as far as all rows.",)
        setting = Setting(
            target=str(repairer.target),
            positive="" if target.positive is None else show(target.positive_value, 60),
            labels=() if target.classes is None else tuple(show(label, 60) for label in target.classes),
            rows=repairer.n_rows,
            columns=tuple(show(name, 60) for name in names),
            sensitive=tuple(show(names[k], 60) for k in whole.columns),
            privileged=side_names(whole.privileged, whole.groups)[1],
            privileged_note="",
            is_weighted=False,
            sees_attribute=True,
            how="On all rows of the files; a model looks better than it is on rows that it was trained on.",
            folds=None,
            repeats=None,
            messages=messages,
        )
        unit = "prediction" if scorer.is_regressor else "margin"
        return cls(
            setting,
            Provenance.of(repairer.model, repair.random_state, is_given=is_frozen(repair.estimator)),
            has_favorable=target.positive is not None,
            values=values,
            is_quantity=known is None,
            unit="probability" if scorer.has_probabilities else unit,
            method=f"FairSHAP: {show(repairer.selector)}",
        )


def make_evidence(
    sums: Sums, subject: Subject, *, is_repair: bool, fail_if: Iterable[str], about: dict[str, Any]
) -> Evidence:
    """Return the evidence in the sums of all rows, of an audit or of a repair."""
    about, conditions = read_about(about), read_conditions(fail_if)
    if not subject.has_favorable:
        raise InputError(
            "a report from sums needs a favorable label; name it by positive.", parameter="positive"
        )
    setting = replace(
        subject.setting,
        target=str(about["target"] or subject.setting.target),
        positive=str(about["favorable"] or subject.setting.positive),
        rows=sums.n_rows,
    )
    splits = _splits(sums, subject)
    before, after = (_held(sums, setting, part) for part in (1, 2))
    known = about["model_checksum"]
    provenance = replace(
        subject.provenance,
        data_sha256=about["checksum"] or "",
        model_sha256=subject.provenance.model_sha256 if known is None else known,
    )
    return compose(
        setting,
        splits,
        before,
        _treat(sums, subject, splits[-1]),
        _mitigate(sums, subject, splits, before, after) if is_repair else None,
        provenance,
        about,
        conditions,
        not_measured=[_NOT_MEASURED],
    )


_NOT_MEASURED = (
    "These figures are sums over files. What needs all rows at once was not measured: ROC AUC, calibration, "
    "rates of scores above the median, how well columns tell the attribute, and a retrained model."
)


def _splits(sums: Sums, subject: Subject) -> list[Split]:
    """Return the groups of the rows that stand for the cells of the sums, as an audit has them."""
    n = len(sums.group_names)
    code, rows = np.repeat(np.append(np.arange(n), -1), len(CELLS)), sums.counts[:n, 0]
    attributes = subject.setting.sensitive
    together = " / ".join(attributes)
    if subject.is_quantity:
        return [Split(together, code, sums.group_names)]
    found = []
    if subject.values is not None and len(attributes) > 1:
        for k, attribute in enumerate(attributes):
            names = [show(value[k], 60) for value in subject.values]
            found.append(_by_size(attribute, code, names, rows))
    whole = [show(name, 60) for name in sums.group_names]
    return [*found, _by_size(together, code, whole, rows, is_intersection=len(attributes) > 1)]


def _by_size(
    attribute: str, code: Any, names: list[str], rows: Any, *, is_intersection: bool = False
) -> Split:
    """Return the groups of some names, each of which may be that of several codes, the largest first."""
    distinct = list(dict.fromkeys(names))
    of = np.array([distinct.index(name) for name in names])
    counts = np.bincount(of, rows, len(distinct))
    return Split.by_size(attribute, np.append(of, -1)[code], distinct, counts, is_intersection)


def _held(sums: Sums, setting: Setting, part: int) -> Held:
    """Return what the model does before (1) or after (2) the repair; a row stands for a cell of the sums."""
    cells = np.tile(CELLS, (len(sums.cells), 1)).astype(np.float64)
    true, predicted = cells[:, :1], cells[:, part : part + 1]
    n = len(cells)
    nothing = np.full(n, np.nan)
    return Held(
        (setting.positive,),
        true,
        predicted,
        (true == predicted)[:, 0].astype(np.float64),
        [],
        nothing[:, None],
        is_probability=False,
        risk=nothing,
        flips=nothing,
        risk_by_fold=np.empty(0),
        weight=np.ones(n),
        is_counted=True,
        how=setting.how,
        times=sums.cells.ravel().astype(np.float64),
    )


def _treat(sums: Sums, subject: Subject, split: Split) -> Treatment:
    """Return what changes when only the attribute does."""
    place = split.codes[:: len(CELLS)]
    groups = tuple(
        TreatedGroup(
            name, _mean(sums, place == k).figure().never_negative(), _rate(sums, place == k).figure()
        )
        for k, name in enumerate(split.names)
    )
    everyone = np.ones(len(place), dtype=np.bool_)
    level = _mean(sums, everyone)
    half = critical_value() * level.error
    risk = Figure(level.value, level.value - half, level.value + half).never_negative()
    columns = sums.columns().sort_values("mean_size", ascending=False, kind="stable")
    total = float(columns["mean_size"].sum())
    parts = zip(columns["column"], columns["mean_size"].tolist(), columns["cells"].tolist(), strict=True)
    lines = tuple(
        ColumnRisk(show(name, 60), size, size / total if total else 0.0, cells)
        for name, size, cells in parts
        if show(name, 60) not in subject.setting.sensitive
    )
    flipped = int(sums.flips[:, 0].sum())
    rate = _rate(sums, everyone).figure()
    return Treatment(risk, subject.unit, float("nan"), False, rate, flipped, groups, (), lines)


def _mean(sums: Sums, rows: Any, steps: str = "risk_steps") -> Level:
    """Return the mean risk of some groups."""
    n = int(sums.n_risks[rows].sum())
    if not n:
        return Level(np.nan, 0.0, np.zeros(1), is_share=False)
    chosen = np.flatnonzero(rows).tolist()
    mean, square = (
        sum(getattr(sums, name)[k] for k in chosen) / STEPS / n for name in (steps, "square_steps")
    )
    error = np.sqrt(max(0.0, square - mean**2) / n)
    return Level(mean * sums.unit, float(n), np.array([error * sums.unit]), is_share=False)


def _rate(sums: Sums, rows: Any, part: int = 0) -> Level:
    """Return how often the decision flips in some groups, before (0) or after (1) the repair."""
    n, k = int(sums.n_risks[rows].sum()), int(sums.flips[rows, part].sum())
    nothing: Floats = np.zeros(1)
    return Level(k / n if n else np.nan, float(n), nothing)


def _mitigate(sums: Sums, subject: Subject, splits: list[Split], before: Held, after: Held) -> Mitigation:
    groups = {one.attribute: compare_models(before, after, one) for one in splits}
    everyone = np.ones(len(sums.n_risks), dtype=np.bool_)
    dr = [_mean(sums, everyone, name).value for name in ("risk_steps", "after_steps")]
    flips = [100 * _rate(sums, everyone, part).value for part in (0, 1)]
    how = (
        "The explained model itself, which was trained before the repair and is asked about the repaired "
        f"rows, has a mean risk (DR) of {dr[1]:.4f}, before {dr[0]:.4f}, and flips {flips[1]:.2f} % of its "
        f"decisions, before {flips[0]:.2f} %."
    )
    by_column = sorted(sums.edits_by_column.items(), key=lambda one: -one[1])
    cells = sums.n_rows * len(subject.setting.columns)
    edited = {show(name, 60): n for name, n in by_column}
    return Mitigation(
        subject.method, sums.n_edits, cells, sums.n_edited_rows, 0, edited, "", how, (), groups, (), ""
    )
