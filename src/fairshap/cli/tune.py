"""``fairshap tune``: which repair does the most within what can be accepted."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fairshap import Budget, FairSHAP, Iterative, OptimalSubset
from fairshap import tune as try_repairs
from fairshap._crossval import OBJECTIVES, check_objective
from fairshap._messages import did_you_mean, listing
from fairshap.cli._measures import labels, main_measures, print_noise, with_interval
from fairshap.cli._models import from_file, get_model, model_file
from fairshap.cli._options import (
    ConstraintOptions,
    FileOptions,
    Folds,
    Force,
    Ledger,
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
from fairshap.edits import describe_counterfactuals
from fairshap.exceptions import InputError, MarginWarning, ModelError, NothingToRepairWarning


def tune(
    context: typer.Context,
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    limits: ConstraintOptions,
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
    selectors: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="threshold, optimal, iterative; all by default.")
    ] = None,
    counterfactuals: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Rows that get a counterfactual: none, edited, all, or a number for those with at least "
            "that risk. None by default; counterfactuals need the Python API to be written.",
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
    limits.check(problem)
    estimator = get_model(model, problem, run)
    if from_file(estimator):
        raise ModelError(
            "tuning trains the model again, and a model from a file is never retrained; give --model the "
            "name of a kind, such as xgboost."
        )
    for note in problem.notes:
        output.note(note)
    more: dict[str, Any] = {"selectors": split(selectors)} if selectors else {}
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
            counterfactuals=_counterfactuals(counterfactuals),
            reject_if=limits.rejections(),
            constraints=limits.constraints(),
            matcher=limits.matcher,
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
    frame, measures = tuning.frame(), main_measures()
    output.line(f"{tuning.reason}")
    output.line()
    output.table(
        ["candidate", "objective", *labels(measures), "cells edited", "allowed", "on front"],
        [
            (
                line["name"],
                line["objective"],
                *(with_interval(line, name) for name in measures),
                f"{line['share']:.2%}",
                line["allowed"],
                line["on_front"],
            )
            for _, line in frame.head(top).iterrows()
        ],
    )
    if tuning.noise_level is not None:
        print_noise(output, tuning.noise_level, tuning.is_noise)
    output.line()
    is_repair = tuning.is_repair
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


def _counterfactuals(texts: list[str] | None) -> list[Any]:
    names = split(texts) or ["none"]
    for name in names:
        if name not in ("none", "edited", "all") and not _is_number(name):
            raise typer.BadParameter(
                f"--counterfactuals {name} is not known; give none, edited, all or a number"
            )
    return [None if name == "none" else float(name) if _is_number(name) else name for name in names]


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _parameters(repair: FairSHAP) -> dict[str, Any]:
    """Return the recommended repair as JSON takes it, in the words of the options."""
    selector, threshold = repair.selector, repair.threshold
    name = "threshold"
    if isinstance(selector, Iterative):
        name, threshold = "iterative", getattr(selector.selector, "threshold", None)
    elif isinstance(selector, OptimalSubset):
        name, threshold = "optimal", selector.cost
    elif isinstance(selector, Budget):
        name, threshold = "budget", selector.threshold
    elif selector is not None:
        threshold = selector.threshold
    is_edited = threshold is None or float(threshold) < float("inf")
    return {
        "selector": name,
        "threshold": threshold if is_edited else None,
        "reject_if": None if repair.constraints is None else repair.constraints.reject_if,
        "counterfactuals": repair.counterfactuals,
        "edits": is_edited,
    }


def options_of(repair: FairSHAP) -> str:
    """Return the options of the command that makes a repair, as far as there are."""
    found = _parameters(repair)
    rows = found["counterfactuals"]
    if not found["edits"]:
        how = f"FairSHAP(threshold=float('inf'), counterfactuals={rows!r})"
        return f"{describe_counterfactuals(rows)} and no edits (in Python, {how})"
    text = f"fairshap repair ... --selector {found['selector']} --threshold {found['threshold']:g}"
    text += f" --reject-if {found['reject_if']}" if found["reject_if"] else ""
    if rows is None:
        return text
    return f"{text}, with {describe_counterfactuals(rows)} (in Python, counterfactuals={rows!r})"
