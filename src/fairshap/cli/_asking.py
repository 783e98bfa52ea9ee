"""Options that are not given: asked for on a terminal, else named."""

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pandas as pd
import typer

from fairshap import _io
from fairshap._messages import did_you_mean, listing
from fairshap.cli._labels import find_names, known_positive, read_target, values_of
from fairshap.cli._options import INVOCATION, TaskOptions, visible
from fairshap.cli._output import plain, show

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


def complete(task: TaskOptions, source: _io.Source, *, needs_privileged: bool) -> TaskOptions:
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
    if not task.positive:
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
        y, positive, _ = read_target(source, target, found.positive, [])
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


def can_ask() -> bool:
    """Say whether there is somebody to ask."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


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
