"""``fairshap repair`` of many Parquet files."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import typer
from sklearn.frozen import FrozenEstimator

from fairshap import repair_dataset
from fairshap._crossval import MEASURES
from fairshap._messages import listing
from fairshap.cli._labels import find_value, read_privileged, values_of
from fairshap.cli._models import MODELS, load_model, make_model
from fairshap.cli._options import (
    ConstraintOptions,
    FileOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    explainer_of,
)
from fairshap.cli._output import Output, plain
from fairshap.cli.repair import make_repair
from fairshap.exceptions import ColumnError, GroupError, TargetError
from fairshap.scale._files import Files
from fairshap.scale._fitting import MAX_REFERENCES

# The rows whose groups are read at a time.
_ROWS = 1 << 20


def repair_files(
    output: Output,
    task: TaskOptions,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    files: TableFiles,
    max_references: int | None,
    max_memory: float,
) -> None:
    """Repair all files of a data set into a folder, and print what was found and edited."""
    for option, value in (("--edits", files.edits), ("--report", files.report)):
        if value is not None:
            raise typer.BadParameter(f"{option} goes with one file; the ledgers are in {files.out}/_ledger")
    if files.redact:
        raise typer.BadParameter("--redact is about the report, which goes with one file")
    for name in (field.name for field in fields(FileOptions) if field.name not in ("data", "drop")):
        if getattr(task, name) is not None and getattr(task, name) != []:
            shown = name.replace("_", "-")
            raise typer.BadParameter(
                f"--{shown} is about text files and workbooks; Parquet files tell their own types"
            )
    found = Files.open(task.data)
    who, positive = _read_meaning(task, found)
    if task.model in MODELS:
        estimator = make_model(task.model, output.run, n_rows=found.n_rows)
    else:
        estimator = FrozenEstimator(load_model(Path(task.model), trust_pickle=task.trust_pickle))
    explainer = explainer_of(selector.game, positive, files.report)
    repair = make_repair(output.run, who, estimator, selector, limits, explainer)
    with output.warnings(of_edits=True):
        made = repair_dataset(
            task.data,
            files.out,
            repair,
            target=str(task.target),
            positive=positive,
            drop=[*(task.drop or ()), *([] if task.id is None else [task.id])],
            max_references=max_references or MAX_REFERENCES,
            max_memory=max_memory,
        )
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
    output.json(
        data={"name": task.data, "files": len(made.files), "rows": sums.n_rows, "target": task.target, **who},
        model=task.model,
        edits=sums.n_edits,
        rows_edited=sums.n_edited_rows,
        by_column=sums.edits_by_column,
        measures=measures.to_dict(),
        groups=sums.groups(),
        columns=sums.columns(),
        references=made.diagnostics,
        out=files.out,
    )


def _read_meaning(task: TaskOptions, files: Files) -> tuple[dict[str, Any], Any]:
    """Return the sensitive attribute as the files have it, and the positive label."""
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
    chunks = files.chunks([*names, target], _ROWS)
    parts = [chunk.to_pandas(ignore_metadata=True).drop_duplicates() for chunk in chunks]
    frame = pd.concat(parts, ignore_index=True).drop_duplicates()
    if not task.privileged:
        values = [plain(value) for name in names for value in values_of(frame[name])]
        raise _not_given("privileged", f"a value of {' and '.join(names)}", values)
    who = {
        "sensitive": names[0] if len(names) == 1 else names,
        "privileged": read_privileged(frame, names, list(task.privileged or ())),
    }
    if not task.positive:
        return who, None
    if len(task.positive) > 1:
        raise typer.BadParameter("--positive names several labels; many files take one")
    labels = sorted(frame[target].dropna().unique())
    return who, find_value("positive", task.positive[0], target, labels, TargetError)


def _not_given(option: str, what: str, columns: Any) -> typer.BadParameter:
    return typer.BadParameter(f"--{option} is not given; name {what}: {listing(columns, limit=20)}")
