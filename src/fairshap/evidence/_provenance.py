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
    "This is evidence and not a finding of law. The table says where to find the figures that documents ask "
    f"for; what it does not name, they may ask for all the same. It was checked on {MAPPING_DATE}. Rules "
    "change, so read the current text: Art. 10 of the EU AI Act binds providers of high-risk systems, and "
    "an amendment of June 2026 lets it apply from 2 December 2027, in regulated products from 2 August 2028."
)

MAPPING = (
    Requirement(
        "EU AI Act, Art. 10(2)(c)",
        "data preparation, such as annotation, labeling, cleaning, enrichment and aggregation",
        "mitigation, provenance: what a repair changed; add what was done to the data before",
    ),
    Requirement(
        "EU AI Act, Art. 10(2)(f)",
        "examination of possible biases that affect health, safety or fundamental rights, or lead to "
        "prohibited discrimination",
        "outcomes, errors, treatment, proxies",
    ),
    Requirement(
        "EU AI Act, Art. 10(2)(g)",
        "measures to detect, prevent and mitigate the biases of point (f)",
        "tests, mitigation",
    ),
    Requirement(
        "EU AI Act, Art. 10(2)(h)",
        "data gaps or shortcomings that prevent compliance, and how to address them",
        "groups, limits: small and unknown groups; how to address them is for you to say",
    ),
    Requirement(
        "EU AI Act, Art. 10(3)",
        "data that are relevant, sufficiently representative, as free of errors and as complete as possible, "
        "also for the groups of people that the system is meant for",
        "groups, outcomes: who is in the table; whether that represents those people is for you to say",
    ),
    Requirement(
        "New York City Local Law 144, 6 RCNY 5-301 and 5-303",
        "selection or scoring rates, impact ratios and numbers of people by sex, by race or ethnicity, and "
        "by both; the number of people of unknown category. An auditor may leave a category under 2 % of "
        "the data out of the impact ratios, but gives the reason, its number and its rate",
        "groups, outcomes (also as CSV tables). It also asks for an independent auditor and, as a rule, "
        "historical data of the tool itself, which a stand-in model cannot give",
    ),
    Requirement(
        "NIST AI RMF 1.0, MEASURE 2.11",
        "fairness and bias, as identified in the MAP function, are evaluated, and results are documented",
        "outcomes to mitigation",
    ),
    Requirement(
        "ISO/IEC TS 12791:2024",
        "how to treat unwanted bias in classification and regression: acceptance criteria, tests of data and "
        "model, techniques for data and algorithms",
        "tests, treatment, proxies, mitigation",
    ),
)
