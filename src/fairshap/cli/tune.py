"""``fairshap tune``: which remedy does the most within what can be accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import fairshap
from fairshap._messages import listing
from fairshap._names import FAMILIES, MINIMIZE, SCORING
from fairshap.cli._options import (
    ConstraintOptions,
    FoldOptions,
    RunOptions,
    TaskOptions,
    Texts,
    TunedFiles,
    is_standard,
    names_option,
    offer,
    option,
)

# The rest is imported where it is used: the help and completion of options do not wait for it.
if TYPE_CHECKING:
    from fairshap import Evidence
    from fairshap.model_selection import Tuning

_CANDIDATES = f"{', '.join(FAMILIES)}; all by default."


def tune(
    task: TaskOptions,
    limits: ConstraintOptions,
    run: RunOptions,
    files: TunedFiles,
    on: FoldOptions,
    minimize: str = option(
        "fairness",
        f"What is made small: {', '.join(MINIMIZE)}, where fairness is the mean of DR, DP and EO; or weights "
        "such as dr=1,dp=6.",
        autocompletion=offer(MINIMIZE),
    ),
    max_accuracy_drop: float = option(0.01, "How much accuracy may be lost.", min=0, max=1),
    max_auc_drop: float | None = option(None, "How much ROC AUC may be lost.", min=0, max=1),
    scoring: str = option(
        "accuracy", f"What --max-accuracy-drop limits: {', '.join(SCORING)}.", autocompletion=offer(SCORING)
    ),
    blind: bool = option(False, "Try only what predicts without the sensitive column.", None, "--blind"),
    max_edits: float | None = option(None, "Cells to edit at most: a number, or a share below 1.", min=0),
    candidates: Texts = names_option(_CANDIDATES, autocompletion=offer(FAMILIES)),
    top: int = option(10, "Candidates to show.", min=1),
) -> None:
    """Try many remedies on folds and say which to take."""
    from fairshap.cli._models import open_task
    from fairshap.cli._output import Output, describe_folds, print_levels, print_noise, print_words, write_all
    from fairshap.cli._remedies import TrainingTable, read_minimized

    output = Output("tune", run, to_stderr=is_standard(files.out, files.ledger, run, "ledger"))
    if files.ledger is not None and files.out is None:
        raise typer.BadParameter("--ledger goes with --out: it belongs to a table")
    if files.out is not None:
        candidates = _tables(candidates)
    problem, estimator = open_task(output, task, files, on, trains="tuning trains the model again")
    with output.warnings():
        tuning = fairshap.tune(
            estimator=estimator,
            **problem.inputs,
            minimize=read_minimized(minimize),
            max_accuracy_drop=max_accuracy_drop,
            max_auc_drop=max_auc_drop,
            scoring=scoring,
            attribute_at_prediction=False if blind else None,
            max_edits=max_edits,
            candidates=candidates or None,
            constraints=limits.constraints(),
            matcher=limits.matcher,
            **on.params,
            **run.params,
        )

        def make(about: dict[str, Any]) -> Evidence:
            if not _is_reported(tuning):
                how = {**problem.inputs, **on.params, **run.params}
                return fairshap.audit(estimator, **how, **about, tuning=tuning)
            made = fairshap.FairSHAP(estimator, **problem.who, **run.params)
            shown = ("selector", "constraints", "counterfactuals", "matcher", "explainer")
            made.set_params(**{name: getattr(tuning.estimator.repair, name) for name in shown})
            measured = tuning.evaluation.only(["baseline", tuning.recommended])
            made.fit(problem.X, problem.y)
            return made.report(positive=problem.positive, evaluation=measured, tuning=tuning, **about)

        asked = problem.reports(files, "Remedies tried on", make)
        made = None
        if files.out is not None:
            made = TrainingTable.of(tuning._candidate, problem)
            asked += made.files(problem, files.out, files.ledger)
        write_all(asked, force=files.force)
    frame = tuning.frame()
    output.line(f"{tuning.reason}\n")
    before = {"name": "candidate", "minimized": "minimized"}
    after = {"n_fits": "fits", "needs_attribute": "needs attribute", "allowed": "allowed"}
    print_levels(output, frame.head(top), before, after)
    output.line(tuning.evaluation.constant)
    if tuning.evaluation.noise_level is not None:
        print_noise(output, tuning.evaluation)
    print_words(output)
    if made is None:
        output.line("\nIn Python, fairshap.tune(...).estimator is the recommended classifier, ready to fit.")
        output.line("--out FILE writes its table; fairshap repair --remedy NAME writes that of any other.")
    else:
        output.line()
        for line in made.lines(problem.X.size):
            output.line(line)
    output.written(files)
    output.json(
        **problem.describe(),
        **describe_folds(tuning.evaluation),
        recommended=tuning.recommended,
        reason=tuning.reason,
        estimator=repr(tuning.estimator),
        dr_noise=tuning.evaluation.noise_level,
        candidates=frame,
        table=None if made is None else made.describe(),
        out=files.out,
        ledger=files.ledger,
        report=files.report,
    )


def _tables(candidates: list[str] | None) -> list[str]:
    """Return the families of candidates that can be written as a table."""
    from fairshap.cli._remedies import TABLES

    if rules := [name for name in candidates or () if name in FAMILIES and name not in TABLES]:
        raise typer.BadParameter(
            f"--out writes a table, and {listing(rules)} are rules for predicting: leave them out of "
            "--candidates, or --out"
        )
    return candidates or list(TABLES)


def _is_reported(tuning: Tuning) -> bool:
    """Say whether a repair of the risk is recommended, which the report can show."""
    from fairshap.attribution._explanation import make_explainer

    model = tuning.estimator
    repair = model.repair if isinstance(model, fairshap.FairSHAPClassifier) else None
    return repair is not None and make_explainer(repair.explainer).game == "risk"
