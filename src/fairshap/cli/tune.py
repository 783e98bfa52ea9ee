"""``fairshap tune``: which repair does the most within what can be accepted."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fairshap import FairSHAP
from fairshap import tune as try_repairs
from fairshap._messages import did_you_mean, listing
from fairshap.cli._measures import print_noise, with_interval
from fairshap.cli._models import from_file, get_model, model_file
from fairshap.cli._options import (
    FileOptions,
    Folds,
    Force,
    Ledger,
    LimitOptions,
    ModelOptions,
    Repeats,
    RunOptions,
    TableOptions,
)
from fairshap.cli._output import Output, records
from fairshap.cli._problem import open_problem
from fairshap.cli._reporting import ReportOptions, check_report, make_page
from fairshap.cli._texts import split
from fairshap.cli._writing import check_writable, write_all
from fairshap.cli.repair import check_limits, guards_of, limit_params
from fairshap.exceptions import InputError, MarginWarning, ModelError, NothingToRepairWarning
from fairshap._crossval import OBJECTIVES, check_objective
from fairshap.repair import describe_twins


def tune(
    context: typer.Context,
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    limits: LimitOptions,
    run: RunOptions,
    page: ReportOptions,
    max_accuracy_drop: Annotated[
        float, typer.Option(min=0, max=1, help="How much accuracy a repair may lose.")
    ] = 0.01,
    max_edits: Annotated[
        float | None, typer.Option(min=0, help="Cells to edit at most: a number, or a share below 1.")
    ] = None,
    objective: Annotated[
        str,
        typer.Option(
            help="What is made small: fairness (mean of DR, DP and EO), dr, dp, eo or pqp, or weights "
            "such as dr=1,dp=6."
        ),
    ] = "fairness",
    strategies: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="threshold, optimal, iterative; all by default.")
    ] = None,
    augments: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Rows that get a counterfactual twin: none, edited, all, or a number for those with at "
            "least that risk. None by default; twins need the Python API to be written.",
        ),
    ] = None,
    folds: Folds = None,
    repeats: Repeats = None,
    top: Annotated[int, typer.Option(min=1, help="Candidates to show.")] = 10,
    edits: Ledger = None,
    force: Force = False,
) -> None:
    """Try many repairs on folds and say which to take."""
    output = Output("tune", run)
    check_report(page)
    problem = open_problem(file, table, edits)
    read = [problem.source.path, model_file(model), None if edits is None else Path(edits)]
    check_writable([page.report], force=force, sources=read)
    check_limits(problem, limits)
    estimator = get_model(model, problem, run)
    if from_file(estimator):
        raise ModelError(
            "tuning trains the model again, and a model from a file is never retrained; give --model the "
            "name of a kind, such as xgboost."
        )
    for note in problem.notes:
        output.note(note)
    more: dict[str, Any] = limit_params(limits)
    if strategies:
        more["strategies"] = split(strategies)
    with output.warnings(NothingToRepairWarning, MarginWarning):
        tuning = try_repairs(
            problem.X,
            problem.y,
            estimator,
            **problem.who,
            positive=problem.positive,
            objective=_objective(objective),
            max_accuracy_drop=max_accuracy_drop,
            max_edits=max_edits,
            augments=_augments(augments),
            guards=guards_of(limits),
            n_folds=folds,
            n_repeats=repeats,
            random_state=run.seed,
            n_jobs=run.jobs,
            verbose=run.verbose,
            **more,
        )
        if page.report is not None:
            made = tuning.repair.set_params(verbose=run.verbose).fit(problem.X, problem.y)
            write_all(
                [(page.report, lambda: make_page(context, page, problem, made, tuning=tuning))], force=force
            )
    frame = tuning.frame()
    output.line(f"{tuning.reason}")
    output.line()
    output.table(
        ["candidate", "objective", "accuracy", "DR", "DP", "EO", "cells edited", "allowed", "on front"],
        [
            (
                line["name"],
                line["objective"],
                *(with_interval(line, name) for name in ("accuracy", "dr", "dp", "eo")),
                f"{line['share']:.2%}",
                line["allowed"],
                line["on_front"],
            )
            for _, line in frame.head(top).iterrows()
        ],
    )
    print_noise(output, tuning.noise_level, tuning.is_noise)
    output.line()
    is_repair = tuning.table.trials[tuning.taken].recipe is not None
    output.line(f"{'The repair' if is_repair else 'If a repair is wanted'}: {options_of(tuning.repair)}")
    if page.report is not None:
        output.line(f"Written: {page.report}")
    output.json(
        data=problem.describe(),
        model=model.model,
        recommended=tuning.recommended,
        reason=tuning.reason,
        repair=_parameters(tuning.repair),
        dr_noise=tuning.noise_level,
        candidates=records(frame),
        report=page.report,
    )


def _objective(text: str) -> Any:
    """Return an objective, or the weights of one."""
    if "=" not in text:
        if text not in OBJECTIVES:
            known = listing(OBJECTIVES)
            raise typer.BadParameter(
                f"--objective {text} is not known; give one of {known}, or weights such as dr=1,dp=6."
                f"{did_you_mean(text, OBJECTIVES)}"
            )
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.partition("=")
        if not _is_number(weight):
            raise typer.BadParameter(f"--objective {text} has no number in {part!r}; give such as dr=1,dp=6")
        weights[name.strip()] = float(weight)
    try:
        check_objective(weights)
    except InputError as error:
        raise typer.BadParameter(f"--{error}") from error
    return weights


def _augments(texts: list[str] | None) -> list[Any]:
    names = split(texts) or ["none"]
    for name in names:
        if name not in ("none", "edited", "all") and not _is_number(name):
            raise typer.BadParameter(f"--augments {name} is not known; give none, edited, all or a number")
    return [None if name == "none" else float(name) if _is_number(name) else name for name in names]


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _parameters(repair: FairSHAP) -> dict[str, Any]:
    threshold = float(repair.threshold or 0)
    return {
        "strategy": repair.strategy,
        "threshold": threshold if threshold < float("inf") else None,
        "guard": repair.guard,
        "augment": repair.augment,
    }


def options_of(repair: FairSHAP) -> str:
    """Return the options of the command that makes a repair, as far as there are."""
    found = _parameters(repair)
    twins = found["augment"]
    if found["threshold"] is None:
        how = f"FairSHAP(threshold=float('inf'), augment={twins!r})"
        return f"{describe_twins(twins)} and no edits (in Python, {how})"
    text = f"fairshap repair ... --strategy {found['strategy']} --threshold {found['threshold']:g}"
    text += f" --guard {found['guard']}" if found["guard"] else ""
    return text if twins is None else f"{text}, with {describe_twins(twins)} (in Python, augment={twins!r})"
