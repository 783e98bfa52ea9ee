"""``fairshap evaluate``: mitigation methods side by side."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import fairshap
from fairshap._names import METHODS
from fairshap.cli._options import FoldOptions, RunOptions, TaskOptions, Texts, names_option, offer, option

# The rest is imported where it is used: the help and completion of options do not wait for it.
if TYPE_CHECKING:
    from fairshap.cli._output import Output

_DEFAULT = "baseline,rsa,cr,reweighing,fairshap,fairshap-counterfactuals"
_KNOWN = "; ".join(f"{name}: {what}" for name, what in METHODS.items())


def evaluate(
    task: TaskOptions,
    run: RunOptions,
    on: FoldOptions,
    methods: Texts = names_option(f"{_KNOWN}. By default {_DEFAULT}.", autocompletion=offer([*METHODS])),
    threshold: float = option(0.05, "The threshold of fairshap.", min=0),
) -> None:
    """Compare methods on held-out rows, with 95 % intervals."""
    from fairshap.cli._models import open_task
    from fairshap.cli._output import (
        Output,
        describe_folds,
        describe_measures,
        print_levels,
        print_notes,
        print_words,
    )

    output = Output("evaluate", run)
    problem, estimator = open_task(output, task, on=on, trains="every method trains the model again")
    with output.warnings():
        names = methods or _default_methods(output)
        how = {**problem.inputs, **on.params, **run.params}
        evaluation = fairshap.evaluate(estimator=estimator, methods=names, threshold=threshold, **how)
    frame = evaluation.frame()
    output.line(f"All held-out rows together, {evaluation.folds} [95 % interval]")
    print_levels(output, frame, {"method": "method"})
    print_notes(output, evaluation)
    print_words(output)
    moved = frame.query("abs(raw_dr - dr) > 1e-9")
    if len(moved):
        said = ", ".join(f"{line['method']} {line['raw_dr']:.4f}" for _, line in moved.iterrows())
        output.line(
            "\nThese methods transform the rows to predict by their sensitive value, and DR is measured "
            f"after that. Switching the attribute in the recorded row changes the prediction by: {said}."
        )
    output.json(
        **problem.describe(),
        **describe_folds(evaluation),
        methods=describe_measures(evaluation),
        changes=evaluation.differences(),
    )


def _default_methods(output: Output) -> list[str]:
    """Return the default methods that can be run with what is installed."""
    names = _DEFAULT.split(",")
    if find_spec("fairlearn") is None:
        output.note("cr is left out: it needs fairlearn, which pip install 'fairshap[fairlearn]' brings.")
        names.remove("cr")
    return names
