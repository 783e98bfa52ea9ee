"""Results stay what they were: compare with files that were written once, by ``tests.goldens.write``."""

import difflib
import json
from functools import cache

import pytest

from tests.goldens.compute import compute, names
from tests.goldens.files import (
    DATA,
    VERSIONS,
    differences,
    numbers,
    path_of,
    read,
    same_number,
    versions,
    words,
)

STRUCTURES = [name for name in names() if not name.startswith("reports/")]
REPORTS = [name for name in names() if name.startswith("reports/")]
_SHOWN = 15


@pytest.mark.parametrize("name", STRUCTURES)
def test_results_are_as_they_were(name):
    found = differences(read(name), compute(name))
    _fail(name, found)


# The words of a report may be put otherwise; its numbers then still are what they were.
@pytest.mark.parametrize("name", REPORTS)
def test_the_words_of_a_report_are_as_they_were(name):
    compared = difflib.unified_diff(words(read(name)), words(_report(name)), "kept", "now", "", "", 1, "")
    _fail(name, list(compared))


@pytest.mark.parametrize("name", REPORTS)
def test_the_numbers_of_a_report_are_as_they_were(name):
    kept, now = numbers(read(name)), numbers(_report(name))
    pairs = enumerate(zip(kept, now, strict=False))
    found = [f"number {k}: {a}, now {b}" for k, (a, b) in pairs if not same_number(a, b)]
    if len(kept) != len(now):
        found.append(f"{len(kept)} numbers, now {len(now)}")
    _fail(name, found)


def test_every_file_belongs_to_a_case():
    assert set(DATA.rglob("*.*")) == {VERSIONS, *(path_of(name) for name in names())}


@cache
def _report(name):
    return compute(name)


def _fail(name, found):
    if found:
        more = [f"... and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
        kept = json.loads(VERSIONS.read_text(encoding="utf-8"))
        more += [
            f"(written with {name} {kept[name]}, now {now})"
            for name, now in versions().items()
            if kept[name] != now
        ]
        again = f"If it is meant: python -m tests.goldens.write {name}"
        pytest.fail("\n".join([f"{name} differs:", *found[:_SHOWN], *more, again]), pytrace=False)
