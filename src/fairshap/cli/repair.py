"""``fairshap repair``: the repaired table and the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from sklearn.base import clone

from fairshap import Budget, Edits, FairSHAP, Iterative, OptimalSubset, Threshold, evaluate
from fairshap._crossval import MEASURES, Evaluation
from fairshap._io import MARKED
from fairshap.cli._measures import between, describe_folds, describe_measures, print_notes
from fairshap.cli._models import from_file, get_model, make_model, model_file
from fairshap.cli._options import (
    ConstraintOptions,
    FileOptions,
    Force,
    ModelOptions,
    Repeats,
    RunOptions,
    TableOptions,
)
from fairshap.cli._output import Output, records
from fairshap.cli._problem import Problem, open_problem
from fairshap.cli._repaired import how_to_check, repaired_files
from fairshap.cli._reporting import ReportOptions, check_report, make_page
from fairshap.cli._texts import plain
from fairshap.cli._writing import STANDARD, check_writable, write_all
from fairshap.exceptions import (
    CopiedAttributeWarning,
    FewReferencesWarning,
    MarginWarning,
    ModelError,
    NothingToRepairWarning,
    PooledGroupsWarning,
    UnmatchedRowsWarning,
)

_PANEL = "Repair"


SELECTORS = ("threshold", "budget", "optimal", "iterative")


@dataclass(frozen=True, slots=True)
class SelectorOptions:
    """Which cells are edited."""

    threshold: Annotated[
        str,
        typer.Option(
            help="The smallest Shapley value that leads to an edit, and what a cell costs by optimal; auto "
            "tries several on folds.",
            rich_help_panel=_PANEL,
        ),
    ] = "0.05"
    selector: Annotated[
        str,
        typer.Option(help="threshold, budget, optimal or iterative.", rich_help_panel=_PANEL),
    ] = "threshold"
    budget: Annotated[
        float | None,
        typer.Option(help="Cells to edit at most: a number, or a share below 1.", rich_help_panel=_PANEL),
    ] = None

    def choice(self) -> dict[str, Any]:
        """Return the parameters of FairSHAP that the options stand for."""
        if self.selector not in SELECTORS:
            known = ", ".join(SELECTORS)
            raise typer.BadParameter(f"--selector {self.selector} is not known; give one of {known}")
        if self.threshold == "auto":
            if self.selector != "threshold" or self.budget is not None:
                raise typer.BadParameter(
                    "--threshold auto tries repairs by --selector threshold on folds; give a number"
                )
            return {"threshold": "auto"}
        try:
            threshold = float(self.threshold)
        except ValueError as error:
            raise typer.BadParameter(f"--threshold {self.threshold} is neither a number nor auto") from error
        budget = self.budget
        if budget is not None and budget >= 1 and budget.is_integer():
            budget = int(budget)
        if self.selector == "budget":
            if budget is None:
                raise typer.BadParameter(
                    "--selector budget needs --budget: a number of cells such as 500, or a "
                    "share such as 0.005"
                )
            return {"selector": Budget(budget)}
        if self.selector == "optimal":
            if budget is not None:
                raise typer.BadParameter("--budget goes with threshold, budget and iterative, not optimal")
            return {"selector": OptimalSubset(threshold)}
        selector = Threshold(threshold) if budget is None else Budget(budget, threshold=threshold)
        return {"selector": Iterative(selector) if self.selector == "iterative" else selector}


@dataclass(frozen=True, slots=True)
class Done:
    """A repair, and what it does on held-out rows, if that was measured."""

    repair: FairSHAP
    evaluation: Evaluation | None

    @property
    def edits(self) -> Edits:
        """The ledger."""
        return self.repair.edits_


def repair(
    context: typer.Context,
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    run: RunOptions,
    page: ReportOptions,
    out: Annotated[
        str, typer.Option("--out", "-o", help="The repaired table; - for standard output.", metavar="FILE")
    ],
    edits: Annotated[
        str | None, typer.Option(help="The ledger: every edit, with why (CSV).", metavar="FILE")
    ] = None,
    retrain: Annotated[
        str | None,
        typer.Option(
            help="What to train before and after, to measure the repair, if --model is a file.",
            rich_help_panel="Model",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Folds to measure before and after on; by default 5, and 3 from 100,000 rows on. 0 for none "
            "but in a report.",
            rich_help_panel="Measuring",
        ),
    ] = None,
    repeats: Repeats = None,
    force: Force = False,
) -> None:
    """Replace the few cells that matter and write the table; all other cells stay byte for byte."""
    if run.json and STANDARD in (out, edits):
        raise typer.BadParameter("--json and a file of - both want standard output; write to a file")
    if edits == STANDARD:
        raise typer.BadParameter("--edits - is not taken; give a file")
    check_report(page)
    output = Output("repair", run, to_stderr=out == STANDARD)
    problem = open_problem(file, table)
    check_writable([out, edits, page.report], force=force, sources=[problem.source.path, model_file(model)])
    # Before any work: a name that tells no format is an error.
    problem.source.format_for(out)
    limits.check(problem)
    estimator = get_model(model, problem, run)
    retrained = estimator if retrain is None else make_model(retrain, run, "retrain", n_rows=len(problem.X))
    for note in problem.notes:
        output.note(note)
    done = repair_table(problem, estimator, retrained, selector, limits, run, folds, repeats, output)
    content, ledger = repaired_files(
        problem.source,
        out,
        done.edits,
        has_ledger=edits is not None,
        settings=_settings(problem, done.repair, model.model),
    )
    write_all(
        [
            (page.report, lambda: make_page(context, page, problem, done.repair, evaluation=done.evaluation)),
            (edits, lambda: ledger),
        ],
        lambda: problem.source.save(out, content, force=force),
        force=force,
    )
    written = [name for name in (out, edits, page.report) if name is not None and name != STANDARD]
    print_repair(output, problem, done, written)
    print_check(output, problem, done, out)
    if len(done.edits) and edits is None and problem.source.format_for(out) not in MARKED:
        output.line("Without a ledger (--edits FILE) nothing tells later that the table is repaired.")
    output.json(
        data=problem.describe(),
        model=model.model,
        **describe(done),
        out=out,
        ledger=edits,
        report=page.report,
    )


def repair_table(
    problem: Problem,
    estimator: Any,
    retrained: Any,
    selector: SelectorOptions,
    limits: ConstraintOptions,
    run: RunOptions,
    folds: int | None,
    repeats: int | None,
    output: Output,
) -> Done:
    """Repair a table, and measure on folds what the repair does."""
    if from_file(estimator) and selector.selector == "iterative":
        raise ModelError(
            "--selector iterative retrains the model, and a model from a file is never retrained; give "
            "another selector, or --model the name of a kind."
        )
    rejections = limits.rejections()
    if len(rejections) > 1:
        raise typer.BadParameter("--reject-if names several; a repair has one, and tune tries them")
    choice = selector.choice()
    is_auto = choice.get("threshold") == "auto"
    if is_auto and from_file(estimator):
        raise ModelError(
            "--threshold auto tries repairs on folds with a model that is retrained each time, and a model "
            "from a file is never retrained; give a number."
        )
    repair = FairSHAP(
        estimator,
        **problem.who,
        **choice,
        constraints=limits.constraints(rejections[0]),
        matcher=limits.matcher,
        random_state=run.seed,
        n_jobs=run.jobs,
        verbose=run.verbose,
    )
    with output.warnings():
        repair.fit(problem.X, problem.y)
    if is_auto:
        # Also on the folds: what is measured is the repair that is written.
        repair.set_params(threshold=repair.threshold_)
        output.note(
            f"threshold {repair.threshold_:g}, the most accurate on folds within a standard error of the "
            "best, for at most a point of accuracy."
        )
    if folds == 0:
        return Done(repair, None)
    if from_file(retrained):
        output.note("before and after are not measured: name what to train with --retrain, such as xgboost.")
        return Done(repair, None)
    # What is to be said of the references of the whole table is not said again of each fold.
    with output.warnings(
        NothingToRepairWarning,
        MarginWarning,
        UnmatchedRowsWarning,
        FewReferencesWarning,
        PooledGroupsWarning,
        CopiedAttributeWarning,
    ):
        evaluation = evaluate(
            problem.X,
            problem.y,
            retrained,
            **problem.who,
            positive=problem.positive,
            methods={"before": None, "after": clone(repair).set_params(verbose=0)},
            n_folds=folds,
            n_repeats=repeats,
            random_state=run.seed,
            n_jobs=run.jobs,
            verbose=run.verbose,
        )
    return Done(repair, evaluation)


def _settings(problem: Problem, repair: FairSHAP, model: str) -> dict[str, Any]:
    """Return how a repair was made, for the mark of the table; of a model's file only the name."""
    found = problem.describe()
    told = {name: found[name] for name in ("target", "positive", "sensitive", "privileged")}
    told |= {"model": Path(model).name, "threshold": repair.threshold_, "seed": repair.random_state}
    told |= {"selector": repr(repair.selector), "constraints": ", ".join(repair.constraints.given() if repair.constraints else [])}
    told |= {"matcher": str(repair.matcher)}
    return {name: plain(value) for name, value in told.items() if value not in (None, "")}


def describe(done: Done) -> dict[str, Any]:
    """Return a repair as JSON takes it."""
    found: dict[str, Any] = {
        "threshold": done.repair.threshold_,
        "edits": len(done.edits),
        "rows_edited": done.repair.summary_["n_edited_rows"],
        "by_column": {str(name): n for name, n in done.repair.summary_["edits_by_column"].items()},
        "folds": None,
        "repeats": None,
        "before": None,
        "after": None,
        "change": None,
    }
    if done.evaluation is not None:
        found |= describe_folds(done.evaluation)
        found["before"], found["after"] = describe_measures(done.evaluation)
        found["change"] = records(done.evaluation.differences())[1]
    return found


def print_repair(output: Output, problem: Problem, done: Done, written: Sequence[str]) -> None:
    """Print what was measured, what was edited and where it is."""
    if done.evaluation is not None:
        _print_measures(output, done.evaluation)
    edits = done.edits.frame()
    cells = problem.X.size
    output.line(
        f"{len(edits):,} of {cells:,} cells ({len(edits) / cells:.2%}) were replaced, in "
        f"{edits['row'].nunique():,} rows."
    )
    if len(edits):
        counts = edits["column"].value_counts()
        output.line("By column: " + ", ".join(f"{name} {n:,}" for name, n in counts.items()) + ".")
        output.line()
        output.line("The largest edits (rows are counted from 0)")
        output.table(
            ["row", "column", "old", "new", "from row", "Shapley value"],
            [
                (str(one.row), one.column, one.old, one.new, str(one.reference), one.phi)
                for one in edits.nlargest(10, "phi").itertuples()
            ],
            left=(1,),
        )
    if written:
        output.line()
        output.line(f"Written: {', '.join(written)}")


def print_check(output: Output, problem: Problem, done: Done, out: str) -> None:
    """Print how to find out what the repair does; of a table that was repaired before it is said already."""
    if len(done.edits) and problem.repaired is None:
        output.line(how_to_check(out, measured=done.evaluation is not None))


def _print_measures(output: Output, evaluation: Evaluation) -> None:
    before, after = (line for _, line in evaluation.frame().iterrows())
    change = evaluation.differences().iloc[1]
    output.line(f"Trained before and after the repair, measured on held-out rows: {evaluation.folds}")
    output.table(
        ["measure", "before", "after", "change [95 % interval]", "between", "meaning"],
        [
            (
                measure.label,
                before[name],
                after[name],
                f"{change[name]:+.4f} [{change[f'{name}_low']:+.4f}, {change[f'{name}_high']:+.4f}]",
                between(evaluation, name),
                measure.description,
            )
            for name, measure in MEASURES.items()
        ],
        left=(0, 4, 5),
    )
    print_notes(output, evaluation)
    output.line()
