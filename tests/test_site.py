"""The site's reference has a page for every public name, each once, with an example."""

import re
from importlib import import_module
from pathlib import Path

import fairshap

DOCS = Path(__file__).parents[1] / "docs"
ENTRY = re.compile(r"^   ([A-Za-z_]+(?:\.[A-Za-z_]+)?)$", flags=re.MULTILINE)


def named(name: str):
    """Return the object of a full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def public_objects():
    """Return every public object with one of its names."""
    names = [f"fairshap.{name}" for name in fairshap.__all__]
    for package in [fairshap, *(getattr(fairshap, name) for name in fairshap.__all__ if name.islower())]:
        names += [f"{package.__name__}.{name}" for name in getattr(package, "__all__", ())]
    found = {}
    for name in names:
        value = named(name)
        if not hasattr(value, "__path__") and type(value).__name__ != "module":
            found.setdefault(id(value), name)
    return found


def test_every_public_object_has_an_example():
    callables = {name: value for name in public_objects().values() if callable(value := named(name))}
    assert len(callables) > 40
    # The tests run them, as they run all examples of docstrings.
    assert [name for name, value in callables.items() if ">>> " not in (value.__doc__ or "")] == []


def test_the_reference_lists_every_public_object_once():
    entries = ENTRY.findall((DOCS / "reference.rst").read_text())
    listed = [id(named(f"fairshap.{entry}")) for entry in entries]
    public = public_objects()
    assert {public[key] for key in public.keys() - set(listed)} == set(), "not in docs/reference.rst"
    assert [entry for entry, key in zip(entries, listed, strict=True) if key not in public] == []
    assert len(set(listed)) == len(listed)
