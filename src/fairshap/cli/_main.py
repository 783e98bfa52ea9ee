"""The commands, and how one is run: one sentence for what goes wrong, and an exit code."""

import dataclasses
import functools
import inspect
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Annotated, Any, get_type_hints

import typer

import fairshap
from fairshap._messages import heartbeat
from fairshap.cli._options import INVOCATION, Invocation, name_option, tell
from fairshap.exceptions import FairshapError

# The last is 128 + 13, as of a program that SIGPIPE ends; not every system has that signal.
USER_ERROR, USAGE, INTERNAL, UNREAD = 1, 2, 70, 141
_TRACEBACK = "FAIRSHAP_TRACEBACK"

_CODES = (
    "Exit codes: 0 success; 1 the table, a file or an option's value cannot be used; 2 wrong usage; 3 "
    "a test of an audit failed; 70 a "
    "fault in fairshap; 130 interrupted; 141 nobody reads the output; 143 terminated. Errors are one "
    "sentence on standard error, and then nothing is written."
)

_WHO = "people.csv -t hired -s sex -p Male"
#: The commands: the module of each, what it does, and an example. Only the one that runs is imported.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "audit": (
        "audit",
        "Say who gets what, how the model errs by group, and through which columns and rows; change nothing.",
        "people.csv --target hired --sensitive sex --privileged Male",
    ),
    "repair": (
        "repair",
        "Replace the few cells that matter and write the table; all other cells stay byte for byte.",
        f"{_WHO} --out fair.csv --edits edits.csv --frozen age,zip",
    ),
    "evaluate": (
        "evaluate",
        "Compare methods on held-out rows, with 95 % intervals.",
        f"{_WHO} --methods baseline,rsa,reweighing,fairshap",
    ),
    "tune": ("tune", "Try many remedies on folds and say which to take.", f"{_WHO} --max-accuracy-drop 0.01"),
    "apply": (
        "apply",
        "Make the edits of a ledger again; a table whose rows or old values differ is refused.",
        "edits.csv people.csv --out fair.csv",
    ),
    "datasets": ("demo", "List the built-in tables, which can be given as DATA.", "--json"),
    "demo": ("demo", "Repair the built-in COMPAS table and show what that does.", "--out demo"),
    "warmup": (
        "warmup",
        "Compile what large tables need, once for all runs: when an image is built, for example.",
        "",
    ),
}


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with one option for each field of its parameters that are data classes.

    typer reads options from a signature, so this one has all fields written out.
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []

    def add(name: str, hint: Any, default: Any) -> None:
        if isinstance(default, dataclasses.Field):
            hint, default = Annotated[hint, default.metadata["shown"]], default.default
        default = inspect.Parameter.empty if default is dataclasses.MISSING else default
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=hint))

    hints = get_type_hints(command)
    for name, parameter in inspect.signature(command).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            group = groups[name] = hints[name]
            fields = get_type_hints(group)
            for field in dataclasses.fields(group):
                add(field.name, fields[field.name], field)
        else:
            add(name, hints[name], parameter.default)

    @functools.wraps(command)
    def expanded(**given: Any) -> None:
        INVOCATION.get().options = dict(given)
        made = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**made, **given)

    expanded.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def make_app(wanted: Collection[str]) -> typer.Typer:
    """Return the application, whose wanted commands can be run and the others are only listed."""
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
    for name, (module, does, example) in COMMANDS.items():
        command = _not_loaded
        if name in wanted:
            command = expand(getattr(import_module(f"fairshap.cli.{module}"), name))
        app.command(name, short_help=does, epilog=f"Example: fairshap {name} {example}".rstrip())(command)
    app.callback()(_callback)
    return app


def _not_loaded() -> None:
    """Stand for a command that is not run."""


def _print_version(asked: bool) -> None:
    if asked:
        print(f"fairshap {fairshap.__version__}")
        raise typer.Exit


def _callback(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Hold the options that come before the command."""


def run(args: list[str]) -> int:
    """Run the command and return its exit code."""
    invocation = Invocation(args)
    INVOCATION.set(invocation)

    def is_working() -> bool:
        return bool(invocation.options) and not (invocation.options.get("quiet") or invocation.is_asking)

    # A shell that completes a word gives the line in one of these.
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    words = args or line.split()[1:]
    with warnings.catch_warnings(), heartbeat(is_working):
        warnings.simplefilter("ignore")
        try:
            app = make_app(words[:1])
            code = int(app(args, prog_name="fairshap", standalone_mode=False) or 0)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            return _unread()
        except SystemExit as end:
            # typer ends so if whoever reads the output has seen enough.
            return _unread() if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
        except FairshapError as error:
            return _fail(name_option(str(error), error.parameter))
        except MemoryError:
            return _fail("there is not enough memory for this table; try fewer rows or columns.")
        except OSError as error:
            why = error.strerror or error
            if error.filename:
                return _fail(f"{error.filename!r}: {why}.")
            return _unread(_fail(f"the output cannot be written: {why}."))
        except Exception as error:
            return _unexpected(error)


def _unexpected(error: Any) -> int:
    """Return the code of wrong usage, which typer describes, or of an error that nobody foresaw."""
    if hasattr(error, "format_message"):
        path = getattr(getattr(error, "ctx", None), "command_path", "fairshap")
        # fairshap's own sentences name the option already.
        text = error.message if getattr(error, "param", 0) is None else error.format_message()
        if not text:
            # No arguments at all: the help is already printed.
            return USAGE
        end = "" if text.endswith("?") else "."
        return _fail(f"{text.rstrip('.')}{end} See '{path} --help'.", USAGE)
    if os.environ.get(_TRACEBACK):
        traceback.print_exc()
    text = " ".join(str(error).split())
    return _fail(f"{type(error).__name__}: {text} (set {_TRACEBACK}=1 to see where)", INTERNAL)


def _fail(text: str, code: int = USER_ERROR) -> int:
    tell(text)
    return code


def _unread(code: int = UNREAD) -> int:
    """Point standard output at nothing, so that the interpreter's own flush is quiet; return the code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
