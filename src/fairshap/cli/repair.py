"""``fairshap repair``: the repaired table and the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import pandas as pd
import typer

from fairshap import Edits, FairSHAP
from fairshap._io import MARKED
from fairshap.cli._measures import MEANINGS, between, describe_folds, describe_measures, print_notes
from fairshap.cli._models import from_file, get_model, make_model, model_file
from fairshap.cli._options import (
    FileOptions,
    Force,
    LimitOptions,
    ModelOptions,
    Repeats,
    RunOptions,
    TableOptions,
)
from fairshap.cli._output import Output, records
from fairshap.cli._problem import Problem, open_problem
from fairshap.cli._repaired import how_to_check, repaired_files
from fairshap.cli._reporting import ReportOptions, check_report, make_page
from fairshap.cli._texts import plain, split
from fairshap.cli._writing import STANDARD, check_writable, write_all
from fairshap.comparing import Comparison
from fairshap.comparing import evaluate as compare
from fairshap.edits import Guard
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


@dataclass(frozen=True, slots=True)
class RecipeOptions:
    """Which cells are replaced."""

    threshold: Annotated[
        str,
        typer.Option(
            help="The smallest attribution that leads to an edit; auto tries several on folds.",
            rich_help_panel=_PANEL,
        ),
    ] = "0.05"
    strategy: Annotated[
        str,
        typer.Option(help="threshold, budget, optimal or iterative.", rich_help_panel=_PANEL),
    ] = "threshold"
    budget: Annotated[
        float | None,
        typer.Option(help="Cells to edit at most: a number, or a share below 1.", rich_help_panel=_PANEL),
    ] = None


@dataclass(frozen=True, slots=True)
class Done:
    """What a repair came to."""

    repair: FairSHAP
    compared: Comparison | None

    @property
    def edits(self) -> Edits:
        """The ledger."""
        return self.repair.edits_

    @property
    def for_report(self) -> Any:
        """Before and after as the report takes them; None if they were not measured."""
        return None if self.compared is None else self.compared.for_report()


def repair(
    context: typer.Context,
    file: FileOptions,
    table: TableOptions,
    model: ModelOptions,
    recipe: RecipeOptions,
    limits: LimitOptions,
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
    check_limits(problem, limits)
    estimator = get_model(model, problem, run)
    retrained = estimator if retrain is None else make_model(retrain, run, "retrain", n_rows=len(problem.X))
    for note in problem.notes:
        output.note(note)
    done = repair_table(problem, estimator, retrained, recipe, limits, run, folds, repeats, output)
    content, ledger = repaired_files(
        problem.source,
        out,
        done.edits,
        has_ledger=edits is not None,
        settings=_settings(problem, done.repair, model.model),
    )
    write_all(
        [
            (page.report, lambda: make_page(context, page, problem, done.repair, compared=done.for_report)),
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
    recipe: RecipeOptions,
    limits: LimitOptions,
    run: RunOptions,
    folds: int | None,
    repeats: int | None,
    output: Output,
) -> Done:
    """Repair a table, and measure on folds what the repair does."""
    if from_file(estimator) and recipe.strategy == "iterative":
        raise ModelError(
            "--strategy iterative trains the model again, and a model from a file is never retrained; give "
            "another strategy, or --model the name of a kind."
        )
    common = {**problem.who, "positive": problem.positive, "n_jobs": run.jobs, "verbose": run.verbose}
    choice = _choice(recipe, limits)
    is_auto = choice["threshold"] == "auto"
    if is_auto and (from_file(estimator) or recipe.strategy == "budget"):
        raise ModelError(
            "--threshold auto tries repairs on folds with a model that is trained each time, by a strategy "
            "that has a threshold; give a number."
        )
    with output.warnings():
        sampler = FairSHAP(estimator, **common, **choice, random_state=run.seed)
        sampler.fit(problem.X, problem.y)
    if is_auto:
        # Also on the folds: what is measured is the repair that is written.
        choice["threshold"] = sampler.threshold_
        output.note(
            f"threshold {sampler.threshold_:g}, the most accurate on folds within a standard error of the "
            "best, for at most a point of accuracy."
        )
    if folds == 0:
        return Done(sampler, None)
    if from_file(retrained):
        output.note("before and after are not measured: name what to train with --retrain, such as xgboost.")
        return Done(sampler, None)
    # What is to be said of the references of the whole table is not said again of each fold.
    with output.warnings(
        NothingToRepairWarning,
        MarginWarning,
        UnmatchedRowsWarning,
        FewReferencesWarning,
        PooledGroupsWarning,
        CopiedAttributeWarning,
    ):
        alike, with_twins = (
            FairSHAP(
                estimator, **problem.who, **choice, augment=augment, random_state=run.seed, n_jobs=run.jobs
            )
            for augment in (None, "edited")
        )
        compared = compare(
            problem.X,
            problem.y,
            retrained,
            **common,
            methods={"before": None, "after": alike, "with twins": with_twins},
            n_folds=folds,
            n_repeats=repeats,
            random_state=run.seed,
        )
    return Done(sampler, compared)


def _choice(recipe: RecipeOptions, limits: LimitOptions) -> dict[str, Any]:
    """Return the parameters of the repair that options stand for."""
    guards = guards_of(limits)
    if len(guards) > 1:
        raise typer.BadParameter("--guard names several; a repair has one, and tune tries them")
    budget = recipe.budget
    threshold: float | str = "auto"
    if recipe.threshold != "auto":
        try:
            threshold = float(recipe.threshold)
        except ValueError as error:
            raise typer.BadParameter(
                f"--threshold {recipe.threshold} is neither a number nor auto"
            ) from error
    return {
        "threshold": threshold,
        "strategy": recipe.strategy,
        "budget": int(budget) if budget is not None and budget >= 1 and budget.is_integer() else budget,
        "guard": guards[0],
        **limit_params(limits),
    }


def check_limits(problem: Problem, limits: LimitOptions) -> None:
    """Raise an error, before any work is done, if a column that is named is not there."""
    for what, texts in (("frozen", limits.frozen), ("editable", limits.editable)):
        for name in split(texts):
            problem.source.find(name, what)


def guards_of(limits: LimitOptions) -> list[Guard]:
    """Return the guards that are named on the command line."""
    names = ["none"] if limits.guard is None else split(limits.guard) or limits.guard
    for name in names:
        if name not in ("none", "risk", "label"):
            raise typer.BadParameter(f"--guard {name} is not known; give none, risk or label")
    return [False if name == "none" else cast(Guard, name) for name in names]


def limit_params(limits: LimitOptions) -> dict[str, Any]:
    """Return the parameters of a repair that say what it may touch."""
    return {
        "frozen": split(limits.frozen) or None,
        "editable": split(limits.editable) or None,
        "max_row_edits": limits.max_row_edits,
        "direction": limits.direction,
        "plausible": limits.plausible,
        "matching": limits.matching,
    }


def _settings(problem: Problem, repair: FairSHAP, model: str) -> dict[str, Any]:
    """Return how a repair was made, for the mark of the table; of a model's file only the name."""
    found = problem.describe()
    told = {name: found[name] for name in ("target", "positive", "sensitive", "privileged")}
    told |= {"model": Path(model).name, "threshold": repair.threshold_, "seed": repair.random_state}
    names = ("strategy", "budget", "guard", "frozen", "editable", "max_row_edits", "direction", "plausible")
    more = {name: getattr(repair, name) for name in (*names, "matching")}
    told |= {name: plain(value) for name, value in more.items() if value}
    return told


def describe(done: Done) -> dict[str, Any]:
    """Return a repair as JSON takes it."""
    edits = done.edits
    found: dict[str, Any] = {
        "threshold": done.repair.threshold_,
        "edits": len(edits),
        "rows_edited": len(set(edits.row.tolist())),
        "by_column": {
            str(name): n for name, n in pd.Series(edits.column, dtype=object).value_counts().items()
        },
        "folds": None,
        "repeats": None,
        "before": None,
        "after": None,
        "with_twins": None,
        "change": None,
    }
    if done.compared is not None:
        found |= describe_folds(done.compared)
        found["before"], found["after"], found["with_twins"] = describe_measures(done.compared)
        found["change"] = records(done.compared.changes())[1]
    return found


def print_repair(output: Output, problem: Problem, done: Done, written: Sequence[str]) -> None:
    """Print what was measured, what was edited and where it is."""
    if done.compared is not None:
        _print_measures(output, done.compared)
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
            ["row", "column", "old", "new", "from row", "attribution"],
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
        output.line(how_to_check(out, measured=done.compared is not None))


def _print_measures(output: Output, compared: Comparison) -> None:
    before, after, with_twins = (line for _, line in compared.frame().iterrows())
    change = compared.changes().iloc[1]
    output.line(
        "Trained before and after the repair (edits alone, without twins), measured on held-out rows: "
        f"{compared.folds}"
    )
    output.table(
        ["measure", "before", "after", "change [95 % interval]", "between", "meaning"],
        [
            (
                name if name == "accuracy" else name.upper(),
                before[name],
                after[name],
                f"{change[name]:+.4f} [{change[f'{name}_low']:+.4f}, {change[f'{name}_high']:+.4f}]",
                between(compared, name),
                what,
            )
            for name, what in MEANINGS.items()
        ],
        left=(0, 4, 5),
    )
    print_notes(output, compared)
    figures = ", ".join(f"{name.upper()} {with_twins[name]:.4f}" for name in MEANINGS if name != "accuracy")
    output.line(
        "With twins of the edited rows, which FairSHAPClassifier makes in Python: accuracy "
        f"{with_twins['accuracy']:.4f}, {figures}."
    )
    output.line()
