"""``fairshap tune``: which repair does the most within what can be accepted."""

from typing import Any

import typer

from fairshap import FairSHAP
from fairshap import tune as try_repairs
from fairshap._crossval import OBJECTIVES, check_objective
from fairshap._messages import did_you_mean, listing
from fairshap.cli._files import write_all
from fairshap.cli._models import open_task
from fairshap.cli._options import (
    ConstraintOptions,
    FoldOptions,
    ReportOptions,
    RunOptions,
    TaskOptions,
    Texts,
    option,
    selector_of,
    split,
)
from fairshap.cli._output import Output, print_levels, print_noise
from fairshap.edits._recipe import describe_counterfactuals
from fairshap.exceptions import InputError


def tune(
    context: typer.Context,
    task: TaskOptions,
    limits: ConstraintOptions,
    run: RunOptions,
    page: ReportOptions,
    on: FoldOptions,
    max_accuracy_drop: float = option(0.01, "How much accuracy a repair may lose.", min=0, max=1),
    max_edits: float | None = option(None, "Cells to edit at most: a number, or a share below 1.", min=0),
    objective: str = option(
        "fairness",
        f"What is minimized: {', '.join(OBJECTIVES)}, where fairness is the mean of DR, DP and EO; or "
        "weights such as dr=1,dp=6.",
    ),
    selectors: Texts = option(None, "threshold, optimal, iterative; all by default.", metavar="A,B"),
    counterfactuals: Texts = option(
        None,
        "Rows that get a counterfactual: none, edited, all, or a number for those with at least that risk. "
        "None by default; counterfactuals need the Python API to be written.",
        metavar="A,B",
    ),
    top: int = option(10, "Candidates to show.", min=1),
) -> None:
    """Try many repairs on folds and say which to take."""
    output = Output("tune", run)
    problem, estimator = open_task(output, task, page, on, limits, trains="tuning trains the model again")
    more: dict[str, Any] = {"selectors": split(selectors)} if selectors else {}
    with output.warnings():
        tuning = try_repairs(
            estimator=estimator,
            **problem.inputs,
            objective=_objective(objective),
            max_accuracy_drop=max_accuracy_drop,
            max_edits=max_edits,
            counterfactuals=_counterfactuals(counterfactuals),
            reject_if=limits.rejections(),
            constraints=limits.constraints(),
            matcher=limits.matcher,
            **on.params,
            **run.params,
            **more,
        )

        def report() -> bytes:
            made = tuning.repair.set_params(verbose=run.params["verbose"]).fit(problem.X, problem.y)
            return problem.report(context, page, made, tuning=tuning)

        write_all([(page.report, report)], force=page.force)
    frame = tuning.frame()
    output.line(f"{tuning.reason}\n")
    before = {"name": "candidate", "objective": "objective"}
    print_levels(output, frame.head(top), before, {"allowed": "allowed", "on_front": "on front"})
    if tuning.evaluation.noise_level is not None:
        print_noise(output, tuning.evaluation)
    head = "The repair" if tuning.is_repair else "If a repair is wanted"
    output.line(f"\n{head}: {options_of(tuning.repair)}")
    output.written(page)
    output.json(
        **problem.describe(),
        recommended=tuning.recommended,
        reason=tuning.reason,
        repair=_parameters(tuning.repair),
        dr_noise=tuning.evaluation.noise_level,
        candidates=frame,
        report=page.report,
    )


def _objective(text: str) -> Any:
    """Return the name of an objective, or its weights."""
    if "=" not in text:
        if text not in OBJECTIVES:
            raise typer.BadParameter(
                f"--objective {text} is not known; give one of {listing(OBJECTIVES)}, or weights such as "
                f"dr=1,dp=6.{did_you_mean(text, OBJECTIVES)}"
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


def _counterfactuals(texts: Texts) -> list[Any]:
    known = {"none": None, "edited": "edited", "all": "all"}
    names = split(texts) or ["none"]
    for name in names:
        if name not in known and not _is_number(name):
            raise typer.BadParameter(
                f"--counterfactuals {name} is not known; give none, edited, all or a number"
            )
    return [known[name] if name in known else float(name) for name in names]


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _parameters(repair: FairSHAP) -> dict[str, Any]:
    """Return the recommended repair as JSON takes it, in the words of the options."""
    selector, threshold = selector_of(repair)
    is_edited = threshold is None or threshold < float("inf")
    return {
        "selector": selector,
        "threshold": threshold if is_edited else None,
        "reject_if": None if repair.constraints is None else repair.constraints.reject_if,
        "counterfactuals": repair.counterfactuals,
        "edits": is_edited,
    }


def options_of(repair: FairSHAP) -> str:
    """Return the options of the command that makes a repair; counterfactuals need Python."""
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
