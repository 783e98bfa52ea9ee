"""How to get the same again: versions and the checksum of the table."""

import hashlib
import platform
from importlib import metadata
from typing import Any

import numpy as np

from fairshap._frames import Table

_PACKAGES = ("fairshap", "numpy", "pandas", "scikit-learn", "numba")


def versions(model: Any) -> list[tuple[str, str]]:
    """Return the versions of Python and of the packages that the result depends on."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    # xgboost is also installed under other names.
    owners = metadata.packages_distributions()
    modules = {type(step).__module__.partition(".")[0] for step in steps}
    # LightGBM's trees are read by treelite.
    modules |= {"treelite"} if "lightgbm" in modules else set()
    of_model = {owners[module][0] for module in modules if module in owners}
    names = [*_PACKAGES, *sorted(of_model - set(_PACKAGES))]
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in names)]


def table_checksum(table: Table) -> str:
    """Return the SHA-256 of a table's names and cells, which is the same for any library."""
    digest = hashlib.sha256()
    for name in table.names:
        digest.update(str(name).encode("utf-8", "replace") + b"\0")
    digest.update(np.ascontiguousarray(table.numbers).tobytes())
    digest.update(np.ascontiguousarray(table.codes).tobytes())
    for column in table.category_columns.tolist():
        for value in table.store.values(column, table.distinct(column)):
            digest.update(str(value).encode("utf-8", "replace") + b"\0")
    return digest.hexdigest()
