"""The table that a command is about, what its columns mean, and a report on it."""

import re
import shlex
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from fairshap import FairSHAP, _io, datasets
from fairshap._io.document import cell_text
from fairshap._messages import did_you_mean, listing
from fairshap.cli._asking import ask_column, ask_values, can_ask, suggest_attributes, suggest_targets
from fairshap.cli._columns import find_codes, find_suspicious, find_unusable, tell_suspicious
from fairshap.cli._files import Repaired, find_repair
from fairshap.cli._options import INVOCATION, FileOptions, ReportOptions, TaskOptions, split
from fairshap.cli._output import plain
from fairshap.exceptions import FairshapError, GroupError, InputError, TargetError

# Pairs of labels whose positive one goes without saying, the positive one second.
_SHORT = {"target": "-t", "sensitive": "-s", "privileged": "-p"}
_KNOWN = "0 1, -1 1, false true, no yes, n y, f t, negative positive, neg pos"

# Different numbers from which on a sensitive column is a quantity, whose privileged values are a range.
_QUANTITY = 32
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^\s*({_NUMBER})?\s*\.\.\s*({_NUMBER})?\s*$")


@dataclass(slots=True)
class CommandTable:
    """A table with its target and its groups, and what is told of how it was read."""

    task: TaskOptions
    source: _io.Source
    X: pd.DataFrame
    y: pd.Series
    target: str
    sensitive: Any
    privileged: Any
    positive: Any
    repaired: Repaired | None
    #: The favorable labels, as the file has them.
    favorable: list[Any]
    #: Columns that are in the file and not in X, and why.
    left_out: dict[str, str]
    #: What is told by topic, and in sentences of their own.
    reading: dict[str, list[str]]
    notes: list[str]
    #: Whether the notes name columns that tell the attribute.
    has_proxies: bool

    @property
    def who(self) -> dict[str, Any]:
        """The sensitive attribute, as the Python functions take it."""
        return {"sensitive": self.sensitive, "privileged": self.privileged}

    @property
    def inputs(self) -> dict[str, Any]:
        """The whole table, as the Python functions take it."""
        return {"X": self.X, "y": self.y, **self.who, "positive": self.positive}

    def describe(self) -> dict[str, Any]:
        """Return the table, its columns and the model, for the JSON."""
        data = {
            "name": self.source.name,
            "sha256": self.source.checksum,
            "rows": len(self.X),
            "columns": {name: self.source.inferred[name].kind for name in self.X.columns},
            "dropped": self.left_out,
            "id": self.task.id,
            "target": self.target,
            "positive": self.favorable[0] if len(self.favorable) == 1 else self.favorable,
            **self.who,
            "repaired": self.repaired is not None,
            "repair": None if self.repaired is None else asdict(self.repaired),
        }
        return {"data": data, "model": self.task.model}

    @property
    def row_head(self) -> str:
        """What rows are called by, as the head of a column."""
        return self.task.id or ("row" if self.source.dataset is not None else "row of the file")

    def row_name(self, row: int) -> str:
        """Return a row's identifier, if it has one, else its number as people count the rows of the file."""
        if self.task.id is not None:
            return str(self.X.index[row])
        return str(self.source.document.row_number(row))

    def take_back(self, names: Collection[str]) -> None:
        """Put columns that were left out by themselves, and that a fitted model takes, into the table."""
        back = [name for name in names if name in self.left_out and name in self.source.frame]
        if back:
            columns = self.source.frame[back].set_axis(self.X.index)
            self.X = pd.concat([self.X, columns], axis=1)
            self.left_out = {name: why for name, why in self.left_out.items() if name not in back}
            self.notes.append(f"the model takes {listing(back)}, so the table has it.")

    def tell(self) -> list[str]:
        """Return how the table was read, a line for each topic; nothing if there is nothing to tell."""
        reading = {**self.reading}
        if self.left_out:
            said = "; ".join(f"{name} ({why})" for name, why in self.left_out.items())
            is_asked = all(why in ("empty", "--drop", "--id") for why in self.left_out.values())
            more = "" if is_asked else ". To keep one, name it in --categorical or --numeric"
            reading["left out"] = [said + more]
        return [f"{topic:<9} {'; '.join(texts)}" for topic, texts in reading.items() if texts]

    def report(self, context: typer.Context, options: ReportOptions, found: FairSHAP, **more: Any) -> bytes:
        """Return the report on what was found, as the bytes of its file."""
        names = [self.sensitive] if isinstance(self.sensitive, str) else self.sensitive
        what = "audit" if more.get("audit") else "repair"
        page = found.report(
            positive=self.positive,
            title=f"Fairness {what} of {self.source.name}, by {' and '.join(names)}",
            command=shlex.join(["fairshap", *context.find_root().obj]),
            checksum=f"{self.source.checksum} (SHA-256 of {self.source.name})",
            note=None if self.repaired is None else self.repaired.warning,
            redact=options.redact,
            **more,
        )
        return page.html.encode()


def read_source(options: FileOptions) -> _io.Source:
    """Return the file as it was asked to be read."""
    data, *names = (field.name for field in fields(FileOptions))
    given = {name: getattr(options, name) for name in names}
    if options.delimiter == r"\t":
        given["delimiter"] = "\t"
    return _io.read(getattr(options, data), **given)


def open_problem(
    task: TaskOptions, ledger: str | None = None, *, needs_privileged: bool = True
) -> CommandTable:
    """Return the table and what its columns mean; the ledger is that of a repaired table.

    What is not given is asked for on a terminal. ``needs_privileged`` is False where groups can be compared
    without a privileged one; it is None then, if it is not given.
    """
    source = read_source(task)
    frame, built_in, notes = source.frame, source.dataset, []
    if built_in is not None:
        task = replace(
            task,
            target=task.target or str(built_in.y.name),
            sensitive=task.sensitive or [built_in.sensitive],
        )
    task = _complete(task, source, needs_privileged=needs_privileged)
    target = source.find(str(task.target), "target")
    names = find_names(source, task.sensitive, "sensitive")
    if target in names:
        raise GroupError(f"column {target!r} is both --target and --sensitive; give two columns.")
    texts: Any = task.privileged
    privileged: Any = None
    if built_in is not None and not texts and names == [built_in.sensitive]:
        privileged = built_in.privileged
        notes.append(f"privileged {privileged!r}, as the built-in table says")
    elif texts:
        privileged = _read_privileged(frame, names, list(texts))
    told: list[str] = []
    y, positive, favorable = _read_target(source, target, task.positive, told)
    if built_in is not None and target == built_in.y.name and not task.positive:
        told = [f"{target} = {plain(positive)} means {datasets.SPECS[source.name].meaning}"]
    notes += told
    repaired, said = find_repair(source, task, ledger)
    notes += [said] if said else []
    left_out, X = _leave_out(source, task, [target, *names]), frame.drop(columns=target)
    X = X.drop(columns=[name for name in left_out if name in X])
    if task.id is not None:
        X.index = y.index = _read_id(source, task.id)
    codes = [] if built_in is not None else find_codes(X, [*names, *(task.numeric or ())])
    suspicious = find_suspicious(X, y, names)
    notes += tell_suspicious(suspicious)
    sensitive = names[0] if len(names) == 1 else names
    reading = _describe_reading(source, codes)
    given = task, source, X, y, target, sensitive, privileged, positive, repaired
    return CommandTable(*given, favorable, left_out, reading, notes, bool(suspicious["sensitive"]))


def _complete(task: TaskOptions, source: _io.Source, *, needs_privileged: bool) -> TaskOptions:
    """Return the options with what was missing, asked for on a terminal, or raise an error that names it."""
    missing = [name for name in ("target", "sensitive", "privileged") if not getattr(task, name)]
    if source.dataset is not None and task.sensitive == [source.dataset.sensitive]:
        missing = []
    is_open = missing == ["privileged"] and not needs_privileged
    if not missing or (is_open and task.target and task.sensitive):
        return task
    if can_ask():
        with suppress(EOFError):
            return _ask_for(task, source, missing, needs_privileged=needs_privileged)
    raise _not_given(missing, source, task)


def _ask_for(
    task: TaskOptions, source: _io.Source, missing: list[str], *, needs_privileged: bool
) -> TaskOptions:
    """Ask for what is missing, and print the command that would not have to ask."""
    frame, given = source.frame, dict[str, str]()
    if "target" in missing:
        question = "Which column is the outcome, the decision to be predicted?"
        given["target"] = ask_column(question, suggest_targets(frame), frame)
    target = source.find(given.get("target") or str(task.target), "target")
    if not task.positive:
        labels = _values(frame[target])
        known = _known_positive(labels) if len(labels) == 2 else None
        answer = None
        if known is None:
            answer = ask_values(f"Which {target} is good for the person?", frame[target])
        given |= {"positive": answer} if answer else {}
    if "sensitive" in missing:
        question = "By which column may people be treated differently?"
        rest = frame.drop(columns=target)
        given["sensitive"] = ask_column(question, suggest_attributes(rest), rest)
    changed: dict[str, Any] = {name: [value] for name, value in given.items()} | {"target": target}
    found = replace(task, **changed)
    if "privileged" in missing:
        names = find_names(source, found.sensitive, "sensitive")
        y, positive, _ = _read_target(source, target, found.positive, [])
        skip = "" if needs_privileged else "compares all with the most favored"
        values = [
            ask_values(f"Which {name} is the privileged group?", frame[name], y == positive, skip=skip)
            for name in names
        ]
        if all(values):
            given["privileged"] = ",".join(str(value) for value in values)
            found = replace(found, privileged=[str(value) for value in values])
    more = [part for name, value in given.items() for part in (_SHORT.get(name, f"--{name}"), str(value))]
    command = shlex.join(["fairshap", *INVOCATION.get().arguments, *more])
    print(f"\nNext time: {command}\n", file=sys.stderr)
    return found


def _not_given(missing: list[str], source: _io.Source, task: TaskOptions) -> typer.BadParameter:
    """Return the error that names the options that are missing, and what they could be."""
    frame = source.frame
    options = [f"--{name}" for name in missing]
    said = " and ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)
    text = f"{said} {'is' if len(options) == 1 else 'are'} not given"
    if missing == ["privileged"]:
        names = find_names(source, task.sensitive, "sensitive")
        held = "; ".join(f"{name!r} holds {listing(map(plain, _values(frame[name])))}" for name in names)
        return typer.BadParameter(f"{text}, and it is never guessed; {held}")
    what = {"target": "the column to predict", "sensitive": "the sensitive column"}
    wanted = " and ".join(what[name] for name in missing if name in what)
    targets, attributes = suggest_targets(frame), suggest_attributes(frame)
    target = task.target or next(iter(targets), "hired")
    attribute = (task.sensitive or [next((name for name in attributes if name != target), "sex")])[0]
    value = next(iter(_values(frame[attribute])), "Male") if attribute in frame else "Male"
    example = shlex.join(["-t", target, "-s", attribute, "-p", str(plain(value))])
    return typer.BadParameter(
        f"{text}; name {wanted}: {listing(frame.columns, limit=20)}. For example: {example}"
    )


def find_names(source: _io.Source, texts: Iterable[str] | None, option: str) -> list[str]:
    """Return the columns that an option names, one by one or with commas between them."""
    names: list[str] = []
    for text in texts or ():
        names += [text] if text in source.frame.columns else split([text])
    return [source.find(name, option) for name in dict.fromkeys(names)]


def _leave_out(source: _io.Source, task: TaskOptions, used: list[str]) -> dict[str, str]:
    """Return the columns that are no part of the model, and why."""
    left_out = dict.fromkeys(task.drop or (), "--drop")
    if task.id is not None:
        if source.find(task.id, "id") in used:
            raise GroupError(f"column {task.id!r} is --id and --target or --sensitive too; give two columns.")
        left_out[task.id] = "--id"
    if source.dataset is None:
        kept = [*used, *left_out, *(task.categorical or ()), *(task.numeric or ())]
        left_out |= find_unusable(source.frame, kept)
    return left_out


def _read_id(source: _io.Source, name: str) -> pd.Index:
    """Return the identifiers of the rows, each of which is there once."""
    column = source.frame[name]
    doubtful = np.flatnonzero(column.isna() | column.duplicated(keep=False))
    if len(doubtful):
        rows = listing((source.document.row_number(int(row)) for row in doubtful), 4, str)
        raise InputError(
            f"id={name!r} does not name every row: it is empty or the same in rows {rows} of the file. Give "
            "a column whose values are there once.",
            parameter="id",
        )
    found: pd.Index = pd.Index(column.tolist(), name=name, dtype=object)
    return found


def _describe_reading(source: _io.Source, codes: list[str]) -> dict[str, list[str]]:
    """Return what is told of how the file was read, by topic."""
    reading: dict[str, list[str]] = {"file": list(source.document.notes)}
    for topic in ("numbers", "dates", "missing", "blanks", "check"):
        reading[topic] = [
            f"{name}: {note.text}"
            for name, inferred in source.inferred.items()
            for note in inferred.notes
            if note.topic == topic
        ]
    if codes:
        reading["check"].append(
            f"{', '.join(codes)}: few different whole numbers; if they are codes, give --categorical "
            f"{shlex.quote(','.join(codes))}"
        )
    return reading


def _values(column: pd.Series) -> list[Any]:
    """Return the different values of a column, sorted where they can be."""
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return values


def _read_privileged(frame: pd.DataFrame, names: list[str], texts: list[str]) -> Any:
    """Return the privileged values of the sensitive columns as the table has them."""
    values = {name: _values(frame[name]) for name in names}

    def find(text: str, name: str) -> Any:
        return _find("privileged", text, name, values[name], GroupError)

    texts = _split_values(texts, [value for name in names for value in values[name]])
    if len(names) > 1:
        if len(texts) != len(names):
            raise typer.BadParameter(
                f"--privileged is given {len(texts)} times for {len(names)} sensitive columns; give one "
                "value for each, in their order"
            )
        return tuple(find(text, name) for text, name in zip(texts, names, strict=True))
    name = names[0]
    numeric = pd.api.types.is_numeric_dtype(frame[name].dtype)
    bounds = _RANGE.match(texts[0]) if numeric and len(texts) == 1 else None
    if bounds and any(bounds.groups()):
        return _read_range(*bounds.groups())
    if numeric and len(values[name]) > _QUANTITY:
        middle = plain(frame[name].median())
        raise GroupError(
            f"column {name!r} is a quantity with {len(values[name])} different values; give a range for "
            f"--privileged, such as {middle:g}.. or ..{middle:g}."
        )
    found = [find(text, name) for text in texts]
    return found[0] if len(found) == 1 else found


def _read_range(first: str | None, last: str | None) -> pd.Interval:
    """Return the range of values between two ends, both included; without an end, all on that side."""
    low, high = float(first or "-inf"), float(last or "inf")
    if low > high:
        hint = f"the smaller end comes first; give {last}..{first}"
        raise typer.BadParameter(f"--privileged {first}..{last} is upside down: {hint}")
    return pd.Interval(low, high, closed="both")


def _find(option: str, text: str, column: str, values: list[Any], error: type[FairshapError]) -> Any:
    """Return the value of a column that the text of an option stands for."""
    number = pd.to_numeric(text, errors="coerce")
    for value in values:
        if str(value) == text or (not isinstance(value, str) and value == number):
            return value
    known = [plain(value) for value in values]
    raise error(
        f"--{option} {shlex.quote(text)} does not occur in column {column!r}, which holds {listing(known)}."
        f"{did_you_mean(text, known)}"
    )


def _split_values(texts: list[str], known: list[Any]) -> list[str]:
    """Return values that are given one by one or with commas between them; some have commas themselves."""
    held = {str(value) for value in known}
    return [part for text in texts for part in ([text] if text in held else split([text]))]


def _read_target(
    source: _io.Source, name: str, asked: list[str] | None, notes: list[str]
) -> tuple[pd.Series, Any, list[Any]]:
    """Return the target as two labels, the positive one, and the favorable labels of the file."""
    column = source.frame[name]
    absent = np.flatnonzero(column.isna())
    if len(absent):
        rows = listing((source.document.row_number(int(row)) for row in absent), 4, str)
        raise TargetError(
            f"column {name!r}, the target, is missing in {len(absent)} of {len(column)} rows (rows {rows} of "
            "the file); leave those rows out of the file, or fill them in."
        )
    values = _values(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if len(values) < 2:
        raise TargetError(f"column {name!r}, the target, holds {plain(values[0])!r} in every row.")
    texts = _split_values(list(asked or ()), values)
    found = list(dict.fromkeys(_find("positive", text, name, values, TargetError) for text in texts))
    if len(found) == len(values):
        raise TargetError(f"--positive names every label of {name!r}; name the favorable ones only.")
    if len(values) > 2:
        if not found:
            shown = listing(map(plain, values), limit=5)
            raise TargetError(
                f"column {name!r}, the target, has {len(values)} different values, {shown}; name the "
                "favorable one with --positive, or several with commas, and all others count as one."
            )
        others = listing((plain(value) for value in values if value not in found), limit=5)
        shown = " or ".join(str(plain(value)) for value in found)
        notes.append(f"treating {name} = {shown} as the FAVORABLE outcome, and {others} as unfavorable")
        return column.isin(found).astype(int).rename(name), 1, found
    if not found:
        known = _known_positive(values)
        if known is None:
            first, second = (shlex.quote(str(value)) for value in values)
            hint = f"Give --positive {first} or --positive {second}."
            raise TargetError(f"which label of {name!r} is the favorable one? {hint}")
        found = [known]
        other = next(value for value in values if value != known)
        notes.append(
            f"treating {name} = {plain(known)} as the FAVORABLE outcome; if not, --positive "
            f"{shlex.quote(str(plain(other)))}"
        )
    return column, found[0], found


def _known_positive(values: list[Any]) -> Any:
    """Return the positive one of two labels, if that is known."""
    texts = {cell_text(plain(value)).casefold(): value for value in values}
    pairs = (pair.split() for pair in _KNOWN.split(", "))
    return next((texts[good] for bad, good in pairs if set(texts) == {bad, good}), None)
