"""Gates: figures that must not pass a threshold."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from pathlib import Path

from fairshap._messages import did_you_mean, listing
from fairshap.evidence._figures import Figure
from fairshap.exceptions import FileError, InputError
from fairshap.report._page import amount

_COMPARED: dict[str, Callable[[float, float], bool]] = {"<=": le, ">=": ge, "<": lt, ">": gt}
_CONDITION = re.compile(
    r"^\s*([A-Za-z_][\w.]*)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$"
)


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition under which an audit fails, the figure, and whether it passed."""

    name: str
    fails_if: str
    threshold: float
    figure: Figure
    passed: bool
    result: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A figure that must not be on one side of a threshold."""

    name: str
    sign: str
    threshold: float

    @classmethod
    def read(cls, text: str) -> "Condition":
        """Return the condition of a text such as ``impact_ratio < 0.8``."""
        found = _CONDITION.match(str(text))
        if found is None:
            raise InputError(
                f"fail_if={text!r} is no condition; write the name of a figure, <, <=, > or >=, and a "
                "number, such as 'impact_ratio < 0.8'.",
                parameter="fail_if",
            )
        return cls(found[1], found[2], float(found[3]))

    def check(self, figures: Mapping[str, Figure]) -> Gate:
        """Return the gate; what could not be measured does not pass."""
        if self.name not in figures:
            raise InputError(
                f"fail_if names {self.name!r}, which is no figure of this audit; there are "
                f"{listing(figures, limit=30)}.{did_you_mean(self.name, list(figures))}",
                parameter="fail_if",
            )
        figure, said = figures[self.name], f"{self.name} {self.sign} {self.threshold:.12g}"
        if figure.value != figure.value:
            return Gate(self.name, said, self.threshold, figure, False, f"{self.name} could not be measured")
        failed = _COMPARED[self.sign](figure.value, self.threshold)
        value = f"{self.name} is {amount(figure.value)}"
        return Gate(self.name, said, self.threshold, figure, not failed, value)


def read_conditions(texts: Iterable[str]) -> list[Condition]:
    """Return conditions by their texts; a single text is one of them."""
    return [Condition.read(text) for text in ([texts] if isinstance(texts, str) else texts)]


def read_file(path: str | Path) -> list[str]:
    """Return the conditions of a TOML file: ``fail_if = ["impact_ratio < 0.8"]``."""
    try:
        found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{str(path)!r} cannot be read as TOML: {error}.") from error
    texts = found.get("fail_if")
    if set(found) != {"fail_if"} or not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise FileError(f'{str(path)!r} must hold one line, such as fail_if = ["impact_ratio < 0.8"].')
    return texts
