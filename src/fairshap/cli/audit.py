"""``fairshap audit``: how unfair, for whom, through which columns and which rows."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import typer

from fairshap import FairSHAP
from fairshap._crossval import MEASURES, MIN_COMPARED, Evaluation
from fairshap._models import is_frozen
from fairshap._problem.target import steps
from fairshap.cli._files import write_all
from fairshap.cli._models import open_task
from fairshap.cli._options import (
    FoldOptions,
    ReportOptions,
    RunOptions,
    TaskOptions,
    explainer_of,
    game_option,
    option,
)
from fairshap.cli._output import Output, describe_folds, describe_measures, print_measures
from fairshap.cli._problem import CommandTable
from fairshap.model_selection import evaluate, evaluate_fitted


def audit(
    context: typer.Context,
    task: TaskOptions,
    run: RunOptions,
    page: ReportOptions,
    on: FoldOptions,
    threshold: float = option(0.05, "The smallest Shapley value of a cell that is counted."),
    top: int = option(10, "Rows to show.", min=0),
    game: str = game_option(),
) -> None:
    """Say how unfair a model is, for whom, through which columns and which rows; change nothing."""
    output = Output("audit", run)
    problem, estimator = open_task(output, task, page, on)
    explainer = explainer_of(game, problem.positive, page.report)
    with output.warnings():
        if is_frozen(estimator):
            measured = evaluate_fitted(estimator, **problem.inputs)
        else:
            how = {**problem.inputs, **on.params, **run.params}
            measured = evaluate(estimator=estimator, methods=["baseline"], **how)
        repair = FairSHAP(estimator, **problem.who, threshold=threshold, explainer=explainer, **run.params)
        repair.fit(problem.X, problem.y)
        report = partial(problem.report, context, page, repair, evaluation=measured, audit=True)
        write_all([(page.report, report)], force=page.force)
    groups, columns, rows = measured.groups(), _columns(repair), _rows(repair, problem, top)
    _print(output, problem.sensitive, measured, game, groups, columns, rows)
    output.written(page, apart=True)
    output.json(
        **problem.describe(),
        rows_held_out=measured.folds is not None,
        **describe_folds(measured),
        measures=describe_measures(measured)[0],
        groups=groups,
        columns=columns,
        rows=rows,
        report=page.report,
    )


def _columns(repair: FairSHAP) -> pd.DataFrame:
    """Return one line for each column: what it adds to the risk, the most first."""
    phi, names = repair.explanation_.values, repair.explanation_.feature_names
    counts = pd.Series(repair.edits_.column, dtype=object).value_counts()
    found = {
        "column": [str(name) for name in names],
        "mean_attribution": np.nanmean(phi, axis=0),
        "largest_attribution": np.nanmax(phi, axis=0),
        "cells": [int(counts.get(name, 0)) for name in names],
    }
    return pd.DataFrame(found).sort_values("mean_attribution", ascending=False, ignore_index=True)


def _rows(repair: FairSHAP, problem: CommandTable, top: int) -> pd.DataFrame:
    """Return the rows of the largest risk or gap, with what adds the most and its reference's value."""
    explanation = repair.explanation_
    name = explanation.game
    risk = np.nan_to_num(explanation.risk if name == "risk" else explanation.gap, nan=-1.0)
    lines = []
    for row in np.argsort(-steps(risk, explanation.unit), kind="stable")[:top].tolist():
        phi = explanation.values[row]
        group = " / ".join(map(str, np.atleast_1d(problem.X[problem.sensitive].iloc[row])))
        line: dict[str, Any] = {"row": row, name: risk[row], "group": group}
        other = int(explanation.best[row])
        if other >= 0 and not np.isnan(phi).all():
            column = explanation.feature_names[int(np.nanargmax(steps(phi, explanation.unit)))]
            line |= {
                "column": str(column),
                "value": problem.X[column].iloc[row],
                "reference_value": problem.X[column].iloc[other],
                "attribution": float(np.nanmax(phi)),
                "reference": other,
            }
        lines.append(line)
    names = ["row", "group", name, "column", "value", "reference_value", "attribution", "reference"]
    return pd.DataFrame(lines, columns=names)


def _print(output: Output, sensitive: Any, measured: Evaluation, game: str, *tables: pd.DataFrame) -> None:
    groups, columns, rows = tables
    line = measured.frame().iloc[0]
    cells = {name: [line[f"{name}{end}"] for end in ("", "_low", "_high")] for name in MEASURES}
    rows_of = "held-out rows" if measured.folds else "the rows of the table"
    output.line(f"How unfair: the model on {rows_of}, with 95 % intervals")
    print_measures(output, measured, ("value", "from", "to"), cells)
    output.line(f"\nFor whom: by {sensitive!r}")
    names = ["rows", "base_rate", "positive_rate", "true_positive_rate", "precision", "accuracy", "dr"]
    head = ["group", "rows", "base rate", "predicted", "true positives", "precision", "accuracy", "DR"]
    output.table(head, [(one["group"], *(one[name] for name in names)) for _, one in groups.iterrows()])
    few = groups["group"][groups["few"]]
    if len(few):
        output.line(f"Too few rows to be compared (under {MIN_COMPARED}): {', '.join(few)}.")
    what = "risk" if game == "risk" else "gap in favor of the privileged person of a pair"
    output.line(f"\nThrough which columns: what each adds to the {what}")
    output.table(["column", "mean", "largest", "cells to edit"], columns.head(10).itertuples(index=False))
    if len(rows):
        said = f"the largest {game}s, and the value that adds the most (rows are counted from 0)"
        output.line(f"\nWhich rows: {said}")
        head = ["row", "group", game, "column", "value", "reference has", "adds"]
        output.table(head, [(str(one[0]), *one[1:-1]) for one in rows.itertuples(index=False)], left=(1, 3))
