"""``fairshap evaluate``: methods side by side."""

from importlib.util import find_spec
from typing import Annotated

import typer

from fairshap._crossval import Evaluation
from fairshap.cli._measures import (
    describe_folds,
    describe_measures,
    labels,
    main_measures,
    print_notes,
    with_interval,
)
from fairshap.cli._models import from_file, get_model
from fairshap.cli._options import FileOptions, Folds, Ledger, ModelOptions, Repeats, RunOptions, TableOptions
from fairshap.cli._output import Output, records
from fairshap.cli._problem import open_problem
from fairshap.cli._texts import split
from fairshap.exceptions import MarginWarning, ModelError, NothingToRepairWarning
from fairshap.model_selection import METHODS
from fairshap.model_selection import evaluate as compare

_DEFAULT = "baseline,rsa,cr,dir,reweighing,fairshap,fairshap-counterfactuals"


def evaluate(
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    run: RunOptions,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="; ".join(f"{name}: {what}" for name, what in METHODS.items()) + f". By default {_DEFAULT}.",
        ),
    ] = None,
    folds: Folds = None,
    repeats: Repeats = None,
    threshold: Annotated[float, typer.Option(min=0, help="The threshold of fairshap.")] = 0.05,
    edits: Ledger = None,
) -> None:
    """Compare methods on rows that they were not trained on, with 95 % intervals."""
    output = Output("evaluate", run)
    problem = open_problem(file, table, edits)
    estimator = get_model(model, problem, run)
    if from_file(estimator):
        raise ModelError(
            "every method trains the model again, and a model from a file is never retrained; give --model "
            "the name of a kind, such as xgboost."
        )
    for note in problem.notes:
        output.note(note)
    with output.warnings(NothingToRepairWarning, MarginWarning):
        evaluation = compare(
            problem.X,
            problem.y,
            estimator,
            **problem.who,
            positive=problem.positive,
            methods=split(methods) or _default_methods(output),
            n_folds=folds,
            n_repeats=repeats,
            threshold=threshold,
            random_state=run.seed,
            n_jobs=run.jobs,
            verbose=run.verbose,
        )
    print_evaluation(output, evaluation)
    output.json(
        data=problem.describe(),
        model=model.model,
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


def print_evaluation(output: Output, evaluation: Evaluation) -> None:
    """Print the methods with their intervals."""
    output.line(f"All held-out rows together, {evaluation.folds} [95 % interval]")
    measures = main_measures()
    output.table(
        ["method", *labels(measures), "cells edited"],
        [
            (line["method"], *(with_interval(line, name) for name in measures), f"{line['share']:.2%}")
            for _, line in evaluation.frame().iterrows()
        ],
    )
    print_notes(output, evaluation)
    moved = evaluation.frame().query("abs(raw_dr - dr) > 1e-9")
    if len(moved):
        said = ", ".join(f"{line['method']} {line['raw_dr']:.4f}" for _, line in moved.iterrows())
        output.line()
        output.line(
            "These transform the rows to predict by their sensitive value, and DR is measured after that. "
            f"Switched in the row as it was recorded, it changes the prediction by: {said}."
        )
