"""What a command prints, the result on standard output and messages on standard error, and what it writes."""

import json
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any, BinaryIO, cast

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import fairshap
from fairshap._crossval import GAPS, MEASURES, Evaluation
from fairshap._files import check_folder, check_target, write_atomically
from fairshap.cli._options import INVOCATION, STANDARD, ReportOptions, RunOptions, name_option, tell, visible
from fairshap.exceptions import FairshapWarning, FileError, MarginWarning, NothingToRepairWarning
from fairshap.report._page import decimal

#: The version of what ``--json`` prints; it changes when a name goes or means something else.
SCHEMA = 1


class Output:
    """Prints tables or JSON; to standard error if a table is written to standard output."""

    def __init__(self, command: str, run: RunOptions, *, to_stderr: bool = False) -> None:
        self.command = command
        self.run = run
        self.is_silent = run.json or (to_stderr and run.quiet)
        #: What was told on standard error, for the JSON.
        self.messages: list[str] = []
        #: Warnings of what was told already.
        self.told: list[type[FairshapWarning]] = []
        file = sys.stderr if to_stderr else sys.stdout
        # In a pipe there is no width: a table is as wide as it needs to be.
        width = None if file.isatty() else 1000
        self.console = Console(file=file, highlight=False, soft_wrap=False, width=width)

    def note(self, text: str, lines: Sequence[str] = ()) -> None:
        """Print a message on standard error, unless asked to be quiet; lines of it stand below."""
        self.messages += [text, *(" ".join(line.split()) for line in lines)]
        if self.run.quiet:
            return
        tell(text)
        width = shutil.get_terminal_size((100, 24)).columns
        for line in lines:
            # The first word is the topic, and the rest stands to the right of it.
            below = fill(visible(line), width, initial_indent="  ", subsequent_indent=" " * 12)
            print(below, file=sys.stderr)

    def line(self, text: str = "") -> None:
        """Print a line of the result, unless it is JSON."""
        if not self.is_silent:
            self.console.print(visible(text), markup=False, soft_wrap=not self.console.is_terminal)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]], left: Iterable[int] = (0,)) -> None:
        """Print a table of the result, unless it is JSON; columns are right-aligned except those named.

        Where it does not fit into the terminal, each row is a block of its own: nothing is cut off.
        """
        if self.is_silent:
            return
        lines = [[show(cell) for cell in row] for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        for k, name in enumerate(header):
            table.add_column(name, justify="left" if k in set(left) else "right", no_wrap=True)
        for line in lines:
            table.add_row(*line)
        endless = self.console.options.update(max_width=10_000)
        if self.console.measure(table, options=endless).maximum <= self.console.width:
            self.console.print(table)
            return
        for line in lines:
            self._block(header, line)

    def _block(self, header: Sequence[str], cells: Sequence[str]) -> None:
        """Print a row below its first cell: names and values side by side, as many as fit into a line."""
        # Texts of the table are escaped for its markup.
        first, *rest = (Text.from_markup(cell).plain for cell in cells)
        # A number alone does not say what it is the number of.
        first = f"{header[0]} {first}" if first.replace(",", "").isdigit() else first
        self.console.print(Text(first, style="bold"), soft_wrap=True)
        line = " "
        for name, cell in zip(header[1:], rest, strict=True):
            if not cell:
                continue
            item = f" {name} {cell}"
            if len(line) + len(item) + 2 > self.console.width and line.strip():
                self.console.print(Text(line), soft_wrap=True)
                line = " "
            line += item if line == " " else f"  {item}"
        if line.strip():
            text = fill(
                line.strip(), max(30, self.console.width), initial_indent="  ", subsequent_indent="  "
            )
            self.console.print(Text(text), soft_wrap=True)

    def json(self, **result: Any) -> None:
        """Print the result as one JSON object, if asked for."""
        if self.run.json:
            head = {"fairshap": fairshap.__version__, "schema": SCHEMA, "command": self.command}
            how = {"seed": self.run.seed, "options": INVOCATION.get().options, "messages": self.messages}
            print(json.dumps(plain({**head, **result, **how}), indent=2, ensure_ascii=False))

    def written(self, files: ReportOptions, *, apart: bool = False) -> None:
        """Print which files were written, if any; apart, after an empty line."""
        names = [name for name in files.written if name != STANDARD]
        if names:
            self.line(("\n" if apart else "") + f"Written: {', '.join(names)}")

    @contextmanager
    def warnings(self, *, of_edits: bool = False) -> Iterator[None]:
        """Print fairshap's warnings as notes, at once; those of edits only where edits are the result."""

        def show(warning: Warning | str, *_: Any) -> None:
            if isinstance(warning, FairshapWarning):
                # What to do in Python is of no use here.
                text = name_option(str(warning).removesuffix(warning.hint).rstrip(), warning.parameter)
                if text not in self.messages:
                    self.note(text)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", FairshapWarning)
            for category in (*self.told, *(() if of_edits else (NothingToRepairWarning, MarginWarning))):
                warnings.simplefilter("ignore", category)
            warnings.showwarning = cast("Any", show)
            yield


# ---- files, all of them or none


def check_writable(paths: Sequence[str | None], *, force: bool, sources: Sequence[Path | None] = ()) -> None:
    """Raise an error, before any work, if a file cannot be written, or is a source, which is only read."""
    given = [Path(path) for path in paths if path is not None and path != STANDARD]
    for k, path in enumerate(given):
        if path.resolve() in [other.resolve() for other in given[:k]]:
            raise FileError(f"{str(path)!r} is given for two files; give two names.")
        check_target(path, force=force, sources=sources)
        if path.is_file() or not path.exists():
            check_folder(path)


def write_all(contents: Sequence[tuple[str | None, Callable[[], bytes]]], *, force: bool) -> None:
    """Write the files that are asked for, all of them or none; the last may go to standard output."""
    if not contents:
        return
    (path, content), *rest = contents

    def write(file: BinaryIO) -> None:
        file.write(content())
        # A full disk is noticed here, while the files before this one lie ready beside their places.
        file.flush()
        write_all(rest, force=force)

    if path is None:
        write_all(rest, force=force)
    elif path == STANDARD:
        write(sys.stdout.buffer)
    else:
        write_atomically(path, write, force=force)


# ---- values as text and as JSON


def plain(value: Any) -> Any:
    """Return a value as JSON takes it: Python's own numbers, None if missing, and the lines of a frame."""
    if isinstance(value, pd.DataFrame):
        return plain(value.to_dict(orient="records"))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if not pd.api.types.is_scalar(value):
        return str(value)
    if pd.isna(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def show(cell: Any) -> str:
    """Return a cell of a table as text: numbers short, missing ones empty."""
    cell = plain(cell)
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        # Adding zero makes a plain zero of what rounds to a negative one.
        if abs(cell) < 1:
            return f"{round(cell, 4) + 0.0:.4f}"
        return f"{cell:,.6g}" if abs(cell) < 1e5 else f"{cell:,.0f}"
    return escape(visible(cell))


# ---- measures of models


def describe_measures(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the measures of each model as JSON takes them, with the two groups of each gap."""
    return [
        line | {f"{gap}_between": evaluation.measures.pair(k, gap) for gap in GAPS}
        for k, line in enumerate(plain(evaluation.frame()))
    ]


def describe_folds(evaluation: Evaluation) -> dict[str, Any]:
    """Return the folds as JSON takes them."""
    folds = evaluation.folds
    return {
        "folds": folds and folds.n_folds,
        "repeats": folds and folds.n_repeats,
        "constant_accuracy": evaluation.measures.constant_accuracy,
    }


def print_measures(
    output: Output, evaluation: Evaluation, header: Sequence[str], cells: Mapping[str, Sequence[Any]]
) -> None:
    """Print a line for each measure: its cells, the groups of a gap, and the meaning."""
    rows = []
    for name, one in MEASURES.items():
        pair = " over ".join(evaluation.measures.pair(0, name) or ())
        rows.append((one.label, *cells[name], pair, one.description))
    output.table(["measure", *header, "between", "meaning"], rows, left=(0, 4, 5))
    print_notes(output, evaluation)


def print_levels(
    output: Output, frame: pd.DataFrame, before: dict[str, str], after: dict[str, str] | None = None
) -> None:
    """Print the main measures of many models with intervals, between named columns of their frame."""
    main = {name: one.label for name, one in MEASURES.items() if one.is_main}
    after = after or {}
    rows = []
    for _, line in frame.iterrows():
        levels = [f"{line[m]:.3f} [{line[f'{m}_low']:.3f}, {line[f'{m}_high']:.3f}]" for m in main]
        rows.append((*line[[*before]], *levels, f"{line['share']:.2%}", *line[[*after]]))
    output.table([*before.values(), *main.values(), "cells edited", *after.values()], rows)


def print_notes(output: Output, evaluation: Evaluation) -> None:
    """Print what a constant does, what the intervals cover, and the noise level of DR if there is one."""
    output.line(evaluation.constant)
    if evaluation.noise_level is None:
        output.line("DR has no noise level here: a model from a file is not retrained.")
        return
    output.line(
        "Intervals are for the models trained here; that of DR also reflects training on other folds."
    )
    print_noise(output, evaluation)


def print_words(output: Output) -> None:
    """Print what the main measures of fairness are, each by its short name."""
    words = [
        f"{one.label}: {one.description}" for one in MEASURES.values() if one.is_main and one.is_fairness
    ]
    output.line(f"{'; '.join(words)}.")


def print_noise(output: Output, measured: Any) -> None:
    """Print the DR of a shuffled attribute, and whether the model's can be told from it."""
    said = "; DR is not distinguishable from it" if measured.is_noise else ""
    level = decimal(measured.noise_level)
    output.line(f"Noise level of DR (the sensitive column shuffled among the rows): {level}{said}.")


def how_to_check(out: str, *, measured: bool) -> str:
    """Return how to find out what a repair does; ``measured`` says whether measures stand above."""
    name = "the repaired table" if out == STANDARD else out
    how = "as the measures above do" if measured else "as fairshap repair does with --folds 5"
    return (
        f"To check the repair, train on {name} and test on original rows that it does not hold, {how}. An "
        "audit of the repaired table tests on edited rows, on which accuracy looks better than it is."
    )
