"""``fairshap evaluate``: mitigation methods side by side."""

from importlib.util import find_spec
from typing import Annotated

import typer

from fairshap.cli._models import open_task
from fairshap.cli._options import FoldOptions, RunOptions, TaskOptions, split
from fairshap.cli._output import Output, describe_folds, describe_measures, print_levels, print_notes, records
from fairshap.model_selection import METHODS
from fairshap.model_selection import evaluate as compare

_DEFAULT = "baseline,rsa,cr,dir,reweighing,fairshap,fairshap-counterfactuals"


def evaluate(
    task: TaskOptions,
    run: RunOptions,
    on: FoldOptions,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="; ".join(f"{name}: {what}" for name, what in METHODS.items()) + f". By default {_DEFAULT}.",
        ),
    ] = None,
    threshold: Annotated[float, typer.Option(min=0, help="The threshold of fairshap.")] = 0.05,
) -> None:
    """Compare methods on held-out rows, with 95 % intervals."""
    output = Output("evaluate", run)
    problem, estimator = open_task(
        output, task, ledger=on.edits, trains="every method trains the model again"
    )
    with output.warnings():
        evaluation = compare(
            problem.X,
            problem.y,
            estimator,
            **problem.who,
            positive=problem.positive,
            methods=split(methods) or _default_methods(output),
            n_folds=on.folds,
            n_repeats=on.repeats,
            threshold=threshold,
            **run.params,
        )
    frame = evaluation.frame()
    output.line(f"All held-out rows together, {evaluation.folds} [95 % interval]")
    print_levels(output, frame, {"method": "method"})
    print_notes(output, evaluation)
    moved = frame.query("abs(raw_dr - dr) > 1e-9")
    if len(moved):
        said = ", ".join(f"{line['method']} {line['raw_dr']:.4f}" for _, line in moved.iterrows())
        output.line()
        output.line(
            "These methods transform the rows to predict by their sensitive value, and DR is measured after "
            f"that. Switching the attribute in the recorded row changes the prediction by: {said}."
        )
    output.json(
        data=problem.describe(),
        model=task.model,
        **describe_folds(evaluation),
        methods=describe_measures(evaluation),
        changes=records(evaluation.differences()),
    )


def _default_methods(output: Output) -> list[str]:
    """Return the default methods that can be run with what is installed."""
    names = split([_DEFAULT])
    if find_spec("fairlearn") is None:
        output.note("cr is left out: it needs fairlearn, which pip install 'fairshap[fairlearn]' brings.")
        names.remove("cr")
    return names
