"""Options that commands share, in groups."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from fairshap.cli._texts import split
from fairshap.edits import REJECTIONS, EditConstraints

if TYPE_CHECKING:
    from fairshap.cli._problem import Problem

_TABLE, _MODEL, _REPAIR, _MEASURING, _OUTPUT = "Table", "Model", "Repair", "Measuring", "Output"


def _option(text: str, panel: str, *names: str, metavar: str | None = None, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, metavar=metavar, **more)


Texts: TypeAlias = list[str] | None

Force: TypeAlias = Annotated[bool, _option("Replace files that are there already; never DATA.", _OUTPUT)]

Ledger: TypeAlias = Annotated[
    str | None,
    _option(
        "The ledger of DATA, if DATA is a repaired table; one in its folder is found without.",
        _TABLE,
        metavar="FILE",
    ),
]

Folds: TypeAlias = Annotated[
    int | None, _option("Folds to measure on; by default 5, and 3 from 100,000 rows on.", _MEASURING, min=2)
]
Repeats: TypeAlias = Annotated[
    int | None,
    _option("How often the rows are dealt into folds; up to 4 times for a small table.", _MEASURING, min=1),
]


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The file, and how it is read."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV, Parquet, Feather or Excel, also compressed; - for standard input; or a built-in "
            "table (see fairshap datasets).",
        ),
    ]
    categorical: Annotated[Texts, _option("Columns that are categories.", _TABLE, metavar="A,B")] = None
    numeric: Annotated[Texts, _option("Columns that are numbers.", _TABLE, metavar="A,B")] = None
    drop: Annotated[
        Texts, _option("Columns to leave out; the repaired file has them.", _TABLE, metavar="A,B")
    ] = None
    missing: Annotated[
        Texts, _option("Texts that mean a missing cell, such as ?.", _TABLE, metavar="A,B")
    ] = None
    delimiter: Annotated[
        str | None, _option("What is between fields, if no comma or tab.", _TABLE, metavar="CHAR")
    ] = None
    encoding: Annotated[str | None, _option("Of a text file, if not UTF-8.", _TABLE, metavar="NAME")] = None
    format: Annotated[
        str | None, _option("csv, tsv, parquet, feather or excel, if the ending does not say.", _TABLE)
    ] = None


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What the columns of the table mean."""

    target: Annotated[str | None, _option("The column to predict.", _TABLE, "--target", "-t")] = None
    sensitive: Annotated[
        Texts, _option("The sensitive column; repeat for several.", _TABLE, "--sensitive", "-s")
    ] = None
    privileged: Annotated[
        Texts,
        _option(
            "Its privileged value; repeat for several values, or one for each sensitive column. LOW..HIGH "
            "for a quantity such as age.",
            _TABLE,
            "--privileged",
            "-p",
        ),
    ] = None
    positive: Annotated[
        str | None,
        _option("The favourable label of the target. Known for 0/1, true/false, yes/no.", _TABLE),
    ] = None


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """The model that is explained."""

    model: Annotated[
        str,
        _option(
            "hist-gradient-boosting, xgboost, lightgbm, random-forest, logistic, svm; or the file of a "
            "fitted model, which is explained and never retrained (.json, .ubj, .txt, .skops, "
            ".pkl, .joblib).",
            _MODEL,
            "--model",
            "-m",
        ),
    ] = "hist-gradient-boosting"
    trust_pickle: Annotated[
        bool,
        _option(
            "Open a .pkl or .joblib model. Opening it can run any program that is in it: do it only if you "
            "know who made the file.",
            _MODEL,
            "--trust-pickle",
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a command runs and speaks."""

    json: Annotated[bool, _option("Print one JSON object instead of tables.", _OUTPUT, "--json")] = False
    quiet: Annotated[bool, _option("No messages but errors; the result alone.", _OUTPUT, "--quiet", "-q")] = (
        False
    )
    seed: Annotated[int, _option("Of everything that is drawn.", _MODEL, min=0)] = 0
    jobs: Annotated[
        int | None, _option("Threads; all cores by default. The result is the same.", _MODEL, min=1)
    ] = None

    @property
    def verbose(self) -> int:
        """Whether a bar is shown: on a terminal, unless quiet."""
        return int(sys.stderr.isatty() and not self.quiet)


@dataclass(frozen=True, slots=True)
class ConstraintOptions:
    """Which cells a repair may edit, and how rows are matched."""

    frozen: Annotated[Texts, _option("Columns that are never edited.", _REPAIR, metavar="A,B")] = None
    editable: Annotated[Texts, _option("The only columns that are edited.", _REPAIR, metavar="A,B")] = None
    max_per_row: Annotated[int | None, _option("Edits in a row, at most.", _REPAIR, min=1)] = None
    group: Annotated[str, _option("Whose rows are edited: both, unprivileged or privileged.", _REPAIR)] = (
        "both"
    )
    reject_if: Annotated[
        Texts,
        _option(
            "Leave a row unedited if its risk would rise (risk_rises), or its label would become less likely "
            "(label_less_likely); none by default. tune tries several, such as none,label_less_likely.",
            _REPAIR,
            metavar="NAME",
        ),
    ] = None
    plausible: Annotated[
        bool, _option("Only combinations of categories that occur.", _REPAIR, "--plausible")
    ] = False
    matcher: Annotated[str, _option("How rows are matched: nearest, emd, sinkhorn or sliced.", _REPAIR)] = (
        "nearest"
    )

    def check(self, problem: "Problem") -> None:
        """Raise an error, before any work is done, if a column that is named is not there."""
        for what, texts in (("frozen", self.frozen), ("editable", self.editable)):
            for name in split(texts):
                problem.source.find(name, what)

    def rejections(self) -> list[Any]:
        """Return when edits of a row are taken back, one for each name."""
        names = split(self.reject_if) or ["none"]
        for name in names:
            if name not in ("none", *REJECTIONS):
                raise typer.BadParameter(
                    f"--reject-if {name} is not known; give none, {' or '.join(REJECTIONS)}"
                )
        return [None if name == "none" else name for name in names]

    def constraints(self, reject_if: Any = None) -> EditConstraints:
        """Return the constraints that the options stand for."""
        return EditConstraints(
            frozen=split(self.frozen) or None,
            editable=split(self.editable) or None,
            max_per_row=self.max_per_row,
            group=self.group,  # type: ignore[arg-type]
            plausible=self.plausible,
            reject_if=reject_if,
        )
