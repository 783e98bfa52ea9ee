"""What every file can do: tell its format, give its columns, and be written again with some cells changed."""

import bz2
import gzip
import lzma
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa

from fairshap._frames import Kind, is_missing
from fairshap._messages import did_you_mean, listing
from fairshap._typing import Ints
from fairshap.exceptions import ColumnError, FileFormatError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "excel"]

#: What separates two fields, for the formats that are text.
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}

_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
}

# A cell that is no name: a number or a date.
_NUMERIC = re.compile(r"[-+(]?\W?\d[\d.,:/' -]*\W?")
_FOOTER = re.compile(
    r"(?i)(grand |sub)?total|sums?\b|summe|gesamt|average|mean\b|median|count\b|source|notes?\b"
)

#: How bytes are compressed and restored, by the end of a file's name.
_CODECS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    # Without a time in it, the same table makes the same file.
    ".gz": (lambda data: gzip.compress(data, 6, mtime=0), gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (
        lambda data: bytes(pa.Codec("zstd").compress(data)),
        lambda data: bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
    ),
}


def format_of(path: Path) -> Format:
    """Return the format that a file's name tells, apart from the ending of its compression."""
    extension = (path.with_suffix("") if path.suffix.lower() in _CODECS else path).suffix.lower()
    if extension not in _EXTENSIONS:
        ending = repr(extension) if extension else "no ending"
        raise FileFormatError(
            f"{str(path)!r} has {ending}, which tells no format; known are {', '.join(_EXTENSIONS)}, "
            f"each also with {', '.join(_CODECS)}. Give the file such a name."
            f"{did_you_mean(extension, list(_EXTENSIONS))}"
        )
    return _EXTENSIONS[extension]


def compress(data: bytes, path: Path) -> bytes:
    """Return the bytes compressed as the end of the file's name says."""
    codec = _CODECS.get(path.suffix.lower())
    return codec[0](data) if codec else data


def decompress(data: bytes, path: Path) -> bytes:
    """Return the bytes of a file as they were before it was compressed, if it was."""
    codec = _CODECS.get(path.suffix.lower())
    if codec is None or not data:
        return data
    try:
        return codec[1](data)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise FileFormatError(
            f"{str(path)!r} cannot be decompressed ({error}): it is damaged, cut short, or not what its name "
            "says."
        ) from error


# ---- documents


class Note(NamedTuple):
    """What is told of how a column was read: numbers, dates, missing, blanks, or something to check."""

    topic: Literal["numbers", "dates", "missing", "blanks", "check"]
    text: str


class Inferred(NamedTuple):
    """What a column was taken for, with notes for people, and the decimal sign that its cells prove."""

    kind: Kind
    notes: tuple[Note, ...] = ()
    decimal: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Which cells of a file are replaced, each cell once, and by what."""

    rows: Ints
    columns: Ints
    #: The rows whose cells are copied as the file has them; -1 where the value is written.
    origins: Ints
    values: list[Any]


class Document(ABC):
    """A table as its file has it."""

    source: str
    format: Format
    names: tuple[str, ...]
    #: Columns that only number the rows.
    index: tuple[str, ...] = ()
    #: What is told of how the file was read.
    notes: tuple[str, ...] = ()

    @abstractmethod
    def column(self, position: int, asked: Kind | None, expected: str = "") -> tuple[pd.Series, Inferred]:
        """Return a column and what it was taken for.

        ``asked`` overrides what would be inferred; ``expected`` is the decimal sign that other columns have.
        """

    def row_number(self, row: int) -> int:
        """Return the number of a row as people count the rows of the file."""
        return row + 1

    def set_names(self, names: Iterable[str], hint: str = "") -> None:
        """Take the names of the columns, numbering those without one; each must be there once."""
        self.names = tuple(" ".join(name.split()) or f"column {k + 1}" for k, name in enumerate(names))
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise ColumnError(
                f"{self.source!r} has several columns of the same name: {listing(repeated)}. Rename them, so "
                f"that an edit can name one column.{hint}"
            )

    def error(self, text: str, parameter: str | None = None) -> FileFormatError:
        """Return an error that says something of the file."""
        name = "standard input" if self.source == "-" else repr(self.source)
        return FileFormatError(f"{name} {text}", parameter=parameter)

    def release(self) -> None:  # noqa: B027
        """Let go of what only reading needed."""

    def to_bytes(self, changes: Changes) -> bytes | None:  # noqa: ARG002
        """Return the file with some cells changed; None if it is written by its values alone."""
        return None


def find_header(rows: Sequence[Sequence[str]]) -> int:
    """Return which of a file's first rows holds the names of the columns: the first, if no other is clear.

    Above it may stand a title, in rows with at most half as many cells as the rows below. Names are texts,
    each of which is there once.

    >>> find_header([["Hires of 2022", "", ""], ["id", "sex", "age"], ["1", "f", "31"], ["2", "m", "40"]])
    1
    """
    counts = [sum(bool(cell.strip()) for cell in row) for row in rows]
    below = sorted(counts[len(counts) // 2 :])
    usual = below[len(below) // 2] if below else 0
    first = next((k for k, count in enumerate(counts) if count > max(1, usual / 2)), 0)
    names = [cell.strip() for cell in rows[first] if cell.strip()] if first else []
    is_clear = len(set(names)) == len(names) > 1 and not any(_NUMERIC.fullmatch(name) for name in names)
    return first if is_clear else 0


def count_footers(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many of a file's last rows are no part of the table: sums and remarks below it.

    >>> count_footers([["1", "f", "31", "yes"], ["Total", "", "71", ""], ["Source: HR", "", "", ""]], width=4)
    2
    """
    count = 0
    for row in reversed(rows):
        texts = [cell.strip() for cell in row if cell.strip()]
        is_remark = len(texts) == 1 and width > 3
        if not is_remark and not (2 * len(texts) <= width and _FOOTER.match(texts[0] if texts else "")):
            break
        count += 1
    return count


def tell_footers(count: int) -> tuple[str, ...]:
    """Return the note on rows below the table, if there are any."""
    which = f"{count} rows are" if count > 1 else "row is"
    return (f"the last {which} no part of the table",) if count else ()


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell; whole numbers have no point."""
    if is_missing(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
