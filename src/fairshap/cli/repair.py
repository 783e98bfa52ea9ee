"""``fairshap repair``: the repaired table and the ledger."""

from hashlib import sha256
from typing import Any

import typer

from fairshap import FairSHAP, evaluate
from fairshap._crossval import MEASURES, Evaluation, with_params
from fairshap._models import is_frozen
from fairshap.cli._dataset import is_dataset, make_repair, repair_files
from fairshap.cli._files import how_to_check, write_all
from fairshap.cli._models import make_model, open_task
from fairshap.cli._options import (
    ConstraintOptions,
    RunOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    is_standard,
    option,
    repeats_option,
    selector_of,
)
from fairshap.cli._output import Output, describe_folds, describe_measures, plain, print_measures
from fairshap.cli._problem import CommandTable
from fairshap.scale._fitting import MAX_REFERENCES


def repair(
    context: typer.Context,
    task: TaskOptions,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    run: RunOptions,
    files: TableFiles,
    retrain: str | None = option(
        None, "What to train before and after, to measure the repair, if --model is a file.", "Model"
    ),
    folds: int | None = option(
        None,
        "Folds to measure before and after on; by default 5, and 3 from 100,000 rows on. 0 for none but in a "
        "report.",
        "Measuring",
        min=0,
    ),
    repeats: int | None = repeats_option(),
    max_references: int = option(
        MAX_REFERENCES,
        "Many files: rows of one label and group that others are matched with.",
        "Repair",
        min=1,
    ),
    max_memory: float = option(3.0, "Many files: GiB of memory.", "Repair", min=0.1),
) -> None:
    """Replace the few cells that matter and write the table; all other cells stay byte for byte.

    DATA may be a folder or a pattern of Parquet files, as large as the disk: --out is then a folder.
    """
    if is_dataset(task.data, files.out):
        repair_files(Output("repair", run), task, selector, limits, files, max_references, max_memory)
        return
    # The demo is a repair too.
    output = Output(str(context.info_name), run, to_stderr=is_standard(files.out, files.edits, run))
    problem, estimator = open_task(output, task, files)
    retrained = estimator if retrain is None else make_model(retrain, run, "retrain", n_rows=len(problem.X))
    made, measured = make_repair(output, problem.who, estimator, selector, limits), None
    with output.warnings(of_edits=True):
        made.fit(problem.X, problem.y)
    if made.threshold == "auto":
        # The folds measure the repair that is written.
        made.set_params(threshold=made.threshold_)
        output.note(
            f"threshold {made.threshold_:g}, the most accurate on folds within a standard error of the "
            "best, for at most a point of accuracy."
        )
    if is_frozen(retrained) and folds != 0:
        output.note("before and after are not measured: name what to train with --retrain, such as xgboost.")
    elif folds != 0:
        # With the very same estimator, so that a fold's baseline is also the model that is explained.
        methods = {"before": None, "after": with_params(made, verbose=0)}
        how: dict[str, Any] = {"n_folds": folds, "n_repeats": repeats, **problem.inputs, **run.params}
        with output.warnings():
            measured = evaluate(estimator=retrained, methods=methods, **how)
    table = problem.source.to_bytes(files.out, made.edits_)
    checksums = {"original": problem.source.checksum, "repaired": sha256(table).hexdigest()}
    asked = [
        (files.report, lambda: problem.report(context, files, made, evaluation=measured)),
        (files.edits, lambda: made.edits_.to_bytes(**checksums)),
        (files.out, lambda: table),
    ]
    write_all(asked, force=files.force)
    _print(output, files, problem, made, measured)


def _print(
    output: Output, files: TableFiles, problem: CommandTable, repair: FairSHAP, measured: Evaluation | None
) -> None:
    """Print what was measured, what was edited, where it is, and how to check it."""
    found: dict[str, Any] = dict.fromkeys(("folds", "repeats", "before", "after", "change"))
    if measured is not None:
        _print_before_and_after(output, measured)
        found = describe_folds(measured)
        found["before"], found["after"] = describe_measures(measured)
        found["change"] = plain(measured.differences())[1]
    frame, cells = repair.edits_.frame(), problem.X.size
    share, n_rows = len(frame) / cells, frame["row"].nunique()
    output.line(f"{len(frame):,} of {cells:,} cells ({share:.2%}) were replaced, in {n_rows:,} rows.")
    if len(frame):
        counts = frame["column"].value_counts()
        output.line("By column: " + ", ".join(f"{name} {n:,}" for name, n in counts.items()) + ".")
        output.line("\nThe largest edits (rows are counted from 0)")
        largest = [
            (str(one.row), one.column, one.old, one.new, str(one.reference), one.phi)
            for one in frame.nlargest(10, "phi").itertuples()
        ]
        output.table(["row", "column", "old", "new", "from row", "Shapley value"], largest, left=(1,))
    output.written(files, apart=True)
    # A note on a table that was repaired before says it already.
    if len(frame) and problem.repaired is None:
        output.line(how_to_check(files.out, measured=measured is not None))
    if len(frame) and files.edits is None:
        output.line("Without a ledger (--edits FILE) nothing tells later that the table is repaired.")
    selector, threshold = selector_of(repair)
    output.json(
        **problem.describe(),
        selector=selector,
        threshold=threshold,
        edits=len(frame),
        rows_edited=repair.summary_["n_edited_rows"],
        by_column=repair.summary_["edits_by_column"],
        **found,
        out=files.out,
        ledger=files.edits,
        report=files.report,
    )


def _print_before_and_after(output: Output, evaluation: Evaluation) -> None:
    before, after = (line for _, line in evaluation.frame().iterrows())
    change = evaluation.differences().iloc[1]
    cells = {}
    for name in MEASURES:
        interval = f"[{change[f'{name}_low']:+.4f}, {change[f'{name}_high']:+.4f}]"
        cells[name] = before[name], after[name], f"{change[name]:+.4f} {interval}"
    output.line(f"Trained before and after the repair, measured on held-out rows: {evaluation.folds}")
    print_measures(output, evaluation, ("before", "after", "change [95 % interval]"), cells)
    output.line()
