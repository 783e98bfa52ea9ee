"""What a command prints: the result on standard output, messages on standard error."""

import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
from rich.console import Console
from rich.table import Table

import fairshap
from fairshap.cli._options import RunOptions
from fairshap.cli._texts import name_option, plain, visible
from fairshap.exceptions import FairshapWarning

#: The version of what ``--json`` prints; it changes when a name goes or means something else.
SCHEMA = 1


class Output:
    """Prints tables or JSON.

    Parameters
    ----------
    command : str
        The name of the command.
    run : RunOptions
        Whether it is to be JSON, and quiet.
    to_stderr : bool
        Whether standard output is taken by a table that is written to it.
    """

    def __init__(self, command: str, run: RunOptions, *, to_stderr: bool = False) -> None:
        self.command = command
        self.run = run
        self.silent = to_stderr and run.quiet
        file = sys.stderr if to_stderr else sys.stdout
        # In a pipe there is no width: a table is as wide as it needs to be.
        width = None if file.isatty() else 1000
        self.console = Console(file=file, highlight=False, soft_wrap=False, width=width)

    def note(self, text: str) -> None:
        """Say something on standard error, unless asked to be quiet."""
        if not self.run.quiet:
            print(f"fairshap: {visible(text)}", file=sys.stderr)

    def line(self, text: str = "") -> None:
        """Print a line of the result, unless it is JSON."""
        if not self.run.json and not self.silent:
            self.console.print(visible(text), markup=False, soft_wrap=True)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]], left: Iterable[int] = (0,)) -> None:
        """Print a table of the result, unless it is JSON; columns are right-aligned but those named."""
        if self.run.json or self.silent:
            return
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        for k, name in enumerate(header):
            table.add_column(name, justify="left" if k in set(left) else "right", no_wrap=True)
        for row in rows:
            table.add_row(*(show(cell) for cell in row))
        self.console.print(table)

    def json(self, **result: Any) -> None:
        """Print the result as one JSON object, if that is asked for."""
        if self.run.json:
            head = {"fairshap": fairshap.__version__, "schema": SCHEMA, "command": self.command}
            print(json.dumps(plain({**head, **result}), indent=2, ensure_ascii=False))

    @contextmanager
    def warnings(self, *ignored: type[FairshapWarning]) -> Iterator[None]:
        """Say fairshap's warnings as notes, each once, and keep those of libraries quiet."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", FairshapWarning)
            for category in ignored:
                warnings.simplefilter("ignore", category)
            try:
                yield
            finally:
                told = [one.message for one in caught if isinstance(one.message, FairshapWarning)]
                for text in dict.fromkeys(name_option(str(one), one.parameter) for one in told):
                    self.note(text)


def show(cell: Any) -> str:
    """Return a cell of a table as text: numbers short, nothing for what is missing."""
    from rich.markup import escape

    cell = plain(cell)
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        # Adding zero makes a plain zero of what rounds to a negative one.
        return f"{round(cell, 4) + 0.0:.4f}" if abs(cell) < 1 else f"{cell:,.6g}"
    return escape(visible(cell))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a frame as JSON takes them."""
    return [plain(line) for line in frame.to_dict(orient="records")]
