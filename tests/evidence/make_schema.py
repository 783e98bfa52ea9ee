"""The JSON Schema of evidence, from the types of its sections: run it to write the file of the package "
"anew."""

import json
import types
import typing
from dataclasses import fields, is_dataclass
from pathlib import Path

from fairshap import evidence
from fairshap.evidence._evidence import SCHEMA, Evidence
from fairshap.evidence._provenance import Requirement

FILE = Path(evidence.__file__).with_name(f"evidence-{SCHEMA}.schema.json")

#: Fields that are no part of the JSON.
LEFT_OUT = {"data", "note", "redact"}


def schema_of(kind, found):
    """Return the schema of a type; those of data classes are collected by name."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(arg, found) for arg in args]}
    if kind is type(None):
        return {"type": "null"}
    if is_dataclass(kind):
        if kind.__name__ not in found:
            found[kind.__name__] = {}
            found[kind.__name__].update(object_of(kind, found))
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is tuple:
        return {"type": "array", "items": schema_of(args[0], found)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(args[1], found)}
    # A figure that is not known is null.
    return {
        str: {"type": "string"},
        int: {"type": "integer"},
        bool: {"type": "boolean"},
        float: {"type": ["number", "null"]},
    }[kind]


def object_of(kind, found):
    hints = typing.get_type_hints(kind)
    names = [field.name for field in fields(kind) if kind is not Evidence or field.name not in LEFT_OUT]
    said = " ".join((kind.__doc__ or "").split("\n")[0].split())
    properties = {name: schema_of(hints[name], found) for name in names}
    return {
        "description": said,
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def make():
    found = {}
    whole = object_of(Evidence, found)
    requirements = {"type": "array", "items": schema_of(Requirement, found)}
    mapping = {"date": {"type": "string"}, "note": {"type": "string"}, "requirements": requirements}
    more = {
        "schema": {"const": SCHEMA},
        "passed": {"type": "boolean"},
        "mapping": {
            "type": "object",
            "properties": mapping,
            "required": list(mapping),
            "additionalProperties": False,
        },
    }
    whole["properties"] = {"schema": more["schema"], **whole["properties"], **more}
    whole["required"] = ["schema", *whole["required"], "passed", "mapping"]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fairshap evidence, version {SCHEMA}",
    }
    return {**head, **whole, "$defs": dict(sorted(found.items()))}


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
