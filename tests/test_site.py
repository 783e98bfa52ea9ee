"""The site's reference has a page for every public name, each once, and the commands have their sections."""

import re
from importlib import import_module
from pathlib import Path

import fairshap

DOCS = Path(__file__).parents[1] / "docs"
ENTRY = re.compile(r"^   ([A-Za-z_]+(?:\.[A-Za-z_]+)?)$", flags=re.MULTILINE)


def public_objects():
    """Return every public object with one of its names."""
    names = [f"fairshap.{name}" for name in fairshap.__all__]
    for package in [fairshap, *(getattr(fairshap, name) for name in fairshap.__all__ if name.islower())]:
        names += [f"{package.__name__}.{name}" for name in getattr(package, "__all__", ())]
    found = {}
    for name in names:
        module, _, attribute = name.rpartition(".")
        value = getattr(import_module(module), attribute)
        if not hasattr(value, "__path__") and type(value).__name__ != "module":
            found.setdefault(id(value), name)
    return found


def test_the_reference_lists_every_public_object_once():
    entries = ENTRY.findall((DOCS / "reference.rst").read_text())
    listed = []
    for entry in entries:
        module, _, attribute = f"fairshap.{entry}".rpartition(".")
        listed.append(id(getattr(import_module(module), attribute)))
    public = public_objects()
    assert {public[key] for key in public.keys() - set(listed)} == set(), "not in docs/reference.rst"
    assert [entry for entry, key in zip(entries, listed, strict=True) if key not in public] == []
    assert len(set(listed)) == len(listed)
