"""Run a command: one sentence for what goes wrong, and an exit code."""

import os
import signal
import sys
import traceback
import warnings
from types import FrameType
from typing import Any, NoReturn

from fairshap.cli._app import app
from fairshap.cli._texts import name_option, visible
from fairshap.exceptions import FairshapError

# The last is 128 + 13, as of a program that SIGPIPE ends; not every system has that signal.
USER_ERROR, USAGE, INTERNAL, UNREAD = 1, 2, 70, 141
_TRACEBACK = "FAIRSHAP_TRACEBACK"


class Stopped(BaseException):
    """A signal asked the command to end; not a KeyboardInterrupt, which typer would answer itself."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(args: list[str] | None = None) -> NoReturn:
    """Run the command with the arguments, or those of the process, and exit."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        code = run(sys.argv[1:] if args is None else args)
        code = _flush(code)
    except Stopped as stopped:
        word = "interrupted" if stopped.number == signal.SIGINT else "terminated"
        _say(f"{word}; nothing was written.")
        # At once: threads that are still at work would be waited for.
        os._exit(128 + stopped.number)
    sys.exit(code)


def run(args: list[str]) -> int:
    """Run the command and return its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return int(app(args, prog_name="fairshap", standalone_mode=False, obj=args) or 0)
        except BrokenPipeError:
            return _unread()
        except SystemExit as end:
            # So typer ends what it takes for its own: whoever read the output has seen enough.
            return _unread() if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
        except FairshapError as error:
            return _fail(name_option(str(error), error.parameter), USER_ERROR)
        except MemoryError:
            return _fail("the memory is not enough for this table; try fewer rows or columns.", USER_ERROR)
        except OSError as error:
            return _fail(_explain(error), USER_ERROR)
        except Exception as error:
            return _unexpected(error)


def _unexpected(error: Any) -> int:
    """Return the code of what typer says of wrong usage, or of an error that nobody foresaw."""
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "fairshap"
        # What fairshap itself says names the option already.
        text = error.message if getattr(error, "param", 0) is None else error.format_message()
        if not text:
            # The help was asked for by giving nothing at all, and is printed.
            return USAGE
        end = "" if text.endswith("?") else "."
        return _fail(f"{text.rstrip('.')}{end} See '{path} --help'.", USAGE)
    if os.environ.get(_TRACEBACK):
        traceback.print_exc()
    text = " ".join(str(error).split())
    return _fail(f"{type(error).__name__}: {text} (set {_TRACEBACK}=1 to see where)", INTERNAL)


def _explain(error: OSError) -> str:
    where = f"{error.filename!r}: " if error.filename else "the output cannot be written: "
    return f"{where}{error.strerror or error}."


def _fail(text: str, code: int) -> int:
    _say(text)
    return code


def _say(text: str) -> None:
    print(f"fairshap: {visible(text)}", file=sys.stderr)


def _stop(number: int, _frame: FrameType | None) -> None:
    # A second signal while this one is being answered changes nothing.
    for known in (signal.SIGINT, signal.SIGTERM):
        signal.signal(known, signal.SIG_IGN)
    raise Stopped(number)


def _flush(code: int) -> int:
    """Return the exit code, having made sure that all output is where it should be."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except OSError as error:
        _discard_output()
        return _fail(f"the output cannot be written: {error.strerror}.", USER_ERROR)
    return code


def _unread() -> int:
    """Return the code for output that nobody reads any more."""
    _discard_output()
    return UNREAD


def _discard_output() -> None:
    """Point standard output at nothing, so that the interpreter's own flush at its end is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
