"""What the columns of a table mean: what options say, and what is asked on a terminal where none does."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from fairshap import _io
from fairshap._io.document import cell_text
from fairshap._messages import did_you_mean, listing
from fairshap.cli._options import INVOCATION, TaskOptions, split, visible
from fairshap.cli._output import plain, show
from fairshap.exceptions import FairshapError, GroupError, TargetError

# Pairs of labels whose positive one goes without saying, the positive one second.
_KNOWN = "0 1, -1 1, false true, no yes, n y, f t, negative positive, neg pos"

# Different numbers from which on a sensitive column is a quantity, whose privileged values are a range.
_QUANTITY = 32
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_RANGE = re.compile(rf"^\s*({_NUMBER})?\s*\.\.\s*({_NUMBER})?\s*$")

_TARGETS = re.compile(
    r"(?i)hired?|outcome|target|label|approved?|den(y|ied)|decision|promot|accept|reject|default|risk|status|"
    r"offer|admit|recid|selected|^y$"
)
_ATTRIBUTES = re.compile(
    r"(?i)\b(sex|gender|race|age)\b|ethni|disab|relig|nation|marital|birth|origin|citizen|veteran|pregnan|"
    r"geschlecht|alter\b"
)
_SHORT = {"target": "-t", "sensitive": "-s", "privileged": "-p"}
# As many candidates are shown, each with as many of its values; a column of more values is no candidate.
_SHOWN, _VALUES, _MOST = 12, 4, 12


def find_names(source: _io.Source, texts: Iterable[str] | None, option: str) -> list[str]:
    """Return the columns that an option names, one by one or with commas between them."""
    names: list[str] = []
    for text in texts or ():
        names += [text] if text in source.frame.columns else split([text])
    return [source.find(name, option) for name in dict.fromkeys(names)]


def values_of(column: pd.Series) -> list[Any]:
    """Return the different values of a column, sorted where they can be."""
    values = list(column.dropna().unique())
    try:
        return sorted(values)
    except TypeError:
        return values


def read_privileged(frame: pd.DataFrame, names: list[str], texts: list[str]) -> Any:
    """Return the privileged values of the sensitive columns as the table has them."""
    values = {name: values_of(frame[name]) for name in names}

    def find(text: str, name: str) -> Any:
        return find_value("privileged", text, name, values[name], GroupError)

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
    refuse_quantities(frame, names)
    found = [find(text, name) for text in texts]
    return found[0] if len(found) == 1 else found


def refuse_quantities(frame: pd.DataFrame, names: list[str]) -> None:
    """Raise an error if a sensitive column is a quantity, which has no groups until it is cut."""
    for name in names:
        if not is_quantity(frame[name]):
            continue
        middle = plain(frame[name].median())
        instead = (
            f"give a range for --privileged, such as {middle:g}.. or ..{middle:g}."
            if len(names) == 1
            else "add a column of ranges, and name that one, or audit by it alone."
        )
        raise GroupError(
            f"column {name!r} is a quantity with {frame[name].nunique()} different values; {instead}"
        )


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


def _split_values(texts: list[str], known: list[Any]) -> list[str]:
    """Return values that are given one by one or with commas between them; some have commas themselves."""
    held = {str(value) for value in known}
    return [part for text in texts for part in ([text] if text in held else split([text]))]


def is_quantity(column: pd.Series) -> bool:
    """Say whether a column holds amounts, and no labels."""
    return pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > _QUANTITY


def read_target(
    source: _io.Source,
    name: str,
    asked: list[str] | None,
    notes: list[str],
    *,
    takes_quantity: bool = False,
) -> tuple[pd.Series, Any, list[Any]]:
    """Return the target as two labels, the positive one, and the favorable labels of the file.

    A quantity is one as it is, with no positive label, for a command that takes it.
    """
    column = source.frame[name]
    absent = np.flatnonzero(column.isna())
    if len(absent):
        rows = listing((source.document.row_number(int(row)) for row in absent), 4, str)
        word = "row" if len(absent) == 1 else "rows"
        raise TargetError(
            f"column {name!r}, the target, is missing in {len(absent)} of {len(column)} rows ({word} {rows} "
            "of the file); leave them out of the file, or fill them in."
        )
    values = values_of(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if len(values) < 2:
        raise TargetError(f"column {name!r}, the target, holds {plain(values[0])!r} in every row.")
    texts = _split_values(list(asked or ()), values)
    found = list(dict.fromkeys(find_value("positive", text, name, values, TargetError) for text in texts))
    if len(found) == len(values):
        raise TargetError(f"--positive names every label of {name!r}; name the favorable ones only.")
    if not found and is_quantity(column):
        if takes_quantity:
            notes.append(f"{name} is a quantity: groups are compared by their mean")
            return column, None, []
        middle = plain(column.median())
        raise TargetError(
            f"column {name!r}, the target, is a quantity with {len(values)} different values, and this "
            f"command takes labels: add a column that says, for example, whether it is above {middle:g}. "
            "fairshap audit takes the quantity."
        )
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
        known = known_positive(values)
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


def known_positive(values: list[Any]) -> Any:
    """Return the positive one of two labels, if that is known."""
    texts = {cell_text(plain(value)).casefold(): value for value in values}
    pairs = (pair.split() for pair in _KNOWN.split(", "))
    return next((texts[good] for bad, good in pairs if set(texts) == {bad, good}), None)


# ---- options that are not given


def complete(task: TaskOptions, source: _io.Source, *, needs_privileged: bool) -> TaskOptions:
    """Return the options with what was missing, asked for on a terminal, or raise an error that names it."""
    missing = [name for name in ("target", "sensitive", "privileged") if not getattr(task, name)]
    if source.dataset is not None and task.sensitive == [source.dataset.sensitive]:
        missing = []
    is_open = missing == ["privileged"] and not needs_privileged
    if not missing or (is_open and task.target and task.sensitive):
        return task
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        with suppress(EOFError):
            return _ask_for(task, source, missing, needs_privileged=needs_privileged)
    if not needs_privileged:
        missing = [name for name in missing if name != "privileged"]
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
    is_label = needs_privileged or not is_quantity(frame[target])
    if not task.positive and is_label:
        labels = values_of(frame[target])
        known = known_positive(labels) if len(labels) == 2 else None
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
        favorable = None
        if is_label:
            y, positive, _ = read_target(source, target, found.positive, [])
            favorable = y == positive
        skip = "" if needs_privileged else "compares all with the most favored"
        values = [
            ask_values(f"Which {name} is the privileged group?", frame[name], favorable, skip=skip)
            for name in names
        ]
        if all(values):
            given["privileged"] = ",".join(str(value) for value in values)
            found = replace(found, privileged=[str(value) for value in values])
    more = [part for name, value in given.items() for part in (_SHORT.get(name, f"--{name}"), str(value))]
    print(f"\nNext time: {INVOCATION.get().line(*more)}\n", file=sys.stderr)
    return found


def _not_given(missing: list[str], source: _io.Source, task: TaskOptions) -> typer.BadParameter:
    """Return the error that names the options that are missing, and what they could be."""
    frame = source.frame
    options = [f"--{name}" for name in missing]
    said = " and ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)
    text = f"{said} {'is' if len(options) == 1 else 'are'} not given"
    if missing == ["privileged"]:
        names = find_names(source, task.sensitive, "sensitive")
        held = "; ".join(f"{name!r} holds {listing(map(plain, values_of(frame[name])))}" for name in names)
        return typer.BadParameter(f"{text}, and it is never guessed; {held}")
    what = {"target": "the column to predict", "sensitive": "the sensitive column"}
    wanted = " and ".join(what[name] for name in missing if name in what)
    targets, attributes = suggest_targets(frame), suggest_attributes(frame)
    target = task.target or next(iter(targets), "hired")
    attribute = (task.sensitive or [next((name for name in attributes if name != target), "sex")])[0]
    value = next(iter(values_of(frame[attribute])), "Male") if attribute in frame else "Male"
    example = shlex.join(["-t", target, "-s", attribute])
    if "privileged" in missing:
        example += f" -p {shlex.quote(str(plain(value)))}"
    return typer.BadParameter(
        f"{text}; name {wanted}: {listing(frame.columns, limit=20)}. For example: {example}"
    )


def suggest_targets(frame: pd.DataFrame) -> list[str]:
    """Return the columns that may be what is predicted, the likeliest first."""
    counts = {str(name): frame[name].nunique() for name in frame.columns}
    likely = [name for name, n in counts.items() if 2 <= n <= _MOST]
    return sorted(likely, key=lambda name: (not _TARGETS.search(name), counts[name] > 2))


def suggest_attributes(frame: pd.DataFrame) -> list[str]:
    """Return the columns that may be sensitive, the likeliest first."""
    counts = {str(name): frame[name].nunique() for name in frame.columns}
    named = [name for name in counts if _ATTRIBUTES.search(name.replace("_", " "))]
    return named + [name for name, n in counts.items() if 2 <= n <= _MOST and name not in named]


def ask_column(question: str, candidates: Sequence[str], frame: pd.DataFrame) -> str:
    """Return the column that somebody chooses."""
    known = [str(name) for name in frame.columns]
    shown = list(candidates[:_SHOWN])
    others = len(known) - len(shown)
    more = f", or the name of one of {others} other columns" if others else ""
    told = {name: _values(frame[name]) for name in shown}
    return _ask(question, told, f"a number{more}", lambda text: text if text in known else None, known)


def ask_values(
    question: str, column: pd.Series, favorable: pd.Series | None = None, *, skip: str = ""
) -> str | None:
    """Return the value of a column that somebody chooses, None if it is skipped.

    ``favorable`` says which rows have the favorable outcome; ``skip`` is what an empty line means.
    """
    counts = column.value_counts().head(_SHOWN)
    told = {}
    for value, count in counts.items():
        told[str(value)] = f"{count:,} rows"
        if favorable is not None:
            told[str(value)] += f", {favorable[column == value].mean():.0%} of them favorable"
    known = [str(value) for value in column.dropna().unique()]

    def accept(text: str) -> str | None:
        return text if text in known or (favorable is not None and ".." in text) else None

    answer = _ask(
        question, told, f"a number or a value{f'; Enter {skip}' if skip else ''}", accept, known, skip
    )
    return answer or None


def _ask(
    question: str,
    told: dict[str, str],
    how: str,
    accept: Callable[[str], str | None],
    known: Sequence[str],
    skip: str = "",
) -> str:
    """Return what somebody answers, asking again until it can be used."""
    names, width = list(told), max(map(len, told), default=0)
    # A number that is a value itself is not taken for the number of another.
    is_numbered = not any(name.isdigit() for name in known)
    how = how if is_numbered else how.removeprefix("a number or ")
    _say(f"\n{question}")
    for k, (name, what) in enumerate(told.items()):
        _say(f"  {f'{k + 1:>2}' if is_numbered else '  '}  {name:<{width}}  {what}")
    while True:
        print(f"({how}): ", end="", file=sys.stderr, flush=True)
        INVOCATION.get().is_asking = True
        line = sys.stdin.readline()
        INVOCATION.get().is_asking = False
        text = line.strip()
        if not line:
            raise EOFError
        if not text and skip:
            return ""
        if is_numbered and text.isdigit() and 0 < int(text) <= len(names):
            return names[int(text) - 1]
        answer = accept(text)
        if answer is not None:
            return answer
        _say(f"{text!r} is none of them.{did_you_mean(text, known)}")


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _values(column: pd.Series) -> str:
    """Return what a column holds, in a few words."""
    counts: Any = column.value_counts()
    if len(counts) > _MOST and column.dtype.kind in "iufM":
        return f"{show(column.min())} to {show(column.max())}"
    return listing((f"{value} ({count:,})" for value, count in counts.items()), _VALUES, str)
