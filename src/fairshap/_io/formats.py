"""Which format a file has, and how it is compressed: by its name, or by its first bytes."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import pyarrow as pa

from fairshap._messages import did_you_mean, listing
from fairshap.exceptions import FileFormatError, InputError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "feather", "excel"]

FORMATS: tuple[Format, ...] = get_args(Format)

#: What separates two fields, for the formats that are text.
DELIMITERS: dict[Format, str] = {"csv": ",", "tsv": "\t"}

#: The formats whose schema has metadata, and so a place for a mark.
MARKED: tuple[Format, ...] = ("parquet", "feather")

_ENDINGS: dict[Format, str] = {
    "csv": ".csv",
    "tsv": ".tsv .tab",
    "parquet": ".parquet .pq",
    "feather": ".feather .arrow .ipc",
    "excel": ".xlsx .xlsm",
}
_EXTENSIONS = {extension: known for known, endings in _ENDINGS.items() for extension in endings.split()}

#: First bytes of files that are not text.
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


_Bytes: TypeAlias = Callable[[bytes], bytes]

#: How bytes are compressed and restored, by the end of a file's name.
_CODECS: dict[str, tuple[_Bytes, _Bytes]] = {
    # Without a time in it, the same table makes the same file.
    ".gz": (lambda data: gzip.compress(data, 6, mtime=0), gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
    ".zst": (
        lambda data: bytes(pa.Codec("zstd").compress(data)),
        lambda data: bytes(pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()),
    ),
}


def extension_of(path: Path) -> str:
    """Return what a file's name ends in, apart from the ending of its compression."""
    return (path.with_suffix("") if path.suffix.lower() in _CODECS else path).suffix.lower()


def format_of(path: Path, own: dict[str, Format] | None = None) -> Format:
    """Return the format that a file's name tells; ``own``, to write it, adds the extension of the source."""
    extension = extension_of(path)
    extensions = {**_EXTENSIONS, **(own or {})}
    if extension not in extensions:
        ending = f"{extension!r}" if extension else "no ending"
        advice = f"Rename it or give format, one of {listing(FORMATS)}."
        raise FileFormatError(
            f"{str(path)!r} has {ending}, which tells no format; known are {', '.join(_EXTENSIONS)}, "
            f"each also with {', '.join(_CODECS)}. {advice if own is None else 'Give the file such a name.'}"
            f"{did_you_mean(extension, list(_EXTENSIONS))}",
            parameter="format" if own is None else None,
        )
    return extensions[extension]


def check_format(format: str) -> Format:  # noqa: A002
    """Return the format if there is one of that name."""
    if format not in FORMATS:
        raise InputError(
            f"format={format!r} is not known; formats are {listing(FORMATS)}.{did_you_mean(format, FORMATS)}",
            parameter="format",
        )
    return format


def compress(data: bytes, path: Path) -> bytes:
    """Return the bytes compressed as the end of the file's name says."""
    codec = _CODECS.get(path.suffix.lower())
    return data if codec is None else codec[0](data)


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


def check_text(data: bytes, source: str) -> None:
    """Raise an error if a file that should be text begins like something else."""
    what = next((what for beginning, what in _BEGINNINGS.items() if data.startswith(beginning)), None)
    if what is None:
        return
    kind, compressed, _ = what.partition(", whose name")
    if compressed and source == "-":
        raise FileFormatError(f"standard input is not text: it begins like {kind}; decompress it first.")
    raise FileFormatError(
        f"{source!r} is not text: it begins like {what}.", parameter="format" if "format=" in what else None
    )
