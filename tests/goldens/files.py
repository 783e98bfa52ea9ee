"""Reading, writing and comparing the files of what is kept."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import sklearn
import xgboost

DATA = Path(__file__).parent / "data"
#: What the files were written with: another version of a model's library may say other things.
VERSIONS = DATA / "versions.json"
#: How far numbers may be apart: they are rounded to six digits, and those of large tables are sums.
ABSOLUTE, RELATIVE = 2e-6, 2e-6

_NUMBER = re.compile(r"(?<![\w.])[-\u2212]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w.]*\w)")


def path_of(name: str) -> Path:
    return DATA / f"{name}.{'txt' if name.startswith('reports/') else 'json'}"


def versions() -> dict[str, str]:
    """Return the versions of what models and tables are made of."""
    return {module.__name__: module.__version__ for module in (np, pd, pl, sklearn, xgboost)}


def to_text(kept: Any) -> str:
    """Return the text of a file: one line for each list of plain values."""
    return kept if isinstance(kept, str) else f"{_dump(kept, '')}\n"


def read(name: str) -> Any:
    text = path_of(name).read_text(encoding="utf-8")
    return text if name.startswith("reports/") else json.loads(text)


def _dump(value: Any, indent: str) -> str:
    if not isinstance(value, (dict, list)) or not any(
        isinstance(one, (dict, list)) for one in (value.values() if isinstance(value, dict) else value)
    ):
        return json.dumps(value, ensure_ascii=False)
    deeper = f"{indent} "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _dump(one, deeper) for one in value) + f"\n{indent}]"
    lines = (f"{deeper}{json.dumps(key)}: {_dump(one, deeper)}" for key, one in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def differences(kept: Any, now: Any, at: str = "") -> list[str]:
    """Return where two structures differ, in words: numbers by the tolerance, all else exactly."""
    if isinstance(kept, dict) and isinstance(now, dict):
        found = [f"{at}: {key!r} is gone" for key in kept if key not in now]
        found += [f"{at}: {key!r} is new" for key in now if key not in kept]
        for key in kept:
            if key in now:
                found += differences(kept[key], now[key], f"{at} > {key}" if at else key)
        return found
    if isinstance(kept, list) and isinstance(now, list):
        found = [] if len(kept) == len(now) else [f"{at}: {len(kept)} entries, now {len(now)}"]
        for k, (a, b) in enumerate(zip(kept, now, strict=False)):
            found += differences(a, b, f"{at}[{k}]")
        return found
    same = kept == now and type(kept) is type(now)
    if isinstance(kept, float) and isinstance(now, float):
        same = abs(kept - now) <= ABSOLUTE + RELATIVE * abs(kept)
    return [] if same else [f"{at}: {kept!r}, now {now!r}"]


def words(text: str) -> list[str]:
    """Return the lines of a report without their numbers."""
    return [_NUMBER.sub("#", line) for line in text.splitlines()]


def numbers(text: str) -> list[str]:
    """Return the numbers of a report as they stand in it."""
    return _NUMBER.findall(text)


def same_number(kept: str, now: str) -> bool:
    """Say whether two printed numbers are equal: whole ones exactly, others but for their last digit."""
    a, b = (text.replace(",", "").replace("\u2212", "-") for text in (kept, now))
    if a == b or "." not in a or "e" in a:
        return a == b
    return abs(float(a) - float(b)) <= 1.01 * 10.0 ** -len(a.partition(".")[2])
