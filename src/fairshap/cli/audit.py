"""``fairshap audit``: how unfair, for whom, through which columns and which rows."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from fairshap import FairSHAP, metrics
from fairshap._ties import steps
from fairshap.cli._models import from_file, get_model, model_file
from fairshap.cli._options import FileOptions, Force, Ledger, ModelOptions, RunOptions, TableOptions
from fairshap.cli._output import MEANINGS, Output, records
from fairshap.cli._problem import Problem, open_problem
from fairshap.cli._reporting import ReportOptions, check_report, make_page
from fairshap.cli._writing import check_writable, write_all
from fairshap.comparing import Comparison, evaluate_fitted
from fairshap.comparing import evaluate as compare
from fairshap.exceptions import MarginWarning, NothingToRepairWarning


def audit(
    context: typer.Context,
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    run: RunOptions,
    page: ReportOptions,
    threshold: Annotated[float, typer.Option(help="From which attribution on a cell is counted.")] = 0.05,
    folds: Annotated[int, typer.Option(min=2, help="Folds that the model is measured on.")] = 5,
    top: Annotated[int, typer.Option(min=0, help="Rows to show.")] = 10,
    edits: Ledger = None,
    force: Force = False,
) -> None:
    """Say how unfair a model is, for whom, through which columns and which rows; change nothing."""
    output = Output("audit", run)
    check_report(page)
    problem = open_problem(file, table, edits)
    read = [problem.source.path, model_file(model), None if edits is None else Path(edits)]
    check_writable([page.report], force=force, sources=read)
    estimator = get_model(model, problem, run)
    for note in problem.notes:
        output.note(note)
    with output.warnings(NothingToRepairWarning, MarginWarning):
        measured = measure(estimator, problem, folds, run)
        asked = FairSHAP(
            estimator,
            **problem.who,
            positive=problem.positive,
            threshold=threshold,
            random_state=run.seed,
            n_jobs=run.jobs,
            verbose=run.verbose,
        ).fit(problem.X, problem.y)
        how = "On the rows of the table; a model looks better than it is on rows that it was trained on."
        compared = measured.for_report(how if from_file(estimator) else None)
        write_all(
            [(page.report, lambda: make_page(context, page, problem, asked, compared=compared, audit=True))],
            force=force,
        )
    groups = _groups(problem, measured)
    columns, rows = _columns(asked), _rows(asked, problem, top)
    _print(output, problem, measured, groups, columns, rows)
    if page.report is not None:
        output.line()
        output.line(f"Written: {page.report}")
    output.json(
        data=problem.describe(),
        model=model.model,
        rows_held_out=not from_file(estimator),
        measures=records(measured.frame())[0],
        groups=records(groups),
        columns=records(columns),
        rows=records(rows),
        report=page.report,
    )


def measure(estimator: Any, problem: Problem, folds: int, run: RunOptions) -> Comparison:
    """Return what a model does: on folds, or one from a file on the table itself."""
    who = {**problem.who, "positive": problem.positive}
    if from_file(estimator):
        return evaluate_fitted(estimator, problem.X, problem.y, **who, random_state=run.seed)
    return compare(
        problem.X,
        problem.y,
        estimator,
        **who,
        methods=["baseline"],
        n_folds=folds,
        random_state=run.seed,
        n_jobs=run.jobs,
        verbose=run.verbose,
    )


def _groups(problem: Problem, measured: Comparison) -> pd.DataFrame:
    """Return one line for each group, with its mean risk."""
    attribute = problem.X[problem.sensitive]
    if isinstance(problem.privileged, pd.Interval):
        inside = [value in problem.privileged if pd.notna(value) else False for value in attribute]
        attribute = pd.Series(np.where(inside, str(problem.privileged), "others"), attribute.index)
    frame = metrics.group_table(
        problem.y.to_numpy(),
        measured.predicted[0],
        sensitive_features=attribute,
        positive=problem.positive,
    )
    keys = attribute.astype(object).agg(tuple, axis=1) if attribute.ndim == 2 else attribute.astype(object)
    risks = pd.Series(measured.risk[0]).groupby(keys.to_numpy()).mean()
    names = [" / ".join(map(str, key)) if isinstance(key, tuple) else str(key) for key in frame.index]
    found = [risks.get(key, np.nan) for key in frame.index]
    return frame.reset_index(drop=True).assign(group=names, dr=found)


def _columns(asked: FairSHAP) -> pd.DataFrame:
    """Return one line for each column: what it adds to the risk, the most first."""
    phi = asked.attributions_.values
    counts = pd.Series(asked.edits_.column, dtype=object).value_counts()
    frame = pd.DataFrame(
        {
            "column": [str(name) for name in asked.attributions_.players],
            "mean_attribution": np.nanmean(phi, axis=0),
            "largest_attribution": np.nanmax(phi, axis=0),
            "cells": [int(counts.get(name, 0)) for name in asked.attributions_.players],
        }
    )
    return frame.sort_values("mean_attribution", ascending=False, ignore_index=True)


def _rows(asked: FairSHAP, problem: Problem, top: int) -> pd.DataFrame:
    """Return the rows of the largest risk, with the column that adds the most and its reference's value."""
    attributions, matches = asked.attributions_, asked.matches_.frame()
    risk = np.nan_to_num(attributions.risk, nan=-1.0)
    best = matches.sort_values(["row", "weight"], ascending=[True, False]).drop_duplicates("row")
    reference = best.set_index("row")["reference"]
    lines = []
    for row in np.argsort(-steps(risk, attributions.unit), kind="stable")[:top].tolist():
        phi = attributions.values[row]
        line: dict[str, Any] = {"row": row, "risk": risk[row], "group": _group_of(problem, row)}
        if row in reference.index and not np.isnan(phi).all():
            name = attributions.players[int(np.nanargmax(steps(phi, attributions.unit)))]
            other = int(reference[row])
            line |= {
                "column": str(name),
                "value": problem.X[name].iloc[row],
                "reference_value": problem.X[name].iloc[other],
                "attribution": float(np.nanmax(phi)),
                "reference": other,
            }
        lines.append(line)
    names = ["row", "group", "risk", "column", "value", "reference_value", "attribution", "reference"]
    return pd.DataFrame(lines, columns=names)


def _group_of(problem: Problem, row: int) -> str:
    value = problem.X[problem.sensitive].iloc[row]
    return " / ".join(map(str, value)) if isinstance(value, pd.Series) else str(value)


def _print(
    output: Output,
    problem: Problem,
    measured: Comparison,
    groups: pd.DataFrame,
    columns: pd.DataFrame,
    rows: pd.DataFrame,
) -> None:
    line = measured.frame().iloc[0]
    held_out = "rows that it was not trained on" if measured.n_folds > 1 else "the rows of the table"
    output.line(f"How unfair: the model on {held_out}, with 95 % intervals")
    output.table(
        ["measure", "value", "from", "to", "meaning"],
        [
            (
                name.upper() if name != "accuracy" else name,
                line[name],
                line[f"{name}_low"],
                line[f"{name}_high"],
                what,
            )
            for name, what in MEANINGS.items()
        ],
        left=(0, 4),
    )
    output.line()
    output.line(f"For whom: by {problem.sensitive!r}")
    names = ["rows", "base_rate", "positive_rate", "true_positive_rate", "precision", "accuracy", "dr"]
    head = ["group", "rows", "base rate", "predicted", "true positives", "precision", "accuracy", "DR"]
    output.table(head, [(one["group"], *(one[name] for name in names)) for _, one in groups.iterrows()])
    output.line()
    output.line("Through which columns: what each adds to the risk")
    output.table(
        ["column", "mean", "largest", "cells to edit"],
        [tuple(one) for one in columns.head(10).itertuples(index=False)],
    )
    if len(rows):
        output.line()
        output.line(
            "Which rows: the largest risks, and the value that adds the most (rows are counted from 0)"
        )
        output.table(
            ["row", "group", "risk", "column", "value", "reference has", "adds"],
            [(str(one[0]), *one[1:-1]) for one in rows.itertuples(index=False)],
            left=(1, 3),
        )
