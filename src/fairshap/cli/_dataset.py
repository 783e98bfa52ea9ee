"""``fairshap repair`` and ``fairshap audit`` of many Parquet files."""

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import typer
from sklearn.frozen import FrozenEstimator

from fairshap import Evidence, audit_dataset, repair_dataset
from fairshap._crossval import MEASURES
from fairshap._messages import listing
from fairshap.cli._columns import ColumnFacts, ColumnScan, is_text, tell_left_out
from fairshap.cli._meaning import find_value, read_privileged, values_of
from fairshap.cli._models import MODELS, feature_names, load_model, make_model
from fairshap.cli._options import (
    INVOCATION,
    ConstraintOptions,
    FileOptions,
    ReportOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    explainer_of,
)
from fairshap.cli._output import Output, check_writable, plain, write_all
from fairshap.cli.audit import print_evidence
from fairshap.cli.repair import make_repair
from fairshap.exceptions import ColumnError, GroupError, TargetError
from fairshap.scale import DatasetRepair
from fairshap.scale._files import Files
from fairshap.scale._fitting import MAX_REFERENCES

# The rows whose groups are read at a time.
_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What the options say of the files' columns, and what was found in them."""

    files: Files
    who: dict[str, Any]
    positive: Any
    #: The columns that the model does not see, and why; and those that are categories to it.
    left_out: dict[str, str]
    categorical: list[str]
    estimator: Any

    @property
    def options(self) -> dict[str, Any]:
        """The same as the Python functions take it."""
        return {"positive": self.positive, "drop": list(self.left_out), "categorical": self.categorical}


def repair_files(
    output: Output,
    task: TaskOptions,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    files: TableFiles,
    rooms: dict[str, Any],
) -> None:
    """Repair all files of a data set into a folder, and print what was found and edited."""
    if files.edits is not None:
        raise typer.BadParameter(f"--edits goes with one file; the ledgers are in {files.out}/_ledger")
    files.check()
    explainer_of(selector.game, None, files.report)
    check_writable(files.reports, force=files.force, sources=[Path(task.model)])
    read = _open(output, task)
    explainer = explainer_of(selector.game, read.positive, files.report)
    repair = make_repair(output.run, read.who, read.estimator, selector, limits, explainer)
    rooms = {**rooms, "max_references": rooms["max_references"] or MAX_REFERENCES}
    with output.warnings(of_edits=True):
        made = repair_dataset(task.data, files.out, repair, target=str(task.target), **read.options, **rooms)
    about = _about(task, files, read, "repair")
    if files.reports:
        evidence = made.report(**about)
        write_all([(path, partial(evidence.content, path)) for path in files.reports], force=files.force)
    _print_repair(output, files, made)
    sums = made.sums
    output.json(
        **_describe(task, read, sums.n_rows),
        edits=sums.n_edits,
        rows_edited=sums.n_edited_rows,
        by_column=sums.edits_by_column,
        measures=sums.frame().iloc[0].to_dict(),
        groups=sums.groups(),
        columns=sums.columns(),
        references=made.diagnostics,
        out=files.out,
        report=files.report,
    )


def audit_files(output: Output, task: TaskOptions, page: ReportOptions, **more: Any) -> Evidence:
    """Audit a model on all files of a data set, print what was found, and return it."""
    page.check()
    check_writable(page.reports, force=page.force, sources=[Path(task.model)])
    read = _open(output, task)
    about = _about(task, page, read, "audit")
    with output.warnings():
        found = audit_dataset(
            task.data, read.estimator, **about, **read.who, **read.options, **more, **output.run.params
        )
    write_all([(path, partial(found.content, path)) for path in page.reports], force=page.force)
    print_evidence(output, found, [])
    output.written(page, apart=True)
    evidence = found.to_dict()
    output.json(**_describe(task, read, found.setting.rows), evidence=evidence, rows=[], report=page.report)
    return found


def _open(output: Output, task: TaskOptions) -> _Meaning:
    """Return the files and what their columns mean, and print notes on both."""
    taken = ("data", "drop", "categorical", "numeric")
    for name in (field.name for field in fields(FileOptions) if field.name not in taken):
        if getattr(task, name) not in (None, []):
            why = "is about text files and workbooks; Parquet files tell their own types"
            raise typer.BadParameter(f"--{name.replace('_', '-')} {why}")
    files = Files.open(task.data)
    schema = {field.name: field.type for field in (*files.schema, *files.partitions)}
    _check_kinds(task, files, schema)
    frozen = None
    if task.model not in MODELS and (Path(task.model).suffix or Path(task.model).exists()):
        frozen = FrozenEstimator(load_model(Path(task.model), trust_pickle=task.trust_pickle))
    who, positive, found = _read_meaning(task, files, schema)
    left_out = dict.fromkeys(task.drop or (), "--drop") | ({} if task.id is None else {task.id: "--id"})
    kept = {*left_out, str(task.target), *(task.sensitive or ()), *(task.categorical or ())}
    # A fitted model takes what it was fitted with.
    kept |= {*(task.numeric or ()), *((feature_names(frozen) or ()) if frozen is not None else ())}
    left_out |= {one.name: one.why_unusable for one in found if one.name not in kept and one.why_unusable}
    seen = [name for name in files.names if name != task.target and name not in left_out]
    categorical = [name for name in seen if is_text(schema[name]) or name in (task.categorical or ())]
    if left_out:
        rows = f"{task.data}: {files.n_rows:,} rows, {len(seen)} columns beside the target"
        output.note(rows, [f"{'left out':<9} {tell_left_out(left_out)}"])
    estimator = make_model(task.model, output.run, n_rows=files.n_rows) if frozen is None else frozen
    return _Meaning(files, who, positive, left_out, categorical, estimator)


def _check_kinds(task: TaskOptions, files: Files, schema: dict[str, Any]) -> None:
    """Raise an error if an option names a column that is not there, or is to be numbers and is none."""
    for option in ("drop", "categorical", "numeric"):
        for name in getattr(task, option) or ():
            if name not in files.names:
                raise ColumnError(f"--{option} {name} is not a column of the files.", parameter=option)
            if option == "numeric" and (is_text(schema[name]) or pa.types.is_dictionary(schema[name])):
                raise ColumnError(
                    f"--numeric {name} is text in the files; write it as numbers.", parameter="numeric"
                )


def _about(task: TaskOptions, options: ReportOptions, read: _Meaning, what: str) -> dict[str, Any]:
    """Return what a report says about the files and the command."""
    label = {} if read.positive is None else {"favorable": str(plain(read.positive))}
    return {
        "title": f"Fairness {what} of {task.data}, by {' and '.join(task.sensitive or ())}",
        "command": INVOCATION.get().line(),
        "data": task.data,
        "target": str(task.target),
        "redact": options.redact,
        **label,
    }


def _describe(task: TaskOptions, read: _Meaning, n_rows: int) -> dict[str, Any]:
    """Return the files, their columns and the model, for the JSON."""
    data = {"name": task.data, "files": len(read.files.files), "rows": n_rows, "target": task.target}
    return {"data": {**data, "dropped": read.left_out, **read.who}, "model": task.model}


def _print_repair(output: Output, files: TableFiles, made: DatasetRepair) -> None:
    """Print what the explained model did, what was edited, and where it is."""
    sums = made.sums
    if made.n_resumed:
        output.note(f"{made.n_resumed} of {len(made.files)} files were complete already.")
    output.line("The explained model on the rows before the repair, which it was fitted on at least in part")
    measures = sums.frame().iloc[0]
    labels = ((MEASURES[str(name)].label, value) for name, value in measures.items())
    output.table(["measure", "value"], labels)
    share = sums.n_edits / (sums.n_rows * len(sums.feature_names))
    cells = f"{sums.n_edits:,} cells ({share:.2%}) were replaced, in {sums.n_edited_rows:,} of"
    output.line(f"\n{cells} {sums.n_rows:,} rows of {len(made.files):,} files.")
    head = ["column", "mean", "mean size", "largest", "cells edited"]
    output.table(head, sums.columns().itertuples(index=False))
    ratio = made.diagnostics.get("distance_ratio")
    if ratio is not None:
        told = f"{ratio:.3f} times as far as the nearest of {made.diagnostics['candidates']:,} rows"
        output.line(f"References are a sample: on average they are {told}.")
    output.line(f"\nWritten: {files.out}, with ledgers in _ledger and checksums in _fairshap/manifest.json")
    if files.reports:
        output.line(f"Written: {', '.join(files.reports)}")


def _read_meaning(
    task: TaskOptions, files: Files, schema: dict[str, Any]
) -> tuple[dict[str, Any], Any, list[ColumnFacts]]:
    """Return the sensitive attribute as the files have it, the positive label, and what columns hold."""
    names, target = list(task.sensitive or ()), task.target
    if target is None:
        raise _not_given("target", "the column to predict", files.names)
    if not names:
        raise _not_given("sensitive", "the sensitive column", [n for n in files.names if n != target])
    asked = [(target, "target"), *((name, "sensitive") for name in names)]
    if task.id is not None:
        if task.id in (target, *names):
            raise GroupError(f"column {task.id!r} is --id and --target or --sensitive too; give two columns.")
        asked.append((task.id, "id"))
    for name, option in asked:
        if name not in files.names:
            raise ColumnError(f"--{option} {name} is not a column of the files.", parameter=option)
    scans = {name: ColumnScan(name, schema[name]) for name in files.names}
    parts = []
    for chunk in files.chunks(files.names, _ROWS):
        parts.append(chunk.select([*names, target]).to_pandas(ignore_metadata=True).drop_duplicates())
        for name, scan in scans.items():
            scan.add(chunk.column(name))
    frame = pd.concat(parts, ignore_index=True).drop_duplicates()
    if not task.privileged:
        values = [plain(value) for name in names for value in values_of(frame[name])]
        raise _not_given("privileged", f"a value of {' and '.join(names)}", values)
    who = {
        "sensitive": names[0] if len(names) == 1 else names,
        "privileged": read_privileged(frame, names, list(task.privileged or ())),
    }
    found = [scan.facts for scan in scans.values()]
    if not task.positive:
        return who, None, found
    if len(task.positive) > 1:
        raise typer.BadParameter("--positive names several labels; many files take one")
    labels = sorted(frame[target].dropna().unique())
    return who, find_value("positive", task.positive[0], target, labels, TargetError), found


def _not_given(option: str, what: str, columns: Any) -> typer.BadParameter:
    return typer.BadParameter(f"--{option} is not given; name {what}: {listing(columns, limit=20)}")
