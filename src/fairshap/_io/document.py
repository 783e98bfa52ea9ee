"""What every kind of file can do: give its columns, and be written again with some cells changed."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from fairshap._frames import Kind, is_missing
from fairshap._io.formats import Format
from fairshap._messages import listing
from fairshap._typing import Ints
from fairshap.exceptions import ColumnError

_KEY = b"fairshap"


class Inferred(NamedTuple):
    """What a column was taken for; with a note for people, and the parameter of ``read`` that it names."""

    kind: Kind
    note: str = ""
    parameter: str | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Which cells of a file are replaced, each cell once, and by what."""

    rows: Ints
    columns: Ints
    #: The rows whose cells are copied as the file has them; -1 where the value is written.
    origins: Ints
    values: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What the metadata of a file say, as JSON, of its repair; nothing that differs from run to run."""

    version: str
    repaired: bool = True
    original_sha256: str
    edits: int
    ledger_sha256: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def put_on(self, table: Any) -> Any:
        """Return a pyarrow table with the mark beside all other metadata."""
        metadata = {**(table.schema.metadata or {}), _KEY: json.dumps(asdict(self)).encode()}
        return table.replace_schema_metadata(metadata)

    @classmethod
    def of(cls, table: Any) -> "Mark | None":
        """Return the mark of a pyarrow table; None if it has none that can be read."""
        try:
            found = cls(**json.loads((table.schema.metadata or {})[_KEY]))
        except (KeyError, TypeError, ValueError, RecursionError):
            # Somebody else's metadata of the same name: nothing is claimed.
            return None
        return found if found.repaired is True and isinstance(found.edits, int) else None


class Document(ABC):
    """A table as its file has it."""

    format: Format
    names: tuple[str, ...]
    mark: Mark | None = None
    #: Columns that only number the rows.
    index: tuple[str, ...] = ()

    @abstractmethod
    def column(self, position: int, asked: Kind | None) -> tuple[pd.Series, Inferred]:
        """Return a column and what it was taken for; ``asked`` overrides what would be inferred."""

    def release(self) -> None:  # noqa: B027
        """Let go of what only reading needed."""

    def to_bytes(self, changes: Changes, mark: Mark | None) -> bytes | None:  # noqa: ARG002
        """Return the file with some cells changed and, where it can hold one, a mark; None without a file."""
        return None


def unique_names(names: Sequence[str], source: str, hint: str = "") -> tuple[str, ...]:
    """Return the names of the columns, numbering those without one; each must be there once."""
    named = tuple(name if name.strip() else f"Unnamed: {k}" for k, name in enumerate(names))
    repeated = [name for name, count in Counter(named).items() if count > 1]
    if repeated:
        raise ColumnError(
            f"{source!r} has several columns of the same name: {listing(repeated)}. Rename them, so that an "
            f"edit can name one column.{hint}"
        )
    return named


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell; whole numbers have no point."""
    if is_missing(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
