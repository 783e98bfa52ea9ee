"""Where evidence comes from, what it does not say, and which documents ask for it."""

import hashlib
import pickle
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np

from fairshap._frames import Table
from fairshap._models.scorer import split

_PACKAGES = ("fairshap", "numpy", "pandas", "scikit-learn", "numba")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What was audited, with what, when, by whom and for what; blank where it was not said."""

    data: str = ""
    data_sha256: str = ""
    model: str
    #: Of the model's file, or of its pickle; blank for models that were trained here.
    model_sha256: str
    #: Whether the model is one that was trained here, on this table, as a stand-in for one in use.
    is_stand_in: bool
    ledger_sha256: str = ""
    repaired_sha256: str = ""
    versions: dict[str, str]
    seed: int | None
    command: str = ""
    #: In UTC.
    date: str = ""
    by: str = ""
    purpose: str = ""
    sign_off: str = ""

    @classmethod
    def of(
        cls, model: Any, seed: Any, *, is_given: bool, checksum: str | None = None, **more: str
    ) -> "Provenance":
        """Return what a model tells; its ``checksum`` if that is known."""
        if checksum is None:
            checksum = _checksum_of_model(model) if is_given else ""
        steps, last = split(model)
        return cls(
            model=" \u2192 ".join(type(step).__name__ for step in (*steps, last)),
            model_sha256=checksum,
            is_stand_in=not is_given,
            versions=_versions((*steps, last)),
            seed=int(seed) if isinstance(seed, (int, np.integer)) else None,
            **more,
        )

    def said(self, about: Mapping[str, Any]) -> "Provenance":
        """Return it with what is said about the audit; it is of today unless it says otherwise."""
        names = ("data", "command", "by", "purpose", "sign_off")
        date = about["date"] or datetime.now(UTC).date().isoformat()
        return replace(self, **{name: about[name] for name in names}, date=date)


def _versions(steps: Iterable[Any]) -> dict[str, str]:
    """Return the versions of Python and of the packages that the result depends on."""
    modules = {type(step).__module__.partition(".")[0] for step in steps}
    found = {"Python": platform.python_version(), **{name: metadata.version(name) for name in _PACKAGES}}
    # XGBoost is also installed without its GPU packages, under another name.
    for module in sorted(modules - {"fairshap", "sklearn", "__main__", "builtins"}):
        for name in (module, f"{module}-cpu"):
            with suppress(metadata.PackageNotFoundError):
                found.setdefault(name, metadata.version(name))
    return found


def checksum_of(table: Table) -> str:
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


def _checksum_of_model(model: Any) -> str:
    """Return the SHA-256 of a model's pickle; blank if it cannot be pickled."""
    try:
        return hashlib.sha256(pickle.dumps(model)).hexdigest()
    except Exception:
        return ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A document that asks for evidence: what it asks for, and where that stands here."""

    document: str
    asks_for: str
    section: str


#: When the mapping was last checked against the documents.
MAPPING_DATE = "2026-11-18"

#: What the mapping is, and what it is not.
MAPPING_NOTE = (
    f"This is evidence and not a finding of law. The table says where documents that people have to fill in "
    f"find their figures here. It was written on {MAPPING_DATE}; rules change, so check the current text."
)

MAPPING = (
    Requirement(
        "EU AI Act, Art. 10(2)(c)",
        "data preparation, such as cleaning and labeling",
        "provenance, mitigation",
    ),
    Requirement(
        "EU AI Act, Art. 10(2)(f)", "examination of possible biases", "outcomes, errors, treatment, proxies"
    ),
    Requirement(
        "EU AI Act, Art. 10(2)(g)", "measures to detect, prevent and mitigate biases", "tests, mitigation"
    ),
    Requirement("EU AI Act, Art. 10(2)(h)", "data gaps or shortcomings", "groups, limits"),
    Requirement(
        "EU AI Act, Art. 10(3)", "data that are relevant and representative, by group", "groups, outcomes"
    ),
    Requirement(
        "New York City Local Law 144",
        "selection or scoring rates and impact ratios by sex, race and both, and the rows of unknown "
        "category",
        "groups, outcomes (also as CSV tables)",
    ),
    Requirement(
        "NIST AI RMF, MEASURE 2.11",
        "fairness and bias are evaluated and documented",
        "outcomes to mitigation",
    ),
    Requirement(
        "ISO/IEC TS 12791", "treatment of unwanted bias, with its effect", "treatment, proxies, mitigation"
    ),
)
