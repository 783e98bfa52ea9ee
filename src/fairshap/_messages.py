"""How errors and warnings are worded and where they point."""

import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from fairshap.exceptions import FairshapWarning, InputError, MissingExtraError

# People say one and the column says the other.
_SYNONYMS = {"gender": "sex", "sex": "gender", "ethnicity": "race", "race": "ethnicity"}


def listing(items: Iterable[Any], limit: int = 8) -> str:
    """Write the items one after the other, the rest counted.

    >>> listing(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(item) for item in items]
    if len(shown) <= limit:
        return ", ".join(shown)
    return f"{', '.join(shown[:limit])} and {len(shown) - limit} more"


def did_you_mean(wanted: object, known: Sequence[Any]) -> str:
    """Return a closing hint that names the known item nearest to what was wanted, or nothing.

    >>> did_you_mean("Sex", ["age", "sex"])
    " Did you mean 'sex'?"
    >>> did_you_mean("1", [0, 1])
    ' Did you mean 1?'
    """
    for exact in (str, lambda item: str(item).casefold()):
        for item in known:
            if item != wanted and exact(item) == exact(wanted):
                return f" Did you mean {item!r}?"
    texts = {str(item).casefold(): item for item in known}
    synonym = texts.get(_SYNONYMS.get(str(wanted).casefold(), ""))
    if synonym is not None:
        return f" Did you mean {synonym!r}?"
    close = get_close_matches(str(wanted).casefold(), list(texts), n=1)
    return f" Did you mean {texts[close[0]]!r}?" if close else ""


def unknown(parameter: str, value: object, known: Sequence[Any]) -> InputError:
    """Return the error for a value that is none of the known ones."""
    hint = did_you_mean(value, known)
    return InputError(
        f"{parameter}={value!r} is not known; give one of {listing(known)}.{hint}", parameter=parameter
    )


def warn(message: str, category: type[FairshapWarning], parameter: str | None = None) -> None:
    """Give a warning that points at the line of the user's own code which led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("fairshap."):
        frame, level = frame.f_back, level + 1
    warnings.warn(category(message, parameter=parameter), stacklevel=level)


def import_extra(module: str, what: str, extra: str) -> Any:
    """Return a module; without it, say what needs it and which extra brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, module.partition(".")[0], extra) from error
