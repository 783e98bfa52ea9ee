"""``fairshap repair``: the repaired table and the ledger."""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import fairshap
from fairshap.cli._options import (
    INVOCATION,
    ConstraintOptions,
    RunOptions,
    SelectorOptions,
    TableFiles,
    TaskOptions,
    explainer_of,
    is_many,
    is_standard,
    option,
    repeats_option,
    selector_of,
)

# The rest is imported where it is used: the help and completion of options do not wait for it.
if TYPE_CHECKING:
    from fairshap import Evidence, Explainer, FairSHAP
    from fairshap._crossval import Evaluation
    from fairshap.cli._output import Output
    from fairshap.cli._problem import CommandTable

#: What people can do instead of a repair that does not help, as evaluate calls it.
_INSTEAD = {
    "rsa": "drop the column",
    "reweighing": "weight the rows",
    "counterfactuals": "add each row switched",
}


def repair(
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
        "Folds to measure before and after on; by default 5, or 3 for 100,000 rows and more. 0 measures only "
        "for a report.",
        "Measuring",
        min=0,
    ),
    repeats: int | None = repeats_option(),
    remedy: str | None = option(
        None,
        "A remedy instead of edits, by the name that fairshap tune gives it.",
        "Repair",
        metavar="NAME",
    ),
    minimize: str = option(
        "fairness", "With --remedy: what was given to tune; searched weights depend on it.", "Repair"
    ),
    max_references: int | None = option(
        None,
        "Many files: rows of one label and group that others are matched with; 10,000 by default.",
        "Repair",
        min=1,
    ),
    max_memory: float = option(3.0, "Many files: GiB of memory.", "Repair", min=0.1),
) -> None:
    """Replace the few cells that matter and write the table; all other cells stay byte for byte.

    DATA may be a folder or a pattern of Parquet files, as large as the disk: --out is then a folder.
    """
    from fairshap._crossval import with_params
    from fairshap._models import is_frozen
    from fairshap.cli._models import make_model, open_task
    from fairshap.cli._output import Output, write_all

    if is_many(task.data) or files.out.endswith("/") or Path(files.out).is_dir():
        from fairshap.cli._dataset import repair_files

        measuring = {"--folds": folds, "--repeats": repeats, "--retrain": retrain, "--remedy": remedy}
        if given := [name for name, value in measuring.items() if value is not None]:
            why = "a repair of many files measures the explained model only"
            raise typer.BadParameter(f"{given[0]} goes with one file; {why}")
        rooms = {"max_references": max_references, "max_memory": max_memory}
        repair_files(Output("repair", run), task, selector, limits, files, rooms)
        return
    # The demo is a repair too.
    output = Output(INVOCATION.get().arguments[0], run, to_stderr=is_standard(files.out, files.edits, run))
    if remedy is not None:
        _check_remedy(selector, retrain, files)
        problem, estimator = open_task(output, task, files, trains="a remedy is measured by training")
        _apply_remedy(output, problem, estimator, files, run, limits, remedy, minimize, folds, repeats)
        return
    problem, estimator = open_task(output, task, files)
    retrained = estimator if retrain is None else make_model(retrain, run, "retrain", n_rows=len(problem.X))
    explainer = explainer_of(selector.game, problem.positive, files.report)
    made = make_repair(run, problem.who, estimator, selector, limits, explainer)
    _fit(output, problem, made)
    measured = others = None
    if is_frozen(retrained) and folds != 0:
        output.note("before and after are not measured: name what to train with --retrain, such as xgboost.")
    elif folds != 0:
        # With the very same estimator, so that a fold's baseline is also the model that is explained.
        methods = {"before": None, "after": with_params(made, verbose=0)}
        how: dict[str, Any] = {"n_folds": folds, "n_repeats": repeats, **problem.inputs, **run.params}
        with output.warnings():
            measured = fairshap.evaluate(estimator=retrained, methods=methods, **how)
            if not helps(measured):
                others = fairshap.evaluate(estimator=retrained, methods=list(_INSTEAD), **how)
    table = problem.source.to_bytes(files.out, made.edits_)
    checksums = {"original": problem.source.checksum, "repaired": sha256(table).hexdigest()}
    ledger = made.edits_.to_bytes(**checksums)
    hashes = {"ledger": sha256(ledger).hexdigest(), "repaired": checksums["repaired"]}

    def evidence(about: dict[str, Any]) -> Evidence:
        return made.report(positive=problem.positive, evaluation=measured, **hashes, **about)

    asked = [
        *problem.reports(files, "Fairness repair of", evidence),
        (files.edits, lambda: ledger),
        (files.out, lambda: table),
    ]
    write_all(asked, force=files.force)
    _print(output, files, problem, made, measured, others)


def _check_remedy(selector: SelectorOptions, retrain: str | None, files: TableFiles) -> None:
    """Raise an error about options that a remedy by name has no use for."""
    given = [f"--{one.name}" for one in fields(selector) if getattr(selector, one.name) != one.default]
    given += [] if retrain is None else ["--retrain"]
    if given:
        raise typer.BadParameter(f"{given[0]} does not go with --remedy, which says what is edited")
    if files.report is not None:
        raise typer.BadParameter("--report does not go with --remedy; fairshap tune has one of remedies")


def _apply_remedy(
    output: Output,
    problem: CommandTable,
    estimator: Any,
    files: TableFiles,
    run: RunOptions,
    limits: ConstraintOptions,
    remedy: str,
    minimize: str,
    folds: int | None,
    repeats: int | None,
) -> None:
    """Write the table of a remedy that tune knows, and measure it."""
    from fairshap.cli._output import describe_folds, describe_measures, plain, write_all
    from fairshap.cli._remedies import TrainingTable, find_remedy

    found: dict[str, Any] = dict.fromkeys(("folds", "repeats", "before", "after", "change"))
    with output.warnings(of_edits=True):
        candidate = find_remedy(remedy, problem, estimator, run, limits, minimize)
        made = TrainingTable.of(candidate, problem)
        measured = None
        if folds != 0:
            methods = {"before": None, "after": candidate.model}
            how: dict[str, Any] = {"n_folds": folds, "n_repeats": repeats, **problem.inputs, **run.params}
            measured = fairshap.evaluate(estimator=estimator, methods=methods, **how)
    write_all(made.files(problem, files.out, files.edits), force=files.force)
    output.line(f"{candidate.action}.\n")
    if measured is not None:
        _print_before_and_after(output, measured)
        found = describe_folds(measured)
        found["before"], found["after"] = describe_measures(measured)
        found["change"] = plain(measured.differences())[1]
    for line in made.lines(problem.X.size):
        output.line(line)
    output.written(files, apart=True)
    described = {"remedy": remedy, **made.describe()}
    output.json(**problem.describe(), **described, **found, out=files.out, ledger=files.edits)


def make_repair(
    run: RunOptions,
    who: dict[str, Any],
    estimator: Any,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    explainer: Explainer,
) -> FairSHAP:
    """Return the repair that the options stand for."""
    from fairshap.cli._models import check_trainable

    if selector.selector == "iterative":
        instead = "give another selector, or --model the name of a kind"
        check_trainable(estimator, "--selector iterative retrains the model", instead)
    chosen = selector.params()
    if chosen.get("threshold") == "auto":
        why = "--threshold auto tries repairs on folds with a model that is retrained each time"
        check_trainable(estimator, why, "give a number")
    return fairshap.FairSHAP(
        estimator,
        **who,
        **chosen,
        constraints=limits.constraints(),
        matcher=limits.matcher,
        explainer=explainer,
        **run.params,
    )


def _fit(output: Output, problem: CommandTable, repair: FairSHAP) -> None:
    """Fit the repair of a table."""
    with output.warnings(of_edits=True):
        repair.fit(problem.X, problem.y)
    if repair.threshold == "auto":
        # The folds measure the repair that is written.
        repair.set_params(threshold=repair.threshold_)
        output.note(
            f"threshold {repair.threshold_:g}, the most accurate on folds within a standard error of the "
            "best, for at most a point of accuracy."
        )


def _print(
    output: Output,
    files: TableFiles,
    problem: CommandTable,
    repair: FairSHAP,
    measured: Evaluation | None,
    others: Evaluation | None,
) -> None:
    """Print what was measured, what was edited, where it is, and how to check it."""
    from fairshap.cli._output import describe_folds, describe_measures, how_to_check, plain

    found: dict[str, Any] = dict.fromkeys(("folds", "repeats", "before", "after", "change"))
    frame, cells = repair.edits_.frame(), problem.X.size
    if measured is not None:
        if others is not None:
            _print_no_help(output, problem, len(frame), measured, others)
        _print_before_and_after(output, measured)
        found = describe_folds(measured)
        found["before"], found["after"] = describe_measures(measured)
        found["change"] = plain(measured.differences())[1]
    share, n_rows = len(frame) / cells, frame["row"].nunique()
    output.line(f"{len(frame):,} of {cells:,} cells ({share:.2%}) were replaced, in {n_rows:,} rows.")
    if len(frame):
        counts = frame["column"].value_counts()
        output.line("By column: " + ", ".join(f"{name} {n:,}" for name, n in counts.items()) + ".")
        output.line("\nThe largest edits, each with the value of a similar row of the other group")
        name = problem.row_name
        largest = [
            (name(one.row), one.column, one.old, one.new, name(one.reference), one.phi)
            for one in frame.nlargest(10, "phi").itertuples()
        ]
        head = [problem.row_head, "column", "old", "new", "from", "Shapley value"]
        output.table(head, largest, left=(0, 1))
    output.written(files, apart=True)
    # A note on a table that was repaired before says it already.
    if len(frame) and problem.repaired is None:
        output.line(how_to_check(files.out, measured=measured is not None))
    if len(frame) and files.edits is None:
        output.line(
            "Without a ledger, the list of all edits (--edits FILE), nothing tells later that the table is "
            "repaired."
        )
    selector, threshold = selector_of(repair)
    output.json(
        **problem.describe(),
        selector=selector,
        threshold=threshold,
        edits=len(frame),
        rows_edited=repair.summary_["n_edited_rows"],
        by_column=repair.summary_["edits_by_column"],
        **found,
        helps=None if measured is None else others is None,
        instead=None if others is None else describe_measures(others),
        out=files.out,
        ledger=files.edits,
        report=files.report,
    )


def helps(measured: Evaluation) -> bool:
    """Say whether a repair lowers the discriminative risk on rows that it did not see by a tenth at least."""
    before, after = measured.frame()["dr"]
    return bool(after <= 0.9 * before and before > 0)


def _print_no_help(
    output: Output, problem: CommandTable, n_edits: int, measured: Evaluation, others: Evaluation
) -> None:
    """Say first that a repair does not help, and what does on the same folds."""
    names = problem.sensitive if isinstance(problem.sensitive, str) else " and ".join(problem.sensitive)
    before, after = measured.frame()["dr"]
    moved = "rises" if round(after, 4) > round(before, 4) else "goes"
    output.line(
        f"THIS REPAIR DOES NOT HELP. It replaces {n_edits:,} cells, and how far a prediction moves when only "
        f"{names} changes (DR) {moved} from {before:.4f} to {after:.4f}."
    )
    output.line("What does, measured on the same rows:")
    frame = others.frame().set_index("method")
    rows = [(_INSTEAD[name], *frame.loc[name, ["accuracy", "dr", "dp", "eo"]]) for name in _INSTEAD]
    base = measured.frame().iloc[0]
    rows.insert(0, ("nothing", *base[["accuracy", "dr", "dp", "eo"]]))
    output.table(["remedy", "accuracy", "DR", "gap in selection", "gap among the qualified"], rows)
    output.line("fairshap tune tries many repairs and remedies on this table and says which to take.\n")


def _print_before_and_after(output: Output, evaluation: Evaluation) -> None:
    from fairshap._crossval import MEASURES
    from fairshap.cli._output import print_measures

    before, after = (line for _, line in evaluation.frame().iterrows())
    change = evaluation.differences().iloc[1]
    cells = {}
    for name in MEASURES:
        interval = f"[{change[f'{name}_low']:+.4f}, {change[f'{name}_high']:+.4f}]"
        cells[name] = before[name], after[name], f"{change[name]:+.4f} {interval}"
    output.line(f"Trained before and after the repair, measured on held-out rows: {evaluation.folds}")
    print_measures(output, evaluation, ("before", "after", "change [95 % interval]"), cells)
    if change["reversed"]:
        labels = [MEASURES[name].label for name in change["reversed"].split(", ")]
        output.line(f"These gaps have changed sides: {', '.join(labels)}. The group behind is now ahead.")
    output.line()
