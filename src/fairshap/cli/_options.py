"""Options that commands share, in groups."""

import csv
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, dataclass, field
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

# Looking a name up imports what it needs. The help and completion of options need none of it.
import fairshap

if TYPE_CHECKING:
    from fairshap import Explainer, FairSHAP
    from fairshap.edits import EditConstraints


@dataclass(slots=True)
class Invocation:
    """The command as it was given: its arguments, and the value of every option."""

    arguments: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    #: Whether somebody is being asked.
    is_asking: bool = False

    def line(self, *more: str) -> str:
        """Return the command as it is typed, with more arguments behind it."""
        return shlex.join(["fairshap", *self.arguments, *more])


INVOCATION = ContextVar("INVOCATION", default=Invocation())  # noqa: B039

#: The name of standard input and output.
STANDARD = "-"

#: The option that sets a parameter of the Python functions.
OPTIONS = {
    "cost": "--threshold",
    "estimator": "--model",
    "n_cells": "--budget",
    "n_folds": "--folds",
    "n_jobs": "--jobs",
    "n_repeats": "--repeats",
    "random_state": "--seed",
    "y": "--target",
}
_SAME = (
    "budget candidates categorical decimal delimiter direction drop editable encoding fail_if force frozen "
    "game group header_row id matcher max_accuracy_drop max_auc_drop max_edits max_memory max_per_row "
    "max_references methods minimize missing numeric positive privileged reject_if remedy report scoring "
    "selector sensitive sheet target thousands threshold weights"
)
OPTIONS |= {name: f"--{name.replace('_', '-')}" for name in _SAME.split()}

#: The kinds of model; the first is the default.
MODELS = ("hist-gradient-boosting", "xgboost", "lightgbm", "random-forest", "logistic", "svm")
SELECTORS = ("threshold", "budget", "optimal", "iterative")

_TABLE, _MODEL, _REPAIR, _MEASURING, _OUTPUT = "Table", "Model", "Repair", "Measuring", "Output"


def split(texts: Iterable[str] | None) -> list[str]:
    """Return the items of comma-separated lists; an item that holds a comma is in double quotes.

    >>> split(["age,zip", '"a,b"'])
    ['age', 'zip', 'a,b']
    """
    items = (item.strip() for text in texts or () for item in next(csv.reader([text]), []))
    return [item for item in items if item]


def visible(text: str) -> str:
    """Return a text with escapes for whatever would control a terminal: cells are data."""
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def tell(text: str) -> None:
    """Print a message on standard error, with its lines broken between words if that is a terminal."""
    said = f"fairshap: {visible(text)}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size((100, 24)).columns
        said = fill(said, width, break_long_words=False, break_on_hyphens=False)
    print(said, file=sys.stderr)


def offer(values: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what completes a value, or the last one of a comma-separated list."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{value}" for value in values if value.startswith(last)]

    return complete


def name_option(text: str, parameter: str | None) -> str:
    """Return a text about a parameter with its option: ``--option`` for ``name=``, or else at the end."""
    option = OPTIONS.get(parameter or "")
    if option is None:
        return text
    named, count = re.subn(rf"\b{parameter}=(True\b)?", lambda found: option + " " * (not found[1]), text)
    if count:
        return named
    return f"{text[:-1]} ({option})." if text.endswith(".") else f"{text} ({option})"


def option(default: Any, text: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """Return an option with its help, in a panel of it: a field of a group, or a parameter of a command."""
    shown = typer.Option(*names, help=text, rich_help_panel=panel, **more)
    return field(default=default, metadata={"shown": shown})


def names_option(text: str, panel: str | None = None, **more: Any) -> Any:
    """Return an option that takes a comma-separated list, likewise."""
    return option(None, text, panel, metavar="A,B", callback=split, **more)


def argument(text: str, metavar: str) -> Any:
    """Return what has a place instead of a name, likewise."""
    return field(metadata={"shown": typer.Argument(help=text, metavar=metavar)})


Texts: TypeAlias = list[str] | None
force_option = partial(option, False, "Replace files that are there already; never DATA.", _OUTPUT)
repeats_option = partial(
    option,
    None,
    "How often the rows are split into folds anew; by default up to 4 times for a small table.",
    _MEASURING,
    min=1,
)
out_option = partial(
    option, MISSING, "The repaired table; - for standard output.", None, "--out", "-o", metavar="FILE"
)


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The file, and how it is read."""

    data: str = argument(
        "CSV, TSV, Parquet or Excel, also compressed; - for standard input; or a built-in table (see "
        "fairshap datasets).",
        "DATA",
    )
    categorical: Texts = names_option("Columns that are categories.", _TABLE)
    numeric: Texts = names_option("Columns that are numbers.", _TABLE)
    drop: Texts = names_option("Columns to leave out; the repaired file has them.", _TABLE)
    missing: Texts = names_option("Texts that mean a missing cell, such as ?.", _TABLE)
    sheet: str | None = option(None, "The sheet of a workbook: its name, or its number.", _TABLE)
    header_row: int | None = option(
        None, "The row with the names of the columns, counted from 1.", _TABLE, metavar="N", min=1
    )
    decimal: str | None = option(None, "The decimal sign: a point or a comma.", _TABLE, metavar="CHAR")
    thousands: str | None = option(None, "What separates thousands.", _TABLE, metavar="CHAR")
    delimiter: str | None = option(None, "The character between fields.", _TABLE, metavar="CHAR")
    encoding: str | None = option(
        None, "The encoding of a text file, such as cp1252.", _TABLE, metavar="NAME"
    )


@dataclass(frozen=True, slots=True)
class TaskOptions(FileOptions):
    """The file, what its columns mean, and the model that is explained."""

    target: str | None = option(None, "The column to predict.", _TABLE, "--target", "-t")
    sensitive: Texts = option(
        None, "The sensitive column, or several.", _TABLE, "--sensitive", "-s", metavar="A,B"
    )
    privileged: Texts = option(
        None,
        "Its privileged value, or several; one for each sensitive column if there are several. LOW..HIGH for "
        "a quantity such as age.",
        _TABLE,
        *("--privileged", "-p"),
        metavar="A,B",
    )
    positive: Texts = option(
        None,
        "The favorable label of the target, or several. Known for 0/1, true/false, yes/no.",
        _TABLE,
        metavar="A,B",
    )
    id: str | None = option(
        None, "The column that names the rows: not part of the model, and in the ledger.", _TABLE
    )
    model: str = option(
        MODELS[0],
        f"{', '.join(MODELS[:-1])} or {MODELS[-1]}; or the file of a fitted model, which is explained and "
        "never retrained: .json, .ubj, .txt, .skops, .pkl, .joblib.",
        _MODEL,
        *("--model", "-m"),
        autocompletion=offer(MODELS),
    )
    trust_pickle: bool = option(
        False,
        "Open a .pkl or .joblib model. Opening it can run any program that is in it: do it only if you know "
        "who made the file.",
        _MODEL,
        "--trust-pickle",
    )


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """What a model is measured on."""

    folds: int | None = option(
        None, "Folds to measure on; by default 5, or 3 for 100,000 rows and more.", _MEASURING, min=2
    )
    repeats: int | None = repeats_option()
    edits: str | None = option(
        None,
        "The ledger of DATA, if DATA is a repaired table; one in the same folder is found by itself.",
        _TABLE,
        metavar="FILE",
    )

    @property
    def params(self) -> dict[str, Any]:
        """The folds, as the Python functions take them."""
        return {"n_folds": self.folds, "n_repeats": self.repeats}


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a command runs, and what it prints."""

    json: bool = option(False, "Print one JSON object instead of tables.", _OUTPUT, "--json")
    quiet: bool = option(False, "No messages but errors; the result alone.", _OUTPUT, "--quiet", "-q")
    seed: int = option(0, "The seed of everything that is random.", _MODEL, min=0)
    jobs: int | None = option(None, "Threads, or processes for folds. The result is the same.", _MODEL, min=1)

    @property
    def params(self) -> dict[str, Any]:
        """The same for the Python functions."""
        return {"random_state": self.seed, "n_jobs": self.jobs, "verbose": int(not self.quiet)}


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """The report, and whether files are replaced."""

    report: str | None = option(
        None,
        "A report of all that was found. The ending says the form: .html (a page), .md (a model card), .pdf, "
        ".json; several with commas.",
        _OUTPUT,
        metavar="FILE",
    )
    redact: bool = option(False, "Leave the values of single rows out of the report.", _OUTPUT, "--redact")
    force: bool = force_option()

    @property
    def reports(self) -> list[str]:
        """The files of the report, one for each form."""
        return split([self.report] if self.report is not None else [])

    @property
    def written(self) -> list[str]:
        """The files that are asked for, the table first and the reports last."""
        names = (getattr(self, name, None) for name in ("out", "edits", "ledger"))
        return [*(name for name in names if name is not None), *self.reports]

    def check(self) -> None:
        """Raise an error, before any work, if the report cannot be made."""
        if self.report is None:
            if self.redact:
                raise typer.BadParameter("--redact is about the report; give --report too")
            return
        if self.report == STANDARD:
            raise typer.BadParameter("--report - is not taken; give a file")
        from fairshap._messages import import_extra

        for path in self.reports:
            ending = path.rpartition(".")[2].lower()
            if ending not in ("html", "htm", "md", "pdf", "json"):
                raise typer.BadParameter(
                    f"--report {path} tells no form; end it in .html, .md, .pdf or .json"
                )
            if ending in ("html", "htm", "pdf"):
                for module in ("jinja2", "matplotlib"):
                    import_extra(module, "--report", "report")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFiles(ReportOptions):
    """The files of a repair."""

    out: str = out_option()
    edits: str | None = option(None, "The ledger: every edit and its reason (CSV).", metavar="FILE")


@dataclass(frozen=True, slots=True)
class TunedFiles(ReportOptions):
    """The files of a search."""

    out: str | None = option(
        None,
        "The table that the recommendation is trained on: edited cells, added rows, a column of weights. "
        "Then only remedies that are a table are tried.",
        _OUTPUT,
        *("--out", "-o"),
        metavar="FILE",
    )
    ledger: str | None = option(
        None, "The ledger of its edits, each with its reason (CSV).", _OUTPUT, metavar="FILE"
    )


def is_many(data: str) -> bool:
    """Say whether a table is a folder, a pattern or a URL of Parquet files."""
    is_pattern = any(sign in data for sign in "*?[") and not Path(data).is_file()
    return is_pattern or "://" in data or Path(data).is_dir()


def is_standard(out: str | None, edits: str | None, run: RunOptions, name: str = "edits") -> bool:
    """Say whether a table goes to standard output, or raise an error if two things would."""
    if edits == STANDARD:
        raise typer.BadParameter(f"--{name} - is not taken; give a file")
    if run.json and out == STANDARD:
        raise typer.BadParameter("--json and --out - both want standard output; write to a file")
    return out == STANDARD


@dataclass(frozen=True, slots=True)
class ConstraintOptions:
    """Which cells a repair may edit, and how rows are matched."""

    frozen: Texts = names_option("Columns that are never edited.", _REPAIR)
    editable: Texts = names_option("The only columns that are edited.", _REPAIR)
    max_per_row: int | None = option(None, "Edits in a row, at most.", _REPAIR, min=1)
    group: str = option(
        "both",
        "Whose rows are edited: both, unprivileged or privileged.",
        _REPAIR,
        autocompletion=offer(["both", "unprivileged", "privileged"]),
    )
    direction: str | None = option(
        None,
        "parity: only rows whose change narrows the gap between the groups, no more than their rates of "
        "positive labels ask for; for one file.",
        _REPAIR,
        autocompletion=offer(["parity"]),
    )
    reject_if: str | None = option(
        None,
        "Leave a row unedited if its risk would rise (risk_rises), or its label would become less likely "
        "(label_less_likely).",
        _REPAIR,
        autocompletion=offer(["none", "risk_rises", "label_less_likely"]),
    )
    plausible: bool = option(
        False, "Only new values that occur together with the row's other categories.", _REPAIR, "--plausible"
    )
    matcher: str = option(
        "nearest",
        "How rows are matched: nearest, emd, sinkhorn or sliced.",
        _REPAIR,
        autocompletion=offer(["nearest", "emd", "sinkhorn", "sliced"]),
    )

    def constraints(self) -> "EditConstraints":
        """Return the constraints that the options stand for."""
        return fairshap.EditConstraints(
            frozen=self.frozen or None,
            editable=self.editable or None,
            max_per_row=self.max_per_row,
            group=self.group,  # type: ignore[arg-type]
            direction=self.direction,  # type: ignore[arg-type]
            plausible=self.plausible,
            reject_if=self.reject_if,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True)
class SelectorOptions:
    """Which cells are edited."""

    threshold: str = option(
        "0.05",
        "The smallest Shapley value that leads to an edit, or the cost of a cell for optimal; relative goes "
        "by the table's own risk, auto tries several on folds.",
        _REPAIR,
    )
    selector: str = option(
        "threshold", "threshold, budget, optimal or iterative.", _REPAIR, autocompletion=offer(SELECTORS)
    )
    game: str = option(
        "risk",
        "What is explained: the risk, which is what the attribute alone does to a score, or the gap between "
        "the scores of matched people.",
        _REPAIR,
    )
    budget: float | None = option(None, "Cells to edit at most: a number, or a share below 1.", _REPAIR)

    def params(self) -> dict[str, Any]:
        """Return the parameters of FairSHAP that the options stand for."""
        name, budget = self.selector, self.budget
        if name not in SELECTORS:
            raise typer.BadParameter(f"--selector {name} is not known; give one of {', '.join(SELECTORS)}")
        if self.threshold == "auto":
            if name == "threshold" and budget is None:
                return {"threshold": "auto"}
            why = "tries repairs by --selector threshold on folds"
            raise typer.BadParameter(f"--threshold auto {why}; give a number")
        if self.threshold == "relative":
            if name not in ("threshold", "iterative") or budget is not None:
                why = "goes with --selector threshold and iterative, without --budget"
                raise typer.BadParameter(f"--threshold relative {why}; give a number")
            found = fairshap.Threshold(relative=True)
            return {"selector": fairshap.Iterative(found) if name == "iterative" else found}
        try:
            threshold = float(self.threshold)
        except ValueError as error:
            known = "neither a number nor auto nor relative"
            raise typer.BadParameter(f"--threshold {self.threshold} is {known}") from error
        if budget is None:
            if name == "budget":
                what = "a number of cells such as 500, or a share such as 0.01"
                raise typer.BadParameter(f"--selector budget needs --budget: {what}")
            is_optimal = name == "optimal"
            selector = (fairshap.OptimalSubset if is_optimal else fairshap.Threshold)(threshold)
        else:
            if name == "optimal":
                raise typer.BadParameter("--budget goes with threshold, budget and iterative, not optimal")
            budget = int(budget) if budget >= 1 and budget.is_integer() else budget
            selector = fairshap.Budget(budget, threshold=None if name == "budget" else threshold)
        return {"selector": fairshap.Iterative(selector) if name == "iterative" else selector}


def explainer_of(game: str, positive: Any, report: str | None) -> "Explainer":
    """Return the explainer of a game."""
    if game == "gap" and report is not None:
        raise typer.BadParameter("--report is about the risk; leave out --game gap, or the report")
    return fairshap.Explainer(game=game, positive=positive)  # type: ignore[arg-type]


def selector_of(repair: "FairSHAP") -> tuple[str, Any]:
    """Return the options --selector and --threshold of a repair."""
    selector: Any = repair.selector
    match selector:
        case None:
            return "threshold", repair.threshold
        case fairshap.Threshold(relative=True):
            return "threshold", "relative"
        case fairshap.Iterative():
            return "iterative", selector_of(fairshap.FairSHAP(selector=selector.once))[1]
        case fairshap.OptimalSubset():
            return "optimal", selector.cost
        case fairshap.Budget(threshold=None):
            return "budget", None
    return "threshold", selector.threshold
