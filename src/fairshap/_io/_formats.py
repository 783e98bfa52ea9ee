"""Which format a file has, by its name or its first bytes."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import pyarrow as pa

from fairshap._messages import did_you_mean, listing
from fairshap.exceptions import FileFormatError, InputError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "feather", "excel"]

FORMATS: tuple[Format, ...] = get_args(Format)

#: The byte between two fields, for the formats that are text.
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}

_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".xlsx": "excel",
    ".xlsm": "excel",
}

#: What a file begins with that is no text, and what it then is.
_BEGINNINGS: dict[bytes, str] = {
    b"PAR1": "a Parquet file (format='parquet')",
    b"ARROW1": "an Arrow or Feather file (format='feather')",
    b"PK\x03\x04": "an Excel workbook (format='excel') or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook, which must be saved as .xlsx first",
    b"\x1f\x8b": "a file compressed by gzip, whose name should end in .gz",
    b"BZh": "a file compressed by bzip2, whose name should end in .bz2",
    b"\xfd7zXZ\x00": "a file compressed by xz, whose name should end in .xz",
    b"\x28\xb5\x2f\xfd": "a file compressed by zstd, whose name should end in .zst",
}


@dataclass(frozen=True, slots=True)
class Compression:
    """How bytes are compressed and restored."""

    compress: Callable[[bytes], bytes]
    restore: Callable[[bytes], bytes]


def _unzstd(data: bytes) -> bytes:
    restored: bytes = pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return restored


def _zstd(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


#: By the end of a file's name. Without a time in it, the same table makes the same gzip file.
_COMPRESSIONS: dict[str, Compression] = {
    ".gz": Compression(lambda data: gzip.compress(data, 6, mtime=0), gzip.decompress),
    ".bz2": Compression(bz2.compress, bz2.decompress),
    ".xz": Compression(lzma.compress, lzma.decompress),
    ".zst": Compression(_zstd, _unzstd),
}


def compression_of(path: Path) -> Compression | None:
    """Return how a file is compressed, by the end of its name."""
    return _COMPRESSIONS.get(path.suffix.lower())


def extension_of(path: Path) -> str:
    """Return what a file's name ends in, apart from the ending that says how it is compressed.

    Examples
    --------
    >>> extension_of(Path("people.CSV.gz"))
    '.csv'
    """
    return (path.with_suffix("") if compression_of(path) else path).suffix.lower()


def format_of(path: Path, known: dict[str, Format] | None = None) -> Format:
    """Return the format that a file's name says it has; ``known`` are more extensions with their formats.

    Examples
    --------
    >>> format_of(Path("people.csv.gz"))
    'csv'
    """
    extension = extension_of(path)
    extensions = {**_EXTENSIONS, **(known or {})}
    if extension not in extensions:
        ending = f"{extension!r}" if extension else "no ending"
        raise FileFormatError(
            f"{str(path)!r} has {ending}, which tells no format; known are {', '.join(_EXTENSIONS)}, "
            f"each also with {', '.join(_COMPRESSIONS)}. Rename it or give format, one of {listing(FORMATS)}."
            f"{did_you_mean(extension, list(_EXTENSIONS))}"
        )
    return extensions[extension]


def check_format(format: str) -> Format:  # noqa: A002
    """Return the format if there is one of that name."""
    for known in FORMATS:
        if format == known:
            return known
    raise InputError(
        f"format={format!r} is not known; formats are {listing(FORMATS)}.{did_you_mean(format, FORMATS)}"
    )


def restore(data: bytes, path: Path) -> bytes:
    """Return the bytes of a file as they were before it was compressed, if it was."""
    compression = compression_of(path)
    if compression is None or not data:
        return data
    try:
        return compression.restore(data)
    except (OSError, EOFError, ValueError, lzma.LZMAError) as error:
        raise FileFormatError(
            f"{str(path)!r} cannot be decompressed ({error}): it is damaged, cut short, or not what its name "
            "says."
        ) from error


def foreign_beginning(data: bytes) -> str | None:
    """Return what a file that should be text is instead, by its first bytes."""
    return next((what for beginning, what in _BEGINNINGS.items() if data.startswith(beginning)), None)
