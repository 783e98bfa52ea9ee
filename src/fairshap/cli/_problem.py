"""The table that a command is about, what its columns mean, and a report on it."""

import re
import shlex
from dataclasses import asdict, dataclass, fields
from typing import Any

import pandas as pd
import typer

from fairshap import FairSHAP, _io
from fairshap._io.document import cell_text
from fairshap._messages import did_you_mean, listing
from fairshap.cli._files import Repaired, find_repair
from fairshap.cli._options import FileOptions, ReportOptions, TaskOptions, name_option
from fairshap.cli._output import plain
from fairshap.exceptions import FairshapError, GroupError, TargetError

# Pairs of labels whose positive one goes without saying, the positive one second.
_KNOWN = "0 1, -1 1, false true, no yes, n y, f t, negative positive, neg pos"

# Different numbers from which on a sensitive column is a quantity, whose privileged values are a range.
_QUANTITY = 32
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^\s*({_NUMBER})?\s*\.\.\s*({_NUMBER})?\s*$")


@dataclass(slots=True)
class CommandTable:
    """A table with its target and its groups, and notes on what was inferred."""

    task: TaskOptions
    source: _io.Source
    X: pd.DataFrame
    y: pd.Series
    target: str
    sensitive: Any
    privileged: Any
    positive: Any
    repaired: Repaired | None
    notes: list[str]

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
            "target": self.target,
            "positive": self.positive,
            **self.who,
            "repaired": self.repaired is not None,
            "repair": None if self.repaired is None else asdict(self.repaired),
        }
        return {"data": data, "model": self.task.model}

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


def open_problem(task: TaskOptions, ledger: str | None = None) -> CommandTable:
    """Return the table and what its columns mean; the ledger is that of a repaired table."""
    source = read_source(task)
    frame, built_in, notes = source.frame, source.dataset, []
    names, target = list(task.sensitive or ()), task.target
    if built_in is not None:
        target = target or str(built_in.y.name)
        names = names or [built_in.sensitive]
    if target is None:
        raise not_given("target", "the column to predict", frame.columns)
    target = source.find(target, "target")
    if not names:
        raise not_given("sensitive", "the sensitive column", frame.columns.drop(target))
    for name in names:
        if source.find(name, "sensitive") == target:
            raise GroupError(f"column {name!r} is both --target and --sensitive; give two columns.")
    texts = list(task.privileged or ())
    if built_in is not None and not texts and names == [built_in.sensitive]:
        privileged = built_in.privileged
        notes.append(f"privileged {privileged!r}, as the built-in table says")
    else:
        privileged = read_privileged(frame, names, texts)
    y, positive = _read_target(frame[target], task.positive, notes)
    # What a person may want to check in how columns were read.
    notes += [
        f"column {name!r}: {name_option(inferred.note, inferred.parameter)}"
        for name, inferred in source.inferred.items()
        if name != target and inferred.note
    ]
    repaired, said = find_repair(source, task, ledger)
    notes += [said] if said else []
    X, sensitive = frame.drop(columns=target), names[0] if len(names) == 1 else names
    return CommandTable(task, source, X, y, target, sensitive, privileged, positive, repaired, notes)


def not_given(option: str, what: str, columns: Any) -> typer.BadParameter:
    return typer.BadParameter(f"--{option} is not given; name {what}: {listing(columns, limit=20)}")


def _values(column: pd.Series) -> list[Any]:
    """Return the different values of a column, sorted where they can be."""
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return values


def read_privileged(frame: pd.DataFrame, names: list[str], texts: list[str]) -> Any:
    """Return the privileged values of the sensitive columns as the table has them."""
    values = {name: _values(frame[name]) for name in names}

    def find(text: str, name: str) -> Any:
        return find_value("privileged", text, name, values[name], GroupError)

    if not texts:
        said = "; ".join(f"{name!r} holds {listing(map(plain, values[name]))}" for name in names)
        raise typer.BadParameter(f"--privileged is not given, and it is never guessed; {said}")
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


def find_value(option: str, text: str, column: str, values: list[Any], error: type[FairshapError]) -> Any:
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


def _read_target(column: pd.Series, asked: str | None, notes: list[str]) -> tuple[pd.Series, Any]:
    """Return the target as two labels, and the positive one."""
    name = str(column.name)
    if column.isna().any():
        raise TargetError(
            f"column {name!r}, the target, is missing in {int(column.isna().sum())} of {len(column)} rows; "
            "leave those rows out of the file, or fill them in."
        )
    values = _values(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if len(values) < 2:
        raise TargetError(f"column {name!r}, the target, holds {plain(values[0])!r} in every row.")
    positive = None if asked is None else find_value("positive", asked, name, values, TargetError)
    if len(values) > 2:
        if positive is None:
            shown = listing(map(plain, values), limit=5)
            raise TargetError(
                f"column {name!r}, the target, has {len(values)} different values, {shown}; name the "
                "favorable one with --positive, and all others count as one."
            )
        notes.append(f"all labels but {plain(positive)!r} count as one")
        return (column == positive).astype(int).rename(name), 1
    if positive is None:
        positive = _known_positive(values)
        if positive is None:
            first, second = (shlex.quote(str(value)) for value in values)
            hint = f"Give --positive {first} or --positive {second}."
            raise TargetError(f"which label of {name!r} is the favorable one? {hint}")
        notes.append(f"positive label {plain(positive)!r}, of {listing(map(plain, values))}")
    return column, positive


def _known_positive(values: list[Any]) -> Any:
    """Return the positive one of two labels, if that is known."""
    texts = {cell_text(plain(value)).casefold(): value for value in values}
    pairs = (pair.split() for pair in _KNOWN.split(", "))
    return next((texts[good] for bad, good in pairs if set(texts) == {bad, good}), None)
