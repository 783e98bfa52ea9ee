"""What the command asks on a terminal for options that are not given."""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from fairshap._messages import did_you_mean, listing
from fairshap.cli._options import INVOCATION, visible
from fairshap.cli._output import show

_TARGETS = re.compile(
    r"(?i)hired?|outcome|target|label|approved?|den(y|ied)|decision|promot|accept|reject|default|risk|status|"
    r"offer|admit|recid|selected|^y$"
)
_ATTRIBUTES = re.compile(
    r"(?i)\b(sex|gender|race|age)\b|ethni|disab|relig|nation|marital|birth|origin|citizen|veteran|pregnan|"
    r"geschlecht|alter\b"
)
# As many candidates are shown, each with as many of its values; a column of more values is no candidate.
_SHOWN, _VALUES, _MOST = 12, 4, 12


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
