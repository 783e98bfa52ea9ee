"""Options that several commands share, as data classes."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters that are data classes are options, one for each field.

    typer reads the options of a command from its signature; so this one gets the signature that it would have
    if all fields had been written out.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Size:
    ...     width: int = 1
    >>> @expand
    ... def show(size: Size, name: str = "a") -> None:
    ...     print(size, name)
    >>> print(inspect.signature(show))
    (*, width: int = 1, name: str = 'a') -> None
    >>> show(width=2)
    Size(width=2) a
    """
    hints = get_type_hints(command, include_extras=True)
    parts: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(_keyword(parameter.name, kind, parameter.default))
            continue
        parts[parameter.name] = kind  # type: ignore[assignment]
        fields = get_type_hints(kind, include_extras=True)
        parameters += [_keyword(f.name, fields[f.name], _default(f)) for f in dataclasses.fields(kind)]

    @functools.wraps(command)
    def expanded(**given: Any) -> None:
        made = {
            name: kind(**{f.name: given.pop(f.name) for f in dataclasses.fields(kind) if f.name in given})
            for name, kind in parts.items()
        }
        command(**made, **given)

    expanded.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(one: "dataclasses.Field[Any]") -> Any:
    return inspect.Parameter.empty if one.default is dataclasses.MISSING else one.default
