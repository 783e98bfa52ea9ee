"""``fairshap reproduce``: the paper's experiments, with its figures beside ours."""

from pathlib import Path
from typing import Annotated

import typer

from fairshap.cli._options import RunOptions
from fairshap.cli._output import Output
from fairshap.cli._texts import split
from fairshap.reproduction import EXPERIMENTS, SETTINGS
from fairshap.reproduction import reproduce as run_experiments

_KEPT = "what is finished is kept, and the same command goes on from there"


def reproduce(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="; ".join(f"{name}: {one.what}" for name, one in EXPERIMENTS.items()) + "; or all.",
        ),
    ],
    run: RunOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for tables and figures.")
    ] = Path("results"),
    settings: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help=f"Some of {', '.join(SETTINGS)}; all by default."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds of the folds, or draws, that a spread is reported over.")
    ] = 5,
    folds: Annotated[int, typer.Option(min=2, help="Folds; the paper has 5.")] = 5,
) -> None:
    """Run the paper's experiments and write tables and figures, the paper's beside ours.

    A run that was interrupted goes on where it stopped.
    """
    output = Output("reproduce", run)
    try:
        done = run_experiments(
            split(names),
            out,
            settings=split(settings) or None,
            seeds=seeds,
            folds=folds,
            random_state=run.seed,
            n_jobs=run.jobs,
            verbose=run.verbose,
        )
    except BaseException as stopped:
        stopped.add_note(_KEPT)
        raise
    output.table(
        ["experiment", "jobs", "done before", "CPU seconds", "figures compared", "over 2 std"],
        [
            (
                one.name,
                one.jobs,
                one.reused,
                round(one.seconds),
                one.summary.get("compared"),
                one.summary.get("far"),
            )
            for one in done
        ],
    )
    for one in done:
        pages = [str(path) for path in one.files if path.suffix == ".md"]
        output.line(f"{one.name}: {', '.join(pages)}")
    output.json(
        experiments=[
            {
                "name": one.name,
                "files": [str(path) for path in one.files],
                "jobs": one.jobs,
                "reused": one.reused,
                "cpu_seconds": round(one.seconds, 1),
                "summary": one.summary,
            }
            for one in done
        ]
    )
