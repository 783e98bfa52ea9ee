"""The table that a command is about, what its columns mean, and a report on it."""

import hashlib
import shlex
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairshap import Evidence, _io, datasets
from fairshap._messages import listing
from fairshap.cli._columns import find_codes, find_suspicious, find_unusable, tell_left_out, tell_suspicious
from fairshap.cli._meaning import complete, find_names, read_privileged, read_target, refuse_quantities
from fairshap.cli._options import INVOCATION, FileOptions, ReportOptions, TaskOptions
from fairshap.cli._output import plain
from fairshap.edits._ledger import Checksums
from fairshap.exceptions import FileError, GroupError, InputError, LedgerError


@dataclass(frozen=True, slots=True)
class Repaired:
    """The ledger by which we know that a table was repaired, what it says, and what that means."""

    edits: int
    original_sha256: str
    ledger: str
    warning: str


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
    def is_quantity(self) -> bool:
        """Whether the target is a quantity, which has no favorable label."""
        return not self.favorable

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
            "positive": self.favorable[0] if len(self.favorable) == 1 else self.favorable or None,
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
            reading["left out"] = [tell_left_out(self.left_out)]
        return [f"{topic:<9} {'; '.join(texts)}" for topic, texts in reading.items() if texts]

    def about(self, options: ReportOptions, what: str, **more: Any) -> dict[str, Any]:
        """Return what a report says about the table and the command, as the Python functions take it."""
        names = [self.sensitive] if isinstance(self.sensitive, str) else self.sensitive
        path = Path(self.task.model)
        is_file = path.is_file()
        return {
            "title": f"{what} {self.source.name}, by {' and '.join(names)}",
            "command": INVOCATION.get().line(),
            "data": self.source.name,
            "checksum": self.source.checksum,
            "model_checksum": hashlib.sha256(path.read_bytes()).hexdigest() if is_file else None,
            "target": self.target,
            "favorable": " or ".join(str(plain(label)) for label in self.favorable),
            "ids": [self.row_name(row) for row in range(len(self.X))],
            "note": None if self.repaired is None else self.repaired.warning,
            "redact": options.redact,
            **more,
        }

    def reports(
        self, options: ReportOptions, what: str, make: Callable[[dict[str, Any]], Evidence]
    ) -> list[tuple[str | None, Callable[[], bytes]]]:
        """Return the files of a report, and what makes the bytes of each from evidence that is made once."""

        @cache
        def evidence() -> Evidence:
            return make(self.about(options, what))

        def content(path: str) -> bytes:
            return evidence().content(path)

        return [(path, partial(content, path)) for path in options.reports]


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
    without a privileged one; it is None then, if it is not given, and the target may be a quantity.
    """
    source = read_source(task)
    frame, built_in, notes = source.frame, source.dataset, []
    if built_in is not None:
        task = replace(
            task, target=task.target or str(built_in.y.name), sensitive=task.sensitive or [built_in.sensitive]
        )
    task = complete(task, source, needs_privileged=needs_privileged)
    target = source.find(str(task.target), "target")
    names = find_names(source, task.sensitive, "sensitive")
    if target in names:
        raise GroupError(f"column {target!r} is both --target and --sensitive; give two columns.")
    privileged: Any = None
    if built_in is not None and not task.privileged and names == [built_in.sensitive]:
        privileged = built_in.privileged
        notes.append(f"privileged {privileged!r}, as the built-in table says")
    elif task.privileged:
        privileged = read_privileged(frame, names, task.privileged)
    else:
        refuse_quantities(frame, names)
    told: list[str] = []
    y, positive, favorable = read_target(
        source, target, task.positive, told, takes_quantity=not needs_privileged
    )
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


# ---- tables that were repaired before


def find_repair(source: _io.Source, task: TaskOptions, ledger: str | None) -> tuple[Repaired | None, str]:
    """Return what tells that a table was repaired, None if nothing does, and a note for the user."""
    if ledger is not None and not Path(ledger).is_file():
        raise FileError(f"there is no ledger {ledger!r}.")
    if ledger is None and source.path is not None:
        ledger = find_ledger(source.path.parent, source.checksum)
    if ledger is None:
        return None, ""
    found = Checksums.read(ledger)
    if found.original == source.checksum != found.repaired:
        return None, ""
    if found.repaired == source.checksum:
        told = f"{source.name!r} is the repaired table of the ledger {ledger!r}"
        warning = _warning(told, found.n_edits, task)
        return Repaired(found.n_edits, found.original, ledger, warning), f"warning: {warning}"
    why = "holds no checksum of a repaired file"
    if found.repaired:
        why = "was written with another file, or the table was changed afterwards"
    return None, (
        f"{ledger!r} does not tell whether {source.name!r} is repaired: it {why}. If it is, these measures "
        "mislead: the rows that a model is tested on are edited too."
    )


def find_ledger(folder: Path, checksum: str) -> str | None:
    """Return the ledger in a folder that names a repaired file of some checksum."""
    # What cannot be read, or is damaged, tells nothing. What is no ordinary file could wait forever.
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            with suppress(OSError, LedgerError):
                is_csv = path.suffix.lower() == ".csv" and path.is_file()
                if is_csv and Checksums.read(path).repaired == checksum:
                    return str(path)
    return None


def _warning(told: str, edits: int, task: TaskOptions) -> str:
    who = ["-t", str(task.target)]
    for option, values in (("-s", task.sensitive), ("-p", task.privileged), ("--positive", task.positive)):
        who += [part for value in values or () for part in (option, value)]
    meaning, cells = shlex.join(who), f"{edits:,} {'cell' if edits == 1 else 'cells'}"
    return (
        f"{told} ({cells} replaced). The rows that a model is tested on here are edited too, by values of "
        "rows with the same label: accuracy usually looks better than it is, and fairness can look better "
        "or worse. Check a repair on original rows instead: "
        f"`fairshap repair ORIGINAL {meaning} --out FILE` trains on repaired folds and tests on original "
        f"ones; `fairshap audit OTHERS {meaning} --model FILE` tests a model that was trained on the "
        "repaired table on original rows that the table does not hold."
    )
