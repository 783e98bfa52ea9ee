"""The command ``fairshap``: audit, repair, evaluate, tune, apply, datasets, demo.

One module for each command, ``demo`` for the two about built-in tables. They share ``_options`` (what can be
asked for), ``_problem`` (the table), ``_meaning`` (what its columns mean), ``_columns`` (what those are good
for), ``_models`` (the model) and ``_output`` (what is printed and written). ``_main`` imports the command
that runs and knows exit codes; signals are answered here, before anything else is imported.
"""

import os
import signal
import sys
from typing import Any, NoReturn


class Stopped(BaseException):
    """A signal, its number given, asked for the end; no KeyboardInterrupt, which typer answers itself."""


def main() -> NoReturn:
    """Run the command with the arguments of the process, and exit."""
    # Threads that wait sleep. Where they spin, training trees takes a busy machine ten times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # What is imported can take seconds, and may swallow an exception.
    _answer_signals(_end)
    from fairshap.cli._main import run

    _answer_signals(_stop)
    try:
        code = run(sys.argv[1:])
    except Stopped as stopped:
        _end(*stopped.args)
    sys.exit(code)


def _answer_signals(answer: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, answer)


def _stop(number: int, _frame: object) -> NoReturn:
    # A second signal while this one is being answered changes nothing.
    _answer_signals(signal.SIG_IGN)
    raise Stopped(number)


def _end(number: int, _frame: object = None) -> NoReturn:
    """End at once: otherwise the interpreter waits for threads that are still at work."""
    word = "interrupted" if number == signal.SIGINT else "terminated"
    print(f"fairshap: {word}; nothing was written.", file=sys.stderr, flush=True)
    os._exit(128 + number)
