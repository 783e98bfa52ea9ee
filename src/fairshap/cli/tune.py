"""``fairshap tune``: which repair does the most within what can be accepted."""

from contextlib import suppress
from typing import Any

import typer

from fairshap import FairSHAP
from fairshap import tune as try_repairs
from fairshap._crossval import OBJECTIVES
from fairshap.cli._files import write_all
from fairshap.cli._models import open_task
from fairshap.cli._options import (
    ConstraintOptions,
    FoldOptions,
    ReportOptions,
    RunOptions,
    TaskOptions,
    Texts,
    names_option,
    option,
    selector_of,
)
from fairshap.cli._output import Output, print_levels, print_noise
from fairshap.edits._recipe import describe_counterfactuals


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
    selectors: Texts = names_option("threshold, optimal, iterative; all by default."),
    counterfactuals: Texts = names_option(
        "Rows that get a counterfactual: none, edited, all, or a number for those with at least that risk. "
        "None by default; counterfactuals need the Python API to be written."
    ),
    top: int = option(10, "Candidates to show.", min=1),
) -> None:
    """Try many repairs on folds and say which to take."""
    output = Output("tune", run)
    problem, estimator = open_task(output, task, page, on, trains="tuning trains the model again")
    more: dict[str, Any] = {"selectors": selectors} if selectors else {}
    with output.warnings():
        tuning = try_repairs(
            estimator=estimator,
            **problem.inputs,
            objective=_objective(objective),
            max_accuracy_drop=max_accuracy_drop,
            max_edits=max_edits,
            counterfactuals=[_value(text) for text in counterfactuals or ["none"]],
            reject_if=limits.rejections(),
            constraints=limits.constraints(),
            matcher=limits.matcher,
            **on.params,
            **run.params,
            **more,
        )

        def make() -> FairSHAP:
            sampler: FairSHAP = tuning.repair.set_params(verbose=run.params["verbose"])
            return sampler.fit(problem.X, problem.y)

        write_all(problem.reports(context, page, make, tuning=tuning), force=page.force)
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
        return text
    parts = (part.partition("=") for part in text.split(","))
    return {name.strip(): _value(weight) for name, _, weight in parts}


def _value(text: str) -> Any:
    """Return a number, None, or whatever the text is."""
    with suppress(ValueError):
        return float(text)
    return None if text == "none" else text


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
