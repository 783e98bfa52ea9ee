"""All commands."""

from collections.abc import Callable
from typing import Annotated

import typer

import fairshap
from fairshap.cli._expand import expand
from fairshap.cli.apply import apply
from fairshap.cli.audit import audit
from fairshap.cli.datasets import datasets
from fairshap.cli.demo import demo
from fairshap.cli.evaluate import evaluate
from fairshap.cli.repair import repair
from fairshap.cli.tune import tune

_CODES = (
    "Exit codes: 0 it is done; 1 the table, a file or an option's value cannot be used; 2 wrong usage; 70 a "
    "fault in fairshap; 130 interrupted; 141 nobody reads the output; 143 terminated. Errors are one "
    "sentence on standard error, and then nothing is written."
)

app = typer.Typer(
    name="fairshap",
    help="Find and replace the few cells of a training table that make a model treat two otherwise equal "
    "people differently.",
    epilog=_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES: dict[Callable[..., None], str] = {
    audit: "audit people.csv --target hired --sensitive sex --privileged Male",
    repair: "repair people.csv -t hired -s sex -p Male --out fair.csv --edits edits.csv --frozen age,zip",
    evaluate: "evaluate people.csv -t hired -s sex -p Male --methods baseline,rsa,reweighing,fairshap",
    tune: "tune people.csv -t hired -s sex -p Male --max-accuracy-drop 0.01",
    apply: "apply edits.csv people.csv --out fair.csv",
    datasets: "datasets --json",
    demo: "demo --out demo",
}

for _command, _example in _EXAMPLES.items():
    app.command(epilog=f"Example: fairshap {_example}")(expand(_command))


def _print_version(asked: bool) -> None:
    if asked:
        print(f"fairshap {fairshap.__version__}")
        raise typer.Exit


@app.callback()
def _callback(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Hold the options that come before the command."""
